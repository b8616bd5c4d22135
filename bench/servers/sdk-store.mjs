// The SDK's task stores. Its database store runs on Kysely; libsql offers the interface
// Kysely's SQLite dialect expects, and is also what Dragoman's own SQLite store uses.
import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { InMemoryTaskStore } from '@a2a-js/sdk/server'

/** @param {string} place `memory`, `sqlite:PATH` or `postgres://…` */
export async function openSdkStore(place) {
  if (place === 'memory') return new InMemoryTaskStore()
  return place.startsWith('postgres:') ? openPostgresStore(place) : openSqliteStore(place.slice('sqlite:'.length))
}

async function openSqliteStore(path) {
  const [{ default: Database }, { Kysely, SqliteDialect }, { DatabaseTaskStore }] = await Promise.all([
    import('libsql'),
    import('kysely'),
    import('@a2a-js/sdk/server/database'),
  ])
  const database = new Database(path)
  // The same promise as Dragoman's default: a commit survives the death of the process.
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL')
  database.exec(officialSchema('sqlite'))
  return new DatabaseTaskStore(new Kysely({ dialect: new SqliteDialect({ database }) }))
}

async function openPostgresStore(address) {
  const [{ default: pg }, { Kysely, PostgresDialect }, { DatabaseTaskStore }] = await Promise.all([
    import('pg'),
    import('kysely'),
    import('@a2a-js/sdk/server/database'),
  ])
  // As many connections as Dragoman has.
  const pool = new pg.Pool({ connectionString: address, max: 10 })
  await pool.query(officialSchema('postgres'))
  return new DatabaseTaskStore(new Kysely({ dialect: new PostgresDialect({ pool }) }))
}

/** The package's own tool prints its schema without needing a driver of its own. */
function officialSchema(dialect) {
  const tool = fileURLToPath(new URL('cli/a2a_db.js', import.meta.resolve('@a2a-js/sdk')))
  const options = ['upgrade', '--sql', '--dialect', dialect, '--store', 'tasks']
  return execFileSync(process.execPath, [tool, ...options], { encoding: 'utf8' })
}
