/**
 * The one writer of a task in this process (E-1). Events are buffered, committed in groups, and only
 * then applied to the fold and shown (E-2). Commits of one task never overlap.
 *
 * When another process wrote in between (a message, a cancel) the store answers `conflict`: the
 * foreign events are read and applied, and the buffer is numbered anew behind them.
 */
import type { TaskFold } from '../../model/apply-event.js'
import type { EventBody, TaskEvent } from '../../model/event.js'
import type { Struct } from '../../model/part.js'
import { storedSizeOf } from '../../model/size-of.js'
import type { AppendOutcome, TaskCreation, TaskKey } from '../../stores/store.js'
import type { Internals } from '../internals.js'
import { assertTaskRoom, assertWaitingRoom, cancelRequest, isFull, storeFull } from '../limits.js'
import {
  type Commit,
  type CommitOptions,
  type CommitOutcome,
  EventBuffer,
  maxBufferEvents,
  summarise,
  type WithMessage,
  type WriterStart,
} from './event-buffer.js'

export class TaskWriter {
  readonly key: TaskKey
  /** The committed state. */
  fold: TaskFold
  readonly #internals: Internals
  readonly #onForeignEvents: () => void
  readonly #onFenced: () => void
  readonly #onFull: () => void
  readonly #owner: string
  readonly #onFailed: (error: unknown) => void
  #create: TaskCreation | undefined
  #withMessage: WithMessage | undefined
  #fencingToken: number | undefined
  readonly #buffer = new EventBuffer()
  /** The size of the task with all that is buffered. */
  #bytes = 0
  /** The part of it that the store does not count yet. */
  #heldBytes = 0
  #busy: Promise<unknown> | undefined
  #isClosed = false
  /** From before the store is asked until its answer is applied: hints about our own commit come in between. */
  #isAppending = false
  /** A hint of foreign events waits for its read. */
  #isHinted = false
  #committingTo = 0
  #isFlushScheduled = false
  #unwatch: (() => void) | undefined
  #failure: unknown

  constructor(internals: Internals, start: WriterStart) {
    this.#internals = internals
    this.key = start.key
    this.fold = start.fold
    this.#create = start.create
    this.#withMessage = start.withMessage
    this.#fencingToken = start.fencingToken
    this.#onForeignEvents = start.onForeignEvents
    this.#onFenced = start.onFenced
    this.#onFull = start.onFull
    this.#owner = start.owner
    this.#resize(start.bytes)
    this.#onFailed = start.onFailed
    internals.existingTopic(start.key.id)?.feed(start.fold.seq)
    if (start.fencingToken !== undefined) this.#watch()
  }

  get fencingToken(): number | undefined {
    return this.#fencingToken
  }

  get isStored(): boolean {
    return this.#create === undefined
  }

  /** Changes the newest event that `amend` answers for, among those no commit has taken yet. */
  amend(amend: (body: EventBody) => EventBody | undefined): boolean {
    return this.#buffer.amend(amend)
  }

  /** Whether the task has room for so much more. */
  hasRoomFor(bytes: number): boolean {
    return this.#bytes + bytes <= this.#internals.settings.limits.bytesPerTask
  }

  /** Adds an event to the next commit without asking for one. */
  hold(body: EventBody, bytes = storedSizeOf(body)): void {
    this.#buffer.push(body, bytes)
    this.#hold(bytes)
  }

  /** Takes back the event held last. */
  unhold(): void {
    this.#hold(-this.#buffer.pop())
  }

