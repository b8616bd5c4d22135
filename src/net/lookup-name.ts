/**
 * Looks host names up, a few at a time. `dns.lookup` holds a thread of libuv's pool until the name service answers. File
 * access and Web Crypto need the same threads, so that names that others choose (webhooks, cards) must not take all of them.
 */
import { lookup } from 'node:dns/promises'
import type { NameLookup } from './address-rules.js'

export interface LookupLimits {
  readonly maxAtOnce: number
  /** A lookup that could not begin within this time fails: its caller has given up. */
  readonly maxWaitMs: number
}

const threads = Number(process.env.UV_THREADPOOL_SIZE) || 4

export const lookupName: NameLookup = limitLookups(
  async (name) => (await lookup(name, { all: true, verbatim: true })).map(({ address }) => address),
  { maxAtOnce: Math.max(1, Math.floor(threads / 2)), maxWaitMs: 10_000 },
)

/** Concurrent lookups of one name share one lookup. */
export function limitLookups(lookup: NameLookup, { maxAtOnce, maxWaitMs }: LookupLimits): NameLookup {
  const shared = new Map<string, ReturnType<NameLookup>>()
  const waiting: (() => void)[] = []
  let running = 0

  const begin = async (name: string) => {
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
    const begun = begin(name).finally(() => shared.delete(name))
    shared.set(name, begun)
    return begun
  }
}
