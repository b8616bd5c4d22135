/** Cases of retention, idempotency keys and stats. */
import assert from 'node:assert/strict'
import { wholeHistory } from '../model/history-window.js'
import { append, type Check, chunk, creation, ending, key, message, type TestRunner } from './contract-steps.js'
import type { Append, CompleteStore } from './store.js'

export function expireContract(describe: TestRunner['describe'], check: Check): void {
  describe('expire', () => {
    check('removes ended tasks and everything that belongs to them', async (store, clock) => {
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

    check('finds ended tasks among any number of open ones', async (store, clock) => {
      for (let n = 0; n < 30; n++) await store.append(creation(`open${n}`))
      await store.append(creation('t1'))
      await store.append(ending('t1', 3, clock.ms))
      clock.ms += 1000
      assert.deepEqual(await store.expire('a', { endedTasksMs: 1, limit: 10 }), { tasks: 1, keys: 0 })
      assert.equal(await store.load(key('t1')), undefined)
    })

    check('removes at most `limit` keys, and returns their number', async (store, clock) => {
      for (const id of ['t1', 't2', 't3'])
        await store.append({ ...creation(id), idempotency: { key: id, digest: 'd', ttlMs: 1 } })
      clock.ms += 1000
      assert.deepEqual(await store.expire('a', { limit: 2 }), { tasks: 0, keys: 2 })
      assert.deepEqual(await store.expire('a', { limit: 2 }), { tasks: 0, keys: 1 })
      assert.deepEqual(await store.expire('a', { limit: 2 }), { tasks: 0, keys: 0 })
    })

    check('can remove only the events, and keeps the snapshot', async (store, clock) => {
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

export function keysContract(describe: TestRunner['describe'], check: Check): void {
  describe('idempotency keys', () => {
    const idempotency = { key: 'k1', digest: 'd1', ttlMs: 5000 }
    const keyed = (id: string): Append => ({ ...creation(id), idempotency })

    check('make a send run once', async (store) => {
      assert.equal((await store.append(keyed('t1'))).result, 'ok')
      assert.equal((await store.append(keyed('t2'))).result, 'key-taken')
      assert.equal(await store.load(key('t2')), undefined)
      const scope = { agent: 'a', tenant: '', owner: 'ann' }
      assert.deepEqual(await store.findKey(scope, 'k1'), { taskId: 't1', digest: 'd1', seq: 1 })
    })

    check('are checked before the id of a new task: a repeated send is key-taken', async (store) => {
      await store.append(keyed('t1'))
      assert.equal((await store.append(keyed('t1'))).result, 'key-taken')
    })

    check('keep the sequence at which a follow-up was accepted', async (store) => {
      await store.append(creation('t1'))
      const accepted = { accepted: { turn: 2, message: message('more') } }
      const step = { ...append('t1', 3, [accepted]), idempotency }
      assert.equal((await store.append(step)).result, 'ok')
      const again = { ...append('t1', 4, [accepted]), idempotency }
      assert.equal((await store.append(again)).result, 'key-taken')
      const scope = { agent: 'a', tenant: '', owner: 'ann' }
      assert.deepEqual(await store.findKey(scope, 'k1'), { taskId: 't1', digest: 'd1', seq: 4 })
    })

    check(
      'are removed with their task',
      async (store, clock) => {
        await store.append(keyed('t1'))
        await store.append(ending('t1', 3, clock.ms))
        clock.ms += 1000
        await store.expire('a', { endedTasksMs: 1, limit: 10 })
        await store.append(creation('t2', undefined, 'bob'))
        assert.equal(await store.findKey({ agent: 'a', tenant: '', owner: 'ann' }, 'k1'), undefined)
      },
      ['expire'],
    )

    check('belong to one owner, tenant and agent', async (store) => {
      await store.append(keyed('t1'))
      for (const scope of [
        { agent: 'a', tenant: '', owner: 'bob' },
        { agent: 'a', tenant: 'x', owner: 'ann' },
        { agent: 'b', tenant: '', owner: 'ann' },
      ]) {
        assert.equal(await store.findKey(scope, 'k1'), undefined)
      }
    })

    check(
      'are removed after they expire, with their Message',
      async (store, clock) => {
        const step = keyed('t1')
        await store.append({ ...step, events: step.events.slice(0, 2), visibility: 'provisional' })
        await store.append({ ...append('t1', 2, [{ message: message('hi') }]), visibility: 'message' })
        assert.equal((await store.load(key('t1')))?.record.visibility, 'message')
        clock.ms += 6000
        assert.equal(await store.findKey({ agent: 'a', tenant: '', owner: 'ann' }, 'k1'), undefined)
        await store.append(creation('newer'))
        await store.expire('a', { limit: 100 })
        assert.equal(await store.load(key('t1')), undefined)
        assert.equal((await store.append(keyed('t3'))).result, 'ok')
      },
      ['expire'],
    )
  })
}

const nothing = { unheldTasks: 0, pendingCursors: 0, deadLetters: 0 }
const webhook = { dialect: '1.0', config: { id: 'h', taskId: 't1', url: 'https://x.example/h' }, maxConfigs: 10 }

async function statsOf(store: CompleteStore, agent = 'a') {
  const [stats] = await store.stats([agent])
  assert.ok(stats)
  return stats
}

export function statsContract(describe: TestRunner['describe'], check: Check): void {
  describe('stats', () => {
    check('of unknown agents are zero, in the order of the request', async (store) => {
      await store.append({ ...creation('t1'), isRunnable: true })
      assert.deepEqual(await store.stats(['none', 'a', 'other']), [nothing, { ...nothing, unheldTasks: 1 }, nothing])
      assert.deepEqual(await store.stats([]), [])
    })

    check('count tasks without a lease, and the time until the first lease ends', async (store, clock) => {
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
      'count cursors with events to deliver, and how long they have been due',
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
        // A held cursor is not due.
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
