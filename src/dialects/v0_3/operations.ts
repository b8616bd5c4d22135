/** Methods, rpcs, REST routes and codecs of 0.3. */
import type { AgentCard } from '../../model/agent-card.js'
import { A2AError } from '../../model/errors.js'
import type { StreamResponse } from '../../model/event.js'
import { isObject } from '../../model/is-object.js'
import type { Operation } from '../../model/operations.js'
import type { TaskPushNotificationConfig } from '../../model/push-config.js'
import type { ListTaskPushNotificationConfigsResponse, ListTasksResponse } from '../../model/service.js'
import type { Task } from '../../model/task.js'
import { type Decoder, decodeOrThrow } from '../decode.js'
import type { CallFacts, GrpcCodec, OperationCodec, RestRoute } from '../dialect.js'
import { quirksOf } from '../quirks.js'
import { encodeCard, encodeProtoCard } from './card.js'
import { sendRequest } from './messages.js'
import { encodePushConfig, pushConfig } from './push-config.js'
import {
  cancelTaskRequest,
  deletePushConfigRequest,
  getPushConfigRequest,
  getTaskRequest,
  listPushConfigsRequest,
  listTasksRequest,
  subscribeToTaskRequest,
} from './requests.js'
import { encodeEvent, encodeTask } from './tasks.js'
import { grpcForms, jsonForm, restForms, type Wire, type WireForm } from './wire-form.js'

/** Encodes an operation's result. In JSON-RPC a deletion returns `null` and a list is an array. */
type Encode = (result: unknown, params: unknown, as: WireForm) => unknown

/** Selects the wire form of a call. For the protobuf it depends on the peer (R3-PB-12). */
type WireFormOf = (facts: CallFacts | undefined) => WireForm

const inJson: WireFormOf = () => jsonForm
const overRest: WireFormOf = (facts) => restForms[quirksOf(facts).fileBytes]
const overGrpc: WireFormOf = (facts) => grpcForms[quirksOf(facts).fileBytes]

const anything: Decoder<object> = () => ({})

const decoders: Readonly<Record<Operation, (as: WireForm) => Decoder<object>>> = {
  sendMessage: ({ partForm }) => sendRequest[partForm],
  sendStreamingMessage: ({ partForm }) => sendRequest[partForm],
  getTask: ({ shape }) => getTaskRequest[shape],
  listTasks: () => listTasksRequest,
  cancelTask: ({ shape }) => cancelTaskRequest[shape],
  subscribeToTask: ({ shape }) => subscribeToTaskRequest[shape],
  createTaskPushNotificationConfig: ({ shape }) => pushConfig[shape],
  getTaskPushNotificationConfig: ({ shape }) => getPushConfigRequest[shape],
  listTaskPushNotificationConfigs: ({ shape }) => listPushConfigsRequest[shape],
  deleteTaskPushNotificationConfig: ({ shape }) => deletePushConfigRequest[shape],
  getExtendedAgentCard: () => anything,
}

const encodeOneTask: Encode = (result, _params, as) => encodeTask(result as Task, as)
const encodeOneEvent: Encode = (result, _params, as) => encodeEvent(result as StreamResponse, as)
const encodeConfig: Encode = (result, _params, as) => encodePushConfig(result as TaskPushNotificationConfig, as)

/** The service guarantees that a result has its operation's type; the table cannot express that. */
const encoders: Readonly<Record<Operation, Encode>> = {
  sendMessage: encodeOneEvent,
  sendStreamingMessage: encodeOneEvent,
  subscribeToTask: encodeOneEvent,
  getTask: (result, params, as) =>
    as.shape === 'json' ? encodeReadTask(result as Task, params) : encodeTask(result as Task, as),
  cancelTask: encodeOneTask,
  listTasks: (result, _params, as) => encodeTaskList(result as ListTasksResponse, as),
  createTaskPushNotificationConfig: encodeConfig,
  getTaskPushNotificationConfig: encodeConfig,
  listTaskPushNotificationConfigs(result, _params, as) {
    const { configs, nextPageToken } = result as ListTaskPushNotificationConfigsResponse
    const wire = configs.map((each) => encodePushConfig(each, as))
    return as.shape === 'json' ? wire : { configs: wire, nextPageToken }
  },
  deleteTaskPushNotificationConfig: (_result, _params, { shape }) => (shape === 'json' ? null : {}),
  getExtendedAgentCard: (result, _params, { shape }) =>
    encodeExtendedCard(result as AgentCard, shape === 'json' ? encodeCard : encodeProtoCard),
}

