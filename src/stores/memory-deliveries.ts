/** Push configs, delivery cursors and dead letters of the memory store. */
import { Heap } from './heap.js'
import { type Cursor, isPending, type Row } from './memory-row.js'
import {
  type AgentStats,
  type ClaimedCursor,
  type ClaimRequest,
  type CursorClaim,
  type CursorSettlement,
  type DeadLetter,
  type DeadLetterQuery,
  isSameConfig,
  maxCounted,
  type NewDeadLetter,
  type NewPushConfig,
  type StoredPushConfig,
} from './store.js'

/** The delivery progress of one webhook. `at`: the time of a dead letter, in milliseconds since 1970. */
export interface DeliveryProgress {
  readonly seq: number
  readonly attempts: number
  readonly dead: readonly (NewDeadLetter & { readonly at: number })[]
}

export class MemoryDeliveries {
  /** Cursors with events to deliver, by agent, waiting or held. */
  readonly #pending = new Map<string, Heap<Cursor>>()
  readonly #dead = new Map<string, DeadLetter>()
  #count = 0

  /** `seq`: the position of a new cursor. */
  put(row: Row, { maxConfigs, ...push }: NewPushConfig, seq: number, now: number): 'ok' | 'full' {
    const { id } = push.config
    const cursor = row.cursors?.get(id)
    if (cursor) {
      if (isSameConfig(cursor.push, push)) return 'ok'
      cursor.push = push
      cursor.fencingToken += 1
      cursor.attempts = 0
      this.#free(cursor, now)
      return 'ok'
    }
    if ((row.cursors?.size ?? 0) >= maxConfigs) return 'full'
    row.cursors ??= new Map()
    const begun = { attempts: 0, fencingToken: 0, leaseOwner: undefined, rank: 0, order: 0, place: undefined }
    row.cursors.set(id, { row, push, seq, ...begun })
    return 'ok'
  }

  /** Makes cursors due after new events. True if one was not due before. */
  mark(cursors: Iterable<Cursor>, now: number): boolean {
    let isAny = false
    for (const cursor of cursors) {
      if (isPending(cursor)) continue
      this.#pendingOf(cursor).set(cursor, now)
      isAny = true
    }
    return isAny
  }

