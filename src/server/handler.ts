/** Agents as one function from `Request` to `Response`, without a port. `serve` and the framework mounts use it. */

import { assertOptions } from '../model/option-names.js'
import { toSigner } from '../signing/signer.js'
import { assemble, type FetchHandler } from './assemble.js'
import { settleLog } from './default-log.js'
import { assertPublicUrl } from './hosts.js'
import type { Agents } from './mounts.js'
import { useStore } from './open-store.js'
import { type HandlerOptions, handlerOptions, settleOptions } from './options.js'

/**
 * Creates the handler. Cards need `publicUrl`; without it their addresses begin with `http://localhost`.
 *
 * ```ts
 * const handler = await createHandler(agent, { publicUrl: 'https://agents.example/shout' })
 * const response = await handler.fetch(request)
 * ```
 */
export async function createHandler(agents: Agents, options: HandlerOptions = {}): Promise<FetchHandler> {
  assertOptions('createHandler', options, handlerOptions)
  assertPublicUrl(options.publicUrl)
  const settled = settleOptions(options, settleLog(options.log))
  const signer = settled.signing && (await toSigner(settled.signing))
  const { store, release } = await useStore(options.store, settled.log)
  const assembly = await assemble(agents, settled, { store, signer }).catch(async (error: unknown) => {
    await release()
    throw error
  })
  const { fetch, services, push, agents: served, mounts, provideCredential } = assembly
  const close: FetchHandler['close'] = async (closing) => {
    await assembly.close(closing)
    await release()
  }
  return { fetch, services, push, agents: served, mounts, provideCredential, close }
}
