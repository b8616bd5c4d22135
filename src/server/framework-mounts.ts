import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FetchHandler } from './assemble.js'
import { type NodeListener, toNodeListener } from './node.js'
import { PeerConnection } from './node-exchange.js'

/** The parts of a handler that mounts use. */
type Mountable = Pick<FetchHandler, 'fetch'>

/** The parts of Fastify that are used, so that it need not be installed. */
interface FastifyLike {
  readonly prefix: string
  removeAllContentTypeParsers(): void
  addContentTypeParser(
    contentType: string,
    parser: (request: unknown, payload: unknown, done: (error: null) => void) => void,
  ): void
  all(
    path: string,
    handler: (
      request: { readonly raw: IncomingMessage },
      reply: { readonly raw: ServerResponse; hijack(): unknown },
    ) => void,
  ): unknown
}

/**
 * The handler as a Fastify plugin.
 *
 * ```ts
 * await app.register(fastifyMount(handler), { prefix: '/agents/shout' })
 * ```
 */
export function fastifyMount(handler: Mountable): (app: FastifyLike) => Promise<void> {
  const listener = toNodeListener(handler)
  return async (app) => {
    // The handler reads bodies itself, with its own limits and errors.
    app.removeAllContentTypeParsers()
    app.addContentTypeParser('*', (_request, _payload, done) => done(null))
    const answer: Parameters<FastifyLike['all']>[1] = ({ raw: request }, reply) => {
      reply.hijack()
      request.url = (request.url ?? '/').slice(app.prefix.length) || '/'
      listener(request, reply.raw)
    }
    app.all('/', answer)
    app.all('/*', answer)
  }
}

/**
 * The handler as Express middleware. Mount it before body parsers, or on a path they do not touch.
 *
 * ```ts
 * app.use('/agents/shout', expressMount(handler))
 * ```
 */
export function expressMount(handler: Mountable): NodeListener {
  // Express strips the mount path from `request.url`, which is what the handler expects.
  return toNodeListener(handler)
}

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
export function honoMount({ fetch }: Mountable): HonoMount {
  return (given, bindings) => {
    const [request, env] = 'req' in given ? [given.req.raw, given.env] : [given, bindings]
    // Only `@hono/node-server` passes the connection.
    const { incoming } = (env ?? {}) as { readonly incoming?: IncomingMessage }
    return incoming ? fetch(request, new PeerConnection(incoming.socket)) : fetch(request)
  }
}

type RouteHandler = (request: Request) => Promise<Response>

/** The route handlers that Next.js takes from a `route.ts`. */
export type NextRoutes = Readonly<
  Record<'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS', RouteHandler>
>

/**
 * The handler as the exports of `app/api/a2a/[[...path]]/route.ts` in Next.js. `publicUrl` or `basePath` has to name the
 * path. A function is called with the first request, so that `next build` opens no store.
 *
 * ```ts
 * export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = nextMount(() =>
 *   createHandler(shout, { publicUrl: 'https://shop.example/api/a2a' }),
 * )
 * ```
 */
export function nextMount(handler: Mountable | (() => Promise<Mountable>)): NextRoutes {
  let created: Promise<Mountable> | undefined
  const create = (open: () => Promise<Mountable>): Promise<Mountable> => {
    created ??= open().catch((error: unknown) => {
      // The next request tries again.
      created = undefined
      throw error
    })
    return created
  }
  const answer: RouteHandler = async (request) => {
    const { fetch } = typeof handler === 'function' ? await create(handler) : handler
    return await fetch(request)
  }
  return { GET: answer, HEAD: answer, POST: answer, PUT: answer, PATCH: answer, DELETE: answer, OPTIONS: answer }
}
