/** Limits how many programs run at once; further ones wait in a bounded queue, in order of arrival. */

export interface SlotLimits {
  /** Programs that run at once. */
  readonly running: number
  /** Turns that wait for a slot. */
  readonly waiting: number
}

export class ProcessSlots {
  readonly #limits: SlotLimits
  /** Each entry hands its slot to one waiting turn. */
  readonly #waiting = new Set<() => void>()
  #running = 0

  constructor(limits: SlotLimits) {
    this.#limits = limits
  }

  /**
   * Takes a slot, or a place in the queue; undefined if neither is free. Resolves to `true` with a slot, which `release`
   * gives back, or to `false` when `signal` fires first.
   */
  take(signal: AbortSignal): Promise<boolean> | undefined {
    if (signal.aborted) return Promise.resolve(false)
    if (this.#running < this.#limits.running) {
      this.#running += 1
      return Promise.resolve(true)
    }
    if (this.#waiting.size >= this.#limits.waiting) return undefined
    return new Promise((resolve) => {
      const settle = (hasSlot: boolean) => {
        this.#waiting.delete(getSlot)
        signal.removeEventListener('abort', leave)
        resolve(hasSlot)
      }
      const getSlot = () => settle(true)
      const leave = () => settle(false)
      this.#waiting.add(getSlot)
      signal.addEventListener('abort', leave)
    })
  }

  release(): void {
    const [next] = this.#waiting
    if (next) next()
    else this.#running -= 1
  }
}
