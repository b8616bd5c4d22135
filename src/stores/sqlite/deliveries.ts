/** Push configs, their delivery cursors, and dead letters. Functions that write run in a transaction of the caller. */
import { configBody, fromStorable, readConfig, readDeadLetter, toStorable } from '../rows.js'
import {
  type ClaimedCursor,
  type CursorClaim,
  type CursorClaimRequest,
  type CursorSettlement,
  type DeadLetter,
  type DeadLetterQuery,
  type DeliveryStore,
  isSameConfig,
  type NewPushConfig,
} from '../store.js'
import type { GroupCommit } from './commits.js'
import { maxLeases } from './leases.js'
import { findTask, type Session } from './session.js'

/** `seq`: the last event of the task. `from`: the position of a new cursor. */
interface CursorTask {
  readonly agent: string
  readonly task: number
  readonly seq: number
  readonly from: number
}

type DueRow = [
  task: number,
  config: string,
  body: string,
  seq: number,
  attempts: number,
  fencingToken: number,
  due: number,
  taskId: string,
]

export function sqliteDeliveries(session: Session, commits: GroupCommit): DeliveryStore {
  const { sql } = session
  return {
    putConfig: (key, config) =>
      commits.write(() => {
        const row = findTask(session, key)
        if (!row) return 'no-task'
        return putCursor(session, { agent: key.agent, task: row.id, seq: row.seq, from: row.seq }, config)
      }),
    async listConfigs(key, { limit = -1, afterId = '' } = {}) {
      const row = findTask(session, key)
      return row ? sql.listCursors.all(row.id, toStorable(afterId), limit).map(readConfig) : []
    },
    async getConfig(key, id) {
      const row = findTask(session, key)
      const found = row && sql.cursor.get(row.id, toStorable(id))
      return found ? readConfig(found) : undefined
    },
    deleteConfig: (key, id) =>
      commits.write(() => {
        const row = findTask(session, key)
        if (row) deleteCursor(session, row.id, id)
      }),
    async claim(request) {
      // Most hints lead to nothing: looking first saves a transaction.
      const waiting = findWaiting(session, request.agents)
      if (waiting.nextInMs !== 0 && !hasLateCursors(session, request)) return waiting
      return await commits.write(() => claimCursors(session, request))
    },
    settle: (settlement) =>
      commits.write(() => {
        const row = findTask(session, settlement.key)
        return row !== undefined && settleCursor(session, { task: row.id, scope: row.scope, seq: row.seq }, settlement)
      }),
    listDeadLetters: async (query) => listDeadLetters(session, query),
    async getDeadLetter(id) {
      const found = sql.deadLetter.get(Number(id))
      return found ? readDeadLetter(found) : undefined
    },
    deleteDeadLetter: (id) => commits.write(() => void sql.deleteDeadLetter.run(Number(id))),
  }
}

function listDeadLetters({ sql }: Session, query: DeadLetterQuery): readonly DeadLetter[] {
  const { agents, tenant, owner, taskId, limit, afterId = '0' } = query
  const given = (text: string | undefined) => (text === undefined ? null : toStorable(text))
  const names = agents === undefined ? null : JSON.stringify(agents.map(toStorable))
  const rows = sql.deadLetters.all(Number(afterId), names, given(tenant), given(owner), given(taskId), limit)
  return rows.map(readDeadLetter)
}

export function putCursor(session: Session, of: CursorTask, push: NewPushConfig): 'ok' | 'full' {
  const { sql, names, leaseNow, touched } = session
  const id = toStorable(push.config.id)
  const found = sql.cursor.get(of.task, id) as [string, number] | undefined
  if (found) {
    if (isSameConfig(readConfig(found), push)) return 'ok'
    sql.replaceCursor.run(configBody(push), of.seq > found[1] ? leaseNow() : null, of.task, id)
    touched.cursors.add(of.agent)
    return 'ok'
  }
  if (sql.listCursors.all(of.task, '', push.maxConfigs).length >= push.maxConfigs) return 'full'
  sql.insertCursor.run(of.task, id, names.makeAgent(of.agent), configBody(push), of.from)
  sql.countCursors.run(of.task)
  return 'ok'
}

