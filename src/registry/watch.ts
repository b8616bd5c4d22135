/**
 * What happens in a registry, as server-sent events: `id:` is the revision, so that `Last-Event-ID` goes on without
 * a gap. A reader that does not keep up costs nothing: it is a place in the log, and reads from there when it can.
 */
import type { RegistryEvent } from '../registry-client/registry-words.js'
import type { RecordChange, Records } from '../stores/records.js'
import { frame, type Heartbeats, sseBody, sseHeaders } from '../transports/sse.js'
import { type AgentDocument, collection, type HealthDocument, type InstanceDocument, readId } from './documents.js'

export interface WatchOptions {
  /** Go on behind this revision; 0: everything there is, then what comes. Absent: what comes from now on. */
  readonly after?: number
  readonly namespace?: string
  readonly name?: string
  readonly heartbeats: Heartbeats
  /** Ends all streams: the registry closes. */
  readonly signal: AbortSignal
  /** The store is in trouble: the stream ends, and its reader comes back to where it was. */
  readonly onFailure: (error: unknown) => void
}

const pageSize = 100

export function watchResponse(records: Records, options: WatchOptions): Response {
  const watcher = new Watcher(records, options)
  const rest = watcher.texts()
  const first = rest.next()
  first.catch(() => undefined) // whoever reads the stream is told
  const body = sseBody({
    first,
    rest,
    encode: (text) => text,
    encodeEnd: () => '',
    encodeError(error) {
      options.onFailure(error.cause ?? error)
      return ''
    },
    onGone: () => watcher.stop(),
    heartbeats: options.heartbeats,
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

  async *texts(): AsyncGenerator<string, void, void> {
    try {
      while (!this.#isStopped) {
        const text = await this.#read()
        if (text !== '') yield text
        else if (!this.#hasNews && !this.#isStopped) await this.#news()
      }
    } finally {
      this.stop()
    }
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

  /** Waits for the log to grow, or for the end. */
  #news(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve
    })
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
