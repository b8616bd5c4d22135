/**
 * Several ways to one agent, the best first. A call that the peer did not even understand is made again the
 * next way: nothing happened there, so nothing happens twice. The first way that is understood is kept for good;
 * what the peer does not understand from then on, it does not have.
 */

import { batchesOf, items } from '../model/batches.js'
import { A2AError } from '../model/errors.js'
import { callStreaming, callUnary, fromGeneric } from '../model/generic-service.js'
import type { Operation } from '../model/operations.js'
import type { AgentService, CallContext, StreamItem } from '../model/service.js'
import { TransportError } from '../transports/transport-error.js'
import type { Choice } from './agent-client.js'

export interface Way {
  readonly choice: Choice
  readonly service: AgentService
}

export class Ways {
  readonly #ways: readonly Way[]
  readonly #onFallBack: (choice: Choice, why: string) => void
  #place = 0
  #isKept = false

  constructor(ways: readonly Way[], onFallBack: (choice: Choice, why: string) => void) {
    this.#ways = ways
    this.#onFallBack = onFallBack
  }

  get current(): Way {
    return this.#way(this.#place)
  }

  /** The service that always is the current one. */
  service(): AgentService {
    return fromGeneric({
      unary: (operation, request, context) => this.#call(operation, request, context),
      streaming: (operation, request, context) => items(this.#follow(operation, request, context)),
    })
  }

  // Each call has its own place: many may be under way when the first one finds out which way is understood.
  async #call(operation: Operation, request: unknown, context: CallContext): Promise<unknown> {
    const misunderstood: unknown[] = []
    for (let place = this.#place; ; place = this.#next(place)) {
      try {
        const result = await callUnary(this.#way(place).service, operation, request, context)
        this.#keep(place, misunderstood)
        return result
      } catch (error) {
        this.#learn(error, place, misunderstood)
      }
    }
  }

  async *#follow(
    operation: Operation,
    request: unknown,
    context: CallContext,
  ): AsyncGenerator<readonly StreamItem[], void, void> {
    const misunderstood: unknown[] = []
    for (let place = this.#place; ; place = this.#next(place)) {
      let isStarted = false
      try {
        for await (const batch of batchesOf(callStreaming(this.#way(place).service, operation, request, context))) {
          isStarted = true
          this.#keep(place, misunderstood)
          yield batch
        }
        return
      } catch (error) {
        if (isStarted) throw error
        this.#learn(error, place, misunderstood)
      }
    }
  }

  #way(place: number): Way {
    return this.#ways[place] as Way // there is one at least, and no place passes the last
  }

  #next(place: number): number {
    return this.#isKept ? this.#place : place + 1
  }

  #keep(place: number, misunderstood: readonly unknown[]): void {
    if (this.#isKept) return
    this.#isKept = true
    if (place === this.#place) return
    this.#place = place
    const [first] = misunderstood
    this.#onFallBack(this.current.choice, first instanceof Error ? first.message : String(first))
  }

  /** Throws what the caller has to know; returns when the call is worth another way. */
  #learn(error: unknown, place: number, misunderstood: unknown[]): void {
    if (!wasNotUnderstood(error)) {
      if (isAnswer(error)) this.#keep(place, misunderstood)
      throw error
    }
    misunderstood.push(error)
    const hasOther = this.#isKept ? place !== this.#place : place + 1 < this.#ways.length
    // Where nobody understands, the best way says why.
    if (!hasOther) throw misunderstood[0]
  }
}

function wasNotUnderstood(error: unknown): boolean {
  if (error instanceof A2AError) return error.code === 'METHOD_NOT_FOUND' || error.code === 'VERSION_NOT_SUPPORTED'
  return error instanceof TransportError && error.failure === 'bad-answer' && !error.isRetryable
}

/** A refusal in the words of the protocol; an operation that a dialect does not have was never asked for. */
function isAnswer(error: unknown): boolean {
  return error instanceof A2AError && error.code !== 'UNSUPPORTED_OPERATION'
}
