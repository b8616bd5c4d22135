/**
 * The followers of one task in this process. A follower is a position in the log. All followers share the newest events;
 * one that has fallen behind reads the store (E-5). So a slow reader costs no memory and delays no other.
 *
 * While the task runs in this process, its run publishes to the topic; otherwise the store's change notifications wake it.
 */
import type { A2AError } from '../../model/errors.js'
import type { TaskEvent } from '../../model/event.js'
import { sizeOf } from '../../model/size-of.js'
import type { ChangeFeed, Store, TaskKey } from '../../stores/store.js'
import type { LiveTasks } from './task-reader.js'

/** Events kept for followers. At twice this number the older half is dropped. */
const maxTailEvents = 512
const readLimit = 512
/** Bytes of events kept for followers after the run has ended. */
const maxTailBytes = 256 * 1024

/** A position in the log. */
export interface Follower {
  /** The last sequence that was read. */
  cursor: number
  /** The value of the topic's read counter when the store last had nothing new for this follower. */
  looked: number
  isActive: boolean
}

/** Events in order, `removed` when retention has removed them, or `end` when the topic is closed. */
export type Batch = readonly TaskEvent[] | 'removed' | 'end'

type TopicStore = Pick<Store, 'read'> & { readonly changes: Pick<ChangeFeed, 'watchTask'> }

export class Topic {
  readonly key: TaskKey
  readonly #store: TopicStore
  readonly #onIdle: () => void
  #tail: TaskEvent[] = []
  #lastSeq = 0
  /** The highest sequence that a change notification reported. It may be wrong: a read that finds nothing resets it. */
  #hintedSeq = 0
  /** Number of notifications. One that arrives during a read may be about events that the read did not see. */
  #hints = 0
  /** Number of times that all followers had to read the store without a notification. */
  #looks = 0
  #waiters: ((nothing: undefined) => void)[] = []
  readonly #followers = new Set<Follower>()
  #isFed = false
  #isClosed = false
  #error: A2AError | undefined
  #unwatch: (() => void) | undefined

  constructor(key: TaskKey, store: TopicStore, onIdle: () => void) {
    this.key = key
    this.#store = store
    this.#onIdle = onIdle
  }

  /** A run in this process publishes all events after `seq`. */
  feed(seq: number): void {
    this.#isFed = true
    if (seq > this.#lastSeq) this.#lastSeq = seq
  }

  /** The run is over; followers depend on the store's notifications again. */
  unfeed(): void {
    this.#isFed = false
    if (this.#followers.size > 0) {
      this.#trimTail()
      this.#watch()
      // Finds events that another process committed before the watch began.
      this.#looks += 1
      this.#wake()
    }
    this.#releaseIfIdle()
  }

  /** Adds committed events, in order. */
  publish(events: readonly TaskEvent[]): void {
    const last = events.at(-1)
    if (!last) return
    const first = events[0]?.seq ?? 0
    const before = this.#tail.at(-1)
    // The tail has no gaps and no duplicates: other processes may have written between two runs of this process.
    if (before && first !== before.seq + 1) {
      if (last.seq <= before.seq) return
      this.#tail = []
    }
    if (this.#tail.length + events.length > maxTailEvents * 2) this.#tail = this.#tail.slice(-maxTailEvents)
    for (const event of events) this.#tail.push(event)
    this.#lastSeq = last.seq
    this.#wake()
  }

  /** Ends all followers: with an error, or without one so that clients resume elsewhere. */
  close(error?: A2AError): void {
    this.#isClosed = true
    this.#error = error
    this.#wake()
  }

  /** Adds a follower that reads events after a sequence. The caller must call `leave`. */
  follow(after: number): Follower {
    if (!this.#isFed) this.#watch()
    // Without a run in this process, the store is read first: it may have events that are unknown here.
    const follower: Follower = { cursor: after, looked: this.#isFed ? this.#looks : -1, isActive: true }
    this.#followers.add(follower)
    return follower
  }

  leave(follower: Follower): void {
    if (!follower.isActive) return
    follower.isActive = false
    this.#wake()
    this.#followers.delete(follower)
    this.#releaseIfIdle()
    // A stream that is over may still hold the topic. Dropping the events here saved a quarter of the memory that
    // streams leave to the garbage collector's old generation.
    if (!this.#isFed && this.#followers.size === 0) this.#tail = []
  }

  /** The number of events that the slowest follower has not read yet. */
  get lag(): number {
    let lag = 0
    for (const { cursor } of this.#followers) lag = Math.max(lag, this.#lastSeq - cursor, this.#hintedSeq - cursor)
    return lag
  }

  /**
   * Returns the next events, or a promise when there are none yet; if it resolves with `undefined`, the caller calls again.
   * Not async: a follower that keeps up gets its events without a promise.
   */
  next(follower: Follower): Batch | Promise<Batch | undefined> {
    const { cursor } = follower
    if (!follower.isActive) return 'end'
    const isStoreDue = follower.looked !== this.#looks || Math.max(this.#lastSeq, this.#hintedSeq) > cursor
    const tail = this.#tailAfter(cursor)
    if (tail) {
      follower.looked = this.#looks
      return this.#moved(follower, tail)
    }
    if (isStoreDue) return this.#nextFromStore(follower)
    return this.#isClosed ? this.#ended() : this.#change()
  }

  /** Iterates over the events after a sequence until the signal aborts. */
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
    // The first commit failed: the task was never stored.
    if (!events && this.#error) throw this.#error
    if (!events) return 'removed'
    if (events.length > 0) return this.#moved(follower, events)
    // Only an empty page means that there are no more events.
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

  /** The events after `cursor`; undefined when the tail begins later. */
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

  /** Limits the memory of the tail. During a run this is not needed, because the run holds the same events. */
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
      // During a run of this process, its commits arrive through `publish`.
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

export interface TopicsDeps {
  readonly agent: string
  readonly store: TopicStore
  readonly running: LiveTasks
}

/** The topics of one engine. A topic exists while the task has followers. */
export class Topics {
  readonly #deps: TopicsDeps
  readonly #topics = new Map<string, Topic>()

  constructor(deps: TopicsDeps) {
    this.#deps = deps
  }

  /** The topic of a task, created on demand. */
  open(taskId: string): Topic {
    const existing = this.#topics.get(taskId)
    if (existing) return existing
    const { agent, store, running } = this.#deps
    const topic: Topic = new Topic({ agent, id: taskId }, store, () => {
      if (this.#topics.get(taskId) === topic) this.#topics.delete(taskId)
    })
    this.#topics.set(taskId, topic)
    const run = running.get(taskId)
    if (run) topic.feed(run.seq)
    return topic
  }

  /** The topic of a task that has followers. Runs without followers need none. */
  get(taskId: string): Topic | undefined {
    return this.#topics.get(taskId)
  }

  /** The number of events that the slowest follower of any task has not read yet. */
  get lag(): number {
    let lag = 0
    for (const topic of this.#topics.values()) lag = Math.max(lag, topic.lag)
    return lag
  }

  /** Ends all followers, so that clients resume elsewhere. */
  close(): void {
    for (const topic of this.#topics.values()) topic.close()
  }
}
