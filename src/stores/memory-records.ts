/** Records of the memory store. */
import type {
  PutOptions,
  RecordChange,
  RecordExpiry,
  RecordPage,
  RecordStore,
  StoredRecord,
  WriteOptions,
  WriteOutcome,
} from './records.js'
import { Watchers } from './watchers.js'

interface Row {
  readonly revision: number
  /** Absent in tombstones. */
  readonly value?: unknown
  readonly writtenMs: number
  untilMs: number
}

interface Collection {
  readonly rows: Map<string, Row>
  /** All writes in order. Readers skip writes that a later one of the same record replaced. */
  log: { readonly revision: number; readonly id: string }[]
  head: number
  floor: number
}

export class MemoryRecords implements RecordStore {
  readonly #now: () => number
  readonly #watchers: Watchers
  readonly #collections = new Map<string, Collection>()

  constructor(now: () => number, watchers = new Watchers()) {
    this.#now = now
    this.#watchers = watchers
  }

  async get(collection: string, id: string): Promise<StoredRecord | undefined> {
    const row = this.#live(collection, id)
    return row && { id, revision: row.revision, value: row.value }
  }

  async put(collection: string, id: string, value: unknown, options: PutOptions = {}): Promise<WriteOutcome> {
    const { expect, ttlMs = Number.POSITIVE_INFINITY } = options
    const present = this.#live(collection, id)?.revision ?? 0
    if (expect !== undefined && expect !== present) return { result: 'conflict', revision: present }
    return { result: 'ok', revision: this.#write(collection, id, { value, untilMs: this.#now() + ttlMs }) }
  }

  async delete(collection: string, id: string, { expect }: WriteOptions = {}): Promise<WriteOutcome> {
    const present = this.#live(collection, id)?.revision ?? 0
    if (expect !== undefined && expect !== present) return { result: 'conflict', revision: present }
    if (present === 0) return { result: 'ok', revision: 0 }
    return { result: 'ok', revision: this.#bury(collection, id) }
  }

  async renew(collection: string, id: string, ttlMs: number): Promise<boolean> {
    const row = this.#live(collection, id)
    if (!row) return false
    row.untilMs = this.#now() + ttlMs
    return true
  }

  async readAfter(collection: string, revision: number, limit: number): Promise<RecordPage> {
    const found = this.#collections.get(collection)
    if (!found) return { changes: [], head: 0, floor: 0 }
    const changes: RecordChange[] = []
    for (let place = firstAfter(found.log, revision); place < found.log.length && changes.length < limit; place++) {
      const write = found.log[place]
      const row = write && found.rows.get(write.id)
      if (!row || row.revision !== write.revision) continue
      changes.push({ id: write.id, revision: row.revision, ...('value' in row && { value: row.value }) })
    }
    return { changes, head: found.head, floor: found.floor }
  }

  async expire(collection: string, { limit, tombstonesMs }: RecordExpiry): Promise<number> {
    const found = this.#collections.get(collection)
    if (!found) return 0
    const now = this.#now()
    let touched = 0
    for (const [id, row] of [...found.rows]) {
      if (touched >= limit) break
      if ('value' in row) {
        if (row.untilMs > now) continue
        this.#bury(collection, id)
      } else {
        if (tombstonesMs === undefined || row.writtenMs > now - tombstonesMs) continue
        found.rows.delete(id)
        found.floor = Math.max(found.floor, row.revision)
      }
      touched += 1
    }
    return touched
  }

  watch(collection: string, onChange: () => void): () => void {
    return this.#watchers.watchCollection(collection, onChange)
  }

  #live(collection: string, id: string): Row | undefined {
    const row = this.#collections.get(collection)?.rows.get(id)
    return row && 'value' in row && row.untilMs > this.#now() ? row : undefined
  }

  #bury(collection: string, id: string): number {
    return this.#write(collection, id, { untilMs: Number.POSITIVE_INFINITY })
  }

  #write(name: string, id: string, content: { readonly value?: unknown; readonly untilMs: number }): number {
    let collection = this.#collections.get(name)
    if (!collection) {
      collection = { rows: new Map(), log: [], head: 0, floor: 0 }
      this.#collections.set(name, collection)
    }
    collection.head += 1
    const revision = collection.head
    collection.rows.set(id, { revision, writtenMs: this.#now(), ...content })
    collection.log.push({ revision, id })
    const { rows, log } = collection
    if (log.length > 2 * rows.size + 100)
      collection.log = log.filter((write) => rows.get(write.id)?.revision === write.revision)
    this.#watchers.collection(name)
    return revision
  }
}

/** The index of the first write after a revision, by binary search. */
function firstAfter(log: readonly { readonly revision: number }[], revision: number): number {
  let [low, high] = [0, log.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((log[middle]?.revision ?? 0) > revision) high = middle
    else low = middle + 1
  }
  return low
}
