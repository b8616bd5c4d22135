/** The sizes of the tasks in a memory store, and the choice of tasks to evict. */
import { isInterrupted } from '../model/task.js'
import { isPending } from './memory-deliveries.js'
import type { Row } from './memory-row.js'

/** Evictable tasks, oldest first: a linked list, so that removing one takes constant time. */
export class RowList {
  size = 0
  oldest: Row | undefined
  #newest: Row | undefined

  /** Adds a row as the newest, unless it is there. A row is in one list at most. */
  add(row: Row): void {
    if (row.evictable === this) return
    row.evictable?.remove(row)
    row.evictable = this
    row.older = this.#newest
    if (this.#newest) this.#newest.newer = row
    else this.oldest = row
    this.#newest = row
    this.size += 1
  }

  remove(row: Row): void {
    if (row.older) row.older.newer = row.newer
    else this.oldest = row.newer
    if (row.newer) row.newer.older = row.older
    else this.#newest = row.older
    row.evictable = row.older = row.newer = undefined
    this.size -= 1
  }

  *[Symbol.iterator](): Iterator<Row> {
    for (let row = this.oldest; row; row = row.newer) yield row
  }
}

/** The tasks of one owner with one agent. */
export class OwnerShare {
  readonly agent: string
  readonly id: string
  tasks = 0
  bytes = 0
  readonly ended = new RowList()
  /** Tasks that wait for input. */
  readonly waiting = new RowList()
  readonly byBytes: RankedShare = { share: this, rank: 0, order: 0, place: undefined }
  readonly byEnded: RankedShare = { share: this, rank: 0, order: 0, place: undefined }

  constructor(agent: string, id: string) {
    this.agent = agent
    this.id = id
  }
}

interface RankedShare extends HeapEntry {
  readonly share: OwnerShare
}

/** The task that room is made for. `row` is undefined if the task does not exist yet. */
interface RoomRequest {
  readonly row: Row | undefined
  readonly agent: string
  readonly owner: string
}

interface RoomLimits {
  readonly maxBytes: number
  readonly maxEndedTasks: number
}

/** The number of tasks that are searched for one without pending webhooks. */
const maxSearched = 16

export class MemoryRoom {
  readonly #limits: RoomLimits
  readonly #shares = new Map<string, OwnerShare>()
  /** Owners with evictable tasks, by the size of all their tasks. */
  readonly #byBytes = new Heap<RankedShare>()
  /** Owners with ended tasks, by their number. */
  readonly #byEnded = new Heap<RankedShare>()
  #bytes = 0
  #reservedBytes = 0
  #evictableBytes = 0
  #ended = 0

  constructor(limits: RoomLimits) {
    this.#limits = limits
  }

  bytesOf(agent: string, owner: string): number {
    return this.#shares.get(`${agent}\n${owner}`)?.bytes ?? 0
  }

  /** The share that a new task counts in. */
  share(agent: string, owner: string): OwnerShare {
    const id = `${agent}\n${owner}`
    const share = this.#shares.get(id) ?? new OwnerShare(agent, id)
    if (share.tasks === 0) this.#shares.set(id, share)
    share.tasks += 1
    return share
  }

  /** Call with each change of a row. */
  update(row: Row, addedBytes: number): void {
    const { share } = row
    if (row.evictable) this.#evictableBytes -= row.bytes
    row.bytes += addedBytes
    share.bytes += addedBytes
    this.#bytes += addedBytes
    const isBusy = row.isRunnable || row.lease !== undefined
    if (row.endedMs !== undefined) {
      if (row.evictable !== share.ended) this.#ended += 1
      share.ended.add(row)
    } else if (!isBusy && row.state !== undefined && isInterrupted(row.state)) share.waiting.add(row)
    else row.evictable?.remove(row)
    if (row.evictable) this.#evictableBytes += row.bytes
    this.#rank(share)
  }

  remove(row: Row): void {
    const { share } = row
    this.#keep(row)
    share.bytes -= row.bytes
    this.#bytes -= row.bytes
    share.tasks -= 1
    if (share.tasks === 0) this.#shares.delete(share.id)
    this.#rank(share)
  }

