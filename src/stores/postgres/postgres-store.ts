/**
 * Keeps tasks in Postgres, for one process or many. All replicas see the same logs and leases, and are notified of each
 * other's commits (`change-listener.ts`). SQL that writes several tables is in functions of the database, made by the
 * migrations: one round trip each.
 */

import { canParseUrl } from '../../model/can-parse-url.js'
import type { TaskEvent } from '../../model/event.js'
import { assertOptions, type NamesOf } from '../../model/option-names.js'
import type { RecordStore } from '../records.js'
import type {
  AgentStats,
  Append,
  AppendOutcome,
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
import { Appender } from './append.js'
import { ChangeListener, type ChangeListenerOptions } from './change-listener.js'
import { Database, type DatabaseOptions, Names } from './database.js'
import { PostgresDeliveries } from './deliveries.js'
import { postgresLeases } from './leases.js'
import { listTasks, readStats } from './list.js'
import { Reads } from './reads.js'
import { PostgresRecords } from './records.js'
import { expire } from './retention.js'

/** Options of `openPostgresStore`. */
export interface PostgresStoreOptions extends DatabaseOptions, ChangeListenerOptions {
  /** Fails unless the schema exists in this version; creates and updates nothing. Default false. */
  readonly mustExist?: boolean
}

const optionNames = {
  connections: true,
  retryBudgetMs: true,
  statementMs: true,
  pollMs: true,
  busyPollMs: true,
  listenAgainMs: true,
  onNotice: true,
  mustExist: 'boolean',
} satisfies NamesOf<PostgresStoreOptions>

/** Opens a store in a database (`postgres://user@host/name`), and creates or updates the schema `dragoman` in it. */
export async function openPostgresStore(address: string, options: PostgresStoreOptions = {}): Promise<CompleteStore> {
  assertOptions('openPostgresStore', options, optionNames)
  const database = new Database(address, options)
  try {
    await (options.mustExist ? database.assertMigrated() : database.migrate())
  } catch (error) {
    await database.close()
    throw unreachable(address, error) ?? error
  }
  return new PostgresStore(database, options)
}

/** System errors have a `syscall`; errors of the database do not. The message names the host only, never a password. */
function unreachable(address: string, error: unknown): Error | undefined {
  const [first = error] = error instanceof AggregateError ? (error.errors as unknown[]) : []
  const isSystem = first instanceof Error && 'syscall' in first
  if (!isSystem && !/timeout exceeded when trying to connect|Connection terminated/.test(String(error)))
    return undefined
  const { message } = first as Error
  return new Error(`The store at ${placeOf(address)} cannot be reached: ${message}`, { cause: error })
}

function placeOf(address: string): string {
  return canParseUrl(address) ? `postgres://${new URL(address).host}` : 'this address'
}

class PostgresStore implements CompleteStore {
  readonly leases: LeaseStore
  readonly deliveries: DeliveryStore
  readonly records: RecordStore
  readonly changes: ChangeListener
  readonly #database: Database
  readonly #names: Names
  readonly #appender: Appender
  readonly #reads: Reads

  constructor(database: Database, options: PostgresStoreOptions) {
    this.#database = database
    this.#names = new Names(database)
    this.changes = new ChangeListener(database, this.#names, options)
    this.#appender = new Appender(database, this.#names, this.changes)
    this.#reads = new Reads(database, this.#names)
    this.leases = postgresLeases(database, this.changes)
    this.deliveries = new PostgresDeliveries(database, this.#names, this.changes)
    this.records = new PostgresRecords(database, this.changes)
  }

  append(step: Append): Promise<AppendOutcome> {
    return this.#appender.append(step)
  }

  find(key: TaskKey): Promise<TaskRecord | undefined> {
    return this.#reads.find(key)
  }

  view(key: TaskKey, options: ViewOptions): Promise<ViewedTask | undefined> {
    return this.#reads.view(key, options)
  }

  load(key: TaskKey, options: { readonly includeArtifacts?: boolean } = {}): Promise<LoadedTask | undefined> {
    return this.#reads.load(key, options.includeArtifacts ?? true)
  }

  read(key: TaskKey, afterSeq: number, limit: number): Promise<readonly TaskEvent[] | undefined> {
    return this.#reads.read(key, afterSeq, limit)
  }

  list(query: ListQuery): Promise<ListPage> {
    return listTasks({ database: this.#database, names: this.#names }, query)
  }

  bytesOf(agent: string, owner: string): Promise<number> {
    return this.#reads.bytesOf(agent, owner)
  }

  findKey(scope: Scope, key: string): Promise<KeyedSend | undefined> {
    return this.#reads.findKey(scope, key)
  }

  expire(agent: string, expiry: Expiry): Promise<Expired> {
    return expire(this.#database, agent, expiry)
  }

  stats(agents: readonly string[]): Promise<readonly AgentStats[]> {
    return readStats(this.#database, agents)
  }

  watchCommits(onCommit: (commit: Commit) => void): () => void {
    return this.#appender.watchers.watch(onCommit)
  }

  async ping(): Promise<void> {
    const [row] = await this.#database.queryOnce<[string]>("SELECT current_setting('transaction_read_only')")
    // A hot standby, or `default_transaction_read_only = on`.
    if (row?.[0] !== 'off') throw new Error('The database is read-only')
    if (this.#appender.isDiskFull) await this.#database.probe()
  }

  async close(): Promise<void> {
    await this.changes.close()
    await this.#database.close()
  }
}
