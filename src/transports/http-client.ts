/** The part that the JSON-RPC and HTTP+JSON clients share: headers, streams and responses outside the protocol. */
import {
  type ClientDialect,
  type ClientFacts,
  type IncomingFrame,
  type StreamDecoder,
  versionHeader,
} from '../dialects/client-dialect.js'
import { items } from '../model/batches.js'
import { A2AError, clip } from '../model/errors.js'
import type { StreamResponse } from '../model/event.js'
import { fromGeneric } from '../model/generic-service.js'
import type { Operation } from '../model/operations.js'
import { readRetryAfter } from '../model/retry-after.js'
import type { AgentService, CallContext, StreamItem } from '../model/service.js'
import { traceContextOf } from '../model/trace-context.js'
import { leftBy, TransportError } from '../model/transport-error.js'
import type { ByteReader } from '../net/read-at-most.js'
import { addItems, readable } from './client-response.js'
import { RepeatedChunks } from './repeated-chunks.js'
import { readSse, type SseEvent } from './sse-reader.js'
import { parameterHeaders } from './transport.js'

/** A request of a client. */
export interface HttpRequest {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  readonly signal?: AbortSignal
  /** The response may be an event stream, which has no limits of time and size. */
  readonly isStream?: boolean
}

/** A response. The body of an event stream is read as it arrives; any other has been read, and `body` is null. */
export interface HttpResponse {
  readonly status: number
  /** Whether the status is from 200 to 299. */
  readonly ok: boolean
  /** The address after redirects. */
  readonly url: string
  readonly headers: { get(name: string): string | null; entries(): Iterable<[string, string]> }
  readonly body: ByteReader | null
  bytes(): Promise<Uint8Array<ArrayBuffer>>
  text(): Promise<string>
  json(): Promise<unknown>
}

/** Sends a request, with credentials and within limits. Throws `TransportError` if there is no response. */
export type HttpSender = (request: HttpRequest) => Promise<HttpResponse>

export interface HttpClientOptions {
  /** Address of the interface. */
  readonly url: string
  readonly dialect: ClientDialect
  readonly send: HttpSender
  readonly facts: ClientFacts
  /** Default 10 MB. */
  readonly maxEventBytes?: number
}

/** One binding: encodes calls as HTTP requests and decodes the responses. */
interface HttpBinding {
  /** Throws `UNSUPPORTED_OPERATION` if the dialect lacks the operation. `naming` makes the ids of the request. */
  request(operation: Operation, request: unknown, naming: ClientFacts): OutgoingCall
}

export interface OutgoingCall {
  readonly http: Pick<HttpRequest, 'method' | 'url' | 'body'>
  /** Unwraps the result of a response, or throws the peer's error. `body` is parsed JSON, or text. */
  result(status: number, body: unknown): unknown
  decode(result: unknown): unknown
  createStreamDecoder(): StreamDecoder
  /** Unwraps the data of an event, or throws the peer's error. */
  open(data: unknown): unknown
}

export function createHttpClient(options: HttpClientOptions, binding: HttpBinding): AgentService {
  const naming = createNaming(options.facts)
  const call = async (operation: Operation, request: unknown, context: CallContext): Promise<unknown> => {
    const outgoing = binding.request(operation, request, naming(request, context))
    const response = await options.send(httpRequest(options, outgoing, context, 'application/json'))
    return asAnswer(outgoing, response, await readBody(response))
  }
  const follow = (operation: Operation, request: unknown, context: CallContext): AsyncIterable<StreamItem> =>
    items(readStream(options, () => binding.request(operation, request, naming(request, context)), context))
  return fromGeneric({ unary: call, streaming: follow })
}

/**
 * Makes ids for requests. In older dialects clients choose the ids of tasks and sessions. A retry with the same
 * idempotency key must send the same ids.
 */
function createNaming(facts: ClientFacts): (request: unknown, context: CallContext) => ClientFacts {
  const given = new WeakMap<object, string[]>()
  return (request, { idempotencyKey }) => {
    if (idempotencyKey === undefined || typeof request !== 'object' || request === null) return facts
    const ids = given.get(request) ?? []
    given.set(request, ids)
    let place = 0
    return {
      ...facts,
      newId() {
        const id = ids[place] ?? facts.newId()
        ids[place++] = id
        return id
      },
    }
  }
}

async function* readStream(
  options: HttpClientOptions,
  prepare: () => OutgoingCall,
  context: CallContext,
): AsyncGenerator<readonly StreamItem[], void, void> {
  const outgoing = prepare()
  const request = httpRequest(options, outgoing, context, 'text/event-stream')
  const response = await options.send({ ...request, isStream: true })
  const type = response.headers.get('content-type') ?? ''
  const decoder = outgoing.createStreamDecoder()
  const frames = new FrameReader(outgoing, decoder)
  // The sender limits the length of every response that is not an event stream.
  if (!response.ok || !isEventStream.test(type) || !response.body) {
    // Usually an error. Some peers send the only element of a stream as a plain response.
    const data = asAnswer(outgoing, response, await readBody(response))
    const events = readable(() => decoder.decode({ data }))
    if (events.length > 0) yield events.map((event) => ({ event }))
    return
  }
  context.onOpen?.()
  try {
    for await (const batch of readSse(response.body, limits(options))) {
      const { read, failure } = frames.readBatch(batch)
      if (read.length > 0) yield read
      if (failure) throw failure.error
      if (decoder.isOver) return
    }
  } catch (cause) {
    if (cause instanceof TransportError || cause instanceof A2AError) throw cause
    if (context.signal?.aborted) throw leftBy(context.signal)
    throw new TransportError('broken-stream', 'The stream broke off', { cause })
  }
}

