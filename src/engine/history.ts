import { invalidField } from '../model/errors.js'
import type { Task } from '../model/task.js'
import type { Internals } from './internals.js'

/** How many messages are shown: as many as are asked for, and never more than the limit (R-HIST-1). */
export function shownHistory({ settings }: Internals, asked: number | undefined, field?: string): number {
  const { historyMessages } = settings.limits
  if (asked === undefined) return historyMessages
  assertHistoryLength(asked, field)
  return Math.min(asked, historyMessages)
}

/** The n newest messages, oldest first; none at all for 0 (R-HIST). */
export function trimHistory(task: Task, historyLength: number): Task {
  if (!task.history || (task.history.length <= historyLength && historyLength > 0)) return task
  const { history, ...rest } = task
  return historyLength === 0 ? rest : { ...rest, history: history.slice(-historyLength) }
}

export function assertHistoryLength(historyLength: number | undefined, field = 'historyLength'): void {
  if (historyLength !== undefined && historyLength < 0) throw invalidField(field, 'must not be negative')
}
