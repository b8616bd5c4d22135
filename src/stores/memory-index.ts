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
}

export class ListIndex<Row extends Listed> {
  /** Oldest first. */
  readonly #rows: Row[] = []

  add(row: Row): void {
    this.#rows.splice(this.#placeOf(row.statusTimeMs, row.serial), 0, row)
  }

  remove(row: Row): void {
    const place = this.#placeOf(row.statusTimeMs, row.serial)
    if (this.#rows[place] === row) this.#rows.splice(place, 1)
  }

  page({ matches, fromMs, after, limit }: PageQuery<Row>): { rows: Row[]; total: number; next?: string } {
    const first = fromMs === undefined ? 0 : this.#placeOf(fromMs, 0)
    const [afterMs, afterSerial] = after === undefined ? [Number.POSITIVE_INFINITY, 0] : parsePosition(after)
    const end = this.#placeOf(afterMs, afterSerial)
    const rows: Row[] = []
    let isMore = false
    for (let place = end - 1; place >= first && !isMore; place--) {
      const row = this.#rows[place] as Row // place is within the array
      if (matches && !matches(row)) continue
      if (rows.length < limit) rows.push(row)
      else isMore = true
    }
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
    let low = 0
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

function isBefore(row: Listed, timeMs: number, serial: number): boolean {
  return row.statusTimeMs < timeMs || (row.statusTimeMs === timeMs && row.serial < serial)
}

function parsePosition(position: string): readonly [number, number] {
  const [time, serial] = position.split('.')
  return [Number(time), Number(serial)]
}
