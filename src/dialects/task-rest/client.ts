/** The routes as callers use them. */
import { isObject } from '../../model/is-object.js'
import type { Message } from '../../model/message.js'
import type {
  CancelTaskRequest,
  GetTaskRequest,
  SendMessageRequest,
  SendMessageResponse,
  SubscribeToTaskRequest,
} from '../../model/service.js'
import type { Task } from '../../model/task.js'
import type { ClientDialect, RequestCodec, RestRequestCodec } from '../client-dialect.js'
import { decodeOrThrow } from '../decode.js'
import { get, post, segment } from '../rest-request.js'
import { asItIs, pushRequests } from '../v0_1/client.js'
import { decodeCard } from './card.js'
import { decodeError } from './errors.js'
import { encodeSendBody } from './messages.js'
import { createStreamDecoder } from './read-stream.js'
import { readTask, toTask } from './tasks.js'

const sendMessage: RestRequestCodec = {
  encode: (request) => post('/tasks/send', encodeSendBody(request as SendMessageRequest)),
  decode(answer, request, { newId }): SendMessageResponse {
    const { message, configuration } = request as SendMessageRequest
    return { task: withHistory(decodeTask(answer, newId, message), configuration?.historyLength) }
  },
}

const getTask: RestRequestCodec = {
  encode: (request) => get(`/tasks/${segment('id', (request as GetTaskRequest).id)}`),
  decode: (answer, request, { newId }): Task =>
    withHistory(decodeTask(answer, newId), (request as GetTaskRequest).historyLength),
}

const cancelTask: RestRequestCodec = {
  encode(request) {
    const { id, metadata } = request as CancelTaskRequest
    return post(`/tasks/${segment('id', id)}/cancel`, { metadata })
  },
  decode: (answer, _request, { newId }): Task => decodeTask(answer, newId),
}

export const taskRestClient: ClientDialect = {
  name: 'task-rest',
  extensionsHeader: 'X-A2A-Extensions',
  rest: {
    operations: {
      sendMessage,
      sendStreamingMessage: {
        encode: (request) => post('/tasks/sendSubscribe', encodeSendBody(request as SendMessageRequest)),
        decode: asItIs,
      },
      getTask,
      cancelTask,
      subscribeToTask: {
        encode: (request) => post('/tasks/resubscribe', { id: (request as SubscribeToTaskRequest).id }),
        decode: asItIs,
      },
      createTaskPushNotificationConfig: posted(
        '/tasks/pushNotification/set',
        pushRequests.createTaskPushNotificationConfig,
      ),
      getTaskPushNotificationConfig: posted('/tasks/pushNotification/get', pushRequests.getTaskPushNotificationConfig),
      deleteTaskPushNotificationConfig: posted(
        '/tasks/pushNotification/set',
        pushRequests.deleteTaskPushNotificationConfig,
      ),
    },
    createStreamDecoder,
    decodeError,
  },
  decodeCard,
}

function posted(path: string, { encode, decode }: RequestCodec): RestRequestCodec {
  return { encode: (request, facts) => post(path, encode(request, facts)), decode }
}

/** Bare; some put it into the envelope that streams have. */
function decodeTask(answer: unknown, newId: () => string, { contextId }: Partial<Message> = {}): Task {
  const read = decodeOrThrow(readTask, isObject(answer) && isObject(answer.task) ? answer.task : answer)
  return toTask(contextId === undefined ? read : { contextId, ...read }, newId)
}

/** Peers cannot be asked for less than everything. */
function withHistory(task: Task, length: number | undefined): Task {
  if (length === undefined || !task.history || task.history.length <= length) return task
  const { history, ...rest } = task
  return length > 0 ? { ...rest, history: history.slice(-length) } : rest
}
