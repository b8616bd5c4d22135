/** Push configs, the place of each webhook in the log of its task, and deliveries that were given up. Part of the store contract. */
import type { TaskPushNotificationConfig } from '../model/push-config.js'
import type { TraceContext } from '../model/trace-context.js'
import type { ClaimRequest, TaskKey } from './store.js'

/** With the trace context of the call that set it. */
export interface StoredPushConfig extends TraceContext {
  readonly config: TaskPushNotificationConfig & { readonly id: string; readonly taskId: string }
  /** The dialect it was registered in: deliveries are spelled in it (RM-PUSH-1). */
  readonly dialect: string
  /** The caller that set it: only this caller sees its secrets (R-PUSH-9). */
  readonly setBy?: string
}

/** Clients send the same config with every message; which of the calls set it makes no difference. */
export function isSameConfig(one: StoredPushConfig, other: StoredPushConfig): boolean {
  return spellConfig(one) === spellConfig(other)
}

/** Members that two equal configs have in common. */
export function spellConfig({ config, dialect, setBy }: StoredPushConfig): string {
  return JSON.stringify([config, dialect, setBy])
}

/** A webhook to store, with the position that its deliveries start after. */
export interface NewPushConfig extends StoredPushConfig {
  /** The maximum number of configs of the task; the store keeps no further one. */
  readonly maxConfigs: number
}

/**
 * A push config and its place in the task's log: its webhook is told of the events behind it, in order. The
 * log is the outbox: an append makes the cursors of its task due, in the same transaction, and copies nothing.
 *
 * A cursor that is due can be claimed, under a lease with a fencing token of its own; a claim makes it due again at
 * the end of the lease. Replacing the config raises the fencing token too.
 */
export interface ClaimedCursor {
  readonly key: TaskKey
  readonly push: StoredPushConfig
  /** The last sequence that is settled: delivered, given up, or not worth telling. */
  readonly seq: number
  /** Failures since the last delivery that succeeded. */
  readonly attempts: number
  readonly fencingToken: number
}

/** A request for delivery cursors that are due: their number, and the process that takes them. */
export interface CursorClaimRequest extends ClaimRequest {
  /** The longest wait between two attempts. A store whose clock was set back makes no cursor wait longer. */
  readonly maxRetryMs?: number
}

/** Delivery cursors that were claimed, and when the next one is due. */
export interface CursorClaim {
  /** Those that have been due for longest first. */
  readonly cursors: readonly ClaimedCursor[]
  /** Milliseconds until another one may be due, 0 for now; absent when none is waiting. */
  readonly nextInMs?: number
}

/** The new position of a delivery cursor after its calls, and when it is due again. */
export interface CursorSettlement {
  readonly key: TaskKey
  readonly configId: string
  readonly fencingToken: number
  readonly seq: number
  readonly attempts: number
  /** Deliveries that were given up, committed together with the position after them. */
  readonly dead?: readonly NewDeadLetter[]
  /** Hold the cursor for longer, or give it back: due at once if there is more to tell, or not before some time. */
  readonly next: { readonly holdMs: number } | 'release' | { readonly retryInMs: number }
}

/** A delivery that was given up: the event, the attempts and the last error. */
export interface NewDeadLetter {
  readonly seq: number
  /** The number of attempts. */
  readonly attempts: number
  readonly error: string
}

/** A delivery that was given up; kept as long as its task and its config. */
export interface DeadLetter extends NewDeadLetter {
  /** A number that grows from one to the next. */
  readonly id: string
  readonly key: TaskKey
  readonly tenant: string
  readonly owner: string
  readonly configId: string
  readonly timeMs: number
}

/** The filters and the page of a list of dead letters. */
export interface DeadLetterQuery {
  /** Default: all. */
  readonly agents?: readonly string[] | undefined
  readonly tenant?: string | undefined
  readonly owner?: string | undefined
  readonly taskId?: string | undefined
  readonly limit: number
  /** Continue behind this one. */
  readonly afterId?: string | undefined
}

/**
 * Webhooks of tasks: push configs, a delivery cursor for each, and dead letters. `append` handles `Append.pushConfig`, and
 * makes the cursors of its task due in the same transaction.
 */
export interface DeliveryStore {
  /**
   * Adds a config, or replaces the one with its id. A new config receives the events after it. A replaced one continues
   * at its position, at once; one that is equal to the stored config changes nothing.
   */
  putConfig(key: TaskKey, config: NewPushConfig): Promise<'ok' | 'full' | 'no-task'>
  /** Configs of one task in the order of their ids, after the given id. */
  listConfigs(
    key: TaskKey,
    options?: { readonly limit?: number; readonly afterId?: string },
  ): Promise<readonly StoredPushConfig[]>
  getConfig(key: TaskKey, id: string): Promise<StoredPushConfig | undefined>
  /** Deletes a config with its cursor and its dead letters. */
  deleteConfig(key: TaskKey, id: string): Promise<void>

  /** Takes cursors that are due. */
  claim(request: CursorClaimRequest): Promise<CursorClaim>
  /** Moves a claimed cursor. False if the claim was lost: nothing is written then. */
  settle(settlement: CursorSettlement): Promise<boolean>

  /** Lists dead letters, oldest first. */
  listDeadLetters(query: DeadLetterQuery): Promise<readonly DeadLetter[]>
  getDeadLetter(id: string): Promise<DeadLetter | undefined>
  deleteDeadLetter(id: string): Promise<void>
}
