/** Prepares one call of the client: its bytes, its metadata and the entry in the wire log. */
import { Metadata } from '@grpc/grpc-js'
import {
  type ClientDialect,
  type ClientFacts,
  type GrpcClientForm,
  type RequestCodec,
  versionHeader,
} from '../../dialects/client-dialect.js'
import { A2AError, clip } from '../../model/errors.js'
import type { Operation } from '../../model/operations.js'
import type { CallContext } from '../../model/service.js'
import { traceContextOf } from '../../model/trace-context.js'
import { TransportError } from '../../model/transport-error.js'
import { unlessAborted } from '../../model/unless-aborted.js'
import { parameterHeaders, positionExtension } from '../transport.js'
import { aborted } from './client-status.js'
import type { Rpc } from './messages.js'

/** One entry of the wire log. It contains secrets: the receiver must remove them. */
export interface GrpcWireEntry {
  readonly direction: 'out' | 'in'
  /** The same for a request and its responses. */
  readonly exchange: string
  readonly rpc: string
  /** Metadata; for responses, headers and trailers. */
  readonly headers: Readonly<Record<string, string>>
  /** A message, as a plain object. */
  readonly body?: object
  /** The name of the gRPC status, with the last entry of the call. */
  readonly status?: string
  /** Since the call began. */
  readonly ms: number
}

/** One rpc of the dialect. */
export interface ClientRpc {
  readonly form: GrpcClientForm
  readonly operation: Operation
  /** `/<service>/<rpc>` */
  readonly path: string
  readonly name: string
  readonly codec: RequestCodec
  readonly rpc: Rpc
}

export interface OutgoingOptions {
  readonly dialect: ClientDialect
  readonly facts: ClientFacts
  /** Credentials and other headers, requested before each call. Its errors become errors of the call. */
  readonly metadata: () => Promise<Readonly<Record<string, string>>>
  readonly onWire?: (entry: GrpcWireEntry) => void
}

export interface Outgoing {
  readonly bytes: Buffer
  readonly metadata: Metadata
  /** The encoded request. */
  readonly sent: unknown
  /** Adds a response to the wire log; absent without a log. */
  readonly note: ((entry: { body?: object; status?: string; metadata?: readonly Metadata[] }) => void) | undefined
}

export async function prepare(
  options: OutgoingOptions,
  route: ClientRpc,
  request: unknown,
  context: CallContext,
): Promise<Outgoing> {
  const { signal } = context
  if (signal?.aborted) throw aborted(signal)
  const sent = route.codec.encode(request, options.facts)
  const message = (sent ?? {}) as object // on this binding requests are messages; one without fields may be nothing
  const bytes = encodeBytes(route.rpc, message)
  // Obtaining credentials may take long; an aborted call does not wait for them.
  const given = await unlessAborted(options.metadata(), signal).catch((error: unknown) => {
    throw signal?.aborted ? aborted(signal) : error
  })
  const headers = { ...given, ...parametersOf(options, route, context) }
  const metadata = metadataOf(headers)
  const { onWire } = options
  if (!onWire) return { bytes, metadata, sent, note: undefined }
  const begin = performance.now()
  const rpc = route.name
  const exchange = options.facts.newId()
  onWire({ direction: 'out', exchange, rpc, headers, body: message, ms: 0 })
  return {
    bytes,
    metadata,
    sent,
    note: ({ metadata: received = [], ...entry }) =>
      onWire({ direction: 'in', exchange, rpc, headers: headersOf(received), ...entry, ms: performance.now() - begin }),
  }
}

function encodeBytes(rpc: Rpc, message: object): Buffer {
  try {
    return rpc.request.encode(message)
  } catch (cause) {
    throw new A2AError('INVALID_PARAMS', 'The request cannot be written as a message of this rpc', { cause })
  }
}

function parametersOf({ dialect }: OutgoingOptions, { rpc }: ClientRpc, context: CallContext): Record<string, string> {
  const { extensions = [], idempotencyKey, resumeAfter } = context
  const headers: Record<string, string> = { ...traceContextOf(context) }
  // Events have no place for their position on this binding, unless it is asked for (E-4).
  const asked =
    rpc.isStreaming && !extensions.includes(positionExtension) ? [...extensions, positionExtension] : extensions
  const version = versionHeader(dialect)
  if (version !== undefined) headers[parameterHeaders.version] = version
  if (asked.length > 0) headers[dialect.extensionsHeader] = asked.join(', ')
  if (idempotencyKey !== undefined) headers[parameterHeaders.idempotencyKey] = idempotencyKey
  if (resumeAfter !== undefined) headers[parameterHeaders.lastEventId] = String(resumeAfter)
  return headers
}

/** The library's errors quote the value, which may be a secret: they are not passed on. */
function metadataOf(headers: Readonly<Record<string, string>>): Metadata {
  const metadata = new Metadata()
  for (const [name, value] of Object.entries(headers)) {
    try {
      metadata.set(name, value)
    } catch {
      throw new TransportError('refused', `The header ${clip(name)} has a name or a value that gRPC cannot carry`)
    }
  }
  return metadata
}

function headersOf(received: readonly Metadata[]): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const metadata of received) {
    for (const [name, value] of Object.entries(metadata.getMap()))
      headers[name] = typeof value === 'string' ? value : value.toString('base64')
  }
  return headers
}
