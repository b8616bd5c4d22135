import { Command } from 'commander'
import { collect, isInterrupted, isTerminal, type Task, type Update } from '../../client/index.js'
import { type GraphNode, graphOf, type WorkflowGraph, workflowUri } from '../../orchestrator/index.js'
import {
  type AgentOptions,
  addAgentOptions,
  agentHelp,
  maxPageSize,
  requireArguments,
  splitAgent,
  toPositive,
  withAgent,
  withDeadline,
} from '../agent-options.js'
import { UsageError } from '../failure.js'
import { addPartOptions, readParts } from '../message-parts.js'
import type { Output } from '../output.js'
import { oneLine, shellWord, table } from '../printable.js'
import { watchTask } from '../stream-printer.js'
import { answerHint, answerText, contentText, stateName, taskHasFiles } from '../task-text.js'

const runIdHelp = 'the id of the run, which is the id of its task'

export function workflowCommand(): Command {
  const command = new Command('workflow').description('Start, list, inspect and resume workflow runs')
  for (const create of [runCommand, graphCommand, listCommand, resumeCommand]) command.addCommand(create())
  return command
}

interface RunOptions extends AgentOptions {
  readonly key?: string
}

function runCommand(): Command {
  const command = new Command('run')
    .description('Start a workflow run, follow it and print its result')
    .argument('[agent]', agentHelp)
    .argument('[text...]', 'the message that starts the run; - reads it from stdin')
    .option('--key <key>', 'idempotency key: repeating the command with the same key continues the same run')
  const given = addPartOptions(command)
  return addAgentOptions(command)
    .addHelpText(
      'after',
      `
Example, while \`npm start\` runs:
  dragoman workflow run localhost:8010 "Solar power"

Progress goes to stderr, the result to stdout; -o json prints the task and its graph. If the run asks a question, the
command ends; answer with \`dragoman workflow resume\`.`,
    )
    .action(async (ref: string | undefined, text: readonly string[], options: RunOptions) => {
      const [workflow, words] = splitAgent(ref === undefined ? [] : [ref, ...text], options)
      const parts = await readParts(words, given)
      await withAgent(workflow, options, async (agent, output, agentArgs) => {
        await withDeadline(options.timeout, async (limit) => {
          const say = { ...limit, ...(options.key !== undefined && { idempotencyKey: options.key }) }
          showRun(await followRun(agent.stream(parts, say), output), agentArgs, output)
        })
      })
    })
}

function resumeCommand(): Command {
  const command = new Command('resume')
    .description('Answer the question of a workflow run, or follow the run until it ends or asks')
    .argument('[agent]', agentHelp)
    .argument('[id]', runIdHelp)
    .argument('[text...]', 'the answer; - reads it from stdin')
  const given = addPartOptions(command)
  return addAgentOptions(command)
    .addHelpText('after', '\nExample:\n  dragoman workflow resume localhost:8000 0193… "a double room"')
    .action(
      async (first: string | undefined, second: string | undefined, text: readonly string[], options: AgentOptions) => {
        const [ref, [id, ...words]] = splitAgent(
          [first, second, ...text].filter((word) => word !== undefined),
          options,
        )
        if (id === undefined) throw new UsageError('missing argument: the id of a run')
        const isAnswer = words.length > 0 || given.length > 0
        const parts = isAnswer ? await readParts(words, given) : []
        await withAgent(ref, options, async (agent, output, agentArgs) => {
          await withDeadline(options.timeout, async (limit) => {
            const now = isAnswer ? undefined : await agent.task(id).get()
            if (now && isInterrupted(now.status.state)) return showRun(now, agentArgs, output)
            const updates = isAnswer ? agent.stream(parts, { ...limit, taskId: id }) : watchTask(agent.task(id), limit)
            showRun(await followRun(updates, output), agentArgs, output)
          })
        })
      },
    )
}

