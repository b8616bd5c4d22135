/** Push configs with their delivery progress, and dead letters. */
import { Heap, type HeapEntry } from './heap.js'
import type { Row } from './memory-row.js'
import {
  type AgentStats,
  type BuriedDelivery,
  type ClaimedLane,
  type ClaimRequest,
  type DeadLetter,
  type DeadLetterQuery,
  isSameConfig,
  type LaneClaim,
  type LaneSettlement,
  mostCounted,
  type NewPushConfig,
  type StoredPushConfig,
} from './store.js'

/** `rank`: the time from which it may be claimed. It is in no heap while its webhook has received every event. */
export interface Lane extends HeapEntry {
  readonly row: Row
  push: StoredPushConfig
  seq: number
  attempts: number
  fence: number
  leaseOwner: string | undefined
}

/** The delivery progress of one webhook. `at`: the time of a dead letter, in milliseconds since 1970. */
export interface DeliveryProgress {
  readonly seq: number
  readonly attempts: number
  readonly dead: readonly (BuriedDelivery & { readonly at: number })[]
}

export class MemoryLanes {
  /** Those with something to tell, by agent, whether they wait or are held. */
  readonly #pending = new Map<string, Heap<Lane>>()
  readonly #dead = new Map<string, DeadLetter>()
  #count = 0

  /** `seq`: where a new one begins. */
  put(row: Row, { most, ...push }: NewPushConfig, seq: number, now: number): 'ok' | 'full' {
    const { id } = push.config
    const lane = row.lanes?.get(id)
    if (lane) {
      if (isSameConfig(lane.push, push)) return 'ok'
      lane.push = push
      lane.fence += 1
      lane.attempts = 0
      this.#free(lane, now)
      return 'ok'
    }
    if ((row.lanes?.size ?? 0) >= most) return 'full'
    row.lanes ??= new Map()
    const begun = { attempts: 0, fence: 0, leaseOwner: undefined, rank: 0, order: 0, place: undefined }
    row.lanes.set(id, { row, push, seq, ...begun })
    return 'ok'
  }

  /** The task has new events. True when a lane is due that was not. */
  mark(lanes: Iterable<Lane>, now: number): boolean {
    let isAny = false
    for (const lane of lanes) {
      if (isPending(lane)) continue
      this.#pendingOf(lane).set(lane, now)
      isAny = true
    }
    return isAny
  }

