/** A registry from outside, by its own door. */

import { canParseUrl } from '../model/can-parse-url.js'
import { isObject } from '../model/is-object.js'
import { assertOptions, type NamesOf } from '../model/option-names.js'
import { TransportError } from '../model/transport-error.js'
import { withoutTrailingSlashes } from '../model/trim-end.js'
import { readJsonAtMost } from '../net/read-at-most.js'
import { readSse } from '../transports/sse-reader.js'
import { RegistryError, type RegistryErrorCode } from './registry-error.js'
import {
  type InstanceKey,
  type ListRequest,
  type ProbeMessage,
  type PublishRequest,
  type RegisteredAgent,
  type RegisteredPage,
  type RegistryEvent,
  usualNamespace,
} from './registry-words.js'

/** Options of `registryClient`. */
export interface RegistryClientOptions {
  /** Default `public`. */
  readonly namespace?: string
  /** Credentials for the registry. */
  readonly headers?: Readonly<Record<string, string>>
  /** For one call. Default 10 s. */
  readonly timeoutMs?: number
  readonly fetch?: typeof fetch
}

export const registryClientNames = {
  namespace: true,
  headers: true,
  timeoutMs: true,
  fetch: true,
} satisfies NamesOf<RegistryClientOptions>

/** A client of a registry's API. */
export interface RegistryClient {
  /** Absent when there is no such agent, or nothing of it to offer. */
  get(
    name: string,
    options?: { readonly version?: string; readonly includeUnhealthy?: boolean },
  ): Promise<RegisteredAgent | undefined>
  list(request?: ListRequest): Promise<RegisteredPage>
  publish(name: string, request: PublishRequest, options?: RegistryCallOptions): Promise<RegisteredAgent>
  /** Says that an instance still runs. False when the registry does not know it: then it has to be published again. */
  renew(
    name: string,
    instance: Pick<InstanceKey, 'version' | 'instance'>,
    options?: RegistryCallOptions,
  ): Promise<boolean>
  /** One instance, one version, or all of an agent. Answers how many instances went. */
  withdraw(
    name: string,
    which?: Partial<Pick<InstanceKey, 'version' | 'instance'>>,
    options?: RegistryCallOptions,
  ): Promise<number>
  /** Until the stream ends or breaks; goes on behind `after`. */
  watch(
    options?: WatchRequest,
  ): AsyncGenerator<{ readonly revision: number; readonly event: RegistryEvent }, void, void>
}

/** Options of a call to the registry. */
export interface RegistryCallOptions {
  /** Gives the call up, beside its time-out. */
  readonly signal?: AbortSignal
}

/** Which changes to watch, and from where. */
export interface WatchRequest {
  readonly after?: number
  readonly namespace?: string
  readonly name?: string
  /** How long the registry may be silent, before it counts as gone. Default 45 s: three of its usual heartbeats. */
  readonly silenceMs?: number
  readonly signal?: AbortSignal
}

const getNames = { version: true, includeUnhealthy: true } as const
const placeNames = { version: true, instance: true } as const
const callNames = { signal: true } satisfies NamesOf<RegistryCallOptions>
const listNames = {
  namespace: true,
  text: true,
  skill: true,
  tag: true,
  includeUnhealthy: true,
  limit: true,
  cursor: true,
} satisfies NamesOf<ListRequest>
const publishNames = {
  card: true,
  instance: true,
  tags: true,
  ttlSeconds: true,
  latest: true,
  probe: { text: true } satisfies NamesOf<ProbeMessage>,
} satisfies NamesOf<PublishRequest>
const watchNames = {
  after: true,
  namespace: true,
  name: true,
  silenceMs: true,
  signal: true,
} satisfies NamesOf<WatchRequest>

const usualSilenceMs = 45_000
const largestEvent = 256 * 1024
/** A page of a hundred agents, the cards of all their instances included. */
const largestAnswer = 16 * 1024 * 1024

/**
 * ```ts
 * const registry = registryClient('https://registry.example', { headers: { 'x-api-key': '…' } })
 * const { agents } = await registry.list({ text: 'weather' })
 * ```
 */
