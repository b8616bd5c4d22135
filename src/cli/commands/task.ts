import { Command, InvalidArgumentError, Option } from 'commander'
import type { AgentClient, Task, TaskState } from '../../client/index.js'
import type { ListTasksRequest, ListTasksResponse } from '../../model/index.js'
import {
  type AgentOptions,
  addAgentOptions,
  agentHelp,
  maxPageSize,
  requireArguments,
  toCount,
  toPositive,
  toSeconds,
  withAgent,
  withDeadline,
} from '../agent-options.js'
import { byteSize, oneLine, table } from '../printable.js'
import { filesOf, saveFiles } from '../save-files.js'
import { StreamPrinter, watchTask } from '../stream-printer.js'
import { nextSteps, stateName, stateNames, taskHasFiles, taskText } from '../task-text.js'

const taskIdHelp = 'the id of the task'

export function taskCommand(): Command {
  const command = new Command('task').description('Read, list, follow, cancel and download the tasks of an agent')
  for (const create of [getCommand, listCommand, cancelCommand, subscribeCommand, downloadCommand])
    command.addCommand(create())
  return command
}

interface GetOptions extends AgentOptions {
  readonly wait?: true
  readonly history?: number
}

function getCommand(): Command {
  return addAgentOptions(
    new Command('get')
      .description('Print a task')
      .argument('[agent]', agentHelp)
      .argument('[id]', taskIdHelp)
      .option('--wait', 'wait until the task ends or asks for input')
      .option('--history <count>', 'also print this many of the newest messages (default: 0)', toCount),
  )
    .addHelpText(
      'after',
      `
Examples:
  dragoman task get localhost:8001 0193… --wait
  dragoman task get localhost:8001 0193… --history 10 -o json`,
    )
    .action(async (first: string | undefined, second: string | undefined, options: GetOptions) => {
      const [ref, id] = requireArguments([first, second], options, ['the id of a task'])
      await withAgent(ref, options, async (agent, output, agentArgs) => {
        const task = await output.withSpinner('Waiting', readTask(agent, id, options))
        output.result(task, () => output.safe(taskText(task)))
        for (const step of nextSteps(task, agentArgs, taskHasFiles(task))) output.note(step)
      })
    })
}

async function readTask(agent: AgentClient, id: string, { wait, history, timeout }: GetOptions): Promise<Task> {
  const handle = agent.task(id)
  if (!wait) return await handle.get(history)
  const task = await withDeadline(timeout, (given) => handle.wait(given))
  return history === undefined ? task : await handle.get(history)
}

interface ListOptions extends AgentOptions {
  readonly context?: string
  readonly state?: TaskState
  readonly since?: string
  readonly limit: number
  readonly pageToken?: string
  readonly all?: true
  readonly artifacts?: true
}

function listCommand(): Command {
  return addAgentOptions(
    new Command('list')
      .description('List tasks, newest first')
      .argument('[agent]', agentHelp)
      .option('--context <id>', 'only tasks of this context')
      .addOption(
        new Option('--state <state>', `only tasks in this state: ${stateNames.join(', ')}`).argParser<TaskState>(
          toState,
        ),
      )
      .option('--since <time>', 'only tasks whose state changed after this time, such as 2026-01-31T12:00:00Z', toTime)
      .option('--limit <count>', 'print at most this many tasks', toPositive, 50)
      .option('--page-token <token>', 'continue a list that was cut off by --limit')
      .option('--all', 'print all tasks, without a limit')
      .option('--artifacts', 'include the artifacts (with -o json)'),
  )
    .addHelpText(
      'after',
      `
Examples:
  dragoman task list localhost:8001 --state input-required
  dragoman task list localhost:8001 --context 0193… --all -o json`,
    )
    .action(async (first: string | undefined, options: ListOptions) => {
      const [ref] = requireArguments([first], options, [])
      await withAgent(ref, options, async (agent, output) => {
        const list = await output.withSpinner('Reading', readPages(agent, options))
        output.result(list, () => output.safe(listText(list)))
        const { tasks, totalSize, nextPageToken } = list
        if (nextPageToken !== '')
          output.note(`${tasks.length} of ${totalSize} tasks; continue with --page-token ${nextPageToken}`)
      })
    })
}

