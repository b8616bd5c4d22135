import { A2AError, overLimit } from '../model/errors.js'
import { addressKey } from '../net/addresses.js'

/** Bytes of large answers that one server holds for their readers. */
const defaultMax = 256 * 1024 * 1024

/**
 * Counts the large answers of one server that their readers have not taken yet. A request for a large answer is small,
 * and the answer stays in memory until it is read. One caller can hold a quarter of the budget, so that callers that do
 * not read cannot keep answers from others.
 */
export class UnreadAnswers {
  readonly #max: number
  readonly #maxPerCaller: number
  #total = 0
  readonly #byCaller = new Map<string, number>()

  constructor(max: number = defaultMax) {
    this.#max = max
    this.#maxPerCaller = max / 4
  }

  /** Counts an answer until the returned function is called. Throws when there is no room for it. */
  admit(size: number, caller: string): () => void {
    const held = this.#byCaller.get(caller) ?? 0
    // An answer larger than a limit gets through when it is the only one.
    if (held > 0 && held + size > this.#maxPerCaller)
      throw overLimit('unreadAnswers', 'Too many of your large answers are unread, read them and try again')
    if (this.#total > 0 && this.#total + size > this.#max) {
      const details = { metadata: { limit: 'unreadAnswers' }, retryAfterSeconds: 1 }
      throw new A2AError('UNAVAILABLE', 'Too many large answers are unread, try again later', details)
    }
    this.#add(caller, size)
    let isCounted = true
    return () => {
      if (isCounted) this.#add(caller, -size)
      isCounted = false
    }
  }

  #add(caller: string, size: number): void {
    this.#total += size
    const held = (this.#byCaller.get(caller) ?? 0) + size
    if (held > 0) this.#byCaller.set(caller, held)
    else this.#byCaller.delete(caller)
  }
}

/** The key that answers are counted by: the caller's id; without credentials, the network of the caller's address. */
export function callerKey(caller: string | undefined, address: string | undefined): string {
  return caller === undefined ? `address ${addressKey(address ?? '')}` : `caller ${caller}`
}
