/** AG-UI in front of the agents of a port: a thread is an A2A context, a run is a turn of a task. */
import { readTurn, type TurnEvent } from '../../client/read-turn.js'
import { approvals } from '../../model/approvals.js'
import { A2AError, invalidField } from '../../model/errors.js'
import type { Message } from '../../model/message.js'
import { assertOptions, type NamesOf } from '../../model/option-names.js'
import type { JsonValue, Struct } from '../../model/part.js'
import type { CallContext } from '../../model/service.js'
import { steps } from '../../model/steps.js'
import type { Task } from '../../model/task.js'
import { usage } from '../../model/usage.js'
import type { Endpoint, Visit, VisitedAgent } from '../../server/endpoints.js'
import { type Exchange, type HttpAnswer, jsonHeaders } from '../../transports/exchange.js'
import { frame } from '../../transports/sse.js'
import { httpStatuses } from '../http-statuses.js'
import { answerOf, type InterruptRef, readInterruptId } from './interrupts.js'
import { RunEncoder, type RunEvent, type RunFacts } from './run-encoder.js'
import { lastUserMessage, type RunInput, readRunInput } from './run-input.js'
import { metadataKey, newestTurn } from './thread.js'

/** Options of `agUiEndpoint`. */
export interface AgUiEndpointOptions {
  /** The path of the endpoint. If the port has several agents, each has a path below it. Default `/ag-ui`. */
  readonly path?: string
}

const optionNames = { path: 'string' } satisfies NamesOf<AgUiEndpointOptions>

/** The tasks of a thread that a client gets when it returns. */
const maxTasks = 50
const extensions = [steps.uri, usage.uri, approvals.uri]

/**
 * Serves the agents of a port over AG-UI, for `HttpAgent` and CopilotKit.
 *
 * ```ts
 * await serve(tailor, { endpoints: [agUiEndpoint({ path: '/ag-ui' })] })
 * ```
 */
export function agUiEndpoint(options: AgUiEndpointOptions = {}): Endpoint {
  assertOptions('agUiEndpoint', options, optionNames)
  const { path = '/ag-ui' } = options
  const starts = new StartingRuns()
  return {
    name: 'ag-ui',
    paths: [path],
    answer: (exchange, visit) => answer(exchange, visit, path, starts),
    refuse: (error) => ({
      status: error instanceof RefusedRun ? error.status : statuses[error.code],
      headers: jsonHeaders,
      body: JSON.stringify({ code: error.code, message: error.message }),
    }),
  }
}

const statuses: typeof httpStatuses = {
  ...httpStatuses,
  TASK_NOT_CANCELABLE: 409,
  CONTENT_TYPE_NOT_SUPPORTED: 415,
}

class RefusedRun extends A2AError {
  readonly status: number

  constructor(status: number, message: string) {
    super('INVALID_REQUEST', message)
    this.status = status
  }
}

/** Runs that were requested and whose tasks cannot be listed yet. */
class StartingRuns {
  readonly #threads = new Set<string>()

