import { fromStorable, toStorable } from '../storable-text.js'
import type { DeadLetter, DeadLetterQuery } from '../store.js'
import type { Session } from './session.js'

type DeadLetterRow = [
  id: number,
  agent: string,
  taskId: string,
  tenant: string,
  owner: string,
  config: string,
  seq: number,
  attempts: number,
  error: string,
  timeMs: number,
]

export function listDeadLetters({ sql }: Session, query: DeadLetterQuery): readonly DeadLetter[] {
  const { agents, tenant, owner, taskId, limit, afterId = '0' } = query
  const given = (text: string | undefined) => (text === undefined ? null : toStorable(text))
  const names = JSON.stringify(agents.map(toStorable))
  const rows = sql.deadLetters.all(Number(afterId), names, given(tenant), given(owner), given(taskId), limit)
  return rows.map(readDeadLetter)
}

export function readDeadLetter(row: unknown): DeadLetter {
  const [id, agent, taskId, tenant, owner, config, seq, attempts, error, timeMs] = row as DeadLetterRow
  return {
    id: String(id),
    key: { agent: fromStorable(agent), id: fromStorable(taskId) },
    tenant: fromStorable(tenant),
    owner: fromStorable(owner),
    configId: fromStorable(config),
    seq,
    attempts,
    error: fromStorable(error),
    timeMs,
  }
}
