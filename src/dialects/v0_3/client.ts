/** The client's side of v0.3 and v0.2. */

import type { StreamResponse } from '../../model/event.js'
import { isObject } from '../../model/is-object.js'
import type { Operation } from '../../model/operations.js'
import type { TaskPushNotificationConfig } from '../../model/push-config.js'
import type {
  CancelTaskRequest,
  DeleteTaskPushNotificationConfigRequest,
  GetTaskPushNotificationConfigRequest,
  GetTaskRequest,
  ListTaskPushNotificationConfigsRequest,
  ListTasksRequest,
  RequestOf,
  ResultOf,
  SendMessageRequest,
  SubscribeToTaskRequest,
} from '../../model/service.js'
import { isTerminal, type Task } from '../../model/task.js'
import { createStreamDecoder as createChatDecoder, isStreamResult } from '../chat-rpc/stream.js'
import type {
  ClientDialect,
  ClientFacts,
  RequestCodec,
  RequestCodecs,
  RestRequest,
  RestRequestCodec,
  RestRequestCodecs,
  StreamDecoder,
  StreamRequest,
} from '../client-dialect.js'
import { array, decodeOrThrow, object, optional, string } from '../decode.js'
import { createStreamDecoder, filledAnswer, filledTask, type Known, knownFrom } from '../fill-missing.js'
import { lenientTaskList } from '../lenient-decoders.js'
import { meaningsOf, readGrpcError, readHttpError, readRpcError } from '../peer-error.js'
import { get, given, post, remove, segment } from '../rest-route.js'
import { errors } from './errors.js'
import { encodeSendRequest } from './messages.js'
import { outline } from './outline.js'
import { encodePushConfig, joinName, lenientPushConfig } from './push-config.js'
import { decodeCard } from './read-card.js'
import { decodeEvent, decodeTask, task } from './tasks.js'
import {
  grpcForms,
  inEveryPartForm,
  jsonForm,
  protoForm,
  protoJsonForm,
  restForms,
  type Wire,
  type WireForm,
} from './wire-form.js'

/** Selects the wire form of a call. For the protobuf, the user may choose the encoding of files (R3-PB-12). */
export type WireFormFor = (facts: ClientFacts) => WireForm

export const jsonFormFor: WireFormFor = () => jsonForm
export const restFormFor: WireFormFor = ({ fileBytes }) => restForms[fileBytes ?? 'guessed']
export const grpcFormFor: WireFormFor = ({ fileBytes }) => grpcForms[fileBytes ?? 'guessed']

/** `blocking` is always sent: peers differ in its default (R3-SEND-5). */
function encodeSend({ message, configuration = {}, metadata }: SendMessageRequest, as: WireForm): Wire {
  const wire = encodeSendRequest({ message, configuration, ...(metadata && { metadata }) }, as)
  const isAll = as.shape === 'proto' && configuration.historyLength === 0
  if (isAll) delete (wire.configuration as Wire).historyLength // the protobuf's 0 means the whole history; `cut` shortens the response
  return wire
}

/** JavaScript callers may omit the request. */
function of<Request extends object, Out>(
  make: (request: Request, facts: ClientFacts) => Out,
): (request: Request, facts: ClientFacts) => Out {
  return (request, facts) => make(request ?? {}, facts)
}

type Requests = { readonly [O in Operation]: RequestCodec<RequestOf<O>>['encode'] }
type RestRequests = { readonly [O in Operation]: RestRequestCodec<RequestOf<O>>['encode'] }

const sendJson = of((request: SendMessageRequest) => encodeSend(request, jsonForm))

