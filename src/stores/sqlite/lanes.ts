/** Push configs with their places in the log. What writes runs inside a transaction that the caller opened. */
import { configBody, readConfig } from '../rows.js'
import { fromStorable, toStorable } from '../storable-text.js'
import {
  type ClaimedLane,
  type ClaimRequest,
  isSameConfig,
  type LaneClaim,
  type LaneSettlement,
  type NewPushConfig,
} from '../store.js'
import type { Session } from './session.js'

/** A task as its lanes see it: `seq` is its last event, `from` where a new lane begins. */
interface LaneTask {
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
  fence: number,
  dueMs: number,
  taskId: string,
]

export function putLane(session: Session, of: LaneTask, push: NewPushConfig): 'ok' | 'full' {
  const { sql, names, now, touched } = session
  const id = toStorable(push.config.id)
  const found = sql.lane.get(of.task, id) as [string, number] | undefined
  if (found) {
    if (isSameConfig(readConfig(found), push)) return 'ok'
    sql.replaceLane.run(configBody(push), of.seq > found[1] ? now() : null, of.task, id)
    touched.lanes.add(of.agent)
    return 'ok'
  }
  if (sql.listLanes.all(of.task, '', push.most).length >= push.most) return 'full'
  sql.insertLane.run(of.task, id, names.makeAgent(of.agent), configBody(push), of.from)
  sql.countLanes.run(of.task)
  return 'ok'
}

export function deleteLane({ sql }: Session, task: number, configId: string): void {
  const id = toStorable(configId)
  sql.deleteLane.run(task, id)
  sql.deleteDeadLetters.run(task, id)
  sql.countLanes.run(task)
}

/** The task has new events. */
export function markLanes({ sql, now, touched }: Session, agent: string, task: number): void {
  if (sql.markLanes.run(now(), task).changes > 0) touched.lanes.add(agent)
}

/** When the next lane may be claimed, without claiming any. */
export function findWaiting({ sql, names, now }: Session, agents: readonly string[]): LaneClaim {
  let first: number | undefined
  for (const agent of agents) {
    const number = names.agent(agent)
    const [dueMs] = number === undefined ? [null] : (sql.firstDue.get(number) as [number | null])
    if (dueMs !== null) first = Math.min(first ?? dueMs, dueMs)
  }
  return { lanes: [], ...(first !== undefined && { nextInMs: Math.max(0, first - now()) }) }
}

export function claimLanes(session: Session, { agents, lease, limit }: ClaimRequest): LaneClaim {
  const { sql, names } = session
  const now = session.now()
  const due: { readonly agent: string; readonly row: DueRow }[] = []
  for (const agent of agents) {
    const number = names.agent(agent)
    const rows = number === undefined ? [] : (sql.dueLanes.all(number, now, limit) as DueRow[])
    for (const row of rows) due.push({ agent, row })
  }
  due.sort((a, b) => a.row[6] - b.row[6])
  const lanes = due.slice(0, limit).map(({ agent, row }): ClaimedLane => {
    const [task, config, body, seq, attempts, fence, , taskId] = row
    sql.takeLane.run(fence + 1, now + lease.ttlMs, lease.owner, task, config)
    const key = { agent, id: fromStorable(taskId) }
    return { key, push: readConfig([body]), seq, attempts, fence: fence + 1 }
  })
  return { ...findWaiting(session, agents), lanes }
}

export function settleLane(
  session: Session,
  of: { readonly task: number; readonly scope: number; readonly seq: number },
  { key, configId, fence, seq, attempts, dead = [], next }: LaneSettlement,
): boolean {
  const { sql, touched } = session
  const now = session.now()
  const id = toStorable(configId)
  const found = sql.lane.get(of.task, id) as [string, number, number] | undefined
  if (found?.[2] !== fence) return false
  const place = Math.max(seq, found[1])
  if (next !== 'release' && 'holdMs' in next) sql.holdLane.run(place, attempts, now + next.holdMs, of.task, id, fence)
  else {
    const dueMs = next === 'release' ? now : now + next.retryInMs
    const hasMore = of.seq > place
    sql.freeLane.run(place, attempts, hasMore ? dueMs : null, of.task, id, fence)
    if (hasMore && next === 'release') touched.lanes.add(key.agent)
  }
  for (const each of dead) {
    sql.insertDeadLetter.run(of.scope, of.task, id, each.seq, each.attempts, toStorable(each.error), now)
  }
  return true
}

export function disownLanes({ sql, now, touched, names }: Session, owner: string): void {
  if (sql.disownLanes.run(now(), owner).changes > 0) for (const agent of names.known()) touched.lanes.add(agent)
}
