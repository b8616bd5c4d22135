/** What an error says beside its code and message, in the two forms dialects carry it. */
import type { A2AError } from '../model/errors.js'
import { isStreaming, type Operation } from '../model/operations.js'
import type { CallFacts } from './dialect.js'

/** How an error is numbered on each binding. */
export interface ErrorSpelling {
  readonly jsonrpc: number
  readonly http: number
  readonly grpc: string
}

const domain = 'a2a-protocol.org'

/** ErrorInfo always; BadRequest when fields are at fault; RetryInfo when trying again makes sense (R-ERR-1 to R-ERR-3). */
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

/** The same as one object, for 0.x dialects (RM-ERR-2). */
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
 * Whether the call is a stream whose caller accepts only events. The Go SDK skips every line that is no event, and
 * would report an empty stream. A call that names no known operation counts as a stream: its caller asked for one.
 */
export function acceptsOnlyEvents(operation: Operation | undefined, { header }: CallFacts): boolean {
  if (operation !== undefined && !isStreaming(operation)) return false
  const ranges = (header('accept') ?? '').split(',')
  return ranges.every((range) => /^\s*text\/event-stream\s*(;|$)/i.test(range))
}
