/** Opens a database file and brings its schema up to date, also when several processes do so at once. */
import Database from 'libsql'
import { isBusy } from './group-commit.js'
import { migrations } from './migrations.js'

export async function openDatabase(path: string, durability: 'process' | 'full'): Promise<Database.Database> {
  const db = new Database(path)
  try {
    await patiently(() => {
      // Waiting inside SQLite would block the event loop: `group-commit.ts` waits outside.
      db.exec('PRAGMA busy_timeout = 0')
      db.exec('PRAGMA journal_mode = WAL')
      db.exec(`PRAGMA synchronous = ${durability === 'full' ? 'FULL' : 'NORMAL'}`)
      db.exec('PRAGMA cache_size = -16000')
      db.exec('PRAGMA temp_store = MEMORY')
    })
    await patiently(() => migrate(db, path))
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

function migrate(db: Database.Database, path: string): void {
  db.exec('BEGIN IMMEDIATE')
  try {
    const [version] = db.prepare('PRAGMA user_version').raw().get() as [number]
    if (version > migrations.length) {
      throw new Error(`${path} was written by a newer version of this software (schema ${version})`)
    }
    for (const sql of migrations.slice(version)) db.exec(sql)
    db.exec(`PRAGMA user_version = ${migrations.length}`)
    db.exec('COMMIT')
  } catch (error) {
    if (db.inTransaction) db.exec('ROLLBACK')
    throw error
  }
}

async function patiently(work: () => void): Promise<void> {
  for (let attempt = 0; ; attempt++) {
    try {
      return work()
    } catch (error) {
      if (!isBusy(error) || attempt >= 200) throw error
      await new Promise((resolve) => setTimeout(resolve, 10 + Math.random() * 40))
    }
  }
}
