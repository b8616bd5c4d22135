/**
 * The gRPC server (R-GRPC): one service for each dialect with a gRPC form, on the HTTP/2 streams that the listener
 * accepts. It converts between bytes and plain objects, which the dialect decodes and encodes.
 */
import type { IncomingHttpHeaders, OutgoingHttpHeaders, ServerHttp2Stream } from 'node:http2'
import type { Dialect, GrpcCodec, GrpcForm } from '../../dialects/dialect.js'
import { negotiate } from '../../dialects/negotiate.js'
import { type AuthResult, isRefused, type Refused } from '../../model/admission.js'
import { A2AError, clip } from '../../model/errors.js'
import { callStreaming, callUnary } from '../../model/generic-service.js'
import { isObject } from '../../model/is-object.js'
import { isStreaming, type Operation } from '../../model/operations.js'
import { anonymous, type Caller, type ReadAhead } from '../../model/service.js'
import { readTraceContext } from '../../model/trace-context.js'
import { type CallObserver, CallTracker } from '../call-record.js'
import { Deadlines } from '../deadlines.js'
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
import { type Rpc, services } from './messages.js'
import { type CallLimits, type GrpcConnection, ServerCall } from './server-call.js'
import { EventWriter } from './server-stream.js'
import { type CallStatus, statusCodes, statusOf } from './status.js'
import { TooManyElements, Writer } from './wire.js'

/** The served agents and their access rules. */
export interface GrpcServerOptions {
  /** Dialects without a form for gRPC are ignored. */
  readonly dialects: readonly Dialect[]
  /** Finds the agent of a call by its tenant: gRPC has no paths below an address. */
  readonly endpointOf: (tenant: string | undefined) => BindingHandler | undefined
  /** The reason to refuse a call by its host, before authentication. Absent: calls may name any host. */
  readonly hostFault?: (headers: HeaderReader) => string | undefined
  /** Authenticates a call by its metadata and its connection. Absent: every caller is `anonymous`. */
  readonly admit?: (headers: HeaderReader, connection: GrpcConnection) => AuthResult | Promise<AuthResult>
  readonly limits: RequestLimits
  /** From the metadata of a call to the end of its request. Default 60 s. */
  readonly requestMs?: number | undefined
  /** Counts a large unary response until the returned function is called. Throws if the caller has too many unread ones. */
  readonly admitAnswer?: (bytes: number, caller: Caller, address: string | undefined) => () => void
  /** Observes calls until their agent is known. */
  readonly observe?: CallObserver | undefined
  /** Receives errors until the agent is known. */
  readonly onError: (error: A2AError) => void
}

/** Answers a stream whose content type is that of gRPC. */
export type AnswerGrpc = (
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  connection: GrpcConnection,
  /** Names and values in turn. */
  rawHeaders: readonly string[],
) => void

/** One rpc of one dialect. */
interface ServerRpc {
  readonly dialect: Dialect
  readonly form: GrpcForm
  readonly operation: Operation
  readonly codec: GrpcCodec
  readonly rpc: Rpc
}

/** Receives the events of a call: those of the agent, once it is known. */
interface Listener {
  onError: (error: A2AError) => void
  readonly watch: CallTracker | undefined
}

/** An authenticated call. */
interface Admitted {
  readonly call: ServerCall
  readonly route: ServerRpc
  readonly caller: Caller
  readonly listener: Listener
}

/** A decoded call and its agent. */
interface Understood {
  readonly endpoint: BindingHandler
  readonly prepared: PreparedCall
  readonly params: unknown
}

/** Smaller responses are not counted. */
const smallAnswer = 64 * 1024

export function createGrpcServer(options: GrpcServerOptions): AnswerGrpc {
  const routes = routesOf(options.dialects)
  const { admit, limits } = options
  const callLimits: CallLimits = {
    maxBytes: limits.bodyBytes,
    requestMs: options.requestMs ?? 60_000,
    deadlines: new Deadlines(),
  }
  return (stream, headers, connection, rawHeaders) => {
    if (headers[':method'] !== 'POST') {
      const status = { 'grpc-status': String(statusCodes.INTERNAL), 'grpc-message': encodeURI('Use the method POST') }
      stream.respond({ ':status': 405, allow: 'POST', ...status }, { endStream: true })
      return
    }
    const call = new ServerCall(stream, { headers, rawHeaders }, connection, callLimits)
    const fault = options.hostFault?.(call.headers)
    if (fault !== undefined) {
      if (routes.has(call.path)) refuse(options, routes, call, { refused: new A2AError('PERMISSION_DENIED', fault) })
      else call.end({ code: statusCodes.PERMISSION_DENIED, message: fault })
      return
    }
    if (!admit) {
      enter(options, routes, call, anonymous)
      return
    }
    try {
      const admission = admit(call.headers, connection)
      if (admission instanceof Promise)
        admission.then(
          (result) => enter(options, routes, call, result),
          (caught: unknown) => refuse(options, routes, call, { refused: A2AError.from(caught) }),
        )
      else enter(options, routes, call, admission)
    } catch (caught) {
      refuse(options, routes, call, { refused: A2AError.from(caught) })
    }
  }
}

