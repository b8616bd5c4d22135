/** Adapts handlers for `node:http`, and writes their answers. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { A2AError } from '../model/errors.js'
import type { AnswerExchange, HttpAnswer } from '../transports/exchange.js'
import { SseFeed, type SseSink } from '../transports/sse.js'
import { type Fetch, fromResponse } from './fetch.js'
import { NodeExchange } from './node-exchange.js'
import { UnreadAnswers } from './peer-connection.js'
import { refusalInstead } from './refusal.js'

/** A request listener for `node:http`. */
export type NodeListener = (request: IncomingMessage, response: ServerResponse) => void

/** Adapts a handler, or a function that answers a `Request`, for `http.createServer`. */
export function toNodeListener(handler: { readonly fetch: Fetch } | Fetch): NodeListener {
  const fetch = typeof handler === 'function' ? handler : handler.fetch
  if (typeof fetch !== 'function')
    throw new TypeError('Expected a handler or a function: write `await createHandler(…)`')
  return createNodeListener(
    fetch.answer ??
      (async (exchange) =>
        fromResponse(await fetch(exchange.toRequest(Number.POSITIVE_INFINITY), exchange.connection))),
  )
}

export function createNodeListener(answer: AnswerExchange): NodeListener {
  const writer = new AnswerWriter()
  return inOrder((incoming, outgoing) => {
    // A proxy may have checked the other `Host` (RFC 9112, 3.2).
    if (hasTwoHosts(incoming.rawHeaders)) {
      outgoing.writeHead(400, { connection: 'close' }).end()
      return
    }
    let exchange: NodeExchange
    try {
      exchange = new NodeExchange(incoming, outgoing)
    } catch {
      outgoing.writeHead(400, { 'content-length': 0 }).end() // target or `Host` is not an address
      return
    }
    start(answer, exchange, writer)
  })
}

function start(answer: AnswerExchange, exchange: NodeExchange, writer: AnswerWriter): void {
  // Handlers of this package do not fail; functions of applications may.
  const fail = () => writer.write(exchange, { status: 500, headers: {} })
  try {
    const answered = answer(exchange)
    if (answered instanceof Promise) answered.then((settled) => writer.write(exchange, settled)).catch(fail)
    else writer.write(exchange, answered)
  } catch {
    fail()
  }
}

/** `headers` alternates names and values. */
function hasTwoHosts(headers: readonly string[]): boolean {
  let hosts = 0
  for (let place = 0; place < headers.length; place += 2) {
    const name = headers[place]
    if (name?.length === 4 && (name === 'Host' || name.toLowerCase() === 'host')) hosts += 1
  }
  return hosts > 1
}

/** Smaller responses are not counted. */
const smallAnswer = 64 * 1024

/**
 * Writes answers. Those that become ready in one tick of the event loop are written together: written one by one, each
 * write wakes the peer again, which takes half of the time under load.
 */
class AnswerWriter {
  readonly #unread = new UnreadAnswers()
  #exchanges: NodeExchange[] = []
  #answers: HttpAnswer[] = []

  write(exchange: NodeExchange, answer: HttpAnswer): void {
    if (answer.body instanceof SseFeed) {
      try {
        writeSse(answer.body, answer, exchange.outgoing)
      } catch {
        // The headers were sent already, for example by a middleware of the application.
        answer.body.cancel()
        exchange.outgoing.destroy()
      }
      return
    }
    if (this.#exchanges.length === 0) setImmediate(this.#flush)
    this.#exchanges.push(exchange)
    this.#answers.push(answer)
  }

  readonly #flush = () => {
    const exchanges = this.#exchanges
    const answers = this.#answers
    this.#exchanges = []
    this.#answers = []
    for (let place = 0; place < exchanges.length; place++) {
      // Both lists have the same length.
      const exchange = exchanges[place] as NodeExchange
      const answer = answers[place] as HttpAnswer
      try {
        if (answer.body instanceof ReadableStream) {
          this.#writeStream(exchange, answer, answer.body).catch(() => exchange.outgoing.destroy())
        } else this.#writeBody(exchange, answer, answer.body as string | Uint8Array | undefined)
      } catch {
        exchange.outgoing.destroy() // the response could not be written
      }
    }
  }

