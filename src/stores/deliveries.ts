/** Push configs, delivery cursors and dead letters. Part of the contract of stores. */
import type { TaskPushNotificationConfig } from '../model/push-config.js'
import type { TraceContext } from '../model/trace-context.js'
import type { ClaimRequest, TaskKey } from './leases.js'

/** A push config, with the trace context of the call that set it. */
export interface StoredPushConfig extends TraceContext {
  readonly config: TaskPushNotificationConfig & { readonly id: string; readonly taskId: string }
  /** The dialect of the call that set it; deliveries use the same dialect (RM-PUSH-1). */
  readonly dialect: string
  /** The caller that set it. Only this caller sees its secrets (R-PUSH-9). */
  readonly setBy?: string
}

/** True for equal configs, whichever calls set them: clients send the same config with every message. */
export function isSameConfig(one: StoredPushConfig, other: StoredPushConfig): boolean {
  return serializeIdentity(one) === serializeIdentity(other)
}

/** A text that equal configs have in common. */
export function serializeIdentity({ config, dialect, setBy }: StoredPushConfig): string {
  return JSON.stringify([config, dialect, setBy])
}

/** A push config to store. */
export interface NewPushConfig extends StoredPushConfig {
  /** The maximum number of configs of the task. The store refuses another one. */
  readonly maxConfigs: number
}

/**
 * The delivery cursor of a push config: the position of its webhook in the log of the task. The worker delivers the events
 * after it, in order. The log is the outbox: an append makes the cursors of its task due in the same transaction.
 *
 * A claim takes a due cursor under a lease with a fencing token of its own, and makes it due again at the end of the
 * lease. Replacing the config raises the fencing token.
 */
export interface ClaimedCursor {
  readonly key: TaskKey
  readonly push: StoredPushConfig
  /** The last settled sequence: delivered, dead-lettered, or of no interest to the webhook. */
  readonly seq: number
  /** Failed attempts since the last successful delivery. */
  readonly attempts: number
  readonly fencingToken: number
}

/** Options of `DeliveryStore.claim`. */
export interface CursorClaimRequest extends ClaimRequest {
  /** The longest wait between two attempts. If the clock of the store was set back, no cursor waits longer. */
  readonly maxRetryMs?: number
}

/** The result of `DeliveryStore.claim`. */
export interface CursorClaim {
  /** The longest due first. */
  readonly cursors: readonly ClaimedCursor[]
  /** Time until another cursor is due; 0 if one is due now. Absent if no cursor has events to deliver. */
  readonly nextInMs?: number
}

/** The new position of a claimed cursor. */
export interface CursorSettlement {
  readonly key: TaskKey
  readonly configId: string
  readonly fencingToken: number
  readonly seq: number
  readonly attempts: number
  /** Deliveries to dead-letter, in the same transaction as the new position. */
  readonly dead?: readonly NewDeadLetter[]
  /** Prolongs the claim; or ends it, with the cursor due at once if there are more events, or after a pause. */
  readonly next: { readonly holdMs: number } | 'release' | { readonly retryInMs: number }
}

/** A delivery to dead-letter. */
export interface NewDeadLetter {
  readonly seq: number
  /** The number of attempts. */
  readonly attempts: number
  readonly error: string
}

/** A delivery that failed for good. The store keeps it as long as its task and its config. */
export interface DeadLetter extends NewDeadLetter {
  /** An ascending number. */
  readonly id: string
  readonly key: TaskKey
  readonly tenant: string
  readonly owner: string
  readonly configId: string
  readonly timeMs: number
}

/** A page of dead letters. Absent filters match all. */
export interface DeadLetterQuery {
  readonly agents?: readonly string[] | undefined
  readonly tenant?: string | undefined
  readonly owner?: string | undefined
  readonly taskId?: string | undefined
  readonly limit: number
  /** Continues after this dead letter. */
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
