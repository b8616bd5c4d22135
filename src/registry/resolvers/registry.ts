/**
 * Finds agents in a registry. Answers are cached. While the registry cannot be reached, expired answers are used, because
 * agents do not stop with their registry.
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
import type { RegisteredInstance } from '../../registry-client/registry-messages.js'

/** Options of `registryResolver`. */
export interface RegistryResolverOptions extends RegistryClientOptions {
  /** Version of the agents. Default: the latest. */
  readonly version?: string
  /** Time for which an answer is cached. Default 5 s; with `watch`, until the agent changes, but at most a minute. */
  readonly cacheMs?: number
  /** Watches the registry and drops cached answers when agents change, until `close`. Default false. */
  readonly watch?: boolean
  /** Time without a heartbeat after which the watch reconnects. Default 45 s: three default heartbeats. */
  readonly silenceMs?: number
  /** Called when an expired answer is used or the watch fails. */
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

/** A resolver that finds agents in a registry. */
export interface RegistryResolver extends CardResolver {
  /** Ends the watch. */
  close(): void
}

interface CachedAgent {
  readonly instances: readonly RegisteredInstance[]
  untilMs: number
}

const maxCachedNames = 1000
const watchRetryMs = 2000
/** Limits the effect of events that the watch missed. */
const maxCacheMs = 60_000

/**
 * Creates a resolver that finds agents in a registry by name.
 *
 * ```ts
 * await connect('weather', { resolvers: [registryResolver('https://registry.example')] })
 * ```
 */
export function registryResolver(url: string, options: RegistryResolverOptions = {}): RegistryResolver {
  assertOptions('registryResolver', options, optionNames)
  const { version, watch = false, cacheMs = 5000, silenceMs, onWarning = () => undefined, ...access } = options
  const registry = registryClient(url, access)
  const known = new Map<string, CachedAgent>()
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
      // The answer may lack a change that happened while the registry answered.
      const freshMs = isFollowing && changes === asked ? maxCacheMs : isFollowing ? 0 : cacheMs
      known.set(name, { instances: found.instances, untilMs: Date.now() + freshMs })
      return inOrder(found.instances)
    } catch (caught) {
      if (!before) throw lookupError(url, name, caught)
      onWarning(`Using an expired answer for ${name}: ${caught instanceof Error ? caught.message : String(caught)}`)
      return inOrder(before.instances)
    }
  }
  /** Expires answers but keeps them, in case the registry cannot be reached. */
  const expire = (name?: string) => {
    changes += 1
    for (const [each, entry] of known) if (name === undefined || each === name) entry.untilMs = 0
  }
  const following = { signal: closed.signal, ...(silenceMs !== undefined && { silenceMs }) }
  const follow = async () => {
    while (!closed.signal.aborted) {
      try {
        for await (const { event } of registry.watch(following)) {
          isFollowing = true
          expire('name' in event ? event.name : undefined)
        }
      } catch (caught) {
        if (!closed.signal.aborted)
          onWarning(`The watch of the registry failed: ${caught instanceof Error ? caught.message : String(caught)}`)
      }
      isFollowing = false
      expire()
      await pause(watchRetryMs, undefined, { signal: closed.signal, ref: false }).catch(() => undefined) // the loop checks the signal
    }
  }
  if (watch) void follow() // handles its errors, and ends with `close`
  return Object.assign(resolve, { source: url, close: () => closed.abort() })
}

/** Adds the names of the registry and the agent to an error. */
function lookupError(url: string, name: string, caught: unknown): unknown {
  if (!(caught instanceof RegistryError)) return caught
  const { code, message, problems, challenge, retryAfterSeconds } = caught
  return new RegistryError(code, `Agent ${name} cannot be looked up: the registry at ${url} answers: ${message}`, {
    cause: caught,
    problems,
    ...(challenge !== undefined && { challenge }),
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
  })
}

/** Healthy instances first; in random order among equals, to spread the load. */
function inOrder(instances: readonly RegisteredInstance[]): readonly object[] {
  return instances
    .map(({ card, health }) => ({ card, rank: (health.state === 'healthy' ? 0 : 1) + Math.random() / 2 }))
    .sort((a, b) => a.rank - b.rank)
    .map(({ card }) => card)
}
