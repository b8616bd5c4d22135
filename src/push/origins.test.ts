import { describe, expect, it } from 'vitest'
import { Origins } from './origins.js'

const origin = 'https://hook.example'
const ignored = () => undefined

function fill(origins: Origins, count: number, begin = ignored) {
  return Array.from({ length: count }, () => origins.enter(origin, begin))
}

describe('origins', () => {
  it('limit concurrent calls, let some wait and postpone the rest', () => {
    const origins = new Origins({ perOrigin: 2, now: () => 0 })
    const entries = fill(origins, 12)
    expect(entries.slice(0, 10)).toEqual(['go', 'go', ...Array(8).fill('wait')])
    expect(entries.slice(10)).toEqual([{ retryInMs: expect.any(Number) }, { retryInMs: expect.any(Number) }])
    expect(origins.enter('https://other.example', ignored)).toBe('go')
  })

  it('begin with the call that waited longest when a place is free', () => {
    const origins = new Origins({ perOrigin: 1, now: () => 0 })
    const begun: string[] = []
    for (const name of ['a', 'b', 'c']) origins.enter(origin, () => begun.push(name))
    origins.leave(origin, 10, false)
    expect(begun).toEqual(['b'])
    origins.leave(origin, 10, false)
    expect(begun).toEqual(['b', 'c'])
  })

  it('allow one call at a time while all fail, and all again after a success', () => {
    const origins = new Origins({ perOrigin: 4, now: () => 0 })
    for (let n = 0; n < 3; n++) {
      expect(origins.enter(origin, ignored)).toBe('go')
      origins.leave(origin, 10, true)
    }
    const entries = fill(origins, 3)
    expect(entries[0]).toBe('go')
    expect(entries.slice(1).every((entry) => typeof entry === 'object')).toBe(true)
    origins.leave(origin, 10, false)
    expect(fill(origins, 4)).toEqual(Array(4).fill('go'))
  })

  it('postpone calls for about as long as those before them take, up to a limit', () => {
    let now = 0
    const origins = new Origins({ perOrigin: 1, now: () => now })
    const waiting = 4
    fill(origins, 1 + waiting)
    // A place is taken for a second on average.
    for (let n = 0; n < 100; n++) {
      origins.leave(origin, 1000, false)
      origins.enter(origin, ignored)
    }
    const away = fill(origins, 200).map((entry) => (typeof entry === 'object' ? entry.retryInMs : 0))
    expect(away[0]).toBeLessThan(2000)
    expect(away[20]).toBeGreaterThan(10_000)
    expect(Math.max(...away)).toBeLessThanOrEqual(75_000)
    now += 60_000
    const [later] = fill(origins, 1)
    expect(typeof later === 'object' ? later.retryInMs : undefined).toBeLessThan(2000)
  })
})
