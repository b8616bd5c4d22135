/**
 * Several ways to one agent, the best first. A call that the peer did not even understand is made again the
 * next way, and that way is kept: nothing happened there, so nothing happens twice.
 */
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

  constructor(ways: readonly Way[], onFallBack: (choice: Choice, why: string) => void) {
    this.#ways = ways
    this.#onFallBack = onFallBack
  }

  get current(): Way {
    return this.#ways[this.#place] as Way // there is one at least, and the place never passes the last
  }

  /** The service that always is the current one. */
  service(): AgentService {
    return fromGeneric({
      unary: (operation, request, context) => this.#call(operation, request, context),
      streaming: (operation, request, context) => this.#follow(operation, request, context),
    })
  }

  async #call(operation: Operation, request: unknown, context: CallContext): Promise<unknown> {
    for (;;) {
      try {
        return await callUnary(this.current.service, operation, request, context)
      } catch (error) {
        if (!this.#advance(error)) throw error
      }
    }
  }

  async *#follow(operation: Operation, request: unknown, context: CallContext): AsyncGenerator<StreamItem, void, void> {
    for (;;) {
      let isStarted = false
      try {
        for await (const item of callStreaming(this.current.service, operation, request, context)) {
          isStarted = true
          yield item
        }
        return
      } catch (error) {
        if (isStarted || !this.#advance(error)) throw error
      }
    }
  }

  #advance(error: unknown): boolean {
    const next = this.#ways[this.#place + 1]
    if (!next || !wasNotUnderstood(error)) return false
    this.#place += 1
    this.#onFallBack(next.choice, error instanceof Error ? error.message : String(error))
    return true
  }
}

function wasNotUnderstood(error: unknown): boolean {
  if (error instanceof A2AError) return error.code === 'METHOD_NOT_FOUND' || error.code === 'VERSION_NOT_SUPPORTED'
  return error instanceof TransportError && error.failure === 'bad-answer' && !error.isRetryable
}
