/**
 * The client of gRPC (R-GRPC). It converts between bytes and plain objects, which the dialect encodes and decodes. Calls
 * fail with `A2AError` or `TransportError`.
 */

import { readFileSync } from 'node:fs'
import { rootCertificates } from 'node:tls'
import { type ChannelCredentials, Client, credentials, type Metadata } from '@grpc/grpc-js'
import type { ClientDialect, GrpcClientForm } from '../../dialects/client-dialect.js'
import { clip } from '../../model/errors.js'
import { isStreaming, type Operation, operations } from '../../model/operations.js'
import type { AgentService, CallContext, StreamItem } from '../../model/service.js'
import { TransportError } from '../../model/transport-error.js'
import { readable, unsupported } from '../client-response.js'
import { type ClientRpc, type Outgoing, type OutgoingOptions, prepare } from './client-call.js'
import { aborted, failureOf, statusName } from './client-status.js'
import { decodeBytes, follow } from './client-stream.js'
import { services } from './messages.js'

export type { GrpcWireEntry } from './client-call.js'

export interface GrpcClientOptions extends ChannelOptions, OutgoingOptions {
  /** Limits unary calls. Default 0: no limit. */
  readonly timeoutMs?: number
}

export interface GrpcClient {
  readonly service: AgentService
  /** Refuses new calls, and closes the connection after the running ones. */
  close(): void
}

export function createGrpcClient(options: GrpcClientOptions): GrpcClient {
  const { dialect } = options
  const form = dialect.grpc
  if (!form) throw new TypeError(`${dialect.name} is not available over gRPC`)
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

/** Fails for an operation that the dialect does not have, without a call. */
function missing(operation: Operation, dialect: ClientDialect): () => Promise<never> | AsyncIterable<never> {
  const fail = () => Promise.reject(unsupported(operation, dialect))
  return isStreaming(operation) ? () => ({ [Symbol.asyncIterator]: () => ({ next: fail }) }) : fail
}

/** Absent if the dialect has no such operation. */
function routeOf(form: GrpcClientForm, operation: Operation): ClientRpc | undefined {
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
  readonly prepare: (route: ClientRpc, request: unknown, context: CallContext) => Promise<Outgoing>
}

function followRoute(
  { client, options, prepare }: Connection,
  route: ClientRpc,
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
  route: ClientRpc,
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

interface GrpcTls {
  /** Trusted authorities, PEM. Default: those of Node. */
  readonly ca?: string | Buffer
  /** Client certificate and its `key`, PEM. */
  readonly cert?: string | Buffer
  readonly key?: string | Buffer
}

interface ChannelOptions {
  /** `host:port`, as in cards; also `http://…`, `https://…` and `dns:///…` (R-GRPC-5). */
  readonly authority: string
  /**
   * `https://…` is always encrypted, and so is port 443 unless this is `false`; everything else is when
   * this is given. (A card's `host:port` does not say, and R-GRPC-5's suite means plaintext by it.)
   */
  readonly tls?: false | GrpcTls
  /** Addresses to dial. Default: grpc-js resolves the host. */
  readonly addresses?: readonly string[]
  /** Larger responses and events are refused. */
  readonly maxMessageBytes: number
  readonly userAgent?: string
}

/** Servers may close connections with pings more often than every five minutes. */
const keepaliveMs = 6 * 60_000
/** Short, because the caller decides about retries. */
const firstReconnectMs = 100
const maxReconnectMs = 2_000

function openChannel(options: ChannelOptions): Client {
  const { host, port, isTls } = parseAuthority(options)
  const pinned = options.addresses && pinnedTarget(options.addresses, port)
  return new Client(pinned ?? `dns:///${host}:${port}`, isTls ? encrypted(options) : credentials.createInsecure(), {
    ...(pinned !== undefined && {
      'grpc.default_authority': `${host}:${port}`,
      ...(isTls && { 'grpc.ssl_target_name_override': host }),
    }),
    'grpc.max_receive_message_length': options.maxMessageBytes,
    'grpc.max_send_message_length': -1,
    'grpc.keepalive_time_ms': keepaliveMs,
    'grpc.initial_reconnect_backoff_ms': firstReconnectMs,
    'grpc.max_reconnect_backoff_ms': maxReconnectMs,
    // Clients of one agent may have different credentials: do not share connections.
    'grpc.use_local_subchannel_pool': 1,
    // DNS and the environment must not change retries and routes.
    'grpc.service_config_disable_resolution': 1,
    'grpc.enable_http_proxy': 0,
    'grpc.enable_channelz': 0,
    ...(options.userAgent !== undefined && { 'grpc.primary_user_agent': options.userAgent }),
  })
}

/** A target without name resolution. It can hold one address family only. */
function pinnedTarget(addresses: readonly string[], port: number): string {
  const v4 = addresses.filter((address) => !address.includes(':'))
  if (v4.length > 0) return `ipv4:${v4.map((address) => `${address}:${port}`).join(',')}`
  return `ipv6:${addresses.map((address) => `[${address}]:${port}`).join(',')}`
}

interface Authority {
  readonly host: string
  readonly port: number
  readonly isTls: boolean
}

const form = /^(?:(https?:\/\/)|dns:(?:\/\/\/)?)?(\[[\da-f:.]+\]|[^\s:/?#@[\]\\]+)(?::(\d{1,5}))?(\/[^\s]*)?$/i

function parseAuthority({ authority, tls }: Pick<ChannelOptions, 'authority' | 'tls'>): Authority {
  const [, scheme, host, digits, path] = form.exec(authority) ?? []
  const port = digits === undefined ? undefined : Number(digits)
  // gRPC has no paths: those of web addresses are ignored.
  if (host === undefined || port === 0 || (port ?? 0) > 65_535 || (path !== undefined && scheme === undefined)) {
    throw new TransportError(
      'refused',
      `${clip(authority)} is no address of a gRPC service: write host:port or https://host:port`,
    )
  }
  const isTls =
    scheme?.toLowerCase() === 'https://' ||
    (tls !== undefined && tls !== false) ||
    (port === 443 && scheme === undefined && tls !== false)
  return { host, port: port ?? (isTls ? 443 : 80), isTls }
}

function encrypted({ tls }: ChannelOptions): ChannelCredentials {
  const { ca, cert, key } = tls || {}
  return credentials.createSsl(pem(ca) ?? extraAuthorities(), pem(key), pem(cert))
}

/** grpc-js ignores NODE_EXTRA_CA_CERTS. */
function extraAuthorities(): Buffer | null {
  const { NODE_EXTRA_CA_CERTS: file } = process.env
  if (!file) return null
  try {
    return Buffer.from([...rootCertificates, readFileSync(file, 'utf8')].join('\n'))
  } catch {
    return null // Node has complained about it already
  }
}

function pem(text: string | Buffer | undefined): Buffer | null {
  return text === undefined ? null : Buffer.from(text)
}
