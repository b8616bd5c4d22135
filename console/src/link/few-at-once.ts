/**
 * Lets so many run at once and the others wait. A browser has few connections to a server: what is nice to know must
 * not keep what somebody waits for from being asked.
 */
export class FewAtOnce {
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
      if (next && this.#running < this.#count) this.hurry(next.name)
    }
  }

  /** Somebody waits for it now: it does not wait any more, however many run. */
  hurry(wanted: string): void {
    const released = this.#waiting.filter(({ name }) => name === wanted)
    this.#waiting = this.#waiting.filter(({ name }) => name !== wanted)
    this.#running += released.length
    for (const { go } of released) go()
  }
}
