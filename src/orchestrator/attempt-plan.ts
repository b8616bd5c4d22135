/**
 * Decides which agent does an attempt of a step, and when. The decision depends only on the step and the attempt number, so
 * that a restarted run repeats it.
 */
import { backoffDelay, requestedDelay, type Timing } from '../client/retry.js'
import { TransportError } from '../model/transport-error.js'
import type { Step, StepAgent } from './flow.js'

const defaultDelayMs = 200
const maxDelayMs = 10_000

export class AttemptPlan {
  readonly #agents: readonly [StepAgent, ...StepAgent[]]
  readonly #attemptsEach: number
  readonly #firstDelayMs: number

  constructor({ agent, fallback = [], retry }: Pick<Step, 'agent' | 'fallback' | 'retry'>) {
    this.#agents = [agent, ...(Array.isArray(fallback) ? (fallback as readonly StepAgent[]) : [fallback as StepAgent])]
    this.#attemptsEach = Math.max(1, retry?.attempts ?? 1)
    this.#firstDelayMs = retry?.delayMs ?? defaultDelayMs
  }

  /** Attempts start at 1. */
  agentOf(attempt: number): StepAgent {
    return this.#agents[Math.floor((attempt - 1) / this.#attemptsEach)] ?? this.#agents[0]
  }

  /** The number of the next attempt, at the same agent or the next one; undefined if all were tried. */
  after(attempt: number, canRetry: boolean): number | undefined {
    const next = canRetry ? attempt + 1 : Math.ceil(attempt / this.#attemptsEach) * this.#attemptsEach + 1
    return next > this.#agents.length * this.#attemptsEach ? undefined : next
  }

  /** No delay for another agent; exponential backoff for the same one, and at least the delay that it requested. */
  delayBefore(attempt: number, failure: unknown, timing: Timing): number {
    const retries = (attempt - 1) % this.#attemptsEach
    if (retries === 0) return 0
    const pauseMs = backoffDelay(retries, { firstDelayMs: this.#firstDelayMs, maxDelayMs }, timing)
    return Math.max(pauseMs, requestedDelay(failure) ?? 0)
  }
}

const pauses = { firstDelayMs: 100, maxDelayMs: 2_000 }

/** Limits how long one attempt retries an agent that does not answer. */
export class RetryBudget {
  readonly #timing: Timing
  readonly #now: () => number
  #failures = 0
  #failingSince = 0
  #failedAt = 0
  #hasAnswered = true

  constructor(timing: Timing, now: () => number) {
    this.#timing = timing
    this.#now = now
  }

  /** Call when the agent has answered. */
  answered(): void {
    this.#hasAnswered = true
  }

  /** The delay before the next retry; undefined if a retry is pointless or the budget is used up. */
  delayAfter(error: unknown, retryBudgetMs: number): number | undefined {
    const now = this.#now()
    if (this.#hasAnswered) {
      this.#failingSince = now
      // Do not reset the backoff after a brief recovery.
      if (now - this.#failedAt > pauses.maxDelayMs) this.#failures = 0
    }
    this.#hasAnswered = false
    this.#failedAt = now
    this.#failures += 1
    const askedMs = requestedDelay(error) ?? (isSilence(error) ? 0 : undefined)
    const leftMs = this.#failingSince + retryBudgetMs - now
    if (askedMs === undefined || leftMs <= 0 || askedMs > leftMs) return undefined
    return Math.max(askedMs, backoffDelay(this.#failures, pauses, this.#timing))
  }
}

/** A step has an idempotency key, so it may retry after these failures too. */
function isSilence(error: unknown): boolean {
  return error instanceof TransportError && (error.failure === 'timeout' || error.failure === 'circuit-open')
}
