import type { FetchHandler } from './handler.js'

type Mountable = Pick<FetchHandler, 'fetch'>
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
