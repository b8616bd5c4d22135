/**
 * The contract between the engine and a store of tasks. `store.contract.ts` is the suite that every store passes, and
 * docs/writing-a-store.md builds a store step by step.
 *
 * A store implements the core (`append`, `load`, `read`, `list`, `close`). Everything else is optional: each optional
 * member says what happens without it. `completeStore` fills in what a store leaves out; the engine sees the result.
 *
 * Guarantees:
 * - A resolved `append` is committed: it survives the death of the process (E-2), unless the store is in memory.
 * - Each task has one log with sequences without gaps. A writer names the last sequence it has seen; if another writer was
 *   faster, the outcome is `conflict` and the store writes nothing.
 * - The name of the agent is part of every key: agents that share a store do not see each other's tasks.
 * - Durations, not times: leases and expiries end by the clock of the store. Stores that several machines share use the
 *   clock of the database.
 * - Expected failures are returned. An exception means that the store itself failed.
 */
import type { TaskEvent } from '../model/event.js'
import type { HistoryWindow } from '../model/history-window.js'
import type { Task, TaskState } from '../model/task.js'
import type { DeliveryStore, NewPushConfig } from './deliveries.js'
import type { RecordStore } from './records.js'

export * from './deliveries.js'

/** Agent and id of a task. */
export interface TaskKey {
  readonly agent: string
  readonly id: string
}

/** The key as one text. */
export function taskId({ agent, id }: TaskKey): string {
  return `${agent}\n${id}`
}

/** Agent, tenant and owner. Each look-up by a caller is confined to one scope. */
export interface Scope {
  readonly agent: string
  readonly tenant: string
  readonly owner: string
}

/**
 * `provisional`: a send is under way and may still end as a Message. `task`: visible to its owner.
 * `message`: it ended as a Message, kept while its idempotency key lives and never listed (E-6).
 */
export type Visibility = 'provisional' | 'task' | 'message'

/** The facts of a task that are stored beside its events. */
export interface TaskRecord {
  readonly key: TaskKey
  readonly tenant: string
  readonly owner: string
  readonly contextId: string
  /** The dialect that created it. */
  readonly dialect: string
  readonly visibility: Visibility
  /** The last sequence committed. */
  readonly seq: number
  /** The newest fencing token; 0 when it was never claimed. */
  readonly fencingToken: number
  /** Who holds the lease, unless it was released or has expired. */
  readonly leaseOwner?: string
  /** The newest state; absent while there is no task. */
  readonly state?: TaskState
  /** The size of the log, as its writers counted it (`Append.bytes`). */
  readonly bytes: number
}

/** A record with enough to fold it: a snapshot, or the events from the beginning. */
export interface LoadedTask {
  readonly record: TaskRecord
  /** The merged task, when it has ended and the store keeps one. Then `events` is empty. */
  readonly snapshot?: Task
  readonly events: readonly TaskEvent[]
}

/** The parts of a task that a reader wants. */
export interface ViewOptions {
  readonly history: HistoryWindow
  readonly includeArtifacts: boolean
}

/** A task as readers see it, and its record at that moment. */
export interface ViewedTask {
  readonly record: TaskRecord
  readonly task: Task
}

/** The stored result of a send with an idempotency key: the task, and the position of the message in its log. */
export interface KeyedSend {
  readonly taskId: string
  readonly digest: string
  readonly seq: number
}

/** The key of a send, with a digest of its request. */
export interface IdempotencyKey {
  readonly key: string
  /** Fingerprint of the request: the same key with another body is an error. */
  readonly digest: string
  readonly ttlMs: number
}

/** The first facts of a new task. */
export interface TaskCreation {
  readonly tenant: string
  readonly owner: string
  readonly contextId: string
  readonly dialect: string
}

/** A lease to take with an append. */
export interface LeaseClaim {
  readonly owner: string
  readonly ttlMs: number
}

/** One atomic step of one task. Members may be spelled out as `undefined`: steps of one shape are handled faster. */
export interface Append {
  readonly key: TaskKey
  /** The last sequence the writer has seen. 0 together with `create` makes the task. */
  readonly expect: number
  readonly create?: TaskCreation | undefined
  readonly events: readonly TaskEvent[]
  /** The size of `events`, as the writer counts it. Default 0. */
  readonly bytes?: number | undefined
  /** Remembers the first of `events` under this key, in the task's scope. */
  readonly idempotency?: IdempotencyKey | undefined
  /** The lease under which the writer runs. Without it: a request from outside, allowed at any time. */
  readonly fencingToken?: number | undefined
  readonly visibility?: Visibility | undefined
  /** The newest status among `events`; what lists are sorted and filtered by. */
  readonly status?: { readonly state: TaskState; readonly timeMs: number } | undefined
  /** Claim takes a free or expired lease (`conflict` when another holds it); release gives it back. */
  readonly lease?: LeaseClaim | 'release' | undefined
  /** Whether a turn runs or waits to run: what `claim` finds. Unchanged when absent. */
  readonly isRunnable?: boolean | undefined
  /**
   * The merged task, when these events end it (E-3). A store may leave out the parts of it that are too large to be
   * written again, and reads them from the log instead.
   */
  readonly snapshot?: Task | undefined
  /** A webhook registered together with the message; it is told of these events too. See `putPushConfig`. */
  readonly pushConfig?: NewPushConfig | undefined
}

