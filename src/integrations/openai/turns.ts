/**
 * The turns behind responses and chat completions: their ids, how a message starts one, and how its events are read.
 *
 * An id names agent, task and turn, so every replica can find the turn in the log. It proves nothing: the agent checks for
 * each call that the caller may see the task.
 */
import { readTurn, type TurnEvent } from '../../client/read-turn.js'
import { approvals } from '../../model/approvals.js'
import { A2AError, clip, type ErrorCode } from '../../model/errors.js'
import type { Message } from '../../model/message.js'
import type { Part, Struct } from '../../model/part.js'
import type { CallContext, StreamItem } from '../../model/service.js'
import { isInterrupted, isTerminal, sentMessages, type Task, type TaskState } from '../../model/task.js'
import { TransportError } from '../../model/transport-error.js'
import { usage } from '../../model/usage.js'
import type { Visit, VisitedAgent } from '../../server/endpoints.js'
import { ApiError, invalidParam } from './errors.js'
import { withData } from './input.js'

/** A turn of a task. */
export interface TurnRef {
  readonly agent: VisitedAgent
  readonly taskId: string
  /** Counted from 1. */
  readonly turn: number
}

const maxIdCharacters = 300

/** The id of a turn behind a prefix such as `resp_`. */
export function idOf({ agent, taskId, turn }: TurnRef): string {
  return `${taskId}_${turn}_${tagOf(agent.card.name)}`
}

/** The turn that a response id names; undefined if it cannot be one of this server. */
export function readResponseId(id: string, { agents }: Visit): TurnRef | undefined {
  if (id.length > maxIdCharacters) return undefined
  const [, taskId, turn, tag] = /^resp_(.+)_([1-9]\d{0,8})_([\da-f]{8})$/s.exec(id) ?? []
  const agent = [...agents.values()].find(({ card }) => tagOf(card.name) === tag)
  return agent && taskId !== undefined ? { agent, taskId, turn: Number(turn) } : undefined
}

/** A short hash of an agent's name (FNV-1a), so that a server with many agents asks one of them. */
function tagOf(name: string): string {
  let hash = 0x811c9dc5
  for (let place = 0; place < name.length; place++) hash = Math.imul(hash ^ name.charCodeAt(place), 0x01000193)
  return (hash >>> 0).toString(16).padStart(8, '0')
}

/** The agent with the name of a model. */
export function agentNamed(model: string, { agents }: Visit): VisitedAgent {
  const agent = agents.get(model)
  if (agent) return agent
  const message = `Model not found: ${clip(model)}. Models are the names of agents, see GET /v1/models`
  throw new ApiError('INVALID_PARAMS', message, { status: 404, param: 'model', code: 'model_not_found' })
}

/** The destination of a message: a new task, or the open question of a task. */
export interface Destination {
  readonly agent: VisitedAgent
  readonly contextId?: string
  /** The turn that the message starts, if it answers a question. */
  readonly answers?: TurnRef
  /** The task that a new one refers to. */
  readonly refersTo?: string
  /** The message has been sent already: the client repeats its request. */
  readonly sent?: Message
}

/** The destination of a message in a context: the only open question of the agent, or else a new task. */
export async function destinationIn(agent: VisitedAgent, contextId: string, { caller }: Visit): Promise<Destination> {
  const open: readonly TaskState[] = ['TASK_STATE_INPUT_REQUIRED', 'TASK_STATE_AUTH_REQUIRED']
  const pages = await Promise.all(
    open.map((status) => agent.service.listTasks({ contextId, status, pageSize: 2, historyLength: 0 }, { caller })),
  )
  const [only, ...others] = pages.flatMap(({ tasks }) => tasks)
  if (!only || others.length > 0) return { agent, contextId }
  const { turn } = await standingOf({ agent, taskId: only.id }, { caller })
  return { agent, contextId, answers: { agent, taskId: only.id, turn: turn + 1 } }
}

/** The destination of a message after a response. `agent` is the one that the request names. */
export async function destinationAfter(
  previous: TurnRef,
  agent: VisitedAgent,
  { caller }: Visit,
): Promise<Destination> {
  const { taskId, turn } = previous
  const task = await previous.agent.service.getTask({ id: taskId }, { caller })
  const { contextId } = task
  if (agent.card.name !== previous.agent.card.name) return { agent, contextId }
  const standing = await standingOf(previous, { caller })
  if (standing.turn > turn) {
    const sent = sentIn(task, turn + 1)
    if (sent) return { agent, contextId, answers: { ...previous, turn: turn + 1 }, sent }
    throw invalidParam('previous_response_id', 'names a response whose question has been answered already')
  }
  if (standing.turn < turn || !(isTerminal(standing.state) || isInterrupted(standing.state)))
    throw invalidParam('previous_response_id', 'names a response that is still in progress')
  if (isInterrupted(standing.state)) return { agent, contextId, answers: { ...previous, turn: turn + 1 } }
  return { agent, contextId, refersTo: taskId }
}

/** The newest turn that has begun, and the state of the task. */
interface Standing {
  readonly turn: number
  readonly state: TaskState
}

async function standingOf({ agent, taskId }: Omit<TurnRef, 'turn'>, context: CallContext): Promise<Standing> {
  let turn = 1
  let state: TaskState = 'TASK_STATE_SUBMITTED'
  for await (const { event, turn: current } of readLog({ agent, taskId }, { ...context, untilNow: true })) {
    if (current !== undefined) turn = current
    if ('task' in event) state = event.task.status.state
    else if ('statusUpdate' in event) state = event.statusUpdate.status.state
    // Without its events, the task has its history.
    if ('task' in event && current === undefined) turn = Math.max(1, sentMessages(event.task).length)
  }
  return { turn, state }
}

