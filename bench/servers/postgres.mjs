// One Postgres for the whole run, a new database for each server: the one the tests use, but with the settings that
// Postgres has by itself, so that every commit waits for the disk (`fsync`, `synchronous_commit`), the SDK's too.
import pg from 'pg'
import { startPostgres } from '../../test/postgres/server.mjs'

let started
let count = 0

export async function newDatabase() {
  started ??= startPostgres({ isDurable: true })
  const server = await started
  count += 1
  return await server.database(`bench_${count}`)
}

/** Nothing is left running behind a run. */
export async function stopPostgres() {
  const server = await started
  started = undefined
  await server?.[Symbol.asyncDispose]()
}

/** Copies the newest task of a database until there are so many, and leaves the tables as autovacuum would. */
export async function copyTasks(database, total) {
  const client = new pg.Client(database)
  await client.connect()
  try {
    const { rows } = await client.query('SELECT count(*)::int AS count, max(id)::int AS id FROM dragoman.tasks')
    const [{ count, id }] = rows
    await client.query(copies, [id, total - count])
    await client.query(countsOfCopies, [id, total - count])
    await client.query(eventsOfCopies, [id])
    await client.query(snapshotsOfCopies, [id])
    await client.query('VACUUM ANALYZE')
  } finally {
    await client.end()
  }
}

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
