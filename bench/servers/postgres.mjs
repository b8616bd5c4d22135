// One Postgres for the whole run, a new database for each server: the one the tests use. What is committed
// survives the death of a process, not a power cut: the same promise as SQLite's here.
import { startPostgres } from '../../test/postgres/server.mjs'

let started
let count = 0

export async function newDatabase() {
  started ??= startPostgres()
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
