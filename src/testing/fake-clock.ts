import type { Clock } from '../model/clock.js'

/** Milliseconds, or a number with a unit: `'90s'`, `'5m'`, `'1h'`, `'7d'`. */
export type Duration = number | `${number}${'ms' | 's' | 'm' | 'h' | 'd'}`

/** A clock that stands still until `advance` moves it. Ids are readable: `id-1`, `id-2` and so on. */
export interface FakeClock extends Clock {
  /**
   * Moves the time and fires the timers that are due, in order. Resolves when the work that they started has had time to
   * finish. A repeating timer fires once for each call, at its last due time. Concurrent calls run one after the other.
   * Rejects after 10,000 timers at the same time, as a timer that restarts itself with 0 ms never ends.
   *
   * ```ts
   * await clock.advance('1h')
   * ```
   */
  advance(by: Duration): Promise<void>
  startTimer(callback: () => void, ms: number, options?: { readonly repeats?: boolean }): () => void
}

interface Timer {
  readonly callback: () => void
  /** Absent if the timer fires once. */
  readonly everyMs?: number
  dueMs: number
}

const maxTimersAtOnce = 10_000

/** Creates a clock for tests. `startMs` is its first time, in milliseconds since 1970. */
export function fakeClock(startMs = Date.UTC(2026, 0, 5, 8)): FakeClock {
  let now = startMs
  let ids = 0
  let last: Promise<void> = Promise.resolve()
  const timers = new Set<Timer>()
  const advanceBy = async (ms: number) => {
    const end = now + ms
    let firedNow = 0
    for (let next = nextTimer(timers, end); next; next = nextTimer(timers, end)) {
      firedNow = next.dueMs > now ? 1 : firedNow + 1
      if (firedNow > maxTimersAtOnce) {
        throw new Error(
          `More than ${maxTimersAtOnce} timers fired at the same time; start a timer that restarts itself with at least 1 ms`,
        )
      }
      now = Math.max(now, next.dueMs)
      if (next.everyMs === undefined) timers.delete(next)
      else next.dueMs += next.everyMs
      next.callback()
      await settled()
    }
    now = end
    await settled()
  }
  return {
    now: () => now,
    newId: () => {
      ids += 1
      return `id-${ids}`
    },
    startTimer(callback, ms, { repeats = false } = {}) {
      const timer: Timer = { callback, dueMs: now + ms, ...(repeats && { everyMs: Math.max(ms, 1) }) }
      timers.add(timer)
      return () => timers.delete(timer)
    },
    async advance(by) {
      const ms = millisecondsOf(by)
      const done = last.then(() => advanceBy(ms))
      last = done.catch(() => undefined)
      await done
    },
  }
}

/** The first timer that is due at `end`. A repeating timer is moved to the last time before `end`. */
function nextTimer(timers: Iterable<Timer>, end: number): Timer | undefined {
  let first: Timer | undefined
  for (const timer of timers) {
    if (timer.dueMs > end) continue
    if (timer.everyMs !== undefined) timer.dueMs += Math.floor((end - timer.dueMs) / timer.everyMs) * timer.everyMs
    if (!first || timer.dueMs < first.dueMs) first = timer
  }
  return first
}

const unitMs = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const

function millisecondsOf(duration: Duration): number {
  const [, amount, unit] = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(String(duration)) ?? []
  const ms = amount === undefined ? Number(duration) : Number(amount) * unitMs[unit as keyof typeof unitMs]
  if (ms >= 0 && Number.isFinite(ms)) return ms
  throw new TypeError(
    `Invalid duration: ${JSON.stringify(duration)}; write milliseconds or a number with a unit, such as '90s', '5m', '1h' or '7d'`,
  )
}

// Taken when the module is loaded: test runners replace the global one.
const { setImmediate } = globalThis

async function settled(): Promise<void> {
  for (let round = 0; round < 5; round++) await new Promise<void>((resolve) => setImmediate(resolve))
}
