/** Cards that were read before, and how long they are good (R-CARD-6, RFC 9111). */

export interface CachedCard {
  /** Where it was found in the end. */
  readonly url: string
  /** As it came. */
  readonly raw: unknown
  readonly etag?: string
  readonly lastModified?: string
  /** Until then nobody has to be asked. */
  readonly freshUntilMs: number
}

/** Plain values by plain keys: any store will do. */
export interface CardCache {
  get(key: string): CachedCard | undefined | Promise<CachedCard | undefined>
  set(key: string, card: CachedCard): void | Promise<void>
  delete(key: string): void | Promise<void>
}

const mostCards = 200

/** Keeps cards in memory; the one that was not used for longest goes first. */
export function createCardCache(): CardCache {
  const cards = new Map<string, CachedCard>()
  return {
    get(key) {
      const found = cards.get(key)
      if (found) {
        cards.delete(key)
        cards.set(key, found)
      }
      return found
    },
    set(key, card) {
      cards.delete(key)
      cards.set(key, card)
      const [oldest] = cards.keys()
      if (cards.size > mostCards && oldest !== undefined) cards.delete(oldest)
    },
    delete(key) {
      cards.delete(key)
    },
  }
}

const usualSeconds = 60
const mostSeconds = 24 * 60 * 60

/** How long an answer is good; absent when it must not be kept. */
export function freshForMs(headers: Headers): number | undefined {
  const control = (headers.get('cache-control') ?? '').toLowerCase()
  if (/\bno-store\b/.test(control)) return undefined
  if (/\bno-cache\b/.test(control)) return 0
  const [, maxAge] = /\bmax-age\s*=\s*"?(\d{1,10})/.exec(control) ?? []
  if (maxAge === undefined) return usualSeconds * 1000
  const age = Number(headers.get('age')) || 0
  return Math.max(0, Math.min(Number(maxAge) - age, mostSeconds)) * 1000
}

/** What a card that was read before is asked for again with. */
export function validators(cached: CachedCard | undefined): Record<string, string> {
  if (cached?.etag !== undefined) return { 'if-none-match': cached.etag }
  return cached?.lastModified === undefined ? {} : { 'if-modified-since': cached.lastModified }
}

export function cachedCard(url: string, raw: unknown, headers: Headers, nowMs: number): CachedCard | undefined {
  const freshMs = freshForMs(headers)
  if (freshMs === undefined) return undefined
  const etag = headers.get('etag')
  const lastModified = headers.get('last-modified')
  return {
    url,
    raw,
    ...(etag !== null && { etag }),
    ...(lastModified !== null && { lastModified }),
    freshUntilMs: nowMs + freshMs,
  }
}