/** The result of an append: committed, or the reason it was refused. */
export type AppendOutcome =
  | { readonly result: 'ok'; readonly fencingToken: number }
  /** Somebody else wrote first, holds the lease, or made a task of that id: load and look again. */
  | { readonly result: 'conflict' }
  /** The lease was lost to a newer one. */
  | { readonly result: 'fenced' }
  /** The idempotency key is in use; see `findKey`. */
  | { readonly result: 'key-taken' }
  /**
   * The store has no room for the events. A store always accepts a step without events, a step that ends a task, and a
   * `cancelAsked` event whose metadata has at most 4 KB.
   */
  | { readonly result: 'full' }
  /** The same, and waiting does not help: the task would be larger than the whole store. */
  | { readonly result: 'too-large' }

/** The filters and the page of a list of tasks. */
export interface ListQuery extends Scope, ViewOptions {
  readonly contextId?: string
  readonly state?: TaskState
  /** Inclusive lower bound of the status time. */
  readonly statusTimeFromMs?: number
  readonly limit: number
  /** The page ends before its tasks take more than this; its first task is given however large it is. */
  readonly maxBytes?: number
  /** Continue behind this position, taken from an earlier page; see `isPosition`. */
  readonly after?: string
}

/** Positions are two numbers: a time, and what tells tasks of one time apart. Anything else is not from us. */
export function isPosition(text: unknown): text is string {
  return typeof text === 'string' && /^\d{1,16}\.\d{1,16}$/.test(text)
}

/** A page of tasks. */
export interface ListPage {
  /** Newest status first. */
  readonly tasks: readonly ViewedTask[]
  /** Where the next page begins; absent on the last one. */
  readonly next?: string
  /** Matches before paging. */
  readonly total: number
}

/** Which abandoned tasks to claim, and for whom. */
export interface ClaimRequest {
  readonly agents: readonly string[]
  readonly lease: LeaseClaim
  readonly limit: number
}

/** A task whose lease was claimed. */
export interface ClaimedTask {
  readonly key: TaskKey
  readonly fencingToken: number
}

/** Which ended tasks to remove. */
export interface Expiry {
  /** Remove tasks that ended longer ago than this, with all that belongs to them. */
  readonly endedTasksMs?: number
  /** Keep at most this many ended tasks of one agent. */
  readonly maxEndedTasks?: number
  /** Remove only the events of tasks that ended longer ago than this. Tasks without a whole snapshot keep theirs. */
  readonly endedEventsMs?: number
  /** At most this many tasks in one sweep, so that a sweep never blocks for long. */
  readonly limit: number
}

/** The result of one call of `expire`, at most `limit` of each kind. */
export interface Expired {
  /** Removed, or rid of their events. */
  readonly tasks: number
  /** Idempotency keys, with the Message answers that lived as long as they did. */
  readonly keys: number
}

/** Counts about one agent, for operators. They stop at `maxCounted`, so that counting stays cheap. */
export interface AgentStats {
  /** Tasks with a turn to run whose lease is free or has expired. */
  readonly unheldTasks: number
  /** How long until the first of the leases that are held runs out; absent when none is held. */
  readonly leaseEndsInMs?: number
  /** Delivery cursors with pending events: due, held, or waiting for another attempt. */
  readonly pendingCursors: number
  /** For how long a cursor has been due that nobody has taken; absent when none is. */
  readonly cursorOverdueMs?: number
  readonly deadLetters: number
}

export const maxCounted = 10_000

/** One transaction of a store. */
export interface Commit {
  /** What was written together. */
  readonly steps: number
  /** From its beginning to its end, attempts that had to be repeated included. */
  readonly durationMs: number
}

/**
 * Keeps the logs of tasks. Implement `append`, `load`, `read`, `list` and `close`; add optional members as needed.
 * docs/writing-a-store.md shows how, and `storeContract` of `dragoman/testing` checks the result.
 */
export interface Store {
  /** Commits one step of one task, whole or not at all. */
  append(step: Append): Promise<AppendOutcome>

  /** Reads a task with its whole log, or the snapshot of an ended task. Undefined if there is no such task. */
  load(key: TaskKey, options?: { readonly includeArtifacts?: boolean }): Promise<LoadedTask | undefined>

  /**
   * Reads events after a sequence, oldest first, at least one unless there are none. Undefined if the events or the task
   * were removed. A page ends early when its events take much memory, about 256 KB.
   */
  read(key: TaskKey, afterSeq: number, limit: number): Promise<readonly TaskEvent[] | undefined>

