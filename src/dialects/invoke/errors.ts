/** Error codes of invoke: HTTP statuses, or JSON-RPC codes if that envelope is used (RL-L1-1, RL-L1-6). */
import type { A2AError, ErrorCode } from '../../model/errors.js'
import { isObject } from '../../model/is-object.js'
import type { ErrorCodes } from '../error-details.js'
import { meaningsOf, type RpcError, readHttpError, readRpcError } from '../peer-error.js'

export const errors: Readonly<Record<ErrorCode, Omit<ErrorCodes, 'grpc'>>> = {
  TASK_NOT_FOUND: { jsonrpc: -32001, http: 404 },
  TASK_NOT_CANCELABLE: { jsonrpc: -32002, http: 400 },
  PUSH_NOTIFICATION_NOT_SUPPORTED: { jsonrpc: -32003, http: 400 },
  UNSUPPORTED_OPERATION: { jsonrpc: -32004, http: 400 },
  CONTENT_TYPE_NOT_SUPPORTED: { jsonrpc: -32005, http: 400 },
  // A failed task: invoke has only one code for failures (RL-L1-6).
  INVALID_AGENT_RESPONSE: { jsonrpc: -32603, http: 500 },
  EXTENDED_AGENT_CARD_NOT_CONFIGURED: { jsonrpc: -32007, http: 400 },
  EXTENSION_SUPPORT_REQUIRED: { jsonrpc: -32008, http: 400 },
  VERSION_NOT_SUPPORTED: { jsonrpc: -32009, http: 400 },
  PARSE_ERROR: { jsonrpc: -32700, http: 400 },
  INVALID_REQUEST: { jsonrpc: -32600, http: 400 },
  METHOD_NOT_FOUND: { jsonrpc: -32601, http: 404 },
  INVALID_PARAMS: { jsonrpc: -32602, http: 400 },
  INTERNAL_ERROR: { jsonrpc: -32603, http: 500 },
  UNAUTHENTICATED: { jsonrpc: -32000, http: 401 },
  PERMISSION_DENIED: { jsonrpc: -32000, http: 403 },
  RATE_LIMITED: { jsonrpc: -32000, http: 429 },
  PAYLOAD_TOO_LARGE: { jsonrpc: -32600, http: 413 },
  UNAVAILABLE: { jsonrpc: -32603, http: 503 },
}

/** Errors in invoke's own form mean invalid input or a failure of the agent (RL-L1-1). */
export function decodeHttpError(status: number, body: unknown): A2AError {
  const isOwn = isObject(body) && typeof body.error === 'string'
  return readHttpError(status, body, meanings, isOwn ? ownStatuses.get(status) : undefined)
}

const ownStatuses: ReadonlyMap<number, ErrorCode> = new Map([
  [400, 'INVALID_PARAMS'],
  [500, 'INVALID_AGENT_RESPONSE'],
])

export function decodeRpcError(error: RpcError): A2AError {
  return readRpcError(error, meanings)
}

const meanings = meaningsOf(errors)
