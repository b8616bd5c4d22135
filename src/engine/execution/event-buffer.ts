import type { TaskFold } from '../../model/apply-event.js'
import type { EventBody } from '../../model/event.js'
import { storedSizeOf } from '../../model/size-of.js'
import { isTerminal, type TaskState, type TaskStatus } from '../../model/task.js'
import type { AppendOutcome, IdempotencyKey, NewPushConfig, TaskCreation, TaskKey } from '../../stores/store.js'

/** Uncommitted events, and their bytes, before the agent has to wait for the store. */
export const maxBufferEvents = 256
/** A store may keep one commit as one row, and a slow reader parses the whole row for each page of it. */
const maxBufferBytes = 256 * 1024

/** Events that were taken from the buffer. */
export interface TakenEvents {
  readonly bodies: readonly EventBody[]
  readonly bytes: number
}

/** The events of a task that no commit has taken yet. */
export class EventBuffer {
  #bodies: EventBody[] = []
  #bytes = 0

  get size(): number {
    return this.#bodies.length
  }

  get bytes(): number {
    return this.#bytes
  }

  get isFull(): boolean {
    return this.#bodies.length >= maxBufferEvents || this.#bytes >= maxBufferBytes
  }

  push(body: EventBody, bytes: number): void {
    this.#bodies.push(body)
    this.#bytes += bytes
  }

  /** Removes the newest event. Returns its size. */
  pop(): number {
    const bytes = storedSizeOf(this.#bodies.pop())
    this.#bytes -= bytes
    return bytes
  }

  /** Replaces the newest event for which `amend` returns another one. */
  amend(amend: (body: EventBody) => EventBody | undefined): boolean {
    for (let place = this.#bodies.length - 1; place >= 0; place--) {
      const before = this.#bodies[place] as EventBody // place is within the buffer
      const after = amend(before)
      if (!after) continue
      this.#bodies[place] = after
      return true
    }
    return false
  }

  take(): TakenEvents {
    const taken = { bodies: this.#bodies, bytes: this.#bytes }
    this.#bodies = []
    this.#bytes = 0
    return taken
  }

  /** Puts events before the others: the store has not written them. */
  putBack({ bodies, bytes }: TakenEvents): void {
    this.#bodies = [...bodies, ...this.#bodies]
    this.#bytes += bytes
  }

  /** Removes events. Returns their size. */
  drop(isDropped: (body: EventBody) => boolean): number {
    const before = this.#bytes
    this.#bodies = this.#bodies.filter((body) => !isDropped(body))
    this.#bytes = this.#bodies.reduce((sum, body) => sum + storedSizeOf(body), 0)
    return before - this.#bytes
  }
}

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
