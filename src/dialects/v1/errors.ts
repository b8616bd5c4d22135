/** Error codes and statuses of v1.0. */
import type { ErrorCode } from '../../model/errors.js'
import type { ErrorCodes } from '../error-details.js'

/** The releases of v1.0 that differ in the HTTP and gRPC statuses of errors. */
export const errorProfiles = ['1.0.0', '1.0.1'] as const
/** The release whose statuses are sent: the first errata changed them. */
export type ErrorProfile = (typeof errorProfiles)[number]

type Errors = Readonly<Record<ErrorCode, ErrorCodes>>

export function errorsOf(profile: ErrorProfile): Errors {
  return profile === '1.0.0' ? { ...errors, ...before } : errors
}

export const errors: Errors = {
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

/** Statuses that differ in 1.0.0. */
const before: Partial<Errors> = {
  TASK_NOT_CANCELABLE: { jsonrpc: -32002, http: 409, grpc: 'FAILED_PRECONDITION' },
  PUSH_NOTIFICATION_NOT_SUPPORTED: { jsonrpc: -32003, http: 400, grpc: 'UNIMPLEMENTED' },
  UNSUPPORTED_OPERATION: { jsonrpc: -32004, http: 400, grpc: 'UNIMPLEMENTED' },
  CONTENT_TYPE_NOT_SUPPORTED: { jsonrpc: -32005, http: 415, grpc: 'INVALID_ARGUMENT' },
  INVALID_AGENT_RESPONSE: { jsonrpc: -32006, http: 502, grpc: 'INTERNAL' },
  VERSION_NOT_SUPPORTED: { jsonrpc: -32009, http: 400, grpc: 'UNIMPLEMENTED' },
}
