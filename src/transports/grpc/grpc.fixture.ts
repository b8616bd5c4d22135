/** A gRPC server on a real socket, and clients made from the protocol files by an independent library. */
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { fileURLToPath } from 'node:url'
import {
  type CallOptions,
  Client,
  credentials,
  type deserialize,
  Metadata,
  type ServiceDefinition,
  type ServiceError,
} from '@grpc/grpc-js'
import { loadSync } from '@grpc/proto-loader'
import type { Dialect } from '../../dialects/dialect.js'
import type { A2AError } from '../../model/errors.js'
import type { AgentService } from '../../model/service.js'
import { createHttp2Server, type Http2Server } from '../../server/http2.js'
import { defaultRequestLimits } from '../read-json.js'
import { Heartbeats } from '../sse.js'
import type { BindingHandler } from '../transport.js'
import { createGrpcServer, type GrpcServerOptions } from './server.js'

/** ProtoJSON's choices: names for enums, base64 for bytes, absent members stay absent. */
const loading = { enums: String, bytes: String, longs: Number, defaults: false, oneofs: false } as const

function definition(file: string, service: string): ServiceDefinition {
  const path = fileURLToPath(new URL(`../../../proto/${file}`, import.meta.url))
  return loadSync(path, loading)[service] as ServiceDefinition // a service, as its name says
}

export const definitions: Readonly<Record<string, ServiceDefinition>> = {
  'lf.a2a.v1.A2AService': definition('a2a_v1.proto', 'lf.a2a.v1.A2AService'),
  'a2a.v1.A2AService': definition('a2a_v0_3.proto', 'a2a.v1.A2AService'),
}

export type Json = Record<string, unknown>

export interface CallSettings extends CallOptions {
  readonly metadata?: Readonly<Record<string, string>>
}

export interface TestGrpc {
  readonly grpc: Http2Server
  readonly port: number
  readonly errors: A2AError[]
  readonly client: Client
  /** The answer, and what came with it. */
  unary(rpc: string, request: Json, settings?: CallSettings): Promise<{ message: Json; headers: Metadata }>
  stream(rpc: string, request: Json, settings?: CallSettings): ReturnType<Client['makeServerStreamRequest']>
  /** Bytes that no client would send. */
  raw(path: string, bytes: Buffer, settings?: CallSettings): Promise<Buffer>
  [Symbol.asyncDispose](): Promise<void>
}

export async function testGrpc(
  service: AgentService,
  dialect: Dialect,
  more: { readonly endpoint?: Partial<BindingHandler>; readonly options?: Partial<GrpcServerOptions> } = {},
): Promise<TestGrpc> {
  const errors: A2AError[] = []
  const onError = (error: A2AError) => void errors.push(error)
  const endpoint: BindingHandler = {
    service,
    dialects: [dialect],
    newestDialect: dialect,
    assumeV1: true,
    extensions: [],
    hasTenant: () => false,
    vary: '',
    limits: { ...defaultRequestLimits, bodyBytes: 1_000_000 },
    heartbeats: new Heartbeats(60_000),
    newId: () => 'made',
    createdIn: async () => undefined,
    onError,
    ...more.endpoint,
  }
  const answer = createGrpcServer({
    dialects: [dialect],
    endpointOf: () => endpoint,
    limits: endpoint.limits,
    onError,
    ...more.options,
  })
  const grpc = createHttp2Server(answer)
  const listener = createServer({ noDelay: true }, (socket) => grpc.accept(socket))
  listener.listen(0, '127.0.0.1')
  await once(listener, 'listening')
  const { port } = listener.address() as AddressInfo // it listens on TCP
  const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure())
  const rpcs = definitions[dialect.grpc?.service ?? ''] as ServiceDefinition // tests use dialects with a service
  return {
    grpc,
    port,
    errors,
    client,
    unary(rpc, request, { metadata = {}, ...options } = {}) {
      const { path, requestSerialize, responseDeserialize } = rpcs[rpc] as ServiceDefinition[string]
      return new Promise((resolve, reject) => {
        let headers = new Metadata()
        const read = responseDeserialize as deserialize<Json>
        const answer = (error: ServiceError | null, message?: Json) =>
          error ? reject(error) : resolve({ message: message as Json, headers })
        client
          .makeUnaryRequest(path, requestSerialize, read, request, metadataOf(metadata), options, answer)
          .on('metadata', (received: Metadata) => {
            headers = received
          })
      })
    },
    stream(rpc, request, { metadata = {}, ...options } = {}) {
      const { path, requestSerialize, responseDeserialize } = rpcs[rpc] as ServiceDefinition[string]
      return client.makeServerStreamRequest(
        path,
        requestSerialize,
        responseDeserialize,
        request,
        metadataOf(metadata),
        options,
      )
    },
    raw(path, bytes, { metadata = {}, ...options } = {}) {
      return new Promise((resolve, reject) => {
        const same = (value: Buffer) => value
        client.makeUnaryRequest(path, same, same, bytes, metadataOf(metadata), options, (error, answer) =>
          error ? reject(error) : resolve(answer as Buffer),
        )
      })
    },
    async [Symbol.asyncDispose]() {
      client.close()
      listener.close()
      await grpc.close(0)
    },
  }
}

function metadataOf(entries: Readonly<Record<string, string>>): Metadata {
  const metadata = new Metadata()
  for (const [key, value] of Object.entries(entries)) metadata.set(key, value)
  return metadata
}

/** JSON in the words of `google.protobuf.Value`, which the client's library does not translate. */
export function toValue(json: unknown): Json {
  if (json === null) return { nullValue: 'NULL_VALUE' }
  if (typeof json === 'number') return { numberValue: json }
  if (typeof json === 'string') return { stringValue: json }
  if (typeof json === 'boolean') return { boolValue: json }
  if (Array.isArray(json)) return { listValue: { values: json.map(toValue) } }
  return { structValue: toStruct(json as Json) }
}

export function toStruct(json: Json): Json {
  return { fields: Object.fromEntries(Object.entries(json).map(([key, value]) => [key, toValue(value)])) }
}

export function fromValue(value: Json): unknown {
  const [[kind, content] = ['nullValue', null]] = Object.entries(value)
  if (kind === 'nullValue') return null
  if (kind === 'listValue') return ((content as { values?: Json[] }).values ?? []).map(fromValue)
  return kind === 'structValue' ? fromStruct(content) : content
}

export function fromStruct(struct: unknown): Json {
  const { fields = {} } = struct as { fields?: Record<string, Json> }
  return Object.fromEntries(Object.entries(fields).map(([key, value]) => [key, fromValue(value)]))
}

/** Every message of a stream, and the status that ended it when that was an error. */
export async function drain(
  stream: ReturnType<Client['makeServerStreamRequest']>,
): Promise<{ messages: Json[]; error?: ServiceError }> {
  const messages: Json[] = []
  try {
    for await (const message of stream) messages.push(message as Json)
    return { messages }
  } catch (error) {
    return { messages, error: error as ServiceError } // a client stream fails with nothing else
  }
}

export async function failureOf(call: Promise<unknown>): Promise<ServiceError> {
  try {
    await call
  } catch (error) {
    return error as ServiceError // what a client call fails with
  }
  throw new Error('The call succeeded')
}
