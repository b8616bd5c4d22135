/** Answers one call: who calls, what for, and how it ends. */
import type { PeerCertificate } from 'node:tls'
import { Metadata, type ServerUnaryCall, type ServerWritableStream, type sendUnaryData } from '@grpc/grpc-js'
import type { Dialect, GrpcCodec, GrpcForm } from '../../dialects/dialect.js'
import { negotiate } from '../../dialects/negotiate.js'
import type { Admission } from '../../model/admission.js'
import { A2AError, clip } from '../../model/errors.js'
import { callUnary } from '../../model/generic-service.js'
import { isObject } from '../../model/is-object.js'
import type { Operation } from '../../model/operations.js'
import { anonymous, type Caller } from '../../model/service.js'
import { type CallObserver, type CallStart, CallTracker } from '../call-record.js'
import { type RequestLimits, tooManyElements } from '../read-json.js'
import {
  type BindingHandler,
  type Call,
  type HeaderReader,
  type PreparedCall,
  positionExtension,
  prepareCall,
  readVersion,
} from '../transport.js'
import type { Rpc } from './messages.js'
import type { Sessions } from './server-stream.js'
import { sendStream } from './server-stream.js'
import { statusOf } from './status.js'
import { TooManyElements } from './wire.js'

/** Which agents there are, and who may call them. */
export interface GrpcAccess {
  /** The agent a call is for: there are no paths here, so only its tenant can tell. */
  readonly endpointOf: (tenant: string | undefined) => BindingHandler | undefined
  /** Who calls, by the metadata and the certificate of the connection. Absent: everybody is `anonymous`. */
  readonly admit?: (headers: HeaderReader, connection: GrpcConnection) => Admission | Promise<Admission>
  /** Who made a call that was let in; set by the server where there is a gate. */
  readonly callerOf?: (metadata: Metadata) => Caller | undefined
  readonly limits: RequestLimits
  /** Counts a large unary answer until the returned function is called; throws when the caller has too many unread. */
  readonly admitAnswer?: (bytes: number, caller: Caller, address: string | undefined) => () => void
  /** Told of calls whose agent is not known yet. */
  readonly observe?: CallObserver | undefined
  /** Told of what fails before the agent is known. */
  readonly onError: (error: A2AError) => void
}

/** What is known of the connection a call came on. */
export interface GrpcConnection {
  /** The client's certificate; absent when there is none that the server trusts. */
  readonly certificate: () => PeerCertificate | undefined
  readonly address: () => string | undefined
}

/** One rpc of one dialect. */
export interface ServerRpc {
  readonly dialect: Dialect
  readonly form: GrpcForm
  readonly operation: Operation
  readonly codec: GrpcCodec
  readonly rpc: Rpc
}

type UnaryCall = ServerUnaryCall<Buffer, Buffer>
type StreamingCall = ServerWritableStream<Buffer, Buffer>

/** Who is told of a call and its failure: the agent's endpoint, once it is known. */
interface Listener {
  onError: (error: A2AError) => void
  readonly watch: CallTracker | undefined
}

/** A call as far as it was understood. */
interface Understood {
  readonly endpoint: BindingHandler
  readonly prepared: PreparedCall
  readonly params: unknown
}

/** Authentication, bytes, version, extensions, request: in this order (R-ERR-10). */
function understand(
  access: GrpcAccess,
  { dialect, operation, codec, rpc }: ServerRpc,
  call: UnaryCall | StreamingCall,
  listener: Listener,
): Understood {
  const headers = headersOf(call.metadata)
  const caller = callerOf(access, call)
  // Whoever comes here was let in by the gate; nobody else is answered.
  if (!caller) throw new A2AError('UNAUTHENTICATED', 'Missing or invalid credentials')
  const params = decodeBytes(rpc, call.request, access.limits)
  // A service is one dialect's, so a version need not be named; one that is must fit (R-VER-4).
  const version = readVersion(headers)
  if (version && version !== dialect.versions[0])
    negotiate([dialect], { version, isSpokenIn: () => true, assumeV1: true })
  const endpoint = endpointOf(access, params)
  const { watch } = listener
  listener.onError = endpoint.onError
  if (watch && endpoint.observe) watch.observe = endpoint.observe
  if (!endpoint.dialects.some(({ name }) => name === dialect.name))
    throw new A2AError('METHOD_NOT_FOUND', 'This agent has no such service')
  const reading: Call = { binding: 'GRPC', dialect, operation, codec, params, headers, watch }
  return { endpoint, params, prepared: prepareCall(endpoint, { caller }, reading) }
}

function decodeBytes(rpc: Rpc, request: Buffer, { jsonElements }: RequestLimits): object {
  try {
    return rpc.request.decode(request, jsonElements)
  } catch (cause) {
    if (cause instanceof TooManyElements) throw tooManyElements(jsonElements)
    throw new A2AError('PARSE_ERROR', 'The request is no message of this rpc', { cause })
  }
}

