/** The client's side of task-rest. */
import { isObject } from '../../model/is-object.js'
import type { Message } from '../../model/message.js'
import type { CancelTaskRequest, GetTaskRequest, SendMessageRequest, SendMessageResponse } from '../../model/service.js'
import type { Task } from '../../model/task.js'
import type { ClientCardForm, ClientDialect, RequestCodec, RestRequestCodec } from '../client-dialect.js'
import { decodeOrThrow } from '../decode.js'
import { hasAny, type Json, listsInterfaces, statedVersion } from '../recognise.js'
import { get, post, segment } from '../rest-route.js'
import { asItIs, pushRequests } from '../v0_1/client.js'
import { decodeCard } from './card.js'
import { decodeError } from './errors.js'
import { facts } from './facts.js'
import { encodeSendBody } from './messages.js'
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
  ...facts,
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
  card: { recognise: recogniseCard, decode: decodeCard, alternatives: ['v0.1', 'v0.3'] },
  toPushFrame: (body) => (isObject(body.status) && typeof body.id === 'string' ? { task: body } : undefined),
}

const words: ReadonlySet<unknown> = new Set(['text', 'data', 'file'])

/** task-rest cards have modes only in skills, written as words, and no tags. v0.1 cards rarely have that shape. */
function recogniseCard(card: Json): ReturnType<ClientCardForm['recognise']> {
  if (listsInterfaces(card) || statedVersion(card) !== '') return undefined
  if (hasAny(card, 'defaultInputModes', 'defaultOutputModes', 'documentationUrl')) return undefined
  if (isObject(card.capabilities) && hasAny(card.capabilities, 'stateTransitionHistory')) return undefined
  const areWords = (modes: unknown) =>
    Array.isArray(modes) && modes.length > 0 && modes.every((mode) => words.has(mode))
  const skills: unknown = card.skills
  const isOwn =
    Array.isArray(skills) &&
    skills.length > 0 &&
    skills.every(
      (skill: unknown) =>
        isObject(skill) && !hasAny(skill, 'tags') && areWords(skill.inputModes) && areWords(skill.outputModes),
    )
  return isOwn ? 'likely' : undefined
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