/** Drafts between 0.3 and 1.0 added `tasks/list` to JSON-RPC; servers without it answer "method not found". */
const jsonRequests: Requests = {
  sendMessage: sendJson,
  sendStreamingMessage: sendJson,
  getTask: of(({ id, historyLength }: GetTaskRequest) =>
    historyLength === undefined ? { id: given('id', id) } : { id: given('id', id), historyLength },
  ),
  listTasks: of(({ tenant: _tenant, status, ...filter }: ListTasksRequest) =>
    status === undefined ? filter : { ...filter, status: jsonForm.states[status] },
  ),
  cancelTask: of(({ id, metadata }: CancelTaskRequest) =>
    metadata ? { id: given('id', id), metadata } : { id: given('id', id) },
  ),
  subscribeToTask: of(({ id }: SubscribeToTaskRequest) => ({ id: given('id', id) })),
  createTaskPushNotificationConfig: of((config: TaskPushNotificationConfig) =>
    encodePushConfig({ ...config, taskId: given('taskId', config.taskId) }, jsonForm),
  ),
  getTaskPushNotificationConfig: of(({ taskId, id }: GetTaskPushNotificationConfigRequest) => ({
    id: given('taskId', taskId),
    ...(id !== undefined && { pushNotificationConfigId: id }),
  })),
  listTaskPushNotificationConfigs: of(({ taskId }: ListTaskPushNotificationConfigsRequest) => ({
    id: given('taskId', taskId),
  })),
  deleteTaskPushNotificationConfig: of(({ taskId, id }: DeleteTaskPushNotificationConfigRequest) => ({
    id: given('taskId', taskId),
    pushNotificationConfigId: given('id', id),
  })),
  getExtendedAgentCard: () => undefined, // no parameters
}

const sendProto = of((request: SendMessageRequest, facts) => encodeSend(request, grpcFormFor(facts)))

function nameOf(field: string, id: string): string {
  return joinName(given(field, id))
}

/** A config without an id has the id of its task (R3-PUSH-2). */
function configName(taskId: string, id = taskId): string {
  return joinName(given('taskId', taskId), given('id', id))
}

/** Includes the config's name only if it has one. */
function createConfig(config: TaskPushNotificationConfig): Wire {
  const taskId = given('taskId', config.taskId)
  const { name, pushNotificationConfig } = encodePushConfig({ ...config, taskId }, protoForm)
  const parent = joinName(taskId)
  return config.id === undefined
    ? { parent, config: { pushNotificationConfig } }
    : { parent, configId: config.id, config: { name, pushNotificationConfig } }
}

const grpcRequests: Omit<Requests, 'listTasks'> = {
  sendMessage: sendProto,
  sendStreamingMessage: sendProto,
  getTask: of(({ id, historyLength }: GetTaskRequest) =>
    historyLength ? { name: nameOf('id', id), historyLength } : { name: nameOf('id', id) },
  ),
  cancelTask: of(({ id }: CancelTaskRequest) => ({ name: nameOf('id', id) })),
  subscribeToTask: of(({ id }: SubscribeToTaskRequest) => ({ name: nameOf('id', id) })),
  createTaskPushNotificationConfig: of(createConfig),
  getTaskPushNotificationConfig: of(({ taskId, id }: GetTaskPushNotificationConfigRequest) => ({
    name: configName(taskId, id),
  })),
  listTaskPushNotificationConfigs: of(({ taskId, pageSize, pageToken }: ListTaskPushNotificationConfigsRequest) => ({
    parent: nameOf('taskId', taskId),
    ...(pageSize !== undefined && { pageSize }),
    ...(pageToken !== undefined && { pageToken }),
  })),
  deleteTaskPushNotificationConfig: of(({ taskId, id }: DeleteTaskPushNotificationConfigRequest) => ({
    name: configName(taskId, given('id', id)),
  })),
  getExtendedAgentCard: () => ({}),
}

function ofTask(id: string, action = ''): string {
  return `/v1/tasks/${segment('id', id)}${action}`
}

function configs(taskId: string | undefined): string {
  return `/v1/tasks/${segment('taskId', taskId)}/pushNotificationConfigs`
}

function sendTo(path: string): (request: SendMessageRequest, facts: ClientFacts) => RestRequest {
  return (request, facts) => post(path, encodeSend(request, restFormFor(facts)))
}

function listTasks({ tenant: _tenant, status, ...filter }: ListTasksRequest): RestRequest {
  return get('/v1/tasks', { ...filter, status: status && protoJsonForm.states[status] })
}

