import { Command } from 'commander'
import type { Task } from '../../../client/index.js'
import { graphOf, type WorkflowGraph } from '../../../orchestrator/index.js'
import { type AgentOptions, addAgentOptions, refHelp, splitWords, toPositive, withAgent } from '../../agent-options.js'
import { oneLine, table } from '../../printable.js'
import { stateName } from '../../task-text.js'

interface Options extends AgentOptions {
  readonly limit: number
}

interface Run {
  readonly task: Pick<Task, 'id' | 'contextId' | 'status'>
  readonly graph: WorkflowGraph
}

/** The most that the protocol gives at once. */
const largestPage = 100

export function listCommand(): Command {
  return addAgentOptions(
    new Command('list')
      .description('List runs, the latest first, with how many of their steps are done')
      .argument('[ref]', refHelp)
      .option('--limit <n>', 'look at no more than so many of the newest tasks', toPositive, 50),
  )
    .addHelpText('after', '\nExample:\n  dragoman workflow list localhost:8000')
    .action(async (first: string | undefined, options: Options) => {
      const [ref] = splitWords([first], options, [])
      await withAgent(ref, options, async (agent, output) => {
        const pageSize = Math.min(largestPage, options.limit)
        const { tasks } = await agent.listTasks({ pageSize, includeArtifacts: true, historyLength: 0 })
        const runs = tasks.flatMap((task) => runOf(task) ?? [])
        output.result({ runs }, () => output.said(listText(runs)))
      })
    })
}

function runOf(task: Task): Run | undefined {
  const { id, contextId, status } = task
  const graph = graphOf(task)
  return graph && { task: { id, contextId, status }, graph }
}

function listText(runs: readonly Run[]): string {
  if (runs.length === 0) return 'No runs'
  const rows = runs.map(({ task: { id, status }, graph: { workflow, nodes } }) => {
    const done = nodes.filter(({ state }) => state === 'completed').length
    const now = nodes.filter(({ state }) => state === 'running' || state === 'asking').map((node) => node.id)
    return [id, stateName(status.state), workflow, `${done}/${nodes.length}`, now.join(', ')].map(oneLine)
  })
  return table([['RUN', 'STATE', 'WORKFLOW', 'DONE', 'UNDER WAY'], ...rows])
}
