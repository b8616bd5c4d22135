/** JSON-RPC over HTTP: one address, methods by name, streams as server-sent events (R-RPC). */
import type { CallFacts, Dialect, JsonRpcForm, OperationCodec, StreamEncoder } from '../../dialects/dialect.js'
import { dialectByVersion, negotiate } from '../../dialects/negotiate.js'
import { A2AError, type ErrorCode } from '../../model/errors.js'
import { isObject } from '../../model/is-object.js'
import type { Operation } from '../../model/operations.js'
import type { CallTracker } from '../call-record.js'
import { type Exchange, type HttpAnswer, jsonHeaders } from '../exchange.js'
import { answerCall, encodingFailure, type HttpCall, trackCall } from '../http-server.js'
import { assertJson, parseJson, type RequestLimits } from '../read-json.js'
import { frame, SseFeed, sseHeaders } from '../sse.js'
import {
  assertExtensions,
  type BindingHandler,
  factsOf,
  type HeaderReader,
  type IncomingCall,
  readVersion,
} from '../transport.js'

/** Errors with their own HTTP status; all others have status 200 (R-ERR-12). */
const withStatus: ReadonlySet<ErrorCode> = new Set([
  'UNAUTHENTICATED',
  'PERMISSION_DENIED',
  'PAYLOAD_TOO_LARGE',
  'RATE_LIMITED',
  'UNAVAILABLE',
])

/** Bodies up to this size are read to encode a refusal in the caller's dialect. */
export const maxPeekBytes = 64 * 1024

export interface JsonRpcServer {
  readonly binding: 'JSONRPC'
  answer(exchange: Exchange, incoming: IncomingCall): Promise<HttpAnswer>
  /** Encodes the error of a refused call in the caller's dialect, as far as the request names it. */
  refuse(exchange: Exchange, error: A2AError, parsed?: unknown): Promise<HttpAnswer>
}

/** Serves dialects that have a form for JSON-RPC. */
export function createJsonRpcServer(handler: BindingHandler): JsonRpcServer {
  const { dialects, limits } = handler
  const forms = dialects.map(formOf)
  const candidatesOf = createNegotiation(handler)
  return {
    binding: 'JSONRPC',
    async answer(exchange, incoming) {
      const version = readVersion(exchange.headers, exchange.query)
      const watch = trackCall(handler, incoming, 'JSONRPC')
      // Filled in while the request is read, so that errors use them too.
      let id: RequestId = null
      let dialect: Dialect | undefined
      let operation: Operation | undefined
      try {
        const body = incoming.body === undefined ? await readJson(exchange, limits) : incoming.body
        id = requestIdOf(body)
        const rpc = readEnvelope(body)
        if (rpc.jsonrpc !== '2.0') assertEnvelopeVersion(rpc.jsonrpc, forms)
        const candidates = candidatesOf(rpc.method, version)
        dialect = candidates[0]
        if (candidates.length > 1) dialect = await settle(candidates, handler, rpc, incoming)
        const call = new RpcCall(handler, dialect, rpc, { id, headers: exchange.headers, watch })
        operation = call.operation
        const answer = await answerCall(handler, incoming, call)
        return call.form.hasNotifications && isNotification(body) ? withoutBody(answer) : answer
      } catch (caught) {
        const error = A2AError.from(caught)
        handler.onError(error)
        watch?.ended(error)
        const target: ReplyTarget = { id, dialect: dialect ?? dialectByVersion(dialects, version), operation }
        const facts = factsOf(handler, exchange.headers)
        return encodeOr500(handler, id, () => asEvent(error, target, facts) ?? errorAnswer(error, target))
      }
    },
    async refuse(exchange, error, parsed) {
      const version = readVersion(exchange.headers, exchange.query)
      let id: RequestId = null
      let dialect: Dialect | undefined
      try {
        const body = parsed ?? (await readJson(exchange, { ...limits, bodyBytes: maxPeekBytes }))
        id = requestIdOf(body)
        dialect = candidatesOf(readEnvelope(body).method, version)[0]
      } catch {
        // The request is refused anyway.
      }
      const target: ReplyTarget = { id, dialect: dialect ?? dialectByVersion(dialects, version) }
      return encodeOr500(handler, id, () => errorAnswer(error, target))
    },
  }
}

