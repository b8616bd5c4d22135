/** The memory store, which the simple store builds on. */
import type { TaskEvent } from '../model/event.js'
import { assertOptions, type NamesOf } from '../model/option-names.js'
import { quarterOfHeap, sizeOf } from '../model/size-of.js'
import { configsOf, type DeliveryProgress, MemoryDeliveries } from './memory-deliveries.js'
import { ListIndexes, MemoryKeys, RowMap } from './memory-index.js'
import { MemoryRecords } from './memory-records.js'
import { EvictionNotices, MemoryRoom } from './memory-room.js'
import {
  addEvent,
  dropEvents,
  eventsAfter,
  heldBy,
  isAlwaysTaken,
  isEnd,
  isPending,
  listRows,
  loadRow,
  newRow,
  type Row,
  recordOf,
  release,
  runnableStats,
  scopeId,
  scopeOf,
  seal,
  setStatus,
  takeLease,
  viewRow,
} from './memory-row.js'
import type { RecordStore } from './records.js'
import {
  type AgentStats,
  type Append,
  type AppendOutcome,
  type ChangeFeed,
  type ClaimedTask,
  type CompleteStore,
  type CursorSettlement,
  type DeliveryStore,
  type Expired,
  type Expiry,
  type KeyedSend,
  type LeaseStore,
  type ListPage,
  type ListQuery,
  type LoadedTask,
  type Scope,
  type TaskCreation,
  type TaskKey,
  type TaskRecord,
  taskKeyText,
  type ViewedTask,
  type ViewOptions,
} from './store.js'
import { withinBudget } from './views.js'
import { Watchers } from './watchers.js'

const readBatch = 1000
const bytesPerRead = 256 * 1024

export class MemoryTasks implements CompleteStore {
  readonly records: RecordStore
  readonly #now: () => number
  readonly #room: MemoryRoom
  readonly #notices: EvictionNotices
  readonly #onRemove: MemoryTasksDeps['onRemove'] | undefined
  readonly #rows = new RowMap<Row>()
  readonly #runnable = new Set<Row>()
  readonly #lists = new ListIndexes<Row>()
  readonly #keys = new MemoryKeys()
  readonly #deliveries = new MemoryDeliveries()
  readonly #watchers = new Watchers()
  readonly changes: ChangeFeed = this.#watchers
  #serial = 0
  #isClosed = false

