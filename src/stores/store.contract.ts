/**
 * The suite that every store passes. It takes the runner's `describe` and `it` and asserts with `node:assert`, so that
 * authors of other stores can run it in any test runner.
 */
import assert from 'node:assert/strict'
import { completeStore, type OptionalMember, optionalMembers, reopenStore, supports } from './complete-store.js'
import {
  append,
  type Check,
  chunk,
  creation,
  ending,
  key,
  message,
  type OpenStore,
  status,
  type TestRunner,
} from './contract-steps.js'
import { deliveriesContract } from './deliveries.contract.js'
import { expireContract, keysContract, statsContract } from './lifecycle.contract.js'
import { listContract, viewsContract } from './reads.contract.js'
import { recordsContract } from './records.contract.js'

/** Options of `storeContract`. */
export interface StoreContractOptions {
  /** Optional members that the store leaves out. The suite reports each, and leaves out the cases that need it. */
  readonly absent?: readonly (OptionalMember | 'runnable')[]
}

/** Members without a default that could pass cases. Those of the other optional members run for every store. */
const withoutDefault: ReadonlySet<OptionalMember> = new Set(['deliveries', 'records', 'bytesOf', 'expire', 'stats'])

/**
 * Registers the suite for a store.
 *
 * ```ts
 * // A store of the core and `runnable`, as in docs/writing-a-store.md
 * storeContract({ describe, it }, async () => mapStore(), {
 *   absent: [
 *     'leases', 'deliveries', 'records', 'changes', 'findKey', 'find', 'view', 'bytesOf', 'expire', 'stats',
 *     'watchCommits', 'ping',
 *   ],
 * })
 * ```
 */
