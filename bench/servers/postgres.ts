/**
 * One Postgres server for the whole run, with a new database for each measured server. Unlike in the tests it has the
 * default settings of Postgres: every commit waits for the disk (`fsync`, `synchronous_commit`), also for the SDK.
 */
import pg from 'pg'
import { type PostgresServer, startPostgres } from '../../test/postgres/server.mjs'

let started: Promise<PostgresServer> | undefined
let count = 0

/** Returns the address of a new database. */
export async function newDatabase(): Promise<string> {
  started ??= startPostgres({ isDurable: true })
  const server = await started
  count += 1
  return await server.database(`bench_${count}`)
}

export async function stopPostgres(): Promise<void> {
  const server = await started
  started = undefined
  await server?.[Symbol.asyncDispose]()
}

/** Copies the newest task of a database until it has `total` tasks, and vacuums the tables as autovacuum would. */
export async function copyTasks(database: string, total: number): Promise<void> {
  const client = new pg.Client(database)
  await client.connect()
  try {
    const { rows } = await client.query<{ count: number; id: number }>(newest)
    const { count = 0, id } = rows[0] ?? {}
    await client.query(copies, [id, total - count])
    await client.query(countsOfCopies, [id, total - count])
    await client.query(eventsOfCopies, [id])
    await client.query(snapshotsOfCopies, [id])
    await client.query('VACUUM ANALYZE')
  } finally {
    await client.end()
  }
}

const newest = 'SELECT count(*)::int AS count, max(id)::int AS id FROM dragoman.tasks'
const copies = `INSERT INTO dragoman.tasks (agent, scope, task_id, context, dialect, visibility, state, runnable, seq,
    status_ms, ended_ms, fence, lease_until)
  SELECT agent, scope, gen_random_uuid()::text, gen_random_uuid()::text, dialect, visibility, state, runnable, seq,
    status_ms - n, ended_ms - n, fence, 0 FROM dragoman.tasks, generate_series(1, $2::int) AS n WHERE id = $1`
const countsOfCopies = `INSERT INTO dragoman.counts (scope, state, n) SELECT scope, state, $2 FROM dragoman.tasks WHERE id = $1`
const eventsOfCopies = `INSERT INTO dragoman.events (task, head, first, last, time_ms, body)
  SELECT t.id, e.head, e.first, e.last, e.time_ms, e.body FROM dragoman.tasks t, dragoman.events e
  WHERE e.task = $1 AND t.id > $1`
const snapshotsOfCopies = `INSERT INTO dragoman.snapshots (task, head, artifacts)
  SELECT t.id, s.head, s.artifacts FROM dragoman.tasks t, dragoman.snapshots s WHERE s.task = $1 AND t.id > $1`
