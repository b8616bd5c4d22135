/**
 * Group commit and change notification. Writes of one turn of the event loop share a transaction; the promise of each
 * write resolves after the commit. The store notifies watchers of own commits at once, and of those of other processes by polling
 * `data_version`.
 *
 * SQLite has one writer at a time. Waiting for another process inside SQLite would block the event loop, so a busy
 * database is retried here, asynchronously, until the deadline.
 */
import type Database from 'libsql'
import { fromStorable } from '../rows.js'
import { type ChangeFeed, type TaskKey, taskKeyText } from '../store.js'
import { CommitWatchers, Watchers } from '../watchers.js'
import type { Session } from './session.js'

interface Queued {
  run(): unknown
  resolve(value: unknown): void
  reject(error: unknown): void
}

const maxGroupSize = 1000
const busyDeadlineMs = 10_000

export class GroupCommit {
  readonly #db: Database.Database
  readonly #begin: Database.Statement<unknown[]>
  readonly #commit: Database.Statement<unknown[]>
  readonly #afterCommit: () => void
  readonly #afterRollback: () => void
  readonly #onFailure: (error: unknown) => void
  readonly #beforeCommit: () => void
  readonly watchers = new CommitWatchers()
  #queue: Queued[] = []
  #isScheduled = false

  constructor(
    db: Database.Database,
    hooks: {
      beforeCommit: () => void
      afterCommit: () => void
      afterRollback: () => void
      onFailure: (error: unknown) => void
    },
  ) {
    this.#db = db
    this.#begin = db.prepare('BEGIN IMMEDIATE')
    this.#commit = db.prepare('COMMIT')
    this.#beforeCommit = hooks.beforeCommit
    this.#afterCommit = hooks.afterCommit
    this.#afterRollback = hooks.afterRollback
    this.#onFailure = hooks.onFailure
  }

  /** Runs `write` in the next transaction. It may run twice, so it must only use the database. */
  write<T>(write: () => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#queue.push({ run: write, resolve: resolve as (value: unknown) => void, reject })
      if (this.#isScheduled) return
      this.#isScheduled = true
      setImmediate(() => this.#flush(0))
    })
  }

  /** Resolves when all queued writes have ended. */
  async settled(): Promise<void> {
    while (this.#isScheduled) await new Promise((resolve) => setImmediate(resolve))
  }

  #flush(waitedMs: number): void {
    const group = this.#queue.slice(0, maxGroupSize)
    try {
      this.#transact(group)
      this.#queue = this.#queue.slice(group.length)
    } catch (error) {
      if (isBusy(error) && waitedMs < busyDeadlineMs) {
        const delayMs = Math.min(1 + waitedMs / 4, 50) * (0.5 + Math.random())
        setTimeout(() => this.#flush(waitedMs + delayMs), delayMs)
        return
      }
      this.#queue = this.#queue.slice(group.length)
      this.#onFailure(error)
      if (isBusy(error) || group.length === 1) for (const each of group) each.reject(error)
      // One failing write must not fail the others of its group.
      else for (const each of group) this.#alone(each)
    }
    if (this.#queue.length > 0) setImmediate(() => this.#flush(0))
    else this.#isScheduled = false
  }

  #alone(each: Queued): void {
    try {
      this.#transact([each])
    } catch (error) {
      this.#onFailure(error)
      each.reject(error)
    }
  }

  #transact(group: readonly Queued[]): void {
    const begunMs = this.watchers.begin()
    this.#begin.run()
    const results: unknown[] = []
    try {
      for (const each of group) results.push(each.run())
      this.#beforeCommit()
      this.#commit.run()
    } catch (error) {
      if (this.#db.inTransaction) this.#db.exec('ROLLBACK')
      this.#afterRollback()
      throw error
    }
    for (const [place, each] of group.entries()) each.resolve(results[place])
    this.#afterCommit()
    this.watchers.committed(group.length, begunMs)
  }
}

export function isBusy(error: unknown): boolean {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('SQLITE_BUSY')
}

export class SqliteChanges implements ChangeFeed {
  readonly #session: Session
  readonly #pollMs: number
  readonly #watchers = new Watchers()
  #poll: NodeJS.Timeout | undefined
  #dataVersion = -1
  #lastEventRow = 0

  constructor(session: Session, pollMs: number) {
    this.#session = session
    this.#pollMs = pollMs
  }

  watchTask(key: TaskKey, onChange: (seq: number) => void): () => void {
    return this.#watching(this.#watchers.watchTask(key, onChange))
  }

  watchRunnable(agent: string, onChange: () => void): () => void {
    return this.#watching(this.#watchers.watchRunnable(agent, onChange))
  }

  watchDeliveries(agent: string, onChange: () => void): () => void {
    return this.#watching(this.#watchers.watchDeliveries(agent, onChange))
  }

  watchCollection(name: string, onChange: () => void): () => void {
    return this.#watching(this.#watchers.watchCollection(name, onChange))
  }

  collectionChanged(name: string): void {
    this.#watchers.collection(name)
  }

  /** Notifies the watchers of what the last transaction touched. */
  committed(): void {
    const { tasks, agents, cursors } = this.#session.touched
    for (const [id, seq] of tasks) this.#watchers.task(id, seq)
    for (const agent of agents) this.#watchers.runnable(agent)
    for (const agent of cursors) this.#watchers.deliveries(agent)
    tasks.clear()
    agents.clear()
    cursors.clear()
  }

  close(): void {
    clearInterval(this.#poll)
  }

  /** Polls while there are watchers. */
  #watching(unwatch: () => void): () => void {
    if (!this.#poll) {
      this.#noteVersion()
      this.#lastEventRow = this.#newestEventRow()
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

  #newestEventRow(): number {
    return (this.#session.sql.newestEvent.get() as [number, number] | undefined)?.[0] ?? 0
  }

  /** True if another connection has committed since the last call. */
  #noteVersion(): boolean {
    const [version] = this.#session.sql.dataVersion.get() as [number]
    if (version === this.#dataVersion) return false
    this.#dataVersion = version
    return true
  }

  /** If the database is busy or fails, the next tick looks again. */
  #lookForOthers(): void {
    try {
      this.#notifyOfOthers()
    } catch {
      this.#dataVersion = -1
    }
  }

  #notifyOfOthers(): void {
    // Read before the version: watchers know of all rows up to this one.
    const newest = this.#newestEventRow()
    if (!this.#noteVersion()) {
      this.#lastEventRow = newest
      return
    }
    for (const changed of this.#session.sql.changedTasks.all(this.#lastEventRow)) {
      const [agent, id, eventRow, seq] = changed as [string, string, number, number]
      this.#lastEventRow = Math.max(this.#lastEventRow, eventRow)
      this.#watchers.task(taskKeyText({ agent: fromStorable(agent), id: fromStorable(id) }), seq)
    }
    this.#watchers.everything()
  }
}
