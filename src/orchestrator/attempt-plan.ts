/**
 * Who is asked in which attempt of a step, and when. All of it follows from the step and the number of the attempt,
 * so that a run that starts again comes to the same.
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

  /** Attempts are counted from 1. */
  agentOf(attempt: number): StepAgent {
    return this.#agents[Math.floor((attempt - 1) / this.#attemptsEach)] ?? this.#agents[0]
  }

  /** The same agent again, or the next one; absent when all have been tried. */
  after(attempt: number, canRetry: boolean): number | undefined {
    const next = canRetry ? attempt + 1 : Math.ceil(attempt / this.#attemptsEach) * this.#attemptsEach + 1
    return next > this.#agents.length * this.#attemptsEach ? undefined : next
  }

  /** Another agent is asked at once; the same one after a while that doubles, and not before it wants to be. */
  delayBefore(attempt: number, failure: unknown, timing: Timing): number {
    const timesAsked = (attempt - 1) % this.#attemptsEach
    if (timesAsked === 0) return 0
    const pauseMs = backoffDelay(timesAsked, { firstDelayMs: this.#firstDelayMs, maxDelayMs }, timing)
    return Math.max(pauseMs, requestedDelay(failure) ?? 0)
  }
}

const pauses = { firstDelayMs: 100, maxDelayMs: 2_000 }

export class RetryBudget {
  readonly #timing: Timing
  readonly #now: () => number
  #failures = 0
  #failingSince = 0
  #failedAt = 0
  #isHeard = true

  constructor(timing: Timing, now: () => number) {
    this.#timing = timing
    this.#now = now
  }

  /** The agent said something: it is there. */
  heard(): void {
    this.#isHeard = true
  }

  /** How long to wait before the agent is asked again; absent when that makes no sense, or not within this time. */
  delayAfter(error: unknown, retryBudgetMs: number): number | undefined {
    const now = this.#now()
    if (this.#isHeard) {
      this.#failingSince = now
      // A line that breaks again at once is no good line yet.
      if (now - this.#failedAt > pauses.maxDelayMs) this.#failures = 0
    }
    this.#isHeard = false
    this.#failedAt = now
    this.#failures += 1
    const askedMs = requestedDelay(error) ?? (isSilence(error) ? 0 : undefined)
    const leftMs = this.#failingSince + retryBudgetMs - now
    if (askedMs === undefined || leftMs <= 0 || askedMs > leftMs) return undefined
    return Math.max(askedMs, backoffDelay(this.#failures, pauses, this.#timing))
  }
}

/** Other callers have waited long enough then; a step has a key, and asks whether it was heard. */
function isSilence(error: unknown): boolean {
  return error instanceof TransportError && (error.failure === 'timeout' || error.failure === 'circuit-open')
}
