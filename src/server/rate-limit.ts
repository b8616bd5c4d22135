/** Rate limits as token buckets. */

/** A rate limit: a steady rate and a burst above it. */
export interface Rate {
  /** Tokens added per second. */
  readonly perSecond: number
  /** Maximum number of tokens, which can be used at once. Default: those of five seconds, at least one. */
  readonly burst?: number
}

/** Beyond this number the least recently used bucket is removed: it is probably full again. */
const maxBuckets = 10_000

interface Bucket {
  tokens: number
  /** Time of the last update. */
  atMs: number
}

export class RateLimit {
  /** The value of the limit, for error messages. */
  readonly text: string
  readonly #perMs: number
  readonly #burst: number
  readonly #now: () => number
  /** Above half of the maximum, in order of use. */
  readonly #buckets = new Map<string, Bucket>()

  constructor({ perSecond, burst = Math.max(1, perSecond * 5) }: Rate, now: () => number = () => performance.now()) {
    if (!(perSecond > 0) || !(burst >= 1)) throw new TypeError('A rate needs `perSecond` above 0 and `burst` from 1 on')
    this.text = `${perSecond} a second, ${burst} at once`
    this.#perMs = perSecond / 1000
    this.#burst = burst
    this.#now = now
  }

  /** Seconds until a token is available; 0 if there is one. */
  waitFor(name: string): number {
    const bucket = this.#buckets.get(name)
    return bucket ? this.#waitWith(this.#tokensOf(bucket, this.#now())) : 0
  }

  /** Takes a token if one is available. Returns the result of `waitFor` before that. */
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
    // The order of use matters only when buckets may be removed soon.
    if (this.#buckets.size > maxBuckets / 2) {
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
    if (this.#buckets.size <= maxBuckets) return
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
