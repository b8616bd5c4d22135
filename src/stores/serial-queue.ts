/** Runs work on one name in the order of the calls, and work on different names concurrently. */
export class SerialQueue {
  readonly #last = new Map<string, Promise<unknown>>()

  run<T>(name: string, work: () => Promise<T>): Promise<T> {
    const turn = (this.#last.get(name) ?? Promise.resolve()).then(work, work)
    this.#last.set(name, turn)
    const forget = () => {
      if (this.#last.get(name) === turn) this.#last.delete(name)
    }
    turn.then(forget, forget)
    return turn
  }

  /** Resolves when all work has ended, failed or not. */
  async idle(): Promise<void> {
    while (this.#last.size > 0) await Promise.allSettled(this.#last.values())
  }
}
