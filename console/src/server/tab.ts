/**
 * The tab's single stream from the console's server, and a `fetch` for `dragoman/client` whose streams arrive through
 * it. If the stream breaks, all streams in it fail and the client resumes them.
 */
import { type TabEvent, tabHeader } from 'dragoman/console'
import { Signal } from '../model/signal.js'
import { ApiError, api, beginSession, send } from './api.js'

type Feed = ReadableStreamDefaultController<Uint8Array>
type Listener = (event: TabEvent) => void

const retryMs = 1000
/** The status for an unknown tab; the server has not run the request. */
const noSuchTab = 409
const encoder = new TextEncoder()

export class Tab {
  readonly signal = new Signal()
  /** `shut`: the server requires a login. */
  state: 'connecting' | 'open' | 'lost' | 'shut' = 'connecting'
  #source: EventSource | undefined
  #id: string | undefined
  #waiting: ((id: string) => void)[] = []
  readonly #feeds = new Map<number, Feed>()
  readonly #listeners = new Set<Listener>()
  #streams = 0

  open(): void {
    const source = new EventSource('/console/api/tab')
    this.#source = source
    source.onmessage = ({ data }) => this.#take(JSON.parse(String(data)) as TabEvent)
    source.onerror = () => this.#lost()
  }

  listen(listener: Listener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** A `fetch` for `connect`: unary calls are sent directly, streams arrive through the tab's stream. */
  fetchWith(onCall?: (id: string) => void): typeof fetch {
    return async (input, init = {}) => {
      const { pathname } = new URL(String(input))
      const path = pathname.replace(/^\/console\//, '')
      const headers = new Headers(init.headers)
      const isStream = headers.get('accept')?.includes('text/event-stream') === true
      const response = isStream ? await this.#stream(path, init, headers) : await send(path, { ...init, headers })
      const call = response.headers.get('x-dragoman-call')
      if (call !== null) onCall?.(call)
      return response
    }
  }

  async #stream(path: string, init: RequestInit, headers: Headers): Promise<Response> {
    const tab = await this.#ready()
    const response = await this.#streamOn(tab, path, init, headers)
    if (response.status !== noSuchTab) return response
    // Another tab has replaced the session, so the stream of this tab has ended.
    if (this.#id === tab) this.#reopen()
    return await this.#streamOn(await this.#ready(), path, init, headers)
  }

  async #streamOn(tab: string, path: string, init: RequestInit, headers: Headers): Promise<Response> {
    this.#streams += 1
    const stream = this.#streams
    headers.set(tabHeader, `${tab}/${stream}`)
    const body = new ReadableStream<Uint8Array>({
      start: (feed) => {
        this.#feeds.set(stream, feed)
      },
      cancel: () => this.#leave(stream),
    })
    init.signal?.addEventListener('abort', () => {
      this.#feeds.get(stream)?.error(init.signal?.reason)
      this.#leave(stream)
    })
    try {
      const response = await send(path, { ...init, headers })
      if (!response.headers.has(tabHeader)) {
        this.#feeds.delete(stream)
        return response
      }
      const told = new Headers(response.headers)
      told.set('content-type', 'text/event-stream')
      return new Response(body, { status: 200, headers: told })
    } catch (error) {
      this.#feeds.delete(stream)
      throw error
    }
  }

  #take(event: TabEvent): void {
    if ('tab' in event) {
      this.#id = event.tab
      this.#become('open')
      const waiting = this.#waiting
      this.#waiting = []
      for (const go of waiting) go(event.tab)
    } else if ('stream' in event) {
      const feed = this.#feeds.get(event.stream)
      if ('text' in event) feed?.enqueue(encoder.encode(event.text))
      else {
        this.#feeds.delete(event.stream)
        feed?.close()
      }
    } else for (const listener of this.#listeners) listener(event)
  }

  #ready(): Promise<string> {
    const id = this.#id
    return id === undefined ? new Promise((resolve) => this.#waiting.push(resolve)) : Promise.resolve(id)
  }

  #leave(stream: number): void {
    if (!this.#feeds.delete(stream)) return
    const query = new URLSearchParams({ tab: this.#id ?? '', stream: String(stream) })
    api('POST', `leave?${query}`).catch(() => undefined) // it ends with the tab anyway
  }

  #breakOff(): void {
    this.#source?.close()
    this.#id = undefined
    for (const feed of this.#feeds.values()) feed.error(new TypeError('The connection to the console was lost'))
    this.#feeds.clear()
  }

  #reopen(): void {
    this.#breakOff()
    this.open()
  }

  #lost(): void {
    this.#breakOff()
    if (this.state !== 'shut') this.#become('lost')
    setTimeout(() => {
      beginSession().then(
        () => this.open(),
        (error: unknown) => {
          if (error instanceof ApiError && error.asks) this.#become('shut')
          this.#lost()
        },
      )
    }, retryMs)
  }

  #become(state: Tab['state']): void {
    if (this.state === state) return
    this.state = state
    this.signal.changed()
  }
}
