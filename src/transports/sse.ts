/**
 * Server-sent events out. The events that are ready in one turn of the event loop leave as one chunk
 * (twice the throughput of a chunk each); a reader that does not keep up stops the reading of the log,
 * nothing else.
 */
import { A2AError } from '../model/errors.js'
import type { ReadAhead, StreamItem } from '../model/service.js'

const encoder = new TextEncoder()
/** Characters waiting for the reader before reading stops. */
const highWaterMark = 64 * 1024
const heartbeat = ':\n\n'

/** One timer for all streams. */
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

export interface SseStream<Item = StreamItem> {
  /** The first element, asked for already. */
  readonly first: Promise<IteratorResult<Item, unknown>>
  readonly rest: ReadAhead<Item>
  /** The text of one event, framed. */
  readonly encode: (item: Item) => string
  /** What stands behind the last event; may be empty. */
  readonly encodeEnd: () => string
  readonly encodeError: (error: A2AError) => string
  readonly onGone: () => void
  readonly heartbeats: Heartbeats
}

export const sseHeaders = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-store',
  // Asks proxies in between not to collect events before passing them on.
  'x-accel-buffering': 'no',
} as const

/** Where the text goes. */
export interface SseSink {
  /** The answer begins, although there is nothing to say yet. */
  open(): void
  /** False when the reader has enough; it calls `resume` when it wants more. */
  write(text: string): boolean
  end(text: string): void
}

/** Moves the events of one stream into the first sink it is given. */
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

  get isStarted(): boolean {
    return this.#sink !== undefined
  }

  start(sink: SseSink): void {
    const first = this.#first
    if (!first || this.#isGone) return
    // Not kept: it holds the first event, often a whole task.
    this.#first = undefined
    this.#sink = sink
    this.#heartbeats.add(this)
    this.#flushSoon()
    this.#pump(first).catch(() => this.cancel()) // the sink broke
  }

  /** The reader wants more. */
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
    // Without a start nobody else ends the reading.
    if (!this.#sink) this.#rest.return?.().catch(() => undefined) // nobody is left to tell
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
    // Whatever ended the reading, what is read from must learn of it.
    await rest.return?.()
  }

  #finish(): void {
    this.#heartbeats.remove(this)
    const isReadToItsEnd = !this.#isGone
    // From here on a reader that goes changes nothing any more.
    this.#isGone = true
    const last = this.#ready
    // A server keeps what belongs to an answer until the connection brings the next request.
    this.#ready = ''
    if (isReadToItsEnd) this.#sink?.end(last)
  }

  /** Everything ready is with the reader, and it wants more. */
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

const feedKey = Symbol('feed')

/**
 * The body of an answer, for whoever reads streams. A server that can write text to a connection itself
 * takes the feed out instead (`feedOf`), within the turn of the event loop in which the body was made.
 */
export function sseBody<Item>(stream: SseStream<Item>): ReadableStream<Uint8Array> {
  const feed = new SseFeed(stream)
  const body = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        soon(() => feed.start(sinkOf(controller)))
      },
      pull: () => feed.resume(),
      cancel: () => feed.cancel(),
    },
    { highWaterMark, size: (chunk) => chunk.byteLength },
  )
  return Object.assign(body, { [feedKey]: feed })
}

/** The feed behind the body of an answer, if it is one of `sseBody` and nobody has begun to read it. */
export function feedOf(body: unknown): SseFeed | undefined {
  const feed = (body as { readonly [feedKey]?: SseFeed } | null | undefined)?.[feedKey]
  return feed?.isStarted ? undefined : feed
}

function sinkOf(controller: ReadableStreamDefaultController<Uint8Array>): SseSink {
  return {
    open: () => undefined,
    write(text) {
      controller.enqueue(encoder.encode(text))
      return (controller.desiredSize ?? 0) > 0
    },
    end(text) {
      if (text !== '') controller.enqueue(encoder.encode(text))
      controller.close()
    },
  }
}

/** One event: exactly one space, one line of data, the place in the log first (E-4). */
export function frame(data: string, seq?: number, event?: string): string {
  const head = seq === undefined ? '' : `id: ${seq}\n`
  return event === undefined ? `${head}data: ${data}\n\n` : `${head}event: ${event}\ndata: ${data}\n\n`
}

const soon: (work: () => void) => void =
  typeof setImmediate === 'function' ? setImmediate : (work) => setTimeout(work, 0)
