import { type Clock, uuidTime, uuidV7 } from '../model/clock.js'

const digitsPerId = 20

/** Starts a timer of the clock. Repeating timers of the platform do not keep the process alive. */
export function startTimer(
  clock: Clock,
  callback: () => void,
  ms: number,
  options: { readonly repeats?: boolean } = {},
): () => void {
  if (clock.startTimer) return clock.startTimer(callback, ms, options)
  if (!options.repeats) {
    const timer = setTimeout(callback, ms)
    return () => clearTimeout(timer)
  }
  const timer = setInterval(callback, ms)
  timer.unref()
  return () => clearInterval(timer)
}

/**
 * A clock with the system's time and random ids (UUID version 7). It fetches random bytes for many ids at once and formats
 * the time once per millisecond, because both cost more than the rest of an id.
 */
export function systemClock(): Clock {
  const pool = new Uint8Array((digitsPerId / 2) * 400)
  let digits = ''
  let used = 0
  let lastMs = 0
  let time = ''
  return {
    now: Date.now,
    newId() {
      if (used >= digits.length) {
        crypto.getRandomValues(pool)
        digits = Buffer.from(pool).toString('hex')
        used = 0
      }
      used += digitsPerId
      const now = Date.now()
      if (now !== lastMs) {
        lastMs = now
        time = uuidTime(now)
      }
      return uuidV7(time, digits.slice(used - digitsPerId, used))
    },
  }
}

/** Returns a function for the current time in ISO 8601. Its times never go back, even if the clock is set back (R-TASK-6). */
export function createTimestamps(clock: Pick<Clock, 'now'>): () => string {
  let lastMs = 0
  let timestamp = ''
  return () => {
    const now = clock.now()
    if (now > lastMs) {
      lastMs = now
      timestamp = new Date(now).toISOString()
    }
    return timestamp
  }
}
