import { describe, expect, it } from 'vitest'
import { MemoryStore } from '../stores/memory.js'
import { followLog } from './follow-log.js'

describe('following a log', () => {
  it('yields to the event loop every few changes, also in a long log', async () => {
    const { records } = new MemoryStore()
    for (let n = 0; n < 130; n++) await records.put('c', `d${n}`, n)
    let turn = 0
    let isOver = false
    const next = () => {
      turn += 1
      if (!isOver) setImmediate(next)
    }
    setImmediate(next)
    const applied = new Map<number, number>()
    const apply = () => applied.set(turn, (applied.get(turn) ?? 0) + 1)
    const log = followLog(records, 'c', { apply, reset: () => undefined }, () => undefined)
    await log.caughtUp()
    isOver = true
    log.stop()
    const counts = [...applied.values()]
    expect(counts.reduce((sum, each) => sum + each, 0)).toBe(130)
    expect(Math.max(...counts)).toBeLessThanOrEqual(4)
  })
})
