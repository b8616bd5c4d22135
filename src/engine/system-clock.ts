import { type Clock, uuidV7 } from '../model/clock.js'

const digitsPerId = 20

/** The machine's time and randomness. Randomness is fetched for many ids at once: a call for each costs more than the id. */
export function systemClock(): Clock {
  const pool = new Uint8Array((digitsPerId / 2) * 400)
  let digits = ''
  let used = 0
  return {
    now: Date.now,
    newId() {
      if (used >= digits.length) {
        crypto.getRandomValues(pool)
        digits = Buffer.from(pool).toString('hex')
        used = 0
      }
      used += digitsPerId
      return uuidV7(Date.now(), digits.slice(used - digitsPerId, used))
    },
  }
}