/** Bodies have the protobuf's members and names: some servers refuse others. */
export const restRequests: RestRequests = {
  sendMessage: of(sendTo('/v1/message:send')),
  sendStreamingMessage: of(sendTo('/v1/message:stream')),
  getTask: of(({ id, historyLength }: GetTaskRequest) =>
    get(ofTask(id), { historyLength: historyLength || undefined }),
  ),
  listTasks: of(listTasks),
  cancelTask: of(({ id, metadata }: CancelTaskRequest) => post(ofTask(id, ':cancel'), metadata ? { metadata } : {})),
  // POST in the text of the specification, GET in the protobuf. Servers with only one of them serve GET.
  subscribeToTask: of(({ id }: SubscribeToTaskRequest) => get(ofTask(id, ':subscribe'))),
  createTaskPushNotificationConfig: of((config: TaskPushNotificationConfig) =>
    post(configs(config.taskId), createConfig(config)),
  ),
  getTaskPushNotificationConfig: of(({ taskId, id = taskId }: GetTaskPushNotificationConfigRequest) =>
    get(`${configs(taskId)}/${segment('id', id)}`),
  ),
  listTaskPushNotificationConfigs: of(({ taskId, pageSize, pageToken }: ListTaskPushNotificationConfigsRequest) =>
    get(configs(taskId), { pageSize, pageToken }),
  ),
  deleteTaskPushNotificationConfig: of(({ taskId, id }: DeleteTaskPushNotificationConfigRequest) =>
    remove(`${configs(taskId)}/${segment('id', id)}`),
  ),
  getExtendedAgentCard: () => get('/v1/card'),
}

type Decode<Result = unknown, Request = unknown> = RequestCodec<Request, Result>['decode']

/** Leaves a response that is not a stream as it is: the stream decoder reads it as the only element. */
const asItIs: Decode = (answer) => answer

interface ConfigPage {
  readonly configs?: readonly TaskPushNotificationConfig[]
  readonly nextPageToken?: string
}

const configPage = object<ConfigPage>({ configs: optional(array(lenientPushConfig)), nextPageToken: optional(string) })

const decodeConfig: Decode<TaskPushNotificationConfig> = (answer, request, facts) =>
  withTask(decodeOrThrow(lenientPushConfig, answer), knownFrom(request, facts))

/** Adds the task id from the request, which responses may omit. */
function withTask(config: TaskPushNotificationConfig, { taskId = '' }: Known): TaskPushNotificationConfig {
  return config.taskId === undefined ? { ...config, taskId } : config
}

const taskLists = inEveryPartForm((form) => lenientTaskList(task[form]))

function decodersOf(formFor: WireFormFor): { readonly [O in Operation]: Decode<ResultOf<O>, RequestOf<O>> } {
  return {
    sendMessage(answer, request, facts) {
      const read = filledAnswer(decodeEvent(withRole(answer), formFor(facts)), knownFrom(request, facts))
      return 'task' in read ? { task: cut(read.task, request.configuration?.historyLength) } : read
    },
    sendStreamingMessage: asItIs,
    subscribeToTask: asItIs,
    getTask(answer, request, facts) {
      const read = filledTask(decodeTask(answer, formFor(facts)), knownFrom(request, facts))
      return cut(read, request.historyLength)
    },
    cancelTask: (answer, request, facts) => filledTask(decodeTask(answer, formFor(facts)), knownFrom(request, facts)),
    listTasks(answer, _request, facts) {
      const page = decodeOrThrow(taskLists[formFor(facts).partForm], answer)
      return { ...page, tasks: page.tasks.map((each) => filledTask(each, facts)) }
    },
    createTaskPushNotificationConfig: decodeConfig,
    getTaskPushNotificationConfig: decodeConfig,
    listTaskPushNotificationConfigs(answer, request, facts) {
      // An array in JSON-RPC, a page in the protobuf.
      const page = decodeOrThrow(configPage, Array.isArray(answer) ? { configs: answer } : (answer ?? {}))
      const known = knownFrom(request, facts)
      const configs = (page.configs ?? []).map((config) => withTask(config, known))
      return { configs, nextPageToken: page.nextPageToken ?? '' }
    },
    // `null`, `{}` or nothing (R3-PUSH-3).
    deleteTaskPushNotificationConfig: () => undefined,
    getExtendedAgentCard: (answer) => decodeCard(answer),
  }
}

/** The protobuf cannot request an empty history, so the client removes it (R3-GET-2). */
function cut(read: Task, historyLength: number | undefined): Task {
  if (historyLength !== 0 || !read.history) return read
  const { history: _history, ...rest } = read
  return rest
}

/**
 * A stream ends at an event marked as final, at a message, and at a task that has already ended (R3-STRM-5, RM-STR-6).
 */
