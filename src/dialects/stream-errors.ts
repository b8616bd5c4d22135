/** Errors before the first event of a JSON-RPC stream: an event for callers that read nothing else (R-STRM-11). */
import { isStreaming, type Operation } from '../model/operations.js'
import type { CallFacts } from './dialect.js'

/**
 * Whether the call is a stream whose caller accepts only events. The Go SDK skips every line that is no event, and
 * would report an empty stream. A call that names no known operation counts as a stream: its caller asked for one.
 */
export function acceptsOnlyEvents(operation: Operation | undefined, { header }: CallFacts): boolean {
  if (operation !== undefined && !isStreaming(operation)) return false
  const ranges = (header('accept') ?? '').split(',')
  return ranges.every((range) => /^\s*text\/event-stream\s*(;|$)/i.test(range))
}
