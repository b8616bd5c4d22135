/**
 * Everybody who follows one task in this process. A follower is a place in the log and nothing
 * else: the newest events are kept here, shared by all; a follower that has fallen behind them reads
 * the store (E-5). So a slow reader costs no memory and slows nobody.
 *
 * While the task runs in this process its run feeds the topic; otherwise the store's hints do.
 */
import type { A2AError } from '../../model/errors.js'
import type { TaskEvent } from '../../model/event.js'
import { sizeOf } from '../../model/size-of.js'
import type { CompleteStore, TaskKey } from '../../stores/store.js'

/** Events kept for followers. When twice as many have gathered the older half is let go. */
const tailLength = 512
const readLimit = 512
/** Bytes of events kept for followers when the run has ended. */
const maxTailBytes = 256 * 1024

/** A place in the log. */
export interface Follower {
  cursor: number
  /** How far the store had been looked into when it had nothing more for this follower. */
  looked: number
  isHere: boolean
}

/** Events in order; or `removed` when retention has taken them; or `end` when the topic is closed. */
export type Batch = readonly TaskEvent[] | 'removed' | 'end'

export class Topic {
  readonly key: TaskKey
  readonly #store: CompleteStore
  readonly #onIdle: () => void
  #tail: TaskEvent[] = []
  #lastSeq = 0
  /** The highest sequence that a hint claimed. It may be wrong: a read that finds nothing more resets it. */
  #hintedSeq = 0
  /** Hints received: one that comes during a read may be about events which that read did not see. */
  #hints = 0
  /** How often the store had to be looked into whatever the hints said. */
  #looks = 0
  #waiters: ((nothing: undefined) => void)[] = []
  readonly #followers = new Set<Follower>()
  #isFed = false
  #isClosed = false
  #error: A2AError | undefined
  #unwatch: (() => void) | undefined

  constructor(key: TaskKey, store: CompleteStore, onIdle: () => void) {
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
    if (this.#followers.size > 0) {
      this.#trimTail()
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

  /** Somebody reads from behind a sequence on; `leave` has to follow. */
  follow(after: number): Follower {
    if (!this.#isFed) this.#watch()
    // Without a run here, a look into the store first: this process may know nothing of the task yet.
    const follower: Follower = { cursor: after, looked: this.#isFed ? this.#looks : -1, isHere: true }
    this.#followers.add(follower)
    return follower
  }

  leave(follower: Follower): void {
    if (!follower.isHere) return
    follower.isHere = false
    this.#wake()
    this.#followers.delete(follower)
    this.#releaseIfIdle()
    // Whoever holds a topic that is over must not hold its events: letting go of them here took a quarter
    // off what a stream leaves behind for the garbage collector's old generation.
    if (!this.#isFed && this.#followers.size === 0) this.#tail = []
  }

  /** How far the slowest follower is behind, in events; what it was given last counts as read. */
  get lag(): number {
    let lag = 0
    for (const { cursor } of this.#followers) lag = Math.max(lag, this.#lastSeq - cursor, this.#hintedSeq - cursor)
    return lag
  }

  /**
   * The next events for a follower, or a promise when there are none yet; after that one it asks again.
   * Not async: a follower that keeps up gets its events without a promise.
   */
  next(follower: Follower): Batch | Promise<Batch | undefined> {
    const { cursor } = follower
    if (!follower.isHere) return 'end'
    const isStoreDue = follower.looked !== this.#looks || Math.max(this.#lastSeq, this.#hintedSeq) > cursor
    const tail = this.#tailAfter(cursor)
    if (tail) {
      follower.looked = this.#looks
      return this.#moved(follower, tail)
    }
    if (isStoreDue) return this.#nextFromStore(follower)
    return this.#isClosed ? this.#ended() : this.#change()
  }

  /** The same for a reader in a loop, which a signal may end. */
  async *batches(after: number, signal?: AbortSignal): AsyncGenerator<readonly TaskEvent[] | 'removed', void, void> {
    const follower = this.follow(after)
    const leave = () => this.leave(follower)
    signal?.addEventListener('abort', leave)
    try {
      while (!signal?.aborted) {
        const batch = await this.next(follower)
        if (batch === 'end') return
        if (batch) yield batch
      }
    } finally {
      signal?.removeEventListener('abort', leave)
      leave()
    }
  }

  async #nextFromStore(follower: Follower): Promise<Batch | undefined> {
    const looks = this.#looks
    const lastSeq = this.#lastSeq
    const hints = this.#hints
    const events = await this.#read(follower.cursor)
    if (!events) return 'removed'
    if (events.length > 0) return this.#moved(follower, events)
    // A page of the log was read: what lies behind it is unknown until a page comes back empty.
    follower.looked = looks
    if (this.#hints === hints) this.#hintedSeq = 0
    if (this.#looks !== looks || this.#lastSeq !== lastSeq || this.#hints !== hints) return undefined
    return this.#isClosed ? this.#ended() : await this.#change()
  }

  #ended(): 'end' {
    if (this.#error) throw this.#error
    return 'end'
  }

  #moved(follower: Follower, events: readonly TaskEvent[]): readonly TaskEvent[] {
    follower.cursor = events.at(-1)?.seq ?? follower.cursor
    return events
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
    return events
  }

  /** While a run feeds the topic, the run itself holds what the tail holds; afterwards the tail is all that does. */
  #trimTail(): void {
    let bytes = 0
    for (let place = this.#tail.length - 1; place >= 0; place--) {
      bytes += sizeOf(this.#tail[place]?.body, maxTailBytes)
      if (bytes <= maxTailBytes) continue
      this.#tail = this.#tail.slice(place + 1)
      return
    }
  }

  #change(): Promise<undefined> {
    return new Promise((resolve) => this.#waiters.push(resolve))
  }

  #wake(): void {
    const waiters = this.#waiters
    if (waiters.length === 0) return
    this.#waiters = []
    for (const wake of waiters) wake(undefined)
  }

  #watch(): void {
    this.#unwatch ??= this.#store.changes.watchTask(this.key, (seq) => {
      // While a run feeds this topic its own commits come through `publish`.
      if (this.#isFed || seq <= this.#lastSeq) return
      this.#hintedSeq = Math.max(this.#hintedSeq, seq)
      this.#hints += 1
      this.#wake()
    })
  }

  #releaseIfIdle(): void {
    if (this.#isFed || this.#followers.size > 0) return
    this.#unwatch?.()
    this.#unwatch = undefined
    this.#onIdle()
  }
}
