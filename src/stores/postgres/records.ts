/** Records in Postgres. Writes of one collection are serialised, so that its revisions are committed in order. */
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
import type { ChangeListener } from './change-listener.js'
import type { Database } from './database.js'

export class PostgresRecords implements RecordStore {
  readonly #database: Database
  readonly #changes: ChangeListener

  constructor(database: Database, changes: ChangeListener) {
    this.#database = database
    this.#changes = changes
  }

  async get(collection: string, id: string): Promise<StoredRecord | undefined> {
    const [row] = await this.#database.query<[number, string]>(
      `SELECT revision, body FROM dragoman.records
        WHERE collection = $1 AND id = $2 AND body IS NOT NULL AND until_ms > dragoman.now_ms()`,
      [collection, toStorable(id)],
    )
    return row && { id, revision: row[0], value: JSON.parse(row[1]) as unknown }
  }

  put(collection: string, id: string, value: unknown, options: PutOptions = {}): Promise<WriteOutcome> {
    return this.#write(collection, id, JSON.stringify(value), options)
  }

  delete(collection: string, id: string, options: WriteOptions = {}): Promise<WriteOutcome> {
    return this.#write(collection, id, null, options)
  }

  async renew(collection: string, id: string, ttlMs: number): Promise<boolean> {
    const rows = await this.#database.query<[number]>(
      `UPDATE dragoman.records SET until_ms = dragoman.now_ms() + $3
        WHERE collection = $1 AND id = $2 AND body IS NOT NULL AND until_ms > dragoman.now_ms() RETURNING 1`,
      [collection, toStorable(id), ttlMs],
    )
    return rows.length > 0
  }

  async readAfter(collection: string, revision: number, limit: number): Promise<RecordPage> {
    // One statement reads one snapshot, so that the head is never ahead of the changes.
    const rows = await this.#database.query<[number, number, ...change: [string, number, string | null] | [null]]>(
      `SELECT c.head, c.floor, r.id, r.revision, r.body FROM dragoman.collections c LEFT JOIN LATERAL (
          SELECT id, revision, body FROM dragoman.records
          WHERE collection = c.name AND revision > $2 ORDER BY revision LIMIT $3) r ON true
        WHERE c.name = $1 ORDER BY r.revision`,
      [collection, revision, limit],
    )
    const [head = 0, floor = 0] = rows[0] ?? []
    const changes = rows.flatMap(([, , ...change]): RecordChange[] => {
      if (change[0] === null) return []
      const [id, at, body] = change
      return [{ id: fromStorable(id), revision: at, ...(body !== null && { value: JSON.parse(body) as unknown }) }]
    })
    return { changes, head, floor }
  }

  async expire(collection: string, { limit, tombstonesMs }: RecordExpiry): Promise<number> {
    const [row] = await this.#database.query<[buried: number, forgotten: number]>(
      'SELECT buried, forgotten FROM dragoman.sweep_records($1, $2, $3, $4, $5)',
      [this.#changes.sender, collection, limit, tombstonesMs ?? null, encodeURIComponent(collection)],
    )
    const [buried = 0, forgotten = 0] = row ?? []
    if (buried > 0) this.#changes.wakeCollection(collection)
    return buried + forgotten
  }

  watch(collection: string, onChange: () => void): () => void {
    return this.#changes.watchCollection(collection, onChange)
  }

  async #write(
    collection: string,
    id: string,
    body: string | null,
    { expect, ttlMs }: PutOptions,
  ): Promise<WriteOutcome> {
    const values = [collection, toStorable(id), body, ttlMs ?? null, expect ?? null, encodeURIComponent(collection)]
    // Conditional writes are not retried: the first attempt may have changed the revision.
    const write = () =>
      this.#database.queryOnce<[isDone: boolean, revision: number]>(
        'SELECT is_done, new_revision FROM dragoman.write_record($1, $2, $3, $4, $5, $6, $7)',
        [this.#changes.sender, ...values],
      )
    const [row] = await (expect === undefined ? this.#database.patiently(write) : write())
    const [isDone = false, revision = 0] = row ?? []
    if (isDone && revision > 0) this.#changes.wakeCollection(collection)
    return { result: isDone ? 'ok' : 'conflict', revision }
  }
}
