/** HTTP requests on HTTP/2 streams as exchanges, and the writing of their answers. */
import { constants, type IncomingHttpHeaders, type OutgoingHttpHeaders, type ServerHttp2Stream } from 'node:http2'
import { A2AError } from '../model/errors.js'
import { Deadlines } from '../transports/deadlines.js'
import type { AnswerExchange, Exchange, HttpAnswer } from '../transports/exchange.js'
import { NodeHeaders } from '../transports/node-headers.js'
import { BodyInterrupted, readBefore, tooLarge } from '../transports/read-json.js'
import { SseFeed } from '../transports/sse.js'
import { StreamOutput } from '../transports/stream-output.js'
import type { HeaderReader } from '../transports/transport.js'
import { canHaveBody, limitedBody, requestInit } from './fetch.js'
import type { AnswerStream, Http2Connection } from './http2.js'
import { AddressedExchange, isSecure, PeerConnection, signalOf } from './node-exchange.js'
import { callerKey, UnreadAnswers } from './peer-connection.js'
import { refusalInstead } from './refusal.js'

/** A request on an HTTP/2 stream. */
export class Http2Exchange extends AddressedExchange implements Exchange {
  readonly method: string
  readonly headers: HeaderReader
  readonly stream: ServerHttp2Stream
  readonly output: StreamOutput
  readonly connection: PeerConnection
  readonly #http2: Http2Connection
  readonly #rawHeaders: readonly string[]
  readonly #isContinued: boolean
  #signal: AbortSignal | undefined

  /** Throws `INVALID_REQUEST` if the request has no address, or two different hosts. */
  constructor(
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    connection: Http2Connection,
    rawHeaders: readonly string[],
  ) {
    const { ':authority': authority, host = authority } = headers
    // A proxy may have checked the other host.
    if (authority !== undefined && host !== authority) throw new A2AError('INVALID_REQUEST', 'Two different hosts')
    super(headers[':path'] ?? '', host ?? '', isSecure(connection.socket))
    this.method = headers[':method'] ?? ''
    this.headers = new NodeHeaders({ headers: { ...headers, host }, rawHeaders })
    this.stream = stream
    this.output = new StreamOutput(stream, connection)
    this.connection = new PeerConnection(connection.socket)
    this.#http2 = connection
    this.#rawHeaders = rawHeaders
    this.#isContinued = headers.expect?.toLowerCase() === '100-continue'
  }

  get signal(): AbortSignal {
    this.#signal ??= signalOf(this.stream)
    return this.#signal
  }

  readBody(maxBytes: number): Promise<Uint8Array> {
    const { stream } = this
    if (Number(this.headers.get('content-length') ?? 0) > maxBytes) return Promise.reject(tooLarge(maxBytes))
    if (stream.readableDidRead) return Promise.reject(readBefore())
    this.#continue()
    return collect(stream, maxBytes, this.#http2)
  }

  toRequest(maxBytes: number): Request {
    const { stream, method, signal } = this
    if (method === 'TRACE' || method === 'CONNECT')
      throw new A2AError('METHOD_NOT_FOUND', `The method ${method} is not supported`)
    const headers = new Headers({ host: this.authority })
    for (let place = 0; place < this.#rawHeaders.length; place += 2) {
      const name = this.#rawHeaders[place] ?? ''
      if (!name.startsWith(':') && name !== 'host') headers.append(name, this.#rawHeaders[place + 1] ?? '')
    }
    const init: RequestInit = { method, headers, signal }
    if (!canHaveBody(method)) return new Request(this.url, init)
    let chunks: AsyncIterator<Uint8Array> | undefined
    const read = async (): Promise<Uint8Array | undefined> => {
      if (!chunks && stream.readableDidRead) throw readBefore()
      if (!chunks) this.#continue()
      chunks ??= stream.iterator({ destroyOnReturn: false })[Symbol.asyncIterator]()
      const { done, value } = await chunks.next()
      // Streams that the client has reset end too.
      if (done && stream.closed) throw new Error('The stream was reset')
      return value
    }
    return new Request(
      this.url,
      requestInit({ ...init, body: limitedBody(read, () => undefined, { headers, maxBytes }) }),
    )
  }

  /** The key that unread responses are counted by. */
  get callerKey(): string {
    return callerKey(this.connection.caller, this.connection.address())
  }

  #continue(): void {
    if (this.#isContinued && !isGone(this.stream) && !this.stream.headersSent)
      this.stream.additionalHeaders({ ':status': 100 })
  }
}

/** Reads the body to its end, or until it exceeds `maxBytes`. */
function collect(stream: ServerHttp2Stream, maxBytes: number, connection: Http2Connection): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let length = 0
    let held = 0
    const fail = (error: A2AError) => {
      connection.requestBytes -= held
      held = 0
      chunks.length = 0
      reject(error)
    }
    stream.on('data', (chunk: Buffer) => {
      length += chunk.length
      // Later chunks are discarded: the stream is closed after the response.
      if (length > maxBytes) fail(tooLarge(maxBytes))
      else if (connection.isOverloaded(held)) fail(overloaded())
      else {
        chunks.push(chunk)
        held += chunk.length
        connection.requestBytes += chunk.length
      }
    })
    const interrupted = () => fail(new BodyInterrupted(new Error('The stream was reset')))
    stream.on('end', () => {
      // Streams that the client has reset end too.
      if (stream.closed) interrupted()
      else {
        connection.requestBytes -= held
        held = 0
        resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks))
      }
    })
    stream.on('close', interrupted)
    if (stream.destroyed) interrupted()
  })
}

