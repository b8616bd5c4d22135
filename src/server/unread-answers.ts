import type { ServerResponse } from 'node:http'

const mostBytes = 256 * 1024 * 1024

/**
 * Large answers that are on their way, of one server. An answer is small to ask for and may be large, and it is kept
 * until its reader has taken it: whoever asks and does not read must not fill the memory. Beyond the limit, others
 * are asked to come back.
 */
export class UnreadAnswers {
  readonly #most: number
  #bytes = 0

  constructor(most: number = mostBytes) {
    this.#most = most
  }

  /** The answer, or a refusal in its place. */
  admit(response: Response, body: string, outgoing: ServerResponse): Response {
    const size = Buffer.byteLength(body)
    // One that is larger than all may be has to get through when it is alone.
    if (this.#bytes > 0 && this.#bytes + size > this.#most) return busy()
    // Its reader is gone already, and nothing will be written.
    if (outgoing.destroyed || outgoing.closed) return response
    this.#bytes += size
    outgoing.once('close', () => {
      this.#bytes -= size
    })
    return response
  }
}

function busy(): Response {
  const error = {
    code: 503,
    status: 'UNAVAILABLE',
    message: 'Too many large answers are on their way, try again later',
    details: [],
  }
  return new Response(JSON.stringify({ error }), {
    status: 503,
    headers: { 'content-type': 'application/json', 'retry-after': '1' },
  })
}
