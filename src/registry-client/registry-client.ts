/** HTTP client of a registry. */
import { canParseUrl } from '../model/can-parse-url.js'
import { isObject } from '../model/is-object.js'
import { assertOptions, type NamesOf } from '../model/option-names.js'
import { TransportError } from '../model/transport-error.js'
import { withoutTrailingSlashes } from '../model/trim-end.js'
import { readJsonAtMost } from '../net/read-at-most.js'
import { readSse } from '../transports/sse-reader.js'
import { RegistryError, type RegistryErrorCode } from './registry-error.js'
import {
  defaultNamespace,
  type InstanceKey,
  type ListRequest,
  type ProbeMessage,
  type PublishRequest,
  type RegisteredAgent,
  type RegisteredPage,
  type RegistryEvent,
} from './registry-messages.js'

/** Options of `registryClient`. */
export interface RegistryClientOptions {
  /** Namespace of the agents. Default `public`. */
  readonly namespace?: string
  /** Headers for every request, such as credentials. */
  readonly headers?: Readonly<Record<string, string>>
  /** Time for one request. Default 10 s. */
  readonly timeoutMs?: number
  /** Replaces the global `fetch`. */
  readonly fetch?: typeof fetch
}

export const registryClientNames = {
  namespace: true,
  headers: true,
  timeoutMs: true,
  fetch: true,
} satisfies NamesOf<RegistryClientOptions>

/** A client of a registry. Calls throw `RegistryError` if the registry rejects them, and `TransportError` if it does not answer. */
export interface RegistryClient {
  /** Returns an agent, or undefined if there is none, or no version or instance that fits. */
  get(
    name: string,
    options?: { readonly version?: string; readonly includeUnhealthy?: boolean },
  ): Promise<RegisteredAgent | undefined>
  /** Lists agents, by text, skill or tag, in pages. */
  list(request?: ListRequest): Promise<RegisteredPage>
  /** Publishes an instance of an agent, until its time to live ends or it is withdrawn. */
  publish(name: string, request: PublishRequest, options?: RegistryCallOptions): Promise<RegisteredAgent>
  /** Renews the time to live of an instance. Returns false if the registry does not know it: publish it again. */
  renew(
    name: string,
    instance: Pick<InstanceKey, 'version' | 'instance'>,
    options?: RegistryCallOptions,
  ): Promise<boolean>
  /** Withdraws one instance, one version, or all of an agent. Returns the number of instances. */
  withdraw(
    name: string,
    which?: Partial<Pick<InstanceKey, 'version' | 'instance'>>,
    options?: RegistryCallOptions,
  ): Promise<number>
  /** Yields changes after the revision `after`, until the stream ends or breaks. */
  watch(
    options?: WatchRequest,
  ): AsyncGenerator<{ readonly revision: number; readonly event: RegistryEvent }, void, void>
}

/** Options of a call to the registry. */
export interface RegistryCallOptions {
  /** Gives the call up, beside its time-out. */
  readonly signal?: AbortSignal
}

/** Selects the changes to watch, and the revision to start after. */
export interface WatchRequest {
  /** Revision to continue after. Default: the current one. */
  readonly after?: number
  readonly namespace?: string
  readonly name?: string
  /** Maximum time without data before the stream counts as broken. Default 45 s, three heartbeats of a registry. */
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

const defaultSilenceMs = 45_000
const maxEventBytes = 256 * 1024
/** Room for a page of a hundred agents with the cards of all their instances. */
const maxAnswerBytes = 16 * 1024 * 1024

/**
 * Creates a client of the registry at an address.
 *
 * ```ts
 * const registry = registryClient('https://registry.example', { headers: { 'x-api-key': '…' } })
 * const { agents } = await registry.list({ text: 'weather' })
 * ```
 */
export function registryClient(url: string, options: RegistryClientOptions = {}): RegistryClient {
  assertOptions('registryClient', options, registryClientNames)
  if (!canParseUrl(url))
    throw new TypeError(`Invalid address of a registry: ${JSON.stringify(url)}; write https://host:port`)
  const { namespace = defaultNamespace, headers = {}, timeoutMs = 10_000 } = options
  const base = withoutTrailingSlashes(url)
  const fetch = options.fetch ?? globalThis.fetch
  const pathOf = (name: string) => `/v1/agents/${[namespace, name].map(encodeURIComponent).join('/')}`

  const failed = (cause: unknown): never => {
    const why = cause instanceof Error && cause.cause instanceof Error ? cause.cause.message : String(cause)
    throw new TransportError('unreachable', `The registry at ${base} cannot be reached: ${why}`, { cause })
  }
  const send = async (path: string, init: RequestInit): Promise<Response> => {
    const type = init.body === undefined ? {} : { 'content-type': 'application/json' }
    return await fetch(base + path, { redirect: 'error', ...init, headers: { ...headers, ...type } }).catch(failed)
  }
  /** Limits the time until the response starts, but not the stream itself. */
  const openStream = async (path: string, signal: AbortSignal | undefined): Promise<Response> => {
    const deadline = new AbortController()
    const timer = setTimeout(
      () => deadline.abort(new DOMException('The registry did not answer in time', 'TimeoutError')),
      timeoutMs,
    )
    try {
      return await send(path, { signal: signal ? AbortSignal.any([signal, deadline.signal]) : deadline.signal })
    } finally {
      clearTimeout(timer)
    }
  }
  const read = (response: Response): Promise<unknown> => readJsonAtMost(response, maxAnswerBytes).catch(failed)
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
    throw errorFrom(answer, response.status, base)
  }

  return {
    async get(name, wanted = {}) {
      assertOptions('get', wanted, getNames)
      const found = await call('GET', `${pathOf(name)}${queryOf(wanted)}`).catch(unlessNotFound)
      return found as RegisteredAgent | undefined // the format of our registry
    },
    async list(request = {}) {
      assertOptions('list', request, listNames)
      return (await call('GET', `/v1/agents${queryOf(request)}`)) as RegisteredPage
    },
    async publish(name, request, given) {
      assertOptions('publish', request, publishNames)
      return (await call('PUT', pathOf(name), request, given)) as RegisteredAgent
    },
    async renew(name, { version, instance }, given) {
      const path = `${pathOf(name)}/renew`
      return (await call('POST', path, { version, instance }, given).catch(unlessNotFound)) !== undefined
    },
    async withdraw(name, which = {}, given = {}) {
      // A misspelt option would withdraw all instances of the agent.
      assertOptions('withdraw', which, placeNames)
      const answer = await call('DELETE', `${pathOf(name)}${queryOf(which)}`, undefined, given)
      return (answer as { readonly withdrawn: number }).withdrawn
    },
    async *watch(request = {}) {
      assertOptions('watch', request, watchNames)
      const { signal, silenceMs = defaultSilenceMs, ...wanted } = request
      const response = await openStream(`/v1/watch${queryOf(wanted)}`, signal)
      if (!response.ok || !response.body) throw errorFrom(await read(response), response.status, base)
      for await (const events of readSse(response.body, { maxEventBytes, silenceMs }))
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

/** Converts an error response. */
function errorFrom(answer: unknown, status: number, base: string): Error {
  const error = isObject(answer) && isObject(answer.error) ? answer.error : undefined
  const code = codes[status]
  if (error && code && typeof error.message === 'string') return new RegistryError(code, error.message)
  return new TransportError('bad-answer', `${base} answers with HTTP ${status} and is no registry; check the address`)
}
