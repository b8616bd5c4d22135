/**
 * Pages of tasks, newest status first, from an index.
 *
 * The index leads with the state, so a list without a state filter reads the head of each state's
 * range and merges them: at most eight short range reads whatever the number of tasks. Totals come
 * from `counts`; only a time or context filter counts index entries.
 */
import { taskStates } from '../../model/task.js'
import { withinBudget } from '../page-budget.js'
import { stateNumber } from '../rows.js'
import { toStorable } from '../storable-text.js'
import type { ListQuery } from '../store.js'
import type { Session } from './session.js'

type Place = [id: number, statusMs: number]

export interface FoundPage {
  readonly rowIds: readonly number[]
  readonly next?: string
  readonly total: number
}

export function findPage(session: Session, query: ListQuery): FoundPage {
  const scope = session.names.scope(query)
  if (scope === undefined) return { rowIds: [], total: 0 }
  const places = query.contextId === undefined ? byState(session, scope, query) : byContext(session, scope, query)
  const sizes = query.includeArtifacts ? session.sql.sizeWithArtifacts : session.sql.size
  const page = withinBudget(
    places.slice(0, query.limit),
    query.maxBytes,
    ([id]) => (sizes.get(id) as [number])[0], // one row of one number
  )
  const last = page.at(-1)
  return {
    rowIds: page.map(([id]) => id),
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
