/**
 * Calls one of several interfaces of an agent, the best first. A call goes to the next interface if the peer did not
 * understand it or if it was not sent. After a broken connection, 502, 503 or 504, it goes to the next interface at another
 * origin if it is safe to repeat (reads, and sends with an idempotency key). The first interface that understands a call is
 * kept; later failures are the agent's.
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

interface Interface {
  readonly choice: Choice
  readonly service: AgentService
}

interface InterfaceFallbackOptions {
  readonly onFallback: (choice: Choice, reason: string) => void
  /** Address of the card that names the interfaces. Undefined if the user passed the card. */
  readonly cardUrl?: string | undefined
}

interface Failure {
  readonly error: Error
  readonly index: number
}

export class InterfaceFallback {
  readonly #interfaces: readonly Interface[]
  readonly #options: InterfaceFallbackOptions
  #current = 0
  #isKept = false

  constructor(interfaces: readonly Interface[], options: InterfaceFallbackOptions) {
    this.#interfaces = interfaces
    this.#options = options
  }

  get current(): Interface {
    return this.#at(this.#current)
  }

  /** Returns a service that calls the current interface. */
  service(): AgentService {
    return fromGeneric({
      unary: (...call) => this.#call(...call),
      streaming: (...call) => items(this.#follow(...call)),
    })
  }

  // Each call has its own index: several may run when the first one finds the interface that understands it.
  async #call(operation: Operation, request: unknown, context: CallContext): Promise<unknown> {
    const failures: Failure[] = []
    for (let index = this.#current; ; index = this.#next(index, failures)) {
      try {
        const result = await callUnary(this.#at(index).service, operation, request, context)
        this.#keep(index, failures)
        return result
      } catch (error) {
        this.#record(error, index, failures, isRepeatable(operation, context))
      }
    }
  }

  async *#follow(
    operation: Operation,
    request: unknown,
    context: CallContext,
  ): AsyncGenerator<readonly StreamItem[], void, void> {
    const failures: Failure[] = []
    for (let index = this.#current; ; index = this.#next(index, failures)) {
      let hasStarted = false
      try {
        for await (const batch of batchesOf(callStreaming(this.#at(index).service, operation, request, context))) {
          hasStarted = true
          this.#keep(index, failures)
          yield batch
        }
        return
      } catch (error) {
        if (hasStarted) throw error
        this.#record(error, index, failures, isRepeatable(operation, context))
      }
    }
  }

  #at(index: number): Interface {
    return this.#interfaces[index] as Interface // there is at least one, and no index passes the last
  }

  /** Skips interfaces at origins that cannot be reached or that have an outage. */
  #next(index: number, failures: readonly Failure[]): number {
    if (this.#isKept) return this.#current
    const down = failures
      .filter(({ error }) => wasNotSent(error) || isOutage(error))
      .map((each) => this.#originAt(each.index))
    let next = index + 1
    while (next < this.#interfaces.length && down.includes(this.#originAt(next))) next++
    return next
  }

  #originAt(index: number): string | undefined {
    return originOf(this.#at(index).choice.url)
  }

  #keep(index: number, failures: readonly Failure[]): void {
    if (this.#isKept) return
    this.#isKept = true
    if (index === this.#current) return
    this.#current = index
    this.#options.onFallback(this.current.choice, failures[0]?.error.message ?? '')
  }

  /** Records a failure if another interface may do better. Throws if the caller has to see an error. */
  #record(error: unknown, index: number, failures: Failure[], canRepeat: boolean): void {
    if (!wasNotUnderstood(error) && !wasNotSent(error) && !(canRepeat && isOutage(error))) {
      if (isAnswer(error)) this.#keep(index, failures)
      throw error
    }
    failures.push({ error, index })
    const next = this.#next(index, failures)
    if (next !== index && next < this.#interfaces.length) return
    // Report the error of the best interface that could be reached.
    const best = failures.find((each) => !wasNotSent(each.error)) ?? failures[0]
    throw best && this.#explained(best)
  }

  /** Explains a card that names an address at which its server cannot be reached. */
  #explained({ error, index }: Failure): unknown {
    const { cardUrl } = this.#options
    if (!wasNotSent(error) || cardUrl === undefined || originOf(cardUrl) === this.#originAt(index)) return error
    const { url } = this.#at(index).choice
    return explained(
      error,
      (message) =>
        `${message}. The card at ${clip(cardUrl)} names ${clip(url)}: set \`publicUrl\` of the agent's server to the address that clients use`,
    )
  }
}

function wasNotUnderstood(error: unknown): error is A2AError | TransportError {
  if (error instanceof A2AError) return error.code === 'METHOD_NOT_FOUND' || error.code === 'VERSION_NOT_SUPPORTED'
  return error instanceof TransportError && error.failure === 'bad-answer' && !error.isRetryable
}

/** A connection that broke before the response, or a gateway or agent that is down. */
function isOutage(error: unknown): error is A2AError | TransportError {
  if (error instanceof A2AError) return error.code === 'UNAVAILABLE'
  return error instanceof TransportError && error.isRetryable && error.failure !== 'broken-stream'
}

/** Whether the agent answered. UNSUPPORTED_OPERATION may come from the client, for an operation the dialect lacks. */
function isAnswer(error: unknown): boolean {
  return error instanceof A2AError && error.code !== 'UNSUPPORTED_OPERATION'
}
