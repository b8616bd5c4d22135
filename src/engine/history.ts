import { invalidField } from '../model/errors.js'
import type { Task } from '../model/task.js'

/** The n newest messages, oldest first; none at all for 0 (R-HIST). */
export function trimHistory(task: Task, historyLength: number | undefined): Task {
  if (historyLength === undefined || !task.history) return task
  const { history, ...rest } = task
  return historyLength === 0 ? rest : { ...rest, history: history.slice(-historyLength) }
}

export function assertHistoryLength(historyLength: number | undefined, field = 'historyLength'): void {
  if (historyLength !== undefined && historyLength < 0) throw invalidField(field, 'must not be negative')
}
