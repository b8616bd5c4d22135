/** Results: an output and one of four values of `status` (RL-L1-5). */
import { A2AError } from '../../model/errors.js'
import { isObject } from '../../model/is-object.js'
import type { Message } from '../../model/message.js'
import { type JsonValue, textOf } from '../../model/part.js'
import type { SendMessageResponse } from '../../model/service.js'
import { isTerminal, type Task, type TaskState, type TaskStatus } from '../../model/task.js'
import { type Decoder, decodeOrThrow, json, object, optional, presentString, string } from '../decode.js'
import { type AnswerSources, answerOf, endSentence } from '../turn-answer.js'
import { jsonOf, partOf } from './messages.js'

/** Ids for continuing the conversation. Our servers omit them from completed results. */
interface Ids {
  readonly task_id?: string
  readonly chat_id?: string
}

export type Reply = Ids &
  (
    | { readonly output: JsonValue; readonly status: 'success' | 'processing' | 'input_required' }
    | { readonly error: string; readonly status: 'error' }
  )

/** Values of `status` for a response that asks the caller a question. */
export const questionStatuses = ['input_required', 'success'] as const
/** A `status` that questions can have in invoke. */
export type QuestionStatus = (typeof questionStatuses)[number]

export function encodeMessage({ parts }: Message): Reply {
  return { output: firstValue([parts]), status: 'success' }
}

export function encodeTask(task: Task, questions: QuestionStatus): Reply {
  return encodeStatus({ taskId: task.id, contextId: task.contextId, status: task.status }, answerOf(task), questions)
}

/** Encodes a state and its response. */
export function encodeStatus(
  { taskId, contextId, status }: { readonly taskId: string; readonly contextId: string; readonly status: TaskStatus },
  answer: AnswerSources,
  questions: QuestionStatus,
): Reply {
  const { state, message } = status
  if (state === 'TASK_STATE_COMPLETED') return { output: firstValue(answer), status: 'success' }
  if (isTerminal(state)) return { error: (message && textOf(message)) || endSentence(state), status: 'error' }
  const ids = { task_id: taskId, chat_id: contextId }
  const isWorking = state === 'TASK_STATE_SUBMITTED' || state === 'TASK_STATE_WORKING'
  if (isWorking) return { output: firstValue(answer), status: 'processing', ...ids }
  return { output: firstValue([message?.parts ?? []]), status: questions, ...ids }
}

function firstValue(sources: AnswerSources): JsonValue {
  for (const parts of sources) {
    const value = jsonOf(parts)
    if (value !== undefined) return value
  }
  return ''
}

/** Over HTTP, a failed task is an ordinary response: 200, with `status: "error"` (RL-L1-1). */
export function encodeResponse(response: SendMessageResponse, questions: QuestionStatus): Reply {
  return 'message' in response ? encodeMessage(response.message) : encodeTask(response.task, questions)
}

/** Over JSON-RPC, a failed task is a JSON-RPC error (RL-L1-6). */
export function encodeResult(response: SendMessageResponse, questions: QuestionStatus): Reply {
  const encoded = encodeResponse(response, questions)
  if (encoded.status !== 'error' || !('task' in response)) return encoded
  const { id: taskId, status } = response.task
  throw new A2AError('INVALID_AGENT_RESPONSE', encoded.error, { metadata: { taskId, state: status.state } })
}

const reply = object<{ output?: JsonValue; error?: string; status?: string; task_id?: string; chat_id?: string }>({
  output: optional(json as Decoder<NonNullable<JsonValue>>), // `null` is a valid output
  error: optional(presentString),
  status: optional(string),
  task_id: optional(string),
  chat_id: optional(string),
})

/** Decodes a result or a chunk of a stream. If `status` is missing, the other members decide. */
export function decodeReply(wire: unknown): Reply {
  const { error, status, output = '', ...ids } = decodeOrThrow(reply, wire)
  if (status === 'error' || (status === undefined && error !== undefined))
    return { error: error || endSentence('TASK_STATE_FAILED'), status: 'error', ...ids }
  if (status === 'processing' || status === 'input_required') return { output, status, ...ids }
  if (status === undefined ? isObject(wire) && 'output' in wire : status === 'success')
    return { output, status: 'success', ...ids }
  throw new A2AError('INVALID_AGENT_RESPONSE', 'The answer has neither an output nor an error')
}

/** Decodes a result. Ids that the peer omits come from `ids`; a result without a task is a message. */
export function decodeResponse(
  wire: unknown,
  { newId, ...asked }: { newId(): string; readonly contextId?: string; readonly taskId?: string },
): SendMessageResponse {
  const decoded = decodeReply(wire)
  const { task_id: taskId = asked.taskId, chat_id: contextId = asked.contextId } = decoded
  const content = {
    messageId: newId(),
    role: 'ROLE_AGENT',
    parts: [decoded.status === 'error' ? { text: decoded.error } : partOf(decoded.output)],
  } as const
  if (decoded.status === 'success') {
    const ids = { ...(contextId !== undefined && { contextId }), ...(taskId !== undefined && { taskId }) }
    return { message: { ...content, ...ids } }
  }
  const ids = { taskId: taskId ?? newId(), contextId: contextId ?? newId() }
  const status: TaskStatus = { state: states[decoded.status], message: { ...content, ...ids } }
  return { task: { id: ids.taskId, contextId: ids.contextId, status } }
}

const states = {
  processing: 'TASK_STATE_WORKING',
  input_required: 'TASK_STATE_INPUT_REQUIRED',
  error: 'TASK_STATE_FAILED',
} as const satisfies Partial<Record<Reply['status'], TaskState>>
