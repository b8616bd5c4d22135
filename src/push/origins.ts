/**
 * How much one origin may have of the worker: so many calls at a time and a few that wait here, one when it
 * seems to be down. Whoever finds no place is sent away for about as long as those before it will take,
 * so that a slow origin is not asked for again and again, and delays nobody else.
 */
export interface OriginLimits {
  readonly perOrigin: number
  readonly now: () => number
}

/** Where a webhook's call stands: it goes, it waits here, or it comes back later. */
export type OriginEntry = 'go' | 'wait' | { readonly comeBackInMs: number }

interface Origin {
  running: number
  readonly waiting: (() => void)[]
  /** In a row, by any of its webhooks, that mean that it is down or overloaded. */
  failures: number
  /** How long a place is taken, on average. */
  averageMs: number
  /** When those who were sent away will all have had their turn. */
  servedByMs: number
}

const failuresOfDown = 3
/** Who waits here is served without a detour through the store. */
const waitingEach = 4
const firstGuessMs = 20
/** Nobody is sent away for longer, for origins recover. */
const longestAwayMs = 60_000
/** An origin that is down is not asked more often, however many webhooks it has. */
const quickestProbeMs = 100
const mostRemembered = 10_000

export class Origins {
  readonly #limits: OriginLimits
  readonly #origins = new Map<string, Origin>()

  constructor(limits: OriginLimits) {
    this.#limits = limits
  }

  /** `begin` is called when it is the turn of one that waits. */
  enter(name: string, begin: () => void): OriginEntry {
    const origin = this.#of(name)
    if (origin.running < this.#mostOf(origin)) {
      origin.running += 1
      return 'go'
    }
    if (!isDown(origin) && origin.waiting.length < waitingEach * this.#limits.perOrigin) {
      origin.waiting.push(begin)
      return 'wait'
    }
    return { comeBackInMs: this.#turnOf(origin) }
  }

  /** A place is free again, after `tookMs`. */
  leave(name: string, tookMs: number, isOverloaded: boolean | undefined): void {
    const origin = this.#of(name)
    origin.running -= 1
    origin.averageMs += (tookMs - origin.averageMs) / 8
    if (isOverloaded) origin.failures += 1
    else if (isOverloaded === false) origin.failures = 0
    while (origin.waiting.length > 0 && origin.running < this.#mostOf(origin)) {
      origin.running += 1
      origin.waiting.shift()?.()
    }
    if (origin.running === 0 && origin.failures === 0) this.#origins.delete(name)
  }

  #of(name: string): Origin {
    let origin = this.#origins.get(name)
    if (!origin) {
      this.#forgetOne()
      origin = { running: 0, waiting: [], failures: 0, averageMs: firstGuessMs, servedByMs: 0 }
      this.#origins.set(name, origin)
    }
    return origin
  }

  #mostOf(origin: Origin): number {
    return isDown(origin) ? 1 : this.#limits.perOrigin
  }

  #turnOf(origin: Origin): number {
    const now = this.#limits.now()
    const eachMs = isDown(origin) ? Math.max(origin.averageMs, quickestProbeMs) : origin.averageMs
    const last = Math.max(origin.servedByMs, now) + eachMs / this.#mostOf(origin)
    origin.servedByMs = Math.min(last, now + longestAwayMs)
    return Math.ceil((origin.servedByMs - now) * (0.75 + Math.random() / 2))
  }

  /** Only those that are down are kept while nobody uses them. */
  #forgetOne(): void {
    if (this.#origins.size < mostRemembered) return
    for (const [name, { running }] of this.#origins) {
      if (running > 0) continue
      this.#origins.delete(name)
      return
    }
  }
}

function isDown({ failures }: Origin): boolean {
  return failures >= failuresOfDown
}
