/** Agents as one function from `Request` to `Response`, without a port. `serve` and the framework mounts use it. */

import type { Connection } from '../auth/scheme.js'
import type { ProvidedCredential } from '../engine/admission/provide-credential.js'
import { assertOptions } from '../model/option-names.js'
import type { AgentService } from '../model/service.js'
import type { PushOperations } from '../push/dead-letters.js'
import { toSigner } from '../signing/signer.js'
import { assemble } from './assemble.js'
import { settleLog } from './default-log.js'
import { assertPublicUrl } from './hosts.js'
import type { Agents, Mount } from './mounts.js'
import { useStore } from './open-store.js'
import { type HandlerOptions, handlerOptions, settleOptions } from './options.js'

/** Agents as a function from `Request` to `Response`, with their operations. */
export interface FetchHandler {
  /** Answers a request. Pass the connection if you have it: it supplies the client certificate and the address. */
  readonly fetch: (request: Request, connection?: Connection) => Promise<Response>
  /** The operations of each agent, by name: for calls inside this process. */
  readonly services: ReadonlyMap<string, AgentService>
  /** For operators: deliveries to webhooks that were given up. */
  readonly push: PushOperations
  /**
   * Supplies the credential that a task in AUTH_REQUIRED waits for, from any source; the task continues. `agent` is the
   * agent's name, required if there are several.
   */
  provideCredential(provided: ProvidedCredential & { readonly agent?: string }): Promise<void>
  /** The name and the address of each agent. */
  readonly agents: readonly { readonly name: string; readonly url: string }[]
  /** The mount path of each agent. */
  readonly mounts: readonly Mount[]
  /** Stops admitting calls, waits for running turns up to the deadline, hands over the rest, closes its own store. */
  close(options?: { readonly deadlineMs?: number }): Promise<void>
}

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
