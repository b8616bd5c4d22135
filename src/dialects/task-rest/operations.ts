/** Routes and codecs. No JSON-RPC: requests and responses are bare objects. */
import type { Operation } from '../../model/operations.js'
import type {
  CancelTaskRequest,
  GetTaskRequest,
  SendMessageResponse,
  SubscribeToTaskRequest,
} from '../../model/service.js'
import type { Task } from '../../model/task.js'
import { decodeOrThrow } from '../decode.js'
import type { OperationCodec, RestRoute } from '../dialect.js'
import { createPushOperations, taskIdParams } from '../v0_1/operations.js'
import { taskIn } from '../v0_1/tasks.js'
import { sendBody, toSendRequest } from './messages.js'
import { encodeTask } from './tasks.js'

export const routes: readonly RestRoute[] = [
  { method: 'POST', path: '/tasks/send', operation: 'sendMessage' },
  { method: 'POST', path: '/tasks/sendSubscribe', operation: 'sendStreamingMessage' },
  { method: 'GET', path: '/tasks/{id}', operation: 'getTask' },
  { method: 'POST', path: '/tasks/{id}/cancel', operation: 'cancelTask' },
  { method: 'POST', path: '/tasks/cancel', operation: 'cancelTask' },
  { method: 'POST', path: '/tasks/resubscribe', operation: 'subscribeToTask' },
  { method: 'POST', path: '/tasks/pushNotification/set', operation: 'createTaskPushNotificationConfig' },
  { method: 'POST', path: '/tasks/pushNotification/get', operation: 'getTaskPushNotificationConfig' },
]

const send: OperationCodec = {
  decode: (params, { newId }) => toSendRequest(decodeOrThrow(sendBody, params), newId),
  encode: (result) => JSON.stringify(encodeTask(taskIn(result as SendMessageResponse, undefined))),
}

/** Responses always have the full history, so requests have no length for it. */
const byId: OperationCodec = {
  decode: (params): GetTaskRequest & SubscribeToTaskRequest => ({ id: decodeOrThrow(taskIdParams, params).id }),
  encode: encodeResult,
}

export const operations: { readonly [O in Operation]?: OperationCodec } = {
  sendMessage: send,
  sendStreamingMessage: send,
  getTask: byId,
  cancelTask: {
    decode: (params): CancelTaskRequest => decodeOrThrow(taskIdParams, params),
    encode: encodeResult,
  },
  subscribeToTask: byId,
  ...createPushOperations(false),
}

function encodeResult(result: unknown): string {
  return JSON.stringify(encodeTask(result as Task)) // these operations return a task
}
