import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FetchHandler } from './handler.js'
import { toNodeListener } from './node.js'

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
export function fastifyMount(handler: Pick<FetchHandler, 'fetch'>): (app: FastifyLike) => Promise<void> {
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
