/**
 * Tasks in this process's memory: for tests, demonstrations and agents whose tasks may be forgotten.
 * The same contract as every store; nothing survives the process. Ended tasks beyond
 * `maxEndedTasks` are forgotten, oldest first, so that memory stays bounded.
 */
import type { TaskEvent } from '../model/event.js'
import { sizeOf } from '../model/size-of.js'
import { isTerminal } from '../model/task.js'
import { EndedRows, ListIndex } from './memory-index.js'
import { isPending, MemoryLanes } from './memory-lanes.js'
import { MemoryRecords } from './memory-records.js'
import {
  addEvent,
  dropEvents,
  eventsAfter,
  heldBy,
  loadRow,
  type Row,
  recordOf,
  runnableStats,
  seal,
  viewRow,
} from './memory-row.js'
import { withinBudget } from './page-budget.js'
import type { Records } from './records.js'
import type {
  AgentStats,
  Append,
  AppendOutcome,
  ClaimedTask,
  ClaimRequest,
  DeadLetter,
  DeadLetterQuery,
  Expired,
  Expiry,
  IdempotencyKey,
  KeyedSend,
  LaneClaim,
  LaneSettlement,
  LeaseClaim,
  ListPage,
  ListQuery,
  LoadedTask,
  NewPushConfig,
  Scope,
  Store,
  StoredPushConfig,
  TaskCreation,
  TaskKey,
  TaskRecord,
  ViewedTask,
  ViewOptions,
} from './store.js'
import { Watchers } from './watchers.js'

export interface MemoryStoreOptions {
  /** Milliseconds since 1970. */
  readonly now?: () => number
  /** How many ended tasks are remembered. Default 10,000. */
  readonly maxEndedTasks?: number
}

interface KeyEntry extends KeyedSend {
  readonly untilMs: number
}

const readBatch = 1000
const bytesPerRead = 256 * 1024

export class MemoryStore implements Store {
  readonly records: Records
  readonly #now: () => number
  readonly #maxEndedTasks: number
  readonly #rows = new Map<string, Row>()
  readonly #runnable = new Set<Row>()
  readonly #ended = new EndedRows<Row>()
  readonly #lists = new Map<string, ListIndex<Row>>()
  readonly #keys = new Map<string, KeyEntry>()
  readonly #lanes = new MemoryLanes()
  readonly #watchers = new Watchers()
  #serial = 0
  #isClosed = false

