import { describe, expect, it } from 'vitest'
import { RateLimit } from './rate-limit.js'

function limit(rate: ConstructorParameters<typeof RateLimit>[0]) {
  let now = 0
  const wait = (ms: number) => {
    now += ms
  }
  return { limit: new RateLimit(rate, () => now), wait }
}

describe('RateLimit', () => {
  it('admits a burst, then the rate', () => {
    const { limit: rate, wait } = limit({ perSecond: 2, burst: 3 })
    expect([1, 2, 3].map(() => rate.take('a'))).toEqual([0, 0, 0])
    expect(rate.take('a')).toBe(1)
    wait(499)
    expect(rate.take('a')).toBe(1)
    wait(1)
    expect(rate.take('a')).toBe(0)
    expect(rate.take('a')).toBe(1)
  })

  it('returns the time to wait in whole seconds', () => {
    const { limit: rate } = limit({ perSecond: 0.1, burst: 1 })
    expect(rate.take('a')).toBe(0)
    expect(rate.waitFor('a')).toBe(10)
    expect(rate.take('a')).toBe(10)
  })

  it('does not count rejected requests', () => {
    const { limit: rate, wait } = limit({ perSecond: 1, burst: 1 })
    rate.take('a')
    for (let i = 0; i < 100; i++) rate.take('a')
    wait(1000)
    expect(rate.take('a')).toBe(0)
  })

  it('accumulates no more than the burst', () => {
    const { limit: rate, wait } = limit({ perSecond: 1000, burst: 2 })
    rate.take('a')
    wait(1e9)
    expect([1, 2, 3].map(() => rate.take('a') > 0)).toEqual([false, false, true])
  })

  it('counts each name separately', () => {
    const { limit: rate } = limit({ perSecond: 1, burst: 1 })
    expect([rate.take('a'), rate.take('b'), rate.take('a')]).toEqual([0, 0, 1])
  })

  it('keeps a bounded number of names and evicts the least recently used', () => {
    const { limit: rate } = limit({ perSecond: 0.001, burst: 2 })
    rate.take('a')
    for (let i = 0; i < 9_000; i++) rate.take(`first-${i}`)
    rate.take('a')
    for (let i = 0; i < 9_000; i++) rate.take(`second-${i}`)
    expect(rate.size).toBe(10_000)
    expect(rate.waitFor('a')).toBeGreaterThan(0)
    expect(rate.waitFor('first-0')).toBe(0)
  })

  it.each([{ perSecond: 0 }, { perSecond: -1 }, { perSecond: Number.NaN }, { perSecond: 1, burst: 0 }])(
    'rejects an invalid rate: %o',
    (rate) => {
      expect(() => new RateLimit(rate)).toThrow(TypeError)
    },
  )
})
