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
 * The machine's time and randomness. Randomness is fetched for many ids at once, and the time is spelled
 * once a millisecond: both cost more than the rest of an id.
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
