/**
 * Keeps agents in a registry: published when they are served, renewed while they are, published again when the
 * registry has lost them, withdrawn in the end. Nothing here ever stops an agent: a registry that does not answer is
 * tried again, ever more rarely, and the log says so once.
 */
import type { Log } from '../engine/internals.js'
import type { RegisteredAddress } from './card-forms.js'
import { pause } from './pause.js'

export interface RegisterOptions {
  /** Of the registry, such as `https://registry.example`. */
  readonly url: string
  /** Default `public`. */
  readonly namespace?: string
  readonly tags?: readonly string[]
  /** Credentials for the registry, such as `{ 'x-api-key': '…' }`. */
  readonly headers?: Readonly<Record<string, string>>
  /** How long the registry keeps an agent that it does not hear from. Default 30. */
  readonly ttlSeconds?: number
  /**
   * Which address older readers of the card find in its `url`: 0.3's (default), or that of chat-rpc, for clients of that
   * dialect. Readers of v1.0 find all interfaces either way.
   */
  readonly address?: RegisteredAddress
  /** Lets the registry send this now and then, to see that a real call succeeds. Default: it does not. */
  readonly probe?: { readonly text: string }
}

export interface AnnouncedAgent {
  readonly name: string
  readonly url: string
  /** For registries. */
  readonly card: object
}

const firstDelayMs = 500
const longestDelayMs = 60_000
const callTimeoutMs = 10_000
/** A closing port does not wait longer than this for its registry. */
const farewellMs = 2000

export function announce(
  agents: readonly AnnouncedAgent[],
  register: string | RegisterOptions,
  log: Log = () => undefined,
): { withdraw(): Promise<void> } {
  const options: RegisterOptions = typeof register === 'string' ? { url: register } : register
  if (!URL.canParse(options.url)) throw new TypeError(`\`register\` is no address: ${JSON.stringify(options.url)}`)
  const kept = agents.map((agent) => new Announcement(agent, options, log))
  for (const each of kept) each.start()
  return {
    async withdraw() {
      await Promise.all(kept.map((each) => each.withdraw()))
    },
  }
}

class Announcement {
  readonly #agent: AnnouncedAgent
  readonly #options: RegisterOptions
  readonly #log: Log
  readonly #stopped = new AbortController()
  #running: Promise<void> = Promise.resolve()
  /** As the registry knows it, once it does. */
  #published: { readonly version: string; readonly instance: string } | undefined

  constructor(agent: AnnouncedAgent, options: RegisterOptions, log: Log) {
    this.#agent = agent
    this.#options = options
    this.#log = log
  }

  start(): void {
    this.#running = this.#keep()
  }

  async withdraw(): Promise<void> {
    this.#stopped.abort()
    await this.#running
    const known = this.#published
    if (!known) return
    try {
      await this.#call('DELETE', `?${new URLSearchParams(known)}`, undefined, AbortSignal.timeout(farewellMs))
    } catch (error) {
      // Its lease runs out all the same.
      this.#tell('warn', 'The registry could not be told that the agent is gone', error)
    }
  }

  async #keep(): Promise<void> {
    const { ttlSeconds = 30 } = this.#options
    const { signal } = this.#stopped
    for (let failures = 0; !signal.aborted; ) {
      try {
        await this.#step(ttlSeconds)
        if (failures > 0) this.#tell('info', 'The registry answers again')
        failures = 0
      } catch (error) {
        if (signal.aborted) return
        if (failures === 0) this.#tell('warn', 'The registry could not be reached, it is tried again', error)
        failures += 1
      }
      const delayMs =
        failures === 0 ? (ttlSeconds * 1000) / 3 : Math.min(longestDelayMs, firstDelayMs * 2 ** (failures - 1))
      await pause(delayMs * (0.8 + Math.random() * 0.4), signal)
    }
  }

  async #step(ttlSeconds: number): Promise<void> {
    const deadline = AbortSignal.any([this.#stopped.signal, AbortSignal.timeout(callTimeoutMs)])
    if (this.#published) {
      const { status } = await this.#call('POST', '/renew', this.#published, deadline)
      if (status !== 404) return
      this.#published = undefined // it was away too long, or the registry has forgotten
    }
    const { tags, probe } = this.#options
    const { card, url } = this.#agent
    const body = { card, ttlSeconds, instance: url, ...(tags && { tags }), ...(probe && { probe }) }
    await this.#call('PUT', '', body, deadline)
    this.#published = { version: String((card as { version?: unknown }).version ?? ''), instance: url }
  }

  async #call(method: string, rest: string, body: unknown, signal: AbortSignal): Promise<Response> {
    const { url, namespace = 'public', headers = {} } = this.#options
    const base = url.replace(/\/+$/, '')
    const place = [namespace, this.#agent.name].map(encodeURIComponent).join('/')
    const response = await fetch(`${base}/v1/agents/${place}${rest}`, {
      method,
      headers: { ...headers, 'content-type': 'application/json' },
      signal,
      redirect: 'error',
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    if (response.ok || (response.status === 404 && method !== 'PUT')) return response
    throw new Error(`HTTP ${response.status} ${text.slice(0, 500)}`)
  }

  #tell(level: 'info' | 'warn', message: string, error?: unknown): void {
    this.#log({ level, message, agent: this.#agent.name, ...(error !== undefined && { error }) })
  }
}
