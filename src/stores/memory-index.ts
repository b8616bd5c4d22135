import { withinBudget } from './page-budget.js'

/**
 * The tasks of one scope in the order in which lists show them, as a sorted array: a status change
 * makes a task the newest, so adding is nearly always a push at the end. Filters walk it; the store
 * bounds how many ended tasks there are to walk.
 */
interface Listed {
  readonly serial: number
  readonly statusTimeMs: number
}

interface PageQuery<Row> {
  readonly matches: ((row: Row) => boolean) | undefined
  readonly fromMs: number | undefined
  readonly after: string | undefined
  readonly limit: number
  /** What the rows of a page may come to together. */
  readonly budget: number | undefined
  readonly sizeOf: (row: Row) => number
}

export class ListIndex<Row extends Listed> {
  /** Oldest first, from `#head` on; what lies before it was removed and is cut off now and then. */
  #rows: (Row | undefined)[] = []
  #head = 0

  add(row: Row): void {
    const place = this.#placeOf(row.statusTimeMs, row.serial)
    if (place === this.#rows.length) this.#rows.push(row)
    else this.#rows.splice(place, 0, row)
  }

  remove(row: Row): void {
    const place = this.#placeOf(row.statusTimeMs, row.serial)
    if (this.#rows[place] !== row) return
    if (place !== this.#head) {
      this.#rows.splice(place, 1)
      return
    }
    // The oldest go first when a store forgets: moving thousands of rows for each was measurable.
    this.#rows[place] = undefined
    this.#head += 1
    if (this.#head < 1024 || this.#head < this.#rows.length / 2) return
    this.#rows = this.#rows.slice(this.#head)
    this.#head = 0
  }

  page({ matches, fromMs, after, limit, budget, sizeOf }: PageQuery<Row>): {
    rows: readonly Row[]
    total: number
    next?: string
  } {
    const first = fromMs === undefined ? this.#head : this.#placeOf(fromMs, 0)
    const [afterMs, afterSerial] = after === undefined ? [Number.POSITIVE_INFINITY, 0] : parsePosition(after)
    const end = this.#placeOf(afterMs, afterSerial)
    const found: Row[] = []
    let isMore = false
    for (let place = end - 1; place >= first && !isMore; place--) {
      const row = this.#rows[place] as Row // place is within the array
      if (matches && !matches(row)) continue
      if (found.length < limit) found.push(row)
      else isMore = true
    }
    const rows = withinBudget(found, budget, sizeOf)
    if (rows.length < found.length) isMore = true
    const total = matches ? this.#count(first, matches) : this.#rows.length - first
    const last = rows.at(-1)
    return { rows, total, ...(isMore && last && { next: `${last.statusTimeMs}.${last.serial}` }) }
  }

  #count(first: number, matches: (row: Row) => boolean): number {
    let count = 0
    for (let place = first; place < this.#rows.length; place++) if (matches(this.#rows[place] as Row)) count += 1
    return count
  }

  /** The first place whose row is not before the given time and serial. */
  #placeOf(timeMs: number, serial: number): number {
    let low = this.#head
    let high = this.#rows.length
    const newest = this.#rows[high - 1]
    if (!newest || isBefore(newest, timeMs, serial)) return high
    while (low < high) {
      const middle = (low + high) >>> 1
      if (isBefore(this.#rows[middle] as Row, timeMs, serial)) low = middle + 1
      else high = middle
    }
    return low
  }
}

/** The lists of all scopes, by the id of the scope. */
export class ListIndexes<Row extends Listed> extends Map<string, ListIndex<Row>> {
  getOrAdd(id: string): ListIndex<Row> {
    const index = this.get(id) ?? new ListIndex<Row>()
    this.set(id, index)
    return index
  }
}

function isBefore(row: Listed, timeMs: number, serial: number): boolean {
  return row.statusTimeMs < timeMs || (row.statusTimeMs === timeMs && row.serial < serial)
}

function parsePosition(position: string): readonly [number, number] {
  const [time, serial] = position.split('.')
  return [Number(time), Number(serial)]
}
