/** The client's side of v1.0. */

import type { StreamResponse } from '../../model/event.js'
import { isObject } from '../../model/is-object.js'
import { type Operation, operations as table } from '../../model/operations.js'
import type { AuthenticationInfo, TaskPushNotificationConfig } from '../../model/push-config.js'
import type {
  CancelTaskRequest,
  DeleteTaskPushNotificationConfigRequest,
  GetExtendedAgentCardRequest,
  GetTaskPushNotificationConfigRequest,
  GetTaskRequest,
  ListTaskPushNotificationConfigsRequest,
  ListTaskPushNotificationConfigsResponse,
  ListTasksRequest,
  RequestOf,
  ResultOf,
  SendMessageRequest,
  SubscribeToTaskRequest,
} from '../../model/service.js'
import type { Task } from '../../model/task.js'
import type {
  ClientDialect,
  RequestCodec,
  RequestCodecs,
  RestRequest,
  RestRequestCodec,
  RestRequestCodecs,
  StreamDecoder,
  StreamRequest,
} from '../client-dialect.js'
import { array, converted, type Decoder, decodeOrThrow, object, optional, required, string } from '../decode.js'
import { createStreamDecoder, filledAnswer, filledTask, type Known, knownFrom } from '../fill-missing.js'
import { lenientDecoders, lenientEvent, lenientMessage, lenientTaskList } from '../lenient-decoders.js'
import { meaningsOf, readGrpcError, readHttpError, readRpcError } from '../peer-error.js'
import { listsInterfaces } from '../recognise.js'
import { get, post, remove, segment } from '../rest-route.js'
import { decodeCard, toV1Request } from './card.js'
import { errors } from './errors.js'
import { facts } from './facts.js'
import { lenientPart } from './messages.js'

const message = lenientMessage(lenientPart)
const lenient = lenientDecoders(lenientPart, message)
const event = lenientEvent(message, lenient, { hasKinds: false })
const taskList = lenientTaskList(lenient.task)

/** Servers may omit the credentials and their scheme. */
const authentication = converted(
  object<Partial<Omit<AuthenticationInfo, 'schemes'>>>({ scheme: optional(string), credentials: optional(string) }),
  ({ scheme, ...rest }): AuthenticationInfo | undefined => (scheme === undefined ? undefined : { scheme, ...rest }),
)

const pushConfig = object<TaskPushNotificationConfig>({
  tenant: optional(string),
  id: optional(string),
  taskId: optional(string),
  url: required(string),
  token: optional(string),
  authentication: optional(authentication),
})

const pushConfigPage = object<Partial<ListTaskPushNotificationConfigsResponse>>({
  configs: optional(array(pushConfig)),
  nextPageToken: optional(string),
})

/** A page, or a list of configs as in 0.3. */
const pushConfigList: Decoder<Partial<ListTaskPushNotificationConfigsResponse>> = (value, faults) =>
  pushConfigPage(Array.isArray(value) ? { configs: value } : value, faults)

export function decodeEvent(wire: unknown): StreamResponse {
  return decodeOrThrow(event, wire)
}

/** Over REST the path names the task, and some servers omit it from the body. */
function withTask(config: TaskPushNotificationConfig, { taskId }: Known): TaskPushNotificationConfig {
  return config.taskId === undefined && taskId !== undefined ? { ...config, taskId } : config
}

type Decode<Result = unknown, Request = unknown> = RequestCodec<Request, Result>['decode']

const decodeTask: Decode<Task> = (answer, request, facts) =>
  filledTask(decodeOrThrow(lenient.task, answer), knownFrom(request, facts))

const decodeConfig: Decode<TaskPushNotificationConfig> = (answer, request, facts) =>
  withTask(decodeOrThrow(pushConfig, answer), knownFrom(request, facts))

/** Leaves a response that is not a stream as it is: the stream decoder reads it as the only element. */
const asItIs: Decode = (answer) => answer

export const decoders: { readonly [O in Operation]: Decode<ResultOf<O>, RequestOf<O>> } = {
  sendMessage: (answer, request, facts) => filledAnswer(decodeEvent(answer), knownFrom(request, facts)),
  sendStreamingMessage: asItIs,
  subscribeToTask: asItIs,
  getTask: decodeTask,
  cancelTask: decodeTask,
  listTasks(answer, _request, facts) {
    const page = decodeOrThrow(taskList, answer)
    return { ...page, tasks: page.tasks.map((task) => filledTask(task, facts)) }
  },
  createTaskPushNotificationConfig: decodeConfig,
  getTaskPushNotificationConfig: decodeConfig,
  listTaskPushNotificationConfigs(answer, request, facts) {
    const { configs = [], nextPageToken = '' } = decodeOrThrow(pushConfigList, answer ?? {})
    const known = knownFrom(request, facts)
    return { configs: configs.map((config) => withTask(config, known)), nextPageToken }
  },
  // `{}`, `null` or nothing (R-PUSH-6).
  deleteTaskPushNotificationConfig: () => undefined,
  getExtendedAgentCard: (answer) => decodeCard(answer),
}

/** Adds the tenant's prefix if the request names a tenant (R-TEN-2). */
function under(tenant: string | undefined, path: string): string {
  return tenant ? `/${segment('tenant', tenant)}${path}` : path
}

