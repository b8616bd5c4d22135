/**
 * What happens in a registry, as server-sent events: `id:` is the revision, so that `Last-Event-ID` goes on without
 * a gap. A reader that does not keep up costs nothing: it is a place in the log, and reads from there when it can.
 */
import { RegistryError } from '../registry-client/registry-error.js'
import type { RegistryEvent } from '../registry-client/registry-words.js'
import type { RecordChange, RecordStore } from '../stores/records.js'
import { frame, type Heartbeats, sseBody, sseHeaders } from '../transports/sse.js'
import { type AgentDocument, collection, type HealthDocument, type InstanceDocument, readId } from './documents.js'
import type { RegistryLimits } from './registry-limits.js'

export interface WatchOptions {
  /** Go on behind this revision; 0: everything there is, then what comes. Absent: what comes from now on. */
  readonly after?: number
  readonly namespace?: string
  readonly name?: string
  /** The key that `maxWatchesPerCaller` counts the watch by. Absent: it counts for no caller. */
  readonly callerKey?: string
}

export interface WatchesDeps {
  readonly records: RecordStore
  readonly tail: EventTail
  readonly limits: Pick<RegistryLimits, 'maxWatches' | 'maxWatchesPerCaller'>
  readonly heartbeats: Heartbeats
  /** The store is in trouble: the stream ends, and its reader comes back to where it was. */
  readonly onFailure: (error: unknown) => void
}

/** Documents may be large, and a page is read in one piece. */
const pageSize = 20
/** Readers of the store at one time: those who are far behind wait for each other, and nobody else for them. */
const maxStoreReaders = 4

export class Watches {
  readonly #parts: WatchesDeps
  readonly #open = new Set<Watcher>()
  readonly #counts = new Map<string, number>()
  readonly #reading = new Semaphore(maxStoreReaders)

  constructor(parts: WatchesDeps) {
    this.#parts = parts
  }

  open(options: WatchOptions): Response {
    const { heartbeats, onFailure } = this.#parts
    this.#mustHaveRoom(options.callerKey)
    const watcher = new Watcher(this.#parts, this.#reading, options)
    this.#count(watcher, options.callerKey)
    const rest = watcher.texts()
    const first = rest.next()
    first.catch(() => undefined) // whoever reads the stream is told
    const body = sseBody({
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
    return new Response(body, { headers: sseHeaders })
  }

  close(): void {
    for (const each of [...this.#open]) each.stop()
  }

  #mustHaveRoom(callerKey: string | undefined): void {
    const { maxWatches, maxWatchesPerCaller } = this.#parts.limits
    if (this.#open.size >= maxWatches) throw new RegistryError('QUOTA', 'There are too many watches')
    if (callerKey !== undefined && (this.#counts.get(callerKey) ?? 0) >= maxWatchesPerCaller)
      throw new RegistryError('QUOTA', `${maxWatchesPerCaller} watches of one caller are the most there may be`)
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
  #hasNews = true
  #trouble: { readonly error: unknown } | undefined
  #wake: (() => void) | undefined

  constructor({ records, tail }: WatchesDeps, reading: Semaphore, options: WatchOptions) {
    this.#records = records
    this.#tail = tail
    this.#reading = reading
    this.#options = options
    this.#seen = options.after
    // Who begins with nothing misses no deletion.
    this.#isWhole = options.after !== 0
    this.#unfollow = tail.follow({
      onNews: () => {
        this.#hasNews = true
        this.#wake?.()
      },
      onTrouble: (error) => {
        this.#trouble = { error }
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
        if (this.#trouble) throw this.#trouble.error
        this.#hasNews = false
        const text = this.#fromTail() ?? (await this.#reading.take(() => this.#fromStore()))
        if (text !== '') yield text
        else if (!this.#hasNews && !this.#trouble && !this.#isStopped) await this.#news()
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
    return this.#begin(start) + this.#told(events)
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
      this.#hasNews = true
      return ready + frame(JSON.stringify({ type: 'reset' }), 0)
    }
    const text = this.#told(changes.map(tailEvent))
    if (changes.length === pageSize) this.#hasNews = true
    else {
      this.#isWhole = true
      // What was deleted last may be forgotten already: nothing of it is missing.
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

  #told(events: readonly TailEvent[]): string {
    const { namespace, name } = this.#options
    let told = ''
    for (const { revision, event, text } of events) {
      this.#seen = revision
      if (!event || !('namespace' in event)) continue
      if ((namespace === undefined || event.namespace === namespace) && (name === undefined || event.name === name))
        told += text
    }
    return told
  }

  /** Waits for the log to grow, or for the end. */
  #news(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve
    })
  }
}

/** Lets so many do something at one time; the others wait for their turn. */
class Semaphore {
  #free: number
  readonly #waiting: (() => void)[] = []

  constructor(most: number) {
    this.#free = most
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

export interface TailEvent {
  readonly revision: number
  /** Absent where there is nothing to tell. */
  readonly event: RegistryEvent | undefined
  readonly text: string
}

export interface TailFollower {
  onNews(): void
  /** Nobody knows what comes next. */
  onTrouble(error: unknown): void
}

const defaultLength = 1000

export class EventTail {
  readonly #length: number
  readonly #followers = new Set<TailFollower>()
  #events: TailEvent[] = []
  /** Everything behind this revision is here. Absent while nobody knows from where on that is so. */
  #from: number | undefined

  constructor(length = defaultLength) {
    this.#length = length
  }

  /** The newest revision that is known. */
  get head(): number | undefined {
    return this.#events.at(-1)?.revision ?? this.#from
  }

  /** All that came behind a revision, oldest first; absent when that is not known here. */
  after(revision: number): readonly TailEvent[] | undefined {
    const { head } = this
    if (head === undefined || this.#from === undefined || revision < this.#from || revision > head) return undefined
    return this.#events.slice(this.#events.findLastIndex((each) => each.revision <= revision) + 1)
  }

  /** Everything up to here was told. */
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

  /** What was told does not hold any more. */
  clear(): void {
    this.#events = []
    this.#from = undefined
  }

  fail(error: unknown): void {
    for (const each of [...this.#followers]) each.onTrouble(error)
  }

  follow(follower: TailFollower): () => void {
    this.#followers.add(follower)
    return () => this.#followers.delete(follower)
  }

  #wake(): void {
    for (const each of this.#followers) each.onNews()
  }
}

export function tailEvent(change: RecordChange): TailEvent {
  const { revision } = change
  const event = eventOf(change)
  return { revision, event, text: event ? frame(JSON.stringify(event), revision) : '' }
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
