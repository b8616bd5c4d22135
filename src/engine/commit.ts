import type { TaskFold } from '../model/apply-event.js'
import type { EventBody } from '../model/event.js'
import { isTerminal, type TaskState, type TaskStatus } from '../model/task.js'
import type { AppendOutcome, IdempotencyKey, NewPushConfig, TaskCreation, TaskKey } from '../stores/store.js'

export interface WriterStart {
  readonly key: TaskKey
  readonly fold: TaskFold
  /** The size of the task in the store. */
  readonly bytes: number
  /** Whose size grows with the task. */
  readonly owner: string
  /** Given when the task is not in the store yet. */
  readonly create?: TaskCreation
  /** Given when the lease is already held. */
  readonly fencingToken?: number
  /** Goes with the first commit. */
  readonly withMessage?: WithMessage
  readonly onForeignEvents: () => void
  readonly onFenced: () => void
  /** The store has no room for the output that was buffered; the output is dropped. */
  readonly onFull: () => void
  /** The store refused in the background: the run cannot go on. */
  readonly onFailed: (error: unknown) => void
}

/** Values committed together with an accepted message. */
export interface WithMessage {
  readonly idempotency?: IdempotencyKey
  readonly pushConfig?: NewPushConfig
}

export interface CommitOptions {
  /** `keep`: the run goes on, under a lease. `release`: it is over. `hand-over`: it is over here and may go on elsewhere. */
  readonly lease: 'keep' | 'release' | 'hand-over'
}

/** One attempt to write. */
export interface Commit {
  readonly bodies: readonly EventBody[]
  readonly lease: CommitOptions['lease']
  readonly withMessage: WithMessage | undefined
  /** They were taken from the buffer, and go back there when they are not written. */
  readonly isBuffer: boolean
  readonly bytes: number
}

export type CommitOutcome = AppendOutcome['result']

export interface Summary {
  readonly status: { readonly state: TaskState; readonly timeMs: number } | undefined
  readonly visibility: 'task' | 'message' | undefined
  readonly isEnd: boolean
}

/** The changes that a batch makes to the columns beside the log. */
export function summarise(bodies: readonly EventBody[]): Summary {
  let newest: TaskStatus | undefined
  let visibility: 'task' | 'message' | undefined
  for (const body of bodies) {
    if ('statusUpdate' in body) newest = body.statusUpdate.status
    else if ('task' in body) {
      newest = body.task.status
      visibility = 'task'
    } else if ('message' in body || 'refused' in body) visibility = 'message'
  }
  return {
    // The engine stamps every status, so there is a timestamp.
    status: newest && { state: newest.state, timeMs: Date.parse(newest.timestamp ?? '') },
    visibility,
    isEnd: newest !== undefined && isTerminal(newest.state),
  }
}
