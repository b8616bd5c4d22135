/**
 * Turns any store into the complete one that the engine and the push worker use. A complete store is returned as it is, so
 * that its calls cost nothing more. For the others this process fills in what is absent:
 *
 * - `leases`: kept in memory. One process at a time may use such a store; at its start it takes over what `runnable` lists.
 * - `findKey`: idempotency keys are kept in memory until they expire or the process ends.
 * - `changes`: watchers are notified of the steps that this process appends.
 * - `deliveries`, `records`: calls that need them are refused.
 * - the rest: made from the core, or without effect; see `Store`.
 */
import { A2AError } from '../model/errors.js'
import { isObject } from '../model/is-object.js'
import { ValueKind } from '../model/option-names.js'
import type { DeliveryStore } from './deliveries.js'
import type { RecordStore } from './records.js'
import { SerialQueue } from './serial-queue.js'
import {
  type Append,
  type AppendOutcome,
  type ChangeFeed,
  type ClaimedTask,
  type ClaimRequest,
  type CompleteStore,
  type IdempotencyKey,
  type KeyedSend,
  type LeaseClaim,
  type LeaseStore,
  type Scope,
  type Store,
  type TaskKey,
  type TaskRecord,
  taskKeyText,
} from './store.js'
import { viewTask } from './views.js'
import { Watchers } from './watchers.js'

interface CompletionOptions {
  /** Milliseconds since 1970. Default `Date.now`. */
  readonly now?: () => number
}

/** Servers of one process that are given the same store must share its leases and watchers. */
const completed = new WeakMap<Store, CompleteStore>()

export function completeStore(store: Store, options: CompletionOptions = {}): CompleteStore {
  if (isComplete(store)) return store
  const known = completed.get(store)
  if (known) return known
  const made = reopenStore(store, options)
  completed.set(store, made)
  return made
}

/** Completes a store as the next process does: without the leases and keys that this process keeps for it. */
export function reopenStore(store: Store, { now = Date.now }: CompletionOptions = {}): CompleteStore {
  return isComplete(store) ? store : complete(store, now)
}

const optional = {
  leases: true,
  deliveries: true,
  records: true,
  changes: true,
  findKey: true,
  find: true,
  view: true,
  bytesOf: true,
  expire: true,
  stats: true,
  watchCommits: true,
  ping: true,
} satisfies Record<Exclude<keyof CompleteStore, 'append' | 'load' | 'read' | 'list' | 'close' | 'runnable'>, true>

/** A member that a store may leave out. */
export type OptionalMember = keyof typeof optional

/** A complete store some of whose members are defaults. */
export interface PartlyDefault extends CompleteStore {
  /** The members that are defaults. */
  readonly absent: readonly OptionalMember[]
}

export const optionalMembers = Object.keys(optional) as readonly OptionalMember[]

function isComplete(store: Store): store is CompleteStore {
  return optionalMembers.every((name) => store[name] !== undefined)
}

