/**
 * The task stores of @a2a-js/sdk. Its database store uses Kysely. `libsql` has the interface that Kysely's SQLite
 * dialect expects, and Dragoman's SQLite store uses it too.
 */
import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { InMemoryTaskStore, type TaskStore } from 'a2a-sdk-v1/server'

/** `location` is `memory`, `sqlite:PATH` or `postgres://…`. */
export async function openSdkStore(location: string): Promise<TaskStore> {
  if (location === 'memory') return new InMemoryTaskStore()
  return location.startsWith('postgres:')
    ? openPostgresStore(location)
    : openSqliteStore(location.slice('sqlite:'.length))
}

async function openSqliteStore(path: string): Promise<TaskStore> {
  const [{ default: Database }, { Kysely, SqliteDialect }, { DatabaseTaskStore }] = await Promise.all([
    import('libsql'),
    import('kysely'),
    import('a2a-sdk-v1/server/database'),
  ])
  const database = new Database(path)
  // The durability of Dragoman's default: a commit survives a crash of the process.
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL')
  database.exec(officialSchema('sqlite'))
  return new DatabaseTaskStore(new Kysely({ dialect: new SqliteDialect({ database }) }))
}

async function openPostgresStore(address: string): Promise<TaskStore> {
  const [{ default: pg }, { Kysely, PostgresDialect }, { DatabaseTaskStore }] = await Promise.all([
    import('pg'),
    import('kysely'),
    import('a2a-sdk-v1/server/database'),
  ])
  // The same number of connections as Dragoman.
  const pool = new pg.Pool({ connectionString: address, max: 10 })
  await pool.query(officialSchema('postgres'))
  return new DatabaseTaskStore(new Kysely({ dialect: new PostgresDialect({ pool }) }))
}

/** The command line of the package prints its schema without a database driver. */
function officialSchema(dialect: 'sqlite' | 'postgres'): string {
  const tool = fileURLToPath(new URL('cli/a2a_db.js', import.meta.resolve('a2a-sdk-v1')))
  const options = ['upgrade', '--sql', '--dialect', dialect, '--store', 'tasks']
  return execFileSync(process.execPath, [tool, ...options], { encoding: 'utf8' })
}