/** A caller that requests history gets the member even if the history is empty (R3-GET-2). */
function encodeReadTask(task: Task, params: unknown): Wire {
  const wire = encodeTask(task, jsonForm)
  const isAsked = isObject(params) && (params.historyLength ?? params.history_length ?? undefined) !== undefined
  if (isAsked && !task.history) wire.history = []
  return wire
}

/** `pageSize` is the number of tasks in this page. */
function encodeTaskList({ tasks, totalSize, nextPageToken }: ListTasksResponse, as: WireForm): Wire {
  const wire = tasks.map((each) => encodeTask(each, as))
  return { tasks: wire, totalSize, pageSize: wire.length, nextPageToken }
}

function encodeExtendedCard(card: AgentCard, encode: typeof encodeCard): Wire {
  const wire = encode(card)
  if (wire) return wire
  throw new A2AError('EXTENDED_AGENT_CARD_NOT_CONFIGURED', 'This agent has no extended card for version 0.3')
}

/** Operations whose parameters may be missing. */
const withoutParams: ReadonlySet<Operation> = new Set(['listTasks', 'getExtendedAgentCard'])

function decoder(operation: Operation, formOf: WireFormOf): OperationCodec['decode'] {
  return (params, facts) => {
    const isEmpty = (params ?? undefined) === undefined && withoutParams.has(operation)
    return decodeOrThrow(decoders[operation](formOf(facts)), isEmpty ? {} : params)
  }
}

function codecs(formOf: WireFormOf): Readonly<Record<Operation, OperationCodec>> {
  return eachOperation((operation, encode) => ({
    decode: decoder(operation, formOf),
    ...(operation === 'listTasks' && { booleanParameters: ['includeArtifacts', 'include_artifacts'] }),
    encode: (result, params, facts) => JSON.stringify(encode(result, params, formOf(facts))),
  }))
}

function eachOperation<C>(make: (operation: Operation, encode: Encode) => C): Record<Operation, C> {
  const entries = Object.entries(encoders) as [Operation, Encode][] // the keys of that record are operations
  return Object.fromEntries(entries.map(([operation, encode]) => [operation, make(operation, encode)])) as Record<
    Operation,
    C
  >
}

export const jsonOperations = codecs(inJson)
export const restOperations = codecs(overRest)

const protoOperations = eachOperation<GrpcCodec>((operation, encode) => ({
  decode: decoder(operation, overGrpc),
  encode: (result, params, facts) => encode(result, params, overGrpc(facts)) as object, // the protobuf's results are objects
}))

/** Drafts of 1.0 have another name for a card's interfaces. */
export const grpcOperations: typeof protoOperations = {
  ...protoOperations,
  getExtendedAgentCard: {
    ...protoOperations.getExtendedAgentCard,
    encode: (result, params, facts) => {
      const card: Wire = { ...protoOperations.getExtendedAgentCard.encode(result, params, facts) }
      return { ...card, supportedInterfaces: card.additionalInterfaces }
    },
  },
}

