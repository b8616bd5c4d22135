import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { getRequestListener, type HttpBindings } from '@hono/node-server'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import type { Connection } from '../auth/scheme.js'
import { A2AError } from '../model/errors.js'
import type { Caller } from '../model/service.js'
import type { SseFeed, SseSink } from '../transports/sse.js'
import { feedOf } from '../transports/sse.js'
import { callerKey, certificateOf, UnreadAnswers } from './peer-connection.js'
import { refusalOf } from './refusal.js'

type Fetch = (request: Request, connection?: Connection) => Promise<Response>

/** A request listener for `node:http`. */
export type NodeListener = (request: IncomingMessage, response: ServerResponse) => void

/** Adapts a handler, or a function that answers a `Request`, for `http.createServer`. */
export function toNodeListener(handler: { readonly fetch: Fetch } | Fetch): NodeListener {
  const fetch = typeof handler === 'function' ? handler : handler.fetch
  if (typeof fetch !== 'function')
    throw new TypeError('Expected a handler or a function: write `await createHandler(…)`')
  const endOfTick = createEndOfTick()
  const unread = new UnreadAnswers()
  const answer = async (request: Request, bindings: unknown): Promise<Response> => {
    const { incoming, outgoing } = bindings as HttpBindings // only HTTP/1.1 requests arrive here
    const connection = new PeerConnection(incoming.socket)
    // A body parser of the application has read the Node.js request; this makes `request.bodyUsed` true.
    if (incoming.readableDidRead && !('rawBody' in incoming)) await request.text().catch(() => undefined)
    const response = await fetch(request, connection)
    const body = bodyOf(response)
    const feed = feedOf(body)
    if (feed) {
      writeSse(feed, response, outgoing)
      return alreadySent
    }
    await endOfTick()
    return typeof body === 'string' && body.length > smallAnswer
      ? admitAnswer(unread, response, body, outgoing, connection.callerKey)
      : response
  }
  const listener = getRequestListener(answer, { errorHandler: () => new Response(null, { status: 400 }) })
  return inOrder((request, response) => {
    // A proxy may have checked the other `Host` (RFC 9112, 3.2).
    if (hasTwoHosts(request.rawHeaders)) {
      response.writeHead(400, { connection: 'close' }).end()
      return
    }
    listener(request, response).catch(() => response.destroy()) // the response could not be written
  })
}

/** `headers` alternates names and values. */
function hasTwoHosts(headers: readonly string[]): boolean {
  let hosts = 0
  for (let place = 0; place < headers.length; place += 2) {
    const name = headers[place]
    if (name?.length === 4 && name.toLowerCase() === 'host') hosts += 1
  }
  return hosts > 1
}

/** Smaller responses are not counted. */
const smallAnswer = 64 * 1024

/** Returns the response, or an error if too many responses are unread. */
function admitAnswer(
  unread: UnreadAnswers,
  response: Response,
  body: string,
  outgoing: ServerResponse,
  caller: string,
): Response {
  try {
    const release = unread.admit(Buffer.byteLength(body), caller)
    outgoing.once('close', release)
    // The reader has disconnected: nothing will be written.
    if (outgoing.destroyed || outgoing.closed) release()
    return response
  } catch (caught) {
    return refusalOf({ refused: A2AError.from(caught) })
  }
}

/** The connection of a request in Node.js. */
export class PeerConnection implements Connection {
  readonly #socket: Socket
  #caller: string | undefined

  constructor(socket: Socket) {
    this.#socket = socket
  }

  // Own members: connections are copied by spreading.
  readonly certificate = () => certificateOf(this.#socket)
  readonly address = () => this.#socket.remoteAddress
  readonly onCaller = ({ id }: Caller) => {
    this.#caller = id
  }

  get callerKey(): string {
    return callerKey(this.#caller, this.address())
  }
}

/**
 * The body that a response was created with. hono's `Response` keeps it in an array, in a member named by a symbol.
 * Reading `body` instead creates a real `Response`, which costs a short stream 2 % of its time. `body` is the fallback
 * for other versions of hono.
 */
function bodyOf(response: Response): unknown {
  for (const symbol of Object.getOwnPropertySymbols(response)) {
    const kept: unknown = Reflect.get(response, symbol)
    if (Array.isArray(kept)) return kept[1]
  }
  return response.body
}

/**
 * Tells hono that the response has been written. hono recognises it by the headers of a real `Response`; `clone` returns
 * one even if hono has replaced the global class.
 */
const alreadySent = RESPONSE_ALREADY_SENT.clone()

/**
 * Responses that become ready in one tick of the event loop are written together. Written one by one, each write wakes
 * the peer again, which takes half of the time under load.
 */
function createEndOfTick(): () => Promise<void> {
  let tick: Promise<void> | undefined
  return () => {
    tick ??= new Promise((resolve) => {
      setImmediate(() => {
        tick = undefined
        resolve()
      })
    })
    return tick
  }
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

/** Writes a stream of events directly to a connection. */
function writeSse(feed: SseFeed, { status, headers }: Response, outgoing: ServerResponse): void {
  if (outgoing.destroyed) {
    feed.cancel()
    return
  }
  const onGone = () => feed.cancel()
  outgoing.on('close', onGone)
  outgoing.on('error', onGone)
  outgoing.writeHead(status, Object.fromEntries(headers))
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
