/** HTTP+JSON: routes, query parameters, bare JSON results, streams as SSE (R-REST). */
import { isObject } from '../../dialects/decode.js'
import type { Dialect } from '../../dialects/dialect.js'
import { A2AError } from '../../model/errors.js'
import { answerCall, type Envelope } from '../call.js'
import { mediaTypeOf, parseJson, readBody } from '../read-json.js'
import { type Arrival, chooseDialect, type Endpoint, readParameters } from '../transport.js'
import { createRouter, type Match } from './route.js'

const a2aJson = 'application/a2a+json'

/** Answers requests whose path (behind the mount) is one of a dialect's routes; absent when none is. */
export type RestServer = (request: Request, path: string, arrival: Arrival) => Promise<Response> | undefined

export function createRestServer(endpoint: Endpoint): RestServer {
  const routers = new Map(endpoint.dialects.map((dialect) => [dialect, createRouter(dialect.routes)]))
  return (request, path, arrival) => {
    const matches = new Map<Dialect, Match>()
    for (const [dialect, router] of routers) {
      const match = router(request.method, path)
      if (match) matches.set(dialect, match)
    }
    return matches.size > 0 ? answer(endpoint, request, arrival, matches) : undefined
  }
}

async function answer(
  endpoint: Endpoint,
  request: Request,
  arrival: Arrival,
  matches: ReadonlyMap<Dialect, Match>,
): Promise<Response> {
  const contentType = answerType(request)
  let dialect = endpoint.dialects[0] as Dialect // an endpoint offers at least one
  try {
    const body = request.method === 'POST' ? await readJson(request, endpoint.maxBodyBytes) : undefined
    const parameters = readParameters(request)
    dialect = chooseDialect(endpoint, parameters, (each) => matches.has(each))
    const match = matches.get(dialect)
    if (!match) throw new A2AError('METHOD_NOT_FOUND', `Version ${dialect.version} has no such path`)
    const codec = dialect.operations[match.operation]
    const query = body === undefined ? queryParams(request.url, codec?.booleanParameters ?? []) : body
    const params = { ...query, ...match.pathParams }
    const envelope: Envelope = { contentType, result: (json) => json, error: restErrorBody }
    return await answerCall(
      endpoint,
      request,
      arrival,
      { operation: match.operation, dialect, parameters, params },
      envelope,
    )
  } catch (caught) {
    const error = A2AError.from(caught)
    endpoint.onError(error)
    return restError(error, dialect, contentType)
  }
}

export function restError(error: A2AError, dialect: Dialect, contentType = 'application/json'): Response {
  const { retryAfterSeconds } = error.details
  return new Response(restErrorBody(error, dialect), {
    status: dialect.errors[error.code].http,
    headers: {
      'content-type': contentType,
      ...(retryAfterSeconds !== undefined && { 'retry-after': String(retryAfterSeconds) }),
    },
  })
}

/** `code` equals the HTTP status (R-ERR-5). */
function restErrorBody(error: A2AError, dialect: Dialect): string {
  const { http: code, grpc: status } = dialect.errors[error.code]
  return JSON.stringify({ error: { code, status, message: error.message, details: dialect.errorDetails(error) } })
}

/** An empty body is an empty request (R-CANCEL-6, R-REST-5). */
async function readJson(request: Request, maxBytes: number): Promise<Record<string, unknown>> {
  const mediaType = mediaTypeOf(request.headers.get('content-type'))
  const isJson = mediaType === undefined || mediaType === 'application/json' || mediaType === a2aJson
  if (!isJson) {
    throw new A2AError('CONTENT_TYPE_NOT_SUPPORTED', `${mediaType} is not accepted, send application/json`, {
      metadata: { mediaType },
    })
  }
  const bytes = await readBody(request, maxBytes)
  if (bytes.byteLength === 0) return {}
  const body = parseJson(bytes)
  if (isObject(body)) return body
  throw new A2AError('INVALID_PARAMS', 'The request body must be an object')
}

/** `application/a2a+json` only for those who named it (R-REST-3). */
function answerType(request: Request): string {
  const named = `${request.headers.get('content-type') ?? ''},${request.headers.get('accept') ?? ''}`
  return named.includes(a2aJson) ? a2aJson : 'application/json'
}

/** Query parameters are text; the decoders read numbers from it, flags have to be named (R-REST-2). */
function queryParams(url: string, booleans: readonly string[]): Record<string, unknown> {
  const params: [string, unknown][] = []
  for (const [name, value] of new URL(url).searchParams) {
    const isFlag = booleans.includes(name) && (value === 'true' || value === 'false')
    params.push([name, isFlag ? value === 'true' : value])
  }
  return Object.fromEntries(params)
}
