/** Cases of `DeliveryStore`: push configs, delivery cursors and dead letters. */
import assert from 'node:assert/strict'
import { append, type Check, chunk, creation, ending, key, type TestRunner } from './contract-steps.js'
import type { ClaimedCursor, CompleteStore, CursorSettlement, NewPushConfig } from './store.js'

const lease = { owner: 'p1', ttlMs: 1000 }
const claim = { agents: ['a'], lease, limit: 10 }

function push(id: string, more: Partial<NewPushConfig> = {}): NewPushConfig {
  return { dialect: '1.0', config: { id, taskId: 't1', url: `https://x.example/${id}` }, maxConfigs: 10, ...more }
}

function stored(id: string) {
  const { maxConfigs: _most, ...rest } = push(id)
  return rest
}

/** Creates task `t1` with three events, and webhooks that have received them. */
async function withCursors(store: CompleteStore, ...ids: readonly string[]): Promise<void> {
  await store.append(creation('t1'))
  for (const id of ids) assert.equal(await store.deliveries.putConfig(key('t1'), push(id)), 'ok')
}

async function grow(store: CompleteStore, from: number, id = 't1'): Promise<void> {
  assert.equal((await store.append(append(id, from, [chunk(id, `${from}`)]))).result, 'ok')
}

async function claimOne(store: CompleteStore, more: Partial<typeof claim> = {}): Promise<ClaimedCursor> {
  const [cursor] = (await store.deliveries.claim({ ...claim, ...more })).cursors
  assert.ok(cursor, 'there is a cursor to claim')
  return cursor
}

function settlement(cursor: ClaimedCursor, more: Partial<CursorSettlement> = {}): CursorSettlement {
  const { key, push, fencingToken, seq } = cursor
  return { key, configId: push.config.id, fencingToken, seq, attempts: 0, next: 'release', ...more }
}

const idsOf = (cursors: readonly ClaimedCursor[]) => cursors.map(({ push: { config } }) => config.id)

