/**
 * Finds agents in a registry. Answers are kept for a moment; what was known is used on while the registry cannot be
 * reached, because an agent does not stop when its registry does.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { CardResolver } from '../../client/resolve-name.js'
import { assertOptions, type NamesOf } from '../../model/option-names.js'
import {
  type RegistryClientOptions,
  registryClient,
  registryClientNames,
} from '../../registry-client/registry-client.js'
import { RegistryError } from '../../registry-client/registry-error.js'
import type { RegisteredInstance } from '../../registry-client/registry-words.js'

export interface RegistryResolverOptions extends RegistryClientOptions {
  /** Default: the latest. */
  readonly version?: string
  /** How long an answer is used without asking again. Default 5 s; with `watch`, until something changes, a minute at most. */
  readonly cacheMs?: number
  /** Follow the registry, and forget answers as soon as they are no longer true. Ends with `close`. */
  readonly watch?: boolean
  /** How long a registry that is followed may be silent, before it counts as gone. Default 45 s: three of its usual heartbeats. */
  readonly silenceMs?: number
  readonly onWarning?: (warning: string) => void
}

const optionNames = {
  ...registryClientNames,
  version: true,
  cacheMs: true,
  watch: true,
  silenceMs: true,
  onWarning: true,
} satisfies NamesOf<RegistryResolverOptions>

export interface RegistryResolver extends CardResolver {
  /** Ends the watch. */
  close(): void
}

interface Known {
  readonly instances: readonly RegisteredInstance[]
  untilMs: number
}

const maxCachedNames = 1000
const watchRetryMs = 2000
/** Whatever the watch says: what it missed is not believed for ever. */
const maxCacheMs = 60_000

/**
 * ```ts
 * await connect('weather', { resolvers: [registryResolver('https://registry.example')] })
 * ```
 */
export function registryResolver(url: string, options: RegistryResolverOptions = {}): RegistryResolver {
  assertOptions('registryResolver', options, optionNames)
  const { version, watch = false, cacheMs = 5000, silenceMs, onWarning = () => undefined, ...access } = options
  const registry = registryClient(url, access)
  const known = new Map<string, Known>()
  const closed = new AbortController()
  let isFollowing = false
  let changes = 0

  const resolve = async (name: string): Promise<readonly object[] | undefined> => {
    const before = known.get(name)
    if (before && before.untilMs > Date.now()) return inOrder(before.instances)
    try {
      const asked = changes
      const found = await registry.get(name, version === undefined ? {} : { version })
      known.delete(name)
      if (!found) return undefined
      if (known.size >= maxCachedNames) known.clear()
      // What changed while the registry answered may not be in the answer.
      const freshMs = isFollowing && changes === asked ? maxCacheMs : isFollowing ? 0 : cacheMs
      known.set(name, { instances: found.instances, untilMs: Date.now() + freshMs })
      return inOrder(found.instances)
    } catch (caught) {
      if (!before) throw refusedBy(url, name, caught)
      onWarning(`${name} is taken as it was known: ${caught instanceof Error ? caught.message : String(caught)}`)
      return inOrder(before.instances)
    }
  }
  /** Everything is asked for again, but remembered in case nobody answers. */
  const age = (name?: string) => {
    changes += 1
    for (const [each, entry] of known) if (name === undefined || each === name) entry.untilMs = 0
  }
  const following = { signal: closed.signal, ...(silenceMs !== undefined && { silenceMs }) }
  const follow = async () => {
    while (!closed.signal.aborted) {
      try {
        for await (const { event } of registry.watch(following)) {
          isFollowing = true
          age('name' in event ? event.name : undefined)
        }
      } catch (caught) {
        if (!closed.signal.aborted)
          onWarning(`The registry cannot be followed: ${caught instanceof Error ? caught.message : String(caught)}`)
      }
      isFollowing = false
      age()
      await pause(watchRetryMs, undefined, { signal: closed.signal, ref: false }).catch(() => undefined) // looked at above
    }
  }
  if (watch) void follow() // it owns its failures, and ends with `close`
  return Object.assign(resolve, { source: url, close: () => closed.abort() })
}

/** The words of a registry name neither the registry nor the agent. */
function refusedBy(url: string, name: string, caught: unknown): unknown {
  if (!(caught instanceof RegistryError)) return caught
  const { code, message, problems, challenge, retryAfterSeconds } = caught
  return new RegistryError(code, `Agent ${name} cannot be looked up: the registry at ${url} answers: ${message}`, {
    cause: caught,
    problems,
    ...(challenge !== undefined && { challenge }),
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
  })
}

/** Those that were seen to work first; among equals, another one every time, so that they share the work. */
function inOrder(instances: readonly RegisteredInstance[]): readonly object[] {
  return instances
    .map(({ card, health }) => ({ card, rank: (health.state === 'healthy' ? 0 : 1) + Math.random() / 2 }))
    .sort((a, b) => a.rank - b.rank)
    .map(({ card }) => card)
}
