/** Counts what runs and callers use: running tasks, their bytes, and the bytes that each caller has stored. */
import { A2AError, limitMetadata, overLimit, overSize } from '../../model/errors.js'
import { anonymous } from '../../model/service.js'
import type { CompleteStore } from '../../stores/store.js'
import { type EngineLimits, formatBytes, Tally } from '../limits.js'

/** The runs of this process, by task id, and their total size. */
export class RunningTasks<Run extends { readonly id: string; readonly owner: string }> {
  /** The size of all running tasks together. */
  bytes = 0
  /** Runs that stopped because another process had taken over the task. */
  fencedRuns = 0
  readonly #limits: EngineLimits
  readonly #runs = new Map<string, Run>()
  readonly #owners = new Tally()

  constructor(limits: EngineLimits) {
    this.#limits = limits
  }

  get size(): number {
    return this.#runs.size
  }

  get(taskId: string): Run | undefined {
    return this.#runs.get(taskId)
  }

  has(taskId: string): boolean {
    return this.#runs.has(taskId)
  }

  ids(): IterableIterator<string> {
    return this.#runs.keys()
  }

  /** A copy: runs end while a caller iterates. */
  all(): readonly Run[] {
    return [...this.#runs.values()]
  }

  add(run: Run): void {
    this.#runs.set(run.id, run)
    this.#owners.add(run.owner)
  }

  remove(run: Run): void {
    this.#owners.remove(run.owner)
    if (this.#runs.get(run.id) === run) this.#runs.delete(run.id)
  }

  /** Runs that have not been removed. Two runs of one task can overlap for a moment. */
  get total(): number {
    return this.#owners.total
  }

  /** Checks the limits before a run begins; `bytes` is the size of its task with the new message. */
  assertRoom(caller: string, bytes: number): void {
    const { runsPerCaller, runs, runBytes } = this.#limits
    if (this.#owners.of(caller) >= runsPerCaller)
      throw overLimit(
        { limit: 'runsPerCaller', max: runsPerCaller },
        `Too many of your tasks are running (limit runsPerCaller: ${runsPerCaller})`,
      )
    const limit = this.total >= runs ? 'runs' : this.bytes + bytes > runBytes ? 'runBytes' : undefined
    // A task that is larger than `runBytes` may run alone.
    if (limit === undefined || (limit === 'runBytes' && this.total === 0)) return
    const text =
      limit === 'runs'
        ? `Too many tasks are running (limit runs: ${runs})`
        : `The running tasks are too large together (limit runBytes: ${formatBytes(runBytes)})`
    throw new A2AError('UNAVAILABLE', text, {
      metadata: limitMetadata({ limit, max: limit === 'runs' ? runs : runBytes }),
      retryAfterSeconds: 1,
    })
  }
}

/** The size of one running task, counted for its owner and for all runs together. */
export class TaskBytes {
  readonly #running: { bytes: number }
  readonly #callers: CallerBytes
  readonly #owner: string
  /** The size with all buffered events. */
  #total = 0
  /** The part of it that the store does not count yet. */
  #held = 0
  #isClosed = false

  constructor(running: { bytes: number }, callers: CallerBytes, owner: string, stored: number) {
    this.#running = running
    this.#callers = callers
    this.#owner = owner
    this.grow(stored)
  }

  get total(): number {
    return this.#total
  }

  /** The task grew by events that other processes wrote. */
  grow(bytes: number): void {
    this.#total += bytes
    if (!this.#isClosed) this.#running.bytes += bytes
  }

  /** The task grew by events that this process committed separately from the buffer. */
  growStored(bytes: number): void {
    this.grow(bytes)
    this.#callers.add(this.#owner, bytes)
  }

  /** Events were buffered; negative when they were dropped. */
  hold(bytes: number): void {
    this.grow(bytes)
    if (this.#isClosed) return
    this.#held += bytes
    this.#callers.hold(this.#owner, bytes)
  }

  /** Moves committed bytes from held to stored; `buffered` bytes stay held. */
  commit(buffered: number): void {
    if (this.#isClosed) return
    const bytes = this.#held - buffered
    this.#held -= bytes
    this.#callers.hold(this.#owner, -bytes)
    this.#callers.add(this.#owner, bytes)
  }

  close(): void {
    this.hold(-this.#held)
    if (!this.#isClosed) this.#running.bytes -= this.#total
    this.#isClosed = true
  }
}

interface CallerSize {
  held: number
  stored: number
  /** Bytes stored during a read of the store, which may not include them. */
  storedDuringRead: number
  /** Undefined until the store was read. */
  readMs: number | undefined
  reading: Promise<void> | undefined
}

/** Bytes reserved for a send, until its message is part of a task or refused. */
export interface Reservation {
  /** Has an effect once. */
  release(): void
}

const unlimited: Reservation = { release: () => undefined }
const readAgainMs = 60_000
const maxKnownCallers = 10_000

/**
 * The size of the tasks that each caller has with one agent. It has two parts:
 *
 * - stored: read from the store at the first send of a caller, then counted in this process. Read again after a minute and
 *   before a send is refused, so that it follows retention and other processes. Approximate.
 * - held: admitted sends and buffered output that the store does not count yet. Exact, and kept when the store is read.
 */
export class CallerBytes {
  readonly #store: Pick<CompleteStore, 'bytesOf'>
  readonly #agent: string
  readonly #limit: number
  readonly #callers = new Map<string, CallerSize>()
  #maxKnown = maxKnownCallers

  constructor(store: Pick<CompleteStore, 'bytesOf'>, agent: string, limit: number) {
    this.#store = store
    this.#agent = agent
    this.#limit = limit
  }

  /** Throws when a caller has no room for this much more. Returns a promise only when the store must be read. */
  reserve(caller: string, bytes: number): Reservation | Promise<Reservation> {
    if (!this.#isLimited(caller)) return unlimited
    const size = this.#sizeOf(caller)
    const { readMs } = size
    if (readMs === undefined || !this.#hasRoom(size, bytes)) return this.#reserveByStore(caller, size, bytes)
    if (performance.now() - readMs > readAgainMs) this.#read(caller, size).catch(() => undefined) // the next send tries again
    return reserveIn(size, bytes)
  }

  /** Adds buffered bytes of a task of this owner; negative when they were dropped. */
  hold(owner: string, bytes: number): void {
    if (bytes !== 0 && this.#isLimited(owner)) this.#sizeOf(owner).held += bytes
  }

  /** Adds bytes that the store counts from now on. */
  add(owner: string, bytes: number): void {
    if (!this.#isLimited(owner)) return
    const size = this.#sizeOf(owner)
    size.stored += bytes
    size.storedDuringRead += bytes
  }

  #isLimited(caller: string): boolean {
    return caller !== anonymous.id && this.#limit !== Number.POSITIVE_INFINITY
  }

  #hasRoom({ held, stored }: CallerSize, bytes: number): boolean {
    return held + stored + bytes <= this.#limit
  }

  #sizeOf(caller: string): CallerSize {
    let size = this.#callers.get(caller)
    if (!size) {
      if (this.#callers.size >= this.#maxKnown) this.#forgetIdle()
      size = { held: 0, stored: 0, storedDuringRead: 0, readMs: undefined, reading: undefined }
      this.#callers.set(caller, size)
    }
    return size
  }

  /** Removes callers without held bytes; the store has their totals. */
  #forgetIdle(): void {
    for (const [caller, { held, reading }] of this.#callers) if (held === 0 && !reading) this.#callers.delete(caller)
    this.#maxKnown = Math.max(maxKnownCallers, 2 * this.#callers.size)
  }

  async #reserveByStore(caller: string, size: CallerSize, bytes: number): Promise<Reservation> {
    await this.#read(caller, size)
    // No other send may be admitted between this check and the reservation.
    if (this.#hasRoom(size, bytes)) return reserveIn(size, bytes)
    const text = `Your tasks would be too large together (limit bytesPerCaller: ${formatBytes(this.#limit)})`
    throw overSize({ limit: 'bytesPerCaller', max: this.#limit }, text)
  }

  #read(caller: string, size: CallerSize): Promise<void> {
    size.reading ??= this.#readNow(caller, size).finally(() => {
      size.reading = undefined
    })
    return size.reading
  }

  async #readNow(caller: string, size: CallerSize): Promise<void> {
    size.storedDuringRead = 0
    const stored = await this.#store.bytesOf(this.#agent, caller)
    size.stored = stored + size.storedDuringRead
    size.readMs = performance.now()
  }
}

function reserveIn(size: CallerSize, bytes: number): Reservation {
  size.held += bytes
  let isReleased = false
  return {
    release: () => {
      if (!isReleased) size.held -= bytes
      isReleased = true
    },
  }
}
