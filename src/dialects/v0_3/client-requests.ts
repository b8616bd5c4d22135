/** Requests as each form of 0.3 spells them. Tenants have no place in any. */
import type { Operation } from '../../model/operations.js'
import type { TaskPushNotificationConfig } from '../../model/push-config.js'
import type {
  CancelTaskRequest,
  DeleteTaskPushNotificationConfigRequest,
  GetTaskPushNotificationConfigRequest,
  GetTaskRequest,
  ListTaskPushNotificationConfigsRequest,
  ListTasksRequest,
  SendMessageRequest,
  SubscribeToTaskRequest,
} from '../../model/service.js'
import type { ClientFacts, RequestCodec, RestRequest, RestRequestCodec } from '../client-dialect.js'
import { get, given, post, remove, segment } from '../rest-request.js'
import { encodeSendRequest } from './messages.js'
import { encodePushConfig } from './push-configs.js'
import { joinName } from './resource-names.js'
import {
  grpcSpellings,
  jsonSpelling,
  protoJsonSpelling,
  protoSpelling,
  restSpellings,
  type Spelling,
  type Wire,
} from './spelling.js'

/** The spelling of a call: for the protobuf its user may choose the form of files (R3-PB-12). */
export type SpellingFor = (facts: ClientFacts) => Spelling

export const jsonSpellingFor: SpellingFor = () => jsonSpelling
export const restSpellingFor: SpellingFor = ({ fileBytes }) => restSpellings[fileBytes ?? 'guessed']
export const grpcSpellingFor: SpellingFor = ({ fileBytes }) => grpcSpellings[fileBytes ?? 'guessed']

/** `blocking` is always there: peers differ in what it means when it is not (R3-SEND-5). */
function encodeSend({ message, configuration = {}, metadata }: SendMessageRequest, as: Spelling): Wire {
  const wire = encodeSendRequest({ message, configuration, ...(metadata && { metadata }) }, as)
  const isAll = as.shape === 'proto' && configuration.historyLength === 0
  if (isAll) delete (wire.configuration as Wire).historyLength // the protobuf's 0 means all of it; the answer is cut here
  return wire
}

/** Requests are those of their operations: the service that is called says so, the table cannot. */
function of<Request extends object, Out>(
  make: (request: Request, facts: ClientFacts) => Out,
): (request: unknown, facts: ClientFacts) => Out {
  return (request, facts) => make((request ?? {}) as Request, facts)
}

type Encode = RequestCodec['encode']
type Requests<E> = Readonly<Record<Exclude<Operation, 'listTasks'>, E>>

const sendJson = of((request: SendMessageRequest) => encodeSend(request, jsonSpelling))

/** Drafts between 0.3 and 1.0 added `tasks/list` to JSON-RPC; servers without it answer "method not found". */
export const jsonRequests: Readonly<Record<Operation, Encode>> = {
  sendMessage: sendJson,
  sendStreamingMessage: sendJson,
  getTask: of(({ id, historyLength }: GetTaskRequest) =>
    historyLength === undefined ? { id: given('id', id) } : { id: given('id', id), historyLength },
  ),
  listTasks: of(({ tenant: _tenant, status, ...filter }: ListTasksRequest) =>
    status === undefined ? filter : { ...filter, status: jsonSpelling.states[status] },
  ),
  cancelTask: of(({ id, metadata }: CancelTaskRequest) =>
    metadata ? { id: given('id', id), metadata } : { id: given('id', id) },
  ),
  subscribeToTask: of(({ id }: SubscribeToTaskRequest) => ({ id: given('id', id) })),
  createTaskPushNotificationConfig: of((config: TaskPushNotificationConfig) =>
    encodePushConfig({ ...config, taskId: given('taskId', config.taskId) }, jsonSpelling),
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
  getExtendedAgentCard: () => undefined, // it has no parameters
}

const sendProto = of((request: SendMessageRequest, facts) => encodeSend(request, grpcSpellingFor(facts)))

function nameOf(field: string, id: string): string {
  return joinName(given(field, id))
}

/** A config that was given no id is called like its task (R3-PUSH-2). */
function configName(taskId: string, id = taskId): string {
  return joinName(given('taskId', taskId), given('id', id))
}

/** The name of the config is in it only when it has one. */
function createConfig(config: TaskPushNotificationConfig): Wire {
  const taskId = given('taskId', config.taskId)
  const { name, pushNotificationConfig } = encodePushConfig({ ...config, taskId }, protoSpelling)
  const parent = joinName(taskId)
  return config.id === undefined
    ? { parent, config: { pushNotificationConfig } }
    : { parent, configId: config.id, config: { name, pushNotificationConfig } }
}

export const grpcRequests: Requests<Encode> = {
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
  return (request, facts) => post(path, encodeSend(request, restSpellingFor(facts)))
}

function listTasks({ tenant: _tenant, status, ...filter }: ListTasksRequest): RestRequest {
  return get('/v1/tasks', { ...filter, status: status && protoJsonSpelling.states[status] })
}

/** Bodies are the protobuf's, names included: some servers refuse members that it does not have. */
export const restRequests: Readonly<Record<Operation, RestRequestCodec['encode']>> = {
  sendMessage: of(sendTo('/v1/message:send')),
  sendStreamingMessage: of(sendTo('/v1/message:stream')),
  getTask: of(({ id, historyLength }: GetTaskRequest) =>
    get(ofTask(id), { historyLength: historyLength || undefined }),
  ),
  listTasks: of(listTasks),
  cancelTask: of(({ id, metadata }: CancelTaskRequest) => post(ofTask(id, ':cancel'), metadata ? { metadata } : {})),
  // POST in the prose, GET in the protobuf; whoever serves only one serves GET.
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
