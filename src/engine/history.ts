import { invalidField } from '../model/errors.js'
import { type HistoryWindow, newestMessages } from '../model/history-window.js'
import type { Task } from '../model/task.js'
import type { Internals } from './internals.js'

/** As many messages as are asked for, and never more than the limits (R-HIST-1). */
export function shownHistory({ settings }: Internals, asked: number | undefined, field?: string): HistoryWindow {
  const { historyMessages, historyCharacters } = settings.limits
  assertHistoryLength(asked, field)
  const messages = asked === undefined ? historyMessages : Math.min(asked, historyMessages)
  return { messages, characters: historyCharacters }
}

/** The task with the newest messages, oldest first; without a history when none is shown (R-HIST). */
export function trimHistory(task: Task, shown: HistoryWindow): Task {
  if (!task.history) return task
  const kept = newestMessages(task.history, shown)
  if (kept.length === task.history.length && kept.length > 0) return task
  const { history: _history, ...rest } = task
  return kept.length === 0 ? rest : { ...rest, history: kept }
}

export function assertHistoryLength(historyLength: number | undefined, field = 'historyLength'): void {
  if (historyLength !== undefined && historyLength < 0) throw invalidField(field, 'must not be negative')
}