async function readPages(agent: AgentClient, options: ListOptions): Promise<ListTasksResponse> {
  const { context, state, since, artifacts } = options
  const filter: ListTasksRequest = {
    // Some agents send whole histories unless the client asks for none.
    historyLength: 0,
    ...(context !== undefined && { contextId: context }),
    ...(state && { status: state }),
    ...(since !== undefined && { statusTimestampAfter: since }),
    ...(artifacts && { includeArtifacts: true }),
  }
  const limit = options.all ? Number.POSITIVE_INFINITY : options.limit
  const tasks: Task[] = []
  let pageToken = options.pageToken ?? ''
  for (;;) {
    const pageSize = Math.min(maxPageSize, limit - tasks.length)
    const page = await agent.listTasks({ ...filter, pageSize, ...(pageToken !== '' && { pageToken }) })
    tasks.push(...page.tasks)
    // A peer that repeats its token would be asked forever.
    const isRepeated = page.nextPageToken === pageToken
    pageToken = isRepeated ? '' : page.nextPageToken
    if (pageToken === '' || tasks.length >= limit)
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
  const typed = given
    .replace(/^TASK_STATE_/, '')
    .toLowerCase()
    .replaceAll('_', '-')
  const name = stateNames.find((each) => each === (typed === 'cancelled' ? 'canceled' : typed))
  if (!name) throw new InvalidArgumentError(`choose from ${stateNames.join(', ')}`)
  return `TASK_STATE_${name.toUpperCase().replaceAll('-', '_')}` as TaskState // `stateNames` has every state
}

function toTime(given: string): string {
  const time = new Date(given)
  if (Number.isNaN(time.getTime())) throw new InvalidArgumentError('write a time such as 2026-01-31T12:00:00Z')
  return time.toISOString()
}

function cancelCommand(): Command {
  return addAgentOptions(
    new Command('cancel').description('Cancel a task').argument('[agent]', agentHelp).argument('[id]', taskIdHelp),
  )
    .addHelpText('after', '\nExample:\n  dragoman task cancel localhost:8001 0193…')
    .action(async (first: string | undefined, second: string | undefined, options: AgentOptions) => {
      const [ref, id] = requireArguments([first, second], options, ['the id of a task'])
      await withAgent(ref, options, async (agent, output) => {
        const task = await output.withSpinner('Cancelling', agent.task(id).cancel())
        output.result(task, () => `Task ${oneLine(task.id)} is ${stateName(task.status.state)}`)
      })
    })
}

function subscribeCommand(): Command {
  return addAgentOptions(
    new Command('subscribe')
      .description('Follow a task from its present state until it ends')
      .argument('[agent]', agentHelp)
      .argument('[id]', taskIdHelp),
  )
    .addHelpText(
      'after',
      `
Example:
  dragoman task subscribe localhost:8001 0193… -o json

With -o json the command prints one JSON line for each event.`,
    )
    .action(async (first: string | undefined, second: string | undefined, options: AgentOptions) => {
      const [ref, id] = requireArguments([first, second], options, ['the id of a task'])
      await withAgent(ref, options, async (agent, output, agentArgs) => {
        const printer = new StreamPrinter(output, agentArgs)
        await withDeadline(options.timeout, (given) => printer.follow(watchTask(agent.task(id), given)))
      })
    })
}

interface DownloadOptions extends AgentOptions {
  readonly out: string
  readonly force?: true
  readonly links?: true
  readonly maxFiles: number
  readonly maxBytes: number
  readonly maxSeconds: number
}

function downloadCommand(): Command {
  return addAgentOptions(
    new Command('download')
      .description('Save the artifacts of a task as files')
      .argument('[agent]', agentHelp)
      .argument('[id]', taskIdHelp)
      .option('--out <folder>', 'folder to write to; created if it does not exist', '.')
      .option('--links', 'also fetch the files that artifacts link to; no credentials are sent')
      .option('--max-files <count>', 'maximum number of links that --links fetches', toCount, 100)
      .option('--max-bytes <bytes>', 'maximum total size of the linked files, in bytes', toCount, 1024 ** 3)
      .option('--max-seconds <seconds>', 'maximum total time for the linked files, in seconds', toSeconds, 600)
      .option('--force', 'overwrite existing files'),
  )
    .addHelpText('after', '\nExample:\n  dragoman task download localhost:8001 0193… --out ./report')
    .action(async (first: string | undefined, second: string | undefined, options: DownloadOptions) => {
      const [ref, id] = requireArguments([first, second], options, ['the id of a task'])
      await withAgent(ref, options, async (agent, output) => {
        const task = await output.withSpinner('Reading', agent.task(id).get())
        const saved = await output.withSpinner(
          'Saving',
          saveFiles(filesOf(task), { ...options, agentUrl: agent.choice.url }),
        )
        output.result({ files: saved }, () =>
          saved.length === 0
            ? 'The task has no artifacts'
            : saved
                .map((each) => ('path' in each ? `${each.path} (${byteSize(each.bytes)})` : oneLine(each.url)))
                .join('\n'),
        )
        if (saved.some((each) => 'url' in each && !('path' in each)))
          output.note('Links were not fetched; --links fetches them')
      })
    })
}
