/**
 * The HTTP/2 connections of a port: limits of streams, resets and headers, keep-alive pings and the end of connections.
 * Loaded with the first HTTP/2 connection.
 */
import { maxHeaderSize } from 'node:http'
import {
  constants,
  type IncomingHttpHeaders,
  performServerHandshake,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2'
import type { Socket } from 'node:net'
import type { GrpcConnection } from '../transports/grpc/server-call.js'
import { readTimeout } from '../transports/grpc/timeout.js'
import type { UnreadCount } from '../transports/stream-output.js'
import type { Deadlines } from './listener.js'

export type AnswerStream = (
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  connection: Http2Connection,
  /** Names and values in turn. */
  rawHeaders: readonly string[],
) => void

export interface Http2Server {
  /** Takes over a decrypted connection whose unread first bytes are those of HTTP/2. */
  accept(socket: Socket): void
  /** Sends GOAWAY: running calls go on, and connections close when they have ended. */
  drain(): void
  /** Drains, and closes the remaining connections at the deadline. */
  close(graceMs: number): Promise<void>
}

interface Http2Options extends Pick<Deadlines, 'readMs' | 'minReadRate'> {
  /** Interval of pings, which detect vanished peers. Default 60 s. */
  readonly pingMs?: number
  /** Maximum time until a ping is answered. A peer in the middle of endless headers cannot answer. Default 20 s. */
  readonly pongMs?: number
  /** Time after which a connection without streams is closed. Default 10 minutes. */
  readonly idleMs?: number
}

type Times = Readonly<Record<'pingMs' | 'pongMs' | 'idleMs' | 'readMs', number>>

/** Memory of one connection in megabytes: requests and unread responses together. */
const maxSessionMemory = 64
const sessionOptions = {
  maxSessionMemory,
  settings: { maxConcurrentStreams: 1000, maxHeaderListSize: maxHeaderSize },
}

export function createHttp2Server(answer: AnswerStream, options: Http2Options = {}): Http2Server {
  const { pingMs = 60_000, pongMs = 20_000, idleMs = 10 * 60_000, readMs = 60_000, minReadRate = 4096 } = options
  const times: Times = { pingMs, pongMs, idleMs, readMs }
  const sliceBytes = sliceFor(readMs, minReadRate)
  const connections = new Set<Http2Connection>()
  const timer = setInterval(
    () => {
      for (const connection of connections) connection.check(times)
    },
    Math.max(10, Math.min(pingMs, pongMs, readMs) / 4),
  )
  timer.unref()
  let onEmpty: () => void = () => undefined
  let isClosing = false
  const drain = () => {
    isClosing = true
    for (const { session } of connections) session.close()
  }
  return {
    accept(socket) {
      if (isClosing || socket.destroyed) {
        socket.destroy()
        return
      }
      const connection = new Http2Connection(socket, answer, sliceBytes)
      connections.add(connection)
      socket.once('close', () => {
        connections.delete(connection)
        if (connections.size === 0) onEmpty()
      })
    },
    drain,
    async close(graceMs) {
      drain()
      clearInterval(timer)
      if (connections.size > 0) {
        let deadline: NodeJS.Timeout | undefined
        await new Promise<void>((resolve) => {
          onEmpty = resolve
          deadline = setTimeout(resolve, graceMs)
        })
        clearTimeout(deadline)
      }
      for (const { session, socket } of connections) {
        session.destroy()
        socket.destroy()
      }
    },
  }
}

const minSliceBytes = 16 * 1024
const maxSliceBytes = 256 * 1024

/** A reader that takes less than a slice in its time limit is slower than the minimum rate. */
function sliceFor(readMs: number, minReadRate: number): number {
  return Math.max(minSliceBytes, Math.min(maxSliceBytes, (minReadRate * readMs) / 1000))
}

/** Bytes of incomplete requests on one connection. Further requests that come in pieces are refused. */
const maxRequestBytes = 64 * 1024 * 1024

/**
 * Rapid resets that one connection may send: a burst, and a rate per second. Node.js closes connections with more than
 * 1000 and 33 resets of any kind, with another code: this limit has to be lower. Resets are counted here
 * when their streams have closed, which is later.
 */
const burst = 500
const perSecond = 30
const rapidMs = 1000
/** Resets at the deadline of a call count if the deadline is shorter. */
const minTimeoutMs = 20

export class Http2Connection implements GrpcConnection {
  readonly socket: Socket
  readonly session: ServerHttp2Session
  readonly address: () => string | undefined
  readonly unread = new UnreadBytes()
  readonly sliceBytes: number
  requestBytes = 0
  /** Streams whose readers have to take bytes, and since when. */
  readonly #waiting = new Map<ServerHttp2Stream, number>()
  readonly #answer: AnswerStream
  #openStreams = 0
  #lastUseMs = performance.now()
  #lastPingMs = performance.now()
  #isPinging = false
  #resetsLeft = burst
  #lastResetMs = performance.now()
  #isClosing = false

  constructor(socket: Socket, answer: AnswerStream, sliceBytes: number) {
    this.socket = socket
    this.sliceBytes = sliceBytes
    this.#answer = answer
    const { remoteAddress } = socket
    this.address = () => remoteAddress
    this.session = performServerHandshake(socket, sessionOptions)
    // The session closes itself.
    this.session.on('error', ignore)
    this.session.on(
      'stream',
      (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, _flags: number, rawHeaders: readonly string[]) =>
        this.#open(stream, headers, rawHeaders),
    )
  }

  /** One large request is always accepted. */
  isOverloaded(own: number): boolean {
    return this.requestBytes > maxRequestBytes && this.requestBytes > own
  }

  startWait(stream: ServerHttp2Stream): void {
    this.#waiting.set(stream, performance.now())
  }

  endWait(stream: ServerHttp2Stream): void {
    this.#waiting.delete(stream)
  }

  /** Sends pings, closes a connection that is idle or does not answer, and resets streams that are not read. */
  check({ pingMs, pongMs, idleMs, readMs }: Times): void {
    const now = performance.now()
    for (const [stream, sinceMs] of this.#waiting) if (now - sinceMs >= readMs) stream.close(constants.NGHTTP2_CANCEL)
    const sincePing = now - this.#lastPingMs
    if (this.#isPinging && sincePing >= pongMs) this.session.destroy()
    else if (this.#openStreams === 0 && now - this.#lastUseMs >= idleMs) this.session.close()
    else if (!this.#isPinging && sincePing >= pingMs && !this.session.destroyed) {
      this.#lastPingMs = now
      this.#isPinging = this.session.ping(() => {
        this.#isPinging = false
      })
    }
  }

  #open(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, rawHeaders: readonly string[]): void {
    const openedMs = performance.now()
    this.#openStreams += 1
    stream.on('error', ignore)
    stream.on('close', () => {
      const now = performance.now()
      this.#openStreams -= 1
      this.#waiting.delete(stream)
      this.#lastUseMs = now
      // Clients and servers also use NO_ERROR when the response is complete. `aborted` means that it is not.
      const isReset = stream.rstCode !== constants.NGHTTP2_NO_ERROR || stream.aborted
      if (isReset && isRapid(now - openedMs, headers['grpc-timeout'])) this.#countReset(now)
    })
    // The client may have reset the stream in the same packet. It then accepts no response.
    if (stream.destroyed || stream.closed) return
    try {
      this.#answer(stream, headers, this, rawHeaders)
    } catch {
      // An error here would end the process.
      stream.close(constants.NGHTTP2_INTERNAL_ERROR)
    }
  }

  /**
   * Limits requests that a client opens and resets at once (HTTP/2 rapid reset), which the limit on concurrent streams
   * does not count. A connection beyond the limit is closed with ENHANCE_YOUR_CALM.
   */
  #countReset(now: number): void {
    this.#resetsLeft = Math.min(burst, this.#resetsLeft + ((now - this.#lastResetMs) / 1000) * perSecond) - 1
    this.#lastResetMs = now
    if (this.#resetsLeft >= 0 || this.#isClosing) return
    this.#isClosing = true
    // A stream closes while its session is reading frames. Destroying the session then would abort the process.
    setImmediate(() => {
      if (this.session.destroyed) return
      this.session.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM)
      this.session.destroy(undefined, constants.NGHTTP2_ENHANCE_YOUR_CALM)
    })
  }
}

/** Calls that are cancelled more than a second after their start, or at their own deadline, do not count. */
export function isRapid(elapsedMs: number, timeout: string | string[] | undefined): boolean {
  if (elapsedMs >= rapidMs) return false
  const timeoutMs = timeout === undefined ? undefined : readTimeout(String(timeout))
  return timeoutMs === undefined || timeoutMs < minTimeoutMs || elapsedMs < timeoutMs
}

/** Limit of the unread stream messages of one connection, in bytes. */
const maxUnreadBytes = 4 * 1024 * 1024

class UnreadBytes implements UnreadCount {
  #bytes = 0
  #waiting = new Set<() => void>()

  get isFull(): boolean {
    return this.#bytes >= maxUnreadBytes
  }

  add(bytes: number): void {
    this.#bytes += bytes
  }

  remove(bytes: number): void {
    this.#bytes -= bytes
    if (this.isFull || this.#waiting.size === 0) return
    const waiting = this.#waiting
    this.#waiting = new Set()
    for (const wake of waiting) wake()
  }

  onRoom(wake: () => void): void {
    this.#waiting.add(wake)
  }
}

function ignore(): void {
  // The peer is gone: the stream or session closes itself.
}
