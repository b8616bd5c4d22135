/** JSON-RPC 2.0's wrapping, in and out (R-RPC). */
import type { JsonRpcForm } from '../../dialects/dialect.js'
import { A2AError } from '../../model/errors.js'
import { isObject } from '../../model/is-object.js'

export type RequestId = string | number | null

export interface RpcRequest {
  /** What the caller says the envelope's version is. */
  readonly jsonrpc: unknown
  readonly method: string
  readonly params: unknown
}

/** The id, as far as it can be read: errors about the envelope carry it too. */
export function requestIdOf(body: unknown): RequestId {
  const id = isObject(body) ? body.id : null
  return typeof id === 'string' || (typeof id === 'number' && Number.isFinite(id)) ? id : null
}

/** JSON-RPC 2.0, section 4.1. A request whose `id` is null is none. */
export function isNotification(body: unknown): boolean {
  return isObject(body) && body.id === undefined
}

/** Reads everything but the version, which dialects see differently. */
export function readEnvelope(body: unknown): RpcRequest {
  if (Array.isArray(body)) throw invalid('batches are not supported')
  if (!isObject(body)) throw invalid('must be a JSON-RPC object')
  const { jsonrpc, id, method, params } = body
  if (id !== undefined && id !== null && typeof id !== 'string' && typeof id !== 'number') {
    throw invalid('id must be a string, a number or null')
  }
  if (typeof method !== 'string' || method === '') {
    // A wrong version is the more helpful thing to say about a body that is no JSON-RPC at all.
    throw jsonrpc === '2.0' ? invalid('method is required') : invalid('jsonrpc must be "2.0"')
  }
  return { jsonrpc, method, params }
}

/** Some dialects are content with less than `2.0`; what none of them takes is wrong whatever the method. */
export function assertEnvelopeVersion(jsonrpc: unknown, forms: readonly JsonRpcForm[]): void {
  if (jsonrpc === '2.0' || forms.some(({ envelopeVersions }) => envelopeVersions?.includes(jsonrpc))) return
  throw invalid('jsonrpc must be "2.0"')
}

function invalid(what: string): A2AError {
  return new A2AError('INVALID_REQUEST', `Request payload validation error: ${what}`)
}

export function resultPrefix(id: RequestId): string {
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":`
}

export function errorEnvelope(id: RequestId, error: A2AError, form: JsonRpcForm): string {
  return JSON.stringify({ jsonrpc: '2.0', id, error: form.encodeError(error) })
}
