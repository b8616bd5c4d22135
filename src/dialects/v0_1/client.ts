/** The client's side of v0.1. Clients choose the ids of tasks and sessions (RL-01-1). */
import { A2AError, clip } from '../../model/errors.js'
import { isObject } from '../../model/is-object.js'
import type { TaskPushNotificationConfig } from '../../model/push-config.js'
import type { SendMessageRequest, SendMessageResponse } from '../../model/service.js'
import type { Task } from '../../model/task.js'
import type { ClientDialect, JsonRpcClientForm, RequestCodec } from '../client-dialect.js'
import { decodeOrThrow } from '../decode.js'
import { decodeCard } from './card.js'
import { decodeError } from './errors.js'
import { encodeSendParams } from './messages.js'
import { goOutline, outline } from './outline.js'
import { encodeTaskPushConfig, pushConfig } from './push-config.js'
import { createStreamDecoder } from './stream.js'
import { decodeTask } from './tasks.js'
import { go, standard, type WireForm } from './wire-form.js'

const methods = {
  sendMessage: 'tasks/send',
  sendStreamingMessage: 'tasks/sendSubscribe',
  getTask: 'tasks/get',
  cancelTask: 'tasks/cancel',
  subscribeToTask: 'tasks/resubscribe',
  createTaskPushNotificationConfig: 'tasks/pushNotification/set',
  getTaskPushNotificationConfig: 'tasks/pushNotification/get',
  // A task has one config; setting it to `null` deletes it.
  deleteTaskPushNotificationConfig: 'tasks/pushNotification/set',
} as const

function jsonrpc(wireForm: WireForm): JsonRpcClientForm {
  return { methods, operations: createRequests(wireForm), createStreamDecoder, decodeError }
}

function createRequests(wireForm: WireForm): JsonRpcClientForm['operations'] {
  const encode: RequestCodec<SendMessageRequest>['encode'] = (request, { newId }) =>
    encodeSendParams(inSession(request, newId), newId, wireForm)
  return {
    sendMessage: { encode, decode: decodeSent },
    sendStreamingMessage: { encode, decode: asItIs },
    getTask: {
      encode: ({ id, historyLength }) => ({ id, historyLength }),
      decode: decodeAnswer,
    },
    cancelTask: {
      encode: ({ id, metadata }) => ({ id, metadata }),
      decode: decodeAnswer,
    },
    subscribeToTask: { encode: ({ id }) => ({ id }), decode: asItIs },
    ...pushRequests,
  }
}

/**
 * Stream events carry no session id. The client chooses the id, so that the conversation can continue. A known task
 * already has one.
 */
function inSession(request: SendMessageRequest, newId: () => string): SendMessageRequest {
  const { contextId, taskId } = request.message
  if (contextId !== undefined || taskId !== undefined) return request
  return { ...request, message: { ...request.message, contextId: newId() } }
}

const decodeSent: RequestCodec<SendMessageRequest, SendMessageResponse>['decode'] = (answer, request, { newId }) => {
  const { contextId } = request.message
  return { task: decodeTask(answer, { ...(contextId !== undefined && { contextId }), newId }) }
}

const decodeAnswer: RequestCodec<unknown, Task>['decode'] = (answer, _request, facts) => decodeTask(answer, facts)

/** Leaves a response that is not a stream as it is: the stream decoder reads it as the only element. */
export const asItIs: RequestCodec['decode'] = (answer) => answer

/** Push config requests of v0.1 and task-rest. */
export const pushRequests = {
  createTaskPushNotificationConfig: {
    encode: encodeTaskPushConfig,
    decode: (answer, { taskId = '' }) => decodePushConfig(answer, taskId),
  },
  getTaskPushNotificationConfig: {
    encode: ({ taskId }) => ({ id: taskId }),
    decode: (answer, { taskId }) => decodePushConfig(answer, taskId),
  },
  deleteTaskPushNotificationConfig: {
    encode: ({ taskId }) => ({ id: taskId, pushNotificationConfig: null }),
    decode: () => undefined,
  },
} as const satisfies JsonRpcClientForm['operations']

/** Servers answer with the config inside an object that names the task, or with the config alone (RL-GO-4). */
function decodePushConfig(answer: unknown, taskId: string): TaskPushNotificationConfig {
  const isWrapped = isObject(answer) && ('pushNotificationConfig' in answer || 'push_notification_config' in answer)
  const config = isWrapped ? (answer.pushNotificationConfig ?? answer.push_notification_config) : answer
  if (config === undefined || config === null) {
    throw new A2AError('TASK_NOT_FOUND', `Push notification config not found: task ${clip(taskId)}`, {
      metadata: { taskId },
    })
  }
  return { id: taskId, taskId, ...decodeOrThrow(pushConfig, config) }
}

export const v0_1Client: ClientDialect = {
  ...outline,
  jsonrpc: jsonrpc(standard),
  card: { ...outline.card, decode: (card) => decodeCard(card) },
  toPushFrame: (body) =>
    isObject(body.status) && (typeof body.taskId === 'string' || 'sessionId' in body) ? body : undefined,
}

/** v0.1 of the community Go library. */
export const v0_1GoClient: ClientDialect = {
  ...goOutline,
  jsonrpc: jsonrpc(go),
  card: { ...goOutline.card, decode: (card) => decodeCard(card) },
}
