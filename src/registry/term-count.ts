/**
 * Whether an index has as many terms as it may. Counting them takes long, so they are counted when it may be so: at
 * worst every word that was added since is a new one; and not again before much has changed.
 */
export class TermCount {
  readonly #most: number
  readonly #count: () => number
  #counted = 0
  #addedSince = 0
  #changedSince = 0

  constructor(most: number, count: () => number) {
    this.#most = most
    this.#count = count
  }

  added(words: number): void {
    this.#addedSince += words
    this.#changedSince += words
  }

  removed(words: number): void {
    this.#changedSince += words
  }

  isFull(): boolean {
    if (this.#counted + this.#addedSince < this.#most) return false
    if (this.#changedSince >= this.#most / 10) {
      this.#counted = this.#count()
      this.#addedSince = 0
      this.#changedSince = 0
    }
    return this.#counted + this.#addedSince >= this.#most
  }
}
