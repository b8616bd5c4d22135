/**
 * Publishes agents in a registry while they are served: renews their leases, publishes again if the registry lost them,
 * withdraws them when the server closes. A registry failure never stops an agent: calls are retried with backoff, and
 * the failure is logged once.
 */

import { setTimeout as pause } from 'node:timers/promises'
import type { DialectName } from '../dialects/dialect.js'
import { canParseUrl } from '../model/can-parse-url.js'
import type { Log } from '../model/log.js'
import { type RegistryClient, registryClient } from '../registry-client/registry-client.js'
import { RegistryError } from '../registry-client/registry-error.js'

/** A registry and how agents are published in it. */
export interface RegisterOptions {
  /** Address of the registry, such as `https://registry.example`. */
  readonly url: string
  /** Default `public`. */
  readonly namespace?: string
  readonly tags?: readonly string[]
  /** Credentials for the registry, such as `{ 'x-api-key': '…' }`. */
  readonly headers?: Readonly<Record<string, string>>
  /** The lease of an agent, in seconds: the registry removes it if no renewal arrives. Default 30. */
  readonly ttlSeconds?: number
  /**
   * The dialect whose address the card has in `url`, which older readers use: 0.3 (default) or chat-rpc. Readers of
   * v1.0 find all interfaces in either case.
   */
  readonly address?: DialectName
  /** A text that the registry sends from time to time to check that a real call succeeds. Default: none. */
  readonly probe?: { readonly text: string }
}

export interface AnnouncedAgent {
  readonly name: string
  readonly url: string
  /** The current card for registries. It changes when the signing keys change. */
  readonly card: () => Promise<object>
}

const firstDelayMs = 500
const maxDelayMs = 60_000
/** Time that a closing port waits for the running call, and again for the withdrawal. */
const withdrawTimeoutMs = 1000

/** Throws `TypeError` for invalid options, before anything is opened. */
export function settleRegister(register: string | RegisterOptions): RegisterOptions {
  const options = typeof register === 'string' ? { url: register } : register
  if (canParseUrl(options.url) && /^https?:$/.test(new URL(options.url).protocol)) return options
  throw new TypeError(
    `Invalid address in \`register\`: ${JSON.stringify(options.url)}; write 'https://registry.example'`,
  )
}

export function announce(
  agents: readonly AnnouncedAgent[],
  options: RegisterOptions,
  log: Log = () => undefined,
): { withdraw(): Promise<void> } {
  const kept = agents.map((agent) => new Announcement(agent, options, log))
  for (const each of kept) each.start()
  return {
    async withdraw() {
      await Promise.all(kept.map((each) => each.withdraw()))
    },
  }
}

/** Distinguishes a registry that rejects the agent from one that is unreachable. */
function describeFailure(error: unknown): string {
  return error instanceof RegistryError
    ? `The registry refused the agent, it is asked again: ${error.message}`
    : 'The registry could not be reached, it is tried again'
}

class Announcement {
  readonly #agent: AnnouncedAgent
  readonly #options: RegisterOptions
  readonly #registry: RegistryClient
  readonly #log: Log
  /** Aborted: no new call is started. */
  readonly #stopping = new AbortController()
  /** Aborted: the running call is abandoned. */
  readonly #aborting = new AbortController()
  #running: Promise<void> = Promise.resolve()
  /** Set before the call, because an interrupted call may have reached the registry. */
  #place: { readonly version: string; readonly instance: string } | undefined
  #isPublished = false
  #published: object | undefined

  constructor(agent: AnnouncedAgent, options: RegisterOptions, log: Log) {
    this.#agent = agent
    this.#options = options
    const { namespace, headers } = options
    this.#registry = registryClient(options.url, {
      ...(namespace !== undefined && { namespace }),
      ...(headers && { headers }),
    })
    this.#log = log
  }

  start(): void {
    this.#running = this.#keep()
  }

  async withdraw(): Promise<void> {
    this.#stopping.abort()
    const timer = setTimeout(() => this.#aborting.abort(), withdrawTimeoutMs)
    await this.#running
    clearTimeout(timer)
    if (!this.#place) return
    try {
      await this.#registry.withdraw(this.#agent.name, this.#place, { signal: AbortSignal.timeout(withdrawTimeoutMs) })
    } catch (error) {
      const isGone = error instanceof RegistryError && error.code === 'NOT_FOUND'
      // Without the withdrawal, the lease expires.
      if (this.#isPublished && !isGone)
        this.#report('warn', 'The agent could not be withdrawn from the registry', error)
    }
  }

  async #keep(): Promise<void> {
    const { ttlSeconds = 30 } = this.#options
    const { signal } = this.#stopping
    for (let failures = 0; !signal.aborted; ) {
      try {
        await this.#step(ttlSeconds)
        if (failures > 0) this.#report('info', 'The registry answers again')
        failures = 0
      } catch (error) {
        if (signal.aborted) return
        if (failures === 0) this.#report('warn', describeFailure(error), error)
        failures += 1
      }
      const delayMs =
        failures === 0 ? (ttlSeconds * 1000) / 3 : Math.min(maxDelayMs, firstDelayMs * 2 ** (failures - 1))
      const options = { signal, ref: false }
      await pause(delayMs * (0.8 + Math.random() * 0.4), undefined, options).catch(() => undefined) // looked at above
    }
  }

  async #step(ttlSeconds: number): Promise<void> {
    const { name, url: instance } = this.#agent
    const { signal } = this.#aborting
    const card = await this.#agent.card()
    if (this.#isPublished && this.#place && card === this.#published) {
      this.#isPublished = await this.#registry.renew(name, this.#place, { signal })
      if (this.#isPublished) return // otherwise the lease expired, or the registry lost the agent
    }
    const { tags, probe } = this.#options
    this.#place = { version: String((card as { readonly version?: unknown }).version ?? ''), instance }
    const request = { card, ttlSeconds, instance, ...(tags && { tags }), ...(probe && { probe }) }
    await this.#registry.publish(name, request, { signal })
    this.#isPublished = true
    this.#published = card
  }

  #report(level: 'info' | 'warn', message: string, error?: unknown): void {
    this.#log({ level, message, agent: this.#agent.name, ...(error !== undefined && { error }) })
  }
}
