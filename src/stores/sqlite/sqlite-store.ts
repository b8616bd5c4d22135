/**
 * Tasks in a SQLite file, by libsql. Safe when several processes open the same file: writers take
 * turns, and a process notices the others' commits by polling SQLite's `data_version`.
 */
import type Database from 'libsql'
import type { TaskEvent } from '../../model/event.js'
import { assertOptions, type NamesOf } from '../../model/option-names.js'
import type { Records } from '../records.js'
import { type EventRow, type RecordRow, readBatch, readConfig, readDeadLetter, readRecord } from '../rows.js'
import { fromStorable, toStorable } from '../storable-text.js'
import type {
  AgentStats,
  Append,
  AppendOutcome,
  ClaimedTask,
  ClaimRequest,
  Commit,
  CursorClaim,
  CursorClaimRequest,
  CursorSettlement,
  DeadLetter,
  DeadLetterQuery,
  Expired,
  Expiry,
  KeyedSend,
  LeaseClaim,
  ListPage,
  ListQuery,
  LoadedTask,
  NewPushConfig,
  Scope,
  Store,
  StoredPushConfig,
  TaskKey,
  TaskRecord,
  ViewedTask,
  ViewOptions,
} from '../store.js'
import { Watchers } from '../watchers.js'
import { appendStep } from './append.js'
import { listDeadLetters } from './dead-letters.js'
import { claimCursors, deleteCursor, findWaiting, hasLateCursors, putCursor, settleCursor } from './deliveries.js'
import { Sweeper } from './expire.js'
import { FileHealth, type FileHealthOptions } from './file-health.js'
import { GroupCommit } from './group-commit.js'
import { type LeaseClock, systemLeaseClock } from './lease-clock.js'
import { claim, disown, leaseOwners, renew } from './leases.js'
import { listTasks } from './list.js'
import { databaseBytes, openDatabase } from './open.js'
import { SqliteRecords } from './records.js'
import { CountChanges, Names, type Session, watchId } from './session.js'
import { prepareStatements, type Statements } from './statements.js'
import { readStats } from './stats.js'
import { loadRow, viewRow } from './views.js'

