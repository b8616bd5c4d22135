/** gRPC clients with an independent library that reads the proto files. Messages are objects as in ProtoJSON. */
import { fileURLToPath } from 'node:url'
import {
  type ChannelCredentials,
  Client,
  credentials,
  Metadata,
  type MethodDefinition,
  type ServiceDefinition,
  type ServiceError,
  status,
} from '@grpc/grpc-js'
import { loadSync } from '@grpc/proto-loader'
import { readDetails } from '../../src/transports/grpc/status.js'
import { protoParts, readProto } from './v0-clients.js'
import { readV1, v1Message } from './v1-client.js'
import { type CallResult, type Json, newId, type TaskSummary, type TaskTarget, type WireClient } from './wire-client.js'

const loading = { enums: String, bytes: String, longs: Number, defaults: false, oneofs: false } as const

function serviceOf(file: string, name: string): ServiceDefinition {
  const path = fileURLToPath(new URL(`../../proto/${file}`, import.meta.url))
  return loadSync(path, loading)[name] as ServiceDefinition // the name is that of a service
}

/** Metadata of every call. */
export type CallHeaders = Readonly<Record<string, string>>

/** A channel with the calls of one service. */
class Peer {
  readonly #client: Client
  readonly #service: ServiceDefinition
  readonly #metadata = new Metadata()

  constructor(
    authority: string,
    service: ServiceDefinition,
    channel: ChannelCredentials = credentials.createInsecure(),
    headers: CallHeaders = {},
  ) {
    this.#client = new Client(authority, channel)
    this.#service = service
    for (const [name, value] of Object.entries(headers)) this.#metadata.set(name, value)
  }

  async unary(rpc: string, request: Json, read: (message: Json) => TaskSummary): Promise<CallResult> {
    const { path, requestSerialize, responseDeserialize } = this.#rpc(rpc)
    return await new Promise((resolve) => {
      const done = (error: ServiceError | null, message?: Json) =>
        resolve(
          error
            ? { refused: { code: status[error.code] ?? error.code, message: error.details } }
            : { result: read(message ?? {}) },
        )
      this.#client.makeUnaryRequest(path, requestSerialize, responseDeserialize, request, this.#metadata, done)
    })
  }

  /** The error of a failed call, with the details of its trailer. */
  async failure(rpc: string, request: Json): Promise<{ readonly code: string; readonly details: readonly object[] }> {
    const { path, requestSerialize, responseDeserialize } = this.#rpc(rpc)
    return await new Promise((resolve, reject) => {
      const done = (error: ServiceError | null) => {
        if (!error) return reject(new Error('The call did not fail'))
        const [bytes] = error.metadata.get('grpc-status-details-bin')
        resolve({ code: status[error.code] ?? '', details: Buffer.isBuffer(bytes) ? readDetails(bytes).details : [] })
      }
      this.#client.makeUnaryRequest(path, requestSerialize, responseDeserialize, request, this.#metadata, done)
    })
  }

  stream(rpc: string, request: Json): AsyncIterable<Json> {
    const { path, requestSerialize, responseDeserialize } = this.#rpc(rpc)
    return this.#client.makeServerStreamRequest(path, requestSerialize, responseDeserialize, request, this.#metadata)
  }

  close(): void {
    this.#client.close()
  }

  #rpc(name: string): MethodDefinition<Json, Json> {
    return this.#service[name] as MethodDefinition<Json, Json> // tests name rpcs of the service
  }
}

export function v1Peer(authority: string, channel?: ChannelCredentials, headers?: CallHeaders): Peer {
  return new Peer(authority, serviceOf('a2a_v1.proto', 'lf.a2a.v1.A2AService'), channel, headers)
}

export function v03Peer(authority: string, headers?: CallHeaders): Peer {
  return new Peer(authority, serviceOf('a2a_v0_3.proto', 'a2a.v1.A2AService'), undefined, headers)
}

export interface GrpcWireClient extends WireClient {
  close(): void
}

export function v1Grpc(
  authority: string,
  channel?: ChannelCredentials,
  tenant?: string,
  headers?: CallHeaders,
): GrpcWireClient {
  const peer = v1Peer(authority, channel, headers)
  const own = tenant === undefined ? {} : { tenant }
  const message = (content: Parameters<WireClient['send']>[0], where?: TaskTarget) => ({
    ...own,
    message: protoValues(v1Message(content, where)),
  })
  const follow = async function* (rpc: string, request: Json): AsyncGenerator<TaskSummary> {
    for await (const event of peer.stream(rpc, request)) yield readV1(plainValues(event) as Json)
  }
  const readTask = (task: Json) => readV1({ task: plainValues(task) })
  return {
    name: 'v1 over gRPC',
    dialect: 'v1',
    has: new Set(['get', 'cancel', 'subscribe', 'push']),
    send: (content, where) =>
      peer.unary('SendMessage', message(content, where), (answer) => readV1(plainValues(answer) as Json)),
    stream: (content, where) => follow('SendStreamingMessage', message(content, where)),
    get: (id) => peer.unary('GetTask', { ...own, id }, readTask),
    cancel: (id) => peer.unary('CancelTask', { ...own, id }, readTask),
    subscribe: (id) => follow('SubscribeToTask', { ...own, id }),
    async push(taskId, url) {
      await peer.unary('CreateTaskPushNotificationConfig', { ...own, taskId, id: 'grpc-hook', url }, () => ({}))
      return await read(peer, 'GetTaskPushNotificationConfig', { ...own, taskId, id: 'grpc-hook' }, ({ url }) => url)
    },
    close: () => peer.close(),
  }
}

