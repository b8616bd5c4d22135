/** JSON-RPC over HTTP: one endpoint, methods by name, streams as SSE. */
import type { CallFacts, Dialect, JsonRpcForm } from '../../dialects/dialect.js'
import { dialectByVersion, negotiate } from '../../dialects/negotiate.js'
import { A2AError, type ErrorCode } from '../../model/errors.js'
import { isObject } from '../../model/is-object.js'
import type { Operation } from '../../model/operations.js'
import { answerCall, type Envelope, type HttpCall } from '../call.js'
import { CallWatch } from '../call-record.js'
import { assertJson, parseJson, type RequestLimits, readBody } from '../read-json.js'
import { frame, sseHeaders } from '../sse.js'
import {
  type Arrival,
  assertExtensions,
  type BindingHandler,
  factsOf,
  readVersion,
  type ServerTransport,
} from '../transport.js'
import {
  assertEnvelopeVersion,
  errorEnvelope,
  isNotification,
  type RequestId,
  type RpcRequest,
  readEnvelope,
  requestIdOf,
  resultPrefix,
} from './envelope.js'

/** Failures that keep their HTTP status; all others are answered 200 (R-ERR-12). */
const withStatus: ReadonlySet<ErrorCode> = new Set([
  'UNAUTHENTICATED',
  'PERMISSION_DENIED',
  'PAYLOAD_TOO_LARGE',
  'RATE_LIMITED',
  'UNAVAILABLE',
])

/** Bodies up to this size are looked at to refuse a stranger in its own words. */
export const longestPeek = 64 * 1024

export interface JsonRpcServer {
  readonly answer: ServerTransport
  /** Says no to a call that was not let in, in the dialect it is spoken in as far as that can be told. */
  refuse(request: Request, error: A2AError): Promise<Response>
}

/** How a call is answered, as soon as that is known. */
interface Voice {
  id: RequestId
  dialect: Dialect
  operation?: Operation
}

/** For an endpoint whose dialects all have a form for JSON-RPC. */
export function createJsonRpcServer(endpoint: BindingHandler): JsonRpcServer {
  const { dialects } = endpoint
  const forms = dialects.map(formOf)
  return {
    async answer(request, arrival) {
      const version = readVersion(request.headers, request.url)
      const voice: Voice = { id: null, dialect: dialectByVersion(dialects, version) }
      const watch = endpoint.observe && new CallWatch(endpoint.observe, { ...arrival, binding: 'JSONRPC' })
      try {
        const body = arrival.body === undefined ? await readJson(request, endpoint.limits) : arrival.body
        voice.id = requestIdOf(body)
        const rpc = readEnvelope(body)
        assertEnvelopeVersion(rpc.jsonrpc, forms)
        const [first, ...others] = spokenIn(endpoint, rpc, version)
        voice.dialect = first
        if (others.length > 0) voice.dialect = await settle([first, ...others], endpoint, rpc, arrival)
        const call = callOf(endpoint, voice.dialect, rpc, request)
        voice.operation = call.operation
        const response = await answerCall(endpoint, arrival, watch ? { ...call, watch } : call, envelopeOf(voice))
        const isUnanswered = formOf(voice.dialect).hasNotifications && isNotification(body)
        return isUnanswered ? await withoutBody(response) : response
      } catch (caught) {
        const error = A2AError.from(caught)
        endpoint.onError(error)
        watch?.ended(error)
        return asEvent(error, voice, factsOf(endpoint, request.headers)) ?? errorAnswer(error, voice)
      }
    },
    async refuse(request, error) {
      const version = readVersion(request.headers, request.url)
      const voice: Voice = { id: null, dialect: dialectByVersion(dialects, version) }
      try {
        const body = await readJson(request, { ...endpoint.limits, bodyBytes: longestPeek })
        voice.id = requestIdOf(body)
        voice.dialect = spokenIn(endpoint, readEnvelope(body), version)[0]
      } catch {
        // Whatever is wrong with it, the answer is no.
      }
      return errorAnswer(error, voice)
    },
  }
}

async function readJson(request: Request, limits: RequestLimits): Promise<unknown> {
  assertJson(request)
  return parseJson(await readBody(request, limits.bodyBytes), limits)
}

/** A stream is left like any other: the task goes on. */
async function withoutBody(response: Response): Promise<Response> {
  await response.body?.cancel()
  return new Response(null, { status: 204 })
}

function spokenIn(
  { dialects, assumeV1 }: BindingHandler,
  { method }: RpcRequest,
  version: string | undefined,
): readonly [Dialect, ...Dialect[]] {
  const isSpokenIn = ({ jsonrpc }: Dialect) => jsonrpc?.methods.has(method) === true
  return negotiate(dialects, { version, isSpokenIn, assumeV1 }) as [Dialect, ...Dialect[]] // it names at least one
}

/** Methods that several versions share are answered as the task was created (RM-DET-4). */
async function settle(
  candidates: readonly [Dialect, ...Dialect[]],
  endpoint: BindingHandler,
  { params }: RpcRequest,
  arrival: Arrival,
): Promise<Dialect> {
  const id = isObject(params) ? params.id : undefined
  const name = typeof id === 'string' ? await endpoint.createdIn(id, arrival) : undefined
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

/** The error as one server-sent event, where the dialect says so. Errors that keep their HTTP status never are. */
function asEvent(error: A2AError, { id, dialect, operation }: Voice, facts: CallFacts): Response | undefined {
  const form = formOf(dialect)
  if (withStatus.has(error.code) || !form.sendsErrorAsEvent?.(operation, facts)) return undefined
  return new Response(frame(errorEnvelope(id, error, form)), { headers: sseHeaders })
}

function errorAnswer(error: A2AError, { id, dialect }: Voice): Response {
  const form = formOf(dialect)
  const text = errorEnvelope(id, error, form)
  const status = withStatus.has(error.code) ? form.httpStatus(error) : 200
  const { retryAfterSeconds } = error.details
  const headers: Record<string, string> = { 'content-type': 'application/json' }
  if (retryAfterSeconds !== undefined) headers['retry-after'] = String(retryAfterSeconds)
  return new Response(text, { status, headers })
}

function envelopeOf({ id, dialect }: Voice): Envelope {
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