function deleteCursor({ sql }: Session, task: number, configId: string): void {
  const id = toStorable(configId)
  sql.deleteCursor.run(task, id)
  sql.deleteDeadLetters.run(task, id)
  sql.countCursors.run(task)
}

/** Makes the cursors of a task due after new events. */
export function markCursors({ sql, leaseNow, touched }: Session, agent: string, task: number): void {
  if (sql.markCursors.run(leaseNow(), task).changes > 0) touched.cursors.add(agent)
}

/** Finds out when the next cursor is due, without a claim. */
function findWaiting({ sql, names, leaseNow }: Session, agents: readonly string[]): CursorClaim {
  let first: number | undefined
  for (const agent of agents) {
    const number = names.agent(agent)
    const [due] = number === undefined ? [null] : (sql.firstDue.get(number) as [number | null])
    if (due !== null) first = Math.min(first ?? due, due)
  }
  return { cursors: [], ...(first !== undefined && { nextInMs: Math.max(0, first - leaseNow()) }) }
}

/** True if a cursor waits longer than any retry, because a clock was set back. */
function hasLateCursors({ sql, names, leaseAfter }: Session, request: CursorClaimRequest): boolean {
  const lastDue = leaseAfter(maxWaitMs(request))
  return request.agents.some((agent) => {
    const number = names.agent(agent)
    const [due] = number === undefined ? [null] : (sql.lastDue.get(number) as [number | null])
    return due !== null && due > lastDue
  })
}

function maxWaitMs({ maxRetryMs = Number.POSITIVE_INFINITY, lease }: CursorClaimRequest): number {
  return Math.max(maxRetryMs, maxLeases * lease.ttlMs)
}

function claimCursors(session: Session, request: CursorClaimRequest): CursorClaim {
  const { agents, lease, limit } = request
  const { sql, names } = session
  const now = session.leaseNow()
  const due: { readonly agent: string; readonly row: DueRow }[] = []
  for (const agent of agents) {
    const number = names.agent(agent)
    if (number !== undefined) sql.shortenCursors.run(session.leaseAfter(maxWaitMs(request)), number)
    const rows = number === undefined ? [] : (sql.dueCursors.all(number, now, limit) as DueRow[])
    for (const row of rows) due.push({ agent, row })
  }
  due.sort((a, b) => a.row[6] - b.row[6])
  const cursors = due.slice(0, limit).map(({ agent, row }): ClaimedCursor => {
    const [task, config, body, seq, attempts, fencingToken, , taskId] = row
    sql.takeCursor.run(fencingToken + 1, session.leaseAfter(lease.ttlMs), lease.owner, task, config)
    const key = { agent, id: fromStorable(taskId) }
    return { key, push: readConfig([body]), seq, attempts, fencingToken: fencingToken + 1 }
  })
  return { ...findWaiting(session, agents), cursors }
}

function settleCursor(
  session: Session,
  of: { readonly task: number; readonly scope: number; readonly seq: number },
  { key, configId, fencingToken, seq, attempts, dead = [], next }: CursorSettlement,
): boolean {
  const { sql, touched } = session
  const id = toStorable(configId)
  const found = sql.cursor.get(of.task, id) as [string, number, number] | undefined
  if (found?.[2] !== fencingToken) return false
  const place = Math.max(seq, found[1])
  if (next !== 'release' && 'holdMs' in next)
    sql.holdCursor.run(place, attempts, session.leaseAfter(next.holdMs), of.task, id, fencingToken)
  else {
    const due = next === 'release' ? session.leaseNow() : session.leaseAfter(next.retryInMs)
    const hasMore = of.seq > place
    sql.freeCursor.run(place, attempts, hasMore ? due : null, of.task, id, fencingToken)
    if (hasMore && next === 'release') touched.cursors.add(key.agent)
  }
  for (const each of dead) {
    sql.insertDeadLetter.run(of.scope, of.task, id, each.seq, each.attempts, toStorable(each.error), session.now())
  }
  return true
}
