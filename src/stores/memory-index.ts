import type { IdempotencyKey, KeyedSend, Scope, TaskKey } from './store.js'
import { withinBudget } from './views.js'

/**
 * The tasks of one scope in the order of lists, as a sorted array. A status change makes a task the newest, so adding is
 * nearly always a push. Filters scan the array; the store limits the number of ended tasks.
 */
interface Listed {
  readonly serial: number
  readonly statusTimeMs: number
}

interface PageQuery<Row> {
  readonly matches: ((row: Row) => boolean) | undefined
  readonly fromMs: number | undefined
  readonly after: string | undefined
  readonly limit: number
  /** The maximum size of a page. */
  readonly budget: number | undefined
  readonly sizeOf: (row: Row) => number
}

export class ListIndex<Row extends Listed> {
  /** Oldest first, from `#head` on. Removed rows before it are cut off from time to time. */
  #rows: (Row | undefined)[] = []
  #head = 0

  add(row: Row): void {
    const place = this.#placeOf(row.statusTimeMs, row.serial)
    if (place === this.#rows.length) this.#rows.push(row)
    else this.#rows.splice(place, 0, row)
  }

  remove(row: Row): void {
    const place = this.#placeOf(row.statusTimeMs, row.serial)
    if (this.#rows[place] !== row) return
    if (place !== this.#head) {
      this.#rows.splice(place, 1)
      return
    }
    // Stores remove the oldest rows first. Moving thousands of rows for each was measurable.
    this.#rows[place] = undefined
    this.#head += 1
    if (this.#head < 1024 || this.#head < this.#rows.length / 2) return
    this.#rows = this.#rows.slice(this.#head)
    this.#head = 0
  }

  page({ matches, fromMs, after, limit, budget, sizeOf }: PageQuery<Row>): {
    rows: readonly Row[]
    total: number
    next?: string
  } {
    const first = fromMs === undefined ? this.#head : this.#placeOf(fromMs, 0)
    const [afterMs, afterSerial] = after === undefined ? [Number.POSITIVE_INFINITY, 0] : parsePosition(after)
    const end = this.#placeOf(afterMs, afterSerial)
    const found: Row[] = []
    let isMore = false
    for (let place = end - 1; place >= first && !isMore; place--) {
      const row = this.#rows[place] as Row // place is within the array
      if (matches && !matches(row)) continue
      if (found.length < limit) found.push(row)
      else isMore = true
    }
    const rows = withinBudget(found, budget, sizeOf)
    if (rows.length < found.length) isMore = true
    const total = matches ? this.#count(first, matches) : this.#rows.length - first
    const last = rows.at(-1)
    return { rows, total, ...(isMore && last && { next: `${last.statusTimeMs}.${last.serial}` }) }
  }

  #count(first: number, matches: (row: Row) => boolean): number {
    let count = 0
    for (let place = first; place < this.#rows.length; place++) if (matches(this.#rows[place] as Row)) count += 1
    return count
  }

  /** The first place whose row is not before the given time and serial. */
  #placeOf(timeMs: number, serial: number): number {
    let low = this.#head
    let high = this.#rows.length
    const newest = this.#rows[high - 1]
    if (!newest || isBefore(newest, timeMs, serial)) return high
    while (low < high) {
      const middle = (low + high) >>> 1
      if (isBefore(this.#rows[middle] as Row, timeMs, serial)) low = middle + 1
      else high = middle
    }
    return low
  }
}

/** The lists of all scopes, by the id of the scope. */
export class ListIndexes<Row extends Listed> extends Map<string, ListIndex<Row>> {
  getOrAdd(id: string): ListIndex<Row> {
    const index = this.get(id) ?? new ListIndex<Row>()
    this.set(id, index)
    return index
  }
}

function isBefore(row: Listed, timeMs: number, serial: number): boolean {
  return row.statusTimeMs < timeMs || (row.statusTimeMs === timeMs && row.serial < serial)
}

function parsePosition(position: string): readonly [number, number] {
  const [time, serial] = position.split('.')
  return [Number(time), Number(serial)]
}

/** A task that holds idempotency keys. */
interface KeyHolder extends Omit<Scope, 'agent'> {
  readonly key: TaskKey
  idempotencyKeys: string[] | undefined
}

/** All rows, by agent and task id: making one text of both for each access took a twentieth of the time of a send. */
export class RowMap<Row extends { readonly key: TaskKey }> {
  readonly #agents = new Map<string, Map<string, Row>>()

  get({ agent, id }: TaskKey): Row | undefined {
    return this.#agents.get(agent)?.get(id)
  }

  set(row: Row): void {
    const rows = this.#agents.get(row.key.agent) ?? new Map<string, Row>()
    rows.set(row.key.id, row)
    this.#agents.set(row.key.agent, rows)
  }

  delete({ key: { agent, id } }: Row): void {
    const rows = this.#agents.get(agent)
    rows?.delete(id)
    if (rows?.size === 0) this.#agents.delete(agent)
  }

  *values(): Generator<Row, void, void> {
    for (const rows of this.#agents.values()) yield* rows.values()
  }
}

interface KeyEntry extends KeyedSend {
  readonly untilMs: number
}

/** The maximum number of keys of evicted tasks. */
const maxOrphans = 40_000

export class MemoryKeys {
  readonly #entries = new Map<string, KeyEntry>()
  /** Keys of evicted tasks, oldest first. */
  readonly #orphans = new Set<string>()

  find(scope: Scope, key: string, now: number): KeyedSend | undefined {
    const entry = this.#entries.get(keyId(scope, key))
    if (!entry || entry.untilMs <= now) return undefined
    return { taskId: entry.taskId, digest: entry.digest, seq: entry.seq }
  }

  take(row: KeyHolder, { key, digest, ttlMs }: IdempotencyKey, seq: number, now: number): void {
    const id = keyId({ agent: row.key.agent, tenant: row.tenant, owner: row.owner }, key)
    this.#entries.set(id, { taskId: row.key.id, digest, seq, untilMs: now + ttlMs })
    this.#orphans.delete(id)
    row.idempotencyKeys ??= []
    row.idempotencyKeys.push(id)
  }

  forget(row: KeyHolder): void {
    if (row.idempotencyKeys) for (const id of this.#keysOf(row)) this.#entries.delete(id)
  }

  /** Keeps the keys of an evicted task until they expire, so that a repeated send does not run again (E-10). */
  orphan(row: KeyHolder): void {
    if (!row.idempotencyKeys) return
    for (const id of this.#keysOf(row)) this.#orphans.add(id)
    row.idempotencyKeys = undefined
    if (this.#orphans.size <= maxOrphans) return
    for (const id of this.#orphans) {
      // A tenth at once: finding the first element of a set visits the deleted ones before it.
      if (this.#orphans.size <= maxOrphans * 0.9) return
      this.#orphans.delete(id)
      this.#entries.delete(id)
    }
  }

  /** The keys of a task. An expired key may belong to a newer task. */
  #keysOf({ key, idempotencyKeys = [] }: KeyHolder): readonly string[] {
    return idempotencyKeys.filter((id) => this.#entries.get(id)?.taskId === key.id)
  }

  /** Removes at most `limit` expired keys of an agent. Returns the ids of their tasks. */
  expire(agent: string, limit: number, now: number): readonly string[] {
    const taskIds: string[] = []
    for (const [id, entry] of this.#entries) {
      if (taskIds.length >= limit) break
      if (entry.untilMs > now || !id.startsWith(`${agent}\n`)) continue
      this.#entries.delete(id)
      this.#orphans.delete(id)
      taskIds.push(entry.taskId)
    }
    return taskIds
  }
}

function keyId({ agent, tenant, owner }: Scope, key: string): string {
  return `${agent}\n${tenant}\n${owner}\n${key}`
}
