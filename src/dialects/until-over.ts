import type { StreamResponse } from '../model/event.js'
import type { IncomingFrame, StreamDecoder } from './client-dialect.js'

export const nothing: readonly StreamResponse[] = []

/**
 * Reads a stream until its peer has said the last word: `[DONE]`, which clients of every dialect tolerate (RL-L2-1), or
 * a frame that is the last by what it says, for which `over` is called. What comes behind it is not read.
 */
export function untilOver(
  decode: (frame: IncomingFrame, over: () => void) => readonly StreamResponse[],
): StreamDecoder {
  let isOver = false
  const over = () => {
    isOver = true
  }
  return {
    get isOver() {
      return isOver
    },
    decode(frame) {
      if (frame.data === '[DONE]') over()
      return isOver ? nothing : decode(frame, over)
    },
  }
}
