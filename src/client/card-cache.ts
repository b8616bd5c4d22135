/** Cache of cards, with the freshness rules of HTTP (R-CARD-6, RFC 9111). */

/** An entry of a `CardCache`. */
export interface CachedCard {
  /** Address of the card, after redirects. */
  readonly url: string
  /** The JSON as the server sent it. */
  readonly raw: unknown
  readonly etag?: string
  readonly lastModified?: string
  /** Time in milliseconds since 1970 until which the card is used without a request. */
  readonly freshUntilMs: number
}

/** Stores cards between connections. Keys are strings and entries are JSON values, so any key-value store works. */
export interface CardCache {
  get(key: string): CachedCard | undefined | Promise<CachedCard | undefined>
  set(key: string, card: CachedCard): void | Promise<void>
  delete(key: string): void | Promise<void>
}

const maxCards = 200

/** Creates a cache in memory for 200 cards. The card that was unused for longest is evicted first. */
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
      if (cards.size > maxCards && oldest !== undefined) cards.delete(oldest)
    },
    delete(key) {
      cards.delete(key)
    },
  }
}

const defaultSeconds = 60
const maxSeconds = 24 * 60 * 60

/** Returns how long a response is fresh, or undefined if it must not be stored. */
export function freshForMs(headers: Pick<Headers, 'get'>): number | undefined {
  const control = (headers.get('cache-control') ?? '').toLowerCase()
  if (/\bno-store\b/.test(control)) return undefined
  if (/\bno-cache\b/.test(control)) return 0
  const [, maxAge] = /\bmax-age\s*=\s*"?(\d{1,10})/.exec(control) ?? []
  if (maxAge === undefined) return defaultSeconds * 1000
  const age = Number(headers.get('age')) || 0
  return Math.max(0, Math.min(Number(maxAge) - age, maxSeconds)) * 1000
}

/** Returns the headers that ask for a card only if it has changed. */
export function conditionalHeaders(cached: CachedCard | undefined): Record<string, string> {
  if (cached?.etag !== undefined) return { 'if-none-match': cached.etag }
  return cached?.lastModified === undefined ? {} : { 'if-modified-since': cached.lastModified }
}

export function cachedCard(
  url: string,
  raw: unknown,
  headers: Pick<Headers, 'get'>,
  nowMs: number,
): CachedCard | undefined {
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
