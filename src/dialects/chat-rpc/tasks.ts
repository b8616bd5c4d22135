/** Encoding of tasks as the messages that chat-rpc responds with. `tasks/get` returns tasks unchanged (RL-L2-3). */
import { A2AError } from '../../model/errors.js'
import { isObject } from '../../model/is-object.js'
import type { Message } from '../../model/message.js'
import { type Part, type Struct, textOf } from '../../model/part.js'
import type { SendMessageResponse } from '../../model/service.js'
import { isTerminal, type Task } from '../../model/task.js'
import type { CallFacts } from '../dialect.js'
import { type AnswerSources, answerOf, endSentence } from '../turn-answer.js'
import { decodeTask } from '../v0_3/tasks.js'
import { jsonForm, taskState, type Wire, withoutKeys } from '../v0_3/wire-form.js'
import { decodeMessage, echoedMetadata, encodeMessage } from './messages.js'

/** The parts of the first source that has any. A message has at least one part. */
export function answerParts(sources: AnswerSources): readonly Part[] {
  return sources.find((parts) => parts.length > 0) ?? [{ text: '' }]
}

/**
 * A completed task is sent as its response, an interrupted one as its question, marked by `metadata.state`. A failed
 * one is an error: chat-rpc clients treat every message as a response.
 */
function messageOf(task: Task): Message {
  const { id: taskId, contextId, status } = task
  const { state, message } = status
  const isDone = state === 'TASK_STATE_COMPLETED'
  if (isTerminal(state) && !isDone) {
    const sentence = (message && textOf(message)) || endSentence(state)
    throw new A2AError('INVALID_AGENT_RESPONSE', sentence, { metadata: { taskId, state: jsonForm.states[state] } })
  }
  const isWaiting = !isDone && message !== undefined
  return {
    // Derived from the task id if the response has no id, so that it is stable.
    messageId: message?.messageId ?? `${taskId}-answer`,
    contextId,
    taskId,
    role: 'ROLE_AGENT',
    parts: isWaiting ? message.parts : answerParts(answerOf(task)),
    ...(isDone ? message?.metadata && { metadata: message.metadata } : { metadata: waiting(message, state) }),
  }
}

function waiting(message: Message | undefined, state: Task['status']['state']) {
  return { ...message?.metadata, state: jsonForm.states[state] }
}

export function encodeResponse(response: SendMessageResponse, params?: unknown): Wire {
  return encodeMessage('task' in response ? messageOf(response.task) : response.message, echoedMetadata(params))
}

/** A message that is marked as a question becomes a task. 0.3 servers may respond with a task. */
export function decodeResponse(wire: unknown, facts: Pick<CallFacts, 'newId'>): SendMessageResponse {
  if (isObject(wire) && (wire.kind === 'task' || isObject(wire.status))) return { task: decodeTask(wire, jsonForm) }
  const message = decodeMessage(wire, facts)
  const { taskId, contextId = facts.newId(), metadata } = message
  // Other agents may use `state` for something else.
  const state = metadata && taskState(metadata.state, [])
  if (state === undefined || isTerminal(state) || taskId === undefined) return { message }
  const { metadata: _metadata, ...content } = message
  const left = withoutKeys(metadata as Struct, ['state']) // it was found there
  return {
    task: { id: taskId, contextId, status: { state, message: left ? { ...content, metadata: left } : content } },
  }
}
