/** Idempotency keys of the memory store. */
import type { Row } from './memory-row.js'
import type { IdempotencyKey, KeyedSend, Scope } from './store.js'

interface KeyEntry extends KeyedSend {
  readonly untilMs: number
}

export class MemoryKeys {
  readonly #entries = new Map<string, KeyEntry>()

  find(scope: Scope, key: string, now: number): KeyedSend | undefined {
    const entry = this.#entries.get(keyId(scope, key))
    if (!entry || entry.untilMs <= now) return undefined
    return { taskId: entry.taskId, digest: entry.digest, seq: entry.seq }
  }

  take(row: Row, { key, digest, ttlMs }: IdempotencyKey, seq: number, now: number): void {
    const id = keyId({ agent: row.key.agent, tenant: row.tenant, owner: row.owner }, key)
    this.#entries.set(id, { taskId: row.key.id, digest, seq, untilMs: now + ttlMs })
    row.idempotencyKeys ??= []
    row.idempotencyKeys.push(id)
  }

  forget({ idempotencyKeys }: Row): void {
    if (idempotencyKeys) for (const id of idempotencyKeys) this.#entries.delete(id)
  }

  /** Removes keys of an agent that have expired, at most so many; gives the ids of their tasks. */
  expire(agent: string, limit: number, now: number): readonly string[] {
    const taskIds: string[] = []
    for (const [id, entry] of this.#entries) {
      if (taskIds.length >= limit) break
      if (entry.untilMs > now || !id.startsWith(`${agent}\n`)) continue
      this.#entries.delete(id)
      taskIds.push(entry.taskId)
    }
    return taskIds
  }
}

function keyId({ agent, tenant, owner }: Scope, key: string): string {
  return `${agent}\n${tenant}\n${owner}\n${key}`
}
