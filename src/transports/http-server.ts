/** Answers decoded calls over HTTP. Shared by JSON-RPC and HTTP+JSON. */
import type { CallFacts, Frame, OperationCodec, StreamEncoder } from '../dialects/dialect.js'
import type { Binding } from '../model/agent-card.js'
import { A2AError } from '../model/errors.js'
import { callStreaming, callUnary } from '../model/generic-service.js'
import { isStreaming } from '../model/operations.js'
import type { StreamItem } from '../model/service.js'
import { CallTracker } from './call-record.js'
import type { AnswerHeaders, HttpAnswer } from './exchange.js'
import { frame, SseFeed, sseHeaders } from './sse.js'
import { type BindingHandler, type Call, type IncomingCall, type PreparedCall, prepareCall } from './transport.js'

/** A call, and the wrapping that its binding puts around encoded results and errors. */
export interface HttpCall extends Call {
  readonly codec: OperationCodec
  /** Headers of responses that are not streams. */
  readonly answerHeaders: AnswerHeaders
  createStreamEncoder(facts: CallFacts): StreamEncoder
  wrapResult(json: string): string
  wrapError(error: A2AError): string
}

/** Starts the record of a call; undefined if calls are not observed. */
export function trackCall(
  { observe }: BindingHandler,
  { caller, tenant, address }: IncomingCall,
  binding: Binding,
): CallTracker | undefined {
  return observe && new CallTracker(observe, { binding, caller, tenant, address })
}

export async function answerCall(handler: BindingHandler, incoming: IncomingCall, call: HttpCall): Promise<HttpAnswer> {
  const { operation, codec, dialect } = call
  const prepared = prepareCall(handler, incoming, call)
  if (isStreaming(operation)) return await streamAnswer(handler, call, prepared)
  const { facts, request, context, activated } = prepared
  // A unary call goes on when its caller leaves (R-SEND-11): no signal.
  const result = await callUnary(handler.service, operation, request, context)
  call.watch?.answered(result)
  let headers = call.answerHeaders
  if (activated !== undefined) headers = { ...headers, [dialect.extensionsHeader.toLowerCase()]: activated }
  let encoded = codec.encode(result, call.params, facts)
  assertText(encoded)
  if (operation === 'getExtendedAgentCard') {
    encoded = (await handler.signCard?.(encoded, dialect)) || encoded
    headers = { ...headers, ...perCaller(handler) }
  }
  const body = call.wrapResult(encoded)
  // After encoding and signing, which can fail.
  call.watch?.ended()
  return { status: 200, headers, body }
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
function perCaller({ vary }: BindingHandler): AnswerHeaders {
  return { 'cache-control': 'private, max-age=60', vary }
}

async function streamAnswer(
  handler: BindingHandler,
  call: HttpCall,
  { facts, request, context, activated }: PreparedCall,
): Promise<HttpAnswer> {
  // A client that leaves ends its stream, not the task: each stream has its own signal.
  const gone = new AbortController()
  let onOpen: () => void = () => undefined
  const opened = new Promise<void>((resolve) => {
    onOpen = resolve
  })
  const items = callStreaming(handler.service, call.operation, request, { ...context, signal: gone.signal, onOpen })
  const encoder = call.createStreamEncoder(facts)
  const rest = items[Symbol.asyncIterator]()
  // An error before the first event becomes an error response of the binding (R-STRM-11).
  const first = rest.next()
  await Promise.race([first, opened])
  const { watch } = call
  const body = new SseFeed<StreamItem>({
    first,
    rest,
    encode: (item) => {
      watch?.event(item)
      const encoded = encoder.encode(item)
      return typeof encoded === 'string'
        ? frame(call.wrapResult(encoded), item.seq)
        : encodeFrames(call, encoded, item.seq)
    },
    encodeEnd: () => {
      const end = encoder.end ? encodeFrames(call, encoder.end()) : ''
      watch?.ended()
      return end
    },
    encodeError: (error) => {
      handler.onError(error)
      watch?.ended(error)
      try {
        return encoder.encodeError ? encodeFrames(call, encoder.encodeError(error)) : frame(call.wrapError(error))
      } catch (caught) {
        encodingFailure(handler, caught)
        return '' // ends the stream: an open one would keep its reader waiting
      }
    },
    onGone: () => {
      gone.abort()
      watch?.ended()
    },
    heartbeats: handler.heartbeats,
  })
  const header = call.dialect.extensionsHeader.toLowerCase()
  const headers = activated === undefined ? sseHeaders : { ...sseHeaders, [header]: activated }
  return { status: 200, headers, body }
}

/** Only the last frame has the event's id: a client that resumes after an earlier frame would miss the rest. */
function encodeFrames(call: HttpCall, frames: readonly Frame[], seq?: number): string {
  return frames
    .map(({ data, event, isBare }, place) => {
      assertText(data)
      if (event !== undefined && /[\r\n]/.test(event))
        throw new TypeError('Invalid `event` of a frame: it has a line break')
      const text = (isBare ? data : call.wrapResult(data)).replace(/\r\n|\r|\n/g, '\ndata: ')
      return frame(text, place === frames.length - 1 ? seq : undefined, event)
    })
    .join('')
}