/** Prints progress until the run ends or asks a question. */
async function followRun(updates: AsyncIterable<Update>, output: Output): Promise<Task> {
  const { task } = await collect(withProgress(output, updates))
  if (!task) throw new Error('The agent answered with a message and not with a task; it is not a workflow')
  return task
}

async function* withProgress(output: Output, updates: AsyncIterable<Update>): AsyncGenerator<Update> {
  for await (const update of updates) {
    // The id comes first, so that a user who interrupts the command can resume the run.
    if ('task' in update && !isTerminal(update.task.status.state)) output.note(`Run ${oneLine(update.task.id)}`)
    const status = 'statusUpdate' in update ? update.statusUpdate.status : undefined
    if (status?.state === 'TASK_STATE_WORKING' && status.message)
      output.note(contentText(status.message.parts).trimEnd())
    yield update
    // The stream stays open while the run waits for the answer.
    if (status && isInterrupted(status.state)) return
  }
}

/** Prints the result to stdout and the commands to use next to stderr. */
function showRun(task: Task, agentArgs: string, output: Output): void {
  const graph = graphOf(task)
  output.result({ task, ...(graph && { graph }) }, () => output.safe(resultText(task)))
  const run = `${agentArgs} ${shellWord(oneLine(task.id))}`
  const { state } = task.status
  output.note(`Run ${oneLine(task.id)} is ${stateName(state)}`)
  if (isInterrupted(state))
    output.note(`Answer its question: dragoman workflow resume ${run} ${answerHint(task.status.message)}`)
  else if (!isTerminal(state)) output.note(`Follow it: dragoman workflow resume ${run}`)
  if (graph) output.note(`Its steps:  dragoman workflow graph ${run}`)
  if (isTerminal(state)) output.note(`Its result: dragoman task get ${run}`)
  if (taskHasFiles(task)) output.note(`Its files:  dragoman task download ${run}`)
}

/** Prefers the workflow's own artifacts; a completed run without any shows those of its steps. */
function resultText(task: Task): string {
  const made = (task.artifacts ?? []).filter((each) => graphOf({ ...task, artifacts: [each] }) === undefined)
  const own = made.filter(({ extensions }) => !extensions?.includes(workflowUri))
  const usesSteps = own.length === 0 && task.status.state === 'TASK_STATE_COMPLETED'
  return answerText({ ...task, artifacts: usesSteps ? made : own })
}

interface ListOptions extends AgentOptions {
  readonly limit: number
}

interface Run {
  readonly task: Pick<Task, 'id' | 'contextId' | 'status'>
  readonly graph: WorkflowGraph
}

