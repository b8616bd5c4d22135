/**
 * The size of the tasks that each caller has with one agent. It has two parts:
 *
 * - stored: read from the store with the first send of a caller and counted from there in this process. Read again after
 *   a minute and before a send is refused, so that it follows retention and other processes. Approximate.
 * - held: admitted sends and buffered output that the store does not count yet. Exact, and kept when the store is read.
 */
import { overSize } from '../../model/errors.js'
import { anonymous } from '../../model/service.js'
import type { CompleteStore } from '../../stores/store.js'

interface Known {
  held: number
  stored: number
  /** Stored while the store is read: the result may not include it. */
  meanwhile: number
  /** Absent until the store was read. */
  readMs: number | undefined
  reading: Promise<void> | undefined
}

/** Room for a send, until its message counts as part of a task or is refused. */
export interface Reservation {
  /** Has an effect once. */
  release(): void
}

const unlimited: Reservation = { release: () => undefined }
const readAgainMs = 60_000
const maxKnown = 10_000

export class CallerBytes {
  readonly #store: Pick<CompleteStore, 'bytesOf'>
  readonly #agent: string
  readonly #limit: number
  readonly #known = new Map<string, Known>()
  #maxKnown = maxKnown

  constructor(store: Pick<CompleteStore, 'bytesOf'>, agent: string, limit: number) {
    this.#store = store
    this.#agent = agent
    this.#limit = limit
  }

  /** Throws when a caller has no room for so much more. A promise only when the store has to be asked. */
  reserve(caller: string, bytes: number): Reservation | Promise<Reservation> {
    if (!this.#isLimited(caller)) return unlimited
    const known = this.#knownOf(caller)
    const { readMs } = known
    if (readMs === undefined || !this.#hasRoom(known, bytes)) return this.#reserveByStore(caller, known, bytes)
    if (performance.now() - readMs > readAgainMs) this.#read(caller, known).catch(() => undefined) // the next send tries again
    return reserveIn(known, bytes)
  }

  /** Bytes that are buffered for a task of this owner; negative when they are dropped. */
  hold(owner: string, bytes: number): void {
    if (bytes !== 0 && this.#isLimited(owner)) this.#knownOf(owner).held += bytes
  }

  /** Bytes that the store counts from now on. */
  add(owner: string, bytes: number): void {
    if (!this.#isLimited(owner)) return
    const known = this.#knownOf(owner)
    known.stored += bytes
    known.meanwhile += bytes
  }

  #isLimited(caller: string): boolean {
    return caller !== anonymous.id && this.#limit !== Number.POSITIVE_INFINITY
  }

  #hasRoom({ held, stored }: Known, bytes: number): boolean {
    return held + stored + bytes <= this.#limit
  }

  #knownOf(caller: string): Known {
    let known = this.#known.get(caller)
    if (!known) {
      if (this.#known.size >= this.#maxKnown) this.#forgetIdle()
      known = { held: 0, stored: 0, meanwhile: 0, readMs: undefined, reading: undefined }
      this.#known.set(caller, known)
    }
    return known
  }

  /** Forgets callers of which nothing is held; the store knows the rest. */
  #forgetIdle(): void {
    for (const [caller, { held, reading }] of this.#known) if (held === 0 && !reading) this.#known.delete(caller)
    this.#maxKnown = Math.max(maxKnown, 2 * this.#known.size)
  }

  async #reserveByStore(caller: string, known: Known, bytes: number): Promise<Reservation> {
    await this.#read(caller, known)
    // No other send may be admitted between this check and the reservation.
    if (this.#hasRoom(known, bytes)) return reserveIn(known, bytes)
    throw overSize('bytesPerCaller', 'Your tasks take all the room that one caller may have')
  }

  #read(caller: string, known: Known): Promise<void> {
    known.reading ??= this.#readNow(caller, known).finally(() => {
      known.reading = undefined
    })
    return known.reading
  }

  async #readNow(caller: string, known: Known): Promise<void> {
    known.meanwhile = 0
    const stored = await this.#store.bytesOf(this.#agent, caller)
    known.stored = stored + known.meanwhile
    known.readMs = performance.now()
  }
}

function reserveIn(known: Known, bytes: number): Reservation {
  known.held += bytes
  let isReleased = false
  return {
    release: () => {
      if (!isReleased) known.held -= bytes
      isReleased = true
    },
  }
}
