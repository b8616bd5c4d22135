/**
 * How much callers have stored with one agent. The number is approximate: it is read from the store with the first send
 * of a caller, counted on in this process, and read again after a while and before a send is refused. So it follows
 * retention and other processes.
 */
import { overSize } from '../model/errors.js'
import { anonymous } from '../model/service.js'
import type { Store } from '../stores/store.js'

interface Known {
  bytes: number
  /** Counted while the store is read: the result may not include it. */
  meanwhile: number
  readMs: number
  reading: Promise<void> | undefined
}

const readAgainMs = 60_000
const maxKnown = 10_000

export class CallerBytes {
  readonly #store: Pick<Store, 'bytesOf'>
  readonly #agent: string
  readonly #limit: number
  readonly #known = new Map<string, Known>()

  constructor(store: Pick<Store, 'bytesOf'>, agent: string, limit: number) {
    this.#store = store
    this.#agent = agent
    this.#limit = limit
  }

  /** Throws when a caller has no room for so much more. A promise only when the store has to be asked. */
  assertRoom(caller: string, bytes: number): Promise<void> | undefined {
    if (caller === anonymous.id || this.#limit === Number.POSITIVE_INFINITY) return undefined
    const known = this.#known.get(caller)
    if (!known || known.bytes + bytes > this.#limit) return this.#assertRoomInStore(caller, bytes)
    if (performance.now() - known.readMs > readAgainMs) this.#read(caller, known).catch(() => undefined) // the next send tries again
    return undefined
  }

  /** A task of this owner has grown. */
  add(owner: string, bytes: number): void {
    const known = this.#known.get(owner)
    if (!known) return
    known.bytes += bytes
    known.meanwhile += bytes
  }

  async #assertRoomInStore(caller: string, bytes: number): Promise<void> {
    let known = this.#known.get(caller)
    if (!known) {
      if (this.#known.size >= maxKnown) this.#known.clear()
      known = { bytes: 0, meanwhile: 0, readMs: 0, reading: undefined }
      this.#known.set(caller, known)
    }
    await this.#read(caller, known)
    if (known.bytes + bytes <= this.#limit) return
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
    known.bytes = stored + known.meanwhile
    known.readMs = performance.now()
  }
}