  claim({ agents, lease, limit }: ClaimRequest, now: number): LaneClaim {
    const queues = agents.flatMap((agent) => this.#pending.get(agent) ?? [])
    const lanes: ClaimedLane[] = []
    for (let lane = firstOf(queues); lane && lane.rank <= now && lanes.length < limit; lane = firstOf(queues)) {
      lane.fence += 1
      lane.leaseOwner = lease.owner
      // What is claimed here falls due again when its lease ends.
      this.#pendingOf(lane).set(lane, now + lease.ttlMs)
      lanes.push({ key: lane.row.key, push: lane.push, seq: lane.seq, attempts: lane.attempts, fence: lane.fence })
    }
    const next = firstOf(queues)
    return { lanes, ...(next && { nextInMs: Math.max(0, next.rank - now) }) }
  }

  settle(lane: Lane | undefined, { fence, seq, attempts, dead = [], next }: LaneSettlement, now: number): boolean {
    if (lane?.fence !== fence) return false
    for (const each of dead) this.#addDeadLetter(lane, each, now)
    lane.seq = Math.max(lane.seq, seq)
    lane.attempts = attempts
    if (next === 'release') this.#free(lane, now)
    else if ('retryInMs' in next) this.#free(lane, now + next.retryInMs)
    else this.#pendingOf(lane).set(lane, now + next.holdMs)
    return true
  }

  /** Sets the saved progress of a lane, if there is any, and makes the lane due now if it is pending. */
  restore(lane: Lane, progress: DeliveryProgress | undefined, now: number): void {
    if (progress) {
      for (const { at, ...each } of progress.dead) this.#addDeadLetter(lane, each, at)
      lane.seq = Math.max(lane.seq, progress.seq)
      lane.attempts = progress.attempts
    }
    this.#free(lane, now)
  }

  #addDeadLetter({ row, push }: Lane, buried: BuriedDelivery, timeMs: number): void {
    const { key, tenant, owner } = row
    this.#count += 1
    const id = String(this.#count)
    this.#dead.set(id, { id, key, tenant, owner, configId: push.config.id, timeMs, ...buried })
  }

  /** Of a task, or one of its configs. */
  remove(row: Row, configId?: string): void {
    // Dead letters go with their config: without one there are none to look for.
    if (!row.lanes?.size) return
    for (const lane of row.lanes.values()) {
      if (configId !== undefined && lane.push.config.id !== configId) continue
      this.#pendingOf(lane).delete(lane)
      row.lanes.delete(lane.push.config.id)
      // Whoever holds it finds that it is gone.
      lane.fence += 1
    }
    for (const { id, key, configId: of } of this.#dead.values()) {
      if (key.agent !== row.key.agent || key.id !== row.key.id) continue
      if (configId === undefined || of === configId) this.#dead.delete(id)
    }
  }

  owners(): Set<string> {
    const owners = new Set<string>()
    for (const { leaseOwner } of this.#allPending()) if (leaseOwner !== undefined) owners.add(leaseOwner)
    return owners
  }

  /** Answers the agents whose lanes are free now. */
  disown(owner: string, now: number): Set<string> {
    const agents = new Set<string>()
    for (const lane of this.#allPending()) {
      if (lane.leaseOwner !== owner) continue
      lane.fence += 1
      this.#free(lane, now)
      agents.add(lane.row.key.agent)
    }
    return agents
  }

  deadLetter(id: string): DeadLetter | undefined {
    return this.#dead.get(id)
  }

  deadLetters({ agents, tenant, owner, taskId, limit, afterId = '0' }: DeadLetterQuery): readonly DeadLetter[] {
    const matches = (each: DeadLetter) =>
      Number(each.id) > Number(afterId) &&
      (agents === undefined || agents.includes(each.key.agent)) &&
      (tenant === undefined || each.tenant === tenant) &&
      (owner === undefined || each.owner === owner) &&
      (taskId === undefined || each.key.id === taskId)
    return [...this.#dead.values()].filter(matches).slice(0, limit)
  }

  deleteDeadLetter(id: string): void {
    this.#dead.delete(id)
  }

  stats(agent: string, now: number): Pick<AgentStats, 'pendingLanes' | 'laneOverdueMs' | 'deadLetters'> {
    const { size: pendingLanes, first } = this.#pending.get(agent) ?? { size: 0, first: undefined }
    const firstMs = first?.rank ?? now
    let deadLetters = 0
    for (const { key } of this.#dead.values()) if (key.agent === agent) deadLetters += 1
    return {
      pendingLanes: Math.min(pendingLanes, mostCounted),
      ...(firstMs < now && { laneOverdueMs: now - firstMs }),
      deadLetters: Math.min(deadLetters, mostCounted),
    }
  }

  /** Nobody holds it: due at the given time if there is something to tell. */
  #free(lane: Lane, dueMs: number): void {
    lane.leaseOwner = undefined
    if (lane.row.seq > lane.seq) this.#pendingOf(lane).set(lane, dueMs)
    else this.#pendingOf(lane).delete(lane)
  }

  #pendingOf({ row }: Lane): Heap<Lane> {
    const { agent } = row.key
    const queue = this.#pending.get(agent) ?? new Heap<Lane>()
    this.#pending.set(agent, queue)
    return queue
  }

  /** As they are now: they may be moved meanwhile. */
  #allPending(): readonly Lane[] {
    return [...this.#pending.values()].flatMap((queue) => [...queue])
  }
}

/** Whether it has something to tell. */
export function isPending({ place }: Lane): boolean {
  return place !== undefined
}

/** Agents are few: their queues are looked at one by one. */
function firstOf(queues: readonly Heap<Lane>[]): Lane | undefined {
  let found: Lane | undefined
  for (const { first } of queues) if (first && (!found || first.rank < found.rank)) found = first
  return found
}

/** Push configs of one task, by id. */
export function configsOf(
  row: Row | undefined,
  { limit, afterId }: { readonly limit?: number; readonly afterId?: string },
): readonly StoredPushConfig[] {
  return Array.from(row?.lanes?.values() ?? [], ({ push }) => push)
    .sort((a, b) => (a.config.id < b.config.id ? -1 : 1))
    .filter(({ config }) => afterId === undefined || config.id > afterId)
    .slice(0, limit)
}
