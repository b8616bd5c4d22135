import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { Expired } from '../stores/store.js'
import type { Internals } from './internals.js'
import { startRetention } from './settings.js'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

it('goes on while there are more tasks or more keys than one sweep takes (E-11)', async () => {
  const answers: Expired[] = [
    { tasks: 0, keys: 500 },
    { tasks: 500, keys: 0 },
    { tasks: 2, keys: 3 },
  ]
  const expire = vi.fn(async () => answers.shift() ?? { tasks: 0, keys: 0 })
  const counts = { expiredTasks: 0 }
  const stop = startRetention({ name: 'a', store: { expire }, counts } as unknown as Internals, { sweepMs: 1000 })
  await vi.advanceTimersByTimeAsync(1000)
  stop()
  expect(expire).toHaveBeenCalledTimes(3)
  expect(counts.expiredTasks).toBe(502)
})
