/** 0.3's spelling of every error. Numbers it does not have are sent as later versions have them. */
import type { A2AError, ErrorCode } from '../../model/errors.js'
import { type ErrorSpelling, flatErrorDetails } from '../error-details.js'

/** HTTP by R3-ERR-2, gRPC as in v1.0 (R3-PB-9). */
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

/** JSON-RPC's `error`, and REST's whole body (R3-PB-8). */
export function encodeError(error: A2AError): { code: number; message: string; data: object } {
  return { code: errors[error.code].jsonrpc, message: messageOf(error), data: flatErrorDetails(error) }
}

/** Callers look for the words of the specification (R3-PUSH-1). */
function messageOf({ code, message }: A2AError): string {
  return code === 'PUSH_NOTIFICATION_NOT_SUPPORTED' ? `Push Notification is not supported: ${message}` : message
}