export function storeContract(
  { describe, it }: TestRunner,
  open: OpenStore,
  { absent = [] }: StoreContractOptions = {},
): void {
  const has = (member: OptionalMember) => !withoutDefault.has(member) || !absent.includes(member)

  const check: Check = (name, body, needs = []) => {
    if (!needs.every(has)) return
    it(name, async () => {
      const clock = { ms: 1_000_000 }
      const now = () => clock.ms
      const store = await open({ now })
      try {
        await body(completeStore(store, { now }), clock)
      } finally {
        await store.close()
      }
    })
  }

  describe('optional members', () => {
    for (const member of optionalMembers) {
      const effect = withoutDefault.has(member) ? 'its cases are left out' : 'its cases run on the default'
      const isAbsent = absent.includes(member)
      it(isAbsent ? `\`${member}\` is absent: ${effect}` : `\`${member}\` is present`, async () => {
        const store = await open({ now: () => 1_000_000 })
        const isPresent = supports(store, member)
        await store.close()
        assert.equal(isPresent, !isAbsent, `implement \`${member}\`, or name it in \`absent\``)
      })
    }
  })

  describe('append and load', () => {
    check('creates a task and returns its events in order', async (store) => {
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

    check('finds no unknown tasks', async (store) => {
      assert.equal(await store.load(key('none')), undefined)
      assert.equal(await store.read(key('none'), 0, 10), undefined)
    })

    check('refuses to create the same id twice', async (store) => {
      assert.deepEqual(await store.append(creation('t1')), { result: 'ok', fencingToken: 0 })
      assert.deepEqual(await store.append(creation('t1')), { result: 'conflict' })
    })

    check('keeps agents apart that use the same task id', async (store) => {
      await store.append(creation('t1'))
      const other = { ...creation('t1'), key: { agent: 'other', id: 't1' } }
      assert.equal((await store.append(other)).result, 'ok')
      await store.append(append('t1', 3, [chunk('t1', 'x')]))
      assert.equal((await store.load({ agent: 'other', id: 't1' }))?.record.seq, 3)
    })

    check('returns `conflict` after a faster writer, and writes nothing', async (store) => {
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

    check('omits artifact events on request', async (store) => {
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

    check('returns the snapshot of an ended task, with or without its artifacts', async (store) => {
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
    check('reads a log in pages, without gaps or repetitions', async (store) => {
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

    check('ends a page of large events early, and the pages are whole', async (store) => {
      await store.append(creation('t1'))
      const large = 'x'.repeat(256 * 1024)
      for (let seq = 3; seq < 20; seq++) await store.append(append('t1', seq, [chunk('t1', large)]))
      let after = 0
      for (;;) {
        const events = await store.read(key('t1'), after, 512)
        assert.ok(events)
        if (events.length === 0) break
        assert.ok(events.length <= 4, `${events.length} events of 256 KB at once`)
        assert.deepEqual(
          events.map(({ seq }) => seq),
          events.map((_, place) => after + place + 1),
        )
        after += events.length
      }
      assert.equal(after, 20)
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

    check('raise the fencing token with every claim, and refuse writers with an older one', async (store, clock) => {
      assert.deepEqual(await store.append({ ...creation('t1'), lease, isRunnable: true }), {
        result: 'ok',
        fencingToken: 1,
      })
      clock.ms += 2000
      const [claimed] = await store.leases.claim({ agents: ['a'], lease: { owner: 'p2', ttlMs: 1000 }, limit: 5 })
      assert.deepEqual(claimed, { key: key('t1'), fencingToken: 2 })
      assert.equal(
        (await store.append({ ...append('t1', 3, [chunk('t1', 'late')]), fencingToken: 1 })).result,
        'fenced',
      )
      assert.equal((await store.append({ ...append('t1', 3, [chunk('t1', 'new')]), fencingToken: 2 })).result, 'ok')
    })

    check(
      'return `fenced` to a writer with an older fencing token, for every sequence it has seen',
      async (store, clock) => {
        await store.append({ ...creation('t1'), lease, isRunnable: true })
        clock.ms += 2000
        await store.leases.claim({ agents: ['a'], lease: { owner: 'p2', ttlMs: 1000 }, limit: 5 })
        await store.append({ ...append('t1', 3, [chunk('t1', 'new')]), fencingToken: 2 })
        assert.equal(
          (await store.append({ ...append('t1', 3, [chunk('t1', 'late')]), fencingToken: 1 })).result,
          'fenced',
        )
      },
    )

    check('are not given to others before they expire', async (store) => {
      await store.append({ ...creation('t1'), lease, isRunnable: true })
      assert.deepEqual(await store.leases.claim({ agents: ['a'], lease: { owner: 'p2', ttlMs: 1000 }, limit: 5 }), [])
      const step = { ...append('t1', 3, [chunk('t1', 'x')]), lease: { owner: 'p2', ttlMs: 1000 } }
      assert.equal((await store.append(step)).result, 'conflict')
      assert.equal((await store.load(key('t1')))?.record.leaseOwner, 'p1')
    })

    check('are prolonged by renewing, and a lost one is reported', async (store, clock) => {
      await store.append({ ...creation('t1'), lease, isRunnable: true })
      clock.ms += 900
      assert.deepEqual(await store.leases.renew([{ key: key('t1'), fencingToken: 1 }], lease), [])
      clock.ms += 900
      assert.deepEqual(await store.leases.claim({ agents: ['a'], lease: { owner: 'p2', ttlMs: 1000 }, limit: 5 }), [])
      clock.ms += 900
      await store.leases.claim({ agents: ['a'], lease: { owner: 'p2', ttlMs: 1000 }, limit: 5 })
      assert.deepEqual(await store.leases.renew([{ key: key('t1'), fencingToken: 1 }], lease), [
        { key: key('t1'), fencingToken: 1 },
      ])
    })

    check('are claimed for the named agents only, up to the limit', async (store) => {
      for (const id of ['t1', 't2', 't3']) await store.append({ ...creation(id), isRunnable: true })
      await store.append({ ...creation('t4'), key: { agent: 'b', id: 't4' }, isRunnable: true })
      assert.equal((await store.leases.claim({ agents: ['a'], lease, limit: 2 })).length, 2)
      assert.equal((await store.leases.claim({ agents: ['a', 'b'], lease, limit: 9 })).length, 2)
      assert.equal((await store.leases.claim({ agents: ['a', 'b'], lease, limit: 9 })).length, 0)
    })

    check('are free again once released, and tasks without work are not claimed', async (store) => {
      await store.append({ ...creation('t1'), lease, isRunnable: true })
      await store.append({
        ...append('t1', 3, [chunk('t1', 'x')]),
        fencingToken: 1,
        lease: 'release',
        isRunnable: false,
      })
      assert.deepEqual(await store.leases.claim({ agents: ['a'], lease, limit: 5 }), [])
      const accepted = { accepted: { turn: 2, message: message('again') } }
      const again = { ...append('t1', 4, [accepted]), lease: { owner: 'p2', ttlMs: 1000 }, isRunnable: true }
      assert.deepEqual(await store.append(again), { result: 'ok', fencingToken: 2 })
    })

    check('of a dead owner end at once', async (store) => {
      await store.append({ ...creation('t1'), lease, isRunnable: true })
      assert.deepEqual(await store.leases.owners(), ['p1'])
      await store.leases.disown('p1')
      assert.deepEqual(await store.leases.owners(), [])
      assert.equal((await store.leases.claim({ agents: ['a'], lease: { owner: 'p2', ttlMs: 9 }, limit: 1 })).length, 1)
    })
  })

  describe('runnable tasks', () => {
    it('that an earlier process left behind are found, for each agent its own', async () => {
      const now = () => 1_000_000
      const store = await open({ now })
      try {
        const isLeftOut = !store.leases && !store.runnable
        assert.equal(absent.includes('runnable'), isLeftOut, 'implement `runnable`, or name it in `absent`')
        if (isLeftOut) return
        const first = completeStore(store, { now })
        const ofB = { agent: 'b', id: 't2' }
        await first.append({ ...creation('t1'), isRunnable: true })
        await first.append({ ...creation('t2'), key: ofB, isRunnable: true })
        await first.append({ ...creation('t3'), isRunnable: true })
        await first.append({ ...append('t3', 3, [chunk('t3', 'x')]), isRunnable: false })
        if (!store.leases) assert.deepEqual(await store.runnable?.('a'), [key('t1')])
        const { leases } = reopenStore(store, { now })
        const lease = { owner: 'p2', ttlMs: 1000 }
        const claimedOf = async (agent: string) =>
          (await leases.claim({ agents: [agent], lease, limit: 9 })).map((claimed) => claimed.key)
        assert.deepEqual(await claimedOf('a'), [key('t1')])
        assert.deepEqual(await claimedOf('b'), [ofB])
      } finally {
        await store.close()
      }
    })
  })

  describe('requests from outside the lease', () => {
    check('queue messages and request cancels while another process runs the task', async (store) => {
      await store.append({ ...creation('t1'), lease: { owner: 'p1', ttlMs: 1000 }, isRunnable: true })
      const outside = [{ accepted: { turn: 2, message: message('more') } }, { cancelAsked: {} }]
      assert.equal((await store.append(append('t1', 3, outside))).result, 'ok')
      assert.equal((await store.append({ ...append('t1', 3, [chunk('t1', 'x')]), fencingToken: 1 })).result, 'conflict')
      assert.equal((await store.append({ ...append('t1', 5, [chunk('t1', 'x')]), fencingToken: 1 })).result, 'ok')
      assert.equal((await store.load(key('t1')))?.record.leaseOwner, 'p1')
    })
  })

  viewsContract(describe, check)
  keysContract(describe, check)
  listContract(describe, check)
  if (has('deliveries')) deliveriesContract(describe, check)
  if (has('stats')) statsContract(describe, check)
  if (has('expire')) expireContract(describe, check)
  if (has('records')) describe('records', () => recordsContract({ describe, it }, open))
  describe('watchCommits', () => {
    check('reports groups of steps until unwatched, if there are groups', async (store) => {
      let steps = 0
      let commits = 0
      const unwatch = store.watchCommits((commit) => {
        assert.ok(commit.durationMs >= 0)
        steps += commit.steps
        commits += 1
      })
      await Promise.all(['t1', 't2', 't3'].map((id) => store.append(creation(id))))
      unwatch()
      const before = commits
      await store.append(creation('t4'))
      assert.equal(commits, before)
      assert.equal(steps, commits === 0 ? 0 : 3)
    })
  })

  describe('watch', () => {
    check('reports new events until unwatched', async (store) => {
      await store.append(creation('t1'))
      let calls = 0
      let last = 0
      const unwatch = store.changes.watchTask(key('t1'), (seq) => {
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

    check('reports runnable tasks without a lease', async (store) => {
      let calls = 0
      const unwatch = store.changes.watchRunnable('a', () => {
        calls += 1
      })
      await store.append({ ...creation('t1'), isRunnable: true })
      unwatch()
      assert.ok(calls > 0)
    })
  })
}
