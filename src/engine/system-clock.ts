import type { Clock } from '../model/clock.js'

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
 * A clock with the system's time and random ids (UUID version 7). Ids are written into a buffer, many at once: joining
 * strings left 300 bytes of parts for each id, and every first use of an id had to copy them together.
 */
export function systemClock(): Clock {
  const random = new Uint8Array(randomBytesPerId * idsPerPool)
  const pool = Buffer.alloc(idLength * idsPerPool)
  let next = idsPerPool
  let lastMs = 0
  let time: Buffer = Buffer.alloc(0)
  const fill = () => {
    crypto.getRandomValues(random)
    for (let id = 0; id < idsPerPool; id++)
      writeRandomPart(pool, id * idLength + timeLength, random, id * randomBytesPerId)
    next = 0
  }
  return {
    now: Date.now,
    newId() {
      if (next === idsPerPool) fill()
      const start = next * idLength
      next += 1
      const now = Date.now()
      if (now !== lastMs) {
        lastMs = now
        time = timePart(now)
      }
      for (let place = 0; place < timeLength; place++) pool[start + place] = time[place] ?? 0
      return pool.toString('latin1', start, start + idLength)
    },
  }
}

const idsPerPool = 256
const idLength = 36
/** `01a1e4ab-c9a2`, 48 bits of time. */
const timeLength = 13
const randomBytesPerId = 10
const dash = 0x2d
const digits = Buffer.from('0123456789abcdef')
const variants = Buffer.from('89ab')

function timePart(timeMs: number): Buffer {
  const time = timeMs.toString(16).padStart(12, '0')
  return Buffer.from(`${time.slice(0, 8)}-${time.slice(8)}`)
}

/** Writes `-7xxx-yxxx-xxxxxxxxxxxx`: the version, the variant and 74 random bits. */
function writeRandomPart(pool: Buffer, start: number, random: Uint8Array, from: number): void {
  for (let place = 0; place < 20; place++) {
    const byte = random[from + (place >> 1)] ?? 0
    const digit = place % 2 === 0 ? byte >> 4 : byte & 15
    // After the dashes: one before the version, the variant and the last group.
    pool[start + place + 1 + (place >= 4 ? 1 : 0) + (place >= 8 ? 1 : 0)] = digits[digit] ?? 0
  }
  pool[start] = pool[start + 5] = pool[start + 10] = dash
  pool[start + 1] = 0x37
  pool[start + 6] = variants[(random[from + 2] ?? 0) >> 6] ?? 0
}

/** Timestamps in ISO 8601. They never go back, even if the clock is set back (R-TASK-6). */
export class Timestamps {
  readonly #clock: Pick<Clock, 'now'>
  #lastMs = 0
  #last = ''

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock
  }

  /** The current time. */
  now(): string {
    const now = this.#clock.now()
    if (now > this.#lastMs) {
      this.#lastMs = now
      this.#last = new Date(now).toISOString()
    }
    return this.#last
  }

  /** Milliseconds since 1970. Most timestamps are the last one, which is not parsed. */
  msOf(timestamp: string): number {
    return timestamp === this.#last ? this.#lastMs : Date.parse(timestamp)
  }
}