function streamDecoderOf(formFor: WireFormFor): (stream: StreamRequest) => StreamDecoder {
  return (stream) => {
    const as = formFor(stream.facts)
    return createStreamDecoder(stream, { decode: (data): StreamResponse => decodeEvent(withRole(data), as), isLast })
  }
}

/** chat-rpc servers omit the role of a response. */
function withRole(answer: unknown): unknown {
  return isObject(answer) && answer.kind === 'message' && answer.role === undefined
    ? { ...answer, role: 'agent' }
    : answer
}

function isLast(event: StreamResponse, data: unknown): boolean {
  if ('task' in event) return isTerminal(event.task.status.state)
  if (!('statusUpdate' in event) || !isObject(data)) return false
  const update = data.statusUpdate ?? data.status_update ?? data
  return isObject(update) && update.final === true
}

/** Operations without a request in a form are not in its table. */
function codecs<Codecs extends RequestCodecs>(
  requests: { readonly [O in Operation]?: NonNullable<Codecs[O]>['encode'] },
  formFor: WireFormFor,
): Codecs {
  const decoders = decodersOf(formFor)
  const names = Object.keys(requests) as Operation[] // the keys of that record are operations
  return Object.fromEntries(names.map((name) => [name, { encode: requests[name], decode: decoders[name] }])) as Codecs
}

const methods = {
  sendMessage: 'message/send',
  sendStreamingMessage: 'message/stream',
  getTask: 'tasks/get',
  listTasks: 'tasks/list',
  cancelTask: 'tasks/cancel',
  subscribeToTask: 'tasks/resubscribe',
  createTaskPushNotificationConfig: 'tasks/pushNotificationConfig/set',
  getTaskPushNotificationConfig: 'tasks/pushNotificationConfig/get',
  listTaskPushNotificationConfigs: 'tasks/pushNotificationConfig/list',
  deleteTaskPushNotificationConfig: 'tasks/pushNotificationConfig/delete',
  getExtendedAgentCard: 'agent/getAuthenticatedExtendedCard',
} as const

const rpcs = {
  sendMessage: 'SendMessage',
  sendStreamingMessage: 'SendStreamingMessage',
  getTask: 'GetTask',
  cancelTask: 'CancelTask',
  subscribeToTask: 'TaskSubscription',
  createTaskPushNotificationConfig: 'CreateTaskPushNotificationConfig',
  getTaskPushNotificationConfig: 'GetTaskPushNotificationConfig',
  listTaskPushNotificationConfigs: 'ListTaskPushNotificationConfig',
  deleteTaskPushNotificationConfig: 'DeleteTaskPushNotificationConfig',
  getExtendedAgentCard: 'GetAgentCard',
} as const

const meanings = meaningsOf(errors)

const createEventDecoder = streamDecoderOf(jsonFormFor)

/** chat-rpc servers have the card and the methods of 0.3. The first frame identifies the dialect of the stream. */
function createJsonRpcStreamDecoder(stream: StreamRequest): StreamDecoder {
  let decoder: StreamDecoder | undefined
  return {
    decode(frame) {
      decoder ??= isStreamResult(frame.data) ? createChatDecoder(stream) : createEventDecoder(stream)
      return decoder.decode(frame)
    },
    get isOver() {
      return decoder?.isOver === true
    },
    get canRepeatChunks() {
      return decoder?.canRepeatChunks === true
    },
  }
}

export const v0_3Client: ClientDialect = {
  ...outline,
  jsonrpc: {
    methods,
    operations: codecs<RequestCodecs>(jsonRequests, jsonFormFor),
    createStreamDecoder: createJsonRpcStreamDecoder,
    decodeError: (error, status) => readRpcError(error, meanings, status),
  },
  rest: {
    operations: codecs<RestRequestCodecs>(restRequests, restFormFor),
    createStreamDecoder: streamDecoderOf(restFormFor),
    decodeError: (status, body) => readHttpError(status, body, meanings),
  },
  grpc: {
    service: 'a2a.v1.A2AService',
    rpcs,
    operations: codecs<RequestCodecs>(grpcRequests, grpcFormFor),
    createStreamDecoder: streamDecoderOf(grpcFormFor),
    decodeError: readGrpcError,
  },
  card: { ...outline.card, decode: decodeCard },
  toPushFrame: (body) => (typeof body.kind === 'string' ? body : undefined),
}
