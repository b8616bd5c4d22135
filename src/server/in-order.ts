import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** Pipelined requests that may wait on one connection. */
const maxWaiting = 100

type Listener = (request: IncomingMessage, response: ServerResponse) => void

/**
 * Starts a pipelined request when all responses before it have been sent. Node hands over every request as soon as it
 * is parsed and buffers the responses behind the first one, without a bound. A connection with more than 100 waiting
 * requests is closed; clients must expect that (RFC 9112, 9.3.2).
 */
export function inOrder(start: Listener): Listener {
  const waiting = new WeakMap<Socket, number>()
  return (request, response) => {
    // Set while the response is the one whose turn it is. Other runtimes than Node do not hand over requests early.
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
    // Not emitted when the connection closes before: then there is no caller to answer.
    response.once('socket', () => {
      waiting.set(socket, (waiting.get(socket) ?? 1) - 1)
      start(request, response)
    })
  }
}

const isOtherRuntime = 'bun' in process.versions || 'deno' in process.versions
