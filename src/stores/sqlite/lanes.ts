/** Push configs with their places in the log. What writes runs inside a transaction that the caller opened. */
import { configBody, readConfig } from '../rows.js'
import { fromStorable, toStorable } from '../storable-text.js'
import {
  type ClaimedLane,
  isSameConfig,
  type LaneClaim,
  type LaneClaimRequest,
  type LaneSettlement,
  type NewPushConfig,
} from '../store.js'
import { maxLeases } from './lease-clock.js'
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
  due: number,
  taskId: string,
]

export function putLane(session: Session, of: LaneTask, push: NewPushConfig): 'ok' | 'full' {
  const { sql, names, leaseNow, touched } = session
  const id = toStorable(push.config.id)
  const found = sql.lane.get(of.task, id) as [string, number] | undefined
  if (found) {
    if (isSameConfig(readConfig(found), push)) return 'ok'
    sql.replaceLane.run(configBody(push), of.seq > found[1] ? leaseNow() : null, of.task, id)
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
export function markLanes({ sql, leaseNow, touched }: Session, agent: string, task: number): void {
  if (sql.markLanes.run(leaseNow(), task).changes > 0) touched.lanes.add(agent)
}

/** When the next lane may be claimed, without claiming any. */
export function findWaiting({ sql, names, leaseNow }: Session, agents: readonly string[]): LaneClaim {
  let first: number | undefined
  for (const agent of agents) {
    const number = names.agent(agent)
    const [due] = number === undefined ? [null] : (sql.firstDue.get(number) as [number | null])
    if (due !== null) first = Math.min(first ?? due, due)
  }
  return { lanes: [], ...(first !== undefined && { nextInMs: Math.max(0, first - leaseNow()) }) }
}

/** Whether a lane waits longer than any retry does, because a clock was set back. */
export function hasLateLanes({ sql, names, leaseAfter }: Session, request: LaneClaimRequest): boolean {
  const lastDue = leaseAfter(maxWaitMs(request))
  return request.agents.some((agent) => {
    const number = names.agent(agent)
    const [due] = number === undefined ? [null] : (sql.lastDue.get(number) as [number | null])
    return due !== null && due > lastDue
  })
}

function maxWaitMs({ maxRetryMs = Number.POSITIVE_INFINITY, lease }: LaneClaimRequest): number {
  return Math.max(maxRetryMs, maxLeases * lease.ttlMs)
}

export function claimLanes(session: Session, request: LaneClaimRequest): LaneClaim {
  const { agents, lease, limit } = request
  const { sql, names } = session
  const now = session.leaseNow()
  const due: { readonly agent: string; readonly row: DueRow }[] = []
  for (const agent of agents) {
    const number = names.agent(agent)
    if (number !== undefined) sql.shortenLanes.run(session.leaseAfter(maxWaitMs(request)), number)
    const rows = number === undefined ? [] : (sql.dueLanes.all(number, now, limit) as DueRow[])
    for (const row of rows) due.push({ agent, row })
  }
  due.sort((a, b) => a.row[6] - b.row[6])
  const lanes = due.slice(0, limit).map(({ agent, row }): ClaimedLane => {
    const [task, config, body, seq, attempts, fence, , taskId] = row
    sql.takeLane.run(fence + 1, session.leaseAfter(lease.ttlMs), lease.owner, task, config)
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
  const id = toStorable(configId)
  const found = sql.lane.get(of.task, id) as [string, number, number] | undefined
  if (found?.[2] !== fence) return false
  const place = Math.max(seq, found[1])
  if (next !== 'release' && 'holdMs' in next)
    sql.holdLane.run(place, attempts, session.leaseAfter(next.holdMs), of.task, id, fence)
  else {
    const due = next === 'release' ? session.leaseNow() : session.leaseAfter(next.retryInMs)
    const hasMore = of.seq > place
    sql.freeLane.run(place, attempts, hasMore ? due : null, of.task, id, fence)
    if (hasMore && next === 'release') touched.lanes.add(key.agent)
  }
  for (const each of dead) {
    sql.insertDeadLetter.run(of.scope, of.task, id, each.seq, each.attempts, toStorable(each.error), session.now())
  }
  return true
}

export function disownLanes({ sql, leaseNow, touched, names }: Session, owner: string): void {
  if (sql.disownLanes.run(leaseNow(), owner).changes > 0) for (const agent of names.known()) touched.lanes.add(agent)
}
