import { Command } from 'commander'
import type { AgentClient, Task } from '../../../client/index.js'
import { type AgentOptions, addAgentOptions, refHelp, splitWords, toCount, withAgent } from '../../agent-options.js'
import { withDeadline } from '../../deadline.js'
import { nextSteps, taskHasFiles, taskText } from '../../task-text.js'

interface Options extends AgentOptions {
  readonly wait?: true
  readonly history?: number
}

export function getCommand(): Command {
  return addAgentOptions(
    new Command('get')
      .description('Print a task')
      .argument('[ref]', refHelp)
      .argument('[id]', 'of the task')
      .option('--wait', 'until it has ended or asks something')
      .option('--history <n>', 'the last n messages too', toCount),
  )
    .addHelpText(
      'after',
      `
Examples:
  dragoman task get localhost:8001 0193… --wait
  dragoman task get localhost:8001 0193… --history 10 -o json`,
    )
    .action(async (first: string | undefined, second: string | undefined, options: Options) => {
      const [ref, id] = splitWords([first, second], options, ['the id of a task'])
      await withAgent(ref, options, async (agent, output, named) => {
        const task = await output.during('Waiting', read(agent, id, options))
        output.result(task, () => output.said(taskText(task)))
        for (const step of nextSteps(task, named, taskHasFiles(task))) output.note(step)
      })
    })
}

async function read(agent: AgentClient, id: string, { wait, history, timeout }: Options): Promise<Task> {
  const handle = agent.task(id)
  if (!wait) return await handle.get(history)
  const task = await withDeadline(timeout, (given) => handle.wait(given))
  return history === undefined ? task : await handle.get(history)
}