function listCommand(): Command {
  return addAgentOptions(
    new Command('list')
      .description('List workflow runs, newest first, with the number of completed steps')
      .argument('[agent]', agentHelp)
      .option('--limit <count>', `read at most this many of the newest tasks, up to ${maxPageSize}`, toPositive, 50),
  )
    .addHelpText('after', '\nExample:\n  dragoman workflow list localhost:8000')
    .action(async (first: string | undefined, options: ListOptions) => {
      const [ref] = requireArguments([first], options, [])
      await withAgent(ref, options, async (agent, output) => {
        const pageSize = Math.min(maxPageSize, options.limit)
        const { tasks } = await agent.listTasks({ pageSize, includeArtifacts: true, historyLength: 0 })
        const runs = tasks.flatMap((task) => runOf(task) ?? [])
        output.result({ runs }, () => output.safe(listText(runs)))
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
  return table([['RUN', 'STATE', 'WORKFLOW', 'DONE', 'RUNNING'], ...rows])
}

function graphCommand(): Command {
  return addAgentOptions(
    new Command('graph')
      .description('Print the steps of a workflow run: agent, state and duration of each')
      .argument('[agent]', agentHelp)
      .argument('[id]', runIdHelp),
  )
    .addHelpText('after', '\nExample:\n  dragoman workflow graph localhost:8000 0193… -o json')
    .action(async (first: string | undefined, second: string | undefined, options: AgentOptions) => {
      const [ref, id] = requireArguments([first, second], options, ['the id of a run'])
      await withAgent(ref, options, async (agent, output) => {
        const task = await agent.task(id).get(0)
        const graph = graphOf(task)
        if (!graph) throw new UsageError(`task ${oneLine(id)} is not a workflow run`)
        const isOver = isTerminal(task.status.state)
        output.result(graph, () => output.safe(graphText(graph, { isOver, nowMs: Date.now() })))
      })
    })
}

interface GraphTextOptions {
  /** The run has ended: steps that still count as running were abandoned. */
  readonly isOver: boolean
  readonly nowMs: number
}

interface Branch {
  readonly node: GraphNode
  readonly indent: string
}

/** Renders the graph as a tree. A step is a child of the first step it depends on. */
export function graphText(graph: WorkflowGraph, options: GraphTextOptions): string {
  const rows = branches(graph).map(({ node, indent }) => [
    `${indent}${oneLine(node.id)}`,
    oneLine(node.agent ?? kindNames[node.kind] ?? ''),
    stateOf(node, options),
    durationOf(node, options),
    notesOf(node, graph),
  ])
  return [oneLine(graph.workflow), ...(rows.length > 0 ? [table(rows)] : [])].join('\n')
}

const kindNames: Readonly<Record<string, string>> = { ask: 'a question', once: 'the workflow' }

/** The graph is untrusted: unknown nodes in edges are ignored, and nodes of cycles are still shown. */
function branches({ nodes, edges }: WorkflowGraph): readonly Branch[] {
  const known = new Set(nodes.map(({ id }) => id))
  const parent = new Map<string, string>()
  for (const { from, to } of edges) if (known.has(from) && from !== to && !parent.has(to)) parent.set(to, from)
  const placed = new Set<string>()
  const found: Branch[] = []
  const place = (level: readonly GraphNode[], indent: string) => {
    const here = level.filter(({ id }) => !placed.has(id))
    for (const { id } of here) placed.add(id)
    for (const [number, node] of here.entries()) {
      const isLast = number === here.length - 1
      found.push({ node, indent: `${indent}${isLast ? '└─ ' : '├─ '}` })
      place(
        nodes.filter(({ id }) => parent.get(id) === node.id),
        `${indent}${isLast ? '   ' : '│  '}`,
      )
    }
  }
  place(
    nodes.filter(({ id }) => !parent.has(id)),
    '',
  )
  // The nodes of a cycle all have a parent.
  place(nodes, '')
  return found
}

function stateOf({ state }: GraphNode, { isOver }: GraphTextOptions): string {
  return isOver && (state === 'running' || state === 'asking') ? 'abandoned' : oneLine(state)
}

function durationOf({ startedAt, endedAt }: GraphNode, { isOver, nowMs }: GraphTextOptions): string {
  if (endedAt === undefined && isOver) return ''
  const ms = (endedAt === undefined ? nowMs : Date.parse(endedAt)) - Date.parse(startedAt)
  if (!Number.isFinite(ms) || ms < 0) return ''
  if (ms < 1000) return `${ms} ms`
  return ms < 60_000
    ? `${(ms / 1000).toFixed(1)} s`
    : `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`
}

function notesOf({ id, attempts, error, taskId }: GraphNode, { edges }: WorkflowGraph): string {
  const dependencies = edges.filter(({ to }) => to === id).map(({ from }) => from)
  const notes = [
    ...(dependencies.length > 1 ? [`after ${dependencies.join(', ')}`] : []),
    ...(attempts > 1 ? [`${attempts} attempts`] : []),
    ...(error === undefined ? [] : [error]),
    ...(taskId === undefined ? [] : [`task ${taskId}`]),
  ]
  return oneLine(notes.join('; '))
}
