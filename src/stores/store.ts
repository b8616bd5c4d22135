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
 * - Expected failures are returned. An exception means that the store itself failed; only an `A2AError` reaches callers.
 */
import type { TaskEvent } from '../model/event.js'
import type { HistoryWindow } from '../model/history-window.js'
import type { Task, TaskState } from '../model/task.js'
import type { DeliveryStore, NewPushConfig } from './deliveries.js'
import type { LeaseClaim, LeaseStore, TaskKey } from './leases.js'
import type { RecordStore } from './records.js'

export * from './deliveries.js'
export * from './leases.js'

/** Agent, tenant and owner. A call sees the tasks of one scope. */
export interface Scope {
  readonly agent: string
  readonly tenant: string
  readonly owner: string
}

/**
 * `provisional`: a send is in progress and may still end as a Message. `task`: visible to its owner. `message`: the send
 * ended as a Message; the store keeps it until its idempotency key expires, and never lists it (E-6).
 */
export type Visibility = 'provisional' | 'task' | 'message'

/** A task without its events. */
export interface TaskRecord {
  readonly key: TaskKey
  readonly tenant: string
  readonly owner: string
  readonly contextId: string
  /** The dialect of the call that created the task. */
  readonly dialect: string
  readonly visibility: Visibility
  /** The last sequence committed. */
  readonly seq: number
  /** The newest fencing token; 0 if the task was never claimed, and in stores without `leases`. */
  readonly fencingToken: number
  /** The holder of the lease. Absent if the lease was released or has expired. */
  readonly leaseOwner?: string
  /** The newest state. Absent until there is a task. */
  readonly state?: TaskState
  /** The size of the log, as its writers counted it (`Append.bytes`). */
  readonly bytes: number
}

/** A task with its snapshot, or with all its events. */
export interface LoadedTask {
  readonly record: TaskRecord
  /** The task that its events make. Present for ended tasks if the store keeps snapshots; `events` is empty then. */
  readonly snapshot?: Task
  readonly events: readonly TaskEvent[]
}

/** The parts of a task to read. */
export interface ViewOptions {
  readonly history: HistoryWindow
  readonly includeArtifacts: boolean
}

/** A task as callers see it, and its record at that moment. */
export interface ViewedTask {
  readonly record: TaskRecord
  readonly task: Task
}

/** A send with an idempotency key: its task, and the sequence at which its message was accepted. */
export interface KeyedSend {
  readonly taskId: string
  readonly digest: string
  readonly seq: number
}

/** An idempotency key of a send (E-10). */
export interface IdempotencyKey {
  readonly key: string
  /** A hash of the request: the same key with another request is an error. */
  readonly digest: string
  readonly ttlMs: number
}

/** The fixed properties of a new task. */
export interface TaskCreation {
  readonly tenant: string
  readonly owner: string
  readonly contextId: string
  readonly dialect: string
}

/** One atomic step of one task. An absent member changes nothing. Stores ignore members of contracts they leave out. */
export interface Append {
  readonly key: TaskKey
  /** The last sequence that the writer has read. 0 together with `create` creates the task. */
  readonly expect: number
  readonly create?: TaskCreation | undefined
  readonly events: readonly TaskEvent[]
  /** The size of `events`, as the writer counts it. Default 0. */
  readonly bytes?: number | undefined
  /** Stores the sequence of the first event under this key, in the scope of the task. See `Store.findKey`. */
  readonly idempotency?: IdempotencyKey | undefined
  /** The token of the lease that the writer holds. Steps without it, such as cancel requests, need no lease. */
  readonly fencingToken?: number | undefined
  readonly visibility?: Visibility | undefined
  /** The newest status among `events`. Lists are sorted and filtered by it. */
  readonly status?: { readonly state: TaskState; readonly timeMs: number } | undefined
  /** Takes a free or expired lease, with the outcome `conflict` if another owner holds it; or releases the lease. */
  readonly lease?: LeaseClaim | 'release' | undefined
  /** Whether a turn runs or waits to run. `leases.claim` finds runnable tasks. */
  readonly isRunnable?: boolean | undefined
  /** The whole task, if these events end it (E-3). A store may read parts that are too large to copy from the log. */
  readonly snapshot?: Task | undefined
  /** A webhook that came with the message. It receives these events too. See `DeliveryStore.putConfig`. */
  readonly pushConfig?: NewPushConfig | undefined
}

