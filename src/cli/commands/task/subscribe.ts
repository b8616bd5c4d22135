import { Command } from 'commander'
import { type AgentOptions, addAgentOptions, refHelp, splitWords, withAgent } from '../../agent-options.js'
import { withDeadline } from '../../deadline.js'
import { StreamPrinter } from '../../stream-printer.js'
import { watchTask } from '../../watch-task.js'

export function subscribeCommand(): Command {
  return addAgentOptions(
    new Command('subscribe')
      .description('Follow a task from what it is now until it ends; JSON lines with -o json')
      .argument('[ref]', refHelp)
      .argument('[id]', 'of the task'),
  )
    .addHelpText('after', '\nExample:\n  dragoman task subscribe localhost:8001 0193… -o json')
    .action(async (first: string | undefined, second: string | undefined, options: AgentOptions) => {
      const [ref, id] = splitWords([first, second], options, ['the id of a task'])
      await withAgent(ref, options, async (agent, output, named) => {
        const printer = new StreamPrinter(output, named)
        await withDeadline(options.timeout, (given) => printer.follow(watchTask(agent.task(id), given)))
      })
    })
}