/** Decodes the frames of one stream. */
class FrameReader {
  readonly #outgoing: OutgoingCall
  readonly #decoder: StreamDecoder
  readonly #chunks = new RepeatedChunks()

  constructor(outgoing: OutgoingCall, decoder: StreamDecoder) {
    this.#outgoing = outgoing
    this.#decoder = decoder
  }

  /** Decodes events that arrived together. An error is returned after the events before it. */
  readBatch(batch: readonly SseEvent[]): {
    readonly read: readonly StreamItem[]
    readonly failure?: { readonly error: unknown }
  } {
    const read: StreamItem[] = []
    try {
      for (const sse of batch) {
        const chunk = sse.event === undefined ? this.#chunks.read(sse.data) : undefined
        addItems(read, chunk ? [chunk] : this.#read(sse), seqOf(sse))
        if (this.#decoder.isOver) break
      }
      return { read }
    } catch (error) {
      return { read, failure: { error } }
    }
  }

  #read({ event, data }: SseEvent): readonly StreamResponse[] {
    const events = this.#decode(data, event)
    if (event === undefined && this.#decoder.canRepeatChunks)
      this.#chunks.learn(data, events, (other) => this.#decode(other))
    return events
  }

  #decode(data: string, event?: string): readonly StreamResponse[] {
    const parsed = data === '[DONE]' ? data : this.#outgoing.open(parseEvent(data))
    const frame: IncomingFrame = event === undefined ? { data: parsed } : { event, data: parsed }
    return readable(() => this.#decoder.decode(frame))
  }
}

const isEventStream = /^\s*text\/event-stream\b/i

function limits({ maxEventBytes = 10 * 1024 * 1024 }: HttpClientOptions): { readonly maxEventBytes: number } {
  return { maxEventBytes }
}

function parseEvent(data: string): unknown {
  try {
    return JSON.parse(data)
  } catch (cause) {
    throw new TransportError('bad-answer', `An event is no JSON: ${clip(data)}`, { cause })
  }
}

/** Dragoman's event ids are numbers. Ids of other servers have no meaning here (RM-STR-5). */
function seqOf({ id }: SseEvent): number | undefined {
  return id !== undefined && /^\d{1,15}$/.test(id) ? Number(id) : undefined
}

function httpRequest(
  { dialect }: HttpClientOptions,
  { http }: OutgoingCall,
  context: CallContext,
  accept: string,
): HttpRequest {
  const headers: Record<string, string> = { accept }
  if (http.body !== undefined) headers['content-type'] = 'application/json'
  const version = versionHeader(dialect)
  if (version !== undefined) headers[parameterHeaders.version] = version
  if (context.extensions?.length) headers[dialect.extensionsHeader] = context.extensions.join(', ')
  if (context.idempotencyKey !== undefined) headers[parameterHeaders.idempotencyKey] = context.idempotencyKey
  if (context.resumeAfter !== undefined) headers[parameterHeaders.lastEventId] = String(context.resumeAfter)
  Object.assign(headers, traceContextOf(context))
  return { ...http, headers, ...(context.signal && { signal: context.signal }) }
}

async function readBody(response: HttpResponse): Promise<unknown> {
  const text = await response.text()
  if (text === '') return undefined
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function asAnswer(outgoing: OutgoingCall, { status, headers }: HttpResponse, body: unknown): unknown {
  try {
    const result = outgoing.result(status, body)
    return readable(() => outgoing.decode(result))
  } catch (error) {
    const retryAfterSeconds = readRetryAfter(headers.get('retry-after'), headers.get('date'))
    if (retryAfterSeconds === undefined) throw error
    if (error instanceof A2AError && error.details.retryAfterSeconds === undefined)
      throw new A2AError(error.code, error.message, { ...error.details, retryAfterSeconds })
    if (!(error instanceof TransportError)) throw error
    const { failure, message, isRetryable, wasSent, cause } = error
    throw new TransportError(failure, message, { cause, isRetryable, wasSent, retryAfterMs: retryAfterSeconds * 1000 })
  }
}

/** The error for responses outside the protocol, such as the page of a proxy. */
export function noAnswer(status: number, body: unknown): TransportError {
  const said = typeof body === 'string' ? `: ${clip(body.replace(/\s+/g, ' ').slice(0, 200))}` : ''
  return new TransportError('bad-answer', `HTTP ${status} with no answer of the protocol${said}`, {
    isRetryable: status === 502 || status === 503 || status === 504,
  })
}
