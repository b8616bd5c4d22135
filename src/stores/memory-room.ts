/** The sizes of the tasks in a memory store, and the choice of tasks to evict. */
import { isInterrupted } from '../model/task.js'
import { Heap } from './heap.js'
import { isPending, OwnerShare, type RankedShare, type Row, type RowList } from './memory-row.js'

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

  /** Whether there is room without evicting a task. */
  has(bytes: number): boolean {
    return this.#bytes + this.#reservedBytes + bytes <= this.#limits.maxBytes
  }

  /**
   * Evicts tasks until there is room for a step of a task. Evicts none if that cannot make enough room, and none of owners that
   * hold less than the owner of the step: running tasks cannot be evicted, and must not displace the tasks of others.
   */
  make(bytes: number, step: RoomRequest, evict: (row: Row) => void): 'ok' | 'full' | 'too-large' {
    const { row, agent, owner } = step
    const { maxBytes } = this.#limits
    if (this.has(bytes)) return 'ok'
    const needed = this.#bytes + this.#reservedBytes + bytes - maxBytes
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
  let row = rows.oldest
  for (let searched = 0; row && searched < maxSearched; searched++) {
    if (!hasPendingWebhook(row)) return row
    row = row.newer
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
