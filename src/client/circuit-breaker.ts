/**
 * Leaves an agent alone that does not answer. Closed: calls go through. After several failures in a row it
 * opens: calls fail at once. After a while one call may try; its outcome closes it or opens it again.
 */
import { batchesOf, items } from '../model/batches.js'
import { fromGeneric, toGeneric } from '../model/generic-service.js'
import type { AgentService, StreamItem } from '../model/service.js'
import { TransportError } from '../model/transport-error.js'

export interface CircuitBreakerOptions {
  /** Failures in a row that open it. Default 5; 0 switches it off. */
  readonly failures?: number
  /** How long it stays open. Default 10 s. */
  readonly openMs?: number
}

export class CircuitBreaker {
  readonly #most: number
  readonly #openMs: number
  readonly #now: () => number
  #failures = 0
  /** The latest of them: why the agent is left alone. */
  #cause: TransportError | undefined
  #openedAt: number | undefined
  #isTrying = false

  constructor({ failures = 5, openMs = 10_000 }: CircuitBreakerOptions, now: () => number) {
    this.#most = failures
    this.#openMs = openMs
    this.#now = now
  }

  /** Throws while the agent is to be left alone. */
  assertClosed(): void {
    if (this.#openedAt === undefined) return
    const leftMs = this.#openedAt + this.#openMs - this.#now()
    if (leftMs <= 0 && !this.#isTrying) {
      this.#isTrying = true
      return
    }
    const wait = Math.max(1, Math.ceil(leftMs / 1000))
    const pause = `The agent failed ${this.#failures} times; trying again in ${wait} s`
    throw new TransportError('circuit-open', this.#cause ? `${this.#cause.message}. ${pause}` : pause, {
      isRetryable: false,
      cause: this.#cause,
    })
  }

  /** An answer, whatever it says: the agent is there. */
  succeeded(): void {
    this.#failures = 0
    this.#openedAt = undefined
    this.#isTrying = false
  }

  /** A stream that nobody reads any more has tried nothing: the next call may. */
  left(): void {
    this.#isTrying = false
  }

  failed(error: unknown): void {
    const isSilence =
      error instanceof TransportError && (error.failure === 'unreachable' || error.failure === 'timeout')
    // Being aborted or refused by a rule of ours says nothing about the agent.
    if (!isSilence) {
      if (!(error instanceof TransportError)) this.succeeded()
      else this.#isTrying = false
      return
    }
    this.#failures += 1
    this.#cause = error
    this.#isTrying = false
    if (this.#most > 0 && this.#failures >= this.#most) this.#openedAt = this.#now()
  }
}

export function withCircuitBreaker(service: AgentService, breaker: CircuitBreaker): AgentService {
  const { unary, streaming } = toGeneric(service)
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
    streaming: (...call) => items(watched(() => streaming(...call), breaker)),
  })
}

async function* watched(
  open: () => AsyncIterable<StreamItem>,
  breaker: CircuitBreaker,
): AsyncGenerator<readonly StreamItem[], void, void> {
  breaker.assertClosed()
  try {
    for await (const batch of batchesOf(open())) {
      breaker.succeeded()
      yield batch
    }
  } catch (error) {
    breaker.failed(error)
    throw error
  } finally {
    breaker.left()
  }
}
