const eventEnd = Buffer.from('\n\n')
const nothing = Buffer.alloc(0)

/**
 * Counts the artifact chunks of a stream and sees whether the task completed, in the raw bytes: cheap
 * enough for the measured part.
 *
 * @param {import('./dialects.mjs').Dialect} dialect
 */
export function createStreamCounter({ chunkMark, completed, farewell }) {
  const mark = Buffer.from(chunkMark)
  let chunks = 0
  // The event that tells of the end may be followed by one more, the farewell, in a piece of its own.
  let lastEvents = nothing
  let eventsBefore = nothing
  /** An event that has begun but not ended yet. */
  let open = nothing
  return {
    add(piece) {
      const bytes = open.length === 0 ? piece : Buffer.concat([open, piece])
      const lastEnd = bytes.lastIndexOf(eventEnd)
      const cut = lastEnd === -1 ? 0 : lastEnd + eventEnd.length
      open = bytes.subarray(cut)
      if (cut === 0) return
      eventsBefore = lastEvents
      lastEvents = bytes.subarray(0, cut)
      chunks += countMarks(lastEvents, mark)
    },
    counted() {
      const state = `"${completed}"`
      const isCompleted = lastEvents.includes(state) || eventsBefore.includes(state)
      const isWhole = farewell === undefined || lastEvents.includes(farewell)
      return { chunks, isCompleted: isCompleted && isWhole }
    },
  }
}

function countMarks(buffer, mark) {
  let count = 0
  for (let at = buffer.indexOf(mark); at !== -1; count++) {
    at = buffer.indexOf(mark, at + mark.length)
  }
  return count
}
