/** Error details in the two forms that dialects have. */
import type { A2AError } from '../model/errors.js'
import { isStreaming, type Operation } from '../model/operations.js'
import type { CallFacts } from './dialect.js'

/** Codes of an error on each binding. */
export interface ErrorCodes {
  readonly jsonrpc: number
  readonly http: number
  readonly grpc: string
}

const domain = 'a2a-protocol.org'

/** Always ErrorInfo; BadRequest for faulty fields; RetryInfo if the caller may retry (R-ERR-1 to R-ERR-3). */
export function errorDetails({ code, details }: A2AError): readonly object[] {
  const { violations, metadata = {}, retryAfterSeconds } = details
  return [
    { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: code, domain, metadata },
    ...(violations ? [{ '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations: violations }] : []),
    ...(retryAfterSeconds === undefined
      ? []
      : [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: `${retryAfterSeconds}s` }]),
  ]
}

/** The details as one object, for 0.x dialects (RM-ERR-2). */
export function flatErrorDetails({ code, details }: A2AError): object {
  const { violations, metadata = {}, retryAfterSeconds } = details
  return {
    reason: code,
    domain,
    metadata,
    ...(violations && { fieldViolations: violations }),
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
  }
}

/**
 * Whether the call is a stream whose caller accepts only events. The Go SDK skips every line that is not an event, and
 * would report an empty stream. A call of an unknown operation counts as a stream if its caller accepts one.
 */
export function acceptsOnlyEvents(operation: Operation | undefined, { header }: CallFacts): boolean {
  if (operation !== undefined && !isStreaming(operation)) return false
  const ranges = (header('accept') ?? '').split(',')
  return ranges.every((range) => /^\s*text\/event-stream\s*(;|$)/i.test(range))
}
