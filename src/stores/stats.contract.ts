/** The part of the suite that is about what operators ask for. */
import assert from 'node:assert/strict'
import { append, chunk, creation, ending, key } from './contract-steps.js'
import type { Check, TestRunner } from './store.contract.js'
import type { CompleteStore } from './store.js'

const nothing = { unheldTasks: 0, pendingCursors: 0, deadLetters: 0 }
const webhook = { dialect: '1.0', config: { id: 'h', taskId: 't1', url: 'https://x.example/h' }, maxConfigs: 10 }

async function statsOf(store: CompleteStore, agent = 'a') {
  const [stats] = await store.stats([agent])
  assert.ok(stats)
  return stats
}

export function statsContract(describe: TestRunner['describe'], check: Check): void {
  describe('stats', () => {
    check('of agents nobody has heard of are zero, in the order they were asked for', async (store) => {
      await store.append({ ...creation('t1'), isRunnable: true })
      assert.deepEqual(await store.stats(['none', 'a', 'other']), [nothing, { ...nothing, unheldTasks: 1 }, nothing])
      assert.deepEqual(await store.stats([]), [])
    })

    check('count work that nobody holds, and say when the first lease ends', async (store, clock) => {
      const lease = (ttlMs: number) => ({ lease: { owner: 'p1', ttlMs }, isRunnable: true })
      await store.append({ ...creation('t1'), ...lease(5000) })
      await store.append({ ...creation('t2'), ...lease(9000) })
      await store.append({ ...creation('t3'), isRunnable: true })
      await store.append(creation('t4'))
      assert.deepEqual(await statsOf(store), { ...nothing, unheldTasks: 1, leaseEndsInMs: 5000 })
      clock.ms += 6000
      assert.deepEqual(await statsOf(store), { ...nothing, unheldTasks: 2, leaseEndsInMs: 3000 })
      await store.append({ ...ending('t2', 3), lease: 'release' })
      assert.deepEqual(await statsOf(store), { ...nothing, unheldTasks: 2 })
    })

    check(
      'count webhooks with something to tell, and how long they have waited',
      async (store, clock) => {
        await store.append(creation('t1'))
        await store.deliveries.putConfig(key('t1'), webhook)
        assert.deepEqual(await statsOf(store), nothing)
        await store.append(append('t1', 3, [chunk('t1', 'x')]))
        clock.ms += 700
        assert.deepEqual(await statsOf(store), { ...nothing, pendingCursors: 1, cursorOverdueMs: 700 })
        const claim = { agents: ['a'], lease: { owner: 'p1', ttlMs: 1000 }, limit: 1 }
        const [cursor] = (await store.deliveries.claim(claim)).cursors
        assert.ok(cursor)
        // Somebody is at it.
        assert.deepEqual(await statsOf(store), { ...nothing, pendingCursors: 1 })
        await store.deliveries.settle({
          key: cursor.key,
          configId: 'h',
          fencingToken: cursor.fencingToken,
          seq: 4,
          attempts: 0,
          dead: [{ seq: 4, attempts: 3, error: 'gone' }],
          next: 'release',
        })
        assert.deepEqual(await statsOf(store), { ...nothing, deadLetters: 1 })
        assert.deepEqual(await statsOf(store, 'b'), nothing)
      },
      ['deliveries'],
    )
  })
}
