/** Change notification of the SQLite store: own commits at once, those of other processes by polling `data_version`. */
import { fromStorable } from '../storable-text.js'
import { type ChangeFeed, type TaskKey, taskId } from '../store.js'
import { Watchers } from '../watchers.js'
import type { Session } from './session.js'

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
      this.#watchers.task(taskId({ agent: fromStorable(agent), id: fromStorable(id) }), seq)
    }
    this.#watchers.everything()
  }
}