  /**
   * Adds an event and commits it soon: with everything else of this turn of the event loop, so that
   * a burst of chunks is one row. Resolves at once unless the buffer is full.
   */
  push(body: EventBody, bytes: number): Promise<void> | undefined {
    this.hold(body, bytes)
    if (this.#buffer.isFull) return this.flush().then(() => undefined)
    this.flushSoon()
    return undefined
  }

  /** Commits what is buffered at the end of this turn of the event loop. */
  flushSoon(): void {
    if (this.#isFlushScheduled) return
    this.#isFlushScheduled = true
    this.#internals.atEndOfTick(() => {
      this.#isFlushScheduled = false
      if (this.#buffer.size > 0) this.flush().catch((error) => this.#onFailed(error))
    })
  }

  /** Commits what is buffered, whatever other processes write meanwhile; `false` when that is not for us to do any more. */
  async flush(): Promise<boolean> {
    if (this.#failure !== undefined) throw this.#failure
    while (this.#buffer.size > 0) {
      const outcome = await this.commit({ lease: 'keep' })
      if (outcome === 'fenced' || isFull(outcome)) return false
      if (outcome === 'key-taken') throw new Error('An idempotency key was taken behind our back')
      if (outcome === 'conflict') await this.catchUp()
    }
    return true
  }

  /** One attempt to commit the buffer. After `conflict` nothing is lost: catch up, decide, try again. */
  commit(options: CommitOptions): Promise<CommitOutcome> {
    if (this.#busy) return this.settled().then(() => this.commit(options))
    if (this.#isClosed) return Promise.resolve('fenced')
    // What is pushed while the store works stays for the next commit.
    const taken = this.#buffer.take()
    return this.#append({ ...taken, lease: options.lease, withMessage: this.#withMessage, isBuffer: true })
  }

  /** Gives up the lease together with what is buffered, whatever others write meanwhile; false when it was lost before. */
  async leave(lease: 'release' | 'hand-over'): Promise<boolean> {
    for (;;) {
      const outcome = await this.commit({ lease })
      // The process that runs the task next starts the turn again: the buffer is not needed.
      if (isFull(outcome)) this.#drop(() => true)
      else if (outcome !== 'conflict') return outcome === 'ok'
      else await this.catchUp()
    }
  }

  /** A commit or a catching-up is under way; whoever wants to be next waits for `settled` and looks again. */
  get isBusy(): boolean {
    return this.#busy !== undefined
  }

  async settled(): Promise<void> {
    while (this.#busy) await this.#busy.catch(() => undefined)
  }

  /**
   * Queues a message for a turn of its own, in a commit of its own. Resolves with its sequence, or
   * with `ending` when `isOpen` says no more.
   */
  async accept(
    bodyOf: (turn: number) => EventBody,
    options: { readonly withMessage: WithMessage; readonly isOpen: () => boolean },
  ): Promise<number | 'ending' | 'key-taken'> {
    return await this.#appendAlone(() => {
      if (!options.isOpen()) return undefined
      assertWaitingRoom(this.fold.waiting, this.#internals.settings.limits)
      const body = bodyOf(this.fold.lastTurn + 1)
      const bytes = storedSizeOf(body)
      assertTaskRoom(this.#bytes, bytes, this.#internals.settings.limits)
      return { bodies: [body], bytes, lease: 'keep', withMessage: options.withMessage, isBuffer: false }
    })
  }

  /**
   * Writes a cancel request, once, in a commit of its own: a full store accepts it, but refuses buffered output. Writes
   * nothing if the lease was released or lost.
   */
  async askCancel(metadata: Struct | undefined): Promise<void> {
    await this.#appendAlone(() => {
      if (this.#fencingToken === undefined || this.fold.isCancelAsked) return undefined
      const { body, bytes } = cancelRequest(metadata, this.#bytes, this.#internals.settings.limits)
      return { bodies: [body], bytes, lease: 'keep', withMessage: undefined, isBuffer: false }
    })
  }

  /** Appends a commit beside the buffer. `next` is called again after each conflict; without a commit the answer is `ending`. */
  async #appendAlone(next: () => Commit | undefined): Promise<number | 'ending' | 'key-taken'> {
    for (;;) {
      // Nothing may run between the last check and the append: another writer may be about to end the task.
      while (this.#busy) await this.settled()
      const commit = this.#isClosed ? undefined : next()
      if (!commit) return 'ending'
      const outcome = await this.#append(commit)
      if (isFull(outcome)) throw storeFull(outcome)
      if (outcome === 'ok') {
        this.#resize(commit.bytes)
        this.#internals.callerBytes.add(this.#owner, commit.bytes)
        return this.fold.seq
      }
      if (outcome !== 'conflict') return outcome === 'fenced' ? 'ending' : outcome
      await this.catchUp()
    }
  }

  /** Reads and applies what other processes have written. */
  async catchUp(): Promise<void> {
    while (this.#busy) await this.settled()
    if (this.#isClosed) return
    this.#isHinted = false
    const work = this.#catchUp()
    this.#busy = work
    try {
      await work
    } finally {
      this.#busy = undefined
    }
    this.#onForeignEvents()
  }

  /** Shows an answer that is not stored: a Message without an idempotency key leaves no trace. */
  show(body: EventBody): void {
    const taken = this.#buffer.take()
    this.#hold(-taken.bytes)
    const events = this.#number([...taken.bodies, body])
    for (const event of events) this.fold.apply(event)
    this.#publish(events)
  }

  #resize(bytes: number): void {
    this.#bytes += bytes
    if (!this.#isClosed) this.#internals.runBytes += bytes
  }

  /** Changes the size of the task and of the part that the store does not count yet. */
  #hold(bytes: number): void {
    this.#resize(bytes)
    if (this.#isClosed) return
    this.#heldBytes += bytes
    this.#internals.callerBytes.hold(this.#owner, bytes)
  }

  /** Moves committed bytes from held to stored. Provisional tasks stay held. */
  #counted(): void {
    if (this.#isClosed) return
    const bytes = this.#heldBytes - this.#buffer.bytes
    this.#heldBytes -= bytes
    this.#internals.callerBytes.hold(this.#owner, -bytes)
    this.#internals.callerBytes.add(this.#owner, bytes)
  }

  /** From here on nothing is written. */
  close(): void {
    this.#hold(-this.#heldBytes)
    if (!this.#isClosed) this.#internals.runBytes -= this.#bytes
    this.#isClosed = true
    this.#unwatch?.()
    this.#unwatch = undefined
    this.#internals.existingTopic(this.key.id)?.unfeed()
  }

  /** The lease had run out and was taken again by this very process. */
  adopt(fencingToken: number): void {
    if (this.#fencingToken !== undefined) this.#fencingToken = fencingToken
  }

  async #catchUp(): Promise<void> {
    for (;;) {
      const events = (await this.#internals.store.read(this.key, this.fold.seq, maxBufferEvents)) ?? []
      if (events.length === 0) return
      for (const event of events) {
        this.fold.apply(event)
        this.#resize(storedSizeOf(event.body))
      }
      this.#publish(events)
    }
  }

  /**
   * Commits of one task never overlap; one that fails ends the run at its next flush. One promise instead
   * of three: that was a twentieth of the cost of a small send.
   */
  #append(commit: Commit): Promise<CommitOutcome> {
    const { bodies, lease, withMessage } = commit
    const { settings, owner, store } = this.#internals
    let events: readonly TaskEvent[]
    let next: TaskFold | undefined
    let appended: Promise<AppendOutcome>
    const isClaim = lease === 'keep' && this.#fencingToken === undefined
    try {
      events = this.#number(bodies)
      if (events.length === 0 && lease === 'keep') return Promise.resolve('ok')
      const summary = summarise(bodies)
      next = summary.isEnd ? this.#ahead(events) : undefined
      this.#committingTo = events.at(-1)?.seq ?? this.fold.seq
      const claim = isClaim ? { owner, ttlMs: settings.leaseMs } : undefined
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
        if (withMessage === this.#withMessage) this.#withMessage = undefined
        this.#fencingToken = lease === 'keep' ? outcome.fencingToken : undefined
        if (next) this.fold = next
        else for (const event of events) this.fold.apply(event)
        if (commit.isBuffer && (lease !== 'keep' || this.fold.state !== undefined)) this.#counted()
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

  #refused(commit: Commit, result: Exclude<CommitOutcome, 'ok'>): CommitOutcome {
    if (commit.isBuffer) this.#buffer.putBack(commit)
    if (isFull(result) && commit.isBuffer) this.#dropOutput()
    if (result === 'fenced') this.#onFenced()
    return result
  }

  #failed(commit: Commit, error: unknown): unknown {
    this.#busy = undefined
    this.#isAppending = false
    this.#failure = error
    if (commit.isBuffer) this.#buffer.putBack(commit)
    return error
  }

  /** The task must still be able to end: what it was asked stays, what it said goes. */
  #dropOutput(): void {
    this.#drop((body) => 'artifactUpdate' in body || 'statusUpdate' in body)
    this.#onFull()
  }

  #drop(isDropped: (body: EventBody) => boolean): void {
    this.#hold(-this.#buffer.drop(isDropped))
  }

  #publish(events: readonly TaskEvent[]): void {
    this.#internals.existingTopic(this.key.id)?.publish(events)
  }

  #number(bodies: readonly EventBody[]): TaskEvent[] {
    const time = this.#internals.clock.now()
    const first = this.fold.seq + 1
    return bodies.map((body, place) => ({ seq: first + place, time, body }))
  }

  #ahead(events: readonly TaskEvent[]): TaskFold {
    const fold = this.fold.clone()
    for (const event of events) fold.apply(event)
    return fold
  }

  /** From the first commit of a run that goes on, others may write to this task too. */
  #watch(): void {
    this.#unwatch ??= this.#internals.store.changes.watchTask(this.key, (seq) => {
      const isOurs = this.#isAppending && seq <= this.#committingTo
      // One read answers all hints that come before it begins.
      if (seq <= this.fold.seq || isOurs || this.#isHinted) return
      this.#isHinted = true
      this.catchUp().catch((error) => this.#internals.failure(error, this.key.id))
    })
  }
}
