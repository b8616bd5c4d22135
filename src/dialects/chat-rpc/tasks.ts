/** Tasks as the messages this dialect answers with. `tasks/get` shows them as they are (RL-L2-3). */
import { A2AError } from '../../model/errors.js'
import { isObject } from '../../model/is-object.js'
import type { Message } from '../../model/message.js'
import { type Part, type Struct, textOf } from '../../model/part.js'
import type { SendMessageResponse } from '../../model/service.js'
import { isTerminal, type Task } from '../../model/task.js'
import type { CallFacts } from '../dialect.js'
import { type AnswerSources, answerOf, endSentence } from '../turn-answer.js'
import { jsonSpelling, taskState, type Wire, withoutKeys } from '../v0_3/spelling.js'
import { decodeTask } from '../v0_3/tasks.js'
import { decodeMessage, echoedMetadata, encodeMessage } from './messages.js'

/** The first source that says anything. A message has a part at least. */
export function answerParts(sources: AnswerSources): readonly Part[] {
  return sources.find((parts) => parts.length > 0) ?? [{ text: '' }]
}

/**
 * A finished task is its answer; one that waits is its question, marked by `metadata.state`. One that
 * ended badly is an error: readers of this dialect take every message for an answer.
 */
function messageOf(task: Task): Message {
  const { id: taskId, contextId, status } = task
  const { state, message } = status
  const isDone = state === 'TASK_STATE_COMPLETED'
  if (isTerminal(state) && !isDone) {
    const sentence = (message && textOf(message)) || endSentence(state)
    throw new A2AError('INVALID_AGENT_RESPONSE', sentence, { metadata: { taskId, state: jsonSpelling.states[state] } })
  }
  const isWaiting = !isDone && message !== undefined
  return {
    // Always the same for the same task, though nobody gave the answer an id.
    messageId: message?.messageId ?? `${taskId}-answer`,
    contextId,
    taskId,
    role: 'ROLE_AGENT',
    parts: isWaiting ? message.parts : answerParts(answerOf(task)),
    ...(isDone ? message?.metadata && { metadata: message.metadata } : { metadata: waiting(message, state) }),
  }
}

function waiting(message: Message | undefined, state: Task['status']['state']) {
  return { ...message?.metadata, state: jsonSpelling.states[state] }
}

export function encodeResponse(response: SendMessageResponse, params?: unknown): Wire {
  return encodeMessage('task' in response ? messageOf(response.task) : response.message, echoedMetadata(params))
}

/** A message that is marked as a question is the task it belongs to. Servers of 0.3 may answer with a task itself. */
export function decodeResponse(wire: unknown, facts: Pick<CallFacts, 'newId'>): SendMessageResponse {
  if (isObject(wire) && (wire.kind === 'task' || isObject(wire.status))) return { task: decodeTask(wire, jsonSpelling) }
  const message = decodeMessage(wire, facts)
  const { taskId, contextId = facts.newId(), metadata } = message
  // Other agents may use the word for something else.
  const state = metadata && taskState(metadata.state, [])
  if (state === undefined || isTerminal(state) || taskId === undefined) return { message }
  const { metadata: _metadata, ...said } = message
  const left = withoutKeys(metadata as Struct, ['state']) // it was found there
  return { task: { id: taskId, contextId, status: { state, message: left ? { ...said, metadata: left } : said } } }
}