function complete(store: Store, now: () => number): PartlyDefault {
  const watchers = new Watchers()
  const leases = store.leases ? undefined : new ProcessLeases(store, now)
  const keys = store.findKey ? undefined : new ProcessKeys(now)
  const withLease = <Read extends { readonly record: TaskRecord }>(read: Read): Read =>
    leases ? { ...read, record: leases.addTo(read.record) } : read

  const load: CompleteStore['load'] = async (key, options) => {
    const loaded = await store.load(key, options)
    return loaded && withLease(loaded)
  }
  const find: CompleteStore['find'] = async (key) => {
    if (!store.find) return (await load(key, { includeArtifacts: false }))?.record
    const record = await store.find(key)
    return record && withLease({ record }).record
  }
  const view: CompleteStore['view'] = async (key, options) => {
    if (!store.view) return viewTask(await load(key, options), options)
    const viewed = await store.view(key, options)
    return viewed && withLease(viewed)
  }
  const list: CompleteStore['list'] = async (query) => {
    const page = await store.list(query)
    return { ...page, tasks: page.tasks.map(withLease) }
  }
  const { changes } = store
  return {
    absent: optionalMembers.filter((member) => store[member] === undefined),
    append:
      leases || keys || !changes ? createAppend({ store, find, leases, keys, watchers }) : (step) => store.append(step),
    load,
    read: (key, afterSeq, limit) => store.read(key, afterSeq, limit),
    list,
    find,
    view,
    bytesOf: async (agent, owner) => (await store.bytesOf?.(agent, owner)) ?? 0,
    findKey: async (scope, key) => (keys ? keys.find(scope, key) : await store.findKey?.(scope, key)),
    leases: leases ?? (store.leases as LeaseStore), // one of them is there
    deliveries: store.deliveries ?? noDeliveries,
    records: store.records ?? noRecords,
    changes: changes && !leases ? changes : mergeFeeds(changes ?? watchers, watchers),
    expire: async (agent, expiry) => (await store.expire?.(agent, expiry)) ?? { tasks: 0, keys: 0 },
    stats: async (agents) => (await store.stats?.(agents)) ?? [],
    watchCommits: (onCommit) => store.watchCommits?.(onCommit) ?? (() => undefined),
    ping: async () => await store.ping?.(),
    close: () => store.close(),
  }
}

/** Only this process knows of runnable tasks if it keeps the leases. */
function mergeFeeds(feed: ChangeFeed, ofProcess: ChangeFeed): ChangeFeed {
  return {
    watchTask: (key, onChange) => feed.watchTask(key, onChange),
    watchRunnable: (agent, onChange) => ofProcess.watchRunnable(agent, onChange),
    watchDeliveries: (agent, onChange) => feed.watchDeliveries(agent, onChange),
  }
}

interface AppendDeps {
  readonly store: Store
  readonly find: CompleteStore['find']
  readonly leases: ProcessLeases | undefined
  readonly keys: ProcessKeys | undefined
  readonly watchers: Watchers
}

/** Steps of one task run in order, so that its lease and its keys are checked and changed together with its log. */
function createAppend({ store, find, leases, keys, watchers }: AppendDeps): CompleteStore['append'] {
  const tasks = new SerialQueue()
  const sends = new SerialQueue()

  const scopeOf = async ({ key, create }: Append): Promise<Scope | undefined> => {
    const of = create ?? (await find(key))
    return of && { agent: key.agent, tenant: of.tenant, owner: of.owner }
  }

  const append = async (step: Append): Promise<AppendOutcome> => {
    const { key, expect, events, idempotency } = step
    const scope = keys && idempotency && (await scopeOf(step))
    if (scope && keys.find(scope, idempotency.key)) return { result: 'key-taken' }
    const refusal = leases?.refusal(step)
    if (refusal) return { result: refusal }
    const outcome = await store.append(step)
    if (outcome.result !== 'ok') return outcome
    if (scope) keys.take(scope, idempotency, { taskId: key.id, seq: expect + 1 })
    const fencingToken = leases?.apply(step) ?? outcome.fencingToken
    watchers.task(taskKeyText(key), expect + events.length)
    // Hints: the lease may be held, and the task may have no webhooks.
    if (step.isRunnable || step.lease === 'release') watchers.runnable(key.agent)
    if (events.length > 0) watchers.deliveries(key.agent)
    return { result: 'ok', fencingToken }
  }

  return (step) => {
    const inOrder = () => tasks.run(taskKeyText(step.key), () => append(step))
    return keys && step.idempotency ? sends.run(`${step.key.agent}\n${step.idempotency.key}`, inOrder) : inOrder()
  }
}

interface HeldTask {
  readonly key: TaskKey
  readonly fencingToken: number
  readonly lease?: { readonly owner: string; readonly untilMs: number } | undefined
  readonly isRunnable: boolean
}

/** Fencing tokens of tasks without a lease and without work are removed beyond this number, oldest first. */
const maxIdleTokens = 10_000

