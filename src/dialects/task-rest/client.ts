/** The client's side of task-rest. */
import { isObject } from '../../model/is-object.js'
import type { Message } from '../../model/message.js'
import type { CancelTaskRequest, GetTaskRequest, SendMessageRequest, SendMessageResponse } from '../../model/service.js'
import type { Task } from '../../model/task.js'
import type { ClientDialect, RequestCodec, RestRequestCodec } from '../client-dialect.js'
import { decodeOrThrow } from '../decode.js'
import { get, post, segment } from '../rest-route.js'
import { asItIs, pushRequests } from '../v0_1/client.js'
import { decodeCard } from './card.js'
import { decodeError } from './errors.js'
import { encodeSendBody } from './messages.js'
import { outline } from './outline.js'
import { createStreamDecoder } from './stream.js'
import { readTask, toTask } from './tasks.js'

const sendMessage: RestRequestCodec<SendMessageRequest, SendMessageResponse> = {
  encode: (request) => post('/tasks/send', encodeSendBody(request)),
  decode(answer, { message, configuration }, { newId }) {
    return { task: withHistory(decodeTask(answer, newId, message), configuration?.historyLength) }
  },
}

const getTask: RestRequestCodec<GetTaskRequest, Task> = {
  encode: ({ id }) => get(`/tasks/${segment('id', id)}`),
  decode: (answer, { historyLength }, { newId }) => withHistory(decodeTask(answer, newId), historyLength),
}

const cancelTask: RestRequestCodec<CancelTaskRequest, Task> = {
  encode: ({ id, metadata }) => post(`/tasks/${segment('id', id)}/cancel`, { metadata }),
  decode: (answer, _request, { newId }) => decodeTask(answer, newId),
}

export const taskRestClient: ClientDialect = {
  ...outline,
  rest: {
    operations: {
      sendMessage,
      sendStreamingMessage: {
        encode: (request) => post('/tasks/sendSubscribe', encodeSendBody(request)),
        decode: asItIs,
      },
      getTask,
      cancelTask,
      subscribeToTask: {
        encode: ({ id }) => post('/tasks/resubscribe', { id }),
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
  card: { ...outline.card, decode: decodeCard },
  toPushFrame: (body) => (isObject(body.status) && typeof body.id === 'string' ? { task: body } : undefined),
}

function posted<Request, Result>(
  path: string,
  { encode, decode }: RequestCodec<Request, Result>,
): RestRequestCodec<Request, Result> {
  return { encode: (request, facts) => post(path, encode(request, facts)), decode }
}

/** A bare task; some servers wrap it in the stream envelope. */
function decodeTask(answer: unknown, newId: () => string, { contextId }: Partial<Message> = {}): Task {
  const read = decodeOrThrow(readTask, isObject(answer) && isObject(answer.task) ? answer.task : answer)
  return toTask(contextId === undefined ? read : { contextId, ...read }, newId)
}

/** Requests cannot limit the history, so the client shortens it. */
function withHistory(task: Task, length: number | undefined): Task {
  if (length === undefined || !task.history || task.history.length <= length) return task
  const { history, ...rest } = task
  return length > 0 ? { ...rest, history: history.slice(-length) } : rest
}