/** Paths are `/<service>/<rpc>`. Of two dialects with the same service, the first is served. */
function routesOf(dialects: readonly Dialect[]): ReadonlyMap<string, ServerRpc> {
  const routes = new Map<string, ServerRpc>()
  for (const dialect of dialects) {
    const { grpc: form } = dialect
    for (const [name, operation] of form?.rpcs ?? []) {
      const rpc = form && services.get(form.service)?.get(name)
      const codec = form?.operations[operation]
      if (!form || !rpc || !codec || rpc.isStreaming !== isStreaming(operation))
        throw new TypeError(`${dialect.name} names an rpc ${name} that its service does not have`)
      const path = `/${form.service}/${name}`
      if (!routes.has(path)) routes.set(path, { dialect, form, operation, codec, rpc })
    }
  }
  return routes
}

/** Authentication is decided before a message is read, and before unknown rpcs are refused. */
function enter(
  options: GrpcServerOptions,
  routes: ReadonlyMap<string, ServerRpc>,
  call: ServerCall,
  admission: AuthResult,
): void {
  if (isRefused(admission)) {
    refuse(options, routes, call, admission)
    return
  }
  const route = routes.get(call.path)
  if (!route) {
    call.end({
      code: statusCodes.UNIMPLEMENTED,
      message: `The server does not implement the method ${clip(call.path)}`,
    })
    return
  }
  call.read((message) => {
    const listener = listen(options, route, call, admission)
    const admitted = { call, route, caller: admission, listener }
    try {
      const understood = understand(options, admitted, message)
      if (route.rpc.isStreaming) answerStream(admitted, understood)
      else answerUnary(options, admitted, understood)
    } catch (caught) {
      call.end(failure(route, listener, caught))
    }
  })
}

function refuse(
  options: GrpcServerOptions,
  routes: ReadonlyMap<string, ServerRpc>,
  call: ServerCall,
  { refused, challenge, caller }: Refused,
): void {
  const route = routes.get(call.path)
  if (!route) {
    call.end({ code: statusCodes.UNAUTHENTICATED, message: 'Missing or invalid credentials', challenge })
    return
  }
  const listener = listen(options, route, call, caller, caller !== undefined)
  call.end({ ...failure(route, listener, refused), challenge })
}

/** Starts to observe a call. Trace headers of unauthenticated callers are ignored. */
function listen(
  { onError, observe }: GrpcServerOptions,
  route: ServerRpc,
  { headers, connection: { address } }: ServerCall,
  caller: Caller | undefined,
  isTraced = false,
): Listener {
  if (!observe) return { onError, watch: undefined }
  const trace = isTraced ? readTraceContext(headers) : undefined
  const watch = new CallTracker(observe, { caller, address, trace, binding: 'GRPC' })
  watch.understood(route, trace)
  return { onError, watch }
}

