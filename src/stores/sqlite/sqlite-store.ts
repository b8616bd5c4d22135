/**
 * Keeps tasks in a SQLite file, with libsql. Several processes of one machine may open the same file: SQLite serialises
 * their writes, and each polls `data_version` for commits of the others.
 */
import type Database from 'libsql'
import type { TaskEvent } from '../../model/event.js'
import { assertOptions, type NamesOf } from '../../model/option-names.js'
import type { RecordStore } from '../records.js'
import { type EventRow, fromStorable, type RecordRow, readBatch, readRecord, toStorable } from '../rows.js'
import type {
  AgentStats,
  Append,
  AppendOutcome,
  ChangeFeed,
  Commit,
  CompleteStore,
  DeliveryStore,
  Expired,
  Expiry,
  KeyedSend,
  LeaseStore,
  ListPage,
  ListQuery,
  LoadedTask,
  Scope,
  TaskKey,
  TaskRecord,
  ViewedTask,
  ViewOptions,
} from '../store.js'
import { appendStep } from './append.js'
import { GroupCommit, SqliteChanges } from './commits.js'
import { sqliteDeliveries } from './deliveries.js'
import { Sweeper } from './expire.js'
import { type LeaseClock, sqliteLeases, systemLeaseClock } from './leases.js'
import { databaseBytes, FileHealth, type FileHealthOptions, openDatabase } from './open.js'
import { listTasks, loadRow, readStats, viewRow } from './reads.js'
import { SqliteRecords } from './records.js'
import { CountChanges, findTask, Names, prepareStatements, type Session, type Statements } from './session.js'

/** Options of `openSqliteStore`. */
export interface SqliteStoreOptions extends FileHealthOptions {
  /**
   * `process` (default): a committed event survives the death of the process. `full`: it also survives a power cut, and
   * each group of commits waits for one disk flush.
   */
  readonly durability?: 'process' | 'full'
  /** Fails unless the file exists with the schema of this version; creates and updates nothing. Default false. */
  readonly mustExist?: boolean
  /** The clock of retention, keys and records, in milliseconds since 1970. Default `Date.now`. */
  readonly now?: () => number
  /** The clock of leases and webhook retries. Default: the monotonic clock on Linux, elsewhere a clamped wall clock. */
  readonly leaseClock?: LeaseClock
  /** Interval at which the store looks for commits of other processes while it has watchers. Default 20 ms. */
  readonly pollMs?: number
}

const optionNames = {
  durability: ['process', 'full'],
  mustExist: 'boolean',
  now: true,
  leaseClock: true,
  pollMs: true,
  onNotice: true,
  checkEveryMs: true,
} satisfies NamesOf<SqliteStoreOptions>

/** Opens a store in a file, which it creates if missing, or in memory (`:memory:`). */
export async function openSqliteStore(path: string, options: SqliteStoreOptions = {}): Promise<CompleteStore> {
  assertOptions('openSqliteStore', options, optionNames)
  const leaseClock = options.leaseClock ?? systemLeaseClock()
  const db = await openDatabase(path, { ...options, leaseClock })
  return new SqliteStore(db, leaseClock, new FileHealth(path, options, () => databaseBytes(db)), options)
}

/** The maximum number of batches of one read. */
const batchesPerRead = 32
/** A page ends with the batch that passes this size. */
const bytesPerRead = 256 * 1024

/** Exported for tests; `openSqliteStore` opens one. */
export class SqliteStore implements CompleteStore {
  readonly leases: LeaseStore
  readonly deliveries: DeliveryStore
  readonly records: RecordStore
  readonly changes: ChangeFeed
  readonly #db: Database.Database
  readonly #sql: Statements
  readonly #session: Session
  readonly #commits: GroupCommit
  readonly #file: FileHealth
  readonly #sweeper: Sweeper
  readonly #changes: SqliteChanges