function readLog({ agent, taskId }: Omit<TurnRef, 'turn'>, context: CallContext): AsyncIterable<StreamItem> {
  return agent.service.subscribeToTask({ id: taskId }, { ...context, resumeAfter: 0 })
}

/** The content of a message, and the members of the request that responses repeat. */
export interface Outgoing {
  readonly parts: readonly Part[]
  readonly openai: Struct
  readonly idempotencyKey?: string
}

/** The message that started a turn, as far as the endpoint needs it later. */
export interface StartedTurn extends TurnRef {
  readonly contextId: string
  readonly message: Message
}

/**
 * Sends the message. When it returns, the turn is stored and runs, on this replica or another one. An answer to a question
 * is sent once, also if the client repeats its request.
 */
export async function startTurn(
  { agent, contextId, answers, refersTo, sent }: Destination,
  { parts, openai, idempotencyKey }: Outgoing,
  { caller }: Visit,
): Promise<StartedTurn> {
  const { taskId, turn } = answers ?? { turn: 1 }
  const message: Message = {
    messageId: messageIdOf(turn),
    role: 'ROLE_USER',
    parts: answers ? parts : withData(parts, agent.card),
    metadata: { openai },
    ...(contextId !== undefined && { contextId }),
    ...(taskId !== undefined && { taskId }),
    ...(refersTo !== undefined && { referenceTaskIds: [refersTo] }),
  }
  if (sent && answers) {
    if (JSON.stringify(sent.parts) !== JSON.stringify(parts)) throw answeredAlready()
    return { ...answers, contextId: contextId ?? '', message: sent }
  }
  const key = answers ? `openai:${taskId}:${turn}` : idempotencyKey
  const context: CallContext = {
    caller,
    extensions: [usage.uri, approvals.uri],
    ...(key !== undefined && { idempotencyKey: key }),
  }
  const result = await agent.service
    .sendMessage({ message, configuration: { returnImmediately: true } }, context)
    .catch((error: unknown) => {
      // Another request has answered the question with another text.
      throw answers && isError(error, 'INVALID_REQUEST') ? answeredAlready() : error
    })
  if (!('task' in result)) throw new ApiError('INVALID_AGENT_RESPONSE', 'The agent answered without a task')
  const { task } = result
  const kept = sentIn(task, turn) ?? message
  return { agent, taskId: task.id, turn, contextId: task.contextId, message: kept }
}

function answeredAlready(): ApiError {
  return new ApiError('INVALID_PARAMS', 'The question has been answered already', { status: 409, isRetried: false })
}

/** The id of the message that starts a turn holds its time, which is the time of the response. */
function messageIdOf(turn: number): string {
  return `msg_${turn}_${Math.floor(Date.now() / 1000)}_${crypto.randomUUID()}`
}

/** The time in the id of a message, in seconds since 1970. */
export function timeOf({ messageId }: Message): number {
  return Number(/^msg_\d+_(\d{1,12})_/.exec(messageId)?.[1] ?? 0)
}

/** The message that this endpoint sent to start a turn, if the history still has it. */
export function sentIn({ history = [] }: Task, turn: number): Message | undefined {
  return history.find(({ messageId, role }) => role === 'ROLE_USER' && messageId.startsWith(`msg_${turn}_`))
}

/**
 * Reads a turn from its beginning, so every reader gets the same events. Ends early if the reader has left, or with
 * `untilNow`; otherwise throws `UNAVAILABLE` if the server closes the stream.
 */
export async function* followTurn(ref: TurnRef, context: CallContext): AsyncGenerator<TurnEvent, void, void> {
  try {
    yield* readTurn(readLog(ref, context), { turn: ref.turn })
  } catch (error) {
    if (!(error instanceof TransportError)) throw error
    if (context.untilNow || context.signal?.aborted) return
    // A client that repeats its request would start the same work again.
    const message = `The server closes, but the task goes on; its response is resp_${idOf(ref)}`
    throw new ApiError('UNAVAILABLE', message, { isRetried: false })
  }
}

/** The events of a turn so far. */
export function pastOf(ref: TurnRef, { caller }: Visit): AsyncIterable<TurnEvent> {
  return followTurn(ref, { caller, untilNow: true })
}

/** Finds the turn of a response id. Throws unless the caller may see it. */
export async function findTurn(id: string, visit: Visit): Promise<StartedTurn & { readonly task: Task }> {
  const ref = readResponseId(id, visit)
  if (!ref) throw responseNotFound()
  const { caller } = visit
  const task = await ref.agent.service.getTask({ id: ref.taskId }, { caller }).catch((error: unknown) => {
    throw isError(error, 'TASK_NOT_FOUND') ? responseNotFound() : error
  })
  const message = sentIn(task, ref.turn)
  if (!message && ref.turn > 1 && (await standingOf(ref, { caller })).turn < ref.turn) throw responseNotFound()
  const unknown: Message = { messageId: '', role: 'ROLE_USER', parts: [] }
  return { ...ref, contextId: task.contextId, message: message ?? unknown, task }
}

export function responseNotFound(): ApiError {
  return new ApiError('TASK_NOT_FOUND', 'Response not found', { param: 'response_id' })
}

export function isError(caught: unknown, code: ErrorCode): boolean {
  return caught instanceof A2AError && caught.code === code
}
