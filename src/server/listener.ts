/**
 * One port for every binding, with or without TLS. The listener reads the first bytes of a connection, puts them back
 * and passes the socket to the matching server: HTTP/1.1 or HTTP/2.
 *
 * Node.js checks the header and request time-outs of every request from its first byte on, pipelined ones included. The
 * listener checks the time before the first byte.
 */
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer, type TlsOptions } from 'node:tls'
import type { Log } from '../model/log.js'
import { addressKey, classifyAddress } from '../net/addresses.js'
import { startTimeoutChecks, unsentBytes } from '../net/node-internals.js'

/** Time limits for slow connections. */
export interface Deadlines {
  /** From the connection to its first byte. Default 10 s. */
  readonly firstByteMs?: number
  /** From the first byte of a request to the end of its headers. Default 10 s. */
  readonly headersMs?: number
  /** From the headers to the end of the body. Default 60 s. */
  readonly bodyMs?: number
  /** Maximum time in which a reader takes none of the bytes that wait for it. Default 60 s. */
  readonly readMs?: number
  /**
   * Bytes per second that a reader must take, on average over `readMs`, while 256 KB or more wait to be sent to it.
   * Default 4,096.
   */
  readonly minReadRate?: number
}

export interface Listener {
  readonly server: Server
  /** Closes idle connections now, and the others when their responses are written. */
  closeIdle(): void
  closeAll(): void
}

const http2Preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')

interface ListenerOptions {
  readonly deadlines?: Deadlines | undefined
  readonly connections?: ConnectionLimits | undefined
  /** Certificate and key. Absent: no TLS. */
  readonly tls?: TlsOptions | undefined
  /** Receives connections that begin with the HTTP/2 preface. Absent: only HTTP/1.1 is served. */
  readonly onHttp2?: ((socket: Socket) => void) | undefined
  readonly log?: Log | undefined
}

export function createListener(
  onRequest: (request: IncomingMessage, response: ServerResponse) => void,
  { deadlines = {}, connections, tls, onHttp2, log }: ListenerOptions = {},
): Listener {
  const { firstByteMs = 10_000, headersMs = 10_000, bodyMs = 60_000, readMs = 60_000, minReadRate = 4096 } = deadlines
  const http = createHttpServer(
    {
      keepAliveTimeout: 65_000,
      headersTimeout: headersMs,
      requestTimeout: headersMs + bodyMs,
      connectionsCheckingInterval: Math.max(10, Math.min(1000, Math.ceil(Math.min(headersMs, bodyMs) / 4))),
    },
    onRequest,
  )
  startTimeoutChecks(http)
  const sockets = new Set<Socket>()
  const stopWatching = watchReaders(sockets, readMs, minReadRate)

  const onConnection = (socket: Socket) => {
    if (socket.destroyed) return
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
    socket.on('error', ignore)
    // Counted from the connection on: single bytes do not extend the deadline.
    const deadline = setTimeout(() => socket.destroy(), firstByteMs)
    socket.once('close', () => clearTimeout(deadline))
    sniff(socket, Buffer.alloc(0), deadline)
  }
  const server = tls
    ? createTlsServer(
        {
          noDelay: true,
          handshakeTimeout: firstByteMs,
          ALPNCallback: chooseProtocol(onHttp2 ? ['h2', 'http/1.1'] : ['http/1.1']),
          ...tls,
        },
        (socket) => {
          // A connection keeps its client certificate until it closes.
          socket.disableRenegotiation()
          onConnection(socket)
        },
      )
    : createServer({ noDelay: true }, onConnection)
  limitConnections(server, connections, log)
  server.once('close', () => {
    http.close()
    stopWatching()
  })
  // Out of file descriptors: new connections wait in the backlog.
  server.on('error', ignore)

  function sniff(socket: Socket, before: Buffer, deadline: NodeJS.Timeout): void {
    socket.once('data', (chunk: Buffer) => {
      socket.pause()
      const seen = before.length === 0 ? chunk : Buffer.concat([before, chunk])
      const isPreface = onHttp2 && seen.subarray(0, http2Preface.length).equals(http2Preface.subarray(0, seen.length))
      if (isPreface && seen.length < http2Preface.length) {
        socket.resume()
        sniff(socket, seen, deadline)
        return
      }
      clearTimeout(deadline)
      socket.unshift(seen)
      // An HTTP/2 session drains the socket's buffer itself; HTTP/1.1 wants it flowing.
      if (isPreface) onHttp2(socket)
      else {
        socket.off('error', ignore)
        http.emit('connection', socket)
        socket.resume()
      }
    })
  }

  return {
    server,
    closeIdle: () => http.closeIdleConnections(),
    closeAll() {
      for (const socket of sockets) socket.destroy()
    },
  }
}

/** From this many waiting bytes on, a reader must keep to the minimum rate. */
const largeBacklog = 256 * 1024

