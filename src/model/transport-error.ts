/** The reason of a `TransportError`. */
export type TransportFailure =
  /** No connection could be made, or it broke before an answer came. */
  | 'unreachable'
  | 'timeout'
  /** Something answered, but not in this protocol. */
  | 'bad-answer'
  /** A stream ended in the middle. */
  | 'broken-stream'
  /** A rule of this client forbade it: an address, a redirect, a size. */
  | 'refused'
  /** The agent failed too often lately; it is left alone for a moment. */
  | 'circuit-open'
  | 'aborted'

export interface TransportErrorOptions {
  readonly cause?: unknown
  /** Default: when it is unreachable or a stream broke. */
  readonly isRetryable?: boolean
  /** Default true: nobody knows. */
  readonly wasSent?: boolean
  readonly retryAfterMs?: number
}

/** The error of a call that got no valid answer: the connection, the HTTP status or the format failed. */
export class TransportError extends Error {
  readonly failure: TransportFailure
  /** The same call may succeed when it is made again. */
  readonly isRetryable: boolean
  /** Whether the peer can have got anything of the call. What was not sent may be sent again, whatever it is. */
  readonly wasSent: boolean
  /** How long the peer asked to be left alone. */
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

/** The same failure with another message; errors of other classes stay as they are. */
export function explained(error: unknown, explain: (message: string) => string): unknown {
  if (!(error instanceof TransportError)) return error
  const { failure, message, isRetryable, wasSent, retryAfterMs } = error
  const facts = { cause: error, isRetryable, wasSent, ...(retryAfterMs !== undefined && { retryAfterMs }) }
  return new TransportError(failure, explain(message), facts)
}

/** Making such a call again, or another way, is making it for the first time. */
export function wasNotSent(error: unknown): error is TransportError {
  return error instanceof TransportError && !error.wasSent
}

/** What a call fails with whose caller gave up on it: after a while, or for a reason of its own. */
export function leftBy({ reason }: AbortSignal): TransportError {
  return reason instanceof Error && reason.name === 'TimeoutError'
    ? new TransportError('timeout', 'The agent was not done in time', { cause: reason })
    : new TransportError('aborted', 'The call was aborted', { cause: reason })
}