/** Checks bytes, version, extensions and request, in this order (R-ERR-10). */
function understand(
  options: GrpcServerOptions,
  { call, route, caller, listener }: Admitted,
  message: Buffer,
): Understood {
  const { dialect, operation, codec, rpc } = route
  const { headers } = call
  const params = decodeBytes(rpc, message, options.limits)
  // The service implies the dialect. A version is optional, but must match (R-VER-4).
  const version = readVersion(headers)
  if (version && version !== dialect.versions[0])
    negotiate([dialect], { version, isServedIn: () => true, assumeV1: true })
  const endpoint = endpointOf(options, params)
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

function endpointOf(options: GrpcServerOptions, params: unknown): BindingHandler {
  const named = isObject(params) ? params.tenant : undefined
  const tenant = typeof named === 'string' && named !== '' ? named : undefined
  const endpoint = options.endpointOf(tenant)
  if (endpoint) return endpoint
  if (tenant === undefined) throw new A2AError('METHOD_NOT_FOUND', 'No agent answers here; name a tenant')
  throw new A2AError('TASK_NOT_FOUND', `Tenant not found: ${clip(tenant)}`, { metadata: { tenant: clip(tenant) } })
}

/** A unary call goes on when its caller leaves or its deadline passes (R-SEND-11). */
function answerUnary(options: GrpcServerOptions, admitted: Admitted, understood: Understood): void {
  const { call, route, listener } = admitted
  const { endpoint, prepared } = understood
  const fail = (caught: unknown) => call.end(failure(route, listener, caught))
  callUnary(endpoint.service, route.operation, prepared.request, prepared.context).then((result) => {
    try {
      sendAnswer(options, admitted, understood, result)
    } catch (caught) {
      fail(caught)
    }
  }, fail)
}

function sendAnswer(
  { admitAnswer }: GrpcServerOptions,
  { call, route, listener: { watch } }: Admitted,
  { prepared, params }: Understood,
  result: unknown,
): void {
  const writer = new Writer()
  route.rpc.response.writeFramed(route.codec.encode(result, params, prepared.facts), writer)
  const framed = writer.finish()
  if (framed.length > smallAnswer && admitAnswer)
    call.onClosed(admitAnswer(framed.length, prepared.context.caller, call.connection.address()))
  watch?.answered(result)
  watch?.ended()
  if (prepared.activated !== undefined) call.open(extensionHeaders(route.dialect, prepared.activated))
  call.finish(framed)
}

/** A cancelled call and one past its deadline end the stream, not the task (R-GRPC-3). */
function answerStream({ call, route, listener }: Admitted, { endpoint, prepared, params }: Understood): void {
  const { dialect, form, operation, rpc } = route
  const { watch } = listener
  // gRPC has no event ids. Callers that request the extension get the sequence number in the event (E-4).
  const isPositioned = prepared.context.extensions?.includes(positionExtension) === true
  const activated = isPositioned ? withPosition(prepared.activated) : prepared.activated
  const headers = activated === undefined ? undefined : extensionHeaders(dialect, activated)
  const encodeItem = form.createStreamEncoder({ operation, params, newId: endpoint.newId, facts: prepared.facts })
  const gone = new AbortController()
  const open = () => call.open(headers)
  const context = { ...prepared.context, signal: gone.signal, onOpen: open }
  const items: ReadAhead = callStreaming(endpoint.service, operation, prepared.request, context)[Symbol.asyncIterator]()
  const events = new EventWriter(
    call,
    items,
    (item, writer) => {
      watch?.event(item)
      const encoded = encodeItem(item)
      rpc.response.writeFramed(isPositioned ? positioned(encoded, item.seq) : encoded, writer)
    },
    open,
  )
  call.onGone = () => {
    gone.abort()
    events.cancel()
  }
  events.send().then(
    () => {
      watch?.ended()
      open()
      call.finish(events.takeRest())
    },
    (caught) => {
      // Errors that follow from a cancelled call are not reported.
      if (call.isOver) {
        watch?.ended()
        return
      }
      const rest = events.takeRest()
      if (rest) {
        open()
        call.output.write(rest)
      }
      call.end(failure(route, listener, caught))
    },
  )
}

interface Bearer {
  readonly metadata?: object
}

/** Adds the sequence number to an event. Messages have none: they end their stream. */
function positioned(message: object, seq: number | undefined): object {
  if (seq === undefined) return message
  for (const kind of ['task', 'statusUpdate', 'artifactUpdate']) {
    const bearer = (message as Readonly<Record<string, Bearer | undefined>>)[kind]
    if (bearer) return { [kind]: { ...bearer, metadata: { ...bearer.metadata, [positionExtension]: seq } } }
  }
  return message
}

/** The binding supports this extension, even if the card does not declare it. */
function withPosition(activated: string | undefined): string {
  if (activated === undefined) return positionExtension
  return activated.includes(positionExtension) ? activated : `${activated}, ${positionExtension}`
}

/** Names active extensions in the header of the caller's dialect (R-EXT-2). */
function extensionHeaders({ extensionsHeader }: Dialect, activated: string): OutgoingHttpHeaders {
  return { [extensionsHeader.toLowerCase()]: activated }
}

function failure({ form }: ServerRpc, { onError, watch }: Listener, caught: unknown): CallStatus {
  const error = A2AError.from(caught)
  onError(error)
  watch?.ended(error)
  return statusOf(error, form)
}
