/** What is past its time goes; the rest stays. */
import assert from 'node:assert/strict'
import { wholeHistory } from '../model/history-window.js'
import { creation, ending, key } from './contract-steps.js'
import type { Check, TestRunner } from './store.contract.js'

export function expireContract(describe: TestRunner['describe'], check: Check): void {
  describe('expire', () => {
    check('removes ended tasks with all that belongs to them', async (store, clock) => {
      await store.append(creation('old', { state: 'TASK_STATE_WORKING', timeMs: clock.ms }))
      await store.append(ending('old', 3, clock.ms))
      clock.ms += 10_000
      await store.append(creation('open', { state: 'TASK_STATE_WORKING', timeMs: 1 }))
      await store.append(creation('new', { state: 'TASK_STATE_WORKING', timeMs: clock.ms }))
      await store.append(ending('new', 3, clock.ms))
      await store.expire('a', { endedTasksMs: 5000, limit: 100 })
      assert.equal(await store.load(key('old')), undefined)
      assert.ok(await store.load(key('open')))
      assert.ok(await store.load(key('new')))
      const page = await store.list({
        agent: 'a',
        tenant: '',
        owner: 'ann',
        limit: 9,
        history: wholeHistory,
        includeArtifacts: false,
      })
      assert.equal(page.total, 2)
    })

    check('keeps no more ended tasks than allowed, the newest', async (store, clock) => {
      for (let n = 0; n < 5; n++) {
        await store.append(creation(`t${n}`))
        clock.ms += 1000
        await store.append(ending(`t${n}`, 3, clock.ms))
      }
      await store.expire('a', { maxEndedTasks: 2, limit: 100 })
      const left = await Promise.all(['t0', 't1', 't2', 't3', 't4'].map((id) => store.load(key(id))))
      assert.deepEqual(
        left.map((each) => each?.record.key.id),
        [undefined, undefined, undefined, 't3', 't4'],
      )
    })

    check('reaches ended tasks behind any number of open ones', async (store, clock) => {
      for (let n = 0; n < 30; n++) await store.append(creation(`open${n}`))
      await store.append(creation('t1'))
      await store.append(ending('t1', 3, clock.ms))
      clock.ms += 1000
      assert.deepEqual(await store.expire('a', { endedTasksMs: 1, limit: 10 }), { tasks: 1, keys: 0 })
      assert.equal(await store.load(key('t1')), undefined)
    })

    check('removes keys a few at a time, and says how many', async (store, clock) => {
      for (const id of ['t1', 't2', 't3'])
        await store.append({ ...creation(id), idempotency: { key: id, digest: 'd', ttlMs: 1 } })
      clock.ms += 1000
      assert.deepEqual(await store.expire('a', { limit: 2 }), { tasks: 0, keys: 2 })
      assert.deepEqual(await store.expire('a', { limit: 2 }), { tasks: 0, keys: 1 })
      assert.deepEqual(await store.expire('a', { limit: 2 }), { tasks: 0, keys: 0 })
    })

    check('can remove the events alone; the snapshot stays', async (store, clock) => {
      await store.append(creation('t1'))
      await store.append(ending('t1', 3, clock.ms))
      clock.ms += 10_000
      await store.append(creation('t2'))
      await store.expire('a', { endedEventsMs: 5000, limit: 100 })
      assert.equal(await store.read(key('t1'), 2, 10), undefined)
      assert.deepEqual(await store.read(key('t1'), 5, 10), [])
      assert.equal((await store.load(key('t1')))?.snapshot?.id, 't1')
    })
  })
}