async function readJson(exchange: Exchange, limits: RequestLimits): Promise<unknown> {
  assertJson(exchange.headers)
  return parseJson(await exchange.readBody(limits.bodyBytes), limits)
}

/** Leaving a stream does not end its task. */
function withoutBody({ body }: HttpAnswer): HttpAnswer {
  if (body instanceof SseFeed) body.cancel()
  return { status: 204, headers: {} }
}

type Candidates = readonly [Dialect, ...Dialect[]]

/**
 * Returns the dialects that may serve a method, best first. Results for methods and versions of the dialects are kept:
 * callers can name others, but they add nothing.
 */
function createNegotiation(handler: BindingHandler): (method: string, version: string | undefined) => Candidates {
  const known = new Map<string | undefined, Map<string, Candidates>>([[undefined, new Map()]])
  for (const version of handler.dialects.flatMap(({ versions }) => versions)) known.set(version, new Map())
  return (method, version) => {
    const ofVersion = known.get(version)
    const kept = ofVersion?.get(method)
    if (kept) return kept
    const candidates = candidatesFor(handler, method, version)
    if (candidates[0].jsonrpc?.methods.has(method)) ofVersion?.set(method, candidates)
    return candidates
  }
}

function candidatesFor({ dialects, assumeV1 }: BindingHandler, method: string, version?: string): Candidates {
  const isServedIn = ({ jsonrpc }: Dialect) => jsonrpc?.methods.has(method) === true
  return negotiate(dialects, { version, isServedIn, assumeV1 }) as [Dialect, ...Dialect[]] // it names at least one
}

/** For methods that several versions have, chooses the dialect that created the task (RM-DET-4). */
async function settle(
  candidates: Candidates,
  handler: BindingHandler,
  { params }: RpcRequest,
  incoming: IncomingCall,
): Promise<Dialect> {
  const id = isObject(params) ? params.id : undefined
  const name = typeof id === 'string' ? await handler.createdIn(id, incoming) : undefined
  return candidates.find((dialect) => dialect.name === name) ?? candidates[0]
}

interface RpcCallFacts {
  readonly id: RequestId
  readonly headers: HeaderReader
  readonly watch: CallTracker | undefined
}

/** A call whose method is known. */
class RpcCall implements HttpCall {
  readonly binding = 'JSONRPC'
  readonly answerHeaders = jsonHeaders
  readonly dialect: Dialect
  readonly form: JsonRpcForm
  readonly operation: Operation
  readonly codec: OperationCodec
  readonly params: unknown
  readonly headers: HeaderReader
  readonly watch: CallTracker | undefined
  readonly #handler: BindingHandler
  readonly #id: RequestId
  #prefix: string | undefined

  /** Throws `METHOD_NOT_FOUND` if the dialect has no such method. */
  constructor(handler: BindingHandler, dialect: Dialect, rpc: RpcRequest, { id, headers, watch }: RpcCallFacts) {
    const form = formOf(dialect)
    if (rpc.jsonrpc !== '2.0') assertEnvelopeVersion(rpc.jsonrpc, [form])
    const named = form.methods.get(rpc.method)
    const operation = (named && form.operations[named]?.instead?.(rpc.params)) ?? named
    const codec = operation && form.operations[operation]
    if (!operation || !codec) {
      assertExtensions(handler, dialect, headers)
      throw methodNotFound(rpc.method, dialect)
    }
    this.dialect = dialect
    this.form = form
    this.operation = operation
    this.codec = codec
    this.params = rpc.params
    this.headers = headers
    this.watch = watch
    this.#handler = handler
    this.#id = id
  }

