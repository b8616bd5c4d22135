import type { Clock } from '../model/clock.js'

/** A clock that moves when it is told to, and ids that can be read: `id-1`, `id-2`, … */
export interface FakeClock extends Clock {
  advance(ms: number): void
}

export function fakeClock(startMs = Date.UTC(2026, 0, 5, 8)): FakeClock {
  let now = startMs
  let ids = 0
  return {
    now: () => now,
    newId: () => {
      ids += 1
      return `id-${ids}`
    },
    advance: (ms) => {
      now += ms
    },
  }
}
