/**
 * One stream a tab. Browsers open six connections to a server and no more; a page that followed six tasks over
 * HTTP/1.1 could say nothing else. So the events of all its calls come through one.
 */
import { sseHeaders } from '../transports/sse.js'
import type { TabEvent } from './console-api.js'

const encoder = new TextEncoder()
/** What waits for the page before the streams behind it are read no further. */
const highWaterMark = 512 * 1024
/** And beyond that, before the page counts as gone. */
const mostUnread = 8 * 1024 * 1024
const heartbeatMs = 15_000

export class TabStream {
  readonly id = crypto.randomUUID()
  readonly response: Response
  /** Aborted when the page is gone. */
  readonly gone = new AbortController()
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined
  #waiting: (() => void)[] = []
  readonly #streams = new Map<number, AbortController>()

  constructor(onGone: () => void) {
    const heartbeat = setInterval(() => this.#write(':\n\n'), heartbeatMs).unref()
    this.gone.signal.addEventListener('abort', () => {
      clearInterval(heartbeat)
      this.#wake()
      onGone()
    })
    const body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller
        },
        pull: () => this.#wake(),
        cancel: () => this.gone.abort(),
      },
      { highWaterMark, size: (chunk) => chunk.byteLength },
    )
    this.response = new Response(body, { headers: { ...sseHeaders, 'cache-control': 'no-store' } })
    this.tell({ tab: this.id })
  }

  tell(event: TabEvent): void {
    this.#write(`data: ${JSON.stringify(event)}\n\n`)
  }

  /** Moves the body of an answer into this stream, as fast as the page reads. */
  async carry(stream: number, body: ReadableStream<Uint8Array>): Promise<void> {
    const left = new AbortController()
    this.#streams.set(stream, left)
    const decoder = new TextDecoder()
    const reader = body.getReader()
    const leave = () => reader.cancel().catch(() => undefined) // nobody is left to tell
    const signal = AbortSignal.any([left.signal, this.gone.signal])
    signal.addEventListener('abort', leave, { once: true })
    try {
      for (;;) {
        const { done, value } = await reader.read()
        if (done || signal.aborted) return
        this.tell({ stream, text: decoder.decode(value, { stream: true }) })
        await this.#drained()
      }
    } catch {
      // A body that breaks ends here: the page's client sees that it is not whole, and asks again.
    } finally {
      this.#streams.delete(stream)
      this.tell({ stream, end: true })
    }
  }

  /** The page does not want the rest. */
  leave(stream: number): void {
    this.#streams.get(stream)?.abort()
  }

  close(): void {
    if (this.gone.signal.aborted) return
    this.gone.abort()
    this.#controller?.close()
  }

  #write(text: string): void {
    if (this.gone.signal.aborted) return
    this.#controller?.enqueue(encoder.encode(text))
    // A page that has stopped to read asks for everything anew when it wakes up.
    if ((this.#controller?.desiredSize ?? 0) < -mostUnread) this.close()
  }

  async #drained(): Promise<void> {
    while (!this.gone.signal.aborted && (this.#controller?.desiredSize ?? 1) <= 0)
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
  }

  #wake(): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (const wake of waiting) wake()
  }
}
