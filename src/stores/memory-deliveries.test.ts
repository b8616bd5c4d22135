import { describe, expect, it } from 'vitest'
import { creation, key } from './contract-steps.js'
import { MemoryStore } from './memory.js'

describe('cursors in memory', () => {
  it('are claimed at a cost that does not depend on the number of waiting cursors', async () => {
    // A linear search would visit a thousand million cursors.
    const [tasks, claims] = [50_000, 20_000]
    let nowMs = 0
    const store = new MemoryStore({ now: () => nowMs })
    for (let n = 0; n < tasks; n++) {
      const config = { id: 'c', taskId: `t${n}`, url: 'https://x.example/' }
      await store.append({ ...creation(`t${n}`), pushConfig: { dialect: '1.0', config, maxConfigs: 1 } })
    }
    const seen = new Set<string>()
    const claim = () => store.deliveries.claim({ agents: ['a'], lease: { owner: 'p', ttlMs: 1000 }, limit: 1 })
    for (let n = 0; n < claims; n++) {
      const { cursors, nextInMs } = await claim()
      for (const cursor of cursors) seen.add(cursor.key.id)
      expect(nextInMs === 0).toBe(true)
    }
    expect(seen.size).toBe(claims)
    expect(seen.has(key(`t${claims}`).id)).toBe(false)
    nowMs += 1
    expect((await store.stats(['a']))[0]).toMatchObject({ cursorOverdueMs: 1 })
  })
})