function ofTask(tenant: string | undefined, id: string, action = ''): string {
  return under(tenant, `/tasks/${segment('id', id)}${action}`)
}

function configs(tenant: string | undefined, taskId: string | undefined): string {
  return under(tenant, `/tasks/${segment('taskId', taskId)}/pushNotificationConfigs`)
}

function sendTo(path: string): (request: SendMessageRequest) => RestRequest {
  return ({ tenant, ...body }) => post(under(tenant, path), body)
}

const sendMessage = sendTo('/message:send')
const sendStreamingMessage = sendTo('/message:stream')

function getTask({ tenant, id, historyLength }: GetTaskRequest): RestRequest {
  return get(ofTask(tenant, id), { historyLength })
}

function listTasks({ tenant, ...filter }: ListTasksRequest): RestRequest {
  return get(under(tenant, '/tasks'), filter)
}

function cancelTask({ tenant, id, ...body }: CancelTaskRequest): RestRequest {
  return post(ofTask(tenant, id, ':cancel'), body)
}

/** GET in the protocol file, POST in the text and in most clients. Servers with only one of them serve POST. */
function subscribeToTask({ tenant, id }: SubscribeToTaskRequest): RestRequest {
  return post(ofTask(tenant, id, ':subscribe'), {})
}

function createConfig({ tenant, taskId, ...body }: TaskPushNotificationConfig): RestRequest {
  return post(configs(tenant, taskId), body)
}

function getConfig({ tenant, taskId, id }: GetTaskPushNotificationConfigRequest): RestRequest {
  return get(`${configs(tenant, taskId)}/${segment('id', id)}`)
}

function listConfigs({ tenant, taskId, ...page }: ListTaskPushNotificationConfigsRequest): RestRequest {
  return get(configs(tenant, taskId), page)
}

function deleteConfig({ tenant, taskId, id }: DeleteTaskPushNotificationConfigRequest): RestRequest {
  return remove(`${configs(tenant, taskId)}/${segment('id', id)}`)
}

function getExtendedCard({ tenant }: GetExtendedAgentCardRequest): RestRequest {
  return get(under(tenant, '/extendedAgentCard'))
}

/** JavaScript callers may omit the request. */
function of<Request extends object>(make: (request: Request) => RestRequest): RestRequestCodec<Request>['encode'] {
  return (request) => make(request ?? {})
}

export const restRequests: { readonly [O in Operation]: RestRequestCodec<RequestOf<O>>['encode'] } = {
  sendMessage: of(sendMessage),
  sendStreamingMessage: of(sendStreamingMessage),
  getTask: of(getTask),
  listTasks: of(listTasks),
  cancelTask: of(cancelTask),
  subscribeToTask: of(subscribeToTask),
  createTaskPushNotificationConfig: of(createConfig),
  getTaskPushNotificationConfig: of(getConfig),
  listTaskPushNotificationConfigs: of(listConfigs),
  deleteTaskPushNotificationConfig: of(deleteConfig),
  getExtendedAgentCard: of(getExtendedCard),
}

const names = Object.keys(table) as Operation[]

const methods = Object.fromEntries(names.map((name) => [name, table[name].name])) as Record<Operation, string> // the names are all operations

/** The model is v1.0's JSON: requests are sent unchanged, without members of older versions. */
function codec<O extends Operation>(name: O): RequestCodec<RequestOf<O>, ResultOf<O>> {
  return { encode: (request) => toV1Request(name, request), decode: decoders[name] }
}

function restCodec<O extends Operation>(name: O): RestRequestCodec<RequestOf<O>, ResultOf<O>> {
  const encode: RestRequestCodec<RequestOf<O>>['encode'] = restRequests[name]
  return { encode: (request, facts) => encode(toV1Request(name, request), facts), decode: decoders[name] }
}

const requests = Object.fromEntries(names.map((name) => [name, codec(name)])) as Required<RequestCodecs>
const restOperations = Object.fromEntries(names.map((name) => [name, restCodec(name)])) as Required<RestRequestCodecs>

/** The end of the connection is the end of the stream (R-STRM-12). */
function createDecoder(stream: StreamRequest): StreamDecoder {
  return createStreamDecoder(stream, { decode: decodeEvent })
}

const eventMembers = ['task', 'message', 'statusUpdate', 'artifactUpdate']

const meanings = meaningsOf(errors)

export const v1Client: ClientDialect = {
  ...facts,
  jsonrpc: {
    methods,
    operations: requests,
    createStreamDecoder: createDecoder,
    decodeError: (error, status) => readRpcError(error, meanings, status),
  },
  rest: {
    operations: restOperations,
    createStreamDecoder: createDecoder,
    decodeError: (status, body) => readHttpError(status, body, meanings),
  },
  grpc: {
    service: 'lf.a2a.v1.A2AService',
    rpcs: methods,
    operations: requests,
    createStreamDecoder: createDecoder,
    decodeError: readGrpcError,
  },
  card: { recognise: (card) => (listsInterfaces(card) ? 'certain' : undefined), decode: decodeCard },
  toPushFrame: (body) => (eventMembers.some((name) => isObject(body[name])) ? body : undefined),
}
