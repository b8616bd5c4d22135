/** One stream of the server. A slow reader pauses the reading of its log and nothing else (E-5). */
import type { ReadAhead, StreamItem } from '../../model/service.js'
import type { ServerCall } from './server-call.js'
import { Writer } from './wire.js'

/** Bytes buffered for the reader before reading of the log pauses. */
const highWaterMark = 64 * 1024

/** Appends one event to the bytes that are sent next. */
type AppendItem = (item: StreamItem, writer: Writer) => void

/**
 * Writes the events of one stream. Events that are ready in one turn of the event loop leave as one write: a write for
 * each event costs more than encoding it.
 */
export class EventWriter {
  readonly #call: ServerCall
  readonly #items: ReadAhead
  readonly #append: AppendItem
  readonly #open: () => void
  #writer = new Writer()
  /**
   * The first event leaves at once. Clients of grpc-js drop what they received together with the end of a connection,
   * and a stream that is cut again and again would not advance.
   */
  #isFirst = true
  #isFlushScheduled = false
  /** Bytes that the reader has to take before more are written. */
  #blockedBytes = 0
  #wake: (() => void) | undefined

  constructor(call: ServerCall, items: ReadAhead, append: AppendItem, open: () => void) {
    this.#call = call
    this.#items = items
    this.#append = append
    this.#open = open
    call.output.onDrain = () => this.#drain()
    call.onClosed(() => this.#drain())
  }

  /** Sends all events. Events before an error are sent too. */
  async send(): Promise<void> {
    const items = this.#items
    const { connection } = this.#call
    try {
      if (connection.unread.isFull) await this.#room()
      for (let next = await items.next(); !next.done && !this.#call.isOver; next = await items.next()) {
        for (let item: StreamItem | undefined = next.value; item && !this.#call.isOver; item = items.takeReady?.()) {
          if (connection.unread.isFull) await this.#room()
          this.#append(item, this.#writer)
          if (this.#isFirst) this.#flush()
          else if (this.#writer.length < highWaterMark && this.#blockedBytes === 0) this.#flushSoon()
          if (this.#writer.length >= highWaterMark || this.#blockedBytes > 0) await this.#drained()
        }
      }
    } finally {
      await items.return?.()
    }
  }

  /** The events that are not written yet. */
  takeRest(): Buffer | undefined {
    return this.#writer.length > 0 ? this.#take() : undefined
  }

  /** Ends the wait for a reader that is gone. Its bytes count until the stream is closed. */
  cancel(): void {
    this.#wake?.()
  }

  #flushSoon(): void {
    if (this.#isFlushScheduled) return
    this.#isFlushScheduled = true
    setImmediate(() => {
      this.#isFlushScheduled = false
      this.#flush()
    })
  }

  #flush(): void {
    if (this.#blockedBytes > 0 || this.#writer.length === 0 || this.#call.isOver) return
    this.#isFirst = false
    this.#open()
    if (this.#call.output.write(this.#take())) return
    this.#blockedBytes = this.#call.output.unsentBytes
    this.#call.connection.unread.add(this.#blockedBytes)
  }

  #take(): Buffer {
    const bytes = this.#writer.finish()
    this.#writer = new Writer()
    return bytes
  }

  #drain(): void {
    this.#call.connection.unread.remove(this.#blockedBytes)
    this.#blockedBytes = 0
    this.#wake?.()
  }

  /** Resolves when the events are written and the reader has taken them. */
  async #drained(): Promise<void> {
    while (!this.#call.isOver) {
      this.#flush()
      if (this.#blockedBytes === 0) return
      this.#items.release?.()
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }

  /** Waits until the streams of this connection are below their common limit. */
  async #room(): Promise<void> {
    const { unread } = this.#call.connection
    while (unread.isFull && !this.#call.isOver) {
      this.#items.release?.(0)
      await new Promise<void>((resolve) => {
        this.#wake = resolve
        unread.onRoom(resolve)
      })
    }
  }
}
