/**
 * Streams the events of a registry as server-sent events. `id:` is the revision, so that `Last-Event-ID` continues without
 * a gap. The newest events are encoded once and shared by all watchers; slow watchers read older events from the store.
 */
import { RegistryError } from '../registry-client/registry-error.js'
import type { RegistryEvent } from '../registry-client/registry-messages.js'
import type { RecordChange, RecordStore } from '../stores/records.js'
import type { HttpAnswer } from '../transports/exchange.js'
import { frame, type Heartbeats, SseFeed, sseHeaders } from '../transports/sse.js'
import { type AgentDocument, collection, type HealthDocument, type InstanceDocument, readId } from './documents.js'
import type { RegistryLimits } from './registry-limits.js'

export interface WatchOptions {
  /** Starts after this revision; 0: with all present records. Absent: with the next event. */
  readonly after?: number
  readonly namespace?: string
  readonly name?: string
  /** The key that `maxWatchesPerCaller` counts by. Absent: the watch is not counted. */
  readonly callerKey?: string
}

interface WatchesDeps {
  readonly records: RecordStore
  readonly tail: EventTail
  readonly limits: Pick<RegistryLimits, 'maxWatches' | 'maxWatchesPerCaller'>
  readonly heartbeats: Heartbeats
  /** Called when the store fails; the stream ends, and the client reconnects with its last revision. */
  readonly onFailure: (error: unknown) => void
}

/** Small, because documents may be large and a page is read at once. */
const pageSize = 20
/** Maximum number of concurrent reads of the store by slow watchers. */
const maxStoreReaders = 4

export class Watches {
  readonly #deps: WatchesDeps
  readonly #open = new Set<Watcher>()
  readonly #counts = new Map<string, number>()
  readonly #reading = new Semaphore(maxStoreReaders)

  constructor(deps: WatchesDeps) {
    this.#deps = deps
  }

  open(options: WatchOptions): HttpAnswer {
    const { heartbeats, onFailure } = this.#deps
    this.#assertCapacity(options.callerKey)
    const watcher = new Watcher(this.#deps, this.#reading, options)
    this.#count(watcher, options.callerKey)
    const rest = watcher.texts()
    const first = rest.next()
    first.catch(() => undefined) // reported to the reader of the stream
    const body = new SseFeed<string>({
      first,
      rest,
      encode: (text) => text,
      encodeEnd: () => '',
      encodeError(error) {
        onFailure(error.cause ?? error)
        return ''
      },
      onGone: () => watcher.stop(),
      heartbeats,
    })
    return { status: 200, headers: sseHeaders, body }
  }

  close(): void {
    for (const each of [...this.#open]) each.stop()
  }

  #assertCapacity(callerKey: string | undefined): void {
    const { maxWatches, maxWatchesPerCaller } = this.#deps.limits
    if (this.#open.size >= maxWatches)
      throw new RegistryError('QUOTA', 'The registry has too many watches; try again later')
    if (callerKey !== undefined && (this.#counts.get(callerKey) ?? 0) >= maxWatchesPerCaller)
      throw new RegistryError('QUOTA', `A caller may have at most ${maxWatchesPerCaller} watches`)
  }

  #count(watcher: Watcher, callerKey: string | undefined): void {
    this.#open.add(watcher)
    if (callerKey !== undefined) this.#counts.set(callerKey, (this.#counts.get(callerKey) ?? 0) + 1)
    watcher.onStop = () => {
      this.#open.delete(watcher)
      if (callerKey === undefined) return
      const left = (this.#counts.get(callerKey) ?? 1) - 1
      if (left === 0) this.#counts.delete(callerKey)
      else this.#counts.set(callerKey, left)
    }
  }
}

class Watcher {
  readonly #records: RecordStore
  readonly #tail: EventTail
  readonly #reading: Semaphore
  readonly #options: WatchOptions
  readonly #unfollow: () => void
  onStop: () => void = () => undefined
  #seen: number | undefined
  #isStarted = false
  #isWhole: boolean
  #isStopped = false
  #hasEvents = true
  #failure: { readonly error: unknown } | undefined
  #wake: (() => void) | undefined

  constructor({ records, tail }: WatchesDeps, reading: Semaphore, options: WatchOptions) {
    this.#records = records
    this.#tail = tail
    this.#reading = reading
    this.#options = options
    this.#seen = options.after
    // A watcher that starts from 0 has no state that a missed deletion could make wrong.
    this.#isWhole = options.after !== 0
    this.#unfollow = tail.follow({
      onEvents: () => {
        this.#hasEvents = true
        this.#wake?.()
      },
      onError: (error) => {
        this.#failure = { error }
        this.#wake?.()
      },
    })
  }

  stop(): void {
    if (this.#isStopped) return
    this.#isStopped = true
    this.#unfollow()
    this.onStop()
    this.#wake?.()
  }

  async *texts(): AsyncGenerator<string, void, void> {
    try {
      while (!this.#isStopped) {
        if (this.#failure) throw this.#failure.error
        this.#hasEvents = false
        const text = this.#fromTail() ?? (await this.#reading.take(() => this.#fromStore()))
        if (text !== '') yield text
        else if (!this.#hasEvents && !this.#failure && !this.#isStopped) await this.#nextEvents()
      }
    } finally {
      this.stop()
    }
  }

  #fromTail(): string | undefined {
    const start = this.#seen ?? this.#tail.head
    const events = start === undefined ? undefined : this.#tail.after(start)
    if (start === undefined || !events) return undefined
    this.#isWhole = true
    return this.#begin(start) + this.#textOf(events)
  }

  async #fromStore(): Promise<string> {
    if (this.#isStopped) return ''
    const { changes, head, floor } = await this.#records.readAfter(
      collection,
      this.#seen ?? Number.MAX_SAFE_INTEGER,
      pageSize,
    )
    const ready = this.#begin(head)
    const seen = this.#seen ?? head
    if (this.#isWhole && (seen < floor || seen > head)) {
      this.#seen = 0
      this.#isWhole = false
      this.#hasEvents = true
      return ready + frame(JSON.stringify({ type: 'reset' }), 0)
    }
    const text = this.#textOf(changes.map(tailEvent))
    if (changes.length === pageSize) this.#hasEvents = true
    else {
      this.#isWhole = true
      // The newest tombstones may be deleted already, so the floor may be above the last change.
      this.#seen = Math.max(this.#seen ?? 0, floor)
    }
    return ready + text
  }

  #begin(revision: number): string {
    if (this.#isStarted) return ''
    this.#isStarted = true
    this.#seen ??= revision
    return frame(JSON.stringify({ type: 'ready' }), this.#seen)
  }

  #textOf(events: readonly TailEvent[]): string {
    const { namespace, name } = this.#options
    let text = ''
    for (const { revision, event, text: each } of events) {
      this.#seen = revision
      if (!event || !('namespace' in event)) continue
      if ((namespace === undefined || event.namespace === namespace) && (name === undefined || event.name === name))
        text += each
    }
    return text
  }

  /** Waits for events or for `stop`. */
  #nextEvents(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve
    })
  }
}

class Semaphore {
  #free: number
  readonly #waiting: (() => void)[] = []

