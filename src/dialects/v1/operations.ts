/** Methods and routes of v1.0. The model is v1.0's JSON; `card.ts` removes members of older versions. */
import { type Operation, operations as table } from '../../model/operations.js'
import type { RequestOf, ResultOf } from '../../model/service.js'
import { type Decoder, decodeOrThrow, object, required, string } from '../decode.js'
import type { GrpcCodec, GrpcCodecs, OperationCodec, OperationCodecs, RestRoute } from '../dialect.js'
import { toV1Result } from './card.js'
import { pushConfig, sendMessageRequest } from './messages.js'
import {
  cancelTaskRequest,
  deletePushConfigRequest,
  getExtendedCardRequest,
  getPushConfigRequest,
  getTaskRequest,
  listPushConfigsRequest,
  listTasksRequest,
  subscribeToTaskRequest,
} from './tasks.js'

/** A create request must name the task of the config. */
const ofTask = object<{ readonly taskId: string }>({ taskId: required(string) })
const createPushConfigRequest: typeof pushConfig = (value, faults) => {
  ofTask(value, faults)
  return pushConfig(value, faults)
}

const decoders: { readonly [O in Operation]: Decoder<RequestOf<O>> } = {
  sendMessage: sendMessageRequest,
  sendStreamingMessage: sendMessageRequest,
  getTask: getTaskRequest,
  listTasks: listTasksRequest,
  cancelTask: cancelTaskRequest,
  subscribeToTask: subscribeToTaskRequest,
  createTaskPushNotificationConfig: createPushConfigRequest,
  getTaskPushNotificationConfig: getPushConfigRequest,
  listTaskPushNotificationConfigs: listPushConfigsRequest,
  deleteTaskPushNotificationConfig: deletePushConfigRequest,
  getExtendedAgentCard: getExtendedCardRequest,
}

/** Methods whose `params` may be missing (R-RPC-6). */
const withoutParams: ReadonlySet<Operation> = new Set(['listTasks', 'getExtendedAgentCard'])

function decoder<O extends Operation>(operation: O): (params: unknown) => RequestOf<O> {
  const decode: Decoder<RequestOf<O>> = decoders[operation]
  return (params) => decodeOrThrow(decode, params === undefined && withoutParams.has(operation) ? {} : params)
}

function codec<O extends Operation>(operation: O): OperationCodec<RequestOf<O>, ResultOf<O>> {
  return {
    decode: decoder(operation),
    ...(operation === 'listTasks' && { booleanParameters: ['includeArtifacts', 'include_artifacts'] }),
    // A deletion returns nothing; its JSON is an empty object (R-PUSH-6).
    encode: (result) => JSON.stringify(toV1Result(operation, result)),
  }
}

const names = Object.keys(table) as Operation[]

export const operations = Object.fromEntries(names.map((name) => [name, codec(name)])) as Required<OperationCodecs>

function grpcCodec<O extends Operation>(operation: O): GrpcCodec<RequestOf<O>, ResultOf<O>> {
  return { decode: decoder(operation), encode: (result) => toV1Result(operation, result) as object } // results are objects or undefined
}

export const grpcOperations = Object.fromEntries(names.map((name) => [name, grpcCodec(name)])) as Required<GrpcCodecs>

/** Methods over JSON-RPC and gRPC, with two names from drafts before v1.0. */
export const methods: ReadonlyMap<string, Operation> = new Map([
  ...names.map((name) => [table[name].name, name] as const),
  ['SetTaskPushNotificationConfig', 'createTaskPushNotificationConfig'],
  ['ListTaskPushNotificationConfig', 'listTaskPushNotificationConfigs'],
])

export const routes: readonly RestRoute[] = [
  { method: 'POST', path: '/message:send', operation: 'sendMessage' },
  { method: 'POST', path: '/message:stream', operation: 'sendStreamingMessage' },
  { method: 'POST', path: '/tasks/{id}:cancel', operation: 'cancelTask' },
  // GET in the protocol file, POST in the text: both are served.
  { method: 'GET', path: '/tasks/{id}:subscribe', operation: 'subscribeToTask' },
  { method: 'POST', path: '/tasks/{id}:subscribe', operation: 'subscribeToTask' },
  { method: 'GET', path: '/tasks', operation: 'listTasks' },
  { method: 'GET', path: '/tasks/{id}', operation: 'getTask' },
  { method: 'POST', path: '/tasks/{taskId}/pushNotificationConfigs', operation: 'createTaskPushNotificationConfig' },
  { method: 'GET', path: '/tasks/{taskId}/pushNotificationConfigs', operation: 'listTaskPushNotificationConfigs' },
  { method: 'GET', path: '/tasks/{taskId}/pushNotificationConfigs/{id}', operation: 'getTaskPushNotificationConfig' },
  {
    method: 'DELETE',
    path: '/tasks/{taskId}/pushNotificationConfigs/{id}',
    operation: 'deleteTaskPushNotificationConfig',
  },
  { method: 'GET', path: '/extendedAgentCard', operation: 'getExtendedAgentCard' },
]
