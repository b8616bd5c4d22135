import { Command } from 'commander'
import { A2AError, isTerminal, type TaskHandle, type Update } from '../../../client/index.js'
import { type AgentOptions, addAgentOptions, refHelp, splitWords, withAgent } from '../../agent-options.js'
import { withDeadline } from '../../deadline.js'
import { StreamPrinter } from '../../stream-printer.js'

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
      await withAgent(ref, options, async (agent, output) => {
        const printer = new StreamPrinter(output, ref)
        await withDeadline(options.timeout, async (given) => {
          for await (const update of watch(agent.task(id), given)) printer.see(update)
        })
        printer.end()
      })
    })
}

/** A task that has ended cannot be followed: what it came to is shown. */
async function* watch(task: TaskHandle, given: { readonly signal?: AbortSignal }): AsyncGenerator<Update> {
  try {
    yield* task.watch(given)
  } catch (error) {
    if (!(error instanceof A2AError && error.code === 'UNSUPPORTED_OPERATION')) throw error
    const now = await task.get()
    if (!isTerminal(now.status.state)) throw error
    yield { task: now }
  }
}
