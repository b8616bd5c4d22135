/**
 * Several interfaces of one agent, the best first. A call that the peer did not understand, or that was never sent, is made
 * again at the next interface. So is a call that met a broken connection, 502, 503 or 504, if it may be repeated (reads, and
 * sends with an idempotency key) and if the next interface is at another origin. The first interface that understands a call is kept; later failures are the agent's.
 */
import { batchesOf, items } from '../model/batches.js'
import { A2AError, clip } from '../model/errors.js'
import { callStreaming, callUnary, fromGeneric } from '../model/generic-service.js'
import type { Operation } from '../model/operations.js'
import type { AgentService, CallContext, StreamItem } from '../model/service.js'
import { explained, TransportError, wasNotSent } from '../model/transport-error.js'
import type { Choice } from './agent-client.js'
import { isRepeatable } from './retry.js'
import { originOf } from './trusted-origins.js'

export interface OpenedInterface {
  readonly choice: Choice
  readonly service: AgentService
}

export interface InterfaceFallbackOptions {
  readonly onFallBack: (choice: Choice, why: string) => void
  /** The address of the card that names the interfaces; absent when the card was given. */
  readonly cardUrl?: string | undefined
}

export class InterfaceFallback {
  readonly #ways: readonly OpenedInterface[]
  readonly #options: InterfaceFallbackOptions
  #place = 0
  #isKept = false

  constructor(ways: readonly OpenedInterface[], options: InterfaceFallbackOptions) {
    this.#ways = ways
    this.#options = options
  }

  get current(): OpenedInterface {
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
    const failed: Failed[] = []
    for (let place = this.#place; ; place = this.#next(place, failed)) {
      try {
        const result = await callUnary(this.#way(place).service, operation, request, context)
        this.#keep(place, failed)
        return result
      } catch (error) {
        this.#learn(error, place, failed, isRepeatable(operation, context))
      }
    }
  }

  async *#follow(
    operation: Operation,
    request: unknown,
    context: CallContext,
  ): AsyncGenerator<readonly StreamItem[], void, void> {
    const failed: Failed[] = []
    for (let place = this.#place; ; place = this.#next(place, failed)) {
      let isStarted = false
      try {
        for await (const batch of batchesOf(callStreaming(this.#way(place).service, operation, request, context))) {
          isStarted = true
          this.#keep(place, failed)
          yield batch
        }
        return
      } catch (error) {
        if (isStarted) throw error
        this.#learn(error, place, failed, isRepeatable(operation, context))
      }
    }
  }

  #way(place: number): OpenedInterface {
    return this.#ways[place] as OpenedInterface // there is one at least, and no place passes the last
  }

  /** An origin that cannot be reached, or that has an outage, is not tried again over another binding or dialect. */
  #next(place: number, failed: readonly Failed[]): number {
    if (this.#isKept) return this.#place
    const dead = failed
      .filter(({ error }) => wasNotSent(error) || isOutage(error))
      .map((each) => this.#originAt(each.place))
    let next = place + 1
    while (next < this.#ways.length && dead.includes(this.#originAt(next))) next++
    return next
  }

  #originAt(place: number): string | undefined {
    return originOf(this.#way(place).choice.url)
  }

  #keep(place: number, failed: readonly Failed[]): void {
    if (this.#isKept) return
    this.#isKept = true
    if (place === this.#place) return
    this.#place = place
    this.#options.onFallBack(this.current.choice, failed[0]?.error.message ?? '')
  }

  /** Throws what the caller has to know; returns when the call is worth another way. */
  #learn(error: unknown, place: number, failed: Failed[], canRepeat: boolean): void {
    if (!wasNotUnderstood(error) && !wasNotSent(error) && !(canRepeat && isOutage(error))) {
      if (isAnswer(error)) this.#keep(place, failed)
      throw error
    }
    failed.push({ error, place })
    const next = this.#next(place, failed)
    if (next !== place && next < this.#ways.length) return
    // Where nobody understands, the best way says why, of those where somebody is.
    const best = failed.find((each) => !wasNotSent(each.error)) ?? failed[0]
    throw best && this.#explained(best)
  }

  /** A server without `publicUrl` writes an address into its card at which it may not be reached. */
  #explained({ error, place }: Failed): unknown {
    const { cardUrl } = this.#options
    if (!wasNotSent(error) || cardUrl === undefined || originOf(cardUrl) === this.#originAt(place)) return error
    const { url } = this.#way(place).choice
    return explained(
      error,
      (message) =>
        `${message}. The card at ${clip(cardUrl)} names ${clip(url)}: set \`publicUrl\` of the agent's server to the address that clients use`,
    )
  }
}

interface Failed {
  readonly error: Error
  readonly place: number
}

function wasNotUnderstood(error: unknown): error is A2AError | TransportError {
  if (error instanceof A2AError) return error.code === 'METHOD_NOT_FOUND' || error.code === 'VERSION_NOT_SUPPORTED'
  return error instanceof TransportError && error.failure === 'bad-answer' && !error.isRetryable
}

/** A connection that broke before an answer came, or a gateway or agent that is down for now. */
function isOutage(error: unknown): error is A2AError | TransportError {
  if (error instanceof A2AError) return error.code === 'UNAVAILABLE'
  return error instanceof TransportError && error.isRetryable && error.failure !== 'broken-stream'
}

/** A refusal in the words of the protocol; an operation that a dialect does not have was never asked for. */
function isAnswer(error: unknown): boolean {
  return error instanceof A2AError && error.code !== 'UNSUPPORTED_OPERATION'
}
