/** Events of one task that are not committed yet, and the commits made of them. */
import type { EventBody, TaskEvent } from '../../model/event.js'
import { storedSizeOf } from '../../model/size-of.js'
import { isTerminal, type TaskState, type TaskStatus } from '../../model/task.js'
import type { AppendOutcome, IdempotencyKey, NewPushConfig } from '../../stores/store.js'
import type { Timestamps } from '../system-clock.js'

/** Uncommitted events, and their bytes, before the agent has to wait for the store. */
export const maxBufferEvents = 256
/** A store may keep one commit as one row, and a slow reader parses the whole row for each page of it. */
const maxBufferBytes = 256 * 1024

/** Events that were taken from the buffer. */
interface TakenEvents {
  readonly bodies: readonly EventBody[]
  readonly bytes: number
}

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

  /** Replaces the newest event for which `amend` returns another one. Returns whether there is such an event. */
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

  /** Puts events that the store did not write back, before the others. */
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

/** Whether the first commit of a task created it. The first decision counts. */
export class FirstCommit {
  #isOurs: boolean | undefined
  #waiters: ((isOurs: boolean) => void)[] | undefined

  wait(): Promise<boolean> {
    if (this.#isOurs !== undefined) return Promise.resolve(this.#isOurs)
    return new Promise((resolve) => {
      this.#waiters = [...(this.#waiters ?? []), resolve]
    })
  }

  decide(isOurs: boolean): void {
    this.#isOurs ??= isOurs
    if (this.#waiters) for (const resolve of this.#waiters) resolve(this.#isOurs)
    this.#waiters = undefined
  }
}

/** Values committed together with an accepted message. */
export interface WithMessage {
  readonly idempotency?: IdempotencyKey | undefined
  readonly pushConfig?: NewPushConfig | undefined
}

/** `keep`: the run continues under its lease. `release`: the run is over. `hand-over`: another process may continue it. */
export type LeaseChange = 'keep' | 'release' | 'hand-over'

/** One attempt to write events. */
export interface PendingCommit extends TakenEvents {
  readonly lease: LeaseChange
  readonly withMessage: WithMessage | undefined
  /** The events come from the buffer, and go back there when they are not written. */
  readonly isBuffer: boolean
}

export type CommitOutcome = AppendOutcome['result']

/** Changes that a commit makes to the task's record. */
interface CommitSummary {
  readonly status: { readonly state: TaskState; readonly timeMs: number } | undefined
  readonly visibility: 'task' | 'message' | undefined
  readonly isEnd: boolean
}

export function summarise(bodies: readonly EventBody[], timestamps: Timestamps): CommitSummary {
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
    // The engine sets the timestamp of every status.
    status: newest && { state: newest.state, timeMs: timestamps.msOf(newest.timestamp ?? '') },
    visibility,
    isEnd: newest !== undefined && isTerminal(newest.state),
  }
}

/** Gives bodies their place in the log, after the event `after`. */
export function numberEvents(bodies: readonly EventBody[], after: number, time: number): TaskEvent[] {
  const events: TaskEvent[] = []
  for (const body of bodies) events.push({ seq: after + 1 + events.length, time, body })
  return events
}

/** Returns a function that queues work for the end of the current tick of the event loop. All work shares one timer. */
export function createTickQueue(): (work: () => void) => void {
  let queue: (() => void)[] = []
  return (work) => {
    queue.push(work)
    if (queue.length > 1) return
    setImmediate(() => {
      const due = queue
      queue = []
      for (const each of due) each()
    })
  }
}
