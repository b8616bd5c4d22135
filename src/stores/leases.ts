/** Keys of tasks, and leases on them. Part of the contract of stores. */

/** Identifies a task: the name of its agent and its id. */
export interface TaskKey {
  readonly agent: string
  readonly id: string
}

/** The key as one text. */
export function taskKeyText({ agent, id }: TaskKey): string {
  return `${agent}\n${id}`
}

/** A lease to take: its owner and duration. */
export interface LeaseClaim {
  readonly owner: string
  readonly ttlMs: number
}

/** Options of `LeaseStore.claim`. */
export interface ClaimRequest {
  readonly agents: readonly string[]
  readonly lease: LeaseClaim
  readonly limit: number
}

/** A task whose lease was taken. */
export interface ClaimedTask {
  readonly key: TaskKey
  readonly fencingToken: number
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
