/**
 * Chats of the AI SDK on tasks: the id of a chat is the contextId, each turn is a step of a message, and a reload replays the
 * last message from the log. Callers see only their own tasks, so chats with the same id are separate.
 */
import type { UIMessageChunk } from 'ai'
import type { ClientOperations } from '../../client/agent-client.js'
import { readTurn, type TurnEvent } from '../../client/read-turn.js'
import { approvalIds, approvals, readResponse } from '../../model/approvals.js'
import { A2AError } from '../../model/errors.js'
import type { Message } from '../../model/message.js'
import { type JsonValue, textOf } from '../../model/part.js'
import type { StreamItem } from '../../model/service.js'
import { steps } from '../../model/steps.js'
import { isInterrupted, isTerminal, type Task } from '../../model/task.js'
import { usage } from '../../model/usage.js'
import { type ChatRequest, chatMessageOf, markOf } from './chat-message.js'
import { ChunkEncoder } from './chunks.js'

/** The operations that chats use: those of a client, or of a service for one caller. */
export type ChatAgent = Pick<
  ClientOperations,
  'sendStreamingMessage' | 'subscribeToTask' | 'getTask' | 'listTasks' | 'cancelTask'
>

const extensions = [steps.uri, usage.uri, approvals.uri]

/** Wraps the events of a turn, for example to cancel the task. */
type Follow = (events: AsyncIterable<TurnEvent>, taskId: string | undefined) => AsyncIterable<TurnEvent>
const justRead: Follow = (events) => events

/** Sends the last message of the page and yields the answer. Throws `A2AError` for requests that cannot be sent. */
export async function* sendChat(
  agent: ChatAgent,
  request: ChatRequest,
  follow: Follow = justRead,
): AsyncGenerator<UIMessageChunk, void, void> {
  const { message, taskId, turn, answers, continued, decisions } = chatMessageOf(request)
  const waiting = taskId === undefined ? undefined : await waitingIn(agent, taskId, answers !== undefined)
  const question = waiting?.status.message?.messageId
  if (answers && (!waiting || (question !== undefined && !answers(question)))) throw notOpen()
  const isUnnamed = request.trigger === 'regenerate-message' && !message.referenceTaskIds
  // Agents that cannot list tasks get no reference.
  const newest = isUnnamed ? await newestTask(agent, request.chatId).catch(() => undefined) : undefined
  const referenceTaskIds = newest === undefined ? {} : { referenceTaskIds: [newest] }
  const sent = waiting ? { ...message, taskId: waiting.id } : { ...message, ...referenceTaskIds }
  const encoder = new ChunkEncoder({ continued, after: waiting ? turn : 0 })
  // The same key for every answer: a question is answered once.
  const key = question === undefined ? {} : { idempotencyKey: `chat:${question}` }
  const stream = agent.sendStreamingMessage({ message: sent }, { extensions, ...key })
  try {
    for await (const event of follow(readTurn(stream, { continues: waiting !== undefined }), waiting?.id)) {
      yield* encoder.encode(event)
      if (event.kind === 'begin' && decisions) yield* encoder.decide(decisions)
    }
  } catch (error) {
    // Another request has answered the question with another answer.
    if (question !== undefined && error instanceof A2AError && error.code === 'INVALID_REQUEST') throw notOpen()
    throw error
  }
}

function notOpen(): A2AError {
  return new A2AError('UNSUPPORTED_OPERATION', 'The question is not open any more')
}

/** The task, if it waits for a message. A task that is gone does not wait, unless it must exist. */
async function waitingIn(agent: ChatAgent, id: string, mustExist: boolean): Promise<Task | undefined> {
  try {
    const task = await agent.getTask({ id, historyLength: 0 })
    return isInterrupted(task.status.state) ? task : undefined
  } catch (error) {
    if (mustExist || !(error instanceof A2AError) || error.code !== 'TASK_NOT_FOUND') throw error
    return undefined
  }
}

/** The newest task of a chat; undefined if there is none. */
export async function newestTask(agent: ChatAgent, chatId: string): Promise<string | undefined> {
  const { tasks } = await agent.listTasks({ contextId: chatId, pageSize: 1, historyLength: 0 })
  return tasks[0]?.id
}

