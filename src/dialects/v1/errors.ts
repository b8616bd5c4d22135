/** v1.0.1's spelling of every error (v1.0 section 5). */
import type { A2AError, ErrorCode } from '../../model/errors.js'
import type { ErrorSpelling } from '../dialect.js'

export const errors: Readonly<Record<ErrorCode, ErrorSpelling>> = {
  TASK_NOT_FOUND: { jsonrpc: -32001, http: 404, grpc: 'NOT_FOUND' },
  TASK_NOT_CANCELABLE: { jsonrpc: -32002, http: 400, grpc: 'FAILED_PRECONDITION' },
  PUSH_NOTIFICATION_NOT_SUPPORTED: { jsonrpc: -32003, http: 400, grpc: 'FAILED_PRECONDITION' },
  UNSUPPORTED_OPERATION: { jsonrpc: -32004, http: 400, grpc: 'FAILED_PRECONDITION' },
  CONTENT_TYPE_NOT_SUPPORTED: { jsonrpc: -32005, http: 400, grpc: 'INVALID_ARGUMENT' },
  INVALID_AGENT_RESPONSE: { jsonrpc: -32006, http: 500, grpc: 'INTERNAL' },
  EXTENDED_AGENT_CARD_NOT_CONFIGURED: { jsonrpc: -32007, http: 400, grpc: 'FAILED_PRECONDITION' },
  EXTENSION_SUPPORT_REQUIRED: { jsonrpc: -32008, http: 400, grpc: 'FAILED_PRECONDITION' },
  VERSION_NOT_SUPPORTED: { jsonrpc: -32009, http: 400, grpc: 'FAILED_PRECONDITION' },
  PARSE_ERROR: { jsonrpc: -32700, http: 400, grpc: 'INVALID_ARGUMENT' },
  INVALID_REQUEST: { jsonrpc: -32600, http: 400, grpc: 'INVALID_ARGUMENT' },
  METHOD_NOT_FOUND: { jsonrpc: -32601, http: 404, grpc: 'UNIMPLEMENTED' },
  INVALID_PARAMS: { jsonrpc: -32602, http: 400, grpc: 'INVALID_ARGUMENT' },
  INTERNAL_ERROR: { jsonrpc: -32603, http: 500, grpc: 'INTERNAL' },
  UNAUTHENTICATED: { jsonrpc: -32000, http: 401, grpc: 'UNAUTHENTICATED' },
  PERMISSION_DENIED: { jsonrpc: -32000, http: 403, grpc: 'PERMISSION_DENIED' },
  RATE_LIMITED: { jsonrpc: -32000, http: 429, grpc: 'RESOURCE_EXHAUSTED' },
  PAYLOAD_TOO_LARGE: { jsonrpc: -32600, http: 413, grpc: 'RESOURCE_EXHAUSTED' },
  UNAVAILABLE: { jsonrpc: -32603, http: 503, grpc: 'UNAVAILABLE' },
}

/** ErrorInfo always; BadRequest when fields are at fault; RetryInfo when trying again makes sense (R-ERR-1 to R-ERR-3). */
export function errorDetails({ code, details }: A2AError): readonly object[] {
  const { violations, metadata = {}, retryAfterSeconds } = details
  return [
    { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: code, domain: 'a2a-protocol.org', metadata },
    ...(violations ? [{ '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations: violations }] : []),
    ...(retryAfterSeconds === undefined
      ? []
      : [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: `${retryAfterSeconds}s` }]),
  ]
}
