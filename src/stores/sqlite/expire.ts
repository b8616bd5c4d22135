/**
 * Retention (E-11), a bounded number of rows at a time. Tasks are walked in the order in which they
 * were made; the walk goes on where the last sweep stopped, so that no index is needed for it.
 *
 * The newest row of `events` always stays: other processes notice changes by row ids that grow, and
 * SQLite would give the id of a deleted newest row to the next one.
 */
import type { Expiry } from '../store.js'
import { isTerminalNumber } from './rows.js'
import type { Session } from './session.js'

type OldRow = [id: number, scope: number, state: number, statusMs: number, visibility: number]
type KeyRow = [scope: number, key: string, task: number | null, visibility: number | null]

export class Sweeper {
  readonly #session: Session
  readonly #reached = new Map<number, number>()

  constructor(session: Session) {
    this.#session = session
  }

  sweep(agentName: string, expiry: Expiry): number {
    const { sql, names } = this.#session
    this.#expireKeys(expiry.limit)
    const agent = names.agent(agentName)
    if (agent === undefined) return 0
    const now = this.#session.now()
    const [newestEvent] = [sql.newestEvent.get() as [number, number] | undefined]
    let surplus = -1
    if (expiry.maxEndedTasks !== undefined) {
      this.#session.counts.write(sql)
      surplus = (sql.endedCount.get(agent) as [number])[0] - expiry.maxEndedTasks
    }
    // A surplus is taken from the oldest, so that walk starts at the beginning.
    const reached = surplus > 0 ? 0 : (this.#reached.get(agent) ?? 0)
    const rows = sql.oldTasks.all(agent, reached, expiry.limit) as OldRow[]
    this.#reached.set(agent, rows.length < expiry.limit ? 0 : (rows.at(-1)?.[0] ?? 0))
    let touched = 0
    for (const row of rows) {
      const [id, , state, statusMs, visibility] = row
      if (visibility !== 1 || !isTerminalNumber(state) || newestEvent?.[1] === id) continue
      const age = now - statusMs
      if (surplus > 0 || (expiry.endedTasksMs !== undefined && age > expiry.endedTasksMs)) {
        this.#remove(row)
        surplus -= 1
        touched += 1
      } else if (expiry.endedEventsMs !== undefined && age > expiry.endedEventsMs && sql.hasEvents.get(id)) {
        sql.deleteEvents.run(id)
        touched += 1
      }
    }
    return touched
  }

  #expireKeys(limit: number): void {
    const { sql } = this.#session
    for (const [scope, key, task, visibility] of sql.expiredKeys.all(this.#session.now(), limit) as KeyRow[]) {
      sql.deleteKey.run(scope, key)
      // A Message answer lives as long as its key.
      if (task !== null && visibility === 2) this.#remove([task, scope, -1, 0, 2])
    }
  }

  #remove([id, scope, state, , visibility]: OldRow): void {
    const { sql, counts } = this.#session
    sql.deleteTask.run(id)
    sql.deleteEvents.run(id)
    sql.deleteSnapshot.run(id)
    sql.deleteConfigsOf.run(id)
    sql.deleteOutboxOf.run(id)
    if (visibility === 1) counts.add(scope, state, -1)
  }
}
