/**
 * Calls one of several instances of an agent, the best first. If no connection can be made, the call goes to the next
 * instance: it was not sent, so it cannot run twice. Later calls stay at the instance that answered, because tasks may
 * exist only there. If an instance does not know a task, the others are asked too; while one of them is unreachable, the
 * task may still exist.
 *
 * A send with an idempotency key starts at the instance that the key selects, in every process. A send that is repeated
 * after a crash so reaches the instance that may have it already.
 */
import { batchesOf, items } from '../model/batches.js'
import { A2AError } from '../model/errors.js'
import { callStreaming, callUnary, fromGeneric } from '../model/generic-service.js'
import type { Operation } from '../model/operations.js'
import type { AgentService, CallContext, SendMessageRequest, StreamItem } from '../model/service.js'
import { wasNotSent } from '../model/transport-error.js'

interface Instance {
  readonly address: string
  readonly service: AgentService
}

export class InstanceFallback<T extends Instance> {
  readonly #instances: readonly T[]
  readonly #onSwitch: (to: T, reason: string) => void
  #current = 0

  constructor(instances: readonly T[], onSwitch: (to: T, reason: string) => void) {
    this.#instances = instances
    this.#onSwitch = onSwitch
  }

  get current(): T {
    return this.#at(this.#current)
  }

  /** Returns a service that calls the current instance. */
  service(): AgentService {
    if (this.#instances.length === 1) return this.current.service
    return fromGeneric({
      unary: (...call) => this.#call(...call),
      streaming: (...call) => items(this.#follow(...call)),
    })
  }

  async #call(operation: Operation, request: unknown, context: CallContext): Promise<unknown> {
    const search = this.#search(operation, request, context)
    for (;;) {
      try {
        const answer = await callUnary(this.#at(search.index).service, operation, request, context)
        this.#keep(search)
        return answer
      } catch (error) {
        search.next(error)
      }
    }
  }

  async *#follow(
    operation: Operation,
    request: unknown,
    context: CallContext,
  ): AsyncGenerator<readonly StreamItem[], void, void> {
    const search = this.#search(operation, request, context)
    for (let hasStarted = false; ; ) {
      try {
        const stream = callStreaming(this.#at(search.index).service, operation, request, context)
        for await (const batch of batchesOf(stream)) {
          hasStarted = true
          this.#keep(search)
          yield batch
        }
        return
      } catch (error) {
        if (hasStarted) throw error
        search.next(error)
      }
    }
  }

  #at(index: number): T {
    return this.#instances[index] as T // there is at least one, and indexes wrap around
  }

  #search(operation: Operation, request: unknown, { idempotencyKey: key }: CallContext): Search {
    if (key === undefined || !startsTask(operation, request))
      return new Search(this.#instances.map((_, offset) => (this.#current + offset) % this.#instances.length))
    const addresses = this.#instances.map(({ address }) => address)
    return new Search(orderByKey(key, addresses))
  }

  #keep({ index, reason }: Search): void {
    if (index === this.#current) return
    this.#current = index
    if (reason !== undefined) this.#onSwitch(this.current, reason)
  }
}

/** The instances that one call tries, in order. */
class Search {
  /** Message of the first failed connection. */
  reason: string | undefined
  readonly #order: readonly number[]
  #tried = 0
  #connectionError: unknown

  constructor(order: readonly number[]) {
    this.#order = order
  }

  get index(): number {
    return this.#order[this.#tried] ?? 0
  }

  /** Moves to the next instance. Throws if the error is final, or if there is no further instance. */
  next(error: unknown): void {
    const isUnreachable = wasNotSent(error)
    const isUnknownTask = error instanceof A2AError && error.code === 'TASK_NOT_FOUND'
    if (!isUnreachable && !isUnknownTask) throw error
    if (isUnreachable) {
      this.#connectionError ??= error
      this.reason ??= error.message
    }
    if (this.#tried + 1 === this.#order.length) throw this.#connectionError ?? error
    this.#tried += 1
  }
}

function startsTask(operation: Operation, request: unknown): boolean {
  if (operation !== 'sendMessage' && operation !== 'sendStreamingMessage') return false
  return (request as SendMessageRequest).message.taskId === undefined // the request type of these operations
}

/**
 * Orders instances for a key by rendezvous hashing: every process that knows the same addresses gets the same order. When an
 * instance is added or removed, only the keys of that instance move.
 */
function orderByKey(key: string, addresses: readonly string[]): readonly number[] {
  const ranks = addresses.map((address) => hashOf(`${address} ${key}`))
  return [...addresses.keys()].sort((a, b) => (ranks[b] ?? 0) - (ranks[a] ?? 0))
}

/** FNV-1a with a final mix, so that keys that differ in the last character get distant hashes. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}