  /**
   * Evicts tasks until there is room for a step of a task. Evicts none if that cannot make enough room, and none of owners that
   * hold less than the owner of the step: running tasks cannot be evicted, and must not displace the tasks of others.
   */
  make(bytes: number, step: RoomRequest, evict: (row: Row) => void): 'ok' | 'full' | 'too-large' {
    const { row, agent, owner } = step
    const { maxBytes } = this.#limits
    const needed = this.#bytes + this.#reservedBytes + bytes - maxBytes
    if (needed <= 0) return 'ok'
    if ((row?.bytes ?? 0) + bytes > maxBytes) return 'too-large'
    if (needed > this.#evictableBytes - (row?.evictable ? row.bytes : 0)) return 'full'
    if (row) this.#keep(row)
    const keptBytes = this.#bytes - needed
    const own = this.#shares.get(`${agent}\n${owner}`)
    for (let first = this.#byBytes.first; first && this.#bytes > keptBytes; first = this.#byBytes.first) {
      const { ended, waiting, bytes: held } = first.share
      if (own && first.share !== own && held < own.bytes) {
        if (row) this.update(row, 0)
        return 'full'
      }
      const found = firstDelivered(ended) ?? firstDelivered(waiting) ?? ended.oldest ?? waiting.oldest
      if (!found) break
      evict(found)
    }
    return 'ok'
  }

  /** Counts bytes as used and makes a task unevictable until `release`. */
  reserve(bytes: number, row: Row | undefined): void {
    this.#reservedBytes += bytes
    if (row) this.#keep(row)
  }

  /** Undoes `reserve`. */
  release(bytes: number, row: Row | undefined): void {
    this.#reservedBytes -= bytes
    if (row) this.update(row, 0)
  }

  /** The task to evict when there are too many ended tasks. */
  surplus(): Row | undefined {
    if (this.#ended <= this.#limits.maxEndedTasks) return undefined
    const ended = this.#byEnded.first?.share.ended
    return ended && (firstDelivered(ended) ?? ended.oldest)
  }

  /** Ended tasks of an agent, in the order in which they ended. */
  endedOf(agent: string): Row[] {
    const rows: Row[] = []
    for (const share of this.#shares.values()) if (share.agent === agent) rows.push(...share.ended)
    return rows.sort((one, other) => (one.endedMs ?? 0) - (other.endedMs ?? 0))
  }

  /** The row is not evictable, until its next update. */
  #keep(row: Row): void {
    const { evictable, share } = row
    if (!evictable) return
    evictable.remove(row)
    this.#evictableBytes -= row.bytes
    if (evictable === share.ended) this.#ended -= 1
    this.#rank(share)
  }

  #rank({ ended, waiting, bytes, byBytes, byEnded }: OwnerShare): void {
    if (ended.size + waiting.size > 0) this.#byBytes.set(byBytes, -bytes)
    else this.#byBytes.delete(byBytes)
    if (ended.size > 0) this.#byEnded.set(byEnded, -ended.size)
    else this.#byEnded.delete(byEnded)
  }
}

/** The first of the oldest tasks without pending webhooks. */
function firstDelivered(rows: RowList): Row | undefined {
  let searched = 0
  for (const row of rows) {
    if (!hasPendingWebhook(row)) return row
    searched += 1
    if (searched === maxSearched) return undefined
  }
  return undefined
}

function hasPendingWebhook({ cursors }: Row): boolean {
  if (cursors) for (const cursor of cursors.values()) if (isPending(cursor)) return true
  return false
}

/** Reports evicted tasks with pending webhooks: the first at once, then once a minute. */
export class EvictionNotices {
  readonly #label: string
  readonly #onNotice: (text: string) => void
  readonly #now: () => number
  #count = 0
  #lastMs = Number.NEGATIVE_INFINITY

  constructor(label: string, onNotice: (text: string) => void, now: () => number) {
    this.#label = label
    this.#onNotice = onNotice
    this.#now = now
  }

  evicted(row: Row): void {
    if (!hasPendingWebhook(row)) return
    this.#count += 1
    if (this.#now() - this.#lastMs >= 60_000) this.flush()
  }

  flush(): void {
    if (this.#count === 0) return
    const tasks = this.#count === 1 ? '1 task' : `${this.#count} tasks`
    this.#onNotice(`The ${this.#label} is full: it evicted ${tasks} with pending webhooks`)
    this.#count = 0
    this.#lastMs = this.#now()
  }
}

export interface HeapEntry {
  /** The lowest rank is first. */
  rank: number
  /** Among entries of one rank, the entry that was set first is first. */
  order: number
  /** Index in the heap; absent when the entry is in none. */
  place: number | undefined
}

/** A binary heap that knows the place of each entry, so that moving and removing one takes logarithmic time. */
export class Heap<Entry extends HeapEntry> {
  readonly #heap: Entry[] = []
  #count = 0

  get size(): number {
    return this.#heap.length
  }

  /** The entry with the lowest rank. */
  get first(): Entry | undefined {
    return this.#heap[0]
  }

  [Symbol.iterator](): Iterator<Entry> {
    return this.#heap.values()
  }

  /** Adds an entry, or moves it. */
  set(entry: Entry, rank: number): void {
    this.#count += 1
    entry.order = this.#count
    entry.rank = rank
    entry.place ??= this.#heap.push(entry) - 1
    this.#settle(entry, entry.place)
  }

  delete(entry: Entry): void {
    const { place } = entry
    if (place === undefined) return
    entry.place = undefined
    const last = this.#heap.pop()
    if (last && last !== entry) this.#settle(last, place)
  }

  #settle(entry: Entry, from: number): void {
    this.#sink(entry, this.#rise(entry, from))
  }

  #rise(entry: Entry, from: number): number {
    let place = from
    while (place > 0) {
      const parent = (place - 1) >> 1
      const above = this.#heap[parent]
      if (!above || !isBefore(entry, above)) break
      this.#put(above, place)
      place = parent
    }
    this.#put(entry, place)
    return place
  }

  #sink(entry: Entry, from: number): void {
    let place = from
    for (;;) {
      const left = this.#heap[2 * place + 1]
      const right = this.#heap[2 * place + 2]
      const below = left && right && isBefore(right, left) ? right : left
      if (below?.place === undefined || !isBefore(below, entry)) break
      const next = below.place
      this.#put(below, place)
      place = next
    }
    this.#put(entry, place)
  }

  #put(entry: Entry, place: number): void {
    this.#heap[place] = entry
    entry.place = place
  }
}

function isBefore(one: HeapEntry, other: HeapEntry): boolean {
  return one.rank < other.rank || (one.rank === other.rank && one.order < other.order)
}
