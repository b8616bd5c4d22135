/** Checks of a stream: with every event read, or with the counted chunks only. */
import type { StreamCount, StreamEvent } from './driver.ts'

export function assertCounted({ chunks, isCompleted }: StreamCount, expected: number): void {
  if (chunks === expected && isCompleted) return
  const end = isCompleted ? 'completed' : 'did not complete'
  throw new Error(`Expected ${expected} chunks, got ${chunks}; the task ${end}`)
}

export interface ExpectedStream {
  readonly chunks: number
  readonly isTaskFirst: boolean
}

/** Throws unless the events are the task (where the dialect sends it), the chunks in order, and COMPLETED. */
export function assertWholeStream(events: readonly StreamEvent[], { chunks, isTaskFirst }: ExpectedStream): void {
  const found = events.map(({ chunk }) => chunk).filter((chunk) => chunk !== undefined)
  const hasStart = !isTaskFirst || Boolean(events[0]?.isTask)
  const isCompletedLast = Boolean(events.at(-1)?.isCompleted)
  if (!hasStart || !isCompletedLast || found.length !== chunks) {
    const got = JSON.stringify(events).slice(0, 2000)
    throw new Error(`Expected ${isTaskFirst ? 'a task, ' : ''}${chunks} chunks and COMPLETED, got ${got}`)
  }
  assertInOrder(found)
}

function assertInOrder(chunks: readonly string[]): void {
  const numbers = chunks.map((chunk) => Number(/^chunk (\d+) $/.exec(chunk)?.[1]))
  const [first = 0] = numbers
  const isOrdered = numbers.every((number, index) => number === first + index)
  if (!isOrdered) throw new Error(`Chunks out of order: ${numbers.slice(0, 20).join(', ')}…`)
}
