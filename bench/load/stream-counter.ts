import type { Dialect } from './dialects.ts'
import type { StreamCount } from './driver.ts'

const eventEnd = Buffer.from('\n\n')
const nothing = Buffer.alloc(0)

export interface StreamCounter {
  add(piece: Buffer): void
  count(): StreamCount
}

/**
 * Counts the artifact chunks of a stream and checks that the task completed. It searches the raw bytes, which is cheap
 * enough for the measured part.
 */
export function createStreamCounter({ chunkMarker, completed, endMarker }: Dialect): StreamCounter {
  const marker = Buffer.from(chunkMarker)
  let chunks = 0
  // The end marker may follow the last status in a piece of its own.
  let lastEvents: Buffer = nothing
  let eventsBefore: Buffer = nothing
  /** The beginning of an incomplete event. */
  let rest: Buffer = nothing
  return {
    add(piece) {
      const bytes = rest.length === 0 ? piece : Buffer.concat([rest, piece])
      const lastEnd = bytes.lastIndexOf(eventEnd)
      const cut = lastEnd === -1 ? 0 : lastEnd + eventEnd.length
      rest = bytes.subarray(cut)
      if (cut === 0) return
      eventsBefore = lastEvents
      lastEvents = bytes.subarray(0, cut)
      chunks += countMarkers(lastEvents, marker)
    },
    count() {
      const state = `"${completed}"`
      const isCompleted = lastEvents.includes(state) || eventsBefore.includes(state)
      const hasEnd = endMarker === undefined || lastEvents.includes(endMarker)
      return { chunks, isCompleted: isCompleted && hasEnd }
    },
  }
}

function countMarkers(buffer: Buffer, marker: Buffer): number {
  let count = 0
  for (let position = buffer.indexOf(marker); position !== -1; count++) {
    position = buffer.indexOf(marker, position + marker.length)
  }
  return count
}
