import { expect, it, vi } from 'vitest'
import type { Expired } from '../stores/store.js'
import { fakeClock } from '../testing/fake-clock.js'
import type { Internals } from './internals.js'
import { startRetention } from './settings.js'

it('goes on while there are more tasks or more keys than one sweep takes (E-11)', async () => {
  const answers: Expired[] = [
    { tasks: 0, keys: 500 },
    { tasks: 500, keys: 0 },
    { tasks: 2, keys: 3 },
  ]
  const expire = vi.fn(async () => answers.shift() ?? { tasks: 0, keys: 0 })
  const counts = { expiredTasks: 0 }
  const clock = fakeClock()
  const stop = startRetention({ name: 'a', store: { expire }, counts, clock } as unknown as Internals, {
    sweepMs: 1000,
  })
  await clock.advance('1s')
  stop()
  expect(expire).toHaveBeenCalledTimes(3)
  expect(counts.expiredTasks).toBe(502)
})
