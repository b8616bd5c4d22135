/** How often somebody may do something: token buckets, by name. */

/** A rate limit: a steady rate and a burst above it. */
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
  /** Once there are many of them, the one used last is the last. */
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
    return bucket ? this.#waitWith(this.#tokensOf(bucket, this.#now())) : 0
  }

  /** Takes one, if there is one; answers as `waitFor` did before. */
  take(name: string): number {
    const now = this.#now()
    const bucket = this.#buckets.get(name)
    if (!bucket) {
      this.#add(name, { tokens: this.#burst - 1, atMs: now })
      return 0
    }
    const tokens = this.#tokensOf(bucket, now)
    if (tokens < 1) return this.#waitWith(tokens)
    bucket.tokens = tokens - 1
    bucket.atMs = now
    // Who was used last matters only when somebody may have to go soon.
    if (this.#buckets.size > mostBuckets / 2) {
      this.#buckets.delete(name)
      this.#buckets.set(name, bucket)
    }
    return 0
  }

  /** Takes tokens for a request that turned out to be expensive. The bucket may fall to minus its burst. */
  charge(name: string, tokens: number): void {
    const now = this.#now()
    const bucket = this.#buckets.get(name)
    const left = (bucket ? this.#tokensOf(bucket, now) : this.#burst) - tokens
    const next = { tokens: Math.max(left, -this.#burst), atMs: now }
    if (bucket) Object.assign(bucket, next)
    else this.#add(name, next)
  }

  /** Whether charges have taken more tokens than there were. */
  isExceeded(name: string): boolean {
    const bucket = this.#buckets.get(name)
    return bucket !== undefined && this.#tokensOf(bucket, this.#now()) < 0
  }

  get size(): number {
    return this.#buckets.size
  }

  #add(name: string, bucket: Bucket): void {
    this.#buckets.set(name, bucket)
    if (this.#buckets.size <= mostBuckets) return
    const [oldest] = this.#buckets.keys()
    if (oldest !== undefined) this.#buckets.delete(oldest)
  }

  #waitWith(tokens: number): number {
    return tokens >= 1 ? 0 : Math.ceil((1 - tokens) / this.#perMs / 1000)
  }

  #tokensOf({ tokens, atMs }: Bucket, now: number): number {
    return Math.min(this.#burst, tokens + (now - atMs) * this.#perMs)
  }
}
