/**
 * One port for every binding. The listener reads a connection's first bytes, puts them back and hands
 * the socket to the server that understands it: HTTP/1.1 today, HTTP/2 (gRPC) when one is given.
 *
 * A server that is fed connections this way does not run Node's own header and request time-outs, so
 * the deadlines are kept here. They are checked by one sweep over all connections instead of timers
 * per request: a request costs one event and two assignments.
 */
import type { Server as HttpServer, IncomingMessage, ServerResponse } from 'node:http'
import { createServer, type Server, type Socket } from 'node:net'

export interface Deadlines {
  /** From the connection to its first byte. Default 10 s. */
  readonly firstByteMs?: number
  /** From the first byte of a request to the end of its headers. Default 10 s. */
  readonly headersMs?: number
  /** From the headers to the end of the body. Default 60 s. */
  readonly bodyMs?: number
}

export interface Listener {
  readonly server: Server
  /** Closes idle connections now, and the others when their answers are written. */
  closeIdle(): void
  closeAll(): void
}

const http2Preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
const timedOut = 'HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n'
const noHttp2 = 'HTTP/1.1 505 HTTP Version Not Supported\r\nConnection: close\r\nContent-Length: 0\r\n\r\n'

interface Connection {
  phase: 'first-byte' | 'headers' | 'exchange' | 'idle'
  sinceMs: number
  request?: IncomingMessage
  response?: ServerResponse
  /** What had been read when the connection was last seen idle. */
  bytesSeen: number
}

export function createListener(
  http: HttpServer,
  deadlines: Deadlines = {},
  onHttp2?: (socket: Socket) => void,
): Listener {
  const { firstByteMs = 10_000, headersMs = 10_000, bodyMs = 60_000 } = deadlines
  const connections = new Map<Socket, Connection>()
  const sweepMs = Math.max(10, Math.min(1000, Math.min(firstByteMs, headersMs, bodyMs) / 4))

  const server = createServer({ noDelay: true }, (socket) => {
    connections.set(socket, { phase: 'first-byte', sinceMs: Date.now(), bytesSeen: 0 })
    socket.once('close', () => connections.delete(socket))
    socket.on('error', ignore)
    sniff(socket, Buffer.alloc(0))
  })

  function sniff(socket: Socket, before: Buffer): void {
    socket.once('data', (chunk: Buffer) => {
      socket.pause()
      const seen = before.length === 0 ? chunk : Buffer.concat([before, chunk])
      const isPreface = seen.subarray(0, http2Preface.length).equals(http2Preface.subarray(0, seen.length))
      if (isPreface && seen.length < http2Preface.length) return sniff(resumed(socket), seen)
      const connection = connections.get(socket)
      if (!connection) return
      if (isPreface) {
        if (!onHttp2) return void socket.end(noHttp2)
        connection.phase = 'exchange'
        socket.unshift(seen)
        return onHttp2(socket)
      }
      connection.phase = 'headers'
      connection.sinceMs = Date.now()
      socket.off('error', ignore)
      socket.unshift(seen)
      http.emit('connection', socket)
      socket.resume()
    })
  }

  http.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const connection = connections.get(request.socket)
    if (!connection) return
    connection.phase = 'exchange'
    connection.sinceMs = now
    connection.request = request
    connection.response = response
  })

  let now = Date.now()
  const sweep = setInterval(() => {
    now = Date.now()
    for (const [socket, connection] of connections) {
      settle(socket, connection)
      const age = now - connection.sinceMs
      if (connection.phase === 'first-byte' && age > firstByteMs) socket.destroy()
      else if (connection.phase === 'headers' && age > headersMs) refuse(socket)
      else if (connection.phase === 'exchange' && connection.request?.complete === false && age > bodyMs) refuse(socket)
    }
  }, sweepMs)
  sweep.unref()
  server.once('close', () => clearInterval(sweep))

  /** Notices the end of an exchange, and bytes of a next request whose headers are not complete. */
  function settle(socket: Socket, connection: Connection): void {
    if (connection.phase === 'exchange' && connection.response?.writableFinished && connection.request?.complete) {
      connection.phase = 'idle'
      connection.bytesSeen = socket.bytesRead
      delete connection.request
      delete connection.response
    } else if (connection.phase === 'idle' && socket.bytesRead > connection.bytesSeen) {
      connection.phase = 'headers'
      connection.sinceMs = now
    }
  }

  return {
    server,
    closeIdle() {
      for (const [socket, { phase, response }] of connections) {
        if (phase !== 'exchange' || response?.writableFinished) socket.destroy()
        else if (response && !response.headersSent) response.setHeader('connection', 'close')
      }
    },
    closeAll() {
      for (const socket of connections.keys()) socket.destroy()
    },
  }
}

function refuse(socket: Socket): void {
  if (socket.writable) socket.end(timedOut)
  socket.destroySoon()
}

function resumed(socket: Socket): Socket {
  socket.resume()
  return socket
}

function ignore(): void {
  // A connection that breaks before anything was asked is nobody's business.
}
