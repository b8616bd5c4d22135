/**
 * Several instances of one agent, the best first. A call whose connection could not even be made is made again
 * at the next one: nothing happened, so nothing happens twice. Calls stay where the last one was answered,
 * because tasks may live there and nowhere else. What is asked about a task that is not known there is asked of the
 * others too; while one of them cannot be reached, nobody knows that the task is gone.
 */
import { batchesOf, items } from '../model/batches.js'
import { A2AError } from '../model/errors.js'
import { callStreaming, callUnary, fromGeneric } from '../model/generic-service.js'
import type { AgentService } from '../model/service.js'
import { wasNotSent } from '../transports/transport-error.js'

export class Instances<Instance extends { readonly service: AgentService }> {
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
        const search = new Search(self.#place, self.#all.length)
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
            const search = new Search(self.#place, self.#all.length)
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

  #stay({ place, why }: Search): void {
    if (why === undefined || place === this.#place) return
    this.#place = place
    this.#onMove(this.current, why)
  }
}

/** The way of one call from instance to instance. */
class Search {
  place: number
  /** The first reason to go on. */
  why: string | undefined
  readonly #count: number
  #left: number
  #unreached: unknown

  constructor(place: number, count: number) {
    this.place = place
    this.#count = count
    this.#left = count
  }

  /** Throws what is no reason to go elsewhere, and when everybody was tried. */
  next(error: unknown): void {
    const isAway = wasNotSent(error)
    if (!isAway && !isElsewhere(error)) throw error
    this.#left -= 1
    if (isAway) this.#unreached ??= error
    if (this.#left === 0) throw this.#unreached ?? error
    this.why ??= error.message
    this.place = (this.place + 1) % this.#count
  }
}

/** Refused before anything was done: asking somebody else does no harm. */
function isElsewhere(error: unknown): error is A2AError {
  return error instanceof A2AError && error.code === 'TASK_NOT_FOUND'
}
