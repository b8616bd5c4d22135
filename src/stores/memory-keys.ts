/** Idempotency keys of the memory store. */
import type { Row } from './memory-row.js'
import type { IdempotencyKey, KeyedSend, Scope } from './store.js'

interface KeyEntry extends KeyedSend {
  readonly untilMs: number
}

/** Keys of evicted tasks that are kept at most. */
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

  take(row: Row, { key, digest, ttlMs }: IdempotencyKey, seq: number, now: number): void {
    const id = keyId({ agent: row.key.agent, tenant: row.tenant, owner: row.owner }, key)
    this.#entries.set(id, { taskId: row.key.id, digest, seq, untilMs: now + ttlMs })
    this.#orphans.delete(id)
    row.idempotencyKeys ??= []
    row.idempotencyKeys.push(id)
  }

  forget(row: Row): void {
    for (const id of this.#keysOf(row)) this.#entries.delete(id)
  }

  /** The task is evicted. Its keys stay until they expire, so that a repeated send does not run a second time (E-10). */
  orphan(row: Row): void {
    for (const id of this.#keysOf(row)) this.#orphans.add(id)
    row.idempotencyKeys = undefined
    if (this.#orphans.size <= maxOrphans) return
    for (const id of this.#orphans) {
      // A tenth at once: finding the first element of a set visits those that were deleted before it.
      if (this.#orphans.size <= maxOrphans * 0.9) return
      this.#orphans.delete(id)
      this.#entries.delete(id)
    }
  }

  /** A key that expired may belong to a newer task. */
  #keysOf({ key, idempotencyKeys = [] }: Row): readonly string[] {
    return idempotencyKeys.filter((id) => this.#entries.get(id)?.taskId === key.id)
  }

  /** Removes keys of an agent that have expired, at most so many; gives the ids of their tasks. */
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
