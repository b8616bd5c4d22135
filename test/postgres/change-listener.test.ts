/** Change notification between replicas, and polling without it. */
import assert from 'node:assert/strict'
import { openPostgresStore } from 'dragoman/stores/postgres'
import fc from 'fast-check'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Topic } from '../../src/engine/following/topic.js'
import { append, chunk, creation, key } from '../../src/stores/contract-steps.js'
import { tokenOf } from '../../src/stores/postgres/change-listener.js'
import type { CompleteStore } from '../../src/stores/store.js'
import { eventually } from '../hostile/waiting.js'
import { freshDatabase } from './database.js'
import { filteringProxy } from './filtering-proxy.js'
import { type PostgresServer, startPostgres } from './server.mjs'

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
}, 60_000)
afterAll(async () => await server[Symbol.asyncDispose](), 60_000)

const never = 3_600_000

describe('listening', () => {
  it('leaks no connection when the store is closed while it connects', async () => {
    const address = await freshDatabase(server)
    let isSilent = false
    await using proxy = await filteringProxy(address, () => (isSilent ? 'drop' : 'pass'))
    const store = await openPostgresStore(proxy.address)
    const before = proxy.clients
    isSilent = true
    store.changes.watchTask(key('t1'), () => undefined)
    await eventually(10_000, 'the connection to begin', () => proxy.clients > before)
    await store.close()
    await eventually(10_000, 'all connections to end', () => proxy.clients === 0)
  })

  it('is retried after it did not work, and both are reported to the operator', async () => {
    const address = await freshDatabase(server)
    let isDropping = true
    await using pooler = await filteringProxy(address, (type) => (type === 'A' && isDropping ? 'drop' : 'pass'))
    const notices: string[] = []
    const store = await openPostgresStore(pooler.address, { listenAgainMs: 1, onNotice: (text) => notices.push(text) })
    store.changes.watchTask(key('t1'), () => undefined)
    await eventually(20_000, 'a notice to the operator', () => notices.length > 0)
    isDropping = false
    await eventually(20_000, 'a notice that it works', () => notices.length > 1)
    expect(notices).toEqual([expect.stringContaining('LISTEN does not work'), 'LISTEN works again'])
    await store.close()
  })

  it('wakes for the agents that are watched, and for no others', async () => {
    const address = await freshDatabase(server)
    const here = await openPostgresStore(address, { pollMs: never, busyPollMs: never })
    const there = await openPostgresStore(address)
    let woken = 0
    here.changes.watchRunnable('a', () => {
      woken += 1
    })
    // The listener polls once when it starts, for commits that it was not notified of.
    await eventually(10_000, 'the first poll', () => woken > 0)
    const before = woken
    for (const id of ['t1', 't2', 't3'])
      await there.append({ ...creation(id), key: { agent: 'other', id }, isRunnable: true })
    let isNotified = false
    here.changes.watchTask(key('t4'), () => {
      isNotified = true
    })
    await there.append({ ...creation('t4'), isRunnable: true })
    await eventually(10_000, 'the last notification', () => isNotified)
    assert.equal(woken, before + 1)
    await here.close()
    await there.close()
  })
})

describe('notifying', () => {
  it('sends one message for a group of commits', async () => {
    const address = await freshDatabase(server)
    const store = await openPostgresStore(address)
    const ids = ['t1', 't2', 't3', 't4', 't5']
    await Promise.all(ids.map((id) => store.append(creation(id))))
    const listener = new pg.Client(address)
    const received: number[] = []
    listener.on('notification', ({ payload = '' }) => {
      const fourths = payload.split(' ').filter((word) => word.endsWith('.4'))
      if (fourths.length > 0) received.push(fourths.length)
    })
    await listener.connect()
    await listener.query('LISTEN dragoman')
    await Promise.all(ids.map((id) => store.append(append(id, 3, [chunk(id, 'x')]))))
    await store.close()
    await eventually(10_000, 'all notifications', () => received.reduce((sum, words) => sum + words, 0) === ids.length)
    assert.deepEqual(received, [ids.length])
    await listener.end()
  })
})

