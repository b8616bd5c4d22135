import { expect, it, vi } from 'vitest'
import type { Expired } from '../stores/store.js'
import { fakeClock } from '../testing/fake-clock.js'
import { startRetention } from './settings.js'

it('continues while a step removes as many tasks or keys as its limit (E-11)', async () => {
  const answers: Expired[] = [
    { tasks: 0, keys: 500 },
    { tasks: 500, keys: 0 },
    { tasks: 2, keys: 3 },
  ]
  const expire = vi.fn(async () => answers.shift() ?? { tasks: 0, keys: 0 })
  const expired: number[] = []
  const onExpired = (tasks: number) => void expired.push(tasks)
  const onError = vi.fn()
  const clock = fakeClock()
  const stop = startRetention({ agent: 'a', store: { expire }, clock, onExpired, onError }, { sweepMs: 1000 })
  await clock.advance('1s')
  stop()
  expect(expire).toHaveBeenCalledTimes(3)
  expect(expired).toEqual([0, 500, 2])
  expect(onError).not.toHaveBeenCalled()
})