/** Cancels the task of a chat, if it has not ended. */
export async function stopChat(agent: ChatAgent, chatId: string): Promise<void> {
  const id = await newestTask(agent, chatId)
  if (id === undefined) return
  const { status } = await agent.getTask({ id, historyLength: 0 })
  if (!isTerminal(status.state)) await agent.cancelTask({ id })
}

/** Yields the last message of a chat from its beginning, and follows it until the turn ends. */
export async function* resumeChat(
  agent: ChatAgent,
  taskId: string,
  follow: Follow = justRead,
): AsyncGenerator<UIMessageChunk, void, void> {
  const task = await agent.getTask({ id: taskId })
  const { history = [] } = task
  const sent = history.filter(({ role }) => role === 'ROLE_USER')
  const last = Math.max(sent.length, 1)
  let turn = last
  while (turn > 1 && markOf(sent[turn - 1] as Message).continues) turn -= 1
  const encoder = new ChunkEncoder()
  for (; turn <= last; turn++) {
    const answer = sent[turn] // the message of the next turn
    for await (const event of follow(turnOf(agent, task, turn, turn < last), taskId)) {
      const chunks = encoder.encode(event)
      // Only the last turn finishes the message.
      yield* answer && turn < last ? chunks.filter(({ type }) => type !== 'finish') : chunks
    }
    if (answer && turn < last) yield* answered(encoder, history, answer)
  }
}

/** The events of one turn, from the log or, if the agent keeps none, from the task. */
async function* turnOf(
  agent: ChatAgent,
  task: Task,
  turn: number,
  isPast: boolean,
): AsyncGenerator<TurnEvent, void, void> {
  const { state } = task.status
  if (!isPast && !isTerminal(state) && !isInterrupted(state)) return yield* logOf(agent, task, turn, isPast)
  let events: TurnEvent[] = []
  try {
    for await (const event of logOf(agent, task, turn, isPast)) events.push(event)
  } catch (error) {
    // Agents of other vendors refuse subscriptions to ended tasks.
    if (!(error instanceof A2AError) || !isTerminal(state)) throw error
    events = []
    for await (const event of readTurn(only({ event: { task } }), { turn })) events.push(event)
  }
  // Replaced content is left out: AI SDK 6 cannot remove it.
  const reset = events.findLastIndex(({ kind }) => kind === 'reset')
  yield* events.filter(({ kind }, place) => place > reset || kind === 'begin')
}

async function* logOf(
  agent: ChatAgent,
  { id }: Task,
  turn: number,
  isPast: boolean,
): AsyncGenerator<TurnEvent, void, void> {
  let after: number | undefined = 0
  while (after !== undefined) {
    const stream = agent.subscribeToTask({ id }, { resumeAfter: 0, extensions })
    const events = readTurn(stream, { turn, after })
    after = undefined
    for await (const event of events) {
      // If the credential has come, the same turn goes on.
      if (event.kind !== 'auth' || event.seq === undefined) yield event
      else if (!isPast && (await isOpen(agent, id, event))) yield event
      else after = event.seq
    }
  }
}

/** Whether a task still waits for the credential that an event of its log asks for. */
async function isOpen(
  agent: ChatAgent,
  id: string,
  { messageId }: Extract<TurnEvent, { kind: 'auth' }>,
): Promise<boolean> {
  const { status } = await agent.getTask({ id, historyLength: 0 })
  return status.state === 'TASK_STATE_AUTH_REQUIRED' && status.message?.messageId === messageId
}

async function* only(item: StreamItem): AsyncGenerator<StreamItem, void, void> {
  yield item
}

/** Shows an answer of the history in the message that asked. */
function answered(encoder: ChunkEncoder, history: readonly Message[], answer: Message): UIMessageChunk[] {
  const question = history[history.indexOf(answer) - 1]
  const ids = question?.role === 'ROLE_AGENT' ? approvalIds(question) : undefined
  const response = ids && readResponse(ids, answer)
  if (response && 'decisions' in response) return encoder.decide(response.decisions)
  return encoder.answer(outputOf(answer))
}

function outputOf({ parts }: Message): JsonValue {
  for (const part of parts) if ('data' in part) return part.data
  return textOf(parts)
}
