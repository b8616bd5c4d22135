/**
 * Stops calling an agent that does not answer. Closed: calls go through. After several failures in a row it opens, and calls
 * fail at once. After `openMs` one call may try: if the agent answers, the breaker closes, otherwise it stays open.
 */
import { batchesOf, items } from '../model/batches.js'
import { fromGeneric, toGeneric } from '../model/generic-service.js'
import type { AgentService, StreamItem } from '../model/service.js'
import { TransportError } from '../model/transport-error.js'

export interface CircuitBreakerOptions {
  /** Failures in a row that open the breaker. Default 5; 0 disables it. */
  readonly failures?: number
  /** Time that the breaker stays open, in milliseconds. Default 10 000. */
  readonly openMs?: number
}

export class CircuitBreaker {
  readonly #maxFailures: number
  readonly #openMs: number
  readonly #now: () => number
  #failures = 0
  #lastFailure: TransportError | undefined
  #openedAt: number | undefined
  #isTrying = false

  constructor({ failures = 5, openMs = 10_000 }: CircuitBreakerOptions, now: () => number) {
    this.#maxFailures = failures
    this.#openMs = openMs
    this.#now = now
  }

  /** Throws `circuit-open` while the breaker is open. */
  assertClosed(): void {
    if (this.#openedAt === undefined) return
    const leftMs = this.#openedAt + this.#openMs - this.#now()
    if (leftMs <= 0 && !this.#isTrying) {
      this.#isTrying = true
      return
    }
    const seconds = Math.max(1, Math.ceil(leftMs / 1000))
    const pause = `The agent failed ${this.#failures} times; trying again in ${seconds} s`
    throw new TransportError('circuit-open', this.#lastFailure ? `${this.#lastFailure.message}. ${pause}` : pause, {
      isRetryable: false,
      cause: this.#lastFailure,
    })
  }

  /** Records any answer of the agent, errors included. */
  succeeded(): void {
    this.#failures = 0
    this.#openedAt = undefined
    this.#isTrying = false
  }

  /** Records that a stream ended, so that another call may try. */
  ended(): void {
    this.#isTrying = false
  }

  failed(error: unknown): void {
    if (!(error instanceof TransportError)) {
      this.succeeded()
      return
    }
    this.#isTrying = false
    // Aborted calls and refused addresses say nothing about the agent.
    if (error.failure !== 'unreachable' && error.failure !== 'timeout') return
    this.#failures += 1
    this.#lastFailure = error
    if (this.#maxFailures > 0 && this.#failures >= this.#maxFailures) this.#openedAt = this.#now()
  }
}

export function withCircuitBreaker(service: AgentService, breaker: CircuitBreaker): AgentService {
  const { unary, streaming } = toGeneric(service)
  async function* follow(...call: Parameters<typeof streaming>): AsyncGenerator<readonly StreamItem[], void, void> {
    breaker.assertClosed()
    try {
      for await (const batch of batchesOf(streaming(...call))) {
        breaker.succeeded()
        yield batch
      }
    } catch (error) {
      breaker.failed(error)
      throw error
    } finally {
      breaker.ended()
    }
  }
  return fromGeneric({
    async unary(...call) {
      breaker.assertClosed()
      try {
        const result = await unary(...call)
        breaker.succeeded()
        return result
      } catch (error) {
        breaker.failed(error)
        throw error
      }
    },
    streaming: (...call) => items(follow(...call)),
  })
}