  createStreamEncoder(facts: CallFacts): StreamEncoder {
    const { operation, params } = this
    return this.form.createStreamEncoder({ operation, params, newId: this.#handler.newId, facts })
  }

  wrapResult(json: string): string {
    this.#prefix ??= `{"jsonrpc":"2.0","id":${JSON.stringify(this.#id)},"result":`
    return `${this.#prefix}${json}}`
  }

  wrapError(error: A2AError): string {
    return errorEnvelope(this.#id, error, this.form)
  }
}

function methodNotFound(method: string, { versions }: Dialect): A2AError {
  const hint = versions.length > 0 ? `; this call is read as version ${versions[0]}, see the header A2A-Version` : ''
  return new A2AError('METHOD_NOT_FOUND', `Method not found${hint}`, { metadata: { method: method.slice(0, 100) } })
}

/** The id and dialect of an error response. */
interface ReplyTarget {
  readonly id: RequestId
  readonly dialect: Dialect
  readonly operation?: Operation | undefined
}

/** The error as one server-sent event, if the dialect sends it so. Errors with their own HTTP status never are. */
function asEvent(error: A2AError, { id, dialect, operation }: ReplyTarget, facts: CallFacts): HttpAnswer | undefined {
  const form = formOf(dialect)
  if (withStatus.has(error.code) || !form.sendsErrorAsEvent?.(operation, facts)) return undefined
  return { status: 200, headers: sseHeaders, body: frame(errorEnvelope(id, error, form)) }
}

function errorAnswer(error: A2AError, { id, dialect }: ReplyTarget): HttpAnswer {
  const form = formOf(dialect)
  const body = errorEnvelope(id, error, form)
  const status = withStatus.has(error.code) ? form.httpStatus(error) : 200
  const { retryAfterSeconds } = error.details
  if (retryAfterSeconds === undefined) return { status, headers: jsonHeaders, body }
  return { status, headers: { ...jsonHeaders, 'retry-after': String(retryAfterSeconds) }, body }
}

/** Encodes an error. If the dialect fails to, the caller gets an internal error in the newest dialect. */
function encodeOr500(handler: BindingHandler, id: RequestId, encode: () => HttpAnswer): HttpAnswer {
  try {
    return encode()
  } catch (caught) {
    const error = encodingFailure(handler, caught)
    return { status: 500, headers: jsonHeaders, body: errorEnvelope(id, error, formOf(handler.newestDialect)) }
  }
}

function formOf({ jsonrpc }: Dialect): JsonRpcForm {
  return jsonrpc as JsonRpcForm // the handler's dialects all have one
}

type RequestId = string | number | null

interface RpcRequest {
  /** The version of the envelope. */
  readonly jsonrpc: unknown
  readonly method: string
  readonly params: unknown
}

/** The id, if it is valid. Errors about the envelope carry it too. */
function requestIdOf(body: unknown): RequestId {
  const id = isObject(body) ? body.id : null
  return typeof id === 'string' || (typeof id === 'number' && Number.isFinite(id)) ? id : null
}

/** JSON-RPC 2.0, section 4.1. A request with `id: null` is not a notification. */
function isNotification(body: unknown): boolean {
  return isObject(body) && body.id === undefined
}

/** Reads everything but the version, whose check depends on the dialect. */
function readEnvelope(body: unknown): RpcRequest {
  if (Array.isArray(body)) throw invalid('batches are not supported')
  if (!isObject(body)) throw invalid('must be a JSON-RPC object')
  const { jsonrpc, id, method } = body
  if (id !== undefined && id !== null && typeof id !== 'string' && typeof id !== 'number') {
    throw invalid('id must be a string, a number or null')
  }
  if (typeof method !== 'string' || method === '') {
    // For a body that is not JSON-RPC at all, the missing version is the more helpful error.
    throw jsonrpc === '2.0' ? invalid('method is required') : invalid('jsonrpc must be "2.0"')
  }
  return body as unknown as RpcRequest // `method` is checked above
}

/** Throws if no dialect accepts a version other than `2.0`. */
function assertEnvelopeVersion(jsonrpc: unknown, forms: readonly JsonRpcForm[]): void {
  if (forms.some(({ envelopeVersions }) => envelopeVersions?.includes(jsonrpc))) return
  throw invalid('jsonrpc must be "2.0"')
}

function invalid(what: string): A2AError {
  return new A2AError('INVALID_REQUEST', `Request payload validation error: ${what}`)
}

function errorEnvelope(id: RequestId, error: A2AError, form: JsonRpcForm): string {
  return JSON.stringify({ jsonrpc: '2.0', id, error: form.encodeError(error) })
}
