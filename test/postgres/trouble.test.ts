/** An unreachable or failing database, or one behind a pooler: no commit is lost or repeated. */
import assert from 'node:assert/strict'
import { openPostgresStore } from 'dragoman/stores/postgres'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { append, chunk, creation, key } from '../../src/stores/contract-steps.js'
import { tokenOf } from '../../src/stores/postgres/change-listener.js'
import { eventually } from '../hostile/waiting.js'
import { freshDatabase } from './database.js'
import { filteringProxy } from './filtering-proxy.js'
import { type PostgresServer, startPostgres } from './server.mjs'

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
}, 60_000)
afterAll(async () => await server[Symbol.asyncDispose](), 60_000)

/** Runs statements. Returns the rows of the last one. */
async function run(
  address: string,
  ...statements: readonly string[]
): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const client = new pg.Client(address)
  await client.connect()
  let rows: readonly Readonly<Record<string, unknown>>[] = []
  for (const sql of statements) ({ rows } = await client.query(sql))
  await client.end()
  return rows
}

/** The number of calls that wait for a lock. */
async function waiting(observer: pg.Client): Promise<number> {
  const { rows } = await observer.query(`SELECT count(*)::int AS n FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock'`)
  return (rows[0] as { n: number }).n
}

/** A transaction that holds locks until it is released. */
async function obstacle(address: string, ...statements: readonly string[]) {
  const client = new pg.Client(address)
  await client.connect()
  await client.query('BEGIN')
  for (const sql of statements) await client.query(sql)
  // Within a transaction `pg_stat_activity` does not change.
  const observer = new pg.Client(address)
  await observer.connect()
  return {
    waiting: (count: number) =>
      eventually(10_000, `${count} calls to wait`, async () => (await waiting(observer)) === count),
    async release(how: 'COMMIT' | 'ROLLBACK' = 'COMMIT') {
      await client.query(how)
      await client.end()
      await observer.end()
    },
  }
}

