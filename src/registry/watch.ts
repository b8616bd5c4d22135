/**
 * What happens in a registry, as server-sent events: `id:` is the revision, so that `Last-Event-ID` goes on without
 * a gap. A reader that does not keep up costs nothing: it is a place in the log, and reads from there when it can.
 */
import type { RegistryEvent } from '../registry-client/registry-words.js'
import type { RecordChange, Records } from '../stores/records.js'
import { frame, sseHeaders } from '../transports/sse.js'
import { type AgentDocument, collection, type HealthDocument, type InstanceDocument, readId } from './documents.js'

export interface WatchOptions {
  /** Go on behind this revision; 0: everything there is, then what comes. Absent: what comes from now on. */
  readonly after?: number
  readonly namespace?: string
  readonly name?: string
  /** Silence before a comment is sent. */
  readonly heartbeatMs: number
  /** Ends all streams: the registry closes. */
  readonly signal: AbortSignal
}

const pageSize = 100

export function watchResponse(records: Records, options: WatchOptions): Response {
  const encoder = new TextEncoder()
  const state = new Watcher(records, options)
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const text = await state.next()
      if (text === undefined) controller.close()
      else controller.enqueue(encoder.encode(text))
    },
    cancel: () => state.stop(),
  })
  return new Response(body, { headers: sseHeaders })
}

class Watcher {
  readonly #records: Records
  readonly #options: WatchOptions
  readonly #unwatch: () => void
  #seen: number | undefined
  #isStarted = false
  #isWhole: boolean
  #isStopped = false
  #hasNews = true
  #wake: (() => void) | undefined

  constructor(records: Records, options: WatchOptions) {
    this.#records = records
    this.#options = options
    this.#seen = options.after
    // Who begins with nothing misses no deletion.
    this.#isWhole = options.after !== 0
    this.#unwatch = records.watch(collection, () => {
      this.#hasNews = true
      this.#wake?.()
    })
    options.signal.addEventListener('abort', this.#onClose)
  }

  readonly #onClose = () => this.stop()

  stop(): void {
    this.#isStopped = true
    this.#unwatch()
    this.#options.signal.removeEventListener('abort', this.#onClose)
    this.#wake?.()
  }

  /** The next text for the reader; absent at the end. */
  async next(): Promise<string | undefined> {
    while (!this.#isStopped) {
      const text = await this.#read()
      if (text !== '') return text
      const isOver = this.#isStopped || this.#hasNews
      if (!isOver && !(await this.#news())) return this.#isStopped ? undefined : ':\n\n'
    }
    return undefined
  }

  async #read(): Promise<string> {
    this.#hasNews = false
    const { changes, head, floor } = await this.#records.readAfter(
      collection,
      this.#seen ?? Number.MAX_SAFE_INTEGER,
      pageSize,
    )
    let text = ''
    if (!this.#isStarted) {
      this.#isStarted = true
      this.#seen ??= head
      text += frame(JSON.stringify({ type: 'ready' }), this.#seen)
    }
    const seen = this.#seen ?? head
    if (this.#isWhole && (seen < floor || seen > head)) {
      this.#seen = 0
      this.#isWhole = false
      this.#hasNews = true
      return text + frame(JSON.stringify({ type: 'reset' }), 0)
    }
    for (const change of changes) {
      const event = eventOf(change)
      if (event && this.#isWanted(event)) text += frame(JSON.stringify(event), change.revision)
      this.#seen = change.revision
    }
    if (changes.length === pageSize) this.#hasNews = true
    else this.#isWhole = true
    return text
  }

  #isWanted(event: RegistryEvent): boolean {
    const { namespace, name } = this.#options
    if (!('namespace' in event)) return true
    return (namespace === undefined || event.namespace === namespace) && (name === undefined || event.name === name)
  }

  /** Waits for the log to grow, or for the time of a heartbeat: then false. */
  #news(): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#settle(resolve, false), this.#options.heartbeatMs)
      this.#wake = () => {
        clearTimeout(timer)
        this.#settle(resolve, !this.#isStopped)
      }
    })
  }

  #settle(resolve: (hasNews: boolean) => void, hasNews: boolean): void {
    this.#wake = undefined
    resolve(hasNews)
  }
}

/** Tombstones say what is gone by their id alone. */
function eventOf({ id, value }: RecordChange): RegistryEvent | undefined {
  const about = readId(id)
  if (!about) return undefined
  if (about.kind === 'agent')
    return value === undefined
      ? { type: 'removed', ...about.key }
      : { type: 'agent', ...about.key, latest: (value as AgentDocument).latest }
  if (about.kind === 'health')
    return value === undefined ? undefined : { type: 'health', ...about.key, state: (value as HealthDocument).state }
  if (value === undefined) return { type: 'withdrawn', ...about.key }
  const { url, tags } = value as InstanceDocument // what is in the store was put there by this code
  return { type: 'published', ...about.key, url, tags }
}
