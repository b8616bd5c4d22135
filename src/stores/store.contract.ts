/**
 * The suite every store passes. Takes the runner's `describe` and `it` and asserts with
 * `node:assert`, so that authors of other stores can run it anywhere.
 */
import assert from 'node:assert/strict'
import type { TaskState } from '../model/task.js'
import { append, chunk, creation, ending, key, message, status } from './contract-steps.js'
import { lanesContract } from './lanes.contract.js'
import { statsContract } from './stats.contract.js'
import type { Append, ListQuery, Store } from './store.js'

export interface TestRunner {
  describe(name: string, body: () => void): void
  it(name: string, body: () => Promise<void>): void
}

/** Opens an empty store that reads its time from `now`. */
export type OpenStore = (options: { readonly now: () => number }) => Promise<Store>

/** One case, on a store of its own with a clock that the case can move. */
export type Check = (name: string, body: (store: Store, clock: { ms: number }) => Promise<void>) => void

export function storeContract({ describe, it }: TestRunner, open: OpenStore): void {
  /** Runs one case on a store of its own, with a clock the case can move. */
  const check: Check = (name, body) =>
    it(name, async () => {
      const clock = { ms: 1_000_000 }
      const store = await open({ now: () => clock.ms })
      try {
        await body(store, clock)
      } finally {
        await store.close()
      }
    })

  describe('append and load', () => {
    check('creates a task and gives back its events in order', async (store) => {
      await store.append(creation('t1'))
      const loaded = await store.load(key('t1'))
      assert.deepEqual(
        loaded?.events.map(({ seq, body }) => [seq, Object.keys(body)[0]]),
        [
          [1, 'accepted'],
          [2, 'started'],
          [3, 'task'],
        ],
      )
      assert.equal(loaded.record.seq, 3)
      assert.equal(loaded.record.visibility, 'task')
      assert.equal(loaded.record.owner, 'ann')
      assert.equal(loaded.record.contextId, 'c1')
      assert.equal(loaded.record.dialect, '1.0')
    })

    check('knows nothing of tasks that were never made', async (store) => {
      assert.equal(await store.load(key('none')), undefined)
      assert.equal(await store.read(key('none'), 0, 10), undefined)
    })

    check('refuses to create the same id twice', async (store) => {
      assert.deepEqual(await store.append(creation('t1')), { result: 'ok', fence: 0 })
      assert.deepEqual(await store.append(creation('t1')), { result: 'conflict' })
    })

    check('keeps agents apart that use the same task id', async (store) => {
      await store.append(creation('t1'))
      const other = { ...creation('t1'), key: { agent: 'other', id: 't1' } }
      assert.equal((await store.append(other)).result, 'ok')
      await store.append(append('t1', 3, [chunk('t1', 'x')]))
      assert.equal((await store.load({ agent: 'other', id: 't1' }))?.record.seq, 3)
    })

    check('answers conflict when somebody was faster, and writes nothing', async (store) => {
      await store.append(creation('t1'))
      assert.equal((await store.append(append('t1', 3, [chunk('t1', 'a')]))).result, 'ok')
      assert.equal((await store.append(append('t1', 3, [chunk('t1', 'b')]))).result, 'conflict')
      assert.equal((await store.load(key('t1')))?.events.length, 4)
    })

    check('lets exactly one of many simultaneous appends win', async (store) => {
      await store.append(creation('t1'))
      const outcomes = await Promise.all(
        Array.from({ length: 20 }, (_, n) => store.append(append('t1', 3, [chunk('t1', String(n))]))),
      )
      assert.equal(outcomes.filter(({ result }) => result === 'ok').length, 1)
      assert.equal((await store.load(key('t1')))?.record.seq, 4)
    })

    check('leaves artifact events out when asked to', async (store) => {
      await store.append(creation('t1'))
      await store.append(append('t1', 3, [chunk('t1', 'a'), status('t1', 'TASK_STATE_WORKING'), chunk('t1', 'b')]))
      await store.append(append('t1', 6, [chunk('t1', 'c')]))
      const loaded = await store.load(key('t1'), { includeArtifacts: false })
      assert.deepEqual(
        loaded?.events.map(({ seq }) => seq),
        [1, 2, 3, 5],
      )
      assert.equal(loaded.record.seq, 7)
    })

    check('gives the snapshot of an ended task, with or without its artifacts', async (store) => {
      await store.append(creation('t1'))
      await store.append(ending('t1', 3))
      const loaded = await store.load(key('t1'))
      assert.equal(loaded?.snapshot?.artifacts?.length, 1)
      assert.deepEqual(loaded.events, [])
      const head = await store.load(key('t1'), { includeArtifacts: false })
      assert.equal(head?.snapshot && 'artifacts' in head.snapshot, false)
    })
  })

  describe('read', () => {
    check('pages through a log without gap or repetition', async (store) => {
      await store.append(creation('t1'))
      for (let seq = 3; seq < 40; seq++) await store.append(append('t1', seq, [chunk('t1', `${seq}`)]))
      const seen: number[] = []
      for (let after = 0; ; ) {
        const events = await store.read(key('t1'), after, 7)
        assert.ok(events)
        if (events.length === 0) break
        for (const { seq } of events) seen.push(seq)
        after = seen.at(-1) ?? 0
      }
      assert.deepEqual(
        seen,
        Array.from({ length: 40 }, (_, n) => n + 1),
      )
    })

    check('starts inside a batch that was committed at once', async (store) => {
      await store.append(creation('t1'))
      await store.append(append('t1', 3, [chunk('t1', 'a'), chunk('t1', 'b'), chunk('t1', 'c')]))
      const events = await store.read(key('t1'), 4, 100)
      assert.deepEqual(
        events?.map(({ seq }) => seq),
        [5, 6],
      )
    })

    check('still has the events of an ended task', async (store) => {
      await store.append(creation('t1'))
      await store.append(ending('t1', 3))
      assert.equal((await store.read(key('t1'), 0, 100))?.length, 5)
    })
  })

  describe('leases', () => {
    const lease = { owner: 'p1', ttlMs: 1000 }

    check('fence every claim and refuse writers with an older fence', async (store, clock) => {
      assert.deepEqual(await store.append({ ...creation('t1'), lease, isRunnable: true }), { result: 'ok', fence: 1 })
      clock.ms += 2000
      const [claimed] = await store.claim({ agents: ['a'], lease: { owner: 'p2', ttlMs: 1000 }, limit: 5 })
      assert.deepEqual(claimed, { key: key('t1'), fence: 2 })
      assert.equal((await store.append({ ...append('t1', 3, [chunk('t1', 'late')]), fence: 1 })).result, 'fenced')
      assert.equal((await store.append({ ...append('t1', 3, [chunk('t1', 'new')]), fence: 2 })).result, 'ok')
    })

    check('are not given away while they last', async (store) => {
      await store.append({ ...creation('t1'), lease, isRunnable: true })
      assert.deepEqual(await store.claim({ agents: ['a'], lease: { owner: 'p2', ttlMs: 1000 }, limit: 5 }), [])
      const step = { ...append('t1', 3, [chunk('t1', 'x')]), lease: { owner: 'p2', ttlMs: 1000 } }
      assert.equal((await store.append(step)).result, 'conflict')
      assert.equal((await store.load(key('t1')))?.record.leaseOwner, 'p1')
    })

    check('are prolonged by renewing, and a lost one is reported', async (store, clock) => {
      await store.append({ ...creation('t1'), lease, isRunnable: true })
      clock.ms += 900
      assert.deepEqual(await store.renew([{ key: key('t1'), fence: 1 }], lease), [])
      clock.ms += 900
      assert.deepEqual(await store.claim({ agents: ['a'], lease: { owner: 'p2', ttlMs: 1000 }, limit: 5 }), [])
      clock.ms += 900
      await store.claim({ agents: ['a'], lease: { owner: 'p2', ttlMs: 1000 }, limit: 5 })
      assert.deepEqual(await store.renew([{ key: key('t1'), fence: 1 }], lease), [{ key: key('t1'), fence: 1 }])
    })

    check('are claimed for the named agents only, and no more than asked for', async (store) => {
      for (const id of ['t1', 't2', 't3']) await store.append({ ...creation(id), isRunnable: true })
      await store.append({ ...creation('t4'), key: { agent: 'b', id: 't4' }, isRunnable: true })
      assert.equal((await store.claim({ agents: ['a'], lease, limit: 2 })).length, 2)
      assert.equal((await store.claim({ agents: ['a', 'b'], lease, limit: 9 })).length, 2)
      assert.equal((await store.claim({ agents: ['a', 'b'], lease, limit: 9 })).length, 0)
    })

    check('are free again once released, and tasks without work are not claimed', async (store) => {
      await store.append({ ...creation('t1'), lease, isRunnable: true })
      await store.append({ ...append('t1', 3, [chunk('t1', 'x')]), fence: 1, lease: 'release', isRunnable: false })
      assert.deepEqual(await store.claim({ agents: ['a'], lease, limit: 5 }), [])
      const accepted = { accepted: { turn: 2, message: message('again') } }
      const again = { ...append('t1', 4, [accepted]), lease: { owner: 'p2', ttlMs: 1000 }, isRunnable: true }
      assert.deepEqual(await store.append(again), { result: 'ok', fence: 2 })
    })

    check('of a dead owner end at once', async (store) => {
      await store.append({ ...creation('t1'), lease, isRunnable: true })
      assert.deepEqual(await store.leaseOwners(), ['p1'])
      await store.disown('p1')
      assert.deepEqual(await store.leaseOwners(), [])
      assert.equal((await store.claim({ agents: ['a'], lease: { owner: 'p2', ttlMs: 9 }, limit: 1 })).length, 1)
    })
  })

  describe('requests from outside the lease', () => {
    check('queue messages and ask for cancels while another process runs the task', async (store) => {
      await store.append({ ...creation('t1'), lease: { owner: 'p1', ttlMs: 1000 }, isRunnable: true })
      const outside = [{ accepted: { turn: 2, message: message('more') } }, { cancelAsked: {} }]
      assert.equal((await store.append(append('t1', 3, outside))).result, 'ok')
      assert.equal((await store.append({ ...append('t1', 3, [chunk('t1', 'x')]), fence: 1 })).result, 'conflict')
      assert.equal((await store.append({ ...append('t1', 5, [chunk('t1', 'x')]), fence: 1 })).result, 'ok')
      assert.equal((await store.load(key('t1')))?.record.leaseOwner, 'p1')
    })
  })

  describe('idempotency keys', () => {
    const idempotency = { key: 'k1', digest: 'd1', ttlMs: 5000 }
    const keyed = (id: string): Append => ({ ...creation(id), idempotency })

    check('make a send happen once', async (store) => {
      assert.equal((await store.append(keyed('t1'))).result, 'ok')
      assert.equal((await store.append(keyed('t2'))).result, 'key-taken')
      assert.equal(await store.load(key('t2')), undefined)
      const scope = { agent: 'a', tenant: '', owner: 'ann' }
      assert.deepEqual(await store.findKey(scope, 'k1'), { taskId: 't1', digest: 'd1', seq: 1 })
    })

    check('remember where a follow-up was accepted', async (store) => {
      await store.append(creation('t1'))
      const accepted = { accepted: { turn: 2, message: message('more') } }
      const step = { ...append('t1', 3, [accepted]), idempotency }
      assert.equal((await store.append(step)).result, 'ok')
      const again = { ...append('t1', 4, [accepted]), idempotency }
      assert.equal((await store.append(again)).result, 'key-taken')
      const scope = { agent: 'a', tenant: '', owner: 'ann' }
      assert.deepEqual(await store.findKey(scope, 'k1'), { taskId: 't1', digest: 'd1', seq: 4 })
    })

    check('go with their task', async (store, clock) => {
      await store.append(keyed('t1'))
      await store.append(ending('t1', 3, clock.ms))
      clock.ms += 1000
      await store.expire('a', { endedTasksMs: 1, limit: 10 })
      await store.append(creation('t2', undefined, 'bob'))
      assert.equal(await store.findKey({ agent: 'a', tenant: '', owner: 'ann' }, 'k1'), undefined)
    })

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

    check('are forgotten after their time, with the Message they kept', async (store, clock) => {
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
    })
  })

  describe('list', () => {
    const query = (more: Partial<ListQuery> = {}): ListQuery => ({
      agent: 'a',
      tenant: '',
      owner: 'ann',
      limit: 10,
      includeArtifacts: false,
      ...more,
    })
    const ids = async (store: Store, more: Partial<ListQuery> = {}) =>
      (await store.list(query(more))).tasks.map(({ record }) => record.key.id)

    /** t0 … t8: states in turn, two contexts, one second apart. */
    const fill = async (store: Store) => {
      const states: TaskState[] = ['TASK_STATE_WORKING', 'TASK_STATE_INPUT_REQUIRED', 'TASK_STATE_COMPLETED']
      for (let n = 0; n < 9; n++) {
        const state = states[n % 3] ?? 'TASK_STATE_WORKING'
        await store.append(creation(`t${n}`, { state, timeMs: 1000 * n, contextId: n < 4 ? 'c1' : 'c2' }))
      }
    }

    check('shows the newest status first', async (store) => {
      await fill(store)
      await store.append({
        ...append('t2', 3, [status('t2', 'TASK_STATE_WORKING')]),
        status: { state: 'TASK_STATE_WORKING', timeMs: 50_000 },
      })
      assert.deepEqual((await ids(store)).slice(0, 3), ['t2', 't8', 't7'])
    })

    check('combines its filters', async (store) => {
      await fill(store)
      assert.deepEqual(await ids(store, { contextId: 'c1' }), ['t3', 't2', 't1', 't0'])
      assert.deepEqual(await ids(store, { state: 'TASK_STATE_WORKING' }), ['t6', 't3', 't0'])
      assert.deepEqual(await ids(store, { statusTimeFromMs: 7000 }), ['t8', 't7'])
      assert.deepEqual(await ids(store, { state: 'TASK_STATE_WORKING', contextId: 'c1', statusTimeFromMs: 1 }), ['t3'])
      assert.equal((await store.list(query({ contextId: 'c2', state: 'TASK_STATE_COMPLETED' }))).total, 2)
    })

    check('pages with a stable cursor and an exact total, also among equal times', async (store) => {
      for (let n = 0; n < 25; n++) await store.append(creation(`t${n}`, { state: 'TASK_STATE_WORKING', timeMs: 7000 }))
      const seen: string[] = []
      let after: string | undefined
      do {
        const page = await store.list(query({ limit: 10, ...(after !== undefined && { after }) }))
        assert.equal(page.total, 25)
        for (const { record } of page.tasks) seen.push(record.key.id)
        after = page.next
        await store.append(creation(`later${seen.length}`, { state: 'TASK_STATE_WORKING', timeMs: 9000 }, 'bob'))
      } while (after !== undefined)
      assert.equal(seen.length, 25)
      assert.equal(new Set(seen).size, 25)
    })

    check('is confined to one agent, tenant and owner', async (store) => {
      await fill(store)
      assert.deepEqual(await ids(store, { owner: 'bob' }), [])
      assert.deepEqual(await ids(store, { tenant: 'x' }), [])
      assert.deepEqual(await ids(store, { agent: 'b' }), [])
    })

    check('leaves out sends that have no task yet or never will', async (store) => {
      const step = creation('t1')
      await store.append({ ...step, visibility: 'provisional' })
      assert.deepEqual(await store.list(query()), { tasks: [], total: 0 })
    })

    check('counts states as they change', async (store) => {
      await fill(store)
      await store.append(ending('t0', 3))
      assert.equal((await store.list(query({ state: 'TASK_STATE_COMPLETED' }))).total, 4)
      assert.equal((await store.list(query({ state: 'TASK_STATE_WORKING' }))).total, 2)
      assert.equal((await store.list(query())).total, 9)
    })
  })

  lanesContract(describe, check)
  statsContract(describe, check)

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
      const page = await store.list({ agent: 'a', tenant: '', owner: 'ann', limit: 9, includeArtifacts: false })
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
      assert.equal(await store.expire('a', { endedTasksMs: 1, limit: 10 }), 1)
      assert.equal(await store.load(key('t1')), undefined)
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

  describe('watch', () => {
    check('tells of new events until unwatched', async (store) => {
      await store.append(creation('t1'))
      let calls = 0
      let last = 0
      const unwatch = store.watch(key('t1'), (seq) => {
        calls += 1
        last = seq
      })
      await store.append(append('t1', 3, [chunk('t1', 'x')]))
      assert.equal(last, 4)
      unwatch()
      const before = calls
      await store.append(append('t1', 4, [chunk('t1', 'y')]))
      assert.equal(calls, before)
    })

    check('tells of work that nobody holds', async (store) => {
      let calls = 0
      const unwatch = store.watchRunnable('a', () => {
        calls += 1
      })
      await store.append({ ...creation('t1'), isRunnable: true })
      unwatch()
      assert.ok(calls > 0)
    })
  })
}
