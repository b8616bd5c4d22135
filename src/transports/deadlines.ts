/** Deadlines of many calls, with one timer for all of them. A timer per call costs more than the rest of its bookkeeping. */

export interface Expiring {
  /** The deadline has passed. */
  expire(): void
}

const tickMs = 20

/** Calls `expire` of each entry after its deadline, at most two ticks late. */
export class Deadlines {
  readonly #slots = new Map<number, Set<Expiring>>()
  #timer: NodeJS.Timeout | undefined
  /** The last tick whose entries have expired. */
  #last = 0

  /** Number of different times at which entries expire. */
  get size(): number {
    return this.#slots.size
  }

  /** Returns the slot of the entry, which `remove` needs. */
  add(entry: Expiring, delayMs: number): number {
    const now = tickNow()
    if (!this.#timer) {
      this.#last = now
      this.#timer = setInterval(() => this.#check(), tickMs)
      this.#timer.unref()
    }
    const slot = now + 1 + Math.ceil(delayMs / tickMs)
    const entries = this.#slots.get(slot)
    if (entries) entries.add(entry)
    else this.#slots.set(slot, new Set([entry]))
    return slot
  }

  remove(entry: Expiring, slot: number): void {
    const entries = this.#slots.get(slot)
    // Clients choose deadlines: an empty slot of a far one would stay until then.
    if (entries?.delete(entry) && entries.size === 0) this.#slots.delete(slot)
  }

  #check(): void {
    const now = tickNow()
    while (this.#last < now) {
      this.#last += 1
      const entries = this.#slots.get(this.#last)
      this.#slots.delete(this.#last)
      for (const entry of entries ?? []) entry.expire()
    }
    if (this.#slots.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}

function tickNow(): number {
  return Math.floor(performance.now() / tickMs)
}