  #writeBody(exchange: NodeExchange, answer: HttpAnswer, body: string | Uint8Array | undefined): void {
    const { outgoing, incoming } = exchange
    if (outgoing.destroyed) return
    const length = typeof body === 'string' ? Buffer.byteLength(body) : (body?.byteLength ?? 0)
    const refusal = length > smallAnswer ? this.#admit(exchange, answer, length) : undefined
    if (refusal) {
      this.#writeBody(exchange, refusal, refusal.body as string) // it is small
      return
    }
    // An answer to HEAD may leave out the body, whose length is then unknown.
    const isUnknown = body === undefined && incoming.method === 'HEAD'
    outgoing.writeHead(answer.status, headersOf(answer, isUnknown ? undefined : length))
    outgoing.end(body)
    if (!incoming.complete) endRequest(exchange)
  }

  /** Returns an error if too many responses are unread. */
  #admit({ outgoing, callerKey }: NodeExchange, answer: HttpAnswer, length: number): HttpAnswer | undefined {
    try {
      outgoing.once('close', this.#unread.admit(length, callerKey))
      return undefined
    } catch (caught) {
      return refusalInstead(answer, A2AError.from(caught))
    }
  }

  /** Writes the body of a `Response`. A body of one chunk that is ready is written at once, with its length. */
  async #writeStream(exchange: NodeExchange, answer: HttpAnswer, body: ReadableStream<Uint8Array>): Promise<void> {
    const { outgoing, incoming } = exchange
    const reader = body.getReader()
    const cancel = () => reader.cancel().catch(() => undefined)
    if (outgoing.destroyed || incoming.method === 'HEAD') {
      await cancel()
      if (!outgoing.destroyed) outgoing.writeHead(answer.status, headersOf(answer)).end()
      return
    }
    outgoing.once('close', cancel)
    const ahead = [reader.read(), reader.read()] as const
    for (const each of ahead) each.catch(() => undefined) // one of them is awaited below
    const isWhole = await Promise.race([ahead[1].then(({ done }) => done), endOfTick()])
    if (isWhole) {
      this.#writeBody(exchange, answer, (await ahead[0]).value)
      return
    }
    outgoing.writeHead(answer.status, headersOf(answer)).flushHeaders()
    if (!incoming.complete) endRequest(exchange)
    for (let count = 0; ; count++) {
      const { done, value } = await (ahead[count] ?? reader.read())
      if (outgoing.destroyed) return
      if (done) break
      if (!outgoing.write(value)) await drained(outgoing)
    }
    outgoing.end()
  }
}

/** Resolves when the reader has taken the buffered bytes, or is gone. */
function drained(outgoing: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const settle = () => {
      outgoing.off('drain', settle)
      outgoing.off('close', settle)
      resolve()
    }
    outgoing.on('drain', settle)
    outgoing.on('close', settle)
  })
}

function endOfTick(): Promise<false> {
  return new Promise((resolve) => setImmediate(resolve, false))
}

/** Headers for `writeHead`, which takes names and values in turn. */
function headersOf({ status, headers, cookies }: HttpAnswer, length?: number): string[] {
  const fields: string[] = []
  // Node.js sets these itself.
  for (const [name, value] of Object.entries(headers))
    if (name !== 'transfer-encoding' && (name !== 'content-length' || length === undefined)) fields.push(name, value)
  if (cookies) for (const cookie of cookies) fields.push('set-cookie', cookie)
  if (length !== undefined && status !== 204 && status !== 304) fields.push('content-length', String(length))
  return fields
}

/** Time for a client to notice the response while it sends a body that is not read. Then the connection is closed. */
const sendingMs = 500

/** Ends a request whose body the server does not need. Closing at once could discard the response before it is read. */
function endRequest({ incoming, outgoing }: NodeExchange): void {
  // Other runtimes may not have `complete`, and read the rest themselves.
  if (isOtherRuntime) return
  outgoing.once('finish', () => {
    if (incoming.complete) return
    incoming.resume()
    setTimeout(() => {
      if (!incoming.complete) incoming.socket.destroySoon()
    }, sendingMs).unref()
  })
}

/** Maximum number of pipelined requests that wait on one connection. */
const maxWaiting = 100

/**
 * Starts a pipelined request when all responses before it have been sent. Node passes on every request as soon as it is
 * parsed and buffers the responses behind the first one without a limit. A connection with more than 100 waiting
 * requests is closed; clients must expect that (RFC 9112, 9.3.2).
 */
function inOrder(start: NodeListener): NodeListener {
  const waiting = new WeakMap<Socket, number>()
  return (request, response) => {
    // Node sets `socket` on the response that is next. Other runtimes do not pass on requests early.
    if (response.socket !== null || isOtherRuntime) {
      start(request, response)
      return
    }
    const { socket } = request
    const count = (waiting.get(socket) ?? 0) + 1
    waiting.set(socket, count)
    if (count > maxWaiting) {
      socket.destroy()
      return
    }
    // Not emitted if the connection closes first: then no caller waits for an answer.
    response.once('socket', () => {
      waiting.set(socket, (waiting.get(socket) ?? 1) - 1)
      start(request, response)
    })
  }
}

const isOtherRuntime = 'bun' in process.versions || 'deno' in process.versions

/** Writes a stream of events to a connection. */
function writeSse(feed: SseFeed, answer: HttpAnswer, outgoing: ServerResponse): void {
  if (outgoing.destroyed) {
    feed.cancel()
    return
  }
  const onGone = () => feed.cancel()
  outgoing.on('close', onGone)
  outgoing.on('error', onGone)
  outgoing.writeHead(answer.status, headersOf(answer))
  feed.start(new SseConnection(feed, outgoing))
}

class SseConnection implements SseSink {
  readonly #feed: SseFeed
  readonly #outgoing: ServerResponse

  constructor(feed: SseFeed, outgoing: ServerResponse) {
    this.#feed = feed
    this.#outgoing = outgoing
  }

  open(): void {
    this.#outgoing.flushHeaders()
  }

  write(text: string): boolean {
    // As bytes: Node takes three times as long to write a long string.
    const hasRoom = this.#outgoing.write(Buffer.from(text))
    if (!hasRoom) this.#outgoing.once('drain', () => this.#feed.resume())
    return hasRoom
  }

  end(text: string): void {
    this.#outgoing.end(Buffer.from(text))
  }
}