  constructor(db: Database.Database, leaseClock: LeaseClock, file: FileHealth, options: SqliteStoreOptions = {}) {
    this.#db = db
    this.#file = file
    this.#sql = prepareStatements(db)
    this.#session = {
      sql: this.#sql,
      now: options.now ?? Date.now,
      leaseNow: () => leaseClock.now(),
      leaseAfter: (ms) => leaseClock.after?.(ms) ?? leaseClock.now() + ms,
      epoch: leaseClock.epoch,
      counts: new CountChanges(),
      touched: { tasks: new Map(), agents: new Set(), cursors: new Set() },
      names: new Names(this.#sql),
    }
    this.#sweeper = new Sweeper(this.#session)
    const changes = new SqliteChanges(this.#session, options.pollMs ?? 20)
    this.#commits = new GroupCommit(db, {
      beforeCommit: () => {
        file.beforeCommit()
        this.#session.counts.write(this.#sql)
      },
      afterCommit: () => {
        file.committed()
        changes.committed()
      },
      afterRollback: () => this.#forget(),
      onFailure: (error) => file.failed(error),
    })
    this.#changes = changes
    this.changes = changes
    this.leases = sqliteLeases(this.#session, this.#commits)
    this.deliveries = sqliteDeliveries(this.#session, this.#commits)
    this.records = new SqliteRecords({ db, commits: this.#commits, now: this.#session.now, changes })
  }

  append(step: Append): Promise<AppendOutcome> {
    return this.#commits.write(() => appendStep(this.#session, step))
  }

  async find(key: TaskKey): Promise<TaskRecord | undefined> {
    const row = this.#recordRow(key)
    return row && readRecord(row, this.#session.leaseNow())
  }

  async view(key: TaskKey, options: ViewOptions): Promise<ViewedTask | undefined> {
    const row = this.#recordRow(key)
    return row && viewRow(this.#session, row, options)
  }

  async load(key: TaskKey, options: { readonly includeArtifacts?: boolean } = {}): Promise<LoadedTask | undefined> {
    const row = this.#recordRow(key)
    return row && loadRow(this.#session, row, options.includeArtifacts ?? true)
  }

  async read(key: TaskKey, afterSeq: number, limit: number): Promise<readonly TaskEvent[] | undefined> {
    const row = findTask(this.#session, key)
    if (!row) return undefined
    const events: TaskEvent[] = []
    let bytes = 0
    // Few batches first, and more as long as they are small.
    for (let count = 1; count <= batchesPerRead && events.length < limit && bytes < bytesPerRead; count *= 2) {
      const after = events.at(-1)?.seq ?? afterSeq
      const batches = this.#sql.eventsAfter.all(row.id, after, count) as EventRow[]
      for (const batch of batches) {
        for (const event of readBatch(batch)) if (event.seq > afterSeq) events.push(event)
        bytes += batch[3].length
        if (events.length >= limit || bytes >= bytesPerRead) break
      }
      if (batches.length < count) break
    }
    return events.length === 0 && row.seq > afterSeq ? undefined : events
  }

  async list(query: ListQuery): Promise<ListPage> {
    return listTasks(this.#session, query)
  }

  async bytesOf(agent: string, owner: string): Promise<number> {
    const number = this.#session.names.agent(agent)
    if (number === undefined) return 0
    return (this.#sql.bytesOf.get(number, toStorable(owner)) as [number])[0] // one row of one number
  }

  async findKey(scope: Scope, key: string): Promise<KeyedSend | undefined> {
    const number = this.#session.names.scope(scope)
    if (number === undefined) return undefined
    const row = this.#sql.findKey.get(number, toStorable(key), this.#session.now()) as
      | [string, string, number]
      | undefined
    return row && { taskId: fromStorable(row[0]), digest: row[1], seq: row[2] }
  }

  expire(agent: string, expiry: Expiry): Promise<Expired> {
    return this.#commits.write(() => this.#sweeper.sweep(agent, expiry))
  }

  async stats(agents: readonly string[]): Promise<readonly AgentStats[]> {
    return readStats(this.#session, agents)
  }

  watchCommits(onCommit: (commit: Commit) => void): () => void {
    return this.#commits.watchers.watch(onCommit)
  }

  async ping(): Promise<void> {
    this.#file.assertPresent()
    await this.#file.assertRoom()
    this.#sql.dataVersion.get()
    if (!this.#file.isUnwritable) return
    // As large as a small task. Deleting it frees its pages for other tasks.
    await this.#commits.write(() => void this.#sql.probe.run())
    await this.#commits.write(() => void this.#sql.endProbe.run())
  }

  async close(): Promise<void> {
    this.#changes.close()
    await this.#commits.settled()
    this.#db.close()
  }

  #recordRow(key: TaskKey): RecordRow | undefined {
    const agent = this.#session.names.agent(key.agent)
    // The columns of `record`.
    return agent === undefined ? undefined : (this.#sql.record.get(agent, toStorable(key.id)) as RecordRow | undefined)
  }

  #forget(): void {
    this.#session.touched.tasks.clear()
    this.#session.touched.agents.clear()
    this.#session.touched.cursors.clear()
    this.#session.counts.clear()
    this.#session.names.forget()
  }
}
