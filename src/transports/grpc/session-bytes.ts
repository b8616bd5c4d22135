/** Bytes of stream messages that one connection may have waiting for its reader. */
const maxBytes = 4 * 1024 * 1024

/**
 * Counts the messages of all streams of one HTTP/2 connection that its reader has not taken yet. Beyond the limit the
 * streams of this connection stop reading their logs (E-5).
 */
export class SessionBytes {
  #bytes = 0
  #waiting = new Set<() => void>()

  get isFull(): boolean {
    return this.#bytes >= maxBytes
  }

  add(bytes: number): void {
    this.#bytes += bytes
  }

  remove(bytes: number): void {
    this.#bytes -= bytes
    if (this.isFull || this.#waiting.size === 0) return
    const waiting = this.#waiting
    this.#waiting = new Set()
    for (const wake of waiting) wake()
  }

  /** Calls `wake` once when there is room. */
  onRoom(wake: () => void): void {
    this.#waiting.add(wake)
  }
}

/** One count for each connection, as long as streams on it use it. */
export class Sessions {
  readonly #sessions = new Map<string, { readonly bytes: SessionBytes; streams: number }>()

  /** The count of a connection, by the address and port of its peer; `leave` has to follow. */
  enter(peer: string): SessionBytes {
    const session = this.#sessions.get(peer) ?? { bytes: new SessionBytes(), streams: 0 }
    session.streams += 1
    this.#sessions.set(peer, session)
    return session.bytes
  }

  leave(peer: string): void {
    const session = this.#sessions.get(peer)
    if (!session) return
    session.streams -= 1
    if (session.streams === 0) this.#sessions.delete(peer)
  }
}
