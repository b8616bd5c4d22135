/**
 * Shares the event loop between reads that look at many agents. A read runs in slices; between two slices the event
 * loop serves other requests. One slice runs per turn of the event loop. Callers take turns, and the reads of one
 * caller run one after the other, so that a caller with many searches delays only its own.
 */

/** Charges slices to the caller's rate limit: one token per slice. */
export interface RateCharge {
  charge(tokens: number): void
  /** Throws when the charges exceed the caller's rate limit. */
  assertWithinRate(): void
}

/** The time slices of one read. */
export interface WorkShare {
  /** Waits until the read may begin. Rejects if the caller's other reads exceeded its rate limit meanwhile. */
  start(): Promise<void>
  /** Counts steps of about 100 ns. True when the slice is used up; then await `pause`. */
  isSpent(steps?: number): boolean
  /** Charges for a slice and lets other requests run. */
  pause(): Promise<void>
}

interface Waiting {
  readonly ticket: number
  readonly resume: () => void
}

/** About 2 ms. */
const stepsPerSlice = 20_000

const unlimited: RateCharge = { charge: () => undefined, assertWithinRate: () => undefined }

export class WorkQueue {
  /** By caller. The caller that was served last is the last. */
  readonly #waiting = new Map<string, Waiting[]>()
  #tickets = 0

  share(callerKey = '', rateCharge: RateCharge = unlimited): WorkShare {
    const ticket = this.#tickets++
    let stepsLeft = stepsPerSlice
    return {
      start: async () => {
        if (this.#waiting.size > 0) await this.#turn(callerKey, ticket)
        rateCharge.assertWithinRate()
      },
      isSpent: (steps = 1) => {
        stepsLeft -= steps
        return stepsLeft <= 0
      },
      pause: async () => {
        rateCharge.charge(1)
        await this.#turn(callerKey, ticket)
        stepsLeft = stepsPerSlice
      },
    }
  }

  #turn(callerKey: string, ticket: number): Promise<void> {
    return new Promise((resume) => {
      if (this.#waiting.size === 0) this.#schedule()
      const queue = this.#waiting.get(callerKey) ?? []
      const place = queue.findIndex((each) => each.ticket > ticket)
      queue.splice(place < 0 ? queue.length : place, 0, { ticket, resume })
      this.#waiting.set(callerKey, queue)
    })
  }

  #schedule(): void {
    setImmediate(() => {
      const [next] = this.#waiting
      if (!next) return
      const [callerKey, queue] = next
      this.#waiting.delete(callerKey)
      const first = queue.shift()
      if (queue.length > 0) this.#waiting.set(callerKey, queue)
      if (this.#waiting.size > 0) this.#schedule()
      first?.resume()
    })
  }
}

/** Sorts by a key, ascending, in slices. Items with equal keys keep their order. */
export async function sortInSlices<Item>(
  items: readonly Item[],
  compare: (a: Item, b: Item) => number,
  share: WorkShare,
): Promise<readonly Item[]> {
  let runs: (readonly Item[])[] = []
  for (let start = 0; start < items.length; start += itemsPerRun) {
    const run = items.slice(start, start + itemsPerRun).sort(compare)
    runs.push(run)
    if (share.isSpent(run.length * 10)) await share.pause()
  }
  while (runs.length > 1) {
    const merged: (readonly Item[])[] = []
    for (let place = 0; place < runs.length; place += 2)
      merged.push(await merge(runs[place] ?? [], runs[place + 1] ?? [], compare, share))
    runs = merged
  }
  return runs[0] ?? []
}

const itemsPerRun = 500

async function merge<Item>(
  left: readonly Item[],
  right: readonly Item[],
  compare: (a: Item, b: Item) => number,
  share: WorkShare,
): Promise<readonly Item[]> {
  const merged: Item[] = []
  let [l, r] = [0, 0]
  while (l < left.length && r < right.length) {
    const [one, other] = [left[l] as Item, right[r] as Item] // both places exist
    if (compare(one, other) <= 0) {
      merged.push(one)
      l += 1
    } else {
      merged.push(other)
      r += 1
    }
    if (share.isSpent(2)) await share.pause()
  }
  return [...merged, ...left.slice(l), ...right.slice(r)]
}