function overloaded(): A2AError {
  return new A2AError('UNAVAILABLE', 'Too many large requests on this connection, try again later', {
    retryAfterSeconds: 1,
  })
}

/** Answers requests that are not gRPC. `bodyMs` is the time from the headers to the end of the body. */
export function createHttp2Answer(answer: AnswerExchange, bodyMs = 60_000): AnswerStream {
  const unread = new UnreadAnswers()
  const deadlines = new Deadlines()
  return (stream, headers, connection, rawHeaders) => {
    let exchange: Http2Exchange
    try {
      limitBodyTime(stream, deadlines, bodyMs)
      exchange = new Http2Exchange(stream, headers, connection, rawHeaders)
    } catch {
      respond(stream, 400) // the request has no valid address
      return
    }
    const write = (settled: HttpAnswer) => writeAnswer(exchange, settled, unread, connection)
    // Handlers of this package do not fail; functions of applications may.
    const fail = () => respond(stream, 500)
    try {
      const answered = answer(exchange)
      if (answered instanceof Promise) answered.then(write).catch(fail)
      else write(answered)
    } catch {
      fail()
    }
  }
}

/** A request whose body does not end in time gets 408, or its stream is reset. */
function limitBodyTime(stream: ServerHttp2Stream, deadlines: Deadlines, bodyMs: number): void {
  if (stream.endAfterHeaders) return
  const entry = { expire: () => (stream.headersSent ? stream.close(constants.NGHTTP2_CANCEL) : respond(stream, 408)) }
  const slot = deadlines.add(entry, bodyMs)
  const remove = () => deadlines.remove(entry, slot)
  stream.once('end', remove)
  stream.once('close', remove)
}

/** Answers without a body, and ends the request. */
function respond(stream: ServerHttp2Stream, status: number, headers?: OutgoingHttpHeaders): void {
  if (stream.destroyed || stream.closed || stream.headersSent) return
  stream.respond({ ...headers, ':status': status }, { endStream: true })
  endRequest(stream)
}

/** After the response, the rest of a request is not read, and the client need not send it. */
function endRequest(stream: ServerHttp2Stream): void {
  if (stream.readableEnded || stream.endAfterHeaders) return
  stream.resume()
  const close = () => stream.close(constants.NGHTTP2_NO_ERROR)
  if (stream.writableEnded) close()
  else stream.once('finish', close)
}

/** Smaller responses are not counted. */
const smallAnswer = 64 * 1024

function writeAnswer(
  exchange: Http2Exchange,
  answer: HttpAnswer,
  unread: UnreadAnswers,
  connection: Http2Connection,
): void {
  const { stream } = exchange
  const { body } = answer
  try {
    if (body instanceof SseFeed) writeFeed(exchange, answer, body, connection)
    else if (body instanceof ReadableStream)
      writeStream(exchange, answer, body).catch(() => stream.close(constants.NGHTTP2_INTERNAL_ERROR))
    else writeBody(exchange, answer, body as string | Uint8Array | undefined, unread)
  } catch {
    // The response could not be written.
    if (body instanceof SseFeed) body.cancel()
    stream.close(constants.NGHTTP2_INTERNAL_ERROR)
  }
}

