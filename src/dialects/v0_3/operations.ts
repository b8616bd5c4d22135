/** 0.3's methods, rpcs and codecs; REST's routes are in `routes.ts`. */
import type { AgentCard } from '../../model/agent-card.js'
import { A2AError } from '../../model/errors.js'
import type { StreamResponse } from '../../model/event.js'
import type { Operation } from '../../model/operations.js'
import type { TaskPushNotificationConfig } from '../../model/push-config.js'
import type { ListTaskPushNotificationConfigsResponse, ListTasksResponse } from '../../model/service.js'
import type { Task } from '../../model/task.js'
import { type Decoder, decodeOrThrow, isObject } from '../decode.js'
import type { GrpcCodec, OperationCodec } from '../dialect.js'
import { encodeCard, encodeProtoCard } from './card.js'
import { sendRequest } from './messages.js'
import { encodePushConfig, pushConfig } from './push-configs.js'
import {
  cancelTaskRequest,
  deletePushConfigRequest,
  getPushConfigRequest,
  getTaskRequest,
  listPushConfigsRequest,
  listTasksRequest,
  subscribeToTaskRequest,
} from './requests.js'
import { jsonSpelling, protoJsonSpelling, protoSpelling, type Shape, type Spelling, type Wire } from './spelling.js'
import { encodeEvent, encodeTask } from './tasks.js'

/** What an operation's result is on the wire: `null` after a deletion in JSON-RPC, an array for its lists. */
type Encode = (result: unknown, params: unknown) => unknown

const anything: Decoder<object> = () => ({})

const decoders: Readonly<Record<Operation, Readonly<Record<Shape, Decoder<object>>>>> = {
  sendMessage: sendRequest,
  sendStreamingMessage: sendRequest,
  getTask: getTaskRequest,
  listTasks: { json: listTasksRequest, proto: listTasksRequest },
  cancelTask: cancelTaskRequest,
  subscribeToTask: subscribeToTaskRequest,
  createTaskPushNotificationConfig: pushConfig,
  getTaskPushNotificationConfig: getPushConfigRequest,
  listTaskPushNotificationConfigs: listPushConfigsRequest,
  deleteTaskPushNotificationConfig: deletePushConfigRequest,
  getExtendedAgentCard: { json: anything, proto: anything },
}

/** Results are those of their operations: the service that made them says so, the table cannot. */
function encoders(as: Spelling): Readonly<Record<Operation, Encode>> {
  const isJson = as.shape === 'json'
  const encodeOneTask: Encode = (result) => encodeTask(result as Task, as)
  const encodeOneEvent: Encode = (result) => encodeEvent(result as StreamResponse, as)
  const encodeConfig: Encode = (result) => encodePushConfig(result as TaskPushNotificationConfig, as)
  return {
    sendMessage: encodeOneEvent,
    sendStreamingMessage: encodeOneEvent,
    subscribeToTask: encodeOneEvent,
    getTask: isJson ? (result, params) => encodeReadTask(result as Task, params) : encodeOneTask,
    cancelTask: encodeOneTask,
    listTasks: (result) => encodeTaskList(result as ListTasksResponse, as),
    createTaskPushNotificationConfig: encodeConfig,
    getTaskPushNotificationConfig: encodeConfig,
    listTaskPushNotificationConfigs: (result) => {
      const { configs, nextPageToken } = result as ListTaskPushNotificationConfigsResponse
      const wire = configs.map((each) => encodePushConfig(each, as))
      return isJson ? wire : { configs: wire, nextPageToken }
    },
    deleteTaskPushNotificationConfig: () => (isJson ? null : {}),
    getExtendedAgentCard: (result) => encodeExtendedCard(result as AgentCard, isJson ? encodeCard : encodeProtoCard),
  }
}

/** Who asks for history sees the member, even when there is none (R3-GET-2). */
function encodeReadTask(task: Task, params: unknown): Wire {
  const wire = encodeTask(task, jsonSpelling)
  const isAsked = isObject(params) && (params.historyLength ?? params.history_length ?? undefined) !== undefined
  if (isAsked && !task.history) wire.history = []
  return wire
}

/** `pageSize` is the number of tasks in this page. */
function encodeTaskList({ tasks, totalSize, nextPageToken }: ListTasksResponse, as: Spelling): Wire {
  const wire = tasks.map((each) => encodeTask(each, as))
  return { tasks: wire, totalSize, pageSize: wire.length, nextPageToken }
}

function encodeExtendedCard(card: AgentCard, encode: typeof encodeCard): Wire {
  const wire = encode(card)
  if (wire) return wire
  throw new A2AError('EXTENDED_AGENT_CARD_NOT_CONFIGURED', 'This agent has no extended card for version 0.3')
}

/** Requests that may come without any parameters. */
const withoutParams: ReadonlySet<Operation> = new Set(['listTasks', 'getExtendedAgentCard'])

function decoder(operation: Operation, shape: Shape): OperationCodec['decode'] {
  const decode = decoders[operation][shape]
  return (params) =>
    decodeOrThrow(decode, (params ?? undefined) === undefined && withoutParams.has(operation) ? {} : params)
}

function codecs(as: Spelling): Readonly<Record<Operation, OperationCodec>> {
  return eachOperation(
    (operation, encode) => ({
      decode: decoder(operation, as.shape),
      ...(operation === 'listTasks' && { booleanParameters: ['includeArtifacts', 'include_artifacts'] }),
      encode: (result, params) => JSON.stringify(encode(result, params)),
    }),
    as,
  )
}

function eachOperation<C>(make: (operation: Operation, encode: Encode) => C, as: Spelling): Record<Operation, C> {
  const entries = Object.entries(encoders(as)) as [Operation, Encode][] // the keys of that record are operations
  return Object.fromEntries(entries.map(([operation, encode]) => [operation, make(operation, encode)])) as Record<
    Operation,
    C
  >
}

export const jsonOperations = codecs(jsonSpelling)
export const restOperations = codecs(protoJsonSpelling)

const { listTasks: _absent, ...inProtobuf } = eachOperation<GrpcCodec>(
  (operation, encode) => ({
    decode: decoder(operation, 'proto'),
    encode: (result, params) => encode(result, params) as object, // nothing else in the protobuf's shape
  }),
  protoSpelling,
)

/** Listing tasks is not in the protobuf. */
export const grpcOperations: { readonly [O in Operation]?: GrpcCodec } = inProtobuf

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
  ['agent/authenticatedExtendedCard', 'getExtendedAgentCard'], // what section 11 of the specification calls it
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
])
