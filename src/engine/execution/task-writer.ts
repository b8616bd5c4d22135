/**
 * The only writer of a task in this process (E-1). Events are buffered, committed in groups, and only then applied to the
 * fold and published (E-2). Commits of one task never overlap.
 *
 * When another process wrote in between (a message, a cancel request), the store returns `conflict`. The writer then reads
 * and applies the foreign events, and numbers its buffer after them.
 */

import type { Clock } from '../../model/clock.js'
import type { EventBody, TaskEvent } from '../../model/event.js'
import type { Struct } from '../../model/part.js'
import { storedSizeOf } from '../../model/size-of.js'
import { foldAfter, type TaskFold } from '../../model/task-fold.js'
import type { AppendOutcome, ChangeFeed, Store, TaskCreation, TaskKey } from '../../stores/store.js'
import type { Topics } from '../following/topic.js'
import { assertTaskRoom, assertWaitingRoom, type EngineLimits, isFull, storeFull } from '../limits.js'
import type { Timestamps } from '../system-clock.js'
import {
  type CommitOutcome,
  EventBuffer,
  FirstCommit,
  type LeaseChange,
  maxBufferEvents,
  numberEvents,
  type PendingCommit,
  summarise,
  type WithMessage,
} from './event-buffer.js'
import { cancelRequest } from './stop.js'
import { type CallerBytes, TaskBytes } from './usage.js'

export interface WriterDeps {
  readonly store: Pick<Store, 'append' | 'read'> & { readonly changes: Pick<ChangeFeed, 'watchTask'> }
  readonly clock: Clock
  readonly timestamps: Timestamps
  /** Identifies this process in leases. */
  readonly leaseOwner: string
  readonly leaseMs: number
  readonly limits: EngineLimits
  readonly topics: Topics
  /** The size of all running tasks. */
  readonly running: { bytes: number }
  readonly callerBytes: CallerBytes
  /** Calls back at the end of the current tick of the event loop. */
  readonly atEndOfTick: (work: () => void) => void
  readonly onError: (error: unknown, taskId: string) => void
}

interface WriterStart extends TaskCreation {
  readonly key: TaskKey
  readonly fold: TaskFold
  /** The size of the task in the store. */
  readonly bytes?: number
  /** The task is not in the store yet. */
  readonly isNew: boolean
  /** Present when this process holds the lease already. */
  readonly fencingToken?: number
  /** Written with the first commit. */
  readonly withMessage?: WithMessage | undefined
}

/** The run that a writer writes for. An interface instead of callbacks, which cost a closure each. */
export interface WriterOwner {
  onForeignEvents(): void
  /** `no-room`: the store is full; the buffered output was dropped. */
  stop(reason: 'fenced' | 'no-room'): void
  /** A commit in the background failed: the run cannot continue. */
  onFailed(error: unknown): void
}

export class TaskWriter {
  readonly key: TaskKey
  /** False: the id belongs to the task of another run. Also decided when the run ends without a commit. */
  readonly firstCommit = new FirstCommit()
  /** The committed state. */
  fold: TaskFold
  readonly #deps: WriterDeps
  readonly #run: WriterOwner
  #create: TaskCreation | undefined
  #withMessage: WithMessage | undefined
  #fencingToken: number | undefined
  readonly #buffer = new EventBuffer()
  readonly #bytes: TaskBytes
  #busy: Promise<unknown> | undefined
  #isClosed = false
  /** Set during an append: notifications about our own commit arrive before its result. */
  #isAppending = false
  /** A notification of foreign events waits for its read. */
  #isNotified = false
  #committingTo = 0
  #isFlushScheduled = false
  #unwatch: (() => void) | undefined
  #failure: unknown

