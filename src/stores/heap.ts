export interface HeapEntry {
  /** The lowest rank is first. */
  rank: number
  /** Among entries of one rank, the entry that was set first is first. */
  order: number
  /** Index in the heap; absent when the entry is in none. */
  place: number | undefined
}

/** A binary heap that knows the place of each entry, so that moving and removing one takes logarithmic time. */
export class Heap<Entry extends HeapEntry> {
  readonly #heap: Entry[] = []
  #count = 0

  get size(): number {
    return this.#heap.length
  }

  /** The entry with the lowest rank. */
  get first(): Entry | undefined {
    return this.#heap[0]
  }

  [Symbol.iterator](): Iterator<Entry> {
    return this.#heap.values()
  }

  /** Adds an entry, or moves it. */
  set(entry: Entry, rank: number): void {
    this.#count += 1
    entry.order = this.#count
    entry.rank = rank
    entry.place ??= this.#heap.push(entry) - 1
    this.#settle(entry, entry.place)
  }

  delete(entry: Entry): void {
    const { place } = entry
    if (place === undefined) return
    entry.place = undefined
    const last = this.#heap.pop()
    if (last && last !== entry) this.#settle(last, place)
  }

  #settle(entry: Entry, from: number): void {
    this.#sink(entry, this.#rise(entry, from))
  }

  #rise(entry: Entry, from: number): number {
    let place = from
    while (place > 0) {
      const parent = (place - 1) >> 1
      const above = this.#heap[parent]
      if (!above || !isBefore(entry, above)) break
      this.#put(above, place)
      place = parent
    }
    this.#put(entry, place)
    return place
  }

  #sink(entry: Entry, from: number): void {
    let place = from
    for (;;) {
      const left = this.#heap[2 * place + 1]
      const right = this.#heap[2 * place + 2]
      const below = left && right && isBefore(right, left) ? right : left
      if (below?.place === undefined || !isBefore(below, entry)) break
      const next = below.place
      this.#put(below, place)
      place = next
    }
    this.#put(entry, place)
  }

  #put(entry: Entry, place: number): void {
    this.#heap[place] = entry
    entry.place = place
  }
}

function isBefore(one: HeapEntry, other: HeapEntry): boolean {
  return one.rank < other.rank || (one.rank === other.rank && one.order < other.order)
}
