import type { ServerResponse } from 'node:http'

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

  /** The answer, or a refusal in its place. */
  admit(response: Response, body: string, outgoing: ServerResponse, caller: string): Response {
    const size = Buffer.byteLength(body)
    const held = this.#byCaller.get(caller) ?? 0
    // An answer larger than a limit gets through when it is the only one.
    if (held > 0 && held + size > this.#maxPerCaller) return ownUnread()
    if (this.#total > 0 && this.#total + size > this.#max) return busy()
    // The reader has left, and nothing will be written.
    if (outgoing.destroyed || outgoing.closed) return response
    this.#add(caller, size)
    outgoing.once('close', () => this.#add(caller, -size))
    return response
  }

  #add(caller: string, size: number): void {
    this.#total += size
    const held = (this.#byCaller.get(caller) ?? 0) + size
    if (held > 0) this.#byCaller.set(caller, held)
    else this.#byCaller.delete(caller)
  }
}

function ownUnread(): Response {
  return refusal(429, 'RESOURCE_EXHAUSTED', 'Too many of your large answers are unread, read them and try again')
}

function busy(): Response {
  return refusal(503, 'UNAVAILABLE', 'Too many large answers are unread, try again later')
}

function refusal(code: number, status: string, message: string): Response {
  return new Response(JSON.stringify({ error: { code, status, message, details: [] } }), {
    status: code,
    headers: { 'content-type': 'application/json', 'retry-after': '1' },
  })
}
