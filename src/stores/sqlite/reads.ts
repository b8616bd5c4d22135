/**
 * Lists, views and stats.
 *
 * The index of lists begins with the state. A list without a state filter merges the newest tasks of each state: at most
 * eight short range reads, however many tasks there are. Totals come from `counts`; only filters by time or context
 * count index entries.
 */

import type { Artifact } from '../../model/artifact.js'
import { type HistoryWindow, newestMessages } from '../../model/history-window.js'
import type { Message } from '../../model/message.js'
import { sizeOf } from '../../model/size-of.js'
import { isTerminal, type Task, taskStates } from '../../model/task.js'
import { foldEvents } from '../../model/task-fold.js'
import { type EventRow, type RecordRow, readBatch, readRecord, stateNumber, toStorable } from '../rows.js'
import type { ListPage, ListQuery, LoadedTask, ViewedTask, ViewOptions } from '../store.js'
import { type AgentStats, maxCounted } from '../store.js'
import { artifactsIn, HistoryTail, headIn, inLog, type TaskHead, tailLength, viewOf, withinBudget } from '../views.js'
import type { Session } from './session.js'

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

export function readStats({ sql, names, leaseNow }: Session, agents: readonly string[]): readonly AgentStats[] {
  const now = leaseNow()
  const dead = new Map(sql.countDeadLetters.all(maxCounted) as [agent: number, count: number][])
  return agents.map((name) => {
    const agent = names.agent(name)
    if (agent === undefined) return { unheldTasks: 0, pendingCursors: 0, deadLetters: 0 }
    const leases = sql.runnableLeases.all(agent, maxCounted) as [end: number][]
    const [held] = leases.find(([end]) => end > now) ?? []
    const [pendingCursors, due] = sql.pendingCursors.get(agent, maxCounted) as [number, number | null]
    return {
      unheldTasks: leases.filter(([end]) => end <= now).length,
      ...(held !== undefined && { leaseEndsInMs: held - now }),
      pendingCursors,
      ...(due !== null && due < now && { cursorOverdueMs: now - due }),
      deadLetters: dead.get(agent) ?? 0,
    }
  })
}

/** The number of batch sizes per read. */
const sizesPerRead = 1000

export function loadRow({ sql, leaseNow }: Session, row: RecordRow, includeArtifacts: boolean): LoadedTask {
  const record = readRecord(row, leaseNow())
  const [id] = row
  const [head, lacks] = (sql.snapshotHead.get(id) ?? []) as [string?, number?]
  if (head !== undefined && lacks === inLog.nothing) {
    const task = JSON.parse(head) as Task // written by `snapshotRow`
    const artifacts = includeArtifacts ? storedArtifacts(sql.snapshotArtifacts.get(id)) : undefined
    return { record, snapshot: artifacts ? { ...task, artifacts } : task, events: [] }
  }
  const batches = (includeArtifacts ? sql.allEvents : sql.otherEvents).all(id) as EventRow[]
  const events = batches.flatMap(readBatch)
  return { record, events: includeArtifacts ? events : events.filter(({ body }) => !('artifactUpdate' in body)) }
}

/**
 * Other processes may write between two statements, so it ignores events after the sequence of the record, and the
 * snapshot of a task that ended later.
 */
export function viewRow(session: Session, row: RecordRow, options: ViewOptions): ViewedTask | undefined {
  const { sql } = session
  const record = readRecord(row, session.leaseNow())
  const [id] = row
  const state = taskStates[row[12]]
  const snapshot = state === undefined || isTerminal(state) ? sql.snapshotHead.get(id) : undefined
  const [head, lacks = inLog.history + inLog.artifacts] = (snapshot ?? []) as [string?, number?]
  const kept = head === undefined ? undefined : (JSON.parse(head) as Task) // written by `snapshotRow`
  const shown = kept ?? newestHead(session, row)
  if (!shown) return undefined
  const history =
    lacks & inLog.history
      ? readTail(session, id, record.seq, options.history)
      : newestMessages(kept?.history ?? [], options.history)
  return viewOf(record, shown, history, options.includeArtifacts ? artifactsOf() : undefined)

  function artifactsOf(): readonly Artifact[] | undefined {
    if (!(lacks & inLog.artifacts)) return storedArtifacts(sql.snapshotArtifacts.get(id))
    return artifactsIn((sql.artifactEvents.all(id, record.seq) as EventRow[]).flatMap(readBatch))
  }
}

function storedArtifacts(found: unknown): readonly Artifact[] | undefined {
  const [artifacts] = (found ?? [null]) as [string | null]
  return artifacts === null ? undefined : (JSON.parse(artifacts) as Artifact[]) // written by `snapshotRow`
}

function newestHead({ sql }: Session, row: RecordRow): TaskHead | undefined {
  const [id] = row
  const statusLast = row[13]
  const batch = sql.batchAt.get(id, statusLast) as EventRow | undefined
  const head = batch && headIn(readBatch(batch))
  if (head) return head
  // Rows of older versions do not say which batch has the status.
  const batches = sql.otherEvents.all(id) as EventRow[]
  return foldEvents(
    batches.flatMap(readBatch).filter(({ body }) => !('artifactUpdate' in body)),
    { withoutArtifacts: true },
  ).snapshot()
}

function readTail({ sql }: Session, id: number, seq: number, window: HistoryWindow): readonly Message[] {
  const tail = new HistoryTail(window)
  let isMore = window.messages > 0
  for (let before = seq + 1; isMore; ) {
    const rows = sql.historySizes.all(id, before, Math.min(window.messages, sizesPerRead)) as [number, number][]
    const sizes = rows.map(([last, bytes]) => ({ last, bytes }))
    const from = sizes[tailLength(sizes, window) - 1]?.last
    if (from === undefined) break
    isMore = tail.addOlder((sql.historyEvents.all(id, from, before) as EventRow[]).flatMap(readBatch))
    before = from
  }
  return tail.messages
}