export function v03Grpc(authority: string, headers?: CallHeaders): GrpcWireClient {
  const peer = v03Peer(authority, headers)
  const message = (content: Parameters<WireClient['send']>[0], where: TaskTarget = {}) => ({
    request: { messageId: newId('m'), role: 'ROLE_USER', content: protoValues(protoParts(content)), ...where },
  })
  const take = (answer: Json) => readProto(plainValues(answer) as Json)
  const follow = async function* (rpc: string, request: Json): AsyncGenerator<TaskSummary> {
    for await (const event of peer.stream(rpc, request)) yield take(event)
  }
  return {
    name: 'v0.3 over gRPC',
    dialect: 'v0.3',
    has: new Set(['get', 'cancel', 'subscribe', 'push']),
    send: (content, where) => peer.unary('SendMessage', message(content, where), take),
    stream: (content, where) => follow('SendStreamingMessage', message(content, where)),
    get: (id) => peer.unary('GetTask', { name: `tasks/${id}` }, (task) => take({ task })),
    cancel: (id) => peer.unary('CancelTask', { name: `tasks/${id}` }, (task) => take({ task })),
    subscribe: (id) => follow('TaskSubscription', { name: `tasks/${id}` }),
    async push(id, url) {
      const parent = `tasks/${id}`
      const config = { pushNotificationConfig: { url } }
      await peer.unary('CreateTaskPushNotificationConfig', { parent, configId: 'g3', config }, () => ({}))
      const name = `${parent}/pushNotificationConfigs/g3`
      return await read(
        peer,
        'GetTaskPushNotificationConfig',
        { name },
        ({ pushNotificationConfig }) => (pushNotificationConfig as Json).url,
      )
    },
    close: () => peer.close(),
  }
}

async function read(peer: Peer, rpc: string, request: Json, pick: (message: Json) => unknown): Promise<string> {
  const outcome = await peer.unary(rpc, request, (message) => ({ text: String(pick(message)) }))
  return 'result' in outcome ? (outcome.result.text ?? '') : outcome.refused.message
}

// proto-loader knows Struct and Value as messages with fields, not as JSON.

type ProtoValue = Json & {
  structValue?: { fields?: Record<string, ProtoValue> }
  listValue?: { values?: ProtoValue[] }
}

function toValue(value: unknown): Json {
  if (value === null) return { nullValue: 'NULL_VALUE' }
  if (typeof value === 'number') return { numberValue: value }
  if (typeof value === 'string') return { stringValue: value }
  if (typeof value === 'boolean') return { boolValue: value }
  if (Array.isArray(value)) return { listValue: { values: value.map(toValue) } }
  return { structValue: toStruct(value as Json) }
}

function toStruct(object: Json): Json {
  return { fields: Object.fromEntries(Object.entries(object).map(([key, value]) => [key, toValue(value)])) }
}

function fromValue(value: ProtoValue): unknown {
  if (value.structValue) return fromStruct(value.structValue)
  if (value.listValue) return (value.listValue.values ?? []).map(fromValue)
  return 'nullValue' in value ? null : (value.numberValue ?? value.stringValue ?? value.boolValue)
}

function fromStruct({ fields = {} }: { fields?: Record<string, ProtoValue> }): Json {
  return Object.fromEntries(Object.entries(fields).map(([key, value]) => [key, fromValue(value)]))
}

/** Members that are Struct or Value; 0.3's `data` is a message with a Struct in it. */
function protoValues(value: unknown): Json {
  return walk(value, (key, member) => {
    if (key === 'metadata') return toStruct(member as Json)
    if (key !== 'data') return undefined
    const nested = (member as { data?: unknown } | null)?.data
    return nested === undefined ? toValue(member) : { data: toStruct(nested as Json) }
  }) as Json
}

function plainValues(value: unknown): unknown {
  return walk(value, (key, member) => {
    if (key === 'metadata') return fromStruct(member as Json)
    if (key !== 'data') return undefined
    const nested = (member as { data?: Json }).data
    return nested === undefined ? fromValue(member as ProtoValue) : { data: fromStruct(nested) }
  })
}

function walk(value: unknown, convert: (key: string, member: unknown) => unknown): unknown {
  if (Array.isArray(value)) return value.map((each) => walk(each, convert))
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([key, member]) => {
    const converted = convert(key, member)
    return [key, converted === undefined ? walk(member, convert) : converted]
  })
  return Object.fromEntries(entries)
}
