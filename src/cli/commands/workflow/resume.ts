import { Command } from 'commander'
import { isInterrupted } from '../../../client/index.js'
import { type AgentOptions, addAgentOptions, refHelp, splitReference, withAgent } from '../../agent-options.js'
import { withDeadline } from '../../deadline.js'
import { addPartOptions, readParts } from '../../message-parts.js'
import { UsageError } from '../../usage-error.js'
import { watchTask } from '../../watch-task.js'
import { followRun, showRun } from '../../workflow/follow-run.js'

export function resumeCommand(): Command {
  const command = new Command('resume')
    .description('Go on with a run: answer its question, or follow it until it ends or asks')
    .argument('[ref]', refHelp)
    .argument('[id]', 'of the run: its task')
    .argument('[text...]', 'the answer to its question; - reads it from stdin')
  const given = addPartOptions(command)
  return addAgentOptions(command)
    .addHelpText('after', '\nExample:\n  dragoman workflow resume localhost:8000 0193… "a double room"')
    .action(
      async (first: string | undefined, second: string | undefined, text: readonly string[], options: AgentOptions) => {
        const [ref, [id, ...words]] = splitReference(
          [first, second, ...text].filter((word) => word !== undefined),
          options,
        )
        if (id === undefined) throw new UsageError('give the id of a run too')
        const isAnswer = words.length > 0 || given.length > 0
        const parts = isAnswer ? await readParts(words, given) : []
        await withAgent(ref, options, async (agent, output, named) => {
          await withDeadline(options.timeout, async (limit) => {
            const now = isAnswer ? undefined : await agent.task(id).get()
            if (now && isInterrupted(now.status.state)) return showRun(now, named, output)
            const updates = isAnswer ? agent.stream(parts, { ...limit, taskId: id }) : watchTask(agent.task(id), limit)
            showRun(await followRun(updates, output), named, output)
          })
        })
      },
    )
}
