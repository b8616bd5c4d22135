import type { EventBody } from '../model/event.js'
import { isTerminal, type TaskState, type TaskStatus } from '../model/task.js'
import type { AppendOutcome } from '../stores/store.js'
import type { WithMessage } from './task-writer.js'

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

/** What a batch does to the columns beside the log. */
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
