/** JSON-RPC 2.0's wrapping, in and out (R-RPC). */
import { isObject } from '../../dialects/decode.js'
import type { Dialect } from '../../dialects/dialect.js'
import { A2AError } from '../../model/errors.js'

export type RequestId = string | number | null

export interface RpcRequest {
  readonly id: RequestId
  readonly method: string
  readonly params: unknown
}

/** The id, as far as it can be read: errors about the envelope carry it too. */
export function requestIdOf(body: unknown): RequestId {
  const id = isObject(body) ? body.id : null
  return typeof id === 'string' || (typeof id === 'number' && Number.isFinite(id)) ? id : null
}

export function readEnvelope(body: unknown): RpcRequest {
  if (Array.isArray(body)) throw invalid('batches are not supported')
  if (!isObject(body)) throw invalid('must be a JSON-RPC object')
  const { jsonrpc, id, method, params } = body
  if (jsonrpc !== '2.0') throw invalid('jsonrpc must be "2.0"')
  // A request without an id is answered all the same (R-RPC-3).
  if (id !== undefined && id !== null && typeof id !== 'string' && typeof id !== 'number') {
    throw invalid('id must be a string, a number or null')
  }
  if (typeof method !== 'string' || method === '') throw invalid('method is required')
  return { id: requestIdOf(body), method, params }
}

function invalid(what: string): A2AError {
  return new A2AError('INVALID_REQUEST', `Request payload validation error: ${what}`)
}

export function resultPrefix(id: RequestId): string {
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":`
}

/** Only `code`, `message` and `data` (R-ERR-4). */
export function errorEnvelope(id: RequestId, error: A2AError, dialect: Dialect): string {
  const { jsonrpc: code } = dialect.errors[error.code]
  return JSON.stringify({
    jsonrpc: '2.0',
    id,
    error: { code, message: error.message, data: dialect.errorDetails(error) },
  })
}
