import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, it } from 'vitest'
import { append, chunk, creation, key } from '../contract-steps.js'
import type { CompleteStore } from '../store.js'
import { openSqliteStore, type SqliteStoreOptions } from './index.js'
import { clampedClock } from './leases.js'

const hourMs = 3_600_000
const minuteMs = 60_000
const leaseOf = (owner: string) => ({ owner, ttlMs: 15_000 })
const claimAs = (owner: string) => ({ agents: ['a'], lease: leaseOf(owner), limit: 10, maxRetryMs: 15 * minuteMs })

/** The clocks of one machine. */
const machine = { wallMs: 0, monotonicMs: 0 }
let folder = ''
let stores: CompleteStore[] = []

beforeEach(() => {
  machine.wallMs = 1_700_000_000_000
  machine.monotonicMs = 50_000
  folder = mkdtempSync(join(tmpdir(), 'dragoman-clock-'))
})
afterEach(async () => {
  for (const store of stores) await store.close()
  stores = []
  rmSync(folder, { recursive: true })
})

const now = () => machine.wallMs
const passMs = (ms: number) => {
  machine.wallMs += ms
  machine.monotonicMs += ms
}

/** Each call opens the same file, as a process does. */
async function open(options: SqliteStoreOptions): Promise<CompleteStore> {
  const store = await openSqliteStore(join(folder, 'tasks.sqlite'), { now, ...options })
  stores.push(store)
  return store
}

const withBootId = (epoch = 'boot-1') => open({ leaseClock: { epoch, now: () => machine.monotonicMs } })
const withoutBootId = () => open({ leaseClock: clampedClock(now, () => machine.monotonicMs) })

/** A task that runs in the process of `store`. */
async function runTask(store: CompleteStore, owner: string): Promise<number> {
  const outcome = await store.append({ ...creation('t1'), lease: leaseOf(owner), isRunnable: true })
  assert.equal(outcome.result, 'ok')
  return outcome.fencingToken
}

/** A webhook that failed and is tried again after `retryInMs`. */
async function failWebhook(store: CompleteStore, retryInMs: number): Promise<void> {
  await store.append(creation('t1'))
  const config = { id: 'h', taskId: 't1', url: 'https://x.example/h' }
  await store.deliveries.putConfig(key('t1'), { config, dialect: '1.0', maxConfigs: 1 })
  await store.append(append('t1', 3, [chunk('t1', 'x')]))
  const [cursor] = (await store.deliveries.claim(claimAs('p1'))).cursors
  assert.ok(cursor)
  const { fencingToken, seq } = cursor
  assert.ok(
    await store.deliveries.settle({
      key: key('t1'),
      configId: 'h',
      fencingToken,
      seq,
      attempts: 1,
      next: { retryInMs },
    }),
  )
}

const dueCursors = async (store: CompleteStore) => (await store.deliveries.claim(claimAs('p2'))).cursors.length

describe('a wall clock that is set while two processes use one file', () => {
  it.each([hourMs, -hourMs])('E-9: by %d ms moves no lease of the system clock', async (jumpMs) => {
    // The clocks of this machine, except that the wall clock is set.
    const [one, other] = [await open({}), await open({})]
    const fencingToken = await runTask(one, 'p1')
    machine.wallMs += jumpMs
    assert.deepEqual(await other.leases.claim(claimAs('p2')), [])
    assert.deepEqual(await other.leases.owners(), ['p1'])
    assert.deepEqual(await one.leases.renew([{ key: key('t1'), fencingToken }], leaseOf('p1')), [])
  })

  it.each([hourMs, -hourMs])('E-9: by %d ms neither shortens nor prolongs a lease', async (jumpMs) => {
    const [one, other] = [await withBootId(), await withBootId()]
    await runTask(one, 'p1')
    machine.wallMs += jumpMs
    passMs(14_999)
    assert.deepEqual(await other.leases.claim(claimAs('p2')), [])
    passMs(1)
    assert.deepEqual(await other.leases.claim(claimAs('p2')), [{ key: key('t1'), fencingToken: 2 }])
  })

  it.each([hourMs, -hourMs])('by %d ms changes no retry of a webhook', async (jumpMs) => {
    const [one, other] = [await withBootId(), await withBootId()]
    await failWebhook(one, minuteMs)
    machine.wallMs += jumpMs
    passMs(minuteMs - 1)
    assert.equal(await dueCursors(other), 0)
    passMs(1)
    assert.equal(await dueCursors(other), 1)
  })
})

describe('another boot', () => {
  it('E-9: ends all leases, also those in the future', async () => {
    const before = await withBootId('boot-1')
    await runTask(before, 'p1')
    machine.monotonicMs = 10
    const after = await withBootId('boot-2')
    assert.deepEqual(await after.leases.owners(), [])
    assert.deepEqual(await after.leases.claim(claimAs('p2')), [{ key: key('t1'), fencingToken: 2 }])
  })

  it('makes webhooks due that wait for a retry', async () => {
    await failWebhook(await withBootId('boot-1'), 15 * minuteMs)
    machine.monotonicMs = 10
    assert.equal(await dueCursors(await withBootId('boot-2')), 1)
  })

  it('is noticed by a process that uses the file on another machine', async () => {
    const one = await withBootId('boot-1')
    const fencingToken = await runTask(one, 'p1')
    await withBootId('boot-2')
    await assert.rejects(one.leases.claim(claimAs('p1')), /share no clock/)
    await assert.rejects(one.leases.renew([{ key: key('t1'), fencingToken }], leaseOf('p1')), /share no clock/)
  })
})

describe('a wall clock that is set where there is no boot id', () => {
  it('E-9: forward, leaves processes a minute to renew their leases', async () => {
    const [one, other] = [await withoutBootId(), await withoutBootId()]
    const fencingToken = await runTask(one, 'p1')
    machine.wallMs += hourMs
    passMs(14_999)
    assert.deepEqual(await other.leases.claim(claimAs('p2')), [])
    assert.deepEqual(await one.leases.renew([{ key: key('t1'), fencingToken }], leaseOf('p1')), [])
    for (let renewals = 0; renewals < 12; renewals++) {
      passMs(10_000)
      assert.deepEqual(await other.leases.claim(claimAs('p2')), [])
      assert.deepEqual(await one.leases.renew([{ key: key('t1'), fencingToken }], leaseOf('p1')), [])
    }
    passMs(15_000)
    assert.deepEqual(await other.leases.claim(claimAs('p2')), [{ key: key('t1'), fencingToken: 2 }])
  })

  it('E-9: back, makes no lease longer than four leases', async () => {
    const [one, other] = [await withoutBootId(), await withoutBootId()]
    await runTask(one, 'p1')
    machine.wallMs -= hourMs
    assert.deepEqual(await other.leases.claim(claimAs('p2')), [])
    passMs(4 * 15_000)
    assert.deepEqual(await other.leases.claim(claimAs('p2')), [{ key: key('t1'), fencingToken: 2 }])
  })

  it('back, delays no webhook by more than the longest retry', async () => {
    const [one, other] = [await withoutBootId(), await withoutBootId()]
    await failWebhook(one, minuteMs)
    machine.wallMs -= hourMs
    assert.equal(await dueCursors(other), 0)
    passMs(15 * minuteMs)
    assert.equal(await dueCursors(other), 1)
  })
})