const dropConnections = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
  WHERE pid <> pg_backend_pid() AND datname = current_database() AND application_name = 'dragoman'`

describe('a lost response', () => {
  it('is recovered from the log: the step is committed once', async () => {
    const address = await freshDatabase(server)
    let isArmed = false
    // The database has committed, and the client does not receive the response.
    await using proxy = await filteringProxy(address, (type) => {
      if (type !== 'C' || !isArmed) return 'pass'
      isArmed = false
      return 'cut'
    })
    const store = await openPostgresStore(proxy.address)
    isArmed = true
    assert.deepEqual(await store.append(creation('t1')), { result: 'ok', fencingToken: 0 })
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

  it.each([
    ['a creation', { ...creation('t1'), idempotency: { key: 'k', digest: 'd', ttlMs: 60_000 } }, 'none'],
    ['a step', append('t1', 3, [chunk('t1', 'a')]), 't1'],
  ])(
    'is recovered although the database was still working when the connection broke: %s',
    async (_what, step, before) => {
      const address = await freshDatabase(server)
      await using proxy = await filteringProxy(address, () => 'pass')
      const store = await openPostgresStore(proxy.address, { retryBudgetMs: 20_000 })
      await store.append(creation(before))
      const held = await obstacle(address, 'LOCK TABLE dragoman.events IN EXCLUSIVE MODE')
      const outcome = store.append(step)
      await held.waiting(1)
      proxy.abandon()
      await held.waiting(2)
      await held.release()
      assert.deepEqual(await outcome, { result: 'ok', fencingToken: 0 })
      assert.equal((await store.load(key('t1')))?.events.length, step.expect + step.events.length)
      await store.close()
    },
  )

  it('does not return the fencing token of a process that has taken the task over since', async () => {
    const address = await freshDatabase(server)
    await using proxy = await filteringProxy(address, () => 'pass')
    const store = await openPostgresStore(proxy.address, { retryBudgetMs: 20_000 })
    await store.append(creation('t1'))
    const held = await obstacle(address, 'LOCK TABLE dragoman.events IN EXCLUSIVE MODE')
    const lease = { owner: 'us', ttlMs: 60_000 }
    const outcome = store.append({ ...append('t1', 3, [chunk('t1', 'a')]), lease, isRunnable: true })
    await held.waiting(1)
    // Takes the task over between the first attempt and the second.
    const takeOver = run(address, "UPDATE dragoman.tasks SET fence = fence + 1, lease_owner = 'them'")
    await held.waiting(2)
    proxy.abandon()
    await held.waiting(3)
    await held.release()
    await takeOver
    assert.deepEqual(await outcome, { result: 'fenced' })
    await store.close()
  })
})

describe('calls of several replicas', () => {
  /** Two tasks, in the order in which appends lock them. */
  const [first = '', second = ''] = ['t1', 't2'].sort((a, b) => (tokenOf(key(a)) < tokenOf(key(b)) ? -1 : 1))
  const lease = { owner: 'us', ttlMs: 60_000 }

  it('lock tasks in one order, renewals too, so that they cannot deadlock', async () => {
    const address = await freshDatabase(server)
    const store = await openPostgresStore(address)
    for (const id of [first, second]) await store.append({ ...creation(id), lease, isRunnable: true })
    const other = await obstacle(address, `SELECT FROM dragoman.tasks WHERE task_id = '${first}' FOR UPDATE`)
    const held = [second, first].map((id) => ({ key: key(id), fencingToken: 1 }))
    const lost = store.leases.renew(held, lease)
    await other.waiting(1)
    await run(address, `SELECT FROM dragoman.tasks WHERE task_id = '${second}' FOR UPDATE NOWAIT`)
    await other.release()
    assert.deepEqual(await lost, [])
    await store.close()
  })

  it('take idempotency keys in one order, independent of their tasks', async () => {
    const address = await freshDatabase(server)
    const store = await openPostgresStore(address)
    await store.append(creation('before'))
    const take = (name: string) => `INSERT INTO dragoman.keys SELECT id, '${name}', 0, 'd', 1, 0 FROM dragoman.scopes`
    const other = await obstacle(address, take('k1'))
    const keyed = (id: string, name: string) => ({
      ...creation(id),
      idempotency: { key: name, digest: 'd', ttlMs: 60_000 },
    })
    const steps = Promise.all([store.append(keyed(first, 'k2')), store.append(keyed(second, 'k1'))])
    await other.waiting(1)
    await run(address, "SET lock_timeout = '1s'", 'BEGIN', take('k2'), 'ROLLBACK')
    await other.release('ROLLBACK')
    for (const { result } of await steps) assert.equal(result, 'ok')
    await store.close()
  })
})

describe('a sweep', () => {
  it('merges counts, and does not rewrite merged ones', async () => {
    const address = await freshDatabase(server)
    const store = await openPostgresStore(address)
    const counts = () => run(address, 'SELECT n::int, xmin::text FROM dragoman.counts')
    await store.append(creation('t1'))
    await store.append(creation('t2'))
    await store.expire('a', { limit: 10 })
    const [together, ...rest] = await counts()
    expect([together?.n, rest]).toEqual([2, []])
    await store.expire('a', { limit: 10 })
    expect(await counts()).toEqual([together])
    await store.close()
  })

  it('keeps an idempotency key that a concurrent send takes again', async () => {
    const address = await freshDatabase(server)
    const store = await openPostgresStore(address, { statementMs: 10_000, retryBudgetMs: 0 })
    await store.append({ ...creation('t1'), idempotency: { key: 'k', digest: 'd', ttlMs: 0 } })
    const taken = await obstacle(address, 'UPDATE dragoman.keys SET until_ms = until_ms + 3600000')
    // It must not wait for the lock: there is no retry budget.
    assert.deepEqual(await store.expire('a', { limit: 10 }), { tasks: 0, keys: 0 })
    await taken.release()
    assert.ok(await store.findKey({ agent: 'a', tenant: '', owner: 'ann' }, 'k'))
    await store.close()
  })
})

describe('a pooler that drops notifications', () => {
  it('is detected, reported once, and replaced by polling', async () => {
    const address = await freshDatabase(server)
    await using pooler = await filteringProxy(address, (type) => (type === 'A' ? 'drop' : 'pass'))
    const notices: string[] = []
    const here = await openPostgresStore(pooler.address, { onNotice: (text) => notices.push(text) })
    const there = await openPostgresStore(address)
    await there.append(creation('t1'))
    const seen: number[] = []
    here.changes.watchTask(key('t1'), (seq) => seen.push(seq))
    await there.append(append('t1', 3, [chunk('t1', 'x')]))
    await eventually(5_000, 'the change to be found', () => seen.includes(4))
    await eventually(10_000, 'a notice to the operator', () => notices.length > 0)
    await there.append(append('t1', 4, [chunk('t1', 'y')]))
    await eventually(5_000, 'the next change to be found', () => seen.includes(5))
    expect(notices).toEqual([expect.stringContaining('LISTEN')])
    await here.close()
    await there.close()
  })
})

describe('a pooler that gives every statement another connection', () => {
  it('is detected: then statements are sent without names', async () => {
    const address = await freshDatabase(server)
    const store = await openPostgresStore(address, { connections: 1 })
    // Every call loses its prepared statements, as on another connection.
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
    here.changes.watchTask(key('t1'), (seq) => seen.push(seq))
    await eventually(5_000, 'the events before the loss', () => seen.includes(3))
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

describe('a database that rejects writes', () => {
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
  ])('%s fails calls, acknowledges nothing, and is used again afterwards', async (_why, begin, end) => {
    const address = await freshDatabase(server)
    const name = new URL(address).pathname.slice(1)
    const store = await openPostgresStore(address, { retryBudgetMs: 300 })
    await store.append(creation('t1'))
    await run(address, ...begin(name))
    await assert.rejects(store.append(append('t1', 3, [chunk('t1', 'x')])))
    assert.equal((await store.load(key('t1')))?.record.seq, 3)
    // This session overrides `default_transaction_read_only`.
    await run(address, 'SET default_transaction_read_only = off', ...end(name))
    assert.equal((await store.append(append('t1', 3, [chunk('t1', 'x')]))).result, 'ok')
    await store.close()
  })

  it('retries through a restart that is shorter than the retry budget', async () => {
    const address = await freshDatabase(server)
    const store = await openPostgresStore(address, { retryBudgetMs: 20_000 })
    await store.append(creation('t1'))
    await server.stop('immediate')
    const waiting = store.append(append('t1', 3, [chunk('t1', 'x')]))
    await server.start()
    assert.equal((await waiting).result, 'ok')
    await store.close()
  })
})

describe('a database that has no connection left', () => {
  it('is retried until it has one', async () => {
    const address = await freshDatabase(server)
    await run(
      address,
      'CREATE ROLE few LOGIN CONNECTION LIMIT 2; GRANT CREATE ON DATABASE ' +
        `"${new URL(address).pathname.slice(1)}" TO few`,
    )
    const asFew = address.replace('postgres@', 'few@')
    const store = await openPostgresStore(asFew, { connections: 5, retryBudgetMs: 20_000 })
    const steps = Array.from({ length: 40 }, (_, n) => store.append(creation(`t${n}`)))
    const reads = Array.from({ length: 40 }, () => store.load(key('t0')))
    await Promise.all(reads)
    for (const { result } of await Promise.all(steps)) assert.equal(result, 'ok')
    await store.close()
  })
})

describe('the schema', () => {
  it('is created once by many concurrent starts, and rejected if it is newer', async () => {
    const address = await freshDatabase(server)
    const stores = await Promise.all(Array.from({ length: 6 }, () => openPostgresStore(address)))
    await Promise.all(stores.map((store) => store.close()))
    await run(address, 'INSERT INTO dragoman.migrations VALUES (999)')
    await assert.rejects(openPostgresStore(address), /newer version/)
    await assert.rejects(openPostgresStore(address, { mustExist: true }), /newer version/)
  })

  it('is neither created nor updated with `mustExist`', async () => {
    const address = await freshDatabase(server)
    const open = () => openPostgresStore(address, { mustExist: true })
    await assert.rejects(open(), /There is no store in this database/)
    assert.deepEqual(await run(address, "SELECT FROM pg_namespace WHERE nspname = 'dragoman'"), [])
    await (await openPostgresStore(address)).close()
    await (await open()).close()
    await run(address, 'DELETE FROM dragoman.migrations')
    await assert.rejects(open(), /older version/)
  })
})
