/**
 * A LangGraph graph as an agent. A conversation is a thread of the graph's checkpointer; an interrupt is a question, and
 * the answer resumes the graph.
 *
 * Two checkpoints of the task record its position in the thread. `langgraph:run` has the thread's checkpoint and
 * last message before a turn, so that a turn that is repeated after a crash continues the graph. `langgraph:asked`
 * has the questions of the task, so that an answer is never given to a question of another task.
 */
import { type Agent, type AgentInit, agent, type Turn } from '../../engine/agent.js'
import { artifact, failed, rejected, working, type Yield } from '../../engine/yields.js'
import { isObject } from '../../model/is-object.js'
import { isStruct } from '../../model/json-schema.js'
import { assertOptions, type NamesOf } from '../../model/option-names.js'
import { data, type Part, type Struct, text } from '../../model/part.js'
import type { TaskState } from '../../model/task.js'
import { unlessAborted } from '../../model/unless-aborted.js'
import { agentInit } from '../agent-init.js'
import { toJson } from '../json.js'
import { contentOf, digest, type Graph, type GraphState, openInterrupts, threadIdOf } from './graph.js'
import { GraphOutput, messageIds, streamModes } from './graph-output.js'
import { questionOf, resumeOf } from './questions.js'

/** Options of `fromLangGraph`. */
export interface FromLangGraphOptions {
  /** Returns the input of the graph for a message. Default: `{ messages }` with the message of the caller. */
  readonly input?: (turn: Turn) => unknown
  /** Keys of the graph's state that become artifacts with these names when the graph has finished. */
  readonly results?: readonly string[]
  /** Returns further options of `graph.stream` for a turn, such as `{ context: { user: turn.caller.id } }`. */
  readonly config?: (turn: Turn) => object
}

const optionNames = {
  input: 'function',
  results: 'strings',
  config: 'function',
} satisfies NamesOf<FromLangGraphOptions>

/**
 * Creates an agent from a compiled graph. Conversations, and questions of `interrupt`, need a checkpointer; after a restart
 * they need a durable one, such as `SqliteSaver` or `PostgresSaver`.
 *
 * ```ts
 * await serve(fromLangGraph(graph, { name: 'Planner' }))
 * ```
 */
export function fromLangGraph(graph: Graph, card: string | AgentInit, options: FromLangGraphOptions = {}): Agent {
  assertOptions('fromLangGraph', options, optionNames)
  if (!isObject(graph) || typeof graph.stream !== 'function')
    throw new TypeError('fromLangGraph needs a compiled graph: fromLangGraph(builder.compile({ checkpointer }), card)')
  const queue = new ThreadQueue()
  return agent(agentInit(card, 'fromLangGraph'), async function* (turn: Turn) {
    const thread = threadIdOf(turn.scope, turn.contextId)
    const place = queue.enter(thread, turn.task.id)
    try {
      if (place.before) {
        yield working('Waiting for another task of this conversation')
        await unlessAborted(place.before, turn.signal)
      }
      yield* runTurn(turn, new Thread(graph, thread, options), (id) => queue.has(thread, id))
    } finally {
      place.leave()
    }
  })
}

/** LangGraph does not lock threads: the tasks of one thread run one after the other. */
class ThreadQueue {
  readonly #threads = new Map<string, { readonly taskId: string; readonly done: Promise<void> }[]>()

  /** `before` resolves when all earlier tasks have left; it is undefined if there are none. */
  enter(thread: string, taskId: string): { readonly before: Promise<void> | undefined; leave(): void } {
    const places = this.#threads.get(thread) ?? []
    this.#threads.set(thread, places)
    const { promise: done, resolve } = withResolvers()
    const before = places.at(-1)?.done
    const place = { taskId, done: before ? before.then(() => done) : done }
    places.push(place)
    const leave = () => {
      places.splice(places.indexOf(place), 1)
      if (places.length === 0) this.#threads.delete(thread)
      resolve()
    }
    return { before, leave }
  }

  /** Whether a task runs or waits in the thread. */
  has(thread: string, taskId: string): boolean {
    return this.#threads.get(thread)?.some((place) => place.taskId === taskId) ?? false
  }
}

function withResolvers(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve = () => {}
  const promise = new Promise<void>((settle) => {
    resolve = settle
  })
  return { promise, resolve }
}

/** A graph and one of its threads. */
class Thread {
  readonly #graph: Graph
  readonly #id: string
  readonly options: FromLangGraphOptions

  constructor(graph: Graph, id: string, options: FromLangGraphOptions) {
    this.#graph = graph
    this.#id = id
    this.options = options
  }

  /** The state; undefined if the graph has no memory. */
  async state(): Promise<GraphState | undefined> {
    if (!this.#graph.checkpointer) return undefined
    return await this.#graph.getState({ configurable: { thread_id: this.#id } })
  }

  async stream(input: unknown, turn: Turn): Promise<AsyncIterable<unknown>> {
    const config: { readonly configurable?: object } = this.options.config?.(turn) ?? {}
    return await this.#graph.stream(input, {
      // Callers see the output of a step at once, so a crash must not make the graph run the step again.
      durability: 'sync',
      ...config,
      configurable: { ...config.configurable, thread_id: this.#id },
      signal: turn.signal,
      streamMode: streamModes,
    })
  }
}

