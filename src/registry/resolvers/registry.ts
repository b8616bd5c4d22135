/**
 * Finds agents in a registry. Answers are kept for a moment; what was known is used on while the registry cannot be
 * reached, because an agent does not stop when its registry does.
 */
import type { CardResolver } from '../../client/resolve-card.js'
import { isObject } from '../../dialects/decode.js'
import { pause } from '../../server/pause.js'
import { readSse } from '../../transports/sse-reader.js'
import { TransportError } from '../../transports/transport-error.js'
import { usualNamespace } from '../names.js'

export interface RegistryResolverOptions {
  /** Default `public`. */
  readonly namespace?: string
  /** Default: the latest. */
  readonly version?: string
  /** Credentials for the registry. */
  readonly headers?: Readonly<Record<string, string>>
  /** How long an answer is used without asking again. Default 5 s; with `watch`, until something changes. */
  readonly cacheMs?: number
  /** Follow the registry, and forget answers as soon as they are no longer true. Ends with `close`. */
  readonly watch?: boolean
  /** Default 10 s. */
  readonly timeoutMs?: number
  readonly fetch?: typeof fetch
  readonly onWarning?: (warning: string) => void
}

export interface RegistryResolver extends CardResolver {
  /** Ends the watch. */
  close(): void
}

interface Known {
  readonly cards: readonly object[]
  untilMs: number
}

const mostKnown = 1000
const watchRetryMs = 2000
const largestEvent = 64 * 1024

/**
 * ```ts
 * await connect('weather', { resolvers: [registryResolver('https://registry.example')] })
 * ```
 */
export function registryResolver(url: string, options: RegistryResolverOptions = {}): RegistryResolver {
  if (!URL.canParse(url)) throw new TypeError(`${JSON.stringify(url)} is no address of a registry`)
  const { namespace = usualNamespace, watch = false, timeoutMs = 10_000, headers = {}, version } = options
  const fetch = options.fetch ?? globalThis.fetch
  const base = url.replace(/\/+$/, '')
  const known = new Map<string, Known>()
  const closed = new AbortController()
  let isFollowing = false
  const freshMs = () => (isFollowing ? Number.POSITIVE_INFINITY : (options.cacheMs ?? 5000))

  const ask = async (name: string): Promise<readonly object[]> => {
    const query = version === undefined ? '' : `?${new URLSearchParams({ version })}`
    const place = [namespace, name].map(encodeURIComponent).join('/')
    const response = await fetch(`${base}/v1/agents/${place}${query}`, {
      headers,
      redirect: 'error',
      signal: AbortSignal.timeout(timeoutMs),
    })
    const body = (await response.json()) as unknown
    if (response.status === 404) return []
    if (!response.ok || !isObject(body) || !Array.isArray(body.instances))
      throw new TransportError('bad-answer', `The registry at ${base} answers with HTTP ${response.status}`)
    return inOrder(body.instances)
  }

  const resolve = async (name: string): Promise<readonly object[] | undefined> => {
    const before = known.get(name)
    if (before && before.untilMs > Date.now()) return before.cards
    try {
      const cards = await ask(name)
      if (cards.length === 0) {
        known.delete(name)
        return undefined
      }
      if (known.size >= mostKnown) known.clear()
      known.set(name, { cards, untilMs: Date.now() + freshMs() })
      return cards
    } catch (caught) {
      const why = caught instanceof Error ? caught.message : String(caught)
      if (!before) {
        if (caught instanceof TransportError) throw caught
        throw new TransportError('unreachable', `The registry at ${base} cannot be reached: ${why}`, { cause: caught })
      }
      options.onWarning?.(`The registry at ${base} cannot be reached, ${name} is taken as it was known: ${why}`)
      return before.cards
    }
  }

  /** Everything is asked for again, but remembered in case nobody answers. */
  const age = (name?: string) => {
    for (const [each, entry] of known) if (name === undefined || each === name) entry.untilMs = 0
  }
  const follow = async () => {
    while (!closed.signal.aborted) {
      try {
        const query = new URLSearchParams({ namespace })
        const response = await fetch(`${base}/v1/watch?${query}`, { headers, signal: closed.signal, redirect: 'error' })
        if (!response.ok || !response.body) throw new Error(`HTTP ${response.status}`)
        age()
        isFollowing = true
        for await (const events of readSse(response.body, { maxEventBytes: largestEvent }))
          for (const { data } of events) age(nameIn(data))
      } catch (caught) {
        if (!closed.signal.aborted)
          options.onWarning?.(
            `The registry cannot be followed: ${caught instanceof Error ? caught.message : 'unknown'}`,
          )
      }
      isFollowing = false
      age()
      await pause(watchRetryMs, closed.signal)
    }
  }
  if (watch) void follow() // it owns its failures, and ends with `close`
  return Object.assign(resolve, { close: () => closed.abort() })
}

/** Those that were seen to work first; among equals, another one every time, so that they share the work. */
function inOrder(instances: readonly unknown[]): readonly object[] {
  const usable = instances.flatMap((each) => {
    if (!isObject(each) || !isObject(each.card)) return []
    const isHealthy = isObject(each.health) && each.health.state === 'healthy'
    return [{ card: each.card, rank: (isHealthy ? 0 : 1) + Math.random() / 2 }]
  })
  return usable.sort((a, b) => a.rank - b.rank).map(({ card }) => card)
}

/** The agent an event is about; nobody in particular means all of them. */
function nameIn(data: string): string | undefined {
  try {
    const event: unknown = JSON.parse(data)
    return isObject(event) && typeof event.name === 'string' ? event.name : undefined
  } catch {
    return undefined
  }
}
