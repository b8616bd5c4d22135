/** Records in a SQLite file. */
import type Database from 'libsql'
import type {
  PutOptions,
  RecordChange,
  RecordExpiry,
  RecordPage,
  RecordStore,
  StoredRecord,
  WriteOptions,
  WriteOutcome,
} from '../records.js'
import { fromStorable, toStorable } from '../rows.js'
import type { GroupCommit, SqliteChanges } from './commits.js'
import type { Statement } from './session.js'

interface RecordsDeps {
  readonly db: Database.Database
  readonly commits: GroupCommit
  now(): number
  readonly changes: SqliteChanges
}

/** The expiry of records that do not expire. */
const never = Number.MAX_SAFE_INTEGER

export class SqliteRecords implements RecordStore {
  readonly #deps: RecordsDeps
  readonly #sql: ReturnType<typeof prepareStatements>

  constructor(deps: RecordsDeps) {
    this.#deps = deps
    this.#sql = prepareStatements(deps.db)
  }

  async get(collection: string, id: string): Promise<StoredRecord | undefined> {
    const row = this.#live(collection, id)
    return row && { id, revision: row.revision, value: JSON.parse(row.value) as unknown }
  }

  async put(collection: string, id: string, value: unknown, options: PutOptions = {}): Promise<WriteOutcome> {
    const body = JSON.stringify(value)
    return this.#write(collection, id, options, () => {
      const until = options.ttlMs === undefined ? never : this.#deps.now() + options.ttlMs
      return this.#append(collection, id, body, until)
    })
  }

  delete(collection: string, id: string, options: WriteOptions = {}): Promise<WriteOutcome> {
    return this.#write(collection, id, options, (present) =>
      present === 0 ? 0 : this.#append(collection, id, null, never),
    )
  }

  renew(collection: string, id: string, ttlMs: number): Promise<boolean> {
    return this.#deps.commits.write(() => {
      const now = this.#deps.now()
      return this.#sql.renew.run(now + ttlMs, collection, toStorable(id), now).changes > 0
    })
  }

  async readAfter(collection: string, revision: number, limit: number): Promise<RecordPage> {
    const changes = this.#sql.after.all(collection, revision, limit).map(readChange)
    const [head, floor] = (this.#sql.bounds.get(collection) as [number, number] | undefined) ?? [0, 0]
    return { changes, head, floor }
  }

  async expire(collection: string, { limit, tombstonesMs }: RecordExpiry): Promise<number> {
    const now = this.#deps.now()
    const forgetBefore = tombstonesMs === undefined ? -1 : now - tombstonesMs
    // Nearly all sweeps find nothing; they must not block the single writer of the database.
    const isIdle = () =>
      !this.#sql.expired.get(collection, now, 1) && !this.#sql.tombstones.get(collection, forgetBefore, 1)
    if (isIdle()) return 0
    const { buried, forgotten } = await this.#deps.commits.write(() =>
      this.#sweep(collection, now, forgetBefore, limit),
    )
    if (buried > 0) this.#deps.changes.collectionChanged(collection)
    return buried + forgotten
  }

  watch(collection: string, onChange: () => void): () => void {
    return this.#deps.changes.watchCollection(collection, onChange)
  }

  #sweep(collection: string, now: number, forgetBefore: number, limit: number) {
    const expired = this.#sql.expired.all(collection, now, limit) as [string][]
    for (const [id] of expired) this.#append(collection, fromStorable(id), null, never)
    const old = this.#sql.tombstones.all(collection, forgetBefore, limit - expired.length) as [string, number][]
    for (const [id, revision] of old) {
      this.#sql.remove.run(collection, id)
      this.#sql.raiseFloor.run(revision, collection)
    }
    return { buried: expired.length, forgotten: old.length }
  }

  async #write(
    collection: string,
    id: string,
    { expect }: WriteOptions,
    write: (present: number) => number,
  ): Promise<WriteOutcome> {
    const outcome = await this.#deps.commits.write((): WriteOutcome => {
      const present = this.#live(collection, id)?.revision ?? 0
      if (expect !== undefined && expect !== present) return { result: 'conflict', revision: present }
      return { result: 'ok', revision: write(present) }
    })
    if (outcome.result === 'ok' && outcome.revision > 0) this.#deps.changes.collectionChanged(collection)
    return outcome
  }

  #append(collection: string, id: string, body: string | null, untilMs: number): number {
    this.#sql.advance.run(collection)
    const [revision] = this.#sql.bounds.get(collection) as [number, number] // made above when it was missing
    this.#sql.put.run(collection, toStorable(id), revision, body, untilMs, this.#deps.now())
    return revision
  }

  #live(collection: string, id: string): { readonly revision: number; readonly value: string } | undefined {
    const row = this.#sql.live.get(collection, toStorable(id), this.#deps.now()) as [number, string] | undefined
    return row && { revision: row[0], value: row[1] }
  }
}

function readChange(row: unknown): RecordChange {
  const [id, revision, body] = row as [string, number, string | null] // the columns of `after`
  return { id: fromStorable(id), revision, ...(body !== null && { value: JSON.parse(body) as unknown }) }
}

function prepareStatements(db: Database.Database) {
  const prepare = (sql: string): Statement => db.prepare(sql).raw()
  const command = (sql: string): Statement => db.prepare(sql)
  return {
    bounds: prepare('SELECT head, floor FROM collections WHERE name = ?'),
    advance: command(`INSERT INTO collections (name, head, floor) VALUES (?, 1, 0)
      ON CONFLICT (name) DO UPDATE SET head = head + 1`),
    raiseFloor: command('UPDATE collections SET floor = max(floor, ?) WHERE name = ?'),
    live: prepare(`SELECT revision, body FROM records
      WHERE collection = ? AND id = ? AND body IS NOT NULL AND until_ms > ?`),
    put: command(`INSERT OR REPLACE INTO records (collection, id, revision, body, until_ms, written_ms)
      VALUES (?, ?, ?, ?, ?, ?)`),
    renew: command(`UPDATE records SET until_ms = ?
      WHERE collection = ? AND id = ? AND body IS NOT NULL AND until_ms > ?`),
    after: prepare(`SELECT id, revision, body FROM records
      WHERE collection = ? AND revision > ? ORDER BY revision LIMIT ?`),
    expired: prepare('SELECT id FROM records WHERE collection = ? AND body IS NOT NULL AND until_ms <= ? LIMIT ?'),
    tombstones: prepare(`SELECT id, revision FROM records
      WHERE collection = ? AND body IS NULL AND written_ms <= ? LIMIT ?`),
    remove: command('DELETE FROM records WHERE collection = ? AND id = ?'),
  }
}
