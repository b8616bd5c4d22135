/** JSON-RPC over HTTP: one address, methods by name, streams as server-sent events (R-RPC). */
import type { CallFacts, Dialect, JsonRpcForm } from '../../dialects/dialect.js'
import { dialectByVersion, negotiate } from '../../dialects/negotiate.js'
import { A2AError, type ErrorCode } from '../../model/errors.js'
import { isObject } from '../../model/is-object.js'
import type { Operation } from '../../model/operations.js'
import { CallTracker } from '../call-record.js'
import { answerCall, type Envelope, encodingFailure, type HttpCall } from '../http-server.js'
import { assertJson, parseJson, type RequestLimits, readBody } from '../read-json.js'
import { frame, sseHeaders } from '../sse.js'
import {
  assertExtensions,
  type BindingHandler,
  factsOf,
  type IncomingCall,
  readVersion,
  type ServerTransport,
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
  readonly answer: ServerTransport
  /** Encodes the error of a refused call in the caller's dialect, as far as the request names it. */
  refuse(request: Request, error: A2AError): Promise<Response>
}

/** The id and dialect of the response. Filled in while the request is read, so that errors use them too. */
interface ReplyTarget {
  id: RequestId
  dialect: Dialect
  operation?: Operation
}

/** Serves dialects that have a form for JSON-RPC. */
export function createJsonRpcServer(endpoint: BindingHandler): JsonRpcServer {
  const { dialects } = endpoint
  const forms = dialects.map(formOf)
  return {
    async answer(request, incoming) {
      const version = readVersion(request.headers, request.url)
      const target: ReplyTarget = { id: null, dialect: dialectByVersion(dialects, version) }
      const watch = endpoint.observe && new CallTracker(endpoint.observe, { ...incoming, binding: 'JSONRPC' })
      try {
        const body = incoming.body === undefined ? await readJson(request, endpoint.limits) : incoming.body
        target.id = requestIdOf(body)
        const rpc = readEnvelope(body)
        assertEnvelopeVersion(rpc.jsonrpc, forms)
        const [first, ...others] = spokenIn(endpoint, rpc, version)
        target.dialect = first
        if (others.length > 0) target.dialect = await settle([first, ...others], endpoint, rpc, incoming)
        const call = callOf(endpoint, target.dialect, rpc, request)
        target.operation = call.operation
        const response = await answerCall(endpoint, incoming, watch ? { ...call, watch } : call, envelopeOf(target))
        const isUnanswered = formOf(target.dialect).hasNotifications && isNotification(body)
        return isUnanswered ? await withoutBody(response) : response
      } catch (caught) {
        const error = A2AError.from(caught)
        endpoint.onError(error)
        watch?.ended(error)
        return encodeOr500(
          endpoint,
          target.id,
          () => asEvent(error, target, factsOf(endpoint, request.headers)) ?? errorAnswer(error, target),
        )
      }
    },
    async refuse(request, error) {
      const version = readVersion(request.headers, request.url)
      const target: ReplyTarget = { id: null, dialect: dialectByVersion(dialects, version) }
      try {
        const body = await readJson(request, { ...endpoint.limits, bodyBytes: maxPeekBytes })
        target.id = requestIdOf(body)
        target.dialect = spokenIn(endpoint, readEnvelope(body), version)[0]
      } catch {
        // The request is refused anyway.
      }
      return encodeOr500(endpoint, target.id, () => errorAnswer(error, target))
    },
  }
}

async function readJson(request: Request, limits: RequestLimits): Promise<unknown> {
  assertJson(request)
  return parseJson(await readBody(request, limits.bodyBytes), limits)
}

/** Leaving a stream does not end its task. */
async function withoutBody(response: Response): Promise<Response> {
  await response.body?.cancel()
  return new Response(null, { status: 204 })
}

function spokenIn(
  { dialects, assumeV1 }: BindingHandler,
  { method }: RpcRequest,
  version: string | undefined,
): readonly [Dialect, ...Dialect[]] {
  const isServedIn = ({ jsonrpc }: Dialect) => jsonrpc?.methods.has(method) === true
  return negotiate(dialects, { version, isServedIn, assumeV1 }) as [Dialect, ...Dialect[]] // it names at least one
}

/** For methods that several versions have, chooses the dialect that created the task (RM-DET-4). */
async function settle(
  candidates: readonly [Dialect, ...Dialect[]],
  endpoint: BindingHandler,
  { params }: RpcRequest,
  incoming: IncomingCall,
): Promise<Dialect> {
  const id = isObject(params) ? params.id : undefined
  const name = typeof id === 'string' ? await endpoint.createdIn(id, incoming) : undefined
  return candidates.find((dialect) => dialect.name === name) ?? candidates[0]
}

