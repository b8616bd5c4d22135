/** The reason of a `TransportError`. */
export type TransportFailure =
  /** The connection failed, or broke before a response. */
  | 'unreachable'
  | 'timeout'
  /** The response is not valid in this protocol. */
  | 'bad-answer'
  /** A stream ended before its final event. */
  | 'broken-stream'
  /** A rule of this client forbids the call: an address, a redirect, a size. */
  | 'refused'
  /** The agent failed too often recently; calls are suspended for a moment. */
  | 'circuit-open'
  | 'aborted'

interface TransportErrorOptions {
  readonly cause?: unknown
  /** Default: true for `unreachable` and `broken-stream`. */
  readonly isRetryable?: boolean
  /** Default true: unknown counts as sent. */
  readonly wasSent?: boolean
  readonly retryAfterMs?: number
}

/** The error of a call that got no valid answer: the connection, the HTTP status or the format failed. */
export class TransportError extends Error {
  readonly failure: TransportFailure
  /** Whether the same call may succeed if it is repeated. */
  readonly isRetryable: boolean
  /** Whether the peer may have received part of the call. Calls that were not sent can always be repeated. */
  readonly wasSent: boolean
  /** The time that the peer asked to wait before a retry. */
  readonly retryAfterMs: number | undefined

  constructor(failure: TransportFailure, message: string, options: TransportErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'TransportError'
    this.failure = failure
    this.isRetryable = options.isRetryable ?? (failure === 'unreachable' || failure === 'broken-stream')
    this.wasSent = options.wasSent ?? true
    this.retryAfterMs = options.retryAfterMs
  }
}

/** Returns the same failure with another message; returns errors of other classes unchanged. */
export function explained(error: unknown, explain: (message: string) => string): unknown {
  if (!(error instanceof TransportError)) return error
  const { failure, message, isRetryable, wasSent, retryAfterMs } = error
  const facts = { cause: error, isRetryable, wasSent, ...(retryAfterMs !== undefined && { retryAfterMs }) }
  return new TransportError(failure, explain(message), facts)
}

/** Whether the call was certainly not sent, so that repeating it cannot run it twice. */
export function wasNotSent(error: unknown): error is TransportError {
  return error instanceof TransportError && !error.wasSent
}

/** The error of a call that its caller aborted or that exceeded its deadline. */
export function leftBy({ reason }: AbortSignal): TransportError {
  return reason instanceof Error && reason.name === 'TimeoutError'
    ? new TransportError('timeout', 'The call timed out', { cause: reason })
    : new TransportError('aborted', 'The call was aborted', { cause: reason })
}