function endpointOf(access: GrpcAccess, params: unknown): BindingHandler {
  const named = isObject(params) ? params.tenant : undefined
  const tenant = typeof named === 'string' && named !== '' ? named : undefined
  const endpoint = access.endpointOf(tenant)
  if (endpoint) return endpoint
  if (tenant === undefined) throw new A2AError('METHOD_NOT_FOUND', 'No agent answers here; name a tenant')
  throw new A2AError('TASK_NOT_FOUND', `Tenant not found: ${clip(tenant)}`, { metadata: { tenant: clip(tenant) } })
}

function callerOf({ callerOf }: GrpcAccess, { metadata }: UnaryCall | StreamingCall): Caller | undefined {
  return callerOf ? callerOf(metadata) : anonymous
}

/** Until the agent is known, the first one is told. */
export function listen({ onError, observe }: GrpcAccess, route: ServerRpc, start: CallStart): Listener {
  const watch = observe && new CallTracker(observe, { ...start, binding: 'GRPC' })
  watch?.understood(route, start.trace)
  return { onError, watch }
}

function listenTo(access: GrpcAccess, route: ServerRpc, call: UnaryCall | StreamingCall): Listener {
  return listen(access, route, { caller: callerOf(access, call), address: () => addressIn(call.getPeer()) })
}

/** Of `address:port`; an address may have colons of its own. */
export function addressIn(peer: string): string | undefined {
  return peer === 'unknown' ? undefined : peer.replace(/:\d+$/, '')
}

/** Not worth counting. */
const smallAnswer = 64 * 1024

export function unaryHandler(access: GrpcAccess, route: ServerRpc) {
  return (call: UnaryCall, callback: sendUnaryData<Buffer>): void => {
    const listener = listenTo(access, route, call)
    answerUnary(access, route, call, listener).then(
      (message) => callback(null, message),
      (caught) => callback(failure(route, listener, caught)),
    )
  }
}

/** A caller that leaves, or whose deadline passes, changes nothing (R-SEND-11), so nobody listens for it. */
async function answerUnary(access: GrpcAccess, route: ServerRpc, call: UnaryCall, listener: Listener): Promise<Buffer> {
  const { endpoint, prepared, params } = understand(access, route, call, listener)
  const result = await callUnary(endpoint.service, route.operation, prepared.request, prepared.context)
  const message = route.rpc.response.encode(route.codec.encode(result, params, prepared.facts))
  if (message.length > smallAnswer && access.admitAnswer) {
    const release = access.admitAnswer(message.length, prepared.context.caller, addressIn(call.getPeer()))
    // Emitted at the end of every call.
    call.once('cancelled', release)
    if (call.cancelled) release()
  }
  listener.watch?.answered(result)
  listener.watch?.ended()
  if (prepared.activated !== undefined) call.sendMetadata(answerHeaders(route.dialect, prepared.activated))
  return message
}

export function streamingHandler(access: GrpcAccess, route: ServerRpc, sessions: Sessions) {
  return (call: StreamingCall): void => {
    const listener = listenTo(access, route, call)
    answerStream(access, route, call, listener, sessions).catch((caught) => {
      // What breaks because the reader left is nobody's news.
      if (call.cancelled) listener.watch?.ended()
      else call.emit('error', failure(route, listener, caught))
    })
  }
}

async function answerStream(
  access: GrpcAccess,
  route: ServerRpc,
  call: StreamingCall,
  listener: Listener,
  sessions: Sessions,
): Promise<void> {
  const { dialect, form, operation, rpc } = route
  const { endpoint, prepared, params } = understand(access, route, call, listener)
  // This binding has no place for an event's sequence; whoever asks gets it inside the event (E-4).
  const isPositioned = prepared.context.extensions?.includes(positionExtension) === true
  const activated = isPositioned ? withPosition(prepared.activated) : prepared.activated
  await sendStream(call, endpoint.service, {
    operation,
    prepared,
    encodeItem: form.createStreamEncoder({ operation, params, newId: endpoint.newId, facts: prepared.facts }),
    encodeBytes: (message) => rpc.response.encode(message),
    headers: activated === undefined ? new Metadata() : answerHeaders(dialect, activated),
    isPositioned,
    watch: listener.watch,
    sessions,
  })
  listener.watch?.ended()
}

/** The binding offers this extension itself, whether or not the card names it. */
function withPosition(activated: string | undefined): string {
  if (activated === undefined) return positionExtension
  return activated.includes(positionExtension) ? activated : `${activated}, ${positionExtension}`
}

/** Extensions in effect are named as the caller's version names them (R-EXT-2). */
function answerHeaders({ extensionsHeader }: Dialect, activated: string): Metadata {
  const metadata = new Metadata()
  metadata.set(extensionsHeader, activated)
  return metadata
}

export function failure({ form }: ServerRpc, { onError, watch }: Listener, caught: unknown) {
  const error = A2AError.from(caught)
  onError(error)
  watch?.ended(error)
  const status = statusOf(error, form)
  return Object.assign(new Error(error.message), status)
}

/** Several values of one name are a list (R-SVC-2). */
export function headersOf(metadata: Metadata): HeaderReader {
  return {
    get(name) {
      const values = metadata.get(name)
      return values.length === 0 ? null : values.join(', ')
    },
  }
}
