/**
 * Histories with progress messages, for dialects that show everything an agent said. The stores keep progress as events
 * only, so it is read from the log: such a call costs as much as its log is long.
 */
import { setImmediate } from 'node:timers/promises'
import { historyMessage, newestMessages } from '../model/history-window.js'
import type { Message } from '../model/message.js'
import type { CallContext } from '../model/service.js'
import type { Task, TaskStatus } from '../model/task.js'
import { shownHistory } from './history.js'
import type { Internals } from './internals.js'

const eventsPerRead = 256

/** The task as it was given, with progress messages in its history if the caller's dialect shows them. */
export function withProgress(
  internals: Internals,
  task: Task,
  { showsProgress }: Pick<CallContext, 'showsProgress'>,
): Task | Promise<Task> {
  if (!showsProgress) return task
  return messagesUpTo(internals, task).then((history) => (history?.length ? { ...task, history } : task))
}

/** Absent when retention has removed the events. */
async function messagesUpTo(internals: Internals, { id, status }: Task): Promise<readonly Message[] | undefined> {
  const { store } = internals
  const shown = shownHistory(internals, undefined)
  const messages: Message[] = []
  /** Their number when the task got its status. */
  let count: number | undefined
  for (let after = 0; ; ) {
    const events = await store.read(internals.key(id), after, eventsPerRead)
    if (!events) return undefined
    for (const { body } of events) {
      const message = historyMessage(body, true)
      if (message) messages.push(message)
      // The task may have moved on since: later messages are not part of it.
      if ('statusUpdate' in body && isSame(body.statusUpdate.status, status)) count = messages.length
    }
    const last = events.at(-1)?.seq
    if (last === undefined) return newestMessages(messages.slice(0, count), shown)
    const tooMany = messages.length - shown.messages - eventsPerRead
    if (tooMany > 0) {
      messages.splice(0, tooMany)
      count = count === undefined ? undefined : Math.max(0, count - tooMany)
    }
    after = last
    // A long log must not keep other calls waiting.
    await setImmediate()
  }
}

function isSame(one: TaskStatus, other: TaskStatus): boolean {
  return (
    one.state === other.state &&
    one.timestamp === other.timestamp &&
    one.message?.messageId === other.message?.messageId
  )
}