  readonly leases: LeaseStore = {
    claim: async ({ agents, lease, limit }) => {
      this.#assertOpen()
      const claimed: ClaimedTask[] = []
      for (const row of this.#runnable) {
        if (claimed.length >= limit) break
        if (!agents.includes(row.key.agent) || heldBy(row, this.#now()) !== undefined) continue
        takeLease(row, lease, this.#now())
        claimed.push({ key: row.key, fencingToken: row.fencingToken })
      }
      return claimed
    },
    renew: async (held, lease) => {
      this.#assertOpen()
      return held.filter(({ key, fencingToken }) => {
        const row = this.#rows.get(key)
        if (!row || row.fencingToken !== fencingToken || row.lease?.owner !== lease.owner) return true
        row.lease = { owner: lease.owner, untilMs: this.#now() + lease.ttlMs }
        return false
      })
    },
    owners: async () => {
      const owners = this.#deliveries.owners()
      for (const row of this.#rows.values()) {
        const owner = heldBy(row, this.#now())
        if (owner !== undefined) owners.add(owner)
      }
      return [...owners]
    },
    disown: async (owner) => {
      for (const row of this.#rows.values()) {
        if (row.lease?.owner !== owner) continue
        row.lease = undefined
        if (row.isRunnable) this.#watchers.runnable(row.key.agent)
      }
      for (const agent of this.#deliveries.disown(owner, this.#now())) this.#watchers.deliveries(agent)
    },
  }

  readonly deliveries: DeliveryStore = {
    putConfig: async (key, config) => {
      const row = this.#rows.get(key)
      if (!row) return 'no-task'
      const outcome = this.#deliveries.put(row, config, row.seq, this.#now())
      this.#watchers.deliveries(key.agent)
      return outcome
    },
    listConfigs: async (key, options = {}) => configsOf(this.#rows.get(key), options),
    getConfig: async (key, id) => this.#rows.get(key)?.cursors?.get(id)?.push,
    deleteConfig: async (key, id) => {
      const row = this.#rows.get(key)
      if (row) this.#deliveries.remove(row, id)
    },
    claim: async (request) => {
      this.#assertOpen()
      return this.#deliveries.claim(request, this.#now())
    },
    settle: async (settlement) => {
      this.#assertOpen()
      const { key, configId, next } = settlement
      const cursor = this.#rows.get(key)?.cursors?.get(configId)
      const isOurs = this.#deliveries.settle(cursor, settlement, this.#now())
      if (isOurs && next === 'release' && cursor && isPending(cursor)) this.#watchers.deliveries(key.agent)
      return isOurs
    },
    listDeadLetters: async (query) => this.#deliveries.deadLetters(query),
    getDeadLetter: async (id) => this.#deliveries.deadLetter(id),
    deleteDeadLetter: async (id) => this.#deliveries.deleteDeadLetter(id),
  }

  constructor(options: MemoryStoreOptions = {}, deps?: MemoryTasksDeps) {
    assertOptions('MemoryStore', options, memoryOptions)
    this.#now = options.now ?? Date.now
    this.records = new MemoryRecords(this.#now)
    const { maxBytes = quarterOfHeap(), maxEndedTasks = 10_000, onNotice = () => undefined } = options
    this.#room = new MemoryRoom({ maxBytes, maxEndedTasks })
    this.#notices = new EvictionNotices(deps?.label ?? 'memory store', onNotice, this.#now)
    this.#onRemove = deps?.onRemove
  }

  async append(step: Append): Promise<AppendOutcome> {
    return this.#refusal(step) ?? this.apply(step)
  }

  /** Appends a step after `save`. Until then its room is reserved, and its task cannot be evicted. */
  async appendSaved(step: Append, save: () => Promise<void>): Promise<AppendOutcome> {
    const refusal = this.#refusal(step)
    if (refusal) return refusal
    const { key, bytes = 0 } = step
    this.#room.reserve(bytes, this.#rows.get(key))
    try {
      await save()
    } finally {
      this.#room.release(bytes, this.#rows.get(key))
    }
    return this.apply(step)
  }

  /** Makes room for a step unless it is refused. */
  #refusal(step: Append): AppendOutcome | undefined {
    const row = this.#row(step.key)
    if (step.create) {
      if (step.expect !== 0) return { result: 'conflict' }
      if (step.idempotency && this.#keys.find(scopeOf(step.key, step.create), step.idempotency.key, this.#now()))
        return { result: 'key-taken' }
      if (row) return { result: 'conflict' }
    } else {
      if (step.fencingToken !== undefined && step.fencingToken !== row?.fencingToken) return { result: 'fenced' }
      if (!row || row.seq !== step.expect) return { result: 'conflict' }
      const claims = step.lease !== undefined && step.lease !== 'release'
      if (claims && heldBy(row, this.#now()) !== undefined) return { result: 'conflict' }
      if (step.idempotency && this.#keys.find(scopeOf(row.key, row), step.idempotency.key, this.#now()))
        return { result: 'key-taken' }
    }
    const { key, create, bytes = 0 } = step
    if (this.#room.has(bytes)) return undefined
    const request = { row, agent: key.agent, owner: (row ?? create)?.owner ?? '' }
    const room = this.#room.make(bytes, request, (evicted) => this.#evict(evicted))
    return room === 'ok' || isAlwaysTaken(step) ? undefined : { result: room }
  }

  /** Applies a step without checks: `append` or an earlier process made them. */
  apply(step: Append): AppendOutcome {
    const row = this.#row(step.key) ?? (step.create && this.#newRow(step.key, step.create))
    if (!row) return { result: 'conflict' } // it expired while the step was saved
    if (step.idempotency) this.#keys.take(row, step.idempotency, step.expect + 1, this.#now())
    this.#write(row, step)
    return { result: 'ok', fencingToken: row.fencingToken }
  }

  async find(key: TaskKey): Promise<TaskRecord | undefined> {
    const row = this.#row(key)
    return row && recordOf(row, this.#now())
  }

  async view(key: TaskKey, options: ViewOptions): Promise<ViewedTask | undefined> {
    const row = this.#row(key)
    return row && viewRow(row, this.#now(), options)
  }

  async load(key: TaskKey, options: { readonly includeArtifacts?: boolean } = {}): Promise<LoadedTask | undefined> {
    const row = this.#row(key)
    return row && loadRow(row, this.#now(), options.includeArtifacts ?? true)
  }

  async read(key: TaskKey, afterSeq: number, limit: number): Promise<readonly TaskEvent[] | undefined> {
    const row = this.#row(key)
    const events = row && eventsAfter(row, afterSeq, Math.min(limit, readBatch))
    return events && withinBudget(events, bytesPerRead, ({ body }) => sizeOf(body, bytesPerRead))
  }

  async list(query: ListQuery): Promise<ListPage> {
    this.#assertOpen()
    const index = this.#lists.get(scopeId(query))
    if (!index) return { tasks: [], total: 0 }
    return listRows(index, query, this.#now())
  }

  async bytesOf(agent: string, owner: string): Promise<number> {
    return this.#room.bytesOf(agent, owner)
  }

  async findKey(scope: Scope, key: string): Promise<KeyedSend | undefined> {
    this.#assertOpen()
    return this.#keys.find(scope, key, this.#now())
  }

  /** Sets the delivery progress of the webhooks of a task. Pending webhooks are due at once. */
  restoreProgress(key: TaskKey, progressOf: (configId: string) => DeliveryProgress | undefined): void {
    for (const cursor of this.#rows.get(key)?.cursors?.values() ?? [])
      this.#deliveries.restore(cursor, progressOf(cursor.push.config.id), this.#now())
  }

  holdsCursor({ key, configId, fencingToken }: CursorSettlement): boolean {
    return this.#rows.get(key)?.cursors?.get(configId)?.fencingToken === fencingToken
  }

  async expire(agent: string, expiry: Expiry): Promise<Expired> {
    const now = this.#now()
    let tasks = 0
    const keyed = this.#keys.expire(agent, expiry.limit, now)
    for (const id of keyed) {
      const row = this.#rows.get({ agent, id })
      if (row?.visibility === 'message') this.#remove(row)
    }
    const ended = this.#room.endedOf(agent)
    const surplus = expiry.maxEndedTasks === undefined ? 0 : ended.length - expiry.maxEndedTasks
    for (const [place, row] of ended.entries()) {
      if (tasks >= expiry.limit) break
      const age = now - (row.endedMs ?? now)
      if (place < surplus || (expiry.endedTasksMs !== undefined && age > expiry.endedTasksMs)) {
        this.#remove(row)
        tasks += 1
      } else if (expiry.endedEventsMs !== undefined && age > expiry.endedEventsMs && dropEvents(row)) tasks += 1
    }
    return { tasks, keys: keyed.length }
  }

  async stats(agents: readonly string[]): Promise<readonly AgentStats[]> {
    const now = this.#now()
    return agents.map((agent) => ({
      ...runnableStats(this.#runnable, agent, now),
      ...this.#deliveries.stats(agent, now),
    }))
  }

  /** Does nothing: there are no transactions. */
  watchCommits(): () => void {
    return () => undefined
  }

  async ping(): Promise<void> {
    this.#assertOpen()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#notices.flush()
  }

  #row(key: TaskKey): Row | undefined {
    this.#assertOpen()
    return this.#rows.get(key)
  }

  #assertOpen(): void {
    if (this.#isClosed) throw new Error('The store is closed')
  }

  #newRow(key: TaskKey, creation: TaskCreation): Row {
    this.#serial += 1
    const row = newRow(key, creation, {
      list: this.#lists.getOrAdd(scopeId(scopeOf(key, creation))),
      share: this.#room.share(key.agent, creation.owner),
      serial: this.#serial,
    })
    this.#rows.set(row)
    return row
  }

  #write(row: Row, step: Append): void {
    setStatus(row, step)
    for (const event of step.events) addEvent(row, event)
    row.seq += step.events.length
    if (step.lease === 'release') row.lease = undefined
    else if (step.lease) takeLease(row, step.lease, this.#now())
    if (step.isRunnable !== undefined) {
      row.isRunnable = step.isRunnable
      if (row.isRunnable) this.#runnable.add(row)
      else this.#runnable.delete(row)
    }
    if (step.pushConfig) this.#deliveries.put(row, step.pushConfig, step.expect, this.#now())
    const isDue = row.cursors && step.events.length > 0 && this.#deliveries.mark(row.cursors.values(), this.#now())
    const isEnding = isEnd(step) && row.endedMs === undefined
    if (isEnding) {
      if (step.snapshot) seal(row, step.snapshot)
      row.endedMs = this.#now()
    }
    this.#room.update(row, step.bytes ?? 0)
    const surplus = isEnding ? this.#room.surplus() : undefined
    if (surplus) this.#evict(surplus)
    if (this.#watchers.hasTasks) this.#watchers.task(taskKeyText(row.key), row.seq)
    if (isDue || step.pushConfig) this.#watchers.deliveries(row.key.agent)
    if (row.isRunnable && heldBy(row, this.#now()) === undefined) this.#watchers.runnable(row.key.agent)
  }

  #evict(row: Row): void {
    this.#notices.evicted(row)
    this.#keys.orphan(row)
    this.#remove(row)
  }

  #remove(row: Row): void {
    this.#rows.delete(row)
    this.#runnable.delete(row)
    this.#room.remove(row)
    row.list.remove(row)
    this.#keys.forget(row)
    this.#deliveries.remove(row)
    release(row)
    this.#onRemove?.(row.key)
  }
}

/** Options of `MemoryStore`. */
export interface MemoryStoreOptions {
  /** Milliseconds since 1970. Default `Date.now`. */
  readonly now?: () => number
  /** The number of ended tasks that are kept. Default 10,000. */
  readonly maxEndedTasks?: number
  /**
   * The size of all tasks, as their writers count it (`Append.bytes`). Beyond it the store evicts ended tasks, then tasks
   * that wait for input, then ended and waiting tasks with pending webhooks. If that cannot make enough room, it refuses
   * events with the outcome `full`, or `too-large` if the task alone exceeds the limit. Default: a quarter of the heap
   * that V8 may use.
   */
  readonly maxBytes?: number
  /** Called when tasks with pending webhooks are evicted, once a minute at most. `serve` logs it. */
  readonly onNotice?: (text: string) => void
}

/** For the simple store. `label`: its name in notices. `onRemove`: called with each task that is evicted or expires. */
interface MemoryTasksDeps {
  readonly label: string
  readonly onRemove: (key: TaskKey) => void
}

const memoryOptions = {
  now: true,
  maxEndedTasks: true,
  maxBytes: true,
  onNotice: true,
} satisfies NamesOf<MemoryStoreOptions>

/**
 * Keeps tasks in the memory of this process, for tests, demonstrations and agents whose tasks need not survive a restart.
 * Beyond `maxBytes` the store evicts tasks of the owner that holds the most bytes. If that cannot make enough room, it
 * refuses events with the outcome `full` or `too-large`.
 */
export const MemoryStore: new (options?: MemoryStoreOptions) => CompleteStore = MemoryTasks

export type MemoryStore = CompleteStore
