/** Answers one gRPC call. */
import type { PeerCertificate } from 'node:tls'
import { Metadata, type ServerUnaryCall, type ServerWritableStream, type sendUnaryData } from '@grpc/grpc-js'
import type { Dialect, GrpcCodec, GrpcForm } from '../../dialects/dialect.js'
import { negotiate } from '../../dialects/negotiate.js'
import type { AuthResult } from '../../model/admission.js'
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

/** The served agents and their access rules. */
export interface GrpcAccess {
  /** Finds the agent of a call by its tenant: gRPC has no paths below an address. */
  readonly endpointOf: (tenant: string | undefined) => BindingHandler | undefined
  /** Authenticates a call by its metadata and the client certificate. Absent: every caller is `anonymous`. */
  readonly admit?: (headers: HeaderReader, connection: GrpcConnection) => AuthResult | Promise<AuthResult>
  /** The caller of an admitted call. Set by the server if there is `admit`. */
  readonly callerOf?: (metadata: Metadata) => Caller | undefined
  readonly limits: RequestLimits
  /** Counts a large unary response until the returned function is called. Throws if the caller has too many unread ones. */
  readonly admitAnswer?: (bytes: number, caller: Caller, address: string | undefined) => () => void
  /** Observes calls until their agent is known. */
  readonly observe?: CallObserver | undefined
  /** Receives errors until the agent is known. */
  readonly onError: (error: A2AError) => void
}

/** Facts about the connection of a call. */
export interface GrpcConnection {
  /** The client certificate; absent unless the server trusts it. */
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

/** Receives the events of a call: those of the agent, once it is known. */
interface Listener {
  onError: (error: A2AError) => void
  readonly watch: CallTracker | undefined
}

/** A decoded call and its agent. */
interface Understood {
  readonly endpoint: BindingHandler
  readonly prepared: PreparedCall
  readonly params: unknown
}

/** Checks authentication, bytes, version, extensions and request, in this order (R-ERR-10). */
function understand(
  access: GrpcAccess,
  { dialect, operation, codec, rpc }: ServerRpc,
  call: UnaryCall | StreamingCall,
  listener: Listener,
): Understood {
  const headers = headersOf(call.metadata)
  const caller = callerOf(access, call)
  // The interceptor has refused all others already.
  if (!caller) throw new A2AError('UNAUTHENTICATED', 'Missing or invalid credentials')
  const params = decodeBytes(rpc, call.request, access.limits)
  // The service implies the dialect. A version is optional, but must match (R-VER-4).
  const version = readVersion(headers)
  if (version && version !== dialect.versions[0])
    negotiate([dialect], { version, isServedIn: () => true, assumeV1: true })
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

/** Starts to observe a call. */
export function listen({ onError, observe }: GrpcAccess, route: ServerRpc, start: CallStart): Listener {
  const watch = observe && new CallTracker(observe, { ...start, binding: 'GRPC' })
  watch?.understood(route, start.trace)
  return { onError, watch }
}

function listenTo(access: GrpcAccess, route: ServerRpc, call: UnaryCall | StreamingCall): Listener {
  return listen(access, route, { caller: callerOf(access, call), address: () => addressIn(call.getPeer()) })
}

/** The address in `address:port`. IPv6 addresses have colons too. */
export function addressIn(peer: string): string | undefined {
  return peer === 'unknown' ? undefined : peer.replace(/:\d+$/, '')
}

/** Smaller responses are not counted. */
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

/** A unary call goes on when its caller leaves or its deadline passes (R-SEND-11). */
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
      // Errors that follow from a cancelled call are not reported.
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
  // gRPC has no event ids. Callers that request the extension get the sequence number in the event (E-4).
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

/** The binding supports this extension, even if the card does not declare it. */
function withPosition(activated: string | undefined): string {
  if (activated === undefined) return positionExtension
  return activated.includes(positionExtension) ? activated : `${activated}, ${positionExtension}`
}

/** Names active extensions in the header of the caller's dialect (R-EXT-2). */
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

/** Several values of one name become a list (R-SVC-2). */
export function headersOf(metadata: Metadata): HeaderReader {
  return {
    get(name) {
      const values = metadata.get(name)
      return values.length === 0 ? null : values.join(', ')
    },
  }
}
