/** What an operator wants to know, from indexes alone. */
import { type AgentStats, mostCounted } from '../store.js'
import type { Session } from './session.js'

export function readStats({ sql, names, now }: Session, agents: readonly string[]): readonly AgentStats[] {
  const nowMs = now()
  const dead = new Map(sql.countDeadLetters.all(mostCounted) as [agent: number, count: number][])
  return agents.map((name) => {
    const agent = names.agent(name)
    if (agent === undefined) return { unheldTasks: 0, pendingLanes: 0, deadLetters: 0 }
    const leases = sql.runnableLeases.all(agent, mostCounted) as [untilMs: number][]
    const [held] = leases.find(([untilMs]) => untilMs > nowMs) ?? []
    const [pendingLanes, firstMs] = sql.pendingLanes.get(agent, mostCounted) as [number, number | null]
    return {
      unheldTasks: leases.filter(([untilMs]) => untilMs <= nowMs).length,
      ...(held !== undefined && { leaseEndsInMs: held - nowMs }),
      pendingLanes,
      ...(firstMs !== null && firstMs < nowMs && { laneOverdueMs: nowMs - firstMs }),
      deadLetters: dead.get(agent) ?? 0,
    }
  })
}
