/** A database that is away, in a bad mood, or behind something that meddles: nothing is lost, nothing is done twice. */
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

async function run(address: string, ...statements: readonly string[]): Promise<void> {
  const client = new pg.Client(address)
  await client.connect()
  for (const sql of statements) await client.query(sql)
  await client.end()
}

const dropConnections = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
  WHERE pid <> pg_backend_pid() AND datname = current_database() AND application_name = 'dragoman'`

describe('an answer that never arrives', () => {
  it('is found in the log: the step counts once', async () => {
    const address = await freshDatabase(server)
    let isArmed = false
    // The database has committed when it says so; the client never hears it.
    await using proxy = await meddlingProxy(address, (type) => {
      if (type !== 'C' || !isArmed) return 'pass'
      isArmed = false
      return 'cut'
    })
    const store = await openPostgresStore(proxy.address)
    isArmed = true
    assert.deepEqual(await store.append(creation('t1')), { result: 'ok', fence: 0 })
    assert.equal(isArmed, false, 'the connection was cut')
    isArmed = true
    assert.equal((await store.append(append('t1', 3, [chunk('t1', 'a'), chunk('t1', 'b')]))).result, 'ok')
    assert.equal(isArmed, false, 'the connection was cut again')
    assert.deepEqual(
      (await store.read(key('t1'), 0, 100))?.map(({ seq }) => seq),
      [1, 2, 3, 4, 5],
    )
    await store.close()
  })
})

describe('a pooler that lets no notifications through', () => {
  it('is noticed, said once, and made up for by asking', async () => {
    const address = await freshDatabase(server)
    await using pooler = await meddlingProxy(address, (type) => (type === 'A' ? 'drop' : 'pass'))
    const notices: string[] = []
    const here = await openPostgresStore(pooler.address, { onNotice: (text) => notices.push(text) })
    const there = await openPostgresStore(address)
    await there.append(creation('t1'))
    const seen: number[] = []
    here.watch(key('t1'), (seq) => seen.push(seq))
    await there.append(append('t1', 3, [chunk('t1', 'x')]))
    await eventually(5_000, 'the change to be found', () => seen.includes(4))
    await eventually(10_000, 'the operator to be told', () => notices.length > 0)
    await there.append(append('t1', 4, [chunk('t1', 'y')]))
    await eventually(5_000, 'the next change to be found', () => seen.includes(5))
    expect(notices).toEqual([expect.stringContaining('LISTEN')])
    await here.close()
    await there.close()
  })
})

describe('a pooler that gives every statement another connection', () => {
  it('is noticed: statements are sent without names then', async () => {
    const address = await freshDatabase(server)
    const store = await openPostgresStore(address, { connections: 1 })
    // After every call the connection has forgotten what it was told, as another one would never have heard of it.
    await run(
      address,
      `CREATE OR REPLACE FUNCTION dragoman.now_ms() RETURNS bigint LANGUAGE plpgsql AS
        $$ BEGIN EXECUTE 'DEALLOCATE ALL'; RETURN extract(epoch FROM clock_timestamp()) * 1000; END $$`,
    )
    for (const id of ['t1', 't2', 't3']) assert.equal((await store.append(creation(id))).result, 'ok')
    for (const id of ['t1', 't2', 't3']) assert.equal((await store.load(key(id)))?.record.seq, 3)
    await store.close()
  })
})

describe('a listener that loses its connection', () => {
  it('catches up from the log', async () => {
    const address = await freshDatabase(server)
    const here = await openPostgresStore(address, { pollMs: 60_000 })
    const there = await openPostgresStore(address)
    await there.append(creation('t1'))
    const seen: number[] = []
    here.watch(key('t1'), (seq) => seen.push(seq))
    await eventually(5_000, 'to be told of what was there', () => seen.includes(3))
    let expected = 3
    for (let round = 0; round < 5; round++) {
      await run(address, dropConnections)
      await there.append(append('t1', expected, [chunk('t1', 'x')]))
      expected += 1
      await eventually(5_000, `event ${expected}`, () => seen.includes(expected))
    }
    await here.close()
    await there.close()
  })
})

describe('a database that will not write', () => {
  it.each([
    [
      'because it is read-only for a while',
      (name: string) => [`ALTER DATABASE "${name}" SET default_transaction_read_only = on`, dropConnections],
      (name: string) => [`ALTER DATABASE "${name}" RESET default_transaction_read_only`, dropConnections],
    ],
    [
      'because its disk is full, or seems so (a real one: `full-disk.test.ts`, for root)',
      () => [
        `CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS
          $$ BEGIN RAISE EXCEPTION 'no space left' USING ERRCODE = 'disk_full'; END $$`,
        'CREATE TRIGGER full_disk BEFORE INSERT ON dragoman.events FOR EACH ROW EXECUTE FUNCTION full_disk()',
      ],
      () => ['DROP TRIGGER full_disk ON dragoman.events'],
    ],
  ])('%s refuses, acknowledges nothing, and is used again when it can', async (_why, begin, end) => {
    const address = await freshDatabase(server)
    const name = new URL(address).pathname.slice(1)
    const store = await openPostgresStore(address, { patienceMs: 300 })
    await store.append(creation('t1'))
    await run(address, ...begin(name))
    await assert.rejects(store.append(append('t1', 3, [chunk('t1', 'x')])))
    assert.equal((await store.load(key('t1')))?.record.seq, 3)
    // `default_transaction_read_only` is only the default: whoever sets it back says so for itself.
    await run(address, 'SET default_transaction_read_only = off', ...end(name))
    assert.equal((await store.append(append('t1', 3, [chunk('t1', 'x')]))).result, 'ok')
    await store.close()
  })

  it('waits out a restart that is quicker than its patience', async () => {
    const address = await freshDatabase(server)
    const store = await openPostgresStore(address, { patienceMs: 20_000 })
    await store.append(creation('t1'))
    await server.stop('immediate')
    const waiting = store.append(append('t1', 3, [chunk('t1', 'x')]))
    await server.start()
    assert.equal((await waiting).result, 'ok')
    await store.close()
  })
})

describe('a database that has no connection left', () => {
  it('is waited for, and used as soon as it has one', async () => {
    const address = await freshDatabase(server)
    await run(
      address,
      'CREATE ROLE few LOGIN CONNECTION LIMIT 2; GRANT CREATE ON DATABASE ' +
        `"${new URL(address).pathname.slice(1)}" TO few`,
    )
    const asFew = address.replace('postgres@', 'few@')
    const store = await openPostgresStore(asFew, { connections: 5, patienceMs: 20_000 })
    const steps = Array.from({ length: 40 }, (_, n) => store.append(creation(`t${n}`)))
    const reads = Array.from({ length: 40 }, () => store.load(key('t0')))
    await Promise.all(reads)
    for (const { result } of await Promise.all(steps)) assert.equal(result, 'ok')
    await store.close()
  })
})

describe('the schema', () => {
  it('is made once by many who start at the same moment, and refused when it is newer', async () => {
    const address = await freshDatabase(server)
    const stores = await Promise.all(Array.from({ length: 6 }, () => openPostgresStore(address)))
    await Promise.all(stores.map((store) => store.close()))
    await run(address, 'INSERT INTO dragoman.migrations VALUES (999)')
    await assert.rejects(openPostgresStore(address), /newer version/)
  })
})
