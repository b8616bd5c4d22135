/** Encoding of stream events. */

import { TextChunks } from '../../model/event-json.js'
import type { Operation } from '../../model/operations.js'
import type { StreamItem } from '../../model/service.js'
import type { CallFacts, StreamCall, StreamEncoder } from '../dialect.js'
import { acceptsOnlyEvents } from '../error-details.js'
import { quirksOf } from '../quirks.js'
import { encodeEvent } from './tasks.js'
import { grpcForms, jsonForm, restForms, type Wire, type WireForm } from './wire-form.js'

export function createJsonStream(): StreamEncoder {
  return createStream(jsonForm)
}

export function createRestStream({ facts }: StreamCall): StreamEncoder {
  return createStream(restForms[quirksOf(facts).fileBytes])
}

function createStream(as: WireForm): StreamEncoder {
  const chunks = new TextChunks((artifactUpdate) => encodeEvent({ artifactUpdate }, as))
  return {
    encode: ({ event }) =>
      'artifactUpdate' in event ? chunks.encode(event.artifactUpdate) : JSON.stringify(encodeEvent(event, as)),
  }
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
