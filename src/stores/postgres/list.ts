/**
 * Lists and stats.
 *
 * The index of lists begins with the state. A list without a state filter merges the newest tasks of each state: at most
 * eight short range reads, however many tasks there are. Totals come from `counts`; only filters by time or context
 * count index entries.
 */
import { taskStates } from '../../model/task.js'
import { stateNumber, toStorable } from '../rows.js'
import type { ListPage, ListQuery } from '../store.js'
import { type AgentStats, maxCounted } from '../store.js'
import { withinBudget } from '../views.js'
import type { Database, Names } from './database.js'
import { measure, readViews } from './reads.js'

type Place = [id: number, statusMs: number]

export async function listTasks(
  { database, names }: { readonly database: Database; readonly names: Names },
  query: ListQuery,
): Promise<ListPage> {
  const scope = await names.findScope(query)
  if (scope === undefined) return { tasks: [], total: 0 }
  const [places, total] = await Promise.all([findPlaces(database, scope, query), count(database, scope, query)])
  const ids = places.slice(0, query.limit).map(([id]) => id)
  const measured = await measure(database, 'unnest($3::bigint[]) WITH ORDINALITY AS w (id, place)', [ids], query)
  const page = withinBudget(measured, query.maxBytes, ({ bytes }) => bytes)
  const tasks = await readViews(database, page, query)
  const shown = new Set(page.map(({ row }) => row[0]))
  const last = places.findLast(([id]) => shown.has(id))
  return { tasks, total, ...(places.length > page.length && last && { next: `${last[1]}.${last[0]}` }) }
}

const pageByState = `SELECT p.id, p.status_ms FROM unnest($2::smallint[]) AS s (state) CROSS JOIN LATERAL (
    SELECT id, status_ms FROM dragoman.tasks
    WHERE scope = $1 AND state = s.state AND visibility = 1 AND status_ms >= $3 AND (status_ms, id) < ($4, $5)
    ORDER BY status_ms DESC, id DESC LIMIT $6) p
  ORDER BY p.status_ms DESC, p.id DESC LIMIT $6`

const pageByContext = `SELECT id, status_ms FROM dragoman.tasks
  WHERE scope = $1 AND context = $7 AND visibility = 1 AND status_ms >= $3 AND (status_ms, id) < ($4, $5)
    AND state = ANY($2::smallint[])
  ORDER BY status_ms DESC, id DESC LIMIT $6`

async function findPlaces(database: Database, scope: number, query: ListQuery): Promise<Place[]> {
  const { contextId, statusTimeFromMs = 0, limit } = query
  const values = [scope, statesOf(query), statusTimeFromMs, ...bound(query), limit + 1]
  return contextId === undefined
    ? await database.query<Place>(pageByState, values)
    : await database.query<Place>(pageByContext, [...values, toStorable(contextId)])
}

async function count(database: Database, scope: number, query: ListQuery): Promise<number> {
  const { contextId, statusTimeFromMs } = query
  const states = statesOf(query)
  const [sql, values]: [string, unknown[]] =
    contextId !== undefined
      ? [countByContext, [scope, states, statusTimeFromMs ?? 0, toStorable(contextId)]]
      : statusTimeFromMs !== undefined
        ? [countByState, [scope, states, statusTimeFromMs]]
        : [sumOfCounts, [scope, states]]
  const [row] = await database.query<[number]>(sql, values)
  return row?.[0] ?? 0
}

const sumOfCounts = `SELECT coalesce(sum(n), 0)::bigint FROM dragoman.counts
  WHERE scope = $1 AND state = ANY($2::smallint[])`

const countByState = `SELECT count(*) FROM dragoman.tasks
  WHERE scope = $1 AND state = ANY($2::smallint[]) AND visibility = 1 AND status_ms >= $3`

const countByContext = `SELECT count(*) FROM dragoman.tasks
  WHERE scope = $1 AND context = $4 AND visibility = 1 AND status_ms >= $3 AND state = ANY($2::smallint[])`

function statesOf({ state }: ListQuery): readonly number[] {
  return state === undefined ? taskStates.map((_, number) => number) : [stateNumber(state)]
}

function bound({ after }: ListQuery): readonly [number, number] {
  if (after === undefined) return [Number.MAX_SAFE_INTEGER, 0]
  const [time, id] = after.split('.')
  return [Number(time), Number(id)]
}

type Row = [unheld: number, leaseEndsInMs: number | null, pending: number, overdueMs: number | null, dead: number]

/** Not retried: the next collection of metrics asks again. */
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
