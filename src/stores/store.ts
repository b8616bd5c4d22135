/**
 * Where events live. The contract every store keeps; `store.contract.ts` is the suite that checks it.
 *
 * Promises:
 * - A resolved `append` is committed: it survives the death of the process (E-2). Concurrent appends
 *   of different tasks may share one transaction; each succeeds or fails on its own.
 * - One log per task, sequences without gaps. A writer says the last sequence it has seen; when
 *   somebody was faster the answer is `conflict` and nothing is written.
 * - A lease gives the right to run a task. Every claim raises the task's fencing token; a writer that names
 *   an older fencing token is answered `fenced` and nothing is written (E-9).
 * - The agent's name is part of every key: agents that share a store never meet.
 * - Time is the store's own: leases and expiries are given as durations. Members shared by several
 *   machines use the database's clock; members shared by processes of one machine use a clock for
 *   leases that cannot be set.
 * - Expected failures are values. What is thrown means that the store itself is in trouble.
 */
import type { TaskEvent } from '../model/event.js'
import type { HistoryWindow } from '../model/history-window.js'
import type { Task, TaskState } from '../model/task.js'
import type {
  CursorClaim,
  CursorClaimRequest,
  CursorSettlement,
  DeadLetter,
  DeadLetterQuery,
  NewPushConfig,
  StoredPushConfig,
} from './push-deliveries.js'
import type { Records } from './records.js'

export * from './push-deliveries.js'

export interface TaskKey {
  readonly agent: string
  readonly id: string
}

/** Whose tasks: every look-up by a caller is confined to one scope. */
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

/** What is known of a task beside its events. */
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

/** What is remembered of a keyed send: the task, and where in its log the message was accepted. */
export interface KeyedSend {
  readonly taskId: string
  readonly digest: string
  readonly seq: number
}

export interface IdempotencyKey {
  readonly key: string
  /** Fingerprint of the request: the same key with another body is an error. */
  readonly digest: string
  readonly ttlMs: number
}

export interface TaskCreation {
  readonly tenant: string
  readonly owner: string
  readonly contextId: string
  readonly dialect: string
}

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

export interface ListPage {
  /** Newest status first. */
  readonly tasks: readonly ViewedTask[]
  /** Where the next page begins; absent on the last one. */
  readonly next?: string
  /** Matches before paging. */
  readonly total: number
}

export interface ClaimRequest {
  readonly agents: readonly string[]
  readonly lease: LeaseClaim
  readonly limit: number
}

export interface ClaimedTask {
  readonly key: TaskKey
  readonly fencingToken: number
}

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

/** What one call of `expire` did, at most `limit` of each. */
export interface Expired {
  /** Removed, or rid of their events. */
  readonly tasks: number
  /** Idempotency keys, with the Message answers that lived as long as they did. */
  readonly keys: number
}

/**
 * What an operator wants to know of one agent. Numbers of many things stop at `maxCounted`, so that asking is
 * cheap however bad things are.
 */
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

export interface Store {
  append(step: Append): Promise<AppendOutcome>

  /** A task without anything that is large; absent when there is none. */
  find(key: TaskKey): Promise<TaskRecord | undefined>

  /**
   * The task as readers see it; absent when there is none to see. The cost depends on the size of the result: a store
   * reads the newest messages only, and neither progress nor other messages.
   */
  view(key: TaskKey, options: ViewOptions): Promise<ViewedTask | undefined>

  /** A task with what is needed to fold it; absent when there is none. For writers: it reads the whole log. */
  load(key: TaskKey, options?: { readonly includeArtifacts?: boolean }): Promise<LoadedTask | undefined>

  /**
   * Events after a sequence, oldest first, at least one unless there are none; absent when they, or the task, were
   * removed. A page ends early when its events take much memory, about 256 KB.
   */
  read(key: TaskKey, afterSeq: number, limit: number): Promise<readonly TaskEvent[] | undefined>

  list(query: ListQuery): Promise<ListPage>

  /**
   * The size of all tasks and Message answers of one owner, in every tenant. Approximate: a store may lag behind by up
   * to 64 KB for each task that has not ended.
   */
  bytesOf(agent: string, owner: string): Promise<number>

  /** The earlier send with this key, while the key lives. */
  findKey(scope: Scope, key: string): Promise<KeyedSend | undefined>

  /** Take over runnable tasks whose lease is free or has expired. */
  claim(request: ClaimRequest): Promise<readonly ClaimedTask[]>
  /** Prolong leases. Answers those that were lost. */
  renew(held: readonly ClaimedTask[], lease: LeaseClaim): Promise<readonly ClaimedTask[]>
  /** Everybody who holds a lease now, of a task or of a cursor. */
  leaseOwners(): Promise<readonly string[]>
  /** Expire every lease of an owner that is known to be dead. */
  disown(owner: string): Promise<void>

  /**
   * Adds a config, or replaces the one of its id. A new one is told of what happens from now on; one that
   * is replaced goes on where it was, at once, and one that is set to what it is already is left alone.
   */
  putPushConfig(key: TaskKey, config: NewPushConfig): Promise<'ok' | 'full' | 'no-task'>
  /** Configs of one task, by id, in a stable order, behind the given id. */
  listPushConfigs(
    key: TaskKey,
    options?: { readonly limit?: number; readonly afterId?: string },
  ): Promise<readonly StoredPushConfig[]>
  getPushConfig(key: TaskKey, id: string): Promise<StoredPushConfig | undefined>
  /** Removes it with its cursor and its dead letters. */
  deletePushConfig(key: TaskKey, id: string): Promise<void>

  /** Take cursors that are due. */
  claimCursors(request: CursorClaimRequest): Promise<CursorClaim>
  /** Says how far a claimed cursor has come. False when it was lost: nothing is written then. */
  settleCursor(settlement: CursorSettlement): Promise<boolean>
  /** Oldest first. */
  listDeadLetters(query: DeadLetterQuery): Promise<readonly DeadLetter[]>
  getDeadLetter(id: string): Promise<DeadLetter | undefined>
  deleteDeadLetter(id: string): Promise<void>

  /** Remove what is past its time (E-11), idempotency keys included. There may be more when either number is the limit. */
  expire(agent: string, expiry: Expiry): Promise<Expired>

  /**
   * Call back with the last committed sequence when the task has new events, whoever wrote them.
   * A hint: it may come once too often, never too rarely.
   */
  watch(key: TaskKey, onChange: (seq: number) => void): () => void
  /** Call back when `claim` may find something for this agent. A hint likewise. */
  watchRunnable(agent: string, onChange: () => void): () => void
  /** Call back when `claimCursors` may find something for this agent. A hint likewise. */
  watchDeliveries(agent: string, onChange: () => void): () => void

  /** What is so now, of each of the agents, in their order. For operators: never on the way of a call. */
  stats(agents: readonly string[]): Promise<readonly AgentStats[]>
  /** Call back after each group of writes that this process committed together; never in a store that has no commits. */
  watchCommits(onCommit: (commit: Commit) => void): () => void

  /** Documents that are no tasks. */
  readonly records: Records

  /** Resolves when the store can be used, rejects when it cannot. */
  ping(): Promise<void>
  close(): Promise<void>
}
