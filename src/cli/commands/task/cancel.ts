import { Command } from 'commander'
import { type AgentOptions, addAgentOptions, refHelp, splitWords, withAgent } from '../../agent-options.js'
import { oneLine } from '../../printable.js'
import { stateName } from '../../task-text.js'

export function cancelCommand(): Command {
  return addAgentOptions(
    new Command('cancel').description('Cancel a task').argument('[ref]', refHelp).argument('[id]', 'of the task'),
  )
    .addHelpText('after', '\nExample:\n  dragoman task cancel localhost:8001 0193…')
    .action(async (first: string | undefined, second: string | undefined, options: AgentOptions) => {
      const [ref, id] = splitWords([first, second], options, ['the id of a task'])
      await withAgent(ref, options, async (agent, output) => {
        const task = await output.during('Cancelling', agent.task(id).cancel())
        output.result(task, () => `Task ${oneLine(task.id)} is ${stateName(task.status.state)}`)
      })
    })
}
