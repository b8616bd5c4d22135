import type { EventBody } from './event.js'
import type { Message } from './message.js'
import { sizeOf } from './size-of.js'
import { isInterrupted, isTerminal } from './task.js'

/** The part of a history that is shown. */
export interface HistoryWindow {
  /** The maximum number of messages, the newest ones. */
  readonly messages: number
  /** The maximum length of these messages together. The newest one is shown however long it is. */
  readonly characters: number
}

/** The whole history. */
export const wholeHistory: HistoryWindow = { messages: Number.MAX_SAFE_INTEGER, characters: Number.MAX_SAFE_INTEGER }

/**
 * The message that an event adds to the history: messages of callers, questions and final messages. `withProgress`:
 * progress messages too.
 */
export function historyMessage(body: EventBody, withProgress = false): Message | undefined {
  if ('accepted' in body) return body.accepted.message
  if (!('statusUpdate' in body)) return undefined
  const { state, message } = body.statusUpdate.status
  return withProgress || isTerminal(state) || isInterrupted(state) ? message : undefined
}

/** The newest messages of a history that the window shows, oldest first. */
export function newestMessages(history: readonly Message[], window: HistoryWindow): readonly Message[] {
  const count = countOf(history, window)
  return count === history.length ? history : history.slice(history.length - count)
}

function countOf(history: readonly Message[], { messages, characters }: HistoryWindow): number {
  const maxCount = Math.min(messages, history.length)
  let size = 0
  for (let count = 0; count < maxCount; count++) {
    size += sizeOfMessage(history[history.length - 1 - count])
    if (size > characters && count > 0) return count
  }
  return maxCount
}

function sizeOfMessage(message: Message | undefined): number {
  // Its ids are short.
  return 50 + sizeOf(message?.parts) + sizeOf(message?.metadata)
}