  constructor(deps: WriterDeps, start: WriterStart, run: WriterOwner) {
    const { tenant, owner, contextId, dialect } = start
    this.#deps = deps
    this.#run = run
    this.key = start.key
    this.fold = start.fold
    this.#create = start.isNew ? { tenant, owner, contextId, dialect } : undefined
    this.#withMessage = start.withMessage
    this.#fencingToken = start.fencingToken
    if (this.isStored) this.firstCommit.decide(true)
    this.#bytes = new TaskBytes(deps.running, deps.callerBytes, owner, start.bytes ?? 0)
    deps.topics.get(start.key.id)?.feed(start.fold.seq)
    if (start.fencingToken !== undefined) this.#watch()
  }

  get fencingToken(): number | undefined {
    return this.#fencingToken
  }

  get isStored(): boolean {
    return this.#create === undefined
  }
  /** Replaces the newest buffered event for which `amend` returns another one. Returns whether there is one. */
  amend(amend: (body: EventBody) => EventBody | undefined): boolean {
    return this.#buffer.amend(amend)
  }

  hasRoomFor(bytes: number): boolean {
    return this.#bytes.total + bytes <= this.#deps.limits.bytesPerTask
  }

  /** Adds an event to the next commit. */
  hold(body: EventBody, bytes = storedSizeOf(body)): void {
    this.#buffer.push(body, bytes)
    this.#bytes.hold(bytes)
  }

  /** Removes the newest event from the next commit. */
  unhold(): void {
    this.#bytes.hold(-this.#buffer.pop())
  }

