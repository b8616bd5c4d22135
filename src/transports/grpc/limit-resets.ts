/**
 * Bounds requests that a client opens and resets at once (HTTP/2 rapid reset): each costs the server a stream, and
 * the limit on concurrent streams does not count them. A connection beyond the limit is closed with GOAWAY and the
 * code ENHANCE_YOUR_CALM. Calls that are cancelled later than a second after their start do not count.
 */
import { constants, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2'
import type { Server } from '@grpc/grpc-js'
import { http2ServersOf } from '../../net/node-internals.js'

/** Rapid resets of one connection: so many at once, and so many more each second. */
const burst = 100
const perSecond = 10
const rapidMs = 1000

/** Has no effect if the HTTP/2 servers inside the gRPC server are not found; the limits of grpc-js hold then. */
export function limitResets(server: Server): void {
  for (const http2Server of http2ServersOf(server)) http2Server.on('session', watchSession)
}

function watchSession(session: ServerHttp2Session): void {
  let left = burst
  let atMs = performance.now()
  let isClosing = false
  const onReset = (now: number) => {
    left = Math.min(burst, left + ((now - atMs) / 1000) * perSecond) - 1
    atMs = now
    if (left >= 0 || isClosing) return
    isClosing = true
    // A stream closes while the session is still reading frames; destroying the session then aborts the process.
    setImmediate(() => {
      if (session.destroyed) return
      session.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM)
      session.destroy(undefined, constants.NGHTTP2_ENHANCE_YOUR_CALM)
    })
  }
  session.on('stream', (stream: ServerHttp2Stream) => {
    const openedMs = performance.now()
    stream.once('close', () => {
      const now = performance.now()
      // Clients and servers also use NO_ERROR when the response is complete. `aborted` means that it is not.
      const isReset = stream.rstCode !== constants.NGHTTP2_NO_ERROR || stream.aborted
      if (isReset && now - openedMs < rapidMs) onReset(now)
    })
  })
}
