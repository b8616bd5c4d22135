import type { IncomingMessage, ServerResponse } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import type { Handler } from './handler.js'

export type NodeListener = (request: IncomingMessage, response: ServerResponse) => void

/** The handler for `http.createServer`. */
export function toNodeListener({ fetch }: Pick<Handler, 'fetch'>): NodeListener {
  const listener = getRequestListener(fetch, { errorHandler: () => new Response(null, { status: 400 }) })
  return (request, response) => {
    listener(request, response).catch(() => response.destroy()) // the answer could not be written
  }
}
