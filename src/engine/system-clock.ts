import { type Clock, uuidV7 } from '../model/clock.js'

const idsPerRefill = 256

/** The machine's time and randomness. Random bytes are fetched for many ids at once: one call each costs more than the id. */
export function systemClock(): Clock {
  const pool = new Uint32Array(idsPerRefill * 4)
  let used = pool.length
  return {
    now: Date.now,
    newId() {
      if (used === pool.length) {
        crypto.getRandomValues(pool)
        used = 0
      }
      used += 4
      return uuidV7(Date.now(), pool.subarray(used - 4, used))
    },
  }
}
