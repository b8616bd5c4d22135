import type { EventBody } from '../model/event.js'
import { storedSizeOf } from '../model/size-of.js'

/** Uncommitted events, and their bytes, before the agent has to wait for the store. */
export const maxBufferEvents = 256
/** A store may keep one commit as one row, and a slow reader parses the whole row for each page of it. */
const maxBufferBytes = 256 * 1024

/** Events that were taken from the buffer. */
export interface TakenEvents {
  readonly bodies: readonly EventBody[]
  readonly bytes: number
}

/** The events of a task that no commit has taken yet. */
export class EventBuffer {
  #bodies: EventBody[] = []
  #bytes = 0

  get size(): number {
    return this.#bodies.length
  }

  get bytes(): number {
    return this.#bytes
  }

  get isFull(): boolean {
    return this.#bodies.length >= maxBufferEvents || this.#bytes >= maxBufferBytes
  }

  push(body: EventBody, bytes: number): void {
    this.#bodies.push(body)
    this.#bytes += bytes
  }

  /** Removes the newest event. Returns its size. */
  pop(): number {
    const bytes = storedSizeOf(this.#bodies.pop())
    this.#bytes -= bytes
    return bytes
  }

  /** Replaces the newest event for which `amend` returns another one. */
  amend(amend: (body: EventBody) => EventBody | undefined): boolean {
    for (let place = this.#bodies.length - 1; place >= 0; place--) {
      const before = this.#bodies[place] as EventBody // place is within the buffer
      const after = amend(before)
      if (!after) continue
      this.#bodies[place] = after
      return true
    }
    return false
  }

  take(): TakenEvents {
    const taken = { bodies: this.#bodies, bytes: this.#bytes }
    this.#bodies = []
    this.#bytes = 0
    return taken
  }

  /** Puts events before the others: the store has not written them. */
  putBack({ bodies, bytes }: TakenEvents): void {
    this.#bodies = [...bodies, ...this.#bodies]
    this.#bytes += bytes
  }

  /** Removes events. Returns their size. */
  drop(isDropped: (body: EventBody) => boolean): number {
    const before = this.#bytes
    this.#bodies = this.#bodies.filter((body) => !isDropped(body))
    this.#bytes = this.#bodies.reduce((sum, body) => sum + storedSizeOf(body), 0)
    return before - this.#bytes
  }
}