  /** Lists the visible tasks of one scope, newest status first. `viewTask` makes the tasks of a page. */
  list(query: ListQuery): Promise<ListPage>

  /** Releases what the store holds. No other call follows. */
  close(): Promise<void>

  /**
   * Lets processes share the tasks. Without it one process at a time may use the store: this process keeps the leases in
   * memory, and `runnable` says which tasks an earlier process left behind.
   */
  readonly leases?: LeaseStore

  /**
   * Tasks whose last `Append.isRunnable` was true. Called once per agent, only for stores without `leases`; the engine fails
   * or retries these tasks. Without it, tasks that ran when the process died keep their state.
   */
  runnable?(agent: string): Promise<readonly TaskKey[]>

  /** Keeps webhooks and how far each has been called. Without it push notifications are not supported. */
  readonly deliveries?: DeliveryStore

  /** Keeps the documents of a registry. Without it a registry refuses the store; agents do not need it. */
  readonly records?: RecordStore

  /**
   * Reports changes of all processes. Without it callers are notified of changes that this process makes, and of no others:
   * a stream must be read from the process that runs its task.
   */
  readonly changes?: ChangeFeed

  /**
   * Finds an earlier send by its idempotency key. A store that has it keeps `Append.idempotency` and answers `key-taken`.
   * Without it this process remembers keys in memory: a send that is repeated after a restart runs again.
   */
  findKey?(scope: Scope, key: string): Promise<KeyedSend | undefined>

  /** Reads a task without its log. Default: the record of `load`. */
  find?(key: TaskKey): Promise<TaskRecord | undefined>

  /**
   * Reads a task as callers see it; undefined if there is none to see. Default: made from `load`, which reads the whole log.
   * An implementation reads the newest messages only, and neither progress nor other messages.
   */
  view?(key: TaskKey, options: ViewOptions): Promise<ViewedTask | undefined>

  /**
   * The size of all tasks and Message answers of one owner, in every tenant. May lag behind by up to 64 KB for each task
   * that has not ended. Without it `limits.bytesPerCaller` is not enforced.
   */
  bytesOf?(agent: string, owner: string): Promise<number>

  /**
   * Removes tasks and idempotency keys past their time (E-11). There may be more if either number is the limit. Without it
   * tasks are never removed.
   */
  expire?(agent: string, expiry: Expiry): Promise<Expired>

  /** Numbers for operators, for each of the agents in their order. Without it the metrics of the store are absent. */
  stats?(agents: readonly string[]): Promise<readonly AgentStats[]>

  /** Calls back after each transaction of this process. Without it the metrics of commits are absent. */
  watchCommits?(onCommit: (commit: Commit) => void): () => void

  /** Rejects if the store cannot be used; `/readyz` is 503 then. Default: resolves. */
  ping?(): Promise<void>
}

/**
 * Leases: the right to run a task. Every claim raises the fencing token of the task. `append` refuses a step with an older
 * token with the outcome `fenced` (E-9), and handles `Append.lease`. Leases of delivery cursors belong to it as well.
 */
export interface LeaseStore {
  /** Takes runnable tasks whose lease is free or has expired. */
  claim(request: ClaimRequest): Promise<readonly ClaimedTask[]>
  /** Prolongs leases. Returns those that were lost. */
  renew(held: readonly ClaimedTask[], lease: LeaseClaim): Promise<readonly ClaimedTask[]>
  /** Every owner of a lease that has not expired, of a task or of a delivery cursor. */
  owners(): Promise<readonly string[]>
  /** Ends all leases of an owner that is known to be dead. */
  disown(owner: string): Promise<void>
}

/** Change notification. Callbacks are hints: a store may call them too often, but must not miss a change. */
export interface ChangeFeed {
  /** Calls back with the last committed sequence when a task has new events. */
  watchTask(key: TaskKey, onChange: (seq: number) => void): () => void
  /** Calls back when `leases.claim` may find a task of this agent. */
  watchRunnable(agent: string, onChange: () => void): () => void
  /** Calls back when `deliveries.claim` may find a cursor of this agent. */
  watchDeliveries(agent: string, onChange: () => void): () => void
}

/** A store with every member that the engine uses. `completeStore` makes one of any store. */
export interface CompleteStore extends Store {
  readonly leases: LeaseStore
  readonly deliveries: DeliveryStore
  readonly records: RecordStore
  readonly changes: ChangeFeed
  findKey(scope: Scope, key: string): Promise<KeyedSend | undefined>
  find(key: TaskKey): Promise<TaskRecord | undefined>
  view(key: TaskKey, options: ViewOptions): Promise<ViewedTask | undefined>
  bytesOf(agent: string, owner: string): Promise<number>
  expire(agent: string, expiry: Expiry): Promise<Expired>
  stats(agents: readonly string[]): Promise<readonly AgentStats[]>
  watchCommits(onCommit: (commit: Commit) => void): () => void
  ping(): Promise<void>
}
