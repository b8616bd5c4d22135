/**
 * The newest events of a registry, put into words once for all who watch. Whoever is further behind reads the store
 * until it is here.
 */
import type { RegistryEvent } from '../registry-client/registry-words.js'
import type { RecordChange } from '../stores/records.js'
import { frame } from '../transports/sse.js'
import { type AgentDocument, type HealthDocument, type InstanceDocument, readId } from './documents.js'

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

const usualLength = 1000

export class EventTail {
  readonly #length: number
  readonly #followers = new Set<TailFollower>()
  #events: TailEvent[] = []
  /** Everything behind this revision is here. Absent while nobody knows from where on that is so. */
  #from: number | undefined

  constructor(length = usualLength) {
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
    if (this.#from !== undefined) this.#events.push(tell(change))
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

export function tell(change: RecordChange): TailEvent {
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
