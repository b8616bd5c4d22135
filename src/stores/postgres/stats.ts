/** What an operator wants to know: one statement, over indexes, and no more rows of each than are counted. */
import { toStorable } from '../storable-text.js'
import { type AgentStats, maxCounted } from '../store.js'
import type { Database } from './database.js'

type Row = [unheld: number, leaseEndsInMs: number | null, pending: number, overdueMs: number | null, dead: number]

/** Asked once: whoever collects asks again soon enough. */
export async function readStats(database: Database, agents: readonly string[]): Promise<readonly AgentStats[]> {
  const rows = await database.queryOnce<Row>(statsOf, [agents.map(toStorable), maxCounted])
  return rows.map(([unheldTasks, leaseEndsInMs, pendingCursors, overdueMs, deadLetters]) => ({
    unheldTasks,
    ...(leaseEndsInMs !== null && { leaseEndsInMs }),
    pendingCursors,
    ...(overdueMs !== null && overdueMs > 0 && { cursorOverdueMs: overdueMs }),
    deadLetters,
  }))
}

const statsOf = `WITH
    clock AS MATERIALIZED (SELECT dragoman.now_ms() AS now),
    buried AS (SELECT s.agent, count(*) AS n FROM (SELECT scope FROM dragoman.dead_letters LIMIT $2) d
      JOIN dragoman.scopes s ON s.id = d.scope GROUP BY s.agent)
  SELECT leases.unheld, leases.ends_in, lanes.pending, lanes.overdue, coalesce(buried.n, 0)
  FROM unnest($1::text[]) WITH ORDINALITY AS asked (name, place)
  CROSS JOIN clock
  LEFT JOIN dragoman.agents a ON a.name = asked.name
  LEFT JOIN buried ON buried.agent = a.id
  CROSS JOIN LATERAL (
    SELECT count(*) FILTER (WHERE t.lease_until <= clock.now) AS unheld,
      min(t.lease_until) FILTER (WHERE t.lease_until > clock.now) - clock.now AS ends_in
    FROM (SELECT lease_until FROM dragoman.tasks WHERE agent = a.id AND runnable LIMIT $2) t) leases
  CROSS JOIN LATERAL (
    SELECT count(*) AS pending, clock.now - min(l.due_ms) AS overdue
    FROM (SELECT due_ms FROM dragoman.lanes WHERE agent = a.id AND due_ms IS NOT NULL
      ORDER BY due_ms LIMIT $2) l) lanes
  ORDER BY asked.place`