export function deliveriesContract(describe: TestRunner['describe'], check: Check): void {
  describe('push configs', () => {
    check('are kept per task, overwritten by id, and deleted for good', async (store) => {
      await withCursors(store, 'b', 'a', 'c')
      await store.deliveries.putConfig(key('t1'), push('a', { dialect: '0.3' }))
      const list = await store.deliveries.listConfigs(key('t1'))
      assert.deepEqual(
        list.map((each) => [each.config.id, each.dialect]),
        [
          ['a', '0.3'],
          ['b', '1.0'],
          ['c', '1.0'],
        ],
      )
      const second = await store.deliveries.listConfigs(key('t1'), { limit: 1, afterId: 'a' })
      assert.deepEqual(second, [stored('b')])
      await store.deliveries.deleteConfig(key('t1'), 'b')
      await store.deliveries.deleteConfig(key('t1'), 'b')
      assert.equal(await store.deliveries.getConfig(key('t1'), 'b'), undefined)
      assert.deepEqual(await store.deliveries.getConfig(key('t1'), 'c'), stored('c'))
    })

    check('can be set together with a message', async (store) => {
      await store.append({
        ...creation('t1'),
        pushConfig: push('a', { setBy: 'ann', traceparent: '00-1-2-01', tracestate: 'a=b' }),
      })
      const kept = { ...stored('a'), setBy: 'ann', traceparent: '00-1-2-01', tracestate: 'a=b' }
      assert.deepEqual(await store.deliveries.listConfigs(key('t1')), [kept])
    })

    check('never exceed the limit of the task, even if many are set at once', async (store) => {
      await store.append(creation('t1'))
      const ids = Array.from({ length: 9 }, (_, n) => `c${n}`)
      const outcomes = await Promise.all(
        ids.map((id) => store.deliveries.putConfig(key('t1'), push(id, { maxConfigs: 3 }))),
      )
      assert.deepEqual(outcomes.filter((each) => each === 'full').length, 6)
      const kept = await store.deliveries.listConfigs(key('t1'))
      assert.equal(kept.length, 3)
      // An existing config may be replaced at the limit, whichever was stored first.
      const id = kept[0]?.config.id ?? ''
      assert.equal(await store.deliveries.putConfig(key('t1'), push(id, { maxConfigs: 3, dialect: '0.3' })), 'ok')
      await store.append({ ...append('t1', 3, [chunk('t1', 'x')]), pushConfig: push('late', { maxConfigs: 3 }) })
      assert.equal((await store.deliveries.listConfigs(key('t1'))).length, 3)
      assert.equal(await store.deliveries.putConfig(key('none'), push('c0')), 'no-task')
    })
  })

  describe('delivery cursors', () => {
    check('are due from the first event after their position, and not before', async (store) => {
      await withCursors(store, 'h')
      assert.deepEqual(await store.deliveries.claim(claim), { cursors: [] })
      await grow(store, 3)
      const cursor = await claimOne(store)
      assert.deepEqual(cursor, {
        key: key('t1'),
        push: stored('h'),
        seq: 3,
        attempts: 0,
        fencingToken: cursor.fencingToken,
      })
    })

    check('begin before the message that registered them', async (store) => {
      await store.append({ ...creation('t1'), pushConfig: push('h') })
      assert.equal((await claimOne(store)).seq, 0)
      await store.append({ ...append('t1', 3, [chunk('t1', 'x')]), pushConfig: push('later') })
      assert.deepEqual(
        (await store.deliveries.claim(claim)).cursors.map(({ push: { config }, seq }) => [config.id, seq]),
        [['later', 3]],
      )
    })

    check('are held by one claimer until the lease ends', async (store, clock) => {
      await withCursors(store, 'h')
      await grow(store, 3)
      const first = await claimOne(store)
      assert.deepEqual(await store.deliveries.claim(claim), { cursors: [], nextInMs: 1000 })
      await grow(store, 4)
      clock.ms += 999
      assert.deepEqual(await store.deliveries.claim(claim), { cursors: [], nextInMs: 1 })
      clock.ms += 1
      const second = await claimOne(store)
      assert.ok(second.fencingToken > first.fencingToken)
      assert.equal(await store.deliveries.settle(settlement(first, { seq: 5 })), false)
      assert.equal(await store.deliveries.settle(settlement(second, { seq: 4 })), true)
      assert.equal((await claimOne(store)).seq, 4)
    })

    check('go to exactly one of many concurrent claims', async (store) => {
      await withCursors(store, 'h')
      await grow(store, 3)
      const claims = await Promise.all(Array.from({ length: 8 }, () => store.deliveries.claim(claim)))
      assert.equal(claims.flatMap(({ cursors }) => cursors).length, 1)
    })

    check('can be moved and held for longer', async (store, clock) => {
      await withCursors(store, 'h')
      await grow(store, 3)
      const cursor = await claimOne(store)
      clock.ms += 900
      assert.equal(await store.deliveries.settle(settlement(cursor, { seq: 4, next: { holdMs: 1000 } })), true)
      clock.ms += 900
      assert.deepEqual(await store.deliveries.claim(claim), { cursors: [], nextInMs: 100 })
      clock.ms += 100
      assert.equal((await claimOne(store)).seq, 4)
    })

    check('are not due after the last event, and due again with the next one', async (store) => {
      await withCursors(store, 'h')
      await grow(store, 3)
      const cursor = await claimOne(store)
      await store.deliveries.settle(settlement(cursor, { seq: 4 }))
      assert.deepEqual(await store.deliveries.claim(claim), { cursors: [] })
      await grow(store, 4)
      assert.equal((await claimOne(store)).seq, 4)
    })

    check('miss no event that is appended while they are held', async (store) => {
      await withCursors(store, 'h')
      await grow(store, 3)
      const cursor = await claimOne(store)
      await grow(store, 4)
      await store.deliveries.settle(settlement(cursor, { seq: 4 }))
      assert.equal((await claimOne(store)).seq, 4)
    })

    check('wait for the given time after a failure, even if there are new events', async (store, clock) => {
      await withCursors(store, 'h', 'other')
      await grow(store, 3)
      const { cursors } = await store.deliveries.claim(claim)
      for (const cursor of cursors) {
        const isFailed = cursor.push.config.id === 'h'
        const next = isFailed ? { attempts: 3, next: { retryInMs: 5000 } } : { seq: 4 }
        await store.deliveries.settle(settlement(cursor, next))
      }
      await grow(store, 4)
      const now = await store.deliveries.claim(claim)
      assert.deepEqual([idsOf(now.cursors), now.nextInMs], [['other'], 1000])
      clock.ms += 5000
      const later = (await store.deliveries.claim(claim)).cursors
      assert.deepEqual(
        later.map(({ push: { config }, seq, attempts }) => [config.id, seq, attempts]),
        [
          ['other', 4, 0],
          ['h', 3, 3],
        ],
      )
    })

    check('are claimed longest due first, up to the limit, for the given agents', async (store, clock) => {
      for (const id of ['t3', 't1', 't2']) {
        await store.append(creation(id))
        await store.deliveries.putConfig(key(id), push('h'))
        await grow(store, 3, id)
        clock.ms += 10
      }
      const other = { agent: 'other', id: 't1' }
      await store.append({ ...creation('t1'), key: other, pushConfig: push('h') })
      const tasks = async (limit: number) => {
        const { cursors, nextInMs } = await store.deliveries.claim({ ...claim, limit })
        return [cursors.map((cursor) => cursor.key.id), nextInMs]
      }
      assert.deepEqual(await tasks(2), [['t3', 't1'], 0])
      assert.deepEqual(await tasks(2), [['t2'], 1000])
      const both = await store.deliveries.claim({ ...claim, agents: ['a', 'other'] })
      assert.deepEqual(
        both.cursors.map((cursor) => cursor.key),
        [other],
      )
    })

    check('are due at once, with no failed attempts, when their config is replaced', async (store) => {
      await withCursors(store, 'h')
      await grow(store, 3)
      const before = await claimOne(store)
      await store.deliveries.putConfig(key('t1'), push('h', { traceparent: '00-3-4-01' }))
      assert.deepEqual((await store.deliveries.claim(claim)).cursors, [], 'the same config changes nothing')
      await store.deliveries.settle(settlement(before, { attempts: 7, next: { retryInMs: 60_000 } }))
      const config = { ...push('h').config, token: 'new' }
      await store.deliveries.putConfig(key('t1'), push('h', { config }))
      const cursor = await claimOne(store)
      assert.deepEqual([cursor.push.config.token, cursor.seq, cursor.attempts], ['new', 3, 0])
      assert.equal(await store.deliveries.settle(settlement(before, { seq: 4 })), false)
    })

    check('are deleted with their config', async (store) => {
      await withCursors(store, 'h')
      await grow(store, 3)
      const cursor = await claimOne(store)
      await store.deliveries.settle(settlement(cursor, { seq: 4, dead: [{ seq: 4, attempts: 1, error: 'no' }] }))
      await grow(store, 4)
      const again = await claimOne(store)
      await store.deliveries.deleteConfig(key('t1'), 'h')
      assert.equal(await store.deliveries.settle(settlement(again)), false)
      await grow(store, 5)
      assert.deepEqual(await store.deliveries.claim(claim), { cursors: [] })
      assert.deepEqual(await store.deliveries.listDeadLetters({ agents: ['a'], limit: 9 }), [])
    })

    check('of a dead owner are due at once', async (store) => {
      await withCursors(store, 'h')
      await grow(store, 3)
      const cursor = await claimOne(store)
      assert.deepEqual(await store.leases.owners(), ['p1'])
      await store.leases.disown('p1')
      const next = await claimOne(store, { lease: { owner: 'p2', ttlMs: 1000 } })
      assert.equal(await store.deliveries.settle(settlement(cursor, { seq: 4 })), false)
      assert.deepEqual(await store.leases.owners(), ['p2'])
      await store.deliveries.settle(settlement(next, { seq: 4 }))
      assert.deepEqual(await store.leases.owners(), [])
    })

    check('are reported to watchers', async (store) => {
      let calls = 0
      const unwatch = store.changes.watchDeliveries('a', () => {
        calls += 1
      })
      await withCursors(store, 'h')
      const before = calls
      await grow(store, 3)
      assert.ok(calls > before)
      const cursor = await claimOne(store)
      await grow(store, 4)
      const held = calls
      await store.deliveries.settle(settlement(cursor, { seq: 4 }))
      assert.ok(calls > held, 'there are events after the settled position')
      unwatch()
      const after = calls
      await store.deliveries.settle(settlement(await claimOne(store), { seq: 5 }))
      await grow(store, 5)
      assert.equal(calls, after)
    })
  })

  describe('dead letters', () => {
    const bury = async (store: CompleteStore, id: string, owner: string) => {
      await store.append({ ...creation(id, undefined, owner), pushConfig: push('h') })
      const cursor = await claimOne(store)
      const dead = [
        { seq: 2, attempts: 4, error: 'refused\0' },
        { seq: 3, attempts: 1, error: 'gone' },
      ]
      assert.equal(await store.deliveries.settle(settlement(cursor, { seq: 3, dead })), true)
    }

    check('are stored with the new position, and listed in pages', async (store, clock) => {
      await bury(store, 't1', 'ann')
      clock.ms += 5
      await bury(store, 't2', 'bob')
      assert.deepEqual((await store.deliveries.claim(claim)).cursors, [])
      const all = await store.deliveries.listDeadLetters({ agents: ['a'], limit: 9 })
      assert.deepEqual(all.map(({ id: _, ...rest }) => rest)[0], {
        key: key('t1'),
        tenant: '',
        owner: 'ann',
        configId: 'h',
        seq: 2,
        attempts: 4,
        error: 'refused\0',
        timeMs: 1_000_000,
      })
      const tasks = async (query: object) =>
        (await store.deliveries.listDeadLetters({ agents: ['a'], limit: 9, ...query })).map((each) => [
          each.key.id,
          each.seq,
        ])
      assert.deepEqual(await tasks({ owner: 'bob' }), [
        ['t2', 2],
        ['t2', 3],
      ])
      assert.deepEqual(await tasks({ taskId: 't1', limit: 1 }), [['t1', 2]])
      assert.deepEqual(await tasks({ afterId: all[1]?.id, limit: 1 }), [['t2', 2]])
      assert.deepEqual(await tasks({ tenant: 'x' }), [])
      assert.deepEqual(await store.deliveries.listDeadLetters({ agents: ['b'], limit: 9 }), [])
      assert.deepEqual(await store.deliveries.listDeadLetters({ agents: [], limit: 9 }), [])
      assert.deepEqual(await store.deliveries.listDeadLetters({ limit: 9 }), all)
    })

    check('are found and deleted by id', async (store) => {
      await bury(store, 't1', 'ann')
      const [first, second] = await store.deliveries.listDeadLetters({ agents: ['a'], limit: 9 })
      assert.ok(first && second)
      assert.deepEqual(await store.deliveries.getDeadLetter(first.id), first)
      await store.deliveries.deleteDeadLetter(first.id)
      await store.deliveries.deleteDeadLetter(first.id)
      assert.equal(await store.deliveries.getDeadLetter(first.id), undefined)
      assert.equal(await store.deliveries.getDeadLetter('nonsense'), undefined)
      assert.deepEqual(await store.deliveries.listDeadLetters({ agents: ['a'], limit: 9 }), [second])
    })

    check('are not written when the claim was lost', async (store, clock) => {
      await withCursors(store, 'h')
      await grow(store, 3)
      const cursor = await claimOne(store)
      clock.ms += 1000
      await claimOne(store)
      const dead = [{ seq: 4, attempts: 1, error: 'x' }]
      assert.equal(await store.deliveries.settle(settlement(cursor, { seq: 4, dead })), false)
      assert.deepEqual(await store.deliveries.listDeadLetters({ agents: ['a'], limit: 9 }), [])
    })

    check(
      'are removed with their task, like configs and cursors (E-11)',
      async (store, clock) => {
        await bury(store, 't1', 'ann')
        await store.append(ending('t1', 3, clock.ms))
        clock.ms += 10_000
        await store.expire('a', { endedTasksMs: 5000, limit: 100 })
        assert.equal(await store.load(key('t1')), undefined)
        assert.deepEqual(await store.deliveries.listConfigs(key('t1')), [])
        assert.deepEqual(await store.deliveries.claim(claim), { cursors: [] })
        assert.deepEqual(await store.deliveries.listDeadLetters({ agents: ['a'], limit: 9 }), [])
      },
      ['expire'],
    )
  })
}
