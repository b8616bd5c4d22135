/** What an operator wants to know, from indexes alone. */
import { type AgentStats, maxCounted } from '../store.js'
import type { Session } from './session.js'

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
