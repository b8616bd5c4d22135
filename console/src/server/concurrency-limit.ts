/**
 * Limits concurrent work and queues the rest. A browser has few connections to a server, so background requests must
 * not block requests that a user waits for.
 */
export class ConcurrencyLimit {
  readonly #count: number
  #waiting: { readonly name: string; readonly go: () => void }[] = []
  #running = 0

  constructor(count: number) {
    this.#count = count
  }

  async run<T>(name: string, work: () => Promise<T>): Promise<T> {
    if (this.#running >= this.#count) await new Promise<void>((go) => this.#waiting.push({ name, go }))
    else this.#running += 1
    try {
      return await work()
    } finally {
      this.#running -= 1
      const [next] = this.#waiting
      if (next && this.#running < this.#count) this.runNow(next.name)
    }
  }

  /** Starts the queued work at once, regardless of the limit. */
  runNow(wanted: string): void {
    const released = this.#waiting.filter(({ name }) => name === wanted)
    this.#waiting = this.#waiting.filter(({ name }) => name !== wanted)
    this.#running += released.length
    for (const { go } of released) go()
  }
}