describe('notices that another login of the database sends', () => {
  /** A store that depends on notices alone, a store that writes, and a connection that forges notices. */
  async function listeningStore() {
    const address = await freshDatabase(server)
    const here = await openPostgresStore(address, { pollMs: never, busyPollMs: never })
    const there = await openPostgresStore(address)
    const forger = new pg.Client(address)
    await forger.connect()
    let looks = 0
    here.changes.watchRunnable('a', () => {
      looks += 1
    })
    // The listener polls once when it starts.
    await eventually(10_000, 'LISTEN', () => looks > 0)
    return {
      here,
      there,
      countLooks: () => looks,
      forge: async (payload: string) => void (await forger.query("SELECT pg_notify('dragoman', $1)", [payload])),
      async [Symbol.asyncDispose]() {
        await forger.end()
        await here.close()
        await there.close()
      },
    }
  }

  /** Notices keep their order: when this one has arrived, all earlier ones have. */
  async function assertListens(here: CompleteStore, there: CompleteStore, id: string): Promise<void> {
    let seen = 0
    const unwatch = here.changes.watchTask(key(id), (seq) => {
      seen = seq
    })
    assert.equal((await there.append(creation(id))).result, 'ok')
    await eventually(10_000, `the notice of ${id}`, () => seen === 3)
    unwatch()
  }

  it('cannot end the process or stop the listener with malformed words', async () => {
    await using stores = await listeningStore()
    const { here, there, forge } = stores
    here.records.watch('agents', () => undefined)
    for (const payload of ['x c%', 'x c%ff', 'x', '', ' ', 'x t', 'x t.', 'x r l c e', `x ${'c%'.repeat(3_900)}`])
      await forge(payload)
    await assertListens(here, there, 't1')
  })

  it('cannot end the process or stop the listener with random words', async () => {
    await using stores = await listeningStore()
    const { here, there, forge } = stores
    here.changes.watchTask(key('t1'), () => undefined)
    const word = fc.oneof(
      fc
        .tuple(fc.constantFrom('t', 'r', 'l', 'c', 'c%', 'e', '-'), fc.string({ unit: 'binary' }))
        .map(([a, b]) => a + b),
      fc.tuple(fc.constant(tokenOf(key('t1'))), fc.oneof(fc.double(), fc.string())).map(([a, b]) => `${a}.${b}`),
    )
    const payload = fc.array(word, { maxLength: 40 }).map((words) => words.join(' ').replaceAll('\0', ''))
    for (const text of fc.sample(payload, { seed: 20_260, numRuns: 300 })) await forge(text)
    await assertListens(here, there, 't2')
  })

  it('cannot silence a reader with a position that the log does not have', async () => {
    await using stores = await listeningStore()
    const { here, there, forge } = stores
    await there.append(creation('t1'))
    const topic = new Topic(key('t1'), here, () => undefined)
    const follower = topic.follow(3)
    const next = async () => {
      for (;;) {
        const batch = await topic.next(follower)
        if (Array.isArray(batch)) return batch.map(({ seq }) => seq)
      }
    }
    for (const seq of [3, 4]) {
      const read = next()
      await forge(`x ${tokenOf(key('t1'))}.999999`)
      await assertListens(here, there, `after-${seq}`)
      await there.append(append('t1', seq, [chunk('t1', 'x')]))
      assert.deepEqual(await read, [seq + 1])
    }
    topic.leave(follower)
  })

  it('wake each target once, however often a notice repeats it', async () => {
    await using stores = await listeningStore()
    const { here, there, countLooks, forge } = stores
    await assertListens(here, there, 't1')
    const woken: number[] = []
    here.changes.watchTask(key('t1'), (seq) => woken.push(seq))
    const before = countLooks()
    // The first agent of a database has the number 1.
    await forge(`x${' r1'.repeat(2_000)}`)
    await forge(`x${` ${tokenOf(key('t1'))}.7`.repeat(300)}`)
    await assertListens(here, there, 't2')
    assert.deepEqual([countLooks() - before, woken], [1, [7]])
  })
})