export const methods: ReadonlyMap<string, Operation> = new Map([
  ['message/send', 'sendMessage'],
  ['message/stream', 'sendStreamingMessage'],
  ['tasks/get', 'getTask'],
  ['tasks/cancel', 'cancelTask'],
  ['tasks/resubscribe', 'subscribeToTask'],
  ['tasks/pushNotificationConfig/set', 'createTaskPushNotificationConfig'],
  ['tasks/pushNotificationConfig/get', 'getTaskPushNotificationConfig'],
  ['tasks/pushNotificationConfig/list', 'listTaskPushNotificationConfigs'],
  ['tasks/pushNotificationConfig/delete', 'deleteTaskPushNotificationConfig'],
  ['agent/getAuthenticatedExtendedCard', 'getExtendedAgentCard'],
  ['agent/authenticatedExtendedCard', 'getExtendedAgentCard'], // the name in section 11 of the specification
  // Drafts after 0.3 (R3-MTH-3).
  ['tasks/list', 'listTasks'],
  ['tasks/subscribe', 'subscribeToTask'],
])

export const rpcs: ReadonlyMap<string, Operation> = new Map([
  ['SendMessage', 'sendMessage'],
  ['SendStreamingMessage', 'sendStreamingMessage'],
  ['GetTask', 'getTask'],
  ['CancelTask', 'cancelTask'],
  ['TaskSubscription', 'subscribeToTask'],
  ['CreateTaskPushNotificationConfig', 'createTaskPushNotificationConfig'],
  ['GetTaskPushNotificationConfig', 'getTaskPushNotificationConfig'],
  ['ListTaskPushNotificationConfig', 'listTaskPushNotificationConfigs'],
  ['DeleteTaskPushNotificationConfig', 'deleteTaskPushNotificationConfig'],
  ['GetAgentCard', 'getExtendedAgentCard'],
  // Drafts of 1.0, which kept the name of the service.
  ['ListTasks', 'listTasks'],
  ['SubscribeToTask', 'subscribeToTask'],
  ['SetTaskPushNotificationConfig', 'createTaskPushNotificationConfig'],
  ['GetExtendedAgentCard', 'getExtendedAgentCard'],
])

const configs = '/v1/tasks/{taskId}/pushNotificationConfigs'

export const routes: readonly RestRoute[] = [
  { method: 'POST', path: '/v1/message:send', operation: 'sendMessage' },
  { method: 'POST', path: '/v1/message:stream', operation: 'sendStreamingMessage' },
  { method: 'GET', path: '/v1/tasks', operation: 'listTasks' },
  { method: 'GET', path: '/v1/tasks/{taskId}', operation: 'getTask' },
  { method: 'POST', path: '/v1/tasks/{taskId}:cancel', operation: 'cancelTask' },
  // POST in the text of the specification, GET in the protobuf: both are served.
  { method: 'GET', path: '/v1/tasks/{taskId}:subscribe', operation: 'subscribeToTask' },
  { method: 'POST', path: '/v1/tasks/{taskId}:subscribe', operation: 'subscribeToTask' },
  { method: 'POST', path: configs, operation: 'createTaskPushNotificationConfig' },
  // The protobuf of 0.3.0 has this path by mistake, and some clients follow it.
  { method: 'POST', path: '/v1/task/{taskId}/pushNotificationConfigs', operation: 'createTaskPushNotificationConfig' },
  { method: 'GET', path: configs, operation: 'listTaskPushNotificationConfigs' },
  { method: 'GET', path: `${configs}/{configId}`, operation: 'getTaskPushNotificationConfig' },
  { method: 'DELETE', path: `${configs}/{configId}`, operation: 'deleteTaskPushNotificationConfig' },
  { method: 'GET', path: '/v1/card', operation: 'getExtendedAgentCard' },
  // 0.2 had no method for the extended card: clients send a plain GET and expect JSON-RPC's shape (RL-02-4).
  {
    method: 'GET',
    path: '/agent/authenticatedExtendedCard',
    operation: 'getExtendedAgentCard',
    codec: jsonOperations.getExtendedAgentCard,
    httpStatus: ({ code }) =>
      code === 'EXTENDED_AGENT_CARD_NOT_CONFIGURED' || code === 'UNSUPPORTED_OPERATION' ? 404 : undefined,
  },
]