  constructor(options: MemoryStoreOptions = {}) {
    this.#now = options.now ?? Date.now
    this.records = new MemoryRecords(this.#now)
    this.#maxEndedTasks = options.maxEndedTasks ?? 10_000
  }

  async append(step: Append): Promise<AppendOutcome> {
    this.#assertOpen()
    const id = rowId(step.key)
    let row = this.#rows.get(id)
    if (step.create) {
      if (step.expect !== 0) return { result: 'conflict' }
      if (step.idempotency && this.#isKeyTaken(scopeOf(step.key, step.create), step.idempotency))
        return { result: 'key-taken' }
      if (row) return { result: 'conflict' }
      row = this.#newRow(id, step.key, step.create)
      this.#rows.set(id, row)
    } else {
      if (step.fence !== undefined && step.fence !== row?.fence) return { result: 'fenced' }
      if (!row || row.seq !== step.expect) return { result: 'conflict' }
      const claims = step.lease !== undefined && step.lease !== 'release'
      if (claims && heldBy(row, this.#now()) !== undefined) return { result: 'conflict' }
      if (step.idempotency && this.#isKeyTaken(scopeOf(row.key, row), step.idempotency)) return { result: 'key-taken' }
    }
    if (step.idempotency) this.#takeKey(row, step, step.idempotency)
    this.#write(row, step)
    return { result: 'ok', fence: row.fence }
  }

  async find(key: TaskKey): Promise<TaskRecord | undefined> {
    this.#assertOpen()
    const row = this.#rows.get(rowId(key))
    return row && recordOf(row, this.#now())
  }

  async view(key: TaskKey, options: ViewOptions): Promise<ViewedTask | undefined> {
    this.#assertOpen()
    const row = this.#rows.get(rowId(key))
    return row && viewRow(row, this.#now(), options)
  }

  async load(key: TaskKey, options: { readonly includeArtifacts?: boolean } = {}): Promise<LoadedTask | undefined> {
    this.#assertOpen()
    const row = this.#rows.get(rowId(key))
    return row && loadRow(row, this.#now(), options.includeArtifacts ?? true)
  }

  async read(key: TaskKey, afterSeq: number, limit: number): Promise<readonly TaskEvent[] | undefined> {
    this.#assertOpen()
    const row = this.#rows.get(rowId(key))
    const events = row && eventsAfter(row, afterSeq, Math.min(limit, readBatch))
    return events && withinBudget(events, bytesPerRead, ({ body }) => sizeOf(body, bytesPerRead))
  }

  async list(query: ListQuery): Promise<ListPage> {
    this.#assertOpen()
    const index = this.#lists.get(scopeId(query))
    if (!index) return { tasks: [], total: 0 }
    const matches = (row: Row) =>
      (query.contextId === undefined || row.contextId === query.contextId) &&
      (query.state === undefined || row.state === query.state)
    const { rows, ...rest } = index.page({
      matches: query.contextId === undefined && query.state === undefined ? undefined : matches,
      fromMs: query.statusTimeFromMs,
      after: query.after,
      limit: query.limit,
      budget: query.maxBytes,
      sizeOf: (row) => sizeOf(viewRow(row, this.#now(), query)?.task, query.maxBytes),
    })
    return { ...rest, tasks: rows.flatMap((row) => viewRow(row, this.#now(), query) ?? []) }
  }

  async findKey(scope: Scope, key: string): Promise<KeyedSend | undefined> {
    this.#assertOpen()
    const entry = this.#keys.get(keyId(scope, key))
    if (!entry || entry.untilMs <= this.#now()) return undefined
    return { taskId: entry.taskId, digest: entry.digest, seq: entry.seq }
  }

  async claim({ agents, lease, limit }: ClaimRequest): Promise<readonly ClaimedTask[]> {
    this.#assertOpen()
    const claimed: ClaimedTask[] = []
    for (const row of this.#runnable) {
      if (claimed.length >= limit) break
      if (!agents.includes(row.key.agent) || heldBy(row, this.#now()) !== undefined) continue
      this.#lease(row, lease)
      claimed.push({ key: row.key, fence: row.fence })
    }
    return claimed
  }

  async renew(held: readonly ClaimedTask[], lease: LeaseClaim): Promise<readonly ClaimedTask[]> {
    this.#assertOpen()
    return held.filter(({ key, fence }) => {
      const row = this.#rows.get(rowId(key))
      if (!row || row.fence !== fence || row.lease?.owner !== lease.owner) return true
      row.lease = { owner: lease.owner, untilMs: this.#now() + lease.ttlMs }
      return false
    })
  }

  async leaseOwners(): Promise<readonly string[]> {
    const owners = this.#lanes.owners()
    for (const row of this.#rows.values()) {
      const owner = heldBy(row, this.#now())
      if (owner !== undefined) owners.add(owner)
    }
    return [...owners]
  }

  async disown(owner: string): Promise<void> {
    for (const row of this.#rows.values()) {
      if (row.lease?.owner !== owner) continue
      row.lease = undefined
      if (row.isRunnable) this.#watchers.runnable(row.key.agent)
    }
    for (const agent of this.#lanes.disown(owner, this.#now())) this.#watchers.lanes(agent)
  }

  async putPushConfig(key: TaskKey, config: NewPushConfig): Promise<'ok' | 'full' | 'no-task'> {
    const row = this.#rows.get(rowId(key))
    if (!row) return 'no-task'
    const outcome = this.#lanes.put(row, config, row.seq, this.#now())
    this.#watchers.lanes(key.agent)
    return outcome
  }

  async listPushConfigs(
    key: TaskKey,
    options: { readonly limit?: number; readonly afterId?: string } = {},
  ): Promise<readonly StoredPushConfig[]> {
    const all = Array.from(this.#rows.get(rowId(key))?.lanes?.values() ?? [], ({ push }) => push)
    const { afterId } = options
    return all
      .sort((a, b) => (a.config.id < b.config.id ? -1 : 1))
      .filter(({ config }) => afterId === undefined || config.id > afterId)
      .slice(0, options.limit)
  }

  async getPushConfig(key: TaskKey, id: string): Promise<StoredPushConfig | undefined> {
    return this.#rows.get(rowId(key))?.lanes?.get(id)?.push
  }

  async deletePushConfig(key: TaskKey, id: string): Promise<void> {
    const row = this.#rows.get(rowId(key))
    if (row) this.#lanes.remove(row, id)
  }

  async claimLanes(request: ClaimRequest): Promise<LaneClaim> {
    this.#assertOpen()
    return this.#lanes.claim(request, this.#now())
  }

  async settleLane(settlement: LaneSettlement): Promise<boolean> {
    this.#assertOpen()
    const { key, configId, next } = settlement
    const lane = this.#rows.get(rowId(key))?.lanes?.get(configId)
    const isOurs = this.#lanes.settle(lane, settlement, this.#now())
    if (isOurs && next === 'release' && lane && isPending(lane)) this.#watchers.lanes(key.agent)
    return isOurs
  }

  async listDeadLetters(query: DeadLetterQuery): Promise<readonly DeadLetter[]> {
    return this.#lanes.deadLetters(query)
  }

  async getDeadLetter(id: string): Promise<DeadLetter | undefined> {
    return this.#lanes.deadLetter(id)
  }

  async deleteDeadLetter(id: string): Promise<void> {
    this.#lanes.deleteDeadLetter(id)
  }

  async expire(agent: string, expiry: Expiry): Promise<Expired> {
    const now = this.#now()
    let keys = 0
    let tasks = 0
    for (const [id, entry] of this.#keys) {
      if (keys >= expiry.limit) break
      if (entry.untilMs > now || !id.startsWith(`${agent}\n`)) continue
      this.#keys.delete(id)
      keys += 1
      const row = this.#rows.get(rowId({ agent, id: entry.taskId }))
      if (row?.visibility === 'message') this.#remove(row)
    }
    const ended = this.#ended.all().filter((row) => row.key.agent === agent)
    const surplus = expiry.maxEndedTasks === undefined ? 0 : ended.length - expiry.maxEndedTasks
    for (const [place, row] of ended.entries()) {
      if (tasks >= expiry.limit) break
      const age = now - (row.endedMs ?? now)
      if (place < surplus || (expiry.endedTasksMs !== undefined && age > expiry.endedTasksMs)) {
        this.#remove(row)
        tasks += 1
      } else if (expiry.endedEventsMs !== undefined && age > expiry.endedEventsMs && dropEvents(row)) tasks += 1
    }
    return { tasks, keys }
  }

  watch(key: TaskKey, onChange: (seq: number) => void): () => void {
    return this.#watchers.watchTask(rowId(key), onChange)
  }

  watchRunnable(agent: string, onChange: () => void): () => void {
    return this.#watchers.watchRunnable(agent, onChange)
  }

  watchLanes(agent: string, onChange: () => void): () => void {
    return this.#watchers.watchLanes(agent, onChange)
  }

  async stats(agents: readonly string[]): Promise<readonly AgentStats[]> {
    const now = this.#now()
    return agents.map((agent) => ({ ...runnableStats(this.#runnable, agent, now), ...this.#lanes.stats(agent, now) }))
  }

  /** Steps are taken one by one, at once. */
  watchCommits(): () => void {
    return () => undefined
  }

  async ping(): Promise<void> {
    this.#assertOpen()
  }

  async close(): Promise<void> {
    this.#isClosed = true
  }

  #assertOpen(): void {
    if (this.#isClosed) throw new Error('The store is closed')
  }

  #isKeyTaken(scope: Scope, { key }: IdempotencyKey): boolean {
    const taken = this.#keys.get(keyId(scope, key))
    return taken !== undefined && taken.untilMs > this.#now()
  }

  #takeKey(row: Row, step: Append, { key, digest, ttlMs }: IdempotencyKey): void {
    const id = keyId(scopeOf(row.key, row), key)
    this.#keys.set(id, { taskId: row.key.id, digest, seq: step.expect + 1, untilMs: this.#now() + ttlMs })
    row.idempotencyKeys ??= []
    row.idempotencyKeys.push(id)
  }

  #newRow(id: string, key: TaskKey, creation: TaskCreation): Row {
    this.#serial += 1
    return {
      key,
      id,
      list: this.#listOf(scopeOf(key, creation)),
      tenant: creation.tenant,
      owner: creation.owner,
      contextId: creation.contextId,
      dialect: creation.dialect,
      serial: this.#serial,
      idempotencyKeys: undefined,
      visibility: 'provisional',
      events: [],
      status: undefined,
      history: [],
      seq: 0,
      fence: 0,
      lease: undefined,
      isRunnable: false,
      state: undefined,
      statusTimeMs: 0,
      endedMs: undefined,
      sealed: undefined,
      lanes: undefined,
    }
  }

  #write(row: Row, step: Append): void {
    const wasListed = row.visibility === 'task'
    if (step.visibility) row.visibility = step.visibility
    for (const event of step.events) addEvent(row, event)
    row.seq += step.events.length
    if (step.lease === 'release') row.lease = undefined
    else if (step.lease) this.#lease(row, step.lease)
    if (step.status) {
      if (wasListed) row.list.remove(row)
      row.state = step.status.state
      row.statusTimeMs = step.status.timeMs
      if (row.visibility === 'task') row.list.add(row)
    }
    if (step.isRunnable !== undefined) {
      row.isRunnable = step.isRunnable
      if (row.isRunnable) this.#runnable.add(row)
      else this.#runnable.delete(row)
    }
    if (step.pushConfig) this.#lanes.put(row, step.pushConfig, step.expect, this.#now())
    const isTelling = row.lanes && step.events.length > 0 && this.#lanes.mark(row.lanes.values(), this.#now())
    const isOver = row.visibility === 'message' || (row.state !== undefined && isTerminal(row.state))
    if (isOver && row.endedMs === undefined) this.#end(row, step)
    this.#watchers.task(row.id, row.seq)
    if (isTelling || step.pushConfig) this.#watchers.lanes(row.key.agent)
    if (row.isRunnable && heldBy(row, this.#now()) === undefined) this.#watchers.runnable(row.key.agent)
  }

  #end(row: Row, step: Append): void {
    if (step.snapshot) seal(row, step.snapshot)
    row.endedMs = this.#now()
    this.#ended.add(row)
    const oldest = this.#ended.size > this.#maxEndedTasks ? this.#ended.oldest() : undefined
    if (oldest) this.#remove(oldest)
  }

  #remove(row: Row): void {
    this.#rows.delete(row.id)
    this.#runnable.delete(row)
    this.#ended.remove(row)
    row.list.remove(row)
    if (row.idempotencyKeys) for (const id of row.idempotencyKeys) this.#keys.delete(id)
    this.#lanes.remove(row)
  }

  #lease(row: Row, lease: LeaseClaim): void {
    row.fence += 1
    row.lease = { owner: lease.owner, untilMs: this.#now() + lease.ttlMs }
  }

  #listOf(scope: Scope): ListIndex<Row> {
    const id = scopeId(scope)
    let index = this.#lists.get(id)
    if (!index) {
      index = new ListIndex()
      this.#lists.set(id, index)
    }
    return index
  }
}

function rowId({ agent, id }: TaskKey): string {
  return `${agent}\n${id}`
}

function scopeOf({ agent }: TaskKey, { tenant, owner }: Omit<Scope, 'agent'>): Scope {
  return { agent, tenant, owner }
}

function scopeId({ agent, tenant, owner }: Scope): string {
  return `${agent}\n${tenant}\n${owner}`
}

function keyId(scope: Scope, key: string): string {
  return `${scopeId(scope)}\n${key}`
}
