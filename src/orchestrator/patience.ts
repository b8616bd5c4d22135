/** How long an agent that gives no answer is asked again, in one attempt and with one key. */
import { backoffDelay, requestedDelay, type Timing } from '../client/retry.js'
import { TransportError } from '../model/transport-error.js'

const pauses = { firstDelayMs: 100, longestDelayMs: 2_000 }

export class Patience {
  readonly #waiting: Timing
  readonly #now: () => number
  #failures = 0
  #failingSince = 0
  #failedAt = 0
  #isHeard = true

  constructor(waiting: Timing, now: () => number) {
    this.#waiting = waiting
    this.#now = now
  }

  /** The agent said something: it is there. */
  heard(): void {
    this.#isHeard = true
  }

  /** How long to wait before the agent is asked again; absent when that makes no sense, or not within this time. */
  delayAfter(error: unknown, patienceMs: number): number | undefined {
    const now = this.#now()
    if (this.#isHeard) {
      this.#failingSince = now
      // A line that breaks again at once is no good line yet.
      if (now - this.#failedAt > pauses.longestDelayMs) this.#failures = 0
    }
    this.#isHeard = false
    this.#failedAt = now
    this.#failures += 1
    const askedMs = requestedDelay(error) ?? (isSilence(error) ? 0 : undefined)
    const leftMs = this.#failingSince + patienceMs - now
    if (askedMs === undefined || leftMs <= 0 || askedMs > leftMs) return undefined
    return Math.max(askedMs, backoffDelay(this.#failures, pauses, this.#waiting))
  }
}

/** Other callers have waited long enough then; a step has a key, and asks whether it was heard. */
function isSilence(error: unknown): boolean {
  return error instanceof TransportError && (error.failure === 'timeout' || error.failure === 'circuit-open')
}