class ProcessLeases implements LeaseStore {
  readonly #store: Store
  readonly #now: () => number
  /** Tasks that have a lease or are runnable. */
  readonly #tasks = new Map<string, HeldTask>()
  readonly #idleTokens = new Map<string, number>()
  readonly #recovered = new Map<string, Promise<void>>()

  constructor(store: Store, now: () => number) {
    this.#store = store
    this.#now = now
  }

  addTo(record: TaskRecord): TaskRecord {
    const id = taskKeyText(record.key)
    const owner = this.#ownerOf(this.#tasks.get(id))
    return { ...record, fencingToken: this.#tokenOf(id), ...(owner !== undefined && { leaseOwner: owner }) }
  }

  refusal({ key, create, fencingToken, lease }: Append): 'fenced' | 'conflict' | undefined {
    if (create) return undefined
    const id = taskKeyText(key)
    if (fencingToken !== undefined && fencingToken !== this.#tokenOf(id)) return 'fenced'
    const isClaim = lease !== undefined && lease !== 'release'
    return isClaim && this.#ownerOf(this.#tasks.get(id)) !== undefined ? 'conflict' : undefined
  }

  /** Applies a step that was appended. Returns the fencing token of the task. */
  apply({ key, lease, isRunnable }: Append): number {
    const id = taskKeyText(key)
    const before = this.#tasks.get(id) ?? { key, fencingToken: this.#tokenOf(id), isRunnable: false }
    const runnable = { ...before, isRunnable: isRunnable ?? before.isRunnable }
    if (lease === 'release') return this.#set(id, { ...runnable, lease: undefined })
    return this.#set(id, lease ? this.#leased(runnable, lease) : runnable)
  }

  async claim({ agents, lease, limit }: ClaimRequest): Promise<readonly ClaimedTask[]> {
    await Promise.all(agents.map((agent) => this.#recover(agent)))
    const claimed: ClaimedTask[] = []
    for (const [id, task] of this.#tasks) {
      if (claimed.length >= limit) break
      if (!task.isRunnable || !agents.includes(task.key.agent) || this.#ownerOf(task) !== undefined) continue
      claimed.push({ key: task.key, fencingToken: this.#set(id, this.#leased(task, lease)) })
    }
    return claimed
  }

  async renew(held: readonly ClaimedTask[], { owner, ttlMs }: LeaseClaim): Promise<readonly ClaimedTask[]> {
    return held.filter(({ key, fencingToken }) => {
      const id = taskKeyText(key)
      const task = this.#tasks.get(id)
      if (task?.fencingToken !== fencingToken || task.lease?.owner !== owner) return true
      this.#set(id, { ...task, lease: { owner, untilMs: this.#now() + ttlMs } })
      return false
    })
  }

  async owners(): Promise<readonly string[]> {
    return [...new Set([...this.#tasks.values()].flatMap((task) => this.#ownerOf(task) ?? []))]
  }

  async disown(owner: string): Promise<void> {
    for (const [id, task] of [...this.#tasks])
      if (task.lease?.owner === owner) this.#set(id, { ...task, lease: undefined })
  }

  /** Finds, once, the tasks of an agent that an earlier process left behind. A failure is tried again. */
  #recover(agent: string): Promise<void> {
    const known = this.#recovered.get(agent)
    if (known) return known
    const recovered = this.#readRunnable(agent)
    this.#recovered.set(agent, recovered)
    recovered.catch(() => this.#recovered.delete(agent))
    return recovered
  }

  async #readRunnable(agent: string): Promise<void> {
    for (const key of (await this.#store.runnable?.(agent)) ?? []) {
      const id = taskKeyText(key)
      if (!this.#tasks.has(id)) this.#set(id, { key, fencingToken: this.#tokenOf(id), isRunnable: true })
    }
  }

  #leased(task: HeldTask, { owner, ttlMs }: LeaseClaim): HeldTask {
    return { ...task, fencingToken: task.fencingToken + 1, lease: { owner, untilMs: this.#now() + ttlMs } }
  }

  #set(id: string, task: HeldTask): number {
    if (task.lease || task.isRunnable) {
      this.#tasks.set(id, task)
      this.#idleTokens.delete(id)
    } else {
      this.#tasks.delete(id)
      this.#idleTokens.set(id, task.fencingToken)
      const [oldest] = this.#idleTokens.keys()
      if (this.#idleTokens.size > maxIdleTokens && oldest !== undefined) this.#idleTokens.delete(oldest)
    }
    return task.fencingToken
  }

  #tokenOf(id: string): number {
    return this.#tasks.get(id)?.fencingToken ?? this.#idleTokens.get(id) ?? 0
  }

  #ownerOf(task: HeldTask | undefined): string | undefined {
    return task?.lease && task.lease.untilMs > this.#now() ? task.lease.owner : undefined
  }
}

class ProcessKeys {
  readonly #now: () => number
  /** In the order in which they were taken, so about that in which they expire. */
  readonly #sends = new Map<string, KeyedSend & { readonly untilMs: number }>()

  constructor(now: () => number) {
    this.#now = now
  }

  find(scope: Scope, key: string): KeyedSend | undefined {
    const found = this.#sends.get(keyId(scope, key))
    if (!found || found.untilMs <= this.#now()) return undefined
    const { untilMs: _untilMs, ...send } = found
    return send
  }

  take(scope: Scope, { key, digest, ttlMs }: IdempotencyKey, at: Pick<KeyedSend, 'taskId' | 'seq'>): void {
    for (const [id, { untilMs }] of this.#sends) {
      if (untilMs > this.#now()) break
      this.#sends.delete(id)
    }
    this.#sends.set(keyId(scope, key), { ...at, digest, untilMs: this.#now() + ttlMs })
  }
}

function keyId({ agent, tenant, owner }: Scope, key: string): string {
  return `${agent}\n${tenant}\n${owner}\n${key}`
}

/** Whether a store, complete or not, implements an optional member itself. */
export function supports(store: Store & Partial<Pick<PartlyDefault, 'absent'>>, member: OptionalMember): boolean {
  return store[member] !== undefined && !store.absent?.includes(member)
}

const noDeliveries: DeliveryStore = {
  async putConfig() {
    throw new A2AError('PUSH_NOTIFICATION_NOT_SUPPORTED', 'Push notifications are not supported by the task store')
  },
  listConfigs: async () => [],
  getConfig: async () => undefined,
  deleteConfig: async () => undefined,
  claim: async () => ({ cursors: [] }),
  settle: async () => false,
  listDeadLetters: async () => [],
  getDeadLetter: async () => undefined,
  deleteDeadLetter: async () => undefined,
}

/** The records of a store, for a registry. Throws if the store keeps none. */
export function requireRecords(store: Store): RecordStore {
  if (store.records && supports(store, 'records')) return store.records
  throw new TypeError(withoutRecords)
}

const withoutRecords = 'This store keeps no records: a registry needs "memory", sqlite:PATH or postgres://…'

const refuseRecords = async (): Promise<never> => {
  throw new TypeError(withoutRecords)
}

export const noRecords: RecordStore = {
  get: refuseRecords,
  put: refuseRecords,
  delete: refuseRecords,
  renew: refuseRecords,
  readAfter: refuseRecords,
  expire: refuseRecords,
  watch: () => () => undefined,
}

const core = ['append', 'load', 'read', 'list', 'close'] as const satisfies readonly (keyof Store)[]

/** A value is a store if it has the core of `Store`. */
export const storeKind = new ValueKind(
  'a store, such as `new MemoryStore()` or `await openSqliteStore(…)`',
  (value) => isObject(value) && missingIn(value) === undefined,
  (value) => (isObject(value) ? `an object without \`${missingIn(value)}\`` : undefined),
)

function missingIn(value: object): string | undefined {
  return core.find((name) => typeof Reflect.get(value, name) !== 'function')
}
