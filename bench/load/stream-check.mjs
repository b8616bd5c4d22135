// Two ways to look at a stream: every event parsed, or the same facts counted in the raw bytes.
// The first is thorough, the second cheap enough for the measured part.
import { resultOf } from './connection.mjs'

const updateMark = Buffer.from('"artifactUpdate":')
const completedMark = Buffer.from('"TASK_STATE_COMPLETED"')
const eventEnd = Buffer.from('\n\n')

/** Counts artifact updates and sees whether the task completed. */
export function createStreamCounter() {
  let updates = 0
  let lastEvents = Buffer.alloc(0)
  /** An event that has begun but not ended yet. */
  let open = Buffer.alloc(0)
  return {
    add(chunk) {
      const bytes = open.length === 0 ? chunk : Buffer.concat([open, chunk])
      const lastEnd = bytes.lastIndexOf(eventEnd)
      const cut = lastEnd === -1 ? 0 : lastEnd + eventEnd.length
      open = bytes.subarray(cut)
      if (cut === 0) return
      lastEvents = bytes.subarray(0, cut)
      updates += countMarks(lastEvents)
    },
    assertComplete(expectedUpdates) {
      const isCompleted = lastEvents.includes(completedMark)
      if (updates === expectedUpdates && isCompleted) return
      const end = isCompleted ? 'completed' : 'did not complete'
      throw new Error(`Wanted ${expectedUpdates} chunks, got ${updates}; the task ${end}`)
    },
  }
}

function countMarks(buffer) {
  let count = 0
  for (let at = buffer.indexOf(updateMark); at !== -1; count++) {
    at = buffer.indexOf(updateMark, at + updateMark.length)
  }
  return count
}

/** Parses a whole stream and throws unless it is task, updates in order, COMPLETED. */
export function assertWholeStream(text, expectedUpdates) {
  const results = readEvents(text)
  const updates = results.filter((result) => result.artifactUpdate)
  const isTaskFirst = Boolean(results[0]?.task)
  const isCompletedLast = finalState(results.at(-1)) === 'TASK_STATE_COMPLETED'
  if (!isTaskFirst || !isCompletedLast || updates.length !== expectedUpdates) {
    throw new Error(`Wanted a task, ${expectedUpdates} chunks and COMPLETED, got ${text.slice(0, 2000)}`)
  }
  assertInOrder(updates)
}

function readEvents(text) {
  return text
    .split('\n')
    .filter((line) => line.startsWith('data:'))
    .map((line) => resultOf(JSON.parse(line.slice('data:'.length))))
}

function finalState(result) {
  return (result?.statusUpdate ?? result?.task)?.status.state
}

function assertInOrder(updates) {
  const numbers = updates.map(({ artifactUpdate }) =>
    Number(/^chunk (\d+) $/.exec(artifactUpdate.artifact.parts[0].text)?.[1]),
  )
  const isOrdered = numbers.every((number, index) => number === numbers[0] + index)
  if (!isOrdered) throw new Error(`Chunks out of order: ${numbers.slice(0, 20).join(', ')}…`)
}
