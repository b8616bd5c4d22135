/**
 * gRPC from the caller's side: an `AgentService` that is somewhere else (R-GRPC). Bytes become plain objects
 * here and back; what they mean is the dialect's business. Calls fail with `A2AError` or `TransportError`.
 */
import type { Client, Metadata } from '@grpc/grpc-js'
import type { ClientDialect, GrpcClientForm } from '../../dialects/client-dialect.js'
import { isStreaming, type Operation, operations } from '../../model/operations.js'
import type { AgentService, CallContext, StreamItem } from '../../model/service.js'
import { TransportError } from '../../model/transport-error.js'
import { readable, unsupported } from '../peer-answer.js'
import { type ChannelOptions, openChannel } from './channel.js'
import { aborted, failureOf, statusName } from './failure.js'
import { follow } from './follow.js'
import { decodeBytes } from './incoming.js'
import { services } from './messages.js'
import { type Outgoing, type OutgoingOptions, prepare, type Route } from './outgoing.js'

export type { GrpcTls } from './channel.js'
export type { GrpcWireEntry } from './outgoing.js'

export interface GrpcClientOptions extends ChannelOptions, OutgoingOptions {
  /** For calls with one answer; streams take as long as they like. Default 0: none. */
  readonly timeoutMs?: number
}

export interface GrpcClient {
  readonly service: AgentService
  /** Takes no more calls, lets running ones end, then closes the connection. */
  close(): void
}

export function createGrpcClient(options: GrpcClientOptions): GrpcClient {
  const { dialect } = options
  const form = dialect.grpc
  if (!form) throw new TypeError(`${dialect.name} is not spoken over gRPC`)
  const client = openChannel(options)
  let isClosed = false
  const connection: Connection = {
    client,
    options,
    async prepare(...call) {
      const outgoing = await prepare(options, ...call)
      if (isClosed) throw new TransportError('aborted', 'The client is closed')
      return outgoing
    },
  }
  const names = Object.keys(operations) as Operation[]
  const calls = names.map((operation) => {
    const route = routeOf(form, operation)
    if (!route) return [operation, missing(operation, dialect)]
    const call = isStreaming(operation) ? followRoute : callRoute
    return [operation, (request: unknown, context: CallContext) => call(connection, route, request, context)]
  })
  return {
    service: Object.fromEntries(calls) as AgentService, // one function for each operation of the table
    close() {
      isClosed = true
      client.close()
    },
  }
}

/** An operation the peer's version does not have fails here, with no call made. */
function missing(operation: Operation, dialect: ClientDialect): () => Promise<never> | AsyncIterable<never> {
  const fail = () => Promise.reject(unsupported(operation, dialect))
  return isStreaming(operation) ? () => ({ [Symbol.asyncIterator]: () => ({ next: fail }) }) : fail
}

/** Absent when the version has no such operation. */
function routeOf(form: GrpcClientForm, operation: Operation): Route | undefined {
  const name = form.rpcs[operation]
  const codec = form.operations[operation]
  if (name === undefined || !codec) return undefined
  const rpc = services.get(form.service)?.get(name)
  if (!rpc || rpc.isStreaming !== isStreaming(operation))
    throw new TypeError(`${form.service} has no rpc ${name} for ${operation}`)
  return { form, operation, path: `/${form.service}/${name}`, name, codec, rpc }
}

interface Connection {
  readonly client: Client
  readonly options: GrpcClientOptions
  readonly prepare: (route: Route, request: unknown, context: CallContext) => Promise<Outgoing>
}

function followRoute(
  { client, options, prepare }: Connection,
  route: Route,
  request: unknown,
  context: CallContext,
): AsyncIterable<StreamItem> {
  const { form, operation } = route
  const { facts } = options
  return follow({
    client,
    route,
    context,
    prepare: () => prepare(route, request, context),
    createDecoder: (sent) => form.createStreamDecoder({ operation, request, sent, facts }),
  })
}

async function callRoute(
  { client, options, prepare }: Connection,
  route: Route,
  request: unknown,
  context: CallContext,
): Promise<unknown> {
  const { timeoutMs = 0, facts } = options
  const { signal } = context
  const { bytes, metadata, note } = await prepare(route, request, context)
  const headers: Metadata[] = []
  const answer = await new Promise<Buffer>((resolve, reject) => {
    const deadline = timeoutMs > 0 ? { deadline: Date.now() + timeoutMs } : {}
    const call = client.makeUnaryRequest(route.path, same, same, bytes, metadata, deadline, (error, message) => {
      signal?.removeEventListener('abort', leave)
      if (!error) {
        resolve(message as Buffer) // the library answers with one or the other
        return
      }
      note?.({ status: statusName(error.code), metadata: [...headers, error.metadata] })
      if (signal?.aborted) reject(aborted(signal))
      else reject(failureOf(error, route.form, { isStream: false, headers: headers[0] }))
    })
    const leave = () => call.cancel()
    signal?.addEventListener('abort', leave, { once: true })
    if (signal?.aborted) leave()
    call.on('metadata', (received: Metadata) => headers.push(received))
  })
  const message = decodeBytes(route, answer)
  note?.({ body: message, status: 'OK', metadata: headers })
  return readable(() => route.codec.decode(message, request, facts))
}

function same(bytes: Buffer): Buffer {
  return bytes
}
