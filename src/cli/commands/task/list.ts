import { Command, InvalidArgumentError, Option } from 'commander'
import type { AgentClient, Task, TaskState } from '../../../client/index.js'
import type { ListTasksRequest, ListTasksResponse } from '../../../model/index.js'
import { type AgentOptions, addAgentOptions, refHelp, splitWords, toPositive, withAgent } from '../../agent-options.js'
import { oneLine, table } from '../../printable.js'
import { stateName, stateNames } from '../../task-text.js'

interface Options extends AgentOptions {
  readonly context?: string
  readonly state?: TaskState
  readonly since?: string
  readonly limit: number
  readonly pageToken?: string
  readonly all?: true
  readonly artifacts?: true
}

/** The most that the protocol gives at once. */
const largestPage = 100

export function listCommand(): Command {
  return addAgentOptions(
    new Command('list')
      .description('List tasks, the latest first')
      .argument('[ref]', refHelp)
      .option('--context <id>', 'of this context only')
      .addOption(
        new Option('--state <state>', `in this state only: ${stateNames.join(', ')}`).argParser<TaskState>(toState),
      )
      .option('--since <time>', 'whose state changed after this time, as in 2026-01-31T12:00:00Z', toTime)
      .option('--limit <n>', 'at most so many', toPositive, 50)
      .option('--page-token <token>', 'go on where another list ended')
      .option('--all', 'all of them, however many there are')
      .option('--artifacts', 'with their artifacts (json)'),
  )
    .addHelpText(
      'after',
      `
Examples:
  dragoman task list localhost:8001 --state input-required
  dragoman task list localhost:8001 --context 0193… --all -o json`,
    )
    .action(async (first: string | undefined, options: Options) => {
      const [ref] = splitWords([first], options, [])
      await withAgent(ref, options, async (agent, output) => {
        const list = await output.during('Reading', readPages(agent, options))
        output.result(list, () => output.said(listText(list)))
        const { tasks, totalSize, nextPageToken } = list
        if (nextPageToken !== '')
          output.note(`${tasks.length} of ${totalSize}; the next ones: --page-token ${nextPageToken}`)
      })
    })
}

/** Page by page, so that the token of the last one is where the list ends. */
async function readPages(agent: AgentClient, options: Options): Promise<ListTasksResponse> {
  const { context, state, since, artifacts } = options
  const wanted: ListTasksRequest = {
    // The list shows no messages, and some agents send whole histories unless told otherwise.
    historyLength: 0,
    ...(context !== undefined && { contextId: context }),
    ...(state && { status: state }),
    ...(since !== undefined && { statusTimestampAfter: since }),
    ...(artifacts && { includeArtifacts: true }),
  }
  const most = options.all ? Number.POSITIVE_INFINITY : options.limit
  const tasks: Task[] = []
  let pageToken = options.pageToken ?? ''
  for (;;) {
    const pageSize = Math.min(largestPage, most - tasks.length)
    const page = await agent.listTasks({ ...wanted, pageSize, ...(pageToken !== '' && { pageToken }) })
    tasks.push(...page.tasks)
    const isStuck = page.nextPageToken === pageToken // a peer that turns in circles
    pageToken = isStuck ? '' : page.nextPageToken
    if (pageToken === '' || tasks.length >= most)
      return { tasks, nextPageToken: pageToken, pageSize: tasks.length, totalSize: page.totalSize }
  }
}

function listText({ tasks }: ListTasksResponse): string {
  if (tasks.length === 0) return 'No tasks'
  const rows = tasks.map(({ id, contextId, status }) =>
    [id, stateName(status.state), status.timestamp ?? '', contextId].map(oneLine),
  )
  return table([['TASK', 'STATE', 'SINCE', 'CONTEXT'], ...rows])
}

function toState(given: string): TaskState {
  const spoken = given
    .replace(/^TASK_STATE_/, '')
    .toLowerCase()
    .replaceAll('_', '-')
  const name = stateNames.find((each) => each === (spoken === 'cancelled' ? 'canceled' : spoken))
  if (!name) throw new InvalidArgumentError(`choose from ${stateNames.join(', ')}`)
  return `TASK_STATE_${name.toUpperCase().replaceAll('-', '_')}` as TaskState // the list above has every state
}

function toTime(given: string): string {
  const time = new Date(given)
  if (Number.isNaN(time.getTime())) throw new InvalidArgumentError('write a time such as 2026-01-31T12:00:00Z')
  return time.toISOString()
}
