/**
 * The closed set of errors that may cross the wire, in any dialect. The first nine are the
 * protocol's own reasons, the next five JSON-RPC's, the last five ours.
 */
export const errorCodes = [
  'TASK_NOT_FOUND',
  'TASK_NOT_CANCELABLE',
  'PUSH_NOTIFICATION_NOT_SUPPORTED',
  'UNSUPPORTED_OPERATION',
  'CONTENT_TYPE_NOT_SUPPORTED',
  'INVALID_AGENT_RESPONSE',
  'EXTENDED_AGENT_CARD_NOT_CONFIGURED',
  'EXTENSION_SUPPORT_REQUIRED',
  'VERSION_NOT_SUPPORTED',
  'PARSE_ERROR',
  'INVALID_REQUEST',
  'METHOD_NOT_FOUND',
  'INVALID_PARAMS',
  'INTERNAL_ERROR',
  'UNAUTHENTICATED',
  'PERMISSION_DENIED',
  'RATE_LIMITED',
  'PAYLOAD_TOO_LARGE',
  'UNAVAILABLE',
] as const

/** The code of an `A2AError`: one of `errorCodes`. */
export type ErrorCode = (typeof errorCodes)[number]

/** One thing wrong with one field, by its JSON path: `message.parts[0].text`. */
export interface FieldViolation {
  readonly field: string
  readonly description: string
}

/** Machine-readable details of an `A2AError`. */
export interface ErrorDetails {
  /** The invalid fields (R-ERR-3). */
  readonly violations?: readonly FieldViolation[]
  /** Facts for the caller's program, as strings (R-ERR-2). */
  readonly metadata?: { readonly [key: string]: string }
  /** Time after which to retry, for `RATE_LIMITED` and `UNAVAILABLE`. */
  readonly retryAfterSeconds?: number
}

/**
 * The one error class that may cross the wire: thrown by agent authors, carried by any transport
 * in any dialect, caught by the client. `message` is for the caller; `cause` is for logs only.
 */
export class A2AError extends Error {
  readonly code: ErrorCode
  readonly details: ErrorDetails

  constructor(code: ErrorCode, message: string, options: ErrorDetails & { readonly cause?: unknown } = {}) {
    const { cause, ...details } = options
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'A2AError'
    this.code = code
    this.details = details
  }

  /** Any caught value as an `A2AError`. The text of an unknown error never reaches the peer: it becomes the cause. */
  static from(caught: unknown): A2AError {
    if (caught instanceof A2AError) return caught
    return new A2AError('INTERNAL_ERROR', 'Internal error', { cause: caught })
  }
}

const maxClipped = 200

/** Shortens text from a caller for a message to that caller. */
export function clip(text: string): string {
  return text.length > maxClipped ? `${text.slice(0, maxClipped)}…` : text
}

/** The limit that a call exceeded. */
interface ExceededLimit {
  /** The name of the option. */
  readonly limit: string
  /** The value of the option. The engine does not know the size of a store (`maxBytes`). */
  readonly max?: number | string
}

/** The metadata of an error about a limit. */
export function limitMetadata({ limit, max }: ExceededLimit): { readonly [key: string]: string } {
  return max === undefined ? { limit } : { limit, max: String(max) }
}

/** The error for a caller that has reached a limit for now. */
export function overLimit(exceeded: ExceededLimit, message: string, retryAfterSeconds = 1): A2AError {
  return new A2AError('RATE_LIMITED', message, { metadata: limitMetadata(exceeded), retryAfterSeconds })
}

/** The error for a request that exceeds a limit. It has no retry time, because waiting does not help. */
export function overSize(exceeded: ExceededLimit, message: string): A2AError {
  return new A2AError('RATE_LIMITED', message, { metadata: limitMetadata(exceeded) })
}

/** An `INVALID_PARAMS` error about one field. */
export function invalidField(field: string, description: string, metadata?: ErrorDetails['metadata']): A2AError {
  const violations = [{ field, description }]
  return new A2AError('INVALID_PARAMS', `${field}: ${description}`, { violations, ...(metadata && { metadata }) })
}
