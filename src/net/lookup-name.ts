/**
 * Limits concurrent lookups of host names. `dns.lookup` blocks a thread of libuv's pool until the name service answers. File
 * access and Web Crypto use the same threads, so names in webhooks and cards must not block all of them.
 */
import { lookup } from 'node:dns/promises'
import type { NameLookup } from './address-rules.js'

interface LookupLimits {
  readonly maxAtOnce: number
  /** A lookup that waits longer to start fails, because its caller has given up. */
  readonly maxWaitMs: number
}

const threads = Number(process.env.UV_THREADPOOL_SIZE) || 4

/** Looks up all addresses of a name with the resolver of the platform. */
export const lookupName: NameLookup = limitLookups(
  async (name) => (await lookup(name, { all: true, verbatim: true })).map(({ address }) => address),
  { maxAtOnce: Math.max(1, Math.floor(threads / 2)), maxWaitMs: 10_000 },
)

/** Limits concurrent lookups. Concurrent lookups of one name share one. */
export function limitLookups(lookup: NameLookup, { maxAtOnce, maxWaitMs }: LookupLimits): NameLookup {
  const shared = new Map<string, ReturnType<NameLookup>>()
  const waiting: (() => void)[] = []
  let running = 0

  const start = async (name: string) => {
    if (running >= maxAtOnce) {
      const sinceMs = performance.now()
      await new Promise<void>((resolve) => waiting.push(resolve))
      if (performance.now() - sinceMs > maxWaitMs) {
        waiting.shift()?.()
        throw new Error('the name service has not answered earlier lookups')
      }
    }
    running++
    try {
      return await lookup(name)
    } finally {
      running--
      waiting.shift()?.()
    }
  }

  return (name) => {
    const known = shared.get(name)
    if (known) return known
    const started = start(name).finally(() => shared.delete(name))
    shared.set(name, started)
    return started
  }
}
