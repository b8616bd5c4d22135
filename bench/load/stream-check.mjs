// What a right stream looks like: thoroughly, with every event read, or by what was counted in it.

/** @param {{ chunks: number, isCompleted: boolean }} counted */
export function assertCounted({ chunks, isCompleted }, expected) {
  if (chunks === expected && isCompleted) return
  const end = isCompleted ? 'completed' : 'did not complete'
  throw new Error(`Wanted ${expected} chunks, got ${chunks}; the task ${end}`)
}

/**
 * Throws unless the events are the task (where the dialect sends it), chunks in order, COMPLETED.
 *
 * @param {import('./speaker.mjs').ToldEvent[]} events
 * @param {{ chunks: number, isTaskFirst: boolean }} expected
 */
export function assertWholeStream(events, { chunks, isTaskFirst }) {
  const found = events.map(({ chunk }) => chunk).filter((chunk) => chunk !== undefined)
  const isBegun = !isTaskFirst || Boolean(events[0]?.isTask)
  const isCompletedLast = Boolean(events.at(-1)?.isCompleted)
  if (!isBegun || !isCompletedLast || found.length !== chunks) {
    const got = JSON.stringify(events).slice(0, 2000)
    throw new Error(`Wanted ${isTaskFirst ? 'a task, ' : ''}${chunks} chunks and COMPLETED, got ${got}`)
  }
  assertInOrder(found)
}

function assertInOrder(chunks) {
  const numbers = chunks.map((chunk) => Number(/^chunk (\d+) $/.exec(chunk)?.[1]))
  const isOrdered = numbers.every((number, index) => number === numbers[0] + index)
  if (!isOrdered) throw new Error(`Chunks out of order: ${numbers.slice(0, 20).join(', ')}…`)
}
