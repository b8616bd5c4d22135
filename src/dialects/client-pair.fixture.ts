/** Connects the client's and the server's side of a dialect through JSON text, paths or protobuf. */

import type { StreamResponse } from '../model/event.js'
import type { Operation } from '../model/operations.js'
import { services } from '../transports/grpc/messages.js'
import type {
  ClientDialect,
  GrpcClientForm,
  JsonRpcClientForm,
  RequestCodec,
  RestClientForm,
  RestRequestCodec,
  StreamDecoder,
} from './client-dialect.js'
import type { Dialect, GrpcCodec, GrpcForm, JsonRpcForm, OperationCodec, RestForm, StreamEncoder } from './dialect.js'
import { createRouter } from './rest-route.js'

export const facts = { newId: () => 'made', header: () => null }

/** One form of a dialect, with both sides. */
export interface Pair {
  readonly name: string
  /** Operations in the client's table. */
  readonly operations: readonly Operation[]
  /** The request as the server decodes it. */
  ask(operation: Operation, request: unknown): unknown
  /** The response as the client decodes it. */
  answer(operation: Operation, result: unknown, request: unknown): unknown
  /** The events as the client decodes them, and whether it waits for more. */
  follow(
    operation: Operation,
    request: unknown,
  ): { read(event: StreamResponse): readonly StreamResponse[]; readonly decoder: StreamDecoder }
}

export function pairsOf(client: ClientDialect, server: Dialect): readonly Pair[] {
  return [
    jsonRpcPair(client.jsonrpc as JsonRpcClientForm, server.jsonrpc as JsonRpcForm),
    restPair(client.rest as RestClientForm, server.rest as RestForm),
    grpcPair(client.grpc as GrpcClientForm, server.grpc as GrpcForm),
  ]
}

function jsonRpcPair(client: JsonRpcClientForm, server: JsonRpcForm): Pair {
  const send = (operation: Operation, request: unknown) => {
    const named = server.methods.get(client.methods[operation] ?? '')
    if (named !== operation) throw new Error(`${operation} is sent as ${named}`)
    return sent(codecIn<RequestCodec>(client.operations, operation).encode(request, facts))
  }
  return {
    name: 'JSON-RPC',
    operations: keysOf(client.operations),
    ask: (operation, request) => serverCodec(server, operation).decode(send(operation, request), facts),
    answer(operation, result, request) {
      const text = serverCodec(server, operation).encode(result, send(operation, request))
      return codecIn<RequestCodec>(client.operations, operation).decode(JSON.parse(text), request, facts)
    },
    follow(operation, request) {
      const params = send(operation, request)
      const encoder = server.createStreamEncoder({ operation, params, newId: facts.newId })
      const decoder = client.createStreamDecoder({ operation, request, sent: params, facts })
      return { decoder, read: (event) => decoder.decode({ data: textOf(encoder, event) }) }
    },
  }
}

function restPair(client: RestClientForm, server: RestForm): Pair {
  const route = createRouter(server.routes)
  const send = (operation: Operation, request: unknown) => {
    const out = codecIn<RestRequestCodec>(client.operations, operation).encode(request, facts)
    // A URL resolves dot segments.
    const match = route(out.method, new URL(out.path, 'http://a.example').pathname)
    if (match?.route.operation !== operation)
      throw new Error(`${out.method} ${out.path} is ${match?.route.operation}, not ${operation}`)
    const flags = serverCodec(server, operation).booleanParameters ?? []
    const query = Object.entries(out.query ?? {}).map(([name, value]) => [
      name,
      flags.includes(name) ? value === 'true' : value,
    ])
    return { ...(sent(out.body ?? Object.fromEntries(query)) as object), ...match.pathParams }
  }
  return {
    name: 'HTTP+JSON',
    operations: keysOf(client.operations),
    ask: (operation, request) => serverCodec(server, operation).decode(send(operation, request), facts),
    answer(operation, result, request) {
      const text = serverCodec(server, operation).encode(result, send(operation, request))
      return codecIn<RestRequestCodec>(client.operations, operation).decode(JSON.parse(text), request, facts)
    },
    follow(operation, request) {
      const params = send(operation, request)
      const encoder = server.createStreamEncoder({ operation, params, newId: facts.newId })
      const decoder = client.createStreamDecoder({ operation, request, sent: params, facts })
      return { decoder, read: (event) => decoder.decode({ data: textOf(encoder, event) }) }
    },
  }
}

function grpcPair(client: GrpcClientForm, server: GrpcForm): Pair {
  const rpcOf = (operation: Operation) => {
    const name = client.rpcs[operation] ?? ''
    const rpc = services.get(client.service)?.get(name)
    if (!rpc || server.service !== client.service || server.rpcs.get(name) !== operation)
      throw new Error(`${operation} is sent as ${name}`)
    return rpc
  }
  const send = (operation: Operation, request: unknown) => {
    const { request: codec } = rpcOf(operation)
    const message = codecIn<RequestCodec>(client.operations, operation).encode(request, facts)
    return codec.decode(codec.encode(message as object))
  }
  const received = (operation: Operation, message: object) => {
    const { response } = rpcOf(operation)
    return response.decode(response.encode(message))
  }
  return {
    name: 'gRPC',
    operations: keysOf(client.operations),
    ask: (operation, request) => grpcServerCodec(server, operation).decode(send(operation, request), facts),
    answer(operation, result, request) {
      const message = grpcServerCodec(server, operation).encode(result, send(operation, request))
      const codec = codecIn<RequestCodec>(client.operations, operation)
      return codec.decode(received(operation, message), request, facts)
    },
    follow(operation, request) {
      const params = send(operation, request)
      const encode = server.createStreamEncoder({ operation, params, newId: facts.newId })
      const decoder = client.createStreamDecoder({ operation, request, sent: params, facts })
      return { decoder, read: (event) => decoder.decode({ data: received(operation, encode({ event })) }) }
    },
  }
}

function codecIn<C>(operations: { readonly [O in Operation]?: C }, operation: Operation): C {
  const codec = operations[operation]
  if (!codec) throw new Error(`${operation} is not there`)
  return codec
}

function serverCodec({ operations }: JsonRpcForm | RestForm, operation: Operation): OperationCodec {
  return codecIn<OperationCodec>(operations, operation)
}

function grpcServerCodec({ operations }: GrpcForm, operation: Operation) {
  return codecIn<GrpcCodec>(operations, operation)
}

function keysOf(operations: object): Operation[] {
  return Object.keys(operations) as Operation[]
}

function textOf(encoder: StreamEncoder, event: StreamResponse): unknown {
  return JSON.parse(encoder.encode({ event }) as string)
}

function sent(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value))
}

/** Flags for which gRPC does not distinguish `false` from absent. */
const flags: ReadonlySet<string> = new Set(['append', 'lastChunk', 'returnImmediately'])

/** The value without flags that are `false`. */
export function withoutLoweredFlags<T>(value: T): T {
  return JSON.parse(JSON.stringify(value), (key, member: unknown) =>
    flags.has(key) && member === false ? undefined : member,
  ) as T
}
