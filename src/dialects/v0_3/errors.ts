/** Error codes and statuses of 0.3. Errors that 0.3 does not define have the codes of later versions. */
import type { A2AError, ErrorCode } from '../../model/errors.js'
import { type ErrorCodes, errorDetails, flatErrorDetails } from '../error-details.js'

/** HTTP by R3-ERR-2, gRPC as in v1.0 (R3-PB-9). */
export const errors: Readonly<Record<ErrorCode, ErrorCodes>> = {
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

/** Names of the official SDKs' error classes. Errors that 0.3 does not define have none. */
const classNames: { readonly [C in ErrorCode]?: string } = {
  TASK_NOT_FOUND: 'TaskNotFoundError',
  TASK_NOT_CANCELABLE: 'TaskNotCancelableError',
  PUSH_NOTIFICATION_NOT_SUPPORTED: 'PushNotificationNotSupportedError',
  UNSUPPORTED_OPERATION: 'UnsupportedOperationError',
  CONTENT_TYPE_NOT_SUPPORTED: 'ContentTypeNotSupportedError',
  INVALID_AGENT_RESPONSE: 'InvalidAgentResponseError',
  EXTENDED_AGENT_CARD_NOT_CONFIGURED: 'ExtendedAgentCardNotConfiguredError',
  EXTENSION_SUPPORT_REQUIRED: 'ExtensionSupportRequiredError',
  VERSION_NOT_SUPPORTED: 'VersionNotSupportedError',
  PARSE_ERROR: 'JSONParseError',
  INVALID_REQUEST: 'InvalidRequestError',
  METHOD_NOT_FOUND: 'MethodNotFoundError',
  INVALID_PARAMS: 'InvalidParamsError',
  INTERNAL_ERROR: 'InternalError',
}

/** JSON-RPC's `error`. It has no `data`: one release of the Go SDK accepts only an array there, another only an object (R3-ERR-1). */
export function encodeRpcError(error: A2AError): { readonly code: number; readonly message: string } {
  return { code: errors[error.code].jsonrpc, message: messageOf(error) }
}

/** The bare error (R3-PB-8), with the members that the Go SDK (`error`) and the Python SDK (`type`) read (R3-ERR-4). */
export function encodeRestError(error: A2AError): { readonly status: number; readonly body: object } {
  const { jsonrpc, http, grpc } = errors[error.code]
  const message = messageOf(error)
  const type = classNames[error.code]
  const body = {
    code: jsonrpc,
    message,
    data: flatErrorDetails(error),
    ...(type !== undefined && { type }),
    error: { code: http, status: grpc, message, details: errorDetails(error) },
  }
  return { status: http, body }
}

/** The text of a gRPC status: the Python and Java SDKs choose their error class by the name before the colon (R3-ERR-4). */
export function grpcMessage(error: A2AError): string {
  const name = classNames[error.code]
  return name === undefined ? error.message : `${name}: ${messageOf(error)}`
}

/** Callers match the text of the specification (R3-PUSH-1). */
function messageOf({ code, message }: A2AError): string {
  return code === 'PUSH_NOTIFICATION_NOT_SUPPORTED' ? `Push Notification is not supported: ${message}` : message
}
