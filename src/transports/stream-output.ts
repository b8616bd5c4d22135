/** Writes to HTTP/2 streams. */
import type { ServerHttp2Stream } from 'node:http2'

/** Counts the unread bytes of all streams of one HTTP/2 connection. At the limit, they stop reading their logs (E-5). */
export interface UnreadCount {
  readonly isFull: boolean
  add(bytes: number): void
  remove(bytes: number): void
  /** Calls `wake` once when there is room. */
  onRoom(wake: () => void): void
}

/** The connection of an HTTP/2 stream, as its writers see it. */
export interface OutputConnection {
  readonly unread: UnreadCount
  /** Bytes that a reader must take within the time limit of readers. */
  readonly sliceBytes: number
  /** Starts the time limit of a reader that has to take bytes. It also ends when the stream closes. */
  startWait(stream: ServerHttp2Stream): void
  endWait(stream: ServerHttp2Stream): void
}

/** Shorter ends of a response are one slice, and end the stream in one step. */
const smallBytes = 16 * 1024

/**
 * Writes to one stream, in slices: each slice has the time limit of the connection, so that a slow reader differs from
 * one that does not read.
 */
export class StreamOutput {
  /** Called when the reader has taken everything. */
  onDrain: (() => void) | undefined
  readonly #stream: ServerHttp2Stream
  readonly #connection: OutputConnection
  #rest: Buffer | undefined
  #isEnding = false
  #isWaiting = false

  constructor(stream: ServerHttp2Stream, connection: OutputConnection) {
    this.#stream = stream
    this.#connection = connection
  }

  /** Bytes that are not sent. */
  get unsentBytes(): number {
    return this.#stream.writableLength + (this.#rest?.length ?? 0)
  }

  /** Returns false if the reader must take bytes first; then `onDrain` is called. */
  write(bytes: Buffer): boolean {
    const stream = this.#stream
    if (stream.destroyed) return true
    this.#rest = this.#rest ? Buffer.concat([this.#rest, bytes]) : bytes
    if (!this.#isWaiting) this.#advance()
    return !this.#isWaiting
  }

  end(bytes?: Buffer): void {
    const stream = this.#stream
    if (stream.destroyed) return
    if (!this.#isWaiting && (bytes === undefined || bytes.length <= smallBytes)) {
      this.#connection.startWait(stream)
      if (bytes) stream.end(bytes)
      else stream.end()
      return
    }
    this.#isEnding = true
    if (bytes) this.write(bytes)
  }

  #advance(): void {
    const stream = this.#stream
    while (this.#rest && !stream.destroyed) {
      const { sliceBytes } = this.#connection
      const slice = this.#rest.length <= sliceBytes ? this.#rest : this.#rest.subarray(0, sliceBytes)
      this.#rest = slice === this.#rest ? undefined : this.#rest.subarray(sliceBytes)
      if (stream.write(slice)) continue
      this.#isWaiting = true
      this.#connection.startWait(stream)
      stream.once('drain', () => this.#drained())
      return
    }
    if (!this.#isEnding || stream.destroyed) return
    this.#connection.startWait(stream)
    stream.end()
  }

  #drained(): void {
    this.#isWaiting = false
    this.#connection.endWait(this.#stream)
    this.#advance()
    if (!this.#isWaiting) this.onDrain?.()
  }
}
