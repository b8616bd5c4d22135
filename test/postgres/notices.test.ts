/** What replicas hear of each other, and what they do when they hear nothing. */
import assert from 'node:assert/strict'
import { openPostgresStore } from 'dragoman/stores/postgres'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { append, chunk, creation, key } from '../../src/stores/contract-steps.js'
import { eventually } from '../hostile/waiting.js'
import { freshDatabase } from './database.js'
import { meddlingProxy } from './meddling-proxy.js'
import { type PostgresServer, startPostgres } from './server.mjs'

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
}, 60_000)
afterAll(async () => await server[Symbol.asyncDispose](), 60_000)

const never = 3_600_000

describe('listening', () => {
  it('leaves no connection behind when the store is closed while it begins', async () => {
    const address = await freshDatabase(server)
    let isSilent = false
    await using proxy = await meddlingProxy(address, () => (isSilent ? 'drop' : 'pass'))
    const store = await openPostgresStore(proxy.address)
    const before = proxy.clients
    isSilent = true
    store.watch(key('t1'), () => undefined)
    await eventually(10_000, 'the connection to begin', () => proxy.clients > before)
    await store.close()
    await eventually(10_000, 'all connections to end', () => proxy.clients === 0)
  })

  it('is tried again where it did not work, and the operator is told of both', async () => {
    const address = await freshDatabase(server)
    let isDeaf = true
    await using pooler = await meddlingProxy(address, (type) => (type === 'A' && isDeaf ? 'drop' : 'pass'))
    const notices: string[] = []
    const store = await openPostgresStore(pooler.address, { listenAgainMs: 1, onNotice: (text) => notices.push(text) })
    store.watch(key('t1'), () => undefined)
    await eventually(20_000, 'the operator to be told', () => notices.length > 0)
    isDeaf = false
    await eventually(20_000, 'the operator to be told that it works', () => notices.length > 1)
    expect(notices).toEqual([expect.stringContaining('LISTEN is not possible'), 'LISTEN works again'])
    await store.close()
  })

  it('wakes for the agents that are watched, and for no others', async () => {
    const address = await freshDatabase(server)
    const here = await openPostgresStore(address, { pollMs: never, busyPollMs: never })
    const there = await openPostgresStore(address)
    let woken = 0
    here.watchRunnable('a', () => {
      woken += 1
    })
    // It looks once when it listens, for what it was not told.
    await eventually(10_000, 'the first look', () => woken > 0)
    const before = woken
    for (const id of ['t1', 't2', 't3'])
      await there.append({ ...creation(id), key: { agent: 'other', id }, isRunnable: true })
    let isHeard = false
    here.watch(key('t4'), () => {
      isHeard = true
    })
    await there.append({ ...creation('t4'), isRunnable: true })
    await eventually(10_000, 'the last word', () => isHeard)
    assert.equal(woken, before + 1)
    await here.close()
    await there.close()
  })
})

describe('telling', () => {
  it('says in one message what was committed together', async () => {
    const address = await freshDatabase(server)
    const store = await openPostgresStore(address)
    const ids = ['t1', 't2', 't3', 't4', 't5']
    await Promise.all(ids.map((id) => store.append(creation(id))))
    const listener = new pg.Client(address)
    const heard: number[] = []
    listener.on('notification', ({ payload = '' }) => {
      const fourths = payload.split(' ').filter((word) => word.endsWith('.4'))
      if (fourths.length > 0) heard.push(fourths.length)
    })
    await listener.connect()
    await listener.query('LISTEN dragoman')
    await Promise.all(ids.map((id) => store.append(append(id, 3, [chunk(id, 'x')]))))
    await store.close()
    await eventually(10_000, 'all to be told', () => heard.reduce((sum, words) => sum + words, 0) === ids.length)
    assert.deepEqual(heard, [ids.length])
    await listener.end()
  })
})