export interface SqliteStoreOptions extends FileHealthOptions {
  /**
   * `process`: a committed event survives the death of the process (default).
   * `full`: it survives a power cut too, at the price of one disk flush per group of commits.
   */
  readonly durability?: 'process' | 'full'
  /** The store has to be there, with this version's schema: nothing is made or updated. Default false. */
  readonly mustExist?: boolean
  /** Milliseconds since 1970: ages of tasks, keys and records. Default `Date.now`. */
  readonly now?: () => number
  /** Times of leases and webhook retries. Default: on Linux the monotonic clock, elsewhere the wall clock, clamped. */
  readonly leaseClock?: LeaseClock
  /** How often other processes' commits are looked for while somebody waits. Default 20 ms. */
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

/** Opens a file (made when missing), or `:memory:`. */
export async function openSqliteStore(path: string, options: SqliteStoreOptions = {}): Promise<Store> {
  assertOptions('openSqliteStore', options, optionNames)
  const leaseClock = options.leaseClock ?? systemLeaseClock()
  const db = await openDatabase(path, { ...options, leaseClock })
  return new SqliteStore(db, leaseClock, new FileHealth(path, options, () => databaseBytes(db)), options)
}

/** Batches fetched at once when a reader catches up. */
const batchesPerRead = 32
/** A page ends with the batch that passes this size. */
const bytesPerRead = 256 * 1024

/** Exported for tests; `openSqliteStore` opens one. */
export class SqliteStore implements Store {
  readonly records: Records
  readonly #db: Database.Database
  readonly #sql: Statements
  readonly #session: Session
  readonly #commits: GroupCommit
  readonly #file: FileHealth
  readonly #sweeper: Sweeper
  readonly #watchers = new Watchers()
  readonly #pollMs: number
  #poll: NodeJS.Timeout | undefined
  #dataVersion = -1
  #lastEventRow = 0

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
    this.#pollMs = options.pollMs ?? 20
    this.#commits = new GroupCommit(db, {
      beforeCommit: () => {
        file.beforeCommit()
        this.#session.counts.write(this.#sql)
      },
      afterCommit: () => {
        file.committed()
        this.#wake()
      },
      afterRollback: () => this.#forget(),
      onFailure: (error) => file.failed(error),
    })
    this.records = new SqliteRecords({
      db,
      commits: this.#commits,
      now: this.#session.now,
      wake: (collection) => this.#watchers.collection(collection),
      watch: (collection, onChange) => this.#watching(this.#watchers.watchCollection(collection, onChange)),
    })
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
    const row = this.#taskRow(key)
    if (!row) return undefined
    const events: TaskEvent[] = []
    let bytes = 0
    // A few batches, then more as long as they are small.
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

  claim(request: ClaimRequest): Promise<readonly ClaimedTask[]> {
    return this.#commits.write(() => claim(this.#session, request))
  }

  renew(held: readonly ClaimedTask[], lease: LeaseClaim): Promise<readonly ClaimedTask[]> {
    return this.#commits.write(() => renew(this.#session, held, lease))
  }

  async leaseOwners(): Promise<readonly string[]> {
    return leaseOwners(this.#session)
  }

  disown(owner: string): Promise<void> {
    return this.#commits.write(() => disown(this.#session, owner))
  }

  putPushConfig(key: TaskKey, config: NewPushConfig): Promise<'ok' | 'full' | 'no-task'> {
    return this.#commits.write(() => {
      const row = this.#taskRow(key)
      if (!row) return 'no-task'
      return putCursor(this.#session, { agent: key.agent, task: row.id, seq: row.seq, from: row.seq }, config)
    })
  }

  async listPushConfigs(
    key: TaskKey,
    options: { readonly limit?: number; readonly afterId?: string } = {},
  ): Promise<readonly StoredPushConfig[]> {
    const row = this.#taskRow(key)
    if (!row) return []
    return this.#sql.listCursors.all(row.id, toStorable(options.afterId ?? ''), options.limit ?? -1).map(readConfig)
  }

  async getPushConfig(key: TaskKey, id: string): Promise<StoredPushConfig | undefined> {
    const row = this.#taskRow(key)
    const found = row && this.#sql.cursor.get(row.id, toStorable(id))
    return found ? readConfig(found) : undefined
  }

  deletePushConfig(key: TaskKey, id: string): Promise<void> {
    return this.#commits.write(() => {
      const row = this.#taskRow(key)
      if (row) deleteCursor(this.#session, row.id, id)
    })
  }

  async claimCursors(request: CursorClaimRequest): Promise<CursorClaim> {
    // Most hints lead to nothing: looking first spares the others a transaction.
    const waiting = findWaiting(this.#session, request.agents)
    if (waiting.nextInMs !== 0 && !hasLateCursors(this.#session, request)) return waiting
    return await this.#commits.write(() => claimCursors(this.#session, request))
  }

  settleCursor(settlement: CursorSettlement): Promise<boolean> {
    return this.#commits.write(() => {
      const row = this.#taskRow(settlement.key)
      return (
        row !== undefined && settleCursor(this.#session, { task: row.id, scope: row.scope, seq: row.seq }, settlement)
      )
    })
  }

  async listDeadLetters(query: DeadLetterQuery): Promise<readonly DeadLetter[]> {
    return listDeadLetters(this.#session, query)
  }

  async getDeadLetter(id: string): Promise<DeadLetter | undefined> {
    const found = this.#sql.deadLetter.get(Number(id))
    return found ? readDeadLetter(found) : undefined
  }

  deleteDeadLetter(id: string): Promise<void> {
    return this.#commits.write(() => void this.#sql.deleteDeadLetter.run(Number(id)))
  }

  expire(agent: string, expiry: Expiry): Promise<Expired> {
    return this.#commits.write(() => this.#sweeper.sweep(agent, expiry))
  }

  watch(key: TaskKey, onChange: (seq: number) => void): () => void {
    return this.#watching(this.#watchers.watchTask(watchId(key), onChange))
  }

  watchRunnable(agent: string, onChange: () => void): () => void {
    return this.#watching(this.#watchers.watchRunnable(agent, onChange))
  }

  watchDeliveries(agent: string, onChange: () => void): () => void {
    return this.#watching(this.#watchers.watchDeliveries(agent, onChange))
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
    // As large as a small task. The pages that it takes are free for others when it has gone.
    await this.#commits.write(() => void this.#sql.probe.run())
    await this.#commits.write(() => void this.#sql.endProbe.run())
  }

  async close(): Promise<void> {
    clearInterval(this.#poll)
    await this.#commits.settled()
    this.#db.close()
  }

  #taskRow(key: TaskKey): { readonly id: number; readonly scope: number; readonly seq: number } | undefined {
    const agent = this.#session.names.agent(key.agent)
    const row =
      agent === undefined ? undefined : (this.#sql.taskRow.get(agent, toStorable(key.id)) as number[] | undefined)
    return row && { id: Number(row[0]), scope: Number(row[1]), seq: Number(row[3]) }
  }

  #recordRow(key: TaskKey): RecordRow | undefined {
    const agent = this.#session.names.agent(key.agent)
    // The columns of `record`.
    return agent === undefined ? undefined : (this.#sql.record.get(agent, toStorable(key.id)) as RecordRow | undefined)
  }

  #wake(): void {
    const { tasks, agents, cursors } = this.#session.touched
    for (const [id, seq] of tasks) this.#watchers.task(id, seq)
    for (const agent of agents) this.#watchers.runnable(agent)
    for (const agent of cursors) this.#watchers.deliveries(agent)
    tasks.clear()
    agents.clear()
    cursors.clear()
  }

  #forget(): void {
    this.#session.touched.tasks.clear()
    this.#session.touched.agents.clear()
    this.#session.touched.cursors.clear()
    this.#session.counts.clear()
    this.#session.names.forget()
  }

  #watching(unwatch: () => void): () => void {
    if (!this.#poll) {
      this.#noteVersion()
      this.#lastEventRow = (this.#sql.newestEvent.get() as [number, number] | undefined)?.[0] ?? 0
      this.#poll = setInterval(() => this.#lookForOthers(), this.#pollMs)
      this.#poll.unref()
    }
    return () => {
      unwatch()
      if (!this.#watchers.isIdle) return
      clearInterval(this.#poll)
      this.#poll = undefined
    }
  }

  #noteVersion(): boolean {
    const [version] = this.#sql.dataVersion.get() as [number]
    if (version === this.#dataVersion) return false
    this.#dataVersion = version
    return true
  }

  /** A database that is busy or in trouble for a moment is looked at again at the next tick. */
  #lookForOthers(): void {
    try {
      this.#tellOfOthers()
    } catch {
      this.#dataVersion = -1
    }
  }

  /** `data_version` changes only when another connection has committed. */
  #tellOfOthers(): void {
    // Read before the version: what lies below it is ours, or was told of already.
    const newest = (this.#sql.newestEvent.get() as [number, number] | undefined)?.[0] ?? 0
    if (!this.#noteVersion()) {
      this.#lastEventRow = newest
      return
    }
    for (const changed of this.#sql.changedTasks.all(this.#lastEventRow)) {
      const [agent, id, eventRow, seq] = changed as [string, string, number, number]
      this.#lastEventRow = Math.max(this.#lastEventRow, eventRow)
      this.#watchers.task(watchId({ agent: fromStorable(agent), id: fromStorable(id) }), seq)
    }
    this.#watchers.everything()
  }
}
