/** Retention (E-11): removes a limited number of tasks per call, oldest first, by an index of its own. */
import { noState } from '../rows.js'
import type { Expired, Expiry } from '../store.js'
import type { Session } from './session.js'

type EndedRow = [id: number, scope: number, state: number, statusMs: number, counted: number]
type KeyRow = [
  scope: number,
  key: string,
  ...task: [id: number, visibility: number, scope: number, counted: number] | [null, null, null, null],
]

interface Counted {
  readonly scope: number
  readonly state: number
  readonly bytes: number
}

const forEver = Number.MAX_SAFE_INTEGER

export class Sweeper {
  readonly #session: Session
  /** By agent: events of tasks that ended before this time are removed already. */
  readonly #trimmedTo = new Map<number, number>()

  constructor(session: Session) {
    this.#session = session
  }

  sweep(agentName: string, expiry: Expiry): Expired {
    const { sql, names, now } = this.#session
    const keys = this.#expireKeys(expiry.limit)
    const agent = names.agent(agentName)
    if (agent === undefined) return { tasks: 0, keys }
    let left = expiry.limit
    const remove = (beforeMs: number, limit: number) => {
      const rows = sql.endedTasks.all(agent, 0, beforeMs, limit) as EndedRow[]
      for (const [id, scope, state, , bytes] of rows) this.#remove(id, { scope, state, bytes })
      left -= rows.length
    }
    if (expiry.endedTasksMs !== undefined) remove(now() - expiry.endedTasksMs, left)
    if (expiry.maxEndedTasks !== undefined) {
      this.#session.counts.write(sql)
      const surplus = (sql.endedCount.get(agent) as [number])[0] - expiry.maxEndedTasks
      if (surplus > 0 && left > 0) remove(forEver, Math.min(surplus, left))
    }
    if (expiry.endedEventsMs !== undefined && left > 0) left -= this.#trim(agent, now() - expiry.endedEventsMs, left)
    return { tasks: expiry.limit - left, keys }
  }

  #trim(agent: number, beforeMs: number, limit: number): number {
    const { sql } = this.#session
    const rows = sql.endedTasks.all(agent, this.#trimmedTo.get(agent) ?? 0, beforeMs, limit) as EndedRow[]
    let trimmed = 0
    for (const [id, , , statusMs] of rows) {
      trimmed += sql.trimEvents.run(id).changes > 0 ? 1 : 0
      this.#trimmedTo.set(agent, statusMs)
    }
    return trimmed
  }

  #expireKeys(limit: number): number {
    const { sql, now } = this.#session
    const rows = sql.expiredKeys.all(now(), limit) as KeyRow[]
    for (const [scope, key, task, visibility, taskScope, bytes] of rows) {
      sql.deleteKey.run(scope, key)
      // A Message answer is removed with its key.
      if (task !== null && visibility === 2) this.#remove(task, { scope: taskScope, state: noState, bytes })
    }
    return rows.length
  }

  #remove(id: number, { scope, state, bytes }: Counted): void {
    const { sql, counts } = this.#session
    sql.deleteTask.run(id)
    sql.deleteEvents.run(id)
    sql.deleteSnapshot.run(id)
    sql.deleteCursorsOf.run(id)
    sql.deleteDeadLettersOf.run(id)
    sql.deleteKeysOf.run(id)
    counts.add(scope, state, -1, -bytes)
  }
}
