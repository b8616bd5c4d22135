/**
 * Server-sent events out. The events that are ready in one turn of the event loop leave as one chunk
 * (twice the throughput of a chunk each); a reader that does not keep up stops the reading of the log,
 * nothing else.
 */
import { A2AError } from '../model/errors.js'
import type { StreamItem } from '../model/service.js'

const encoder = new TextEncoder()
/** Bytes waiting for the socket before reading stops. */
const highWaterMark = 64 * 1024
const heartbeat = encoder.encode(':\n\n')

/** One timer for all streams. */
export class Heartbeats {
  readonly #beats = new Set<() => void>()
  readonly #everyMs: number
  #timer: ReturnType<typeof setInterval> | undefined

  constructor(everyMs: number) {
    this.#everyMs = everyMs
  }

  add(beat: () => void): () => void {
    this.#beats.add(beat)
    this.#timer ??= setInterval(() => {
      for (const each of this.#beats) each()
    }, this.#everyMs)
    return () => {
      this.#beats.delete(beat)
      if (this.#beats.size > 0) return
      clearInterval(this.#timer)
      this.#timer = undefined
    }
  }
}

export interface SseStream {
  /** The first element, asked for already. */
  readonly first: Promise<IteratorResult<StreamItem, unknown>>
  readonly rest: AsyncIterator<StreamItem>
  /** The text of one event, framed. */
  readonly encode: (item: StreamItem) => string
  /** What stands behind the last event; may be empty. */
  readonly encodeEnd: () => string
  readonly encodeError: (error: A2AError) => string
  readonly onGone: () => void
  readonly heartbeats: Heartbeats
}

export const sseHeaders = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache',
  // Asks proxies in between not to collect events before passing them on.
  'x-accel-buffering': 'no',
} as const

export function sseBody(stream: SseStream): ReadableStream<Uint8Array> {
  let wakeReader: (() => void) | undefined
  let stopHeartbeat: () => void = () => undefined
  let isGone = false
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        stopHeartbeat = stream.heartbeats.add(() => {
          if ((controller.desiredSize ?? 0) > 0) controller.enqueue(heartbeat)
        })
        pump(controller).catch(() => undefined) // the stream was cancelled under it
      },
      pull() {
        wakeReader?.()
      },
      cancel() {
        isGone = true
        stopHeartbeat()
        stream.onGone()
        wakeReader?.()
      },
    },
    { highWaterMark, size: (chunk) => chunk.byteLength },
  )

  async function pump(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    let ready = ''
    let isFlushScheduled = false
    const flush = () => {
      isFlushScheduled = false
      if (ready === '' || isGone) return
      const chunk = encoder.encode(ready)
      ready = ''
      controller.enqueue(chunk)
    }
    try {
      for (let next = await stream.first; !next.done && !isGone; next = await stream.rest.next()) {
        ready += stream.encode(next.value)
        if (!isFlushScheduled) {
          isFlushScheduled = true
          soon(flush)
        }
        if (ready.length < highWaterMark && (controller.desiredSize ?? 0) > 0) continue
        flush()
        while (!isGone && (controller.desiredSize ?? 0) <= 0) {
          await new Promise<void>((resolve) => {
            wakeReader = resolve
          })
        }
      }
      ready += stream.encodeEnd()
    } catch (error) {
      ready += stream.encodeError(A2AError.from(error))
    }
    stopHeartbeat()
    if (!isGone) {
      flush()
      controller.close()
    }
    // Whatever ended the reading, what is read from must learn of it.
    await stream.rest.return?.()
  }
}

/** One event: exactly one space, one line of data, the place in the log first (E-4). */
export function frame(data: string, seq?: number, event?: string): string {
  const head = seq === undefined ? '' : `id: ${seq}\n`
  return event === undefined ? `${head}data: ${data}\n\n` : `${head}event: ${event}\ndata: ${data}\n\n`
}

const soon: (work: () => void) => void =
  typeof setImmediate === 'function' ? setImmediate : (work) => setTimeout(work, 0)
