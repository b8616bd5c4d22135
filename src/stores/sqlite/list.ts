/**
 * Pages of tasks, newest status first, from an index.
 *
 * The index leads with the state, so a list without a state filter reads the head of each state's
 * range and merges them: at most eight short range reads whatever the number of tasks. Totals come
 * from `counts`; only a time or context filter counts index entries.
 */
import { sizeOf } from '../../model/size-of.js'
import { taskStates } from '../../model/task.js'
import { withinBudget } from '../page-budget.js'
import { type RecordRow, stateNumber } from '../rows.js'
import { toStorable } from '../storable-text.js'
import type { ListPage, ListQuery, ViewedTask } from '../store.js'
import type { Session } from './session.js'
import { viewRow } from './views.js'

type Place = [id: number, statusMs: number]

export function listTasks(session: Session, query: ListQuery): ListPage {
  const scope = session.names.scope(query)
  if (scope === undefined) return { tasks: [], total: 0 }
  const places = query.contextId === undefined ? byState(session, scope, query) : byContext(session, scope, query)
  const views = new Map<number, ViewedTask | undefined>()
  const view = (id: number): ViewedTask | undefined => {
    const row = session.sql.recordById.get(id) as RecordRow | undefined // the columns of `record`
    const viewed = row && viewRow(session, row, query)
    views.set(id, viewed)
    return viewed
  }
  const page = withinBudget(places.slice(0, query.limit), query.maxBytes, ([id]) =>
    sizeOf(view(id)?.task, query.maxBytes),
  )
  const last = page.at(-1)
  return {
    tasks: page.flatMap(([id]) => (views.has(id) ? views.get(id) : view(id)) ?? []),
    total: count(session, scope, query),
    ...(places.length > page.length && last && { next: `${last[1]}.${last[0]}` }),
  }
}

function byState({ sql }: Session, scope: number, query: ListQuery): Place[] {
  const [beforeMs, beforeId] = bound(query)
  const from = query.statusTimeFromMs ?? 0
  const places: Place[] = []
  for (const state of statesOf(query)) {
    places.push(...(sql.pageByState.all(scope, state, from, beforeMs, beforeId, query.limit + 1) as Place[]))
  }
  return places.sort((a, b) => b[1] - a[1] || b[0] - a[0])
}

function byContext({ sql }: Session, scope: number, query: ListQuery): Place[] {
  const [beforeMs, beforeId] = bound(query)
  const state = query.state === undefined ? null : stateNumber(query.state)
  const from = query.statusTimeFromMs ?? 0
  return sql.pageByContext.all(
    scope,
    toStorable(query.contextId ?? ''),
    from,
    beforeMs,
    beforeId,
    state,
    query.limit + 1,
  ) as Place[]
}

function count({ sql }: Session, scope: number, query: ListQuery): number {
  const from = query.statusTimeFromMs ?? 0
  if (query.contextId !== undefined) {
    const state = query.state === undefined ? null : stateNumber(query.state)
    return (sql.countByContext.get(scope, toStorable(query.contextId ?? ''), from, state) as [number])[0]
  }
  const states = new Set(statesOf(query))
  let total = 0
  if (query.statusTimeFromMs === undefined) {
    for (const [state, n] of sql.counts.all(scope) as [number, number][]) if (states.has(state)) total += n
  } else {
    for (const state of states) total += (sql.countByState.get(scope, state, from) as [number])[0]
  }
  return total
}

function statesOf(query: ListQuery): readonly number[] {
  return query.state === undefined ? taskStates.map((_, number) => number) : [stateNumber(query.state)]
}

function bound({ after }: ListQuery): readonly [number, number] {
  if (after === undefined) return [Number.MAX_SAFE_INTEGER, 0]
  const [time, id] = after.split('.')
  return [Number(time), Number(id)]
}
