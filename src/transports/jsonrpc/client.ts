/** The client of JSON-RPC over HTTP. */
import type { ClientDialect, JsonRpcClientForm, RequestCodec } from '../../dialects/client-dialect.js'
import { A2AError } from '../../model/errors.js'
import { isObject } from '../../model/is-object.js'
import type { Operation } from '../../model/operations.js'
import type { AgentService } from '../../model/service.js'
import { TransportError } from '../../model/transport-error.js'
import { withoutTrailingSlashes } from '../../model/trim-end.js'
import { unsupported } from '../client-response.js'
import { createHttpClient, type HttpClientOptions, noAnswer, type OutgoingCall } from '../http-client.js'

export function createJsonRpcClient(options: HttpClientOptions): AgentService {
  const { dialect, facts } = options
  const form = dialect.jsonrpc
  if (!form) throw new TypeError(`${dialect.name} is not available over JSON-RPC`)
  const url = endpointAt(options.url, form)
  let lastId = 0
  return createHttpClient(options, {
    request(operation, request, naming): OutgoingCall {
      const { codec, method } = rowOf(form, dialect, operation)
      lastId += 1
      const id = lastId
      const sent = codec.encode(request, naming)
      return {
        http: {
          method: 'POST',
          url: form.paths?.[operation] === undefined ? url : `${withoutTrailingSlashes(url)}${form.paths[operation]}`,
          body: JSON.stringify({ jsonrpc: '2.0', id, method, ...(sent !== undefined && { params: sent }) }),
        },
        result: (status, body) => resultOf(status, body, form),
        decode: (result) => codec.decode(result, request, facts),
        createStreamDecoder: () => form.createStreamDecoder({ operation, request, sent, facts }),
        open: (data) => (isObject(data) && 'jsonrpc' in data ? resultOf(200, data, form) : data),
      }
    },
  })
}

function endpointAt(address: string, { defaultPath }: JsonRpcClientForm): string {
  if (defaultPath === undefined) return address
  const url = new URL(address)
  if (url.pathname === '/') url.pathname = defaultPath
  return url.href
}

function rowOf(
  form: JsonRpcClientForm,
  dialect: ClientDialect,
  operation: Operation,
): { readonly codec: RequestCodec; readonly method: string } {
  const codec = form.operations[operation]
  const method = form.methods[operation]
  if (!codec || method === undefined) throw unsupported(operation, dialect)
  return { codec, method }
}

/** Ids are not compared: an HTTP request has one response, and peers that cannot read the id send null. */
function resultOf(status: number, body: unknown, form: JsonRpcClientForm): unknown {
  if (isObject(body) && isObject(body.error) && !isGatewayError(status, body, body.error)) {
    const { code, message, data } = body.error
    const rpcError = {
      code: typeof code === 'number' ? code : 0,
      message: typeof message === 'string' ? message : 'The agent gave no reason',
      ...(data !== undefined && { data }),
    }
    throw form.decodeError(rpcError, status)
  }
  if (isObject(body) && 'result' in body) return body.result
  // The SDKs of Go and Python leave out a result that is null.
  if (isObject(body) && body.jsonrpc === '2.0' && (body.error ?? null) === null && status < 300) return null
  throw byStatus(status, body)
}

const gatewayStatuses: ReadonlySet<number> = new Set([401, 403, 404, 405, 413, 429, 502, 503, 504])

/** Whether the error body is one of HTTP+JSON or of a gateway, not of a JSON-RPC endpoint. */
function isGatewayError(status: number, body: object, { code }: { readonly code?: unknown }): boolean {
  return gatewayStatuses.has(status) && !('jsonrpc' in body) && !(typeof code === 'number' && code < 0)
}

/** The error for a response of a gateway, which does not know the protocol. */
function byStatus(status: number, body: unknown): A2AError | TransportError {
  if (status === 401) return new A2AError('UNAUTHENTICATED', 'Missing or invalid credentials')
  if (status === 403) return new A2AError('PERMISSION_DENIED', 'Not permitted')
  if (status === 413) return new A2AError('PAYLOAD_TOO_LARGE', 'The request is too large')
  if (status === 429) return new A2AError('RATE_LIMITED', 'Too many requests')
  if (status === 404 || status === 405) {
    return new TransportError('bad-answer', `HTTP ${status}: there is no JSON-RPC endpoint at this address`)
  }
  return noAnswer(status, body)
}