  /** Starts a run unless the thread has one. `start` resolves when its task can be listed. */
  async once<Result>(
    agent: VisitedAgent,
    { threadId }: RunInput,
    { caller }: Visit,
    start: () => Promise<Result>,
  ): Promise<Result> {
    const key = JSON.stringify([agent.card.name, caller.id, threadId])
    if (this.#threads.has(key)) throw busy()
    this.#threads.add(key)
    try {
      const open = (['TASK_STATE_WORKING', 'TASK_STATE_SUBMITTED'] as const).map((status) =>
        agent.service.listTasks({ contextId: threadId, status, pageSize: 1, historyLength: 0 }, { caller }),
      )
      if ((await Promise.all(open)).some(({ tasks }) => tasks.length > 0)) throw busy()
      return await start()
    } finally {
      this.#threads.delete(key)
    }
  }
}

function busy(): RefusedRun {
  return new RefusedRun(409, 'The thread has a run already; wait for its end, or follow it with GET')
}

async function answer(
  exchange: Exchange,
  visit: Visit,
  base: string,
  starts: StartingRuns,
): Promise<HttpAnswer | undefined> {
  const segments = visit.path.slice(base.length).split('/').filter(Boolean).map(decoded)
  const { agents } = visit
  const agent = agents.size === 1 ? [...agents.values()][0] : agentNamed(segments.shift(), visit)
  if (!agent) throw new A2AError('METHOD_NOT_FOUND', `Agent not found; choose from ${pathsOf(base, visit).join(', ')}`)
  const [threadId, ...rest] = segments
  if (exchange.method === 'POST' && threadId === undefined)
    return await startRun(agent, readRunInput(await visit.readJson()), visit, starts)
  if (exchange.method === 'GET' && threadId !== undefined && rest.length === 0)
    return await followThread(agent, threadId, new URLSearchParams(exchange.query), visit)
  throw new RefusedRun(threadId === undefined ? 405 : 404, 'Use POST to run the agent, and GET /<threadId> to follow')
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}

/** The path of an agent below the endpoint: its name in lower case, with dashes between its words. */
function slugOf(name: string): string {
  return (
    name
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu)
      ?.join('-') ?? ''
  )
}

function agentNamed(segment: string | undefined, { agents }: Visit): VisitedAgent | undefined {
  if (segment === undefined) return undefined
  const named = [...agents].filter(([name]) => slugOf(name) === slugOf(segment))
  return agents.get(segment) ?? (named.length === 1 ? named[0]?.[1] : undefined)
}

function pathsOf(base: string, { agents }: Visit): readonly string[] {
  return [...agents.keys()].map((name) => `${base}/${slugOf(name)}`)
}

async function startRun(agent: VisitedAgent, input: RunInput, visit: Visit, starts: StartingRuns): Promise<HttpAnswer> {
  const { resume } = input
  if (resume.length === 0)
    return await starts.once(agent, input, visit, async () => {
      const { messageId, parts } = lastUserMessage(input)
      const message = { messageId, role: 'ROLE_USER', parts, contextId: input.threadId } as const
      return await sendMessage(agent, message, input, visit, { continuesContext: true })
    })
  const refs = resume.map(({ interruptId }) => readInterruptId(interruptId))
  const [ref] = refs
  if (!ref || refs.some((each) => each === undefined || each.taskId !== ref.taskId || each.kind !== ref.kind))
    throw invalidField('resume', 'must answer the interrupts of one run')
  const task = await agent.service.getTask({ id: ref.taskId, historyLength: 0 }, { caller: visit.caller })
  if (task.contextId !== input.threadId) throw invalidField('resume', 'answers an interrupt of another thread')
  const isCancelled = resume.some((entry) => entry.isCancelled)
  if (ref.kind === 'auth' && !isCancelled && resume[0]?.payload === undefined)
    return await awaitCredential(agent, ref, input, visit)
  const { state, message: question } = task.status
  const isAsked = refs.every((each) => each?.kind !== 'question' || each.messageId === question?.messageId)
  const waits = ref.kind === 'auth' ? 'TASK_STATE_AUTH_REQUIRED' : 'TASK_STATE_INPUT_REQUIRED'
  if (!question || !isAsked || state !== waits)
    throw new RefusedRun(409, 'The agent does not wait for the answer to this interrupt')
  if (isCancelled) return await cancelRun(agent, task, input, visit)
  return await starts.once(agent, input, visit, async () => {
    // The same key for every answer: a question is answered once.
    const idempotencyKey = `ag-ui:${question.messageId}`
    const { parts, metadata, ...content } = answerOf(question, resume)
    const message = {
      messageId: `${question.messageId}-answer`,
      role: 'ROLE_USER',
      taskId: task.id,
      contextId: task.contextId,
      parts,
      ...content,
      metadata: { ...metadata, [metadataKey]: { isResume: true } },
    } as const
    return await sendMessage(agent, message, input, visit, { idempotencyKey })
  })
}

