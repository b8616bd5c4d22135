/**
 * Several instances of one agent, the best first. A call whose connection could not even be made is made again
 * at the next one: nothing happened, so nothing happens twice. Calls stay where the last one was answered,
 * because tasks may live there and nowhere else.
 */
import { batchesOf, items } from '../model/batches.js'
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
        for (let tries = 1, place = self.#place; ; tries++, place = self.#after(place)) {
          try {
            return await callUnary(self.#at(place).service, operation, request, context)
          } catch (error) {
            self.#move(error, place, tries)
          }
        }
      },
      streaming: (operation, request, context) =>
        items(
          (async function* () {
            for (let tries = 1, place = self.#place; ; tries++, place = self.#after(place)) {
              try {
                yield* batchesOf(callStreaming(self.#at(place).service, operation, request, context))
                return
              } catch (error) {
                // A stream that has begun broke otherwise: then there was a connection.
                self.#move(error, place, tries)
              }
            }
          })(),
        ),
    })
  }

  #at(place: number): Instance {
    return this.#all[place] as Instance // there is one at least, and places go round
  }

  #after(place: number): number {
    return (place + 1) % this.#all.length
  }

  /** Throws what is no reason to go elsewhere, and when everybody was tried. */
  #move(error: unknown, place: number, tries: number): void {
    if (!wasNotSent(error) || tries >= this.#all.length) throw error
    // Others may have moved on already.
    if (place !== this.#place) return
    this.#place = this.#after(place)
    this.#onMove(this.current, error.message)
  }
}
