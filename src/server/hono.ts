import type { HttpBindings } from '@hono/node-server'
import type { FetchHandler } from './handler.js'
import { PeerConnection } from './node.js'

/** The part of Hono's context that is used, so that any version of Hono will do. */
interface HonoContext {
  readonly req: { readonly raw: Request }
  readonly env: unknown
}

/** A handler for Hono's `mount` and for its routes. */
export type HonoMount = (given: Request | HonoContext, env?: unknown) => Promise<Response>

/**
 * The handler for Hono's `mount`, which removes the path, and for `all`, where `publicUrl` or `basePath` has to name it.
 *
 * ```ts
 * app.mount('/agents/shout', honoMount(handler))
 * ```
 */
export function honoMount({ fetch }: Pick<FetchHandler, 'fetch'>): HonoMount {
  return (given, bindings) => {
    const [request, env] = 'req' in given ? [given.req.raw, given.env] : [given, bindings]
    // Only `@hono/node-server` passes the connection.
    const { incoming } = (env ?? {}) as Partial<HttpBindings>
    return incoming ? fetch(request, new PeerConnection(incoming.socket)) : fetch(request)
  }
}
