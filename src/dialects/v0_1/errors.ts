/** Error codes of v0.1. Later versions gave -32006 to -32009 other meanings. */
import { A2AError, type ErrorCode } from '../../model/errors.js'
import { type ErrorCodes, flatErrorDetails } from '../error-details.js'
import { type Meanings, type RpcError, readRpcError } from '../peer-error.js'

export const errors: Readonly<Record<ErrorCode, Pick<ErrorCodes, 'jsonrpc' | 'http'>>> = {
  TASK_NOT_FOUND: { jsonrpc: -32001, http: 404 },
  TASK_NOT_CANCELABLE: { jsonrpc: -32002, http: 409 },
  PUSH_NOTIFICATION_NOT_SUPPORTED: { jsonrpc: -32003, http: 400 },
  UNSUPPORTED_OPERATION: { jsonrpc: -32004, http: 400 },
  CONTENT_TYPE_NOT_SUPPORTED: { jsonrpc: -32005, http: 415 },
  INVALID_AGENT_RESPONSE: { jsonrpc: -32603, http: 500 },
  EXTENDED_AGENT_CARD_NOT_CONFIGURED: { jsonrpc: -32004, http: 404 },
  EXTENSION_SUPPORT_REQUIRED: { jsonrpc: -32004, http: 400 },
  VERSION_NOT_SUPPORTED: { jsonrpc: -32600, http: 400 },
  PARSE_ERROR: { jsonrpc: -32700, http: 400 },
  INVALID_REQUEST: { jsonrpc: -32600, http: 400 },
  METHOD_NOT_FOUND: { jsonrpc: -32601, http: 404 },
  INVALID_PARAMS: { jsonrpc: -32602, http: 422 },
  INTERNAL_ERROR: { jsonrpc: -32603, http: 500 },
  UNAUTHENTICATED: { jsonrpc: -32007, http: 401 },
  PERMISSION_DENIED: { jsonrpc: -32008, http: 403 },
  RATE_LIMITED: { jsonrpc: -32010, http: 429 },
  PAYLOAD_TOO_LARGE: { jsonrpc: -32600, http: 413 },
  UNAVAILABLE: { jsonrpc: -32011, http: 503 },
}

/** v1.0's `UNSUPPORTED_OPERATION` has three codes in v0.1: no streaming, ended task, and everything else. */
export function codeOf({ code, details }: A2AError): number {
  if (code === 'UNSUPPORTED_OPERATION') {
    if (details.metadata?.capability === 'streaming') return -32006
    if (details.metadata?.state !== undefined) return -32009
  }
  return errors[code].jsonrpc
}

export function encodeError(error: A2AError): {
  readonly code: number
  readonly message: string
  readonly data: object
} {
  return { code: codeOf(error), message: error.message, data: flatErrorDetails(error) }
}

/** Meanings of codes from v0.1 servers (RM-ERR-1). -32006 and -32009 mean the same error with different causes. */
export const meanings: Meanings = new Map<number, ErrorCode>([
  [-32001, 'TASK_NOT_FOUND'],
  [-32002, 'TASK_NOT_CANCELABLE'],
  [-32003, 'PUSH_NOTIFICATION_NOT_SUPPORTED'],
  [-32004, 'UNSUPPORTED_OPERATION'],
  [-32005, 'CONTENT_TYPE_NOT_SUPPORTED'],
  [-32006, 'UNSUPPORTED_OPERATION'],
  [-32007, 'UNAUTHENTICATED'],
  [-32008, 'PERMISSION_DENIED'],
  [-32009, 'UNSUPPORTED_OPERATION'],
  [-32010, 'RATE_LIMITED'],
  [-32011, 'UNAVAILABLE'],
  [-32700, 'PARSE_ERROR'],
  [-32600, 'INVALID_REQUEST'],
  [-32601, 'METHOD_NOT_FOUND'],
  [-32602, 'INVALID_PARAMS'],
  [-32603, 'INTERNAL_ERROR'],
])

/** -32006 has one cause, which the v1.0 error states in its metadata. */
export function decodeError(error: RpcError): A2AError {
  const read = readRpcError(error, meanings)
  if (error.code !== -32006 || read.code !== 'UNSUPPORTED_OPERATION') return read
  const metadata = { capability: 'streaming', ...read.details.metadata }
  return new A2AError(read.code, read.message, { ...read.details, metadata })
}