/** Sends a message and answers with the events of its turn. Resolves when the turn has begun. */
async function sendMessage(
  agent: VisitedAgent,
  message: Message,
  input: RunInput,
  visit: Visit,
  more: Partial<CallContext>,
): Promise<HttpAnswer> {
  const { runId, extras } = input
  const { caller, signal } = visit
  const facts = message.metadata?.[metadataKey] as Struct | undefined // written by `startRun`
  const state = await changedState(agent, input, visit)
  const request = {
    message: { ...message, metadata: { ...message.metadata, [metadataKey]: { ...facts, runId } } },
    metadata: { [metadataKey]: { runId, ...extras, ...(state !== undefined && { state }) } },
  }
  const stream = agent.service.sendStreamingMessage(request, { caller, signal, extensions, ...more })
  return await streamRun(readTurn(stream), input, visit)
}

/** The state of the client, unless the agent wrote it. */
async function changedState(
  { service }: VisitedAgent,
  { threadId, state }: RunInput,
  { caller }: Visit,
): Promise<JsonValue | undefined> {
  if (state === undefined) return undefined
  const page = { contextId: threadId, pageSize: 1, includeArtifacts: true, historyLength: 0 }
  const { tasks } = await service.listTasks(page, { caller })
  const written = tasks[0]?.artifacts?.findLast(({ artifactId, name }) => artifactId === 'state' || name === 'state')
  const last = written?.parts.at(-1)
  return last && 'data' in last && JSON.stringify(last.data) === JSON.stringify(state) ? undefined : state
}

async function cancelRun(agent: VisitedAgent, task: Task, input: RunInput, visit: Visit): Promise<HttpAnswer> {
  const { caller } = visit
  await agent.service.cancelTask({ id: task.id }, { caller })
  async function* events(): AsyncGenerator<TurnEvent, void, void> {
    yield { kind: 'begin', taskId: task.id, contextId: task.contextId, turn: 1 }
    yield { kind: 'end', state: 'TASK_STATE_CANCELED', text: '' }
  }
  return await streamRun(events(), input, visit)
}

/** The credential arrives elsewhere and continues the turn that asked for it: the run is the rest of that turn. */
async function awaitCredential(
  { service }: VisitedAgent,
  { taskId, turn, seq }: Extract<InterruptRef, { kind: 'auth' }>,
  input: RunInput,
  visit: Visit,
): Promise<HttpAnswer> {
  const { caller, signal } = visit
  const log = service.subscribeToTask({ id: taskId }, { caller, signal, resumeAfter: 0, extensions })
  async function* events(): AsyncGenerator<TurnEvent, void, void> {
    yield { kind: 'begin', taskId, turn }
    yield* readTurn(log, { turn, after: seq })
  }
  return await streamRun(events(), input, visit)
}

/** Answers with the newest run of a thread, from its beginning. */
async function followThread(
  { service }: VisitedAgent,
  threadId: string,
  query: URLSearchParams,
  visit: Visit,
): Promise<HttpAnswer> {
  const { caller, signal } = visit
  const page = { contextId: threadId, pageSize: maxTasks, includeArtifacts: true }
  const newest = newestTurn((await service.listTasks(page, { caller })).tasks)
  if (!newest) throw new RefusedRun(404, 'Thread not found')
  const { task, turn, runId, messages } = newest
  const version = query.get('protocolVersion')
  const run = { threadId, runId, messages, showsMessages: true, ...(version && { protocolVersion: version }) }
  const log = service.subscribeToTask({ id: task.id }, { caller, signal, resumeAfter: 0, extensions })
  return await streamRun(readTurn(log, { turn }), run, visit)
}

/** Answers with the events of a turn. Resolves when the first one is there. */
async function streamRun(events: AsyncIterable<TurnEvent>, run: RunFacts, visit: Visit): Promise<HttpAnswer> {
  const encoder = new RunEncoder(run)
  async function* items(): AsyncGenerator<RunEvent, void, void> {
    for await (const event of events) yield* encoder.encode(event)
  }
  return await visit.stream({
    items: items(),
    encode: (event) => frame(JSON.stringify(event)),
    encodeError: ({ code, message }) => frame(JSON.stringify({ type: 'RUN_ERROR', code, message })),
  })
}
