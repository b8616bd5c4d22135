/**
 * Writes server-sent events. Events that are ready in one turn of the event loop leave as one chunk, which doubles the
 * throughput. A slow reader pauses the reading of its log and nothing else (E-5).
 */
import { A2AError } from '../model/errors.js'
import type { ReadAhead, StreamItem } from '../model/service.js'

/** Characters buffered for the reader before reading of the log pauses. */
export const highWaterMark = 64 * 1024
const heartbeat = ':\n\n'

/** Sends a comment on idle streams. One timer serves all streams. */
export class Heartbeats {
  readonly #feeds = new Set<Pick<SseFeed, 'beat'>>()
  readonly #everyMs: number
  #timer: ReturnType<typeof setInterval> | undefined

  constructor(everyMs: number) {
    this.#everyMs = everyMs
  }

  add(feed: Pick<SseFeed, 'beat'>): void {
    this.#feeds.add(feed)
    this.#timer ??= setInterval(() => {
      for (const each of this.#feeds) each.beat()
    }, this.#everyMs)
  }

  remove(feed: Pick<SseFeed, 'beat'>): void {
    this.#feeds.delete(feed)
    if (this.#feeds.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}

interface SseStream<Item = StreamItem> {
  /** The first element, which the caller has requested already. */
  readonly first: Promise<IteratorResult<Item, unknown>>
  readonly rest: ReadAhead<Item>
  /** The text of one event, framed. */
  readonly encode: (item: Item) => string
  /** Text after the last event; may be empty. */
  readonly encodeEnd: () => string
  readonly encodeError: (error: A2AError) => string
  readonly onGone: () => void
  readonly heartbeats: Heartbeats
}

export const sseHeaders = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-store',
  // Asks proxies not to buffer events.
  'x-accel-buffering': 'no',
} as const

/** Takes the text of a stream. */
export interface SseSink {
  /** Sends the response headers before there is an event. */
  open(): void
  /** Returns false if the reader's buffer is full. The sink calls `resume` when it has room. */
  write(text: string): boolean
  end(text: string): void
}

/** Writes the events of one stream to the first sink that starts it. */
export class SseFeed<Item = StreamItem> {
  readonly #rest: ReadAhead<Item>
  readonly #encode: SseStream<Item>['encode']
  readonly #encodeEnd: SseStream<Item>['encodeEnd']
  readonly #encodeError: SseStream<Item>['encodeError']
  readonly #onGone: () => void
  readonly #heartbeats: Heartbeats
  #first: SseStream<Item>['first'] | undefined
  #sink: SseSink | undefined
  #ready = ''
  #isOpen = false
  #isFlushScheduled = false
  #isBlocked = false
  #isGone = false
  #wake: (() => void) | undefined

  constructor({ first, rest, encode, encodeEnd, encodeError, onGone, heartbeats }: SseStream<Item>) {
    this.#first = first
    this.#rest = rest
    this.#encode = encode
    this.#encodeEnd = encodeEnd
    this.#encodeError = encodeError
    this.#onGone = onGone
    this.#heartbeats = heartbeats
  }

  start(sink: SseSink): void {
    const first = this.#first
    if (!first || this.#isGone) return
    // Released: it holds the first event, often a whole task.
    this.#first = undefined
    this.#sink = sink
    this.#heartbeats.add(this)
    this.#flushSoon()
    this.#pump(first).catch(() => this.cancel()) // the sink broke
  }

  /** The sink has room again. */
  resume(): void {
    this.#isBlocked = false
    if (this.#ready !== '') this.#flushSoon()
    this.#wakeUp()
  }

  /** The reader is gone. */
  cancel(): void {
    if (this.#isGone) return
    this.#isGone = true
    this.#heartbeats.remove(this)
    this.#onGone()
    this.#wakeUp()
    // `#pump` ends the iterator, but only after a start.
    if (!this.#sink) this.#rest.return?.().catch(() => undefined)
  }

  beat(): void {
    if (!this.#isBlocked && this.#isOpen) this.#isBlocked = this.#sink?.write(heartbeat) === false
  }

  async #pump(first: SseStream<Item>['first']): Promise<void> {
    const rest = this.#rest
    try {
      for (let next = await first; !next.done && !this.#isGone; next = await rest.next()) {
        for (let item: Item | undefined = next.value; item && !this.#isGone; item = rest.takeReady?.()) {
          this.#ready += this.#encode(item)
          if (this.#ready.length < highWaterMark && !this.#isBlocked) this.#flushSoon()
          else await this.#drained()
        }
      }
      this.#ready += this.#encodeEnd()
    } catch (error) {
      this.#ready += this.#encodeError(A2AError.from(error))
    }
    this.#finish()
    await rest.return?.()
  }

  #finish(): void {
    this.#heartbeats.remove(this)
    const isReadToItsEnd = !this.#isGone
    // A reader that leaves now has no effect.
    this.#isGone = true
    const last = this.#ready
    // Servers keep the objects of a response until the next request on the connection.
    this.#ready = ''
    if (isReadToItsEnd) this.#sink?.end(last)
  }

  /** Resolves when the buffered text is written and the sink has room. */
  async #drained(): Promise<void> {
    while (!this.#isGone) {
      if (!this.#isBlocked) this.#flush()
      if (!this.#isBlocked) return
      this.#rest.release?.()
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }

  #wakeUp(): void {
    const wake = this.#wake
    this.#wake = undefined
    wake?.()
  }

  #flushSoon(): void {
    if (this.#isFlushScheduled) return
    this.#isFlushScheduled = true
    soon(() => {
      this.#isFlushScheduled = false
      this.#flush()
    })
  }

  #flush(): void {
    if (this.#isBlocked || this.#isGone) return
    const isFirst = !this.#isOpen
    this.#isOpen = true
    const text = this.#ready
    this.#ready = ''
    if (text !== '') this.#isBlocked = this.#sink?.write(text) === false
    else if (isFirst) this.#sink?.open()
  }
}

/** Formats one event. `seq`, its sequence number in the log, becomes the `id:` (E-4). */
export function frame(data: string, seq?: number, event?: string): string {
  if (event !== undefined) return `${seq === undefined ? '' : `id: ${seq}\n`}event: ${event}\ndata: ${data}\n\n`
  // Most events: one template, because each string that is joined costs an object.
  return seq === undefined ? `data: ${data}\n\n` : `id: ${seq}\ndata: ${data}\n\n`
}

const soon: (work: () => void) => void =
  typeof setImmediate === 'function' ? setImmediate : (work) => setTimeout(work, 0)