/** The result of `append`. With any result but `ok` the store has written nothing. */
export type AppendOutcome =
  | { readonly result: 'ok'; readonly fencingToken: number }
  /** Another writer was faster, holds the lease, or created the task. Load the task and try again. */
  | { readonly result: 'conflict' }
  /** Another process has taken the lease. */
  | { readonly result: 'fenced' }
  /** The idempotency key is in use. See `Store.findKey`. */
  | { readonly result: 'key-taken' }
  /**
   * The store is full. A store always accepts steps without events, steps that end a task, and `cancelAsked` events whose
   * metadata has at most 4 KB.
   */
  | { readonly result: 'full' }
  /** The task would be larger than the whole store. */
  | { readonly result: 'too-large' }

/** A page of the tasks of one scope. */
export interface ListQuery extends Scope, ViewOptions {
  readonly contextId?: string
  readonly state?: TaskState
  /** Inclusive lower bound of the status time. */
  readonly statusTimeFromMs?: number
  readonly limit: number
  /** The maximum size of the tasks of a page. A page has at least one task, however large. */
  readonly maxBytes?: number
  /** Continues after this position: `ListPage.next` of an earlier page. */
  readonly after?: string
}

/** True for a position that a store can have returned: a time and a number that orders tasks of one time, `1700.5`. */
export function isPosition(text: unknown): text is string {
  return typeof text === 'string' && /^\d{1,16}\.\d{1,16}$/.test(text)
}

/** A page of a list. */
export interface ListPage {
  /** Newest status first. */
  readonly tasks: readonly ViewedTask[]
  /** The position of the next page: two numbers and a dot, `1700.5`. Absent on the last page. */
  readonly next?: string
  /** The number of tasks that match, on all pages. */
  readonly total: number
}

/** Options of `Store.expire`. */
export interface Expiry {
  /** Removes tasks that ended longer ago than this, with events, keys, push configs, cursors and dead letters. */
  readonly endedTasksMs?: number
  /** Keeps at most this many ended tasks of one agent. */
  readonly maxEndedTasks?: number
  /** Removes the events of tasks that ended longer ago than this. Tasks without a whole snapshot keep their events. */
  readonly endedEventsMs?: number
  /** The maximum number of tasks and of keys per call, so that a call does not block for long. */
  readonly limit: number
}

/** The result of `expire`, at most `limit` of each. */
export interface Expired {
  /** Tasks that were removed or lost their events. */
  readonly tasks: number
  /** Idempotency keys that were removed, with their Message answers. */
  readonly keys: number
}

/** Numbers of one agent for operators. Counts stop at `maxCounted`, so that reading them is always fast. */
export interface AgentStats {
  /** Runnable tasks whose lease is free or has expired. */
  readonly unheldTasks: number
  /** Time until the first held lease expires. Absent if no lease is held. */
  readonly leaseEndsInMs?: number
  /** Delivery cursors with events to deliver: due, held, or waiting for a retry. */
  readonly pendingCursors: number
  /** Time since the first cursor was due. Absent if none is due. */
  readonly cursorOverdueMs?: number
  readonly deadLetters: number
}

/** The largest count in `AgentStats`. */
export const maxCounted = 10_000

/** One transaction of a store. */
export interface Commit {
  /** The number of steps in it. */
  readonly steps: number
  /** Its duration, with repeated attempts. */
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
   * that has not ended. Without it the server rejects the option `limits.bytesPerCaller`, and does
   * not enforce its default.
   */
  bytesOf?(agent: string, owner: string): Promise<number>

  /**
   * Removes tasks and idempotency keys past their time (E-11). There may be more if either number is the limit. Without it
   * tasks are never removed, and the server rejects the option `advanced.retention`.
   */
  expire?(agent: string, expiry: Expiry): Promise<Expired>

  /** Numbers for operators, for each of the agents in their order. Without it the metrics of the store are absent. */
  stats?(agents: readonly string[]): Promise<readonly AgentStats[]>

  /** Calls back after each transaction of this process. Without it the metrics of commits are absent. */
  watchCommits?(onCommit: (commit: Commit) => void): () => void

  /** Rejects if the store cannot be used; `/readyz` is 503 then. Default: resolves. */
  ping?(): Promise<void>
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