  constructor(max: number) {
    this.#free = max
  }

  async take<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#free > 0) this.#free -= 1
    else await new Promise<void>((resolve) => this.#waiting.push(resolve))
    try {
      return await work()
    } finally {
      const next = this.#waiting.shift()
      if (next) next()
      else this.#free += 1
    }
  }
}

interface TailEvent {
  readonly revision: number
  /** Absent for changes that watchers do not see. */
  readonly event: RegistryEvent | undefined
  readonly text: string
}

interface TailFollower {
  onEvents(): void
  /** The log cannot be read. */
  onError(error: unknown): void
}

const defaultLength = 1000

/** The newest events of a registry, encoded once for all watchers. */
export class EventTail {
  readonly #length: number
  readonly #followers = new Set<TailFollower>()
  #events: TailEvent[] = []
  /** All events after this revision are in the tail. Absent until `begin`. */
  #from: number | undefined

  constructor(length = defaultLength) {
    this.#length = length
  }

  /** The newest known revision. */
  get head(): number | undefined {
    return this.#events.at(-1)?.revision ?? this.#from
  }

  /** Events after a revision, oldest first; undefined if the tail does not reach back that far. */
  after(revision: number): readonly TailEvent[] | undefined {
    const { head } = this
    if (head === undefined || this.#from === undefined || revision < this.#from || revision > head) return undefined
    return this.#events.slice(this.#events.findLastIndex((each) => each.revision <= revision) + 1)
  }

  /** Starts the tail after this revision. */
  begin(revision: number): void {
    if (this.#from !== undefined) return
    this.#from = revision
    this.#wake()
  }

  append(change: RecordChange): void {
    if (this.#from !== undefined) this.#events.push(tailEvent(change))
    if (this.#events.length >= this.#length * 2) {
      const gone = this.#events.splice(0, this.#length)
      this.#from = gone.at(-1)?.revision ?? this.#from
    }
    this.#wake()
  }

  /** Discards all events after a reset of the log. */
  clear(): void {
    this.#events = []
    this.#from = undefined
  }

  fail(error: unknown): void {
    for (const each of [...this.#followers]) each.onError(error)
  }

  follow(follower: TailFollower): () => void {
    this.#followers.add(follower)
    return () => this.#followers.delete(follower)
  }

  #wake(): void {
    for (const each of this.#followers) each.onEvents()
  }
}

function tailEvent(change: RecordChange): TailEvent {
  const { revision } = change
  const event = eventOf(change)
  return { revision, event, text: event ? frame(JSON.stringify(event), revision) : '' }
}

/** Tombstones have only an id. */
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
  const { url, tags } = value as InstanceDocument // checked by `readableRecords`
  return { type: 'published', ...about.key, url, tags }
}