interface Reading {
  /** The last progress. */
  sent: number
  sinceMs: number
  /** The start of the window in which the rate is measured. */
  windowSent: number
  windowMs: number
}

/**
 * Closes connections whose reader takes nothing for `readMs`, or takes less than the minimum rate while much waits for
 * it: unread bytes are kept in memory. A stream that is cut can be resumed.
 */
function watchReaders(sockets: ReadonlySet<Socket>, readMs: number, minReadRate: number): () => void {
  const readings = new WeakMap<Socket, Reading>()
  const timer = setInterval(
    () => {
      const now = performance.now()
      for (const socket of sockets) {
        if (socket.writableLength === 0) readings.delete(socket)
        else if (!isRead(socket, now)) socket.destroy()
      }
    },
    Math.max(10, Math.min(5_000, readMs / 4)),
  )
  const isRead = (socket: Socket, now: number): boolean => {
    const waiting = unsentBytes(socket)
    const sent = socket.bytesWritten - waiting
    const reading = readings.get(socket)
    if (!reading) {
      readings.set(socket, { sent, sinceMs: now, windowSent: sent, windowMs: now })
      return true
    }
    if (reading.sent === sent) {
      if (now - reading.sinceMs >= readMs) return false
    } else Object.assign(reading, { sent, sinceMs: now })
    const elapsedMs = now - reading.windowMs
    if (waiting >= largeBacklog) {
      if (elapsedMs < readMs) return true
      if ((sent - reading.windowSent) * 1000 < minReadRate * elapsedMs) return false
    }
    Object.assign(reading, { windowSent: sent, windowMs: now })
    return true
  }
  timer.unref()
  return () => clearInterval(timer)
}

/** Chooses the first supported protocol that a client offers. */
function chooseProtocol(supported: readonly string[]) {
  return ({ protocols }: { readonly protocols: readonly string[] }): string | undefined =>
    supported.find((protocol) => protocols.includes(protocol))
}

function ignore(): void {
  // The connection broke before it sent a request: there is nothing to report.
}

export interface ConnectionLimits {
  /** Maximum number of open connections; further ones are closed immediately. Default 10,000. */
  readonly max?: number
  /**
   * Connections from one address (IPv6: one /64 network). Default: 1,000 from a public address; loopback and private
   * addresses, which proxies have, count toward `max` only. A value given here holds for every address.
   */
  readonly maxPerAddress?: number
}

const defaultMax = 10_000
const defaultMaxPerPublicAddress = 1_000
/** Minimum time between two log entries, so that a flood of connections does not flood the log. */
const logEveryMs = 10_000

function limitConnections(server: Server, limits: ConnectionLimits = {}, log?: Log): void {
  const { max = defaultMax } = limits
  for (const [name, value] of Object.entries({ max, maxPerAddress: limits.maxPerAddress ?? 1 }))
    if (!(value >= 1)) throw new TypeError(`connections.${name} must be a number from 1 on`)
  const perAddress = new AddressCount(limits.maxPerAddress)
  const refused = refusals(log)
  server.maxConnections = max
  server.on('drop', () => refused(`${max} are open (connections.max)`))
  // Before the listeners that would begin a TLS handshake or read the first bytes.
  server.prependListener('connection', (socket: Socket) => {
    const { remoteAddress = '' } = socket
    if (perAddress.add(remoteAddress)) socket.once('close', () => perAddress.remove(remoteAddress))
    else {
      socket.destroy()
      refused(`too many are open from ${remoteAddress} (connections.maxPerAddress)`)
    }
  })
}

export class AddressCount {
  readonly #max: number | undefined
  readonly #counts = new Map<string, number>()

  constructor(max: number | undefined) {
    this.#max = max
  }

  /** Counts a connection. Returns false, without counting it, if its address has reached the limit. */
  add(address: string): boolean {
    const key = addressKey(address)
    const count = this.#counts.get(key) ?? 0
    if (count >= (this.#max ?? defaultMaxFor(address, count))) return false
    this.#counts.set(key, count + 1)
    return true
  }

  remove(address: string): void {
    const key = addressKey(address)
    const left = (this.#counts.get(key) ?? 0) - 1
    if (left > 0) this.#counts.set(key, left)
    else this.#counts.delete(key)
  }
}

function defaultMaxFor(address: string, count: number): number {
  // Classifying parses the address, so it is skipped below the limit.
  const isBounded = count >= defaultMaxPerPublicAddress && classifyAddress(address) === 'public'
  return isBounded ? defaultMaxPerPublicAddress : Number.POSITIVE_INFINITY
}

function refusals(log: Log | undefined): (why: string) => void {
  let count = 0
  let loggedMs = Number.NEGATIVE_INFINITY
  return (why) => {
    count += 1
    const now = performance.now()
    if (now - loggedMs < logEveryMs) return
    log?.({ level: 'warn', message: `Connections were refused, ${count} since the last entry: ${why}` })
    loggedMs = now
    count = 0
  }
}