export function registryClient(url: string, options: RegistryClientOptions = {}): RegistryClient {
  assertOptions('registryClient', options, registryClientNames)
  if (!canParseUrl(url)) throw new TypeError(`${JSON.stringify(url)} is no address of a registry`)
  const { namespace = usualNamespace, headers = {}, timeoutMs = 10_000 } = options
  const base = withoutTrailingSlashes(url)
  const fetch = options.fetch ?? globalThis.fetch
  const placeOf = (name: string) => `/v1/agents/${[namespace, name].map(encodeURIComponent).join('/')}`

  const failed = (cause: unknown): never => {
    const why = cause instanceof Error && cause.cause instanceof Error ? cause.cause.message : String(cause)
    throw new TransportError('unreachable', `The registry at ${base} cannot be reached: ${why}`, { cause })
  }
  const send = async (path: string, init: RequestInit): Promise<Response> => {
    const type = init.body === undefined ? {} : { 'content-type': 'application/json' }
    return await fetch(base + path, { redirect: 'error', ...init, headers: { ...headers, ...type } }).catch(failed)
  }
  /** An answer that has no end has to begin in time. */
  const begun = async (path: string, signal: AbortSignal | undefined): Promise<Response> => {
    const late = new AbortController()
    const timer = setTimeout(() => late.abort(new DOMException('It took too long', 'TimeoutError')), timeoutMs)
    try {
      return await send(path, { signal: signal ? AbortSignal.any([signal, late.signal]) : late.signal })
    } finally {
      clearTimeout(timer)
    }
  }
  const read = (response: Response): Promise<unknown> => readJsonAtMost(response, largestAnswer).catch(failed)
  const call = async (
    method: string,
    path: string,
    body?: object,
    given: RegistryCallOptions = {},
  ): Promise<unknown> => {
    assertOptions('a call of the registry', given, callNames)
    const deadline = AbortSignal.timeout(timeoutMs)
    const signal = given.signal ? AbortSignal.any([given.signal, deadline]) : deadline
    const response = await send(path, { method, signal, ...(body && { body: JSON.stringify(body) }) })
    const answer = await read(response)
    if (response.ok && isObject(answer)) return answer
    throw refusalIn(answer, response.status, base)
  }

  return {
    async get(name, wanted = {}) {
      assertOptions('get', wanted, getNames)
      const found = await call('GET', `${placeOf(name)}${queryOf(wanted)}`).catch(unlessNotFound)
      return found as RegisteredAgent | undefined // what our door writes
    },
    async list(request = {}) {
      assertOptions('list', request, listNames)
      return (await call('GET', `/v1/agents${queryOf(request)}`)) as RegisteredPage
    },
    async publish(name, request, given) {
      assertOptions('publish', request, publishNames)
      return (await call('PUT', placeOf(name), request, given)) as RegisteredAgent
    },
    async renew(name, { version, instance }, given) {
      const path = `${placeOf(name)}/renew`
      return (await call('POST', path, { version, instance }, given).catch(unlessNotFound)) !== undefined
    },
    async withdraw(name, which = {}, given = {}) {
      // A misspelt member would withdraw all instances of the agent.
      assertOptions('withdraw', which, placeNames)
      const answer = await call('DELETE', `${placeOf(name)}${queryOf(which)}`, undefined, given)
      return (answer as { readonly withdrawn: number }).withdrawn
    },
    async *watch(request = {}) {
      assertOptions('watch', request, watchNames)
      const { signal, silenceMs = usualSilenceMs, ...wanted } = request
      const response = await begun(`/v1/watch${queryOf(wanted)}`, signal)
      if (!response.ok || !response.body) throw refusalIn(await read(response), response.status, base)
      for await (const events of readSse(response.body, { maxEventBytes: largestEvent, silenceMs }))
        for (const { id, data } of events) yield { revision: Number(id), event: JSON.parse(data) as RegistryEvent }
    },
  }
}

function unlessNotFound(caught: unknown): undefined {
  if (caught instanceof RegistryError && caught.code === 'NOT_FOUND') return undefined
  throw caught
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
