/** How often somebody may do something: token buckets, by name. */

export interface Rate {
  /** How many are given back every second. */
  readonly perSecond: number
  /** How many may come at once after a quiet time. Default: five seconds' worth, at least one. */
  readonly burst?: number
}

/** Buckets kept. Beyond that the one that was not used for the longest time goes: most likely it is full again. */
const mostBuckets = 10_000

interface Bucket {
  tokens: number
  /** When that was so. */
  atMs: number
}

export class RateLimit {
  readonly #perMs: number
  readonly #burst: number
  readonly #now: () => number
  /** The one used last is the last. */
  readonly #buckets = new Map<string, Bucket>()

  constructor({ perSecond, burst = Math.max(1, perSecond * 5) }: Rate, now: () => number = () => performance.now()) {
    if (!(perSecond > 0) || !(burst >= 1)) throw new TypeError('A rate needs `perSecond` above 0 and `burst` from 1 on')
    this.#perMs = perSecond / 1000
    this.#burst = burst
    this.#now = now
  }

  /** Seconds until there is one to take; 0 when there is. */
  waitFor(name: string): number {
    const bucket = this.#buckets.get(name)
    if (!bucket) return 0
    const missing = 1 - this.#tokensOf(bucket)
    return missing <= 0 ? 0 : Math.ceil(missing / this.#perMs / 1000)
  }

  /** Takes one, if there is one; answers as `waitFor` did before. */
  take(name: string): number {
    const wait = this.waitFor(name)
    if (wait > 0) return wait
    const bucket = this.#buckets.get(name)
    const tokens = bucket ? this.#tokensOf(bucket) : this.#burst
    this.#buckets.delete(name)
    this.#buckets.set(name, { tokens: tokens - 1, atMs: this.#now() })
    if (this.#buckets.size > mostBuckets) {
      const [oldest] = this.#buckets.keys()
      if (oldest !== undefined) this.#buckets.delete(oldest)
    }
    return 0
  }

  get size(): number {
    return this.#buckets.size
  }

  #tokensOf({ tokens, atMs }: Bucket): number {
    return Math.min(this.#burst, tokens + (this.#now() - atMs) * this.#perMs)
  }
}
