import { assertOptions } from '../model/option-names.js'
import { assemble, type FetchHandler } from '../server/assemble.js'
import { settleLog } from '../server/default-log.js'
import { assertPublicUrl } from '../server/hosts.js'
import type { Agents } from '../server/mounts.js'
import { type HandlerOptions, handlerOptions, settleOptions } from '../server/options.js'
import { toSigner } from '../signing/signer.js'
import { completeStore } from '../stores/complete-store.js'
import { simpleStore } from '../stores/simple/simple-store.js'
import type { CompleteStore } from '../stores/store.js'
import { type ObjectStorage, sqlDocuments } from './sql-documents.js'

/** The part of a Durable Object's state that is used, so that its types need not be installed. */
export interface ObjectState {
  readonly storage: ObjectStorage
}

/** Options of `agentObject`: those of `createHandler`, except `store` and `push`, which the object does not have. */
export interface AgentObjectOptions extends Omit<HandlerOptions, 'store' | 'push'> {
  /** The address that clients use, for cards. */
  readonly publicUrl: string
  /** Accepted schemes; `'none'` allows every caller. Required, because Workers are on the internet. */
  readonly auth: NonNullable<HandlerOptions['auth']>
}

/** An object that answers the requests for its agents. */
export interface AgentObject {
  fetch(request: Request): Promise<Response>
  /** Called by the platform. Continues the tasks of an object that was restarted. */
  alarm(): Promise<void>
}

const { store: _store, push: _push, ...objectOptions } = handlerOptions

/** Time between two alarms while tasks run. The platform removes objects without events from memory after about a minute. */
const alarmMs = 30_000

/**
 * Returns a class for a Durable Object with SQLite storage. The object serves the agents and stores their tasks. Options that
 * need secrets can be a function of the environment. There are no webhooks and no gRPC.
 *
 * ```ts
 * export const Shout = agentObject(shout, (env) => ({ publicUrl: 'https://shout.example', auth: bearer(env.TOKEN) }))
 * export default { fetch: (request, env) => env.SHOUT.getByName('shout').fetch(request) }
 * ```
 */
export function agentObject<Env = unknown>(
  agents: Agents,
  options: AgentObjectOptions | ((env: Env) => AgentObjectOptions),
): new (
  state: ObjectState,
  env: Env,
) => AgentObject {
  if (typeof options !== 'function') assertObjectOptions(options)
  return class implements AgentObject {
    readonly #storage: ObjectStorage
    readonly #options: AgentObjectOptions
    #opened: Promise<OpenObject> | undefined

    constructor({ storage }: ObjectState, env: Env) {
      this.#storage = storage
      this.#options = typeof options === 'function' ? options(env) : options
      assertObjectOptions(this.#options)
    }

    async fetch(request: Request): Promise<Response> {
      const { handler } = await this.#open()
      // Before the request can start a task, so that a restarted object continues it without another request.
      if (request.method === 'POST' && (await this.#storage.getAlarm()) === null) await this.#setAlarm()
      return await handler.fetch(request)
    }

    async alarm(): Promise<void> {
      // Opening the store continues the tasks that were interrupted.
      const { store, handler } = await this.#open()
      const stats = await store.stats(handler.agents.map(({ name }) => name))
      const isRunning = stats.some(({ unheldTasks, leaseEndsInMs }) => unheldTasks > 0 || leaseEndsInMs !== undefined)
      if (isRunning) await this.#setAlarm()
    }

    #setAlarm(): Promise<void> {
      return this.#storage.setAlarm(Date.now() + alarmMs)
    }

    #open(): Promise<OpenObject> {
      this.#opened ??= openObject(agents, this.#options, this.#storage).catch((error: unknown) => {
        // The next request tries again.
        this.#opened = undefined
        throw error
      })
      return this.#opened
    }
  }
}

function assertObjectOptions(options: AgentObjectOptions): void {
  assertOptions('agentObject', options, objectOptions)
  if (options.publicUrl === undefined) throw new TypeError('agentObject needs `publicUrl`, the address for cards')
  assertPublicUrl(options.publicUrl)
  if (options.auth === undefined)
    throw new TypeError("agentObject needs `auth`, because Workers are on the internet; `'none'` allows every caller")
}

interface OpenObject {
  readonly handler: FetchHandler
  readonly store: CompleteStore
}

async function openObject(agents: Agents, options: AgentObjectOptions, storage: ObjectStorage): Promise<OpenObject> {
  const settled = settleOptions(options, settleLog(options.log))
  const signer = settled.signing && (await toSigner(settled.signing))
  const onNotice = (message: string, level: 'warn' | 'error' = 'warn') => settled.log?.({ level, message })
  // Workers cannot check the address of a webhook when they connect to it, so there are no webhooks.
  const { deliveries: _, ...tasks } = await simpleStore(sqlDocuments(storage), { onNotice })
  const store = completeStore(tasks)
  return { store, handler: await assemble(agents, settled, { store, signer }) }
}
