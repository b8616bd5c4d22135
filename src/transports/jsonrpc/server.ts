/** JSON-RPC over HTTP: one endpoint, methods by name, streams as SSE. */
import type { Dialect } from '../../dialects/dialect.js'
import { A2AError, type ErrorCode } from '../../model/errors.js'
import { answerCall, type Envelope } from '../call.js'
import { mediaTypeOf, parseJson, readBody } from '../read-json.js'
import { chooseDialect, type Endpoint, readParameters, type ServerTransport } from '../transport.js'
import { errorEnvelope, type RequestId, readEnvelope, requestIdOf, resultPrefix } from './envelope.js'

/** Failures that keep their HTTP status; all others are answered 200 (R-ERR-12). */
const withStatus: ReadonlySet<ErrorCode> = new Set([
  'UNAUTHENTICATED',
  'PERMISSION_DENIED',
  'PAYLOAD_TOO_LARGE',
  'RATE_LIMITED',
  'UNAVAILABLE',
])

export function createJsonRpcServer(endpoint: Endpoint): ServerTransport {
  return async (request, arrival) => {
    let id: RequestId = null
    let dialect = endpoint.dialects[0] as Dialect // an endpoint offers at least one
    try {
      assertJson(request)
      const body = parseJson(await readBody(request, endpoint.maxBodyBytes))
      id = requestIdOf(body)
      const { method, params } = readEnvelope(body)
      const parameters = readParameters(request)
      dialect = chooseDialect(endpoint, parameters, ({ methods }) => methods.has(method))
      const operation = dialect.methods.get(method)
      if (!operation)
        throw new A2AError('METHOD_NOT_FOUND', 'Method not found', { metadata: { method: method.slice(0, 100) } })
      return await answerCall(endpoint, request, arrival, { operation, dialect, parameters, params }, envelopeOf(id))
    } catch (caught) {
      const error = A2AError.from(caught)
      endpoint.onError(error)
      return jsonRpcError(error, dialect, id)
    }
  }
}

export function jsonRpcError(error: A2AError, dialect: Dialect, id: RequestId = null): Response {
  const { retryAfterSeconds } = error.details
  return new Response(errorEnvelope(id, error, dialect), {
    status: withStatus.has(error.code) ? dialect.errors[error.code].http : 200,
    headers: {
      'content-type': 'application/json',
      ...(retryAfterSeconds !== undefined && { 'retry-after': String(retryAfterSeconds) }),
    },
  })
}

function envelopeOf(id: RequestId): Envelope {
  const prefix = resultPrefix(id)
  return {
    contentType: 'application/json',
    result: (json) => `${prefix}${json}}`,
    error: (error, dialect) => errorEnvelope(id, error, dialect),
  }
}

/** Before the body is parsed: a body that is not JSON has the wrong type, not the wrong syntax (R-RPC-5). */
function assertJson(request: Request): void {
  const mediaType = mediaTypeOf(request.headers.get('content-type'))
  if (mediaType === undefined || mediaType === 'application/json' || mediaType === 'application/a2a+json') return
  throw new A2AError('CONTENT_TYPE_NOT_SUPPORTED', `${mediaType} is not accepted, send application/json`, {
    metadata: { mediaType },
  })
}
