/**
 * Several instances of one agent, the best first. A call whose connection could not even be made is made again
 * at the next one: nothing happened, so nothing happens twice. Calls stay where the last one was answered,
 * because tasks may live there and nowhere else. What is asked about a task that is not known there is asked of the
 * others too; while one of them cannot be reached, nobody knows that the task is gone.
 *
 * A send with a key goes where the key leads, in whatever process: one that is made again after a crash is then made
 * where it has been heard, if it has been.
 */
import { batchesOf, items } from '../model/batches.js'
import { A2AError } from '../model/errors.js'
import { callStreaming, callUnary, fromGeneric } from '../model/generic-service.js'
import type { Operation } from '../model/operations.js'
import type { AgentService, CallContext, SendMessageRequest } from '../model/service.js'
import { wasNotSent } from '../model/transport-error.js'

interface Callable {
  readonly address: string
  readonly service: AgentService
}

export class Instances<Instance extends Callable> {
  readonly #all: readonly Instance[]
  readonly #onMove: (to: Instance, why: string) => void
  #place = 0

  constructor(all: readonly Instance[], onMove: (to: Instance, why: string) => void) {
    this.#all = all
    this.#onMove = onMove
  }

  get current(): Instance {
    return this.#at(this.#place)
  }

  /** The service that always is the current one. */
  service(): AgentService {
    if (this.#all.length === 1) return this.current.service
    const self = this
    return fromGeneric({
      async unary(operation, request, context) {
        const search = self.#search(operation, request, context)
        for (;;) {
          try {
            const answer = await callUnary(self.#at(search.place).service, operation, request, context)
            self.#stay(search)
            return answer
          } catch (error) {
            search.next(error)
          }
        }
      },
      streaming: (operation, request, context) =>
        items(
          (async function* () {
            const search = self.#search(operation, request, context)
            for (let hasBegun = false; ; ) {
              try {
                for await (const batch of batchesOf(
                  callStreaming(self.#at(search.place).service, operation, request, context),
                )) {
                  hasBegun = true
                  self.#stay(search)
                  yield batch
                }
                return
              } catch (error) {
                if (hasBegun) throw error
                search.next(error)
              }
            }
          })(),
        ),
    })
  }

  #at(place: number): Instance {
    return this.#all[place] as Instance // there is one at least, and places go round
  }

  #search(operation: Operation, request: unknown, { idempotencyKey: key }: CallContext): Search {
    if (key !== undefined && beginsTask(operation, request))
      return new Search(
        orderByKey(
          key,
          this.#all.map(({ address }) => address),
        ),
      )
    return new Search(this.#all.map((_, place) => (this.#place + place) % this.#all.length))
  }

  #stay({ place, why }: Search): void {
    if (place === this.#place) return
    this.#place = place
    if (why !== undefined) this.#onMove(this.current, why)
  }
}

/** The way of one call from instance to instance. */
class Search {
  /** Why it had to go on, when somebody could not be reached. */
  why: string | undefined
  readonly #order: readonly number[]
  #tried = 0
  #unreached: unknown

  constructor(order: readonly number[]) {
    this.#order = order
  }

  get place(): number {
    return this.#order[this.#tried] ?? 0
  }

  /** Throws what is no reason to go elsewhere, and when everybody was tried. */
  next(error: unknown): void {
    const isAway = wasNotSent(error)
    if (!isAway && !isElsewhere(error)) throw error
    if (isAway) {
      this.#unreached ??= error
      this.why ??= error.message
    }
    if (this.#tried + 1 === this.#order.length) throw this.#unreached ?? error
    this.#tried += 1
  }
}

/** Refused before anything was done: asking somebody else does no harm. */
function isElsewhere(error: unknown): error is A2AError {
  return error instanceof A2AError && error.code === 'TASK_NOT_FOUND'
}

function beginsTask(operation: Operation, request: unknown): boolean {
  if (operation !== 'sendMessage' && operation !== 'sendStreamingMessage') return false
  return (request as SendMessageRequest).message.taskId === undefined // what these operations are called with
}

/**
 * The order in which places are asked with a key: for each key another one, and the same in every process that knows
 * the same places. When a place comes or goes, only the keys that it takes or had move.
 */
export function orderByKey(key: string, addresses: readonly string[]): readonly number[] {
  const ranks = addresses.map((address) => hashOf(`${address} ${key}`))
  return [...addresses.keys()].sort((a, b) => (ranks[b] ?? 0) - (ranks[a] ?? 0))
}

/** FNV-1a, with its bits mixed once more: keys that differ in their last character end up far apart. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let place = 0; place < text.length; place++) hash = Math.imul(hash ^ text.charCodeAt(place), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}
