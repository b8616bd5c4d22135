import type { IncomingMessage, ServerResponse } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import type { Handler } from './handler.js'

export type NodeListener = (request: IncomingMessage, response: ServerResponse) => void

/** The handler for `http.createServer`. */
export function toNodeListener({ fetch }: Pick<Handler, 'fetch'>): NodeListener {
  const endOfTick = createEndOfTick()
  const answer = async (request: Request): Promise<Response> => {
    const response = await fetch(request)
    await endOfTick()
    return response
  }
  const listener = getRequestListener(answer, { errorHandler: () => new Response(null, { status: 400 }) })
  return (request, response) => {
    listener(request, response).catch(() => response.destroy()) // the answer could not be written
  }
}

/**
 * Answers that become ready in one turn of the event loop leave together. Written one by one, each
 * write wakes a peer that has gone to sleep again in between: under load that took half of the time.
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
