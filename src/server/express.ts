import type { FetchHandler } from './handler.js'
import { type NodeListener, toNodeListener } from './node.js'

/**
 * The handler as Express middleware. Mount it before body parsers, or on a path they do not touch.
 *
 * ```ts
 * app.use('/agents/shout', expressMount(handler))
 * ```
 */
export function expressMount(handler: Pick<FetchHandler, 'fetch'>): NodeListener {
  // Express strips the mount path from `request.url`, which is what the handler expects.
  return toNodeListener(handler)
}
