import { invalidField } from '../model/errors.js'
import type { Message } from '../model/message.js'
import { sizeOf } from '../model/size-of.js'
import type { Task } from '../model/task.js'
import type { Internals } from './internals.js'

/** How much of a history is shown. */
export interface HistoryWindow {
  readonly messages: number
  readonly characters: number
}

/** As many messages as are asked for, and never more than the limits (R-HIST-1). */
export function shownHistory({ settings }: Internals, asked: number | undefined, field?: string): HistoryWindow {
  const { historyMessages, historyCharacters } = settings.limits
  assertHistoryLength(asked, field)
  const messages = asked === undefined ? historyMessages : Math.min(asked, historyMessages)
  return { messages, characters: historyCharacters }
}

/** The newest messages, oldest first; none at all for 0 (R-HIST). The newest one is shown however long it is. */
export function trimHistory(task: Task, shown: HistoryWindow): Task {
  if (!task.history) return task
  const count = countOf(task.history, shown)
  if (count === task.history.length && count > 0) return task
  const { history, ...rest } = task
  return count === 0 ? rest : { ...rest, history: history.slice(-count) }
}

function countOf(history: readonly Message[], { messages, characters }: HistoryWindow): number {
  const most = Math.min(messages, history.length)
  let size = 0
  for (let count = 0; count < most; count++) {
    size += sizeOfMessage(history[history.length - 1 - count])
    if (size > characters && count > 0) return count
  }
  return most
}

function sizeOfMessage(message: Message | undefined): number {
  // Its ids are short.
  return 50 + sizeOf([message?.parts, message?.metadata])
}

export function assertHistoryLength(historyLength: number | undefined, field = 'historyLength'): void {
  if (historyLength !== undefined && historyLength < 0) throw invalidField(field, 'must not be negative')
}
