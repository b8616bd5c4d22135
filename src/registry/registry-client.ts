/** A registry from outside, by its own door. */
import { isObject } from '../dialects/decode.js'
import type { AgentCard } from '../model/agent-card.js'
import { readSse } from '../transports/sse-reader.js'
import { TransportError } from '../transports/transport-error.js'
import type { HealthState } from './documents.js'
import { usualNamespace } from './names.js'
import { RegistryError, type RegistryErrorCode } from './registry-error.js'
import type { RegistryEvent } from './watch.js'

export interface RegistryClientOptions {
  /** Default `public`. */
  readonly namespace?: string
  /** Credentials for the registry. */
  readonly headers?: Readonly<Record<string, string>>
  /** For one call. Default 10 s. */
  readonly timeoutMs?: number
  readonly fetch?: typeof fetch
}

export interface RegisteredInstance {
  readonly instance: string
  readonly version: string
  readonly url: string
  readonly health: { readonly state: HealthState; readonly since?: string }
  /** As it was published. */
  readonly card: object
}

export interface RegisteredAgent {
  readonly namespace: string
  readonly name: string
  readonly version: string
  readonly latest: string
  readonly owner: string
  readonly tags: readonly string[]
  /** In the words of v1.0; absent when nothing runs. */
  readonly card?: AgentCard
  readonly instances: readonly RegisteredInstance[]
  readonly score?: number
}

export interface RegisteredPage {
  readonly agents: readonly RegisteredAgent[]
  readonly total: number
  readonly cursor?: string
}

/** As the door takes it; see `docs/registry.md`. */
export interface PublishRequest {
  readonly card: object
  readonly instance?: string
  readonly tags?: readonly string[]
  readonly ttlSeconds?: number
  readonly latest?: boolean
  readonly probe?: { readonly text: string }
}

export interface ListRequest {
  readonly namespace?: string
  readonly text?: string
  readonly skill?: string
  readonly tag?: string
  readonly includeUnhealthy?: boolean
  readonly limit?: number
  readonly cursor?: string
}

export interface RegistryClient {
  /** Absent when there is no such agent, or nothing of it to offer. */
  get(
    name: string,
    options?: { readonly version?: string; readonly includeUnhealthy?: boolean },
  ): Promise<RegisteredAgent | undefined>
  list(request?: ListRequest): Promise<RegisteredPage>
  publish(name: string, request: PublishRequest): Promise<RegisteredAgent>
  /** One instance, one version, or all of an agent. Answers how many instances went. */
  withdraw(name: string, options?: { readonly version?: string; readonly instance?: string }): Promise<number>
  /** Until the stream ends or breaks; goes on behind `after`. */
  watch(
    options?: WatchRequest,
  ): AsyncGenerator<{ readonly revision: number; readonly event: RegistryEvent }, void, void>
}

export interface WatchRequest {
  readonly after?: number
  readonly namespace?: string
  readonly name?: string
  readonly signal?: AbortSignal
}

const largestEvent = 256 * 1024

/**
 * ```ts
 * const registry = registryClient('https://registry.example', { headers: { 'x-api-key': '…' } })
 * const { agents } = await registry.list({ text: 'weather' })
 * ```
 */
export function registryClient(url: string, options: RegistryClientOptions = {}): RegistryClient {
  if (!URL.canParse(url)) throw new TypeError(`${JSON.stringify(url)} is no address of a registry`)
  const { namespace = usualNamespace, headers = {}, timeoutMs = 10_000 } = options
  const base = url.replace(/\/+$/, '')
  const fetch = options.fetch ?? globalThis.fetch
  const placeOf = (name: string) => `/v1/agents/${[namespace, name].map(encodeURIComponent).join('/')}`

  const send = async (path: string, init: RequestInit): Promise<Response> => {
    try {
      const type = init.body === undefined ? {} : { 'content-type': 'application/json' }
      return await fetch(base + path, { redirect: 'error', ...init, headers: { ...headers, ...type } })
    } catch (cause) {
      const why = cause instanceof Error && cause.cause instanceof Error ? cause.cause.message : String(cause)
      throw new TransportError('unreachable', `The registry at ${base} cannot be reached: ${why}`, { cause })
    }
  }
  const call = async (method: string, path: string, body?: object): Promise<unknown> => {
    const signal = AbortSignal.timeout(timeoutMs)
    const response = await send(path, { method, signal, ...(body && { body: JSON.stringify(body) }) })
    const answer: unknown = await response.json().catch(() => undefined)
    if (response.ok && isObject(answer)) return answer
    throw refusalIn(answer, response.status, base)
  }

  return {
    async get(name, wanted = {}) {
      try {
        return (await call('GET', `${placeOf(name)}${queryOf(wanted)}`)) as RegisteredAgent // what our door writes
      } catch (caught) {
        if (caught instanceof RegistryError && caught.code === 'NOT_FOUND') return undefined
        throw caught
      }
    },
    list: async (request = {}) => (await call('GET', `/v1/agents${queryOf(request)}`)) as RegisteredPage,
    publish: async (name, request) => (await call('PUT', placeOf(name), request)) as RegisteredAgent,
    async withdraw(name, wanted = {}) {
      const { withdrawn } = (await call('DELETE', `${placeOf(name)}${queryOf(wanted)}`)) as { withdrawn: number }
      return withdrawn
    },
    async *watch({ signal, ...wanted } = {}) {
      const response = await send(`/v1/watch${queryOf(wanted)}`, signal ? { signal } : {})
      if (!response.ok || !response.body)
        throw refusalIn(await response.json().catch(() => undefined), response.status, base)
      for await (const events of readSse(response.body, { maxEventBytes: largestEvent }))
        for (const { id, data } of events) yield { revision: Number(id), event: JSON.parse(data) as RegistryEvent }
    },
  }
}

function queryOf(wanted: object): string {
  const given = Object.entries(wanted).filter(([, value]) => value !== undefined && value !== false)
  return given.length === 0
    ? ''
    : `?${new URLSearchParams(given.map(([name, value]): [string, string] => [name, String(value)]))}`
}

const codes: Readonly<Record<number, RegistryErrorCode>> = {
  400: 'INVALID',
  401: 'UNAUTHENTICATED',
  403: 'FORBIDDEN',
  404: 'NOT_FOUND',
  409: 'CONFLICT',
  413: 'TOO_LARGE',
  429: 'QUOTA',
  503: 'UNAVAILABLE',
}

/** What the registry said, if it is one. */
function refusalIn(answer: unknown, status: number, base: string): Error {
  const error = isObject(answer) && isObject(answer.error) ? answer.error : undefined
  const code = codes[status]
  if (error && code && typeof error.message === 'string') return new RegistryError(code, error.message)
  return new TransportError('bad-answer', `${base} answers with HTTP ${status}: is it a registry?`)
}
