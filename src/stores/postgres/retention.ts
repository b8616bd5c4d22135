/** Retention (E-11): removes a limited number of tasks per call, oldest first. Concurrent replicas share the work. */
import { toStorable } from '../rows.js'
import type { Expired, Expiry } from '../store.js'
import type { Database } from './database.js'

export async function expire(database: Database, agent: string, expiry: Expiry): Promise<Expired> {
  const keys = await expireKeys(database, expiry.limit)
  const [row] = await database.query<[number]>('SELECT id FROM dragoman.agents WHERE name = $1', [toStorable(agent)])
  if (!row) return { tasks: 0, keys }
  const [number] = row
  let left = expiry.limit
  if (expiry.endedTasksMs !== undefined) left -= await removeEnded(database, number, expiry.endedTasksMs, left)
  if (expiry.maxEndedTasks !== undefined && left > 0)
    left -= await removeSurplus(database, number, expiry.maxEndedTasks, left)
  if (expiry.endedEventsMs !== undefined && left > 0) left -= await trim(database, number, expiry.endedEventsMs, left)
  await database.query('SELECT dragoman.sum_counts()')
  return { tasks: expiry.limit - left, keys }
}

async function removeEnded(database: Database, agent: number, afterMs: number, limit: number): Promise<number> {
  return await remove(
    database,
    `SELECT id FROM dragoman.tasks WHERE agent = $1 AND ended_ms < (SELECT dragoman.now_ms()) - $3
      ORDER BY ended_ms LIMIT $2 FOR UPDATE SKIP LOCKED`,
    [agent, limit, afterMs],
  )
}

async function removeSurplus(database: Database, agent: number, most: number, limit: number): Promise<number> {
  const [row] = await database.query<[number]>(
    `SELECT coalesce(sum(c.n), 0)::bigint FROM dragoman.counts c JOIN dragoman.scopes s ON s.id = c.scope
      WHERE s.agent = $1 AND c.state IN (2, 3, 4, 6)`,
    [agent],
  )
  const surplus = (row?.[0] ?? 0) - most
  if (surplus <= 0) return 0
  return await remove(
    database,
    `SELECT id FROM dragoman.tasks WHERE agent = $1 AND ended_ms IS NOT NULL ORDER BY ended_ms LIMIT $2 FOR UPDATE SKIP LOCKED`,
    [agent, Math.min(surplus, limit)],
  )
}

async function remove(database: Database, chosen: string, values: readonly unknown[]): Promise<number> {
  const [row] = await database.query<[number]>(
    `WITH chosen AS (${chosen}), ids AS (SELECT coalesce(array_agg(id), '{}') AS all_of_them FROM chosen)
      SELECT cardinality(all_of_them), dragoman.remove(all_of_them) FROM ids`,
    values,
  )
  return row?.[0] ?? 0
}

/** Removes events and keeps the snapshot. */
async function trim(database: Database, agent: number, afterMs: number, limit: number): Promise<number> {
  const [row] = await database.query<[number]>(
    `WITH chosen AS (
        SELECT t.id FROM dragoman.tasks t
        WHERE t.agent = $1 AND t.ended_ms < (SELECT dragoman.now_ms()) - $3
          AND EXISTS (SELECT FROM dragoman.events e WHERE e.task = t.id)
          -- Others are read from their events.
          AND EXISTS (SELECT FROM dragoman.snapshots p WHERE p.task = t.id AND p.in_log = 0)
        ORDER BY t.ended_ms LIMIT $2),
      gone AS (DELETE FROM dragoman.events WHERE task IN (SELECT id FROM chosen))
      SELECT count(*) FROM chosen`,
    [agent, limit, afterMs],
  )
  return row?.[0] ?? 0
}

/** Removes keys with their Message answers. Skips keys that a concurrent send takes again. */
async function expireKeys(database: Database, limit: number): Promise<number> {
  const [row] = await database.query<[number]>(
    `WITH gone AS (
        DELETE FROM dragoman.keys WHERE (scope, key) IN (
          SELECT scope, key FROM dragoman.keys WHERE until_ms <= (SELECT dragoman.now_ms()) LIMIT $1
          FOR UPDATE SKIP LOCKED)
        RETURNING task),
      answers AS (SELECT coalesce(array_agg(t.id), '{}') AS all_of_them FROM gone
        JOIN dragoman.tasks t ON t.id = gone.task WHERE t.visibility = 2)
      SELECT (SELECT count(*) FROM gone), dragoman.remove(all_of_them) FROM answers`,
    [limit],
  )
  return row?.[0] ?? 0
}
