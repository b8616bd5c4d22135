/** v0.1 as callers speak it. They choose the ids of tasks and of sessions (RL-01-1). */
import { A2AError, clip } from '../../model/errors.js'
import { isObject } from '../../model/is-object.js'
import type { TaskPushNotificationConfig } from '../../model/push-config.js'
import type {
  CancelTaskRequest,
  DeleteTaskPushNotificationConfigRequest,
  GetTaskPushNotificationConfigRequest,
  GetTaskRequest,
  SendMessageRequest,
  SendMessageResponse,
  SubscribeToTaskRequest,
} from '../../model/service.js'
import type { Task } from '../../model/task.js'
import type { ClientDialect, JsonRpcClientForm, RequestCodec } from '../client-dialect.js'
import { decodeOrThrow } from '../decode.js'
import type { DialectName } from '../dialect.js'
import { decodeCard } from './card.js'
import { decodeError } from './errors.js'
import { encodeSendParams } from './messages.js'
import { encodeTaskPushConfig, pushConfig } from './push-config.js'
import { createStreamDecoder } from './read-stream.js'
import { go, type Spelling, standard } from './spelling.js'
import { decodeTask } from './tasks.js'

const methods = {
  sendMessage: 'tasks/send',
  sendStreamingMessage: 'tasks/sendSubscribe',
  getTask: 'tasks/get',
  cancelTask: 'tasks/cancel',
  subscribeToTask: 'tasks/resubscribe',
  createTaskPushNotificationConfig: 'tasks/pushNotification/set',
  getTaskPushNotificationConfig: 'tasks/pushNotification/get',
  // There is one config a task, and one way to be rid of it.
  deleteTaskPushNotificationConfig: 'tasks/pushNotification/set',
} as const

function createClient(name: DialectName, spelling: Spelling): ClientDialect {
  return {
    name,
    extensionsHeader: 'X-A2A-Extensions',
    jsonrpc: { methods, operations: createRequests(spelling), createStreamDecoder, decodeError },
    decodeCard: (card) => decodeCard(card),
  }
}

function createRequests(spelling: Spelling): JsonRpcClientForm['operations'] {
  const encode: RequestCodec['encode'] = (request, { newId }) =>
    encodeSendParams(inSession(request as SendMessageRequest, newId), newId, spelling)
  return {
    sendMessage: { encode, decode: decodeSent },
    sendStreamingMessage: { encode, decode: asItIs },
    getTask: {
      encode(request) {
        const { id, historyLength } = request as GetTaskRequest
        return { id, historyLength }
      },
      decode: decodeAnswer,
    },
    cancelTask: {
      encode(request) {
        const { id, metadata } = request as CancelTaskRequest
        return { id, metadata }
      },
      decode: decodeAnswer,
    },
    subscribeToTask: { encode: (request) => ({ id: (request as SubscribeToTaskRequest).id }), decode: asItIs },
    ...pushRequests,
  }
}

/** Streams do not tell the session: a conversation can go on only when it was given one. A known task has one. */
function inSession(request: SendMessageRequest, newId: () => string): SendMessageRequest {
  const { contextId, taskId } = request.message
  if (contextId !== undefined || taskId !== undefined) return request
  return { ...request, message: { ...request.message, contextId: newId() } }
}

const decodeSent: RequestCodec['decode'] = (answer, request, { newId }): SendMessageResponse => {
  const { contextId } = (request as SendMessageRequest).message
  return { task: decodeTask(answer, { ...(contextId !== undefined && { contextId }), newId }) }
}

const decodeAnswer: RequestCodec['decode'] = (answer, _request, facts): Task => decodeTask(answer, facts)

/** For streams: an answer that is not one is read as its only element. */
export const asItIs: RequestCodec['decode'] = (answer) => answer

/** The same objects in every dialect of this family. */
export const pushRequests = {
  createTaskPushNotificationConfig: {
    encode: (request) => encodeTaskPushConfig(request as TaskPushNotificationConfig),
    decode: (answer, request) => decodePushConfig(answer, (request as TaskPushNotificationConfig).taskId ?? ''),
  },
  getTaskPushNotificationConfig: {
    encode: (request) => ({ id: (request as GetTaskPushNotificationConfigRequest).taskId }),
    decode: (answer, request) => decodePushConfig(answer, (request as GetTaskPushNotificationConfigRequest).taskId),
  },
  deleteTaskPushNotificationConfig: {
    encode: (request) => ({
      id: (request as DeleteTaskPushNotificationConfigRequest).taskId,
      pushNotificationConfig: null,
    }),
    decode: () => undefined,
  },
} as const satisfies JsonRpcClientForm['operations']

/** With the id of its task around it, or bare (RL-GO-4): nobody does one thing everywhere. */
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

export const v0_1Client: ClientDialect = createClient('v0.1', standard)

/** v0.1 as the community Go library speaks it. */
export const v0_1GoClient: ClientDialect = createClient('v0.1-go', go)
