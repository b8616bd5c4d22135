/**
 * Everybody who follows one task in this process. A follower is a place in the log and nothing
 * else: the newest events are kept here, shared by all; a follower that has fallen behind them reads
 * the store (E-5). So a slow reader costs no memory and slows nobody.
 *
 * While the task runs in this process its run feeds the topic; otherwise the store's hints do.
 */
import type { A2AError } from '../model/errors.js'
import type { TaskEvent } from '../model/event.js'
import type { Store, TaskKey } from '../stores/store.js'

/** Events kept for followers. When twice as many have gathered the older half is let go. */
const tailLength = 512
const readLimit = 512

export class Topic {
  readonly key: TaskKey
  readonly #store: Store
  readonly #onIdle: () => void
  #tail: TaskEvent[] = []
  #lastSeq = 0
  /** How often the store had to be looked into whatever the hints said. */
  #looks = 0
  #waiters: (() => void)[] = []
  #followers = 0
  #isFed = false
  #isClosed = false
  #error: A2AError | undefined
  #unwatch: (() => void) | undefined

  constructor(key: TaskKey, store: Store, onIdle: () => void) {
    this.key = key
    this.#store = store
    this.#onIdle = onIdle
  }

  /** A run in this process publishes everything behind `seq`. */
  feed(seq: number): void {
    this.#isFed = true
    if (seq > this.#lastSeq) this.#lastSeq = seq
  }

  /** The run is over; followers, if any are left, depend on the store's hints again. */
  unfeed(): void {
    this.#isFed = false
    if (this.#followers > 0) {
      this.#watch()
      // Whatever was committed elsewhere before the watch began is found by looking once.
      this.#looks += 1
      this.#wake()
    }
    this.#releaseIfIdle()
  }

  /** Committed events, in order. */
  publish(events: readonly TaskEvent[]): void {
    const last = events.at(-1)
    if (!last) return
    const first = events[0]?.seq ?? 0
    const before = this.#tail.at(-1)
    // The tail has no hole and no repetition: others may have written between two runs of this process.
    if (before && first !== before.seq + 1) {
      if (last.seq <= before.seq) return
      this.#tail = []
    }
    if (this.#tail.length + events.length > tailLength * 2) this.#tail = this.#tail.slice(-tailLength)
    for (const event of events) this.#tail.push(event)
    this.#lastSeq = last.seq
    this.#wake()
  }

  /** Ends every follower: with an error, or quietly so that clients resume elsewhere. */
  close(error?: A2AError): void {
    this.#isClosed = true
    this.#error = error
    this.#wake()
  }

  /**
   * Batches of events behind a sequence, until the follower stops, the signal fires or the topic is
   * closed. `undefined` stands for events that retention has removed.
   */
  async *follow(after: number, signal?: AbortSignal): AsyncGenerator<readonly TaskEvent[] | undefined, void, void> {
    this.#followers += 1
    if (!this.#isFed) this.#watch()
    const onAbort = () => this.#wake()
    signal?.addEventListener('abort', onAbort)
    try {
      let cursor = after
      // Without a run here, a look into the store first: this process may know nothing of the task yet.
      let looked = this.#isFed ? this.#looks : -1
      while (!signal?.aborted) {
        const isStoreDue = looked !== this.#looks || this.#lastSeq > cursor
        const tail = this.#tailAfter(cursor)
        const looks = this.#looks
        const batch = tail ?? (isStoreDue ? await this.#read(cursor) : [])
        // A page of the log was read: what lies behind it is unknown until a page comes back empty.
        if (tail || batch?.length === 0) looked = looks
        if (batch === undefined) {
          yield undefined
          return
        }
        const last = batch.at(-1)
        if (last) {
          cursor = last.seq
          yield batch
        } else if (this.#isClosed) {
          if (this.#error) throw this.#error
          return
        } else await this.#next()
      }
    } finally {
      signal?.removeEventListener('abort', onAbort)
      this.#followers -= 1
      this.#releaseIfIdle()
    }
  }

  /** The tail behind `cursor`; absent when the tail does not reach back that far. */
  #tailAfter(cursor: number): readonly TaskEvent[] | undefined {
    const first = this.#tail[0]
    if (!first || first.seq > cursor + 1) return undefined
    const from = cursor + 1 - first.seq
    if (from === 0) return this.#tail.slice()
    return from < this.#tail.length ? this.#tail.slice(from) : undefined
  }

  async #read(cursor: number): Promise<readonly TaskEvent[] | undefined> {
    const events = await this.#store.read(this.key, cursor, readLimit)
    const last = events?.at(-1)
    if (last && last.seq > this.#lastSeq) this.#lastSeq = last.seq
    // A hint may name a sequence that this reader cannot see yet or ever: do not spin on it.
    else if (events?.length === 0 && this.#lastSeq > cursor && !this.#isFed) this.#lastSeq = cursor
    return events
  }

  #next(): Promise<void> {
    return new Promise((resolve) => this.#waiters.push(resolve))
  }

  #wake(): void {
    const waiters = this.#waiters
    if (waiters.length === 0) return
    this.#waiters = []
    for (const wake of waiters) wake()
  }

  #watch(): void {
    this.#unwatch ??= this.#store.watch(this.key, (seq) => {
      // While a run feeds this topic its own commits come through `publish`.
      if (this.#isFed || seq <= this.#lastSeq) return
      this.#lastSeq = seq
      this.#wake()
    })
  }

  #releaseIfIdle(): void {
    if (this.#isFed || this.#followers > 0) return
    this.#unwatch?.()
    this.#unwatch = undefined
    this.#onIdle()
  }
}
