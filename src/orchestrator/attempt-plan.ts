/**
 * Who is asked in which attempt of a step, and when. All of it follows from the step and the number of the attempt,
 * so that a run that starts again comes to the same.
 */
import { backoffDelay, requestedDelay, type Timing } from '../client/retry.js'
import type { Step, StepAgent } from './flow.js'

const usualDelayMs = 200
const longestDelayMs = 10_000

export class AttemptPlan {
  readonly #agents: readonly [StepAgent, ...StepAgent[]]
  readonly #attemptsEach: number
  readonly #firstDelayMs: number

  constructor({ agent, fallback = [], retry }: Pick<Step, 'agent' | 'fallback' | 'retry'>) {
    this.#agents = [agent, ...(Array.isArray(fallback) ? (fallback as readonly StepAgent[]) : [fallback as StepAgent])]
    this.#attemptsEach = Math.max(1, retry?.attempts ?? 1)
    this.#firstDelayMs = retry?.delayMs ?? usualDelayMs
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
    const pauseMs = backoffDelay(timesAsked, { firstDelayMs: this.#firstDelayMs, longestDelayMs }, timing)
    return Math.max(pauseMs, requestedDelay(failure) ?? 0)
  }
}
