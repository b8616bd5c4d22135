/** Routes and codecs. No JSON-RPC: requests and responses are bare objects. */
import type {
  CancelTaskRequest,
  GetTaskRequest,
  SendMessageRequest,
  SendMessageResponse,
  SubscribeToTaskRequest,
} from '../../model/service.js'
import type { Task } from '../../model/task.js'
import { decodeOrThrow } from '../decode.js'
import type { OperationCodec, OperationCodecs, RestRoute } from '../dialect.js'
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

const send: OperationCodec<SendMessageRequest, SendMessageResponse> = {
  decode: (params, { newId }) => toSendRequest(decodeOrThrow(sendBody, params), newId),
  encode: (result) => JSON.stringify(encodeTask(taskIn(result, undefined))),
}

/** Responses always have the full history, so requests have no length for it. */
const byId: OperationCodec<GetTaskRequest & SubscribeToTaskRequest, Task> = {
  decode: (params) => ({ id: decodeOrThrow(taskIdParams, params).id }),
  encode: encodeResult,
}

export const operations: OperationCodecs = {
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

function encodeResult(task: Task): string {
  return JSON.stringify(encodeTask(task))
}
