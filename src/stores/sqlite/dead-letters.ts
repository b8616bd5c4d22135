import { readDeadLetter } from '../rows.js'
import { toStorable } from '../storable-text.js'
import type { DeadLetter, DeadLetterQuery } from '../store.js'
import type { Session } from './session.js'

export function listDeadLetters({ sql }: Session, query: DeadLetterQuery): readonly DeadLetter[] {
  const { agents, tenant, owner, taskId, limit, afterId = '0' } = query
  const given = (text: string | undefined) => (text === undefined ? null : toStorable(text))
  const names = agents === undefined ? null : JSON.stringify(agents.map(toStorable))
  const rows = sql.deadLetters.all(Number(afterId), names, given(tenant), given(owner), given(taskId), limit)
  return rows.map(readDeadLetter)
}
