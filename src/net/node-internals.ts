/**
 * Every use of a member that Node.js does not document. Each function states what happens if the member
 * changes, and has a test that fails then.
 */
import type { Server as HttpServer } from 'node:http'
import type { Socket } from 'node:net'

/**
 * Counts the bytes of a socket that the operating system has not taken. `writableLength` counts a write until all of it is
 * taken; the handle of the socket counts the rest of a write. Without that member, `writableLength` is the answer.
 */
export function unsentBytes(socket: Socket): number {
  const { _handle: handle } = socket as { readonly _handle?: { readonly writeQueueSize?: unknown } }
  return typeof handle?.writeQueueSize === 'number' ? handle.writeQueueSize : socket.writableLength
}

/**
 * Starts the checks of `headersTimeout` and `requestTimeout` in a server that does not listen and gets its sockets with
 * `emit('connection', socket)`. Node.js starts them with the event `listening`. If that changes, slow requests are not ended.
 */
export function startTimeoutChecks(server: HttpServer): void {
  server.emit('listening')
}
