/** Methods, rpcs, REST routes and codecs of 0.3. */
import type { AgentCard } from '../../model/agent-card.js'
import { A2AError } from '../../model/errors.js'
import type { StreamResponse } from '../../model/event.js'
import { isObject } from '../../model/is-object.js'
import type { Operation } from '../../model/operations.js'
import type { TaskPushNotificationConfig } from '../../model/push-config.js'
import type { ListTasksResponse, RequestOf, ResultOf } from '../../model/service.js'
import type { Task } from '../../model/task.js'
import { type Decoder, decodeOrThrow } from '../decode.js'
import type { CallFacts, GrpcCodec, GrpcCodecs, OperationCodec, OperationCodecs, RestRoute } from '../dialect.js'
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
type Encode<Result> = (result: Result, params: unknown, as: WireForm) => unknown

/** Selects the wire form of a call. For the protobuf it depends on the peer (R3-PB-12). */
type WireFormOf = (facts: CallFacts | undefined) => WireForm

const inJson: WireFormOf = () => jsonForm
const overRest: WireFormOf = (facts) => restForms[quirksOf(facts).fileBytes]
const overGrpc: WireFormOf = (facts) => grpcForms[quirksOf(facts).fileBytes]

const anything: Decoder<object> = () => ({})

const decoders: { readonly [O in Operation]: (as: WireForm) => Decoder<RequestOf<O>> } = {
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

/** Streams have an encoder of events. */
const encodeOneEvent: Encode<unknown> = (result, _params, as) => encodeEvent(result as StreamResponse, as)
const encodeConfig: Encode<TaskPushNotificationConfig> = (result, _params, as) => encodePushConfig(result, as)

const encoders: { readonly [O in Operation]: Encode<ResultOf<O>> } = {
  sendMessage: (result, _params, as) => encodeEvent(result, as),
  sendStreamingMessage: encodeOneEvent,
  subscribeToTask: encodeOneEvent,
  getTask: (result, params, as) => (as.shape === 'json' ? encodeReadTask(result, params) : encodeTask(result, as)),
  cancelTask: (result, _params, as) => encodeTask(result, as),
  listTasks: (result, _params, as) => encodeTaskList(result, as),
  createTaskPushNotificationConfig: encodeConfig,
  getTaskPushNotificationConfig: encodeConfig,
  listTaskPushNotificationConfigs({ configs, nextPageToken }, _params, as) {
    const wire = configs.map((each) => encodePushConfig(each, as))
    return as.shape === 'json' ? wire : { configs: wire, nextPageToken }
  },
  deleteTaskPushNotificationConfig: (_result, _params, { shape }) => (shape === 'json' ? null : {}),
  getExtendedAgentCard: (result, _params, { shape }) =>
    encodeExtendedCard(result, shape === 'json' ? encodeCard : encodeProtoCard),
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

function decoder<O extends Operation>(operation: O, formOf: WireFormOf): OperationCodec<RequestOf<O>>['decode'] {
  const decode: (as: WireForm) => Decoder<RequestOf<O>> = decoders[operation]
  return (params, facts) => {
    const isEmpty = (params ?? undefined) === undefined && withoutParams.has(operation)
    return decodeOrThrow(decode(formOf(facts)), isEmpty ? {} : params)
  }
}

function codec<O extends Operation>(operation: O, formOf: WireFormOf): OperationCodec<RequestOf<O>, ResultOf<O>> {
  const encode: Encode<ResultOf<O>> = encoders[operation]
  return {
    decode: decoder(operation, formOf),
    ...(operation === 'listTasks' && { booleanParameters: ['includeArtifacts', 'include_artifacts'] }),
    encode: (result, params, facts) => JSON.stringify(encode(result, params, formOf(facts))),
  }
}

function grpcCodec<O extends Operation>(operation: O): GrpcCodec<RequestOf<O>, ResultOf<O>> {
  const encode: Encode<ResultOf<O>> = encoders[operation]
  return {
    decode: decoder(operation, overGrpc),
    encode: (result, params, facts) => encode(result, params, overGrpc(facts)) as object, // the protobuf's results are objects
  }
}

const names = Object.keys(encoders) as Operation[]
const codecs = (formOf: WireFormOf) =>
  Object.fromEntries(names.map((name) => [name, codec(name, formOf)])) as Required<OperationCodecs>

export const jsonOperations = codecs(inJson)
export const restOperations = codecs(overRest)

const protoOperations = Object.fromEntries(names.map((name) => [name, grpcCodec(name)])) as Required<GrpcCodecs>

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
