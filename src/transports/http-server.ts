/** Answers decoded calls over HTTP. Shared by JSON-RPC and HTTP+JSON. */
import type { CallFacts, Frame, OperationCodec, StreamEncoder } from '../dialects/dialect.js'
import { A2AError } from '../model/errors.js'
import { callStreaming, callUnary } from '../model/generic-service.js'
import { isStreaming } from '../model/operations.js'
import type { StreamItem } from '../model/service.js'
import type { CallTracker } from './call-record.js'
import { frame, sseBody, sseHeaders } from './sse.js'
import { type BindingHandler, type Call, type IncomingCall, prepareCall } from './transport.js'

export interface HttpCall extends Call {
  readonly codec: OperationCodec
  readonly createStreamEncoder: (facts: CallFacts) => StreamEncoder
}

/** The wrapping that a binding puts around encoded results and errors. */
export interface Envelope {
  /** Headers of responses that are not streams. */
  readonly headers: Readonly<Record<string, string>>
  result(json: string): string
  error(error: A2AError): string
}

export async function answerCall(
  endpoint: BindingHandler,
  incoming: IncomingCall,
  call: HttpCall,
  envelope: Envelope,
): Promise<Response> {
  const { operation, codec, dialect } = call
  const { facts, request, context, activated } = prepareCall(endpoint, incoming, call)
  if (isStreaming(operation)) {
    // A client that leaves ends its stream, not the task: each stream has its own signal.
    const gone = new AbortController()
    let onOpen: () => void = () => undefined
    const opened = new Promise<void>((resolve) => {
      onOpen = resolve
    })
    const items = callStreaming(endpoint.service, operation, request, { ...context, signal: gone.signal, onOpen })
    const headers = activated === undefined ? sseHeaders : { ...sseHeaders, [dialect.extensionsHeader]: activated }
    const { watch } = call
    return await streamAnswer(endpoint, {
      items,
      watch,
      opened,
      gone,
      encoder: call.createStreamEncoder(facts),
      envelope,
      headers,
    })
  }
  // A unary call goes on when its caller leaves (R-SEND-11): no signal.
  const result = await callUnary(endpoint.service, operation, request, context)
  call.watch?.answered(result)
  const headers =
    activated === undefined ? envelope.headers : { ...envelope.headers, [dialect.extensionsHeader]: activated }
  const encoded = codec.encode(result, call.params, facts)
  assertText(encoded)
  const isCard = operation === 'getExtendedAgentCard'
  const body = envelope.result((isCard && (await endpoint.signCard?.(encoded, dialect))) || encoded)
  // After encoding and signing, which can fail.
  call.watch?.ended()
  return new Response(body, { headers: isCard ? { ...headers, ...perCaller(endpoint) } : headers })
}

/** Logs that a dialect could not encode an error. Returns the error for the caller. */
export function encodingFailure({ onError }: BindingHandler, cause: unknown): A2AError {
  const error = new A2AError('INTERNAL_ERROR', 'Internal error', { cause })
  onError(error)
  return error
}

/** Dialects of users may be written in JavaScript. */
function assertText(encoded: unknown): asserts encoded is string {
  if (typeof encoded !== 'string')
    throw new TypeError(`Invalid result of a dialect: ${typeof encoded}; return a string`)
}

/** Headers of extended cards: only the caller's own cache may store them (R-XCARD-3). */
function perCaller({ vary }: BindingHandler): Readonly<Record<string, string>> {
  return { 'cache-control': 'private, max-age=60', vary }
}

interface StreamAnswer {
  readonly watch: CallTracker | undefined
  readonly items: AsyncIterable<StreamItem>
  readonly opened: Promise<void>
  readonly gone: AbortController
  readonly encoder: StreamEncoder
  readonly envelope: Envelope
  readonly headers: Readonly<Record<string, string>>
}

async function streamAnswer(
  endpoint: BindingHandler,
  { items, watch, opened, gone, encoder, envelope, headers }: StreamAnswer,
): Promise<Response> {
  const rest = items[Symbol.asyncIterator]()
  // An error before the first event becomes an error response of the binding (R-STRM-11).
  const first = rest.next()
  await Promise.race([first, opened])
  // Only the last frame has the event's id: a client that resumes after an earlier frame would miss the rest.
  const encodeFrames = (frames: readonly Frame[], seq?: number): string =>
    frames
      .map(({ data, event, isBare }, place) => {
        assertText(data)
        if (event !== undefined && /[\r\n]/.test(event))
          throw new TypeError('Invalid `event` of a frame: it has a line break')
        const text = (isBare ? data : envelope.result(data)).replace(/\r\n|\r|\n/g, '\ndata: ')
        return frame(text, place === frames.length - 1 ? seq : undefined, event)
      })
      .join('')
  const body = sseBody({
    first,
    rest,
    encode: (item) => {
      watch?.event(item)
      const encoded = encoder.encode(item)
      return typeof encoded === 'string' ? frame(envelope.result(encoded), item.seq) : encodeFrames(encoded, item.seq)
    },
    encodeEnd: () => {
      const end = encoder.end ? encodeFrames(encoder.end()) : ''
      watch?.ended()
      return end
    },
    encodeError: (error) => {
      endpoint.onError(error)
      watch?.ended(error)
      try {
        return encoder.encodeError ? encodeFrames(encoder.encodeError(error)) : frame(envelope.error(error))
      } catch (caught) {
        encodingFailure(endpoint, caught)
        return '' // ends the stream: an open one would keep its reader waiting
      }
    },
    onGone: () => {
      gone.abort()
      watch?.ended()
    },
    heartbeats: endpoint.heartbeats,
  })
  return new Response(body, { headers })
}