function callOf(
  endpoint: BindingHandler,
  dialect: Dialect,
  { jsonrpc, method, params }: RpcRequest,
  request: Request,
): HttpCall {
  const form = formOf(dialect)
  assertEnvelopeVersion(jsonrpc, [form])
  const named = form.methods.get(method)
  const operation = (named && form.operations[named]?.instead?.(params)) ?? named
  const codec = operation && form.operations[operation]
  if (!operation || !codec) {
    assertExtensions(endpoint, dialect, request.headers)
    throw methodNotFound(method, dialect)
  }
  return {
    binding: 'JSONRPC',
    dialect,
    operation,
    codec,
    params,
    headers: request.headers,
    createStreamEncoder: (facts) => form.createStreamEncoder({ operation, params, newId: endpoint.newId, facts }),
  }
}

function methodNotFound(method: string, { versions }: Dialect): A2AError {
  const hint = versions.length > 0 ? `; this call is read as version ${versions[0]}, see the header A2A-Version` : ''
  return new A2AError('METHOD_NOT_FOUND', `Method not found${hint}`, { metadata: { method: method.slice(0, 100) } })
}

/** The error as one server-sent event, if the dialect sends it so. Errors with their own HTTP status never are. */
function asEvent(error: A2AError, { id, dialect, operation }: ReplyTarget, facts: CallFacts): Response | undefined {
  const form = formOf(dialect)
  if (withStatus.has(error.code) || !form.sendsErrorAsEvent?.(operation, facts)) return undefined
  return new Response(frame(errorEnvelope(id, error, form)), { headers: sseHeaders })
}

function errorAnswer(error: A2AError, { id, dialect }: ReplyTarget): Response {
  const form = formOf(dialect)
  const text = errorEnvelope(id, error, form)
  const status = withStatus.has(error.code) ? form.httpStatus(error) : 200
  const { retryAfterSeconds } = error.details
  const headers: Record<string, string> = { 'content-type': 'application/json' }
  if (retryAfterSeconds !== undefined) headers['retry-after'] = String(retryAfterSeconds)
  return new Response(text, { status, headers })
}

/** Encodes an error. If the dialect fails to, the caller gets an internal error in the newest dialect. */
function encodeOr500(endpoint: BindingHandler, id: RequestId, encode: () => Response): Response {
  try {
    return encode()
  } catch (caught) {
    const error = encodingFailure(endpoint, caught)
    const text = errorEnvelope(id, error, formOf(endpoint.newestDialect))
    return new Response(text, { status: 500, headers: { 'content-type': 'application/json' } })
  }
}

function envelopeOf({ id, dialect }: ReplyTarget): Envelope {
  const prefix = resultPrefix(id)
  return {
    headers: { 'content-type': 'application/json' },
    result: (json) => `${prefix}${json}}`,
    error: (error) => errorEnvelope(id, error, formOf(dialect)),
  }
}

function formOf({ jsonrpc }: Dialect): JsonRpcForm {
  return jsonrpc as JsonRpcForm // the endpoint's dialects all have one
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
  const { jsonrpc, id, method, params } = body
  if (id !== undefined && id !== null && typeof id !== 'string' && typeof id !== 'number') {
    throw invalid('id must be a string, a number or null')
  }
  if (typeof method !== 'string' || method === '') {
    // For a body that is not JSON-RPC at all, the missing version is the more helpful error.
    throw jsonrpc === '2.0' ? invalid('method is required') : invalid('jsonrpc must be "2.0"')
  }
  return { jsonrpc, method, params }
}

/** Throws if no dialect accepts the version. Some accept other values than `2.0`. */
function assertEnvelopeVersion(jsonrpc: unknown, forms: readonly JsonRpcForm[]): void {
  if (jsonrpc === '2.0' || forms.some(({ envelopeVersions }) => envelopeVersions?.includes(jsonrpc))) return
  throw invalid('jsonrpc must be "2.0"')
}

function invalid(what: string): A2AError {
  return new A2AError('INVALID_REQUEST', `Request payload validation error: ${what}`)
}

function resultPrefix(id: RequestId): string {
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":`
}

function errorEnvelope(id: RequestId, error: A2AError, form: JsonRpcForm): string {
  return JSON.stringify({ jsonrpc: '2.0', id, error: form.encodeError(error) })
}