  claim({ agents, lease, limit }: ClaimRequest, now: number): CursorClaim {
    const queues = agents.flatMap((agent) => this.#pending.get(agent) ?? [])
    const cursors: ClaimedCursor[] = []
    for (
      let cursor = firstOf(queues);
      cursor && cursor.rank <= now && cursors.length < limit;
      cursor = firstOf(queues)
    ) {
      cursor.fencingToken += 1
      cursor.leaseOwner = lease.owner
      // Due again when the lease ends.
      this.#pendingOf(cursor).set(cursor, now + lease.ttlMs)
      cursors.push({
        key: cursor.row.key,
        push: cursor.push,
        seq: cursor.seq,
        attempts: cursor.attempts,
        fencingToken: cursor.fencingToken,
      })
    }
    const next = firstOf(queues)
    return { cursors, ...(next && { nextInMs: Math.max(0, next.rank - now) }) }
  }

  settle(
    cursor: Cursor | undefined,
    { fencingToken, seq, attempts, dead = [], next }: CursorSettlement,
    now: number,
  ): boolean {
    if (cursor?.fencingToken !== fencingToken) return false
    for (const each of dead) this.#addDeadLetter(cursor, each, now)
    cursor.seq = Math.max(cursor.seq, seq)
    cursor.attempts = attempts
    if (next === 'release') this.#free(cursor, now)
    else if ('retryInMs' in next) this.#free(cursor, now + next.retryInMs)
    else this.#pendingOf(cursor).set(cursor, now + next.holdMs)
    return true
  }

  /** Sets the saved progress of a cursor, if there is any, and makes the cursor due now if it is pending. */
  restore(cursor: Cursor, progress: DeliveryProgress | undefined, now: number): void {
    if (progress) {
      for (const { at, ...each } of progress.dead) this.#addDeadLetter(cursor, each, at)
      cursor.seq = Math.max(cursor.seq, progress.seq)
      cursor.attempts = progress.attempts
    }
    this.#free(cursor, now)
  }

  #addDeadLetter({ row, push }: Cursor, buried: NewDeadLetter, timeMs: number): void {
    const { key, tenant, owner } = row
    this.#count += 1
    const id = String(this.#count)
    this.#dead.set(id, { id, key, tenant, owner, configId: push.config.id, timeMs, ...buried })
  }

  /** Removes the configs of a task, or one of them, with cursors and dead letters. */
  remove(row: Row, configId?: string): void {
    // Without configs there are no dead letters.
    if (!row.cursors?.size) return
    for (const cursor of row.cursors.values()) {
      if (configId !== undefined && cursor.push.config.id !== configId) continue
      this.#pendingOf(cursor).delete(cursor)
      row.cursors.delete(cursor.push.config.id)
      // The holder of a claim loses it.
      cursor.fencingToken += 1
    }
    for (const { id, key, configId: of } of this.#dead.values()) {
      if (key.agent !== row.key.agent || key.id !== row.key.id) continue
      if (configId === undefined || of === configId) this.#dead.delete(id)
    }
  }

  owners(): Set<string> {
    const owners = new Set<string>()
    for (const { leaseOwner } of this.#allPending()) if (leaseOwner !== undefined) owners.add(leaseOwner)
    return owners
  }

  /** Ends the claims of an owner. Returns the agents of their cursors. */
  disown(owner: string, now: number): Set<string> {
    const agents = new Set<string>()
    for (const cursor of this.#allPending()) {
      if (cursor.leaseOwner !== owner) continue
      cursor.fencingToken += 1
      this.#free(cursor, now)
      agents.add(cursor.row.key.agent)
    }
    return agents
  }

  deadLetter(id: string): DeadLetter | undefined {
    return this.#dead.get(id)
  }

  deadLetters({ agents, tenant, owner, taskId, limit, afterId = '0' }: DeadLetterQuery): readonly DeadLetter[] {
    const matches = (each: DeadLetter) =>
      Number(each.id) > Number(afterId) &&
      (agents === undefined || agents.includes(each.key.agent)) &&
      (tenant === undefined || each.tenant === tenant) &&
      (owner === undefined || each.owner === owner) &&
      (taskId === undefined || each.key.id === taskId)
    return [...this.#dead.values()].filter(matches).slice(0, limit)
  }

  deleteDeadLetter(id: string): void {
    this.#dead.delete(id)
  }

  stats(agent: string, now: number): Pick<AgentStats, 'pendingCursors' | 'cursorOverdueMs' | 'deadLetters'> {
    const { size: pendingCursors, first } = this.#pending.get(agent) ?? { size: 0, first: undefined }
    const firstMs = first?.rank ?? now
    let deadLetters = 0
    for (const { key } of this.#dead.values()) if (key.agent === agent) deadLetters += 1
    return {
      pendingCursors: Math.min(pendingCursors, maxCounted),
      ...(firstMs < now && { cursorOverdueMs: now - firstMs }),
      deadLetters: Math.min(deadLetters, maxCounted),
    }
  }

  /** Ends a claim. The cursor is due at the given time if there are events to deliver. */
  #free(cursor: Cursor, dueMs: number): void {
    cursor.leaseOwner = undefined
    if (cursor.row.seq > cursor.seq) this.#pendingOf(cursor).set(cursor, dueMs)
    else this.#pendingOf(cursor).delete(cursor)
  }

  #pendingOf({ row }: Cursor): Heap<Cursor> {
    const { agent } = row.key
    const queue = this.#pending.get(agent) ?? new Heap<Cursor>()
    this.#pending.set(agent, queue)
    return queue
  }

  /** A copy: the caller may move cursors while it iterates. */
  #allPending(): readonly Cursor[] {
    return [...this.#pending.values()].flatMap((queue) => [...queue])
  }
}

/** The cursor that is due first. There are few agents, so it looks at each queue. */
function firstOf(queues: readonly Heap<Cursor>[]): Cursor | undefined {
  let found: Cursor | undefined
  for (const { first } of queues) if (first && (!found || first.rank < found.rank)) found = first
  return found
}

/** Push configs of one task, by id. */
export function configsOf(
  row: Row | undefined,
  { limit, afterId }: { readonly limit?: number; readonly afterId?: string },
): readonly StoredPushConfig[] {
  return Array.from(row?.cursors?.values() ?? [], ({ push }) => push)
    .sort((a, b) => (a.config.id < b.config.id ? -1 : 1))
    .filter(({ config }) => afterId === undefined || config.id > afterId)
    .slice(0, limit)
}
