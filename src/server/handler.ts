/**
 * Agents as one function from `Request` to `Response`. No port: `serve` and the framework mounts put it
 * behind one.
 */

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
  /** Answers a request. Who knows the connection it came on says so: client certificates and addresses are found there. */
  readonly fetch: (request: Request, connection?: Connection) => Promise<Response>
  /** The operations of each agent, by name: for calls inside this process. */
  readonly services: ReadonlyMap<string, AgentService>
  /** For operators: deliveries to webhooks that were given up. */
  readonly push: PushOperations
  /**
   * Hands in the credential that a task in AUTH_REQUIRED waits for, however it came here; the task goes on.
   * `agent` is the agent's name, needed where there are several.
   */
  provideCredential(provided: ProvidedCredential & { readonly agent?: string }): Promise<void>
  /** The name and the address of each agent. */
  readonly agents: readonly { readonly name: string; readonly url: string }[]
  /** Where each agent is mounted. */
  readonly mounts: readonly Mount[]
  /** Stops admitting, waits for running turns up to the deadline, hands the rest over, closes the store it opened. */
  close(options?: { readonly deadlineMs?: number }): Promise<void>
}

/**
 * Makes the handler. Cards need `publicUrl`; without it they say `http://localhost`.
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
