/**
 * Pages of tasks, newest status first, from an index.
 *
 * The index leads with the state, so a list without a state filter reads the head of each state's range and
 * merges them: at most eight short range reads whatever the number of tasks. Totals come from `counts`; only
 * a time or context filter counts index entries.
 */
import { taskStates } from '../../model/task.js'
import { withinBudget } from '../page-budget.js'
import { stateNumber } from '../rows.js'
import { toStorable } from '../storable-text.js'
import type { ListPage, ListQuery } from '../store.js'
import type { Database } from './database.js'
import type { Names } from './names.js'
import { measure, readViews } from './views.js'

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