async function* runTurn(
  turn: Turn,
  thread: Thread,
  isQueued: (taskId: string) => boolean,
): AsyncGenerator<Yield, void, void> {
  const before = await thread.state()
  const start = before
    ? await startOf(turn, before, isQueued, thread.options)
    : { input: inputOf(turn, thread.options) }
  if ('yields' in start) {
    yield* start.yields
    return
  }
  const repeated = repeatedRun(turn)
  const output = new GraphOutput(turn, before && messageIds(before.values, repeated && String(repeated.last)))
  // Messages of an earlier attempt may be in the memory of the graph and not in the task. They replace those in the task.
  if (before) yield* output.state(before.values)
  if ('input' in start) {
    if (before && !repeated) {
      const last = messageIds(before.values).at(-1) ?? ''
      await turn.checkpoint('langgraph:run', { turn: turn.number, checkpoint: checkpointOf(before), last })
    }
    for await (const element of await thread.stream(start.input, turn)) yield* output.read(element)
  }
  const after = await thread.state()
  const open = after ? openInterrupts(after) : []
  if (after && open.length > 0) {
    await turn.checkpoint('langgraph:asked', { turn: turn.number, questions: fingerprint(after) })
    yield questionOf(open)
    return
  }
  if (after && after.next.length > 0) {
    yield failed(`The graph stopped before ${after.next.join(', ')}; only \`interrupt\` can be answered`)
    return
  }
  yield* resultsOf(after ? after.values : output.values, thread.options)
}

/** The input of the graph, `{}` if the graph has stopped in this turn already, or yields that end the turn. */
type Start = { readonly input: unknown } | { readonly yields: readonly Yield[] } | { readonly input?: never }

const forgotten =
  'The question is no longer open in the memory of the graph. A checkpointer that stores to disk keeps it when the process restarts'

async function startOf(
  turn: Turn,
  state: GraphState,
  isQueued: (taskId: string) => boolean,
  options: FromLangGraphOptions,
): Promise<Start> {
  const open = openInterrupts(state)
  const run = turn.checkpoints.get('langgraph:run')
  const asked = turn.checkpoints.get('langgraph:asked')
  const repeated = repeatedRun(turn)
  // An earlier attempt of this turn ran the graph: it continues where it stopped.
  if (repeated && repeated.checkpoint !== checkpointOf(state)) return open.length > 0 ? {} : { input: null }
  // A question is answered by the next turn. Messages that waited while the graph ran are new input.
  const isAnswer = isStruct(asked) && (repeated || !isStruct(run) || run.turn === asked.turn)
  if (isAnswer) {
    if (open.length > 0 && asked.questions === fingerprint(state))
      return { input: { lg_name: 'Command', resume: resumeOf(open, turn) } }
    // The node asked its next question in an earlier attempt of this turn.
    return open.length > 0 && repeated ? {} : { yields: [failed(forgotten)] }
  }
  const other = open.length > 0 ? await openTask(turn, isQueued) : undefined
  if (other !== undefined)
    return { yields: [rejected(`Task ${other} of this conversation waits for an answer: answer or cancel it first`)] }
  return { input: inputOf(turn, options) }
}

/** The record of an earlier attempt of this turn, if there was one. */
function repeatedRun(turn: Turn): Struct | undefined {
  const run = turn.checkpoints.get('langgraph:run')
  return isStruct(run) && run.turn === turn.number ? run : undefined
}

function inputOf(turn: Turn, { input }: FromLangGraphOptions): unknown {
  return input ? input(turn) : { messages: [{ role: 'user', content: contentOf(turn.message.parts) }] }
}

function checkpointOf({ config }: GraphState): string {
  return config?.configurable?.checkpoint_id ?? ''
}

/** Identifies the open questions. Consecutive questions of one node have the same id and checkpoint. */
function fingerprint(state: GraphState): string {
  return digest(checkpointOf(state), JSON.stringify(toJson(openInterrupts(state))))
}

/** The task whose question is open in the thread; undefined if it was cancelled. Tasks in the queue have not asked. */
async function openTask(turn: Turn, isQueued: (taskId: string) => boolean): Promise<string | undefined> {
  const { contextId, caller } = turn
  const service = turn.service(turn.scope.agent)
  // A task that is about to ask is still working.
  for (const status of ['TASK_STATE_INPUT_REQUIRED', 'TASK_STATE_WORKING'] satisfies TaskState[]) {
    const listed = await service?.listTasks({ contextId, status, pageSize: 100 }, { caller })
    const other = listed?.tasks.find(({ id }) => !isQueued(id))
    if (other) return other.id
  }
  return undefined
}

function* resultsOf(values: unknown, { results = [] }: FromLangGraphOptions): Generator<Yield, void, void> {
  const state: Record<string, unknown> | Struct = isObject(values) ? values : {}
  for (const key of results) {
    const value = state[key]
    const json = toJson(value)
    if (json === undefined || json === null) continue
    const part: Part = typeof json === 'string' ? text(json) : data(json)
    yield artifact(key, part)
  }
}