  /**
   * Adds an event and commits it at the end of this tick of the event loop, so that a burst of chunks is one row. Returns a
   * promise only when the buffer is full.
   */
  push(body: EventBody, bytes: number): Promise<void> | undefined {
    this.hold(body, bytes)
    if (this.#buffer.isFull) return this.flush().then(() => undefined)
    this.flushSoon()
    return undefined
  }

  /** Commits the buffer at the end of this tick of the event loop. */
  flushSoon(): void {
    if (this.#isFlushScheduled) return
    this.#isFlushScheduled = true
    this.#deps.atEndOfTick(() => {
      this.#isFlushScheduled = false
      if (this.#buffer.size > 0) this.flush().catch((error) => this.#run.onFailed(error))
    })
  }

  /** Commits the buffer, also when other processes write meanwhile. Returns false when the lease is lost or the store full. */
  async flush(): Promise<boolean> {
    if (this.#failure !== undefined) throw this.#failure
    while (this.#buffer.size > 0) {
      const outcome = await this.commit('keep')
      if (outcome === 'fenced' || isFull(outcome)) return false
      if (outcome === 'key-taken') throw new Error('The idempotency key of this task was taken by another task')
      if (outcome === 'conflict') await this.catchUp()
    }
    return true
  }

  /** Tries once to commit the buffer. After `conflict` the events are still buffered: catch up, decide, try again. */
  commit(lease: LeaseChange): Promise<CommitOutcome> {
    if (this.#busy) return this.settled().then(() => this.commit(lease))
    if (this.#isClosed) return Promise.resolve('fenced')
    // Events that are pushed during the append are part of the next commit.
    const { bodies, bytes } = this.#buffer.take()
    return this.#append({ bodies, bytes, lease, withMessage: this.#withMessage, isBuffer: true })
  }

  /** Commits the buffer and gives up the lease. Returns false when the lease was lost before. */
  async leave(lease: 'release' | 'hand-over'): Promise<boolean> {
    for (;;) {
      const outcome = await this.commit(lease)
      // The next process starts the turn again, so the buffer is not needed.
      if (isFull(outcome)) this.#drop(() => true)
      else if (outcome !== 'conflict') return outcome === 'ok'
      else await this.catchUp()
    }
  }

  /** A commit or a read of foreign events is in progress; await `settled` and check again. */
  get isBusy(): boolean {
    return this.#busy !== undefined
  }

  async settled(): Promise<void> {
    while (this.#busy) await this.#busy.catch(() => undefined)
  }

  /** Appends a message for a later turn, in a separate commit. Returns its sequence, or `ending` when `isOpen` returns false. */
  async accept(
    bodyOf: (turn: number) => EventBody,
    options: { readonly withMessage: WithMessage | undefined; readonly isOpen: () => boolean },
  ): Promise<number | 'ending' | 'key-taken'> {
    const { limits } = this.#deps
    return await this.#appendAlone(() => {
      if (!options.isOpen()) return undefined
      assertWaitingRoom(this.fold.waiting, limits)
      const body = bodyOf(this.fold.lastTurn + 1)
      const bytes = storedSizeOf(body)
      assertTaskRoom(this.#bytes.total, bytes, limits)
      return { bodies: [body], bytes, lease: 'keep', withMessage: options.withMessage, isBuffer: false }
    })
  }

  /**
   * Writes a cancel request, once, in a separate commit: a full store accepts it, but refuses buffered output. Writes
   * nothing if the lease was released or lost.
   */
  async askCancel(metadata: Struct | undefined): Promise<void> {
    await this.#appendAlone(() => {
      if (this.#fencingToken === undefined || this.fold.isCancelAsked) return undefined
      const { body, bytes } = cancelRequest(metadata, this.#bytes.total, this.#deps.limits)
      return { bodies: [body], bytes, lease: 'keep', withMessage: undefined, isBuffer: false }
    })
  }

  /** Appends a commit that is not the buffer. Calls `next` again after each conflict; returns `ending` when it returns none. */
  async #appendAlone(next: () => PendingCommit | undefined): Promise<number | 'ending' | 'key-taken'> {
    for (;;) {
      // Nothing may run between the last check and the append: another writer may be about to end the task.
      while (this.#busy) await this.settled()
      const commit = this.#isClosed ? undefined : next()
      if (!commit) return 'ending'
      const outcome = await this.#append(commit)
      if (isFull(outcome)) throw storeFull(outcome)
      if (outcome === 'ok') {
        this.#bytes.growStored(commit.bytes)
        return this.fold.seq
      }
      if (outcome !== 'conflict') return outcome === 'fenced' ? 'ending' : outcome
      await this.catchUp()
    }
  }

  /** Reads and applies events that other processes have written. */
  async catchUp(): Promise<void> {
    while (this.#busy) await this.settled()
    if (this.#isClosed) return
    this.#isNotified = false
    const work = this.#catchUp()
    this.#busy = work
    try {
      await work
    } finally {
      this.#busy = undefined
    }
    this.#run.onForeignEvents()
  }

  /** Publishes an answer without storing it: a Message without an idempotency key is not kept (E-6). */
  show(body: EventBody): void {
    const taken = this.#buffer.take()
    this.#bytes.hold(-taken.bytes)
    const events = numberEvents([...taken.bodies, body], this.fold.seq, this.#deps.clock.now())
    for (const event of events) this.fold.apply(event)
    this.#publish(events)
  }

  /** Nothing is written after this call. */
  close(): void {
    this.#bytes.close()
    this.#isClosed = true
    this.#unwatch?.()
    this.#unwatch = undefined
    this.firstCommit.decide(true)
    this.#deps.topics.get(this.key.id)?.unfeed()
  }

  /** This process has claimed its own expired lease again. */
  adopt(fencingToken: number): void {
    if (this.#fencingToken !== undefined) this.#fencingToken = fencingToken
  }

  async #catchUp(): Promise<void> {
    for (;;) {
      const events = (await this.#deps.store.read(this.key, this.fold.seq, maxBufferEvents)) ?? []
      if (events.length === 0) return
      for (const event of events) {
        this.fold.apply(event)
        this.#bytes.grow(storedSizeOf(event.body))
      }
      this.#publish(events)
    }
  }

  /**
   * Commits of one task never overlap; a failed commit ends the run at its next flush. Written with one promise instead of
   * three, which saved a twentieth of the cost of a small send.
   */
  #append(commit: PendingCommit): Promise<CommitOutcome> {
    const { bodies, lease, withMessage } = commit
    const { leaseMs, leaseOwner, store, clock, timestamps } = this.#deps
    let events: readonly TaskEvent[]
    let next: TaskFold | undefined
    let appended: Promise<AppendOutcome>
    const isClaim = lease === 'keep' && this.#fencingToken === undefined
    try {
      events = numberEvents(bodies, this.fold.seq, clock.now())
      if (events.length === 0 && lease === 'keep') return Promise.resolve('ok')
      const summary = summarise(bodies, timestamps)
      next = summary.isEnd ? foldAfter(this.fold, events) : undefined
      this.#committingTo = events.at(-1)?.seq ?? this.fold.seq
      const claim = isClaim ? { owner: leaseOwner, ttlMs: leaseMs } : undefined
      this.#isAppending = true
      appended = store.append({
        key: this.key,
        expect: this.fold.seq,
        events,
        bytes: commit.bytes,
        create: this.#create,
        idempotency: withMessage?.idempotency,
        pushConfig: withMessage?.pushConfig,
        fencingToken: this.#fencingToken,
        visibility: summary.visibility,
        status: summary.status,
        lease: lease === 'keep' ? claim : 'release',
        isRunnable: lease === 'keep' ? (claim ? true : undefined) : lease === 'hand-over',
        snapshot: next?.isPartial ? undefined : next?.snapshot(),
      })
    } catch (error) {
      return Promise.reject(this.#failed(commit, error))
    }
    const work = appended.then(
      (outcome) => {
        this.#busy = undefined
        this.#isAppending = false
        if (outcome.result !== 'ok') return this.#refused(commit, outcome.result)
        this.#create = undefined
        this.firstCommit.decide(true)
        if (withMessage === this.#withMessage) this.#withMessage = undefined
        this.#fencingToken = lease === 'keep' ? outcome.fencingToken : undefined
        if (next) this.fold = next
        else for (const event of events) this.fold.apply(event)
        // Provisional tasks stay held.
        if (commit.isBuffer && (lease !== 'keep' || this.fold.state !== undefined))
          this.#bytes.commit(this.#buffer.bytes)
        if (isClaim) this.#watch()
        this.#publish(events)
        return 'ok'
      },
      (error: unknown) => {
        throw this.#failed(commit, error)
      },
    )
    this.#busy = work
    return work
  }

  #refused(commit: PendingCommit, result: Exclude<CommitOutcome, 'ok'>): CommitOutcome {
    if (commit.isBuffer) this.#buffer.putBack(commit)
    if (isFull(result) && commit.isBuffer) {
      // The messages are kept, so that the task can still end.
      this.#drop((body) => 'artifactUpdate' in body || 'statusUpdate' in body)
      this.#run.stop('no-room')
    }
    // Another run has created a task with the id, which its caller chose.
    const isTaken = result === 'conflict' && !this.isStored
    if (isTaken) this.firstCommit.decide(false)
    if (result !== 'fenced' && !isTaken) return result
    this.#run.stop('fenced')
    return 'fenced'
  }

  #failed(commit: PendingCommit, error: unknown): unknown {
    this.#busy = undefined
    this.#isAppending = false
    this.#failure = error
    if (commit.isBuffer) this.#buffer.putBack(commit)
    return error
  }

  #drop(isDropped: (body: EventBody) => boolean): void {
    this.#bytes.hold(-this.#buffer.drop(isDropped))
  }

  #publish(events: readonly TaskEvent[]): void {
    this.#deps.topics.get(this.key.id)?.publish(events)
  }

  /** From its first commit on, other processes may write to this task too. */
  #watch(): void {
    this.#unwatch ??= this.#deps.store.changes.watchTask(this.key, (seq) => {
      const isOurs = this.#isAppending && seq <= this.#committingTo
      // One read covers all notifications that arrive before it begins.
      if (seq <= this.fold.seq || isOurs || this.#isNotified) return
      this.#isNotified = true
      this.catchUp().catch((error) => this.#deps.onError(error, this.key.id))
    })
  }
}
