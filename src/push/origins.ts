/**
 * Limits the calls to each origin: `perOrigin` calls at once and a few that wait, or one call while the origin seems to be
 * down. Further webhooks are postponed for about as long as those before them will take, so that a slow origin delays no
 * other.
 */
interface OriginLimits {
  readonly perOrigin: number
  readonly now: () => number
}

/** Whether a call may begin now, waits for a place, or is postponed. */
type OriginEntry = 'go' | 'wait' | { readonly retryInMs: number }

interface Origin {
  running: number
  readonly waiting: (() => void)[]
  /** Failures in a row, of any of its webhooks, that mean that the origin is down or overloaded. */
  failures: number
  /** The average duration of a call. */
  averageMs: number
  /** When all postponed calls will have been made. */
  servedByMs: number
}

const failuresUntilDown = 3
/** Calls that wait for a place, as a multiple of `perOrigin`. They need no further claim from the store. */
const waitingFactor = 4
const initialAverageMs = 20
/** The maximum delay, because origins recover. */
const maxDelayMs = 60_000
/** The minimum time between calls to an origin that is down, for all of its webhooks together. */
const minProbeMs = 100
const maxOrigins = 10_000

export class Origins {
  readonly #limits: OriginLimits
  readonly #origins = new Map<string, Origin>()

  constructor(limits: OriginLimits) {
    this.#limits = limits
  }

  /** Calls `begin` later if the result is `wait`. */
  enter(name: string, begin: () => void): OriginEntry {
    const origin = this.#of(name)
    if (origin.running < this.#maxOf(origin)) {
      origin.running += 1
      return 'go'
    }
    if (!isDown(origin) && origin.waiting.length < waitingFactor * this.#limits.perOrigin) {
      origin.waiting.push(begin)
      return 'wait'
    }
    return { retryInMs: this.#delayOf(origin) }
  }

  /** Ends a call that took `tookMs`. `isOverloaded` is undefined if the origin was not called. */
  leave(name: string, tookMs: number, isOverloaded: boolean | undefined): void {
    const origin = this.#of(name)
    origin.running -= 1
    origin.averageMs += (tookMs - origin.averageMs) / 8
    if (isOverloaded) origin.failures += 1
    else if (isOverloaded === false) origin.failures = 0
    while (origin.waiting.length > 0 && origin.running < this.#maxOf(origin)) {
      origin.running += 1
      origin.waiting.shift()?.()
    }
    if (origin.running === 0 && origin.failures === 0) this.#origins.delete(name)
  }

  #of(name: string): Origin {
    let origin = this.#origins.get(name)
    if (!origin) {
      this.#forgetOne()
      origin = { running: 0, waiting: [], failures: 0, averageMs: initialAverageMs, servedByMs: 0 }
      this.#origins.set(name, origin)
    }
    return origin
  }

  #maxOf(origin: Origin): number {
    return isDown(origin) ? 1 : this.#limits.perOrigin
  }

  #delayOf(origin: Origin): number {
    const now = this.#limits.now()
    const eachMs = isDown(origin) ? Math.max(origin.averageMs, minProbeMs) : origin.averageMs
    const last = Math.max(origin.servedByMs, now) + eachMs / this.#maxOf(origin)
    origin.servedByMs = Math.min(last, now + maxDelayMs)
    return Math.ceil((origin.servedByMs - now) * (0.75 + Math.random() / 2))
  }

  /** Makes room for another origin. Unused origins are kept only while they are down. */
  #forgetOne(): void {
    if (this.#origins.size < maxOrigins) return
    for (const [name, { running }] of this.#origins) {
      if (running > 0) continue
      this.#origins.delete(name)
      return
    }
  }
}

function isDown({ failures }: Origin): boolean {
  return failures >= failuresUntilDown
}