function isGone({ destroyed, closed }: ServerHttp2Stream): boolean {
  return destroyed || closed
}

function writeBody(
  exchange: Http2Exchange,
  answer: HttpAnswer,
  body: string | Uint8Array | undefined,
  unread: UnreadAnswers,
): void {
  const { stream, method, output } = exchange
  if (isGone(stream)) return
  const bytes = bytesOf(body)
  const isEmpty = method === 'HEAD' || !bytes || bytes.length === 0
  if (!isEmpty && bytes.length > smallAnswer) {
    try {
      stream.once('close', unread.admit(bytes.length, exchange.callerKey))
    } catch (caught) {
      const refusal = refusalInstead(answer, A2AError.from(caught))
      writeBody(exchange, refusal, refusal.body as string, unread) // it is small
      return
    }
  }
  // An answer to HEAD may leave out the body, whose length is then unknown.
  const length = body === undefined && method === 'HEAD' ? undefined : (bytes?.length ?? 0)
  stream.respond(headersOf(answer, length), { endStream: isEmpty })
  if (!isEmpty) output.end(bytes)
  endRequest(stream)
}

function bytesOf(body: string | Uint8Array | undefined): Buffer | undefined {
  if (body === undefined || typeof body === 'string') return body === undefined ? undefined : Buffer.from(body)
  return Buffer.from(body.buffer, body.byteOffset, body.byteLength)
}

/** Headers that HTTP/2 does not have (RFC 9113, 8.2.2). */
const connectionHeaders: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
])

function headersOf({ status, headers, cookies }: HttpAnswer, length?: number): OutgoingHttpHeaders {
  const fields: OutgoingHttpHeaders = { ':status': status }
  for (const [name, value] of Object.entries(headers))
    if (!connectionHeaders.has(name) && (name !== 'content-length' || length === undefined)) fields[name] = value
  if (cookies) fields['set-cookie'] = [...cookies]
  if (length !== undefined && status !== 204 && status !== 304) fields['content-length'] = String(length)
  return fields
}

/** Writes a stream of events. Its reader, and the other streams of the connection, can pause the reading of its log. */
function writeFeed(
  { stream, output }: Http2Exchange,
  answer: HttpAnswer,
  feed: SseFeed,
  connection: Http2Connection,
): void {
  if (isGone(stream)) {
    feed.cancel()
    return
  }
  const { unread } = connection
  let unsent = 0
  const taken = () => {
    unread.remove(unsent)
    unsent = 0
  }
  stream.once('close', () => {
    taken()
    feed.cancel()
  })
  stream.respond(headersOf(answer))
  endRequest(stream)
  const resume = () => {
    if (unread.isFull) unread.onRoom(resume)
    else feed.resume()
  }
  output.onDrain = () => {
    taken()
    resume()
  }
  const start = () =>
    feed.start({
      open: () => undefined,
      write(text) {
        if (output.write(Buffer.from(text))) return true
        unsent = output.unsentBytes
        unread.add(unsent)
        return false
      },
      end: (text) => output.end(Buffer.from(text)),
    })
  if (unread.isFull) unread.onRoom(start)
  else start()
}

/** Writes the body of a `Response`. */
async function writeStream(
  { stream, method, output }: Http2Exchange,
  answer: HttpAnswer,
  body: ReadableStream<Uint8Array>,
): Promise<void> {
  const reader = body.getReader()
  const cancel = () => reader.cancel().catch(() => undefined)
  if (isGone(stream) || method === 'HEAD') {
    await cancel()
    if (!isGone(stream)) stream.respond(headersOf(answer), { endStream: true })
    return
  }
  let wake: () => void = () => undefined
  output.onDrain = () => wake()
  stream.once('close', () => {
    cancel()
    wake()
  })
  stream.respond(headersOf(answer))
  for (;;) {
    const { done, value } = await reader.read()
    if (isGone(stream)) return
    if (done) break
    if (output.write(bytesOf(value) as Buffer)) continue
    await new Promise<void>((resolve) => {
      wake = resolve
    })
  }
  output.end()
  endRequest(stream)
}
