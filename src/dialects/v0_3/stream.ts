/** Stateless encoding of stream events. */
import type { Operation } from '../../model/operations.js'
import type { StreamItem } from '../../model/service.js'
import type { CallFacts, StreamCall, StreamEncoder } from '../dialect.js'
import { acceptsOnlyEvents } from '../error-details.js'
import { quirksOf } from '../quirks.js'
import { encodeEvent } from './tasks.js'
import { grpcForms, jsonForm, restForms, type Wire } from './wire-form.js'

export const jsonStream: StreamEncoder = { encode: ({ event }) => JSON.stringify(encodeEvent(event, jsonForm)) }

export function createRestStream({ facts }: StreamCall): StreamEncoder {
  const as = restForms[quirksOf(facts).fileBytes]
  return { encode: ({ event }) => JSON.stringify(encodeEvent(event, as)) }
}

export function createGrpcStream({ facts }: StreamCall): (item: StreamItem) => Wire {
  const as = grpcForms[quirksOf(facts).fileBytes]
  return ({ event }) => encodeEvent(event, as)
}

/**
 * Whether an error before the first event is sent as an event. Errors of `tasks/resubscribe` always are (R3-STRM-7).
 * Before 1.0, the JavaScript SDK refuses any other media type; since 1.0 it names its version and creates typed errors
 * only from a JSON body.
 */
export function sendsErrorAsEvent(operation: Operation | undefined, facts: CallFacts): boolean {
  if (quirksOf(facts).streamErrors === 'body' && facts.header('a2a-version')) return false
  return operation === 'subscribeToTask' || acceptsOnlyEvents(operation, facts)
}
