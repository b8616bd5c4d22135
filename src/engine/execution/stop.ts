/**
 * Stops runs. The handler's `AbortSignal` fires, and the handler has a grace period to end by itself. A run that another
 * process has taken over stops at once.
 */
import type { Clock } from '../../model/clock.js'
import { A2AError } from '../../model/errors.js'
import type { EventBody } from '../../model/event.js'
import type { Struct } from '../../model/part.js'
import { storedSizeOf } from '../../model/size-of.js'
import { assertTaskRoom, type EngineLimits } from '../limits.js'
import { startTimer } from '../system-clock.js'

/** The reason why a turn is stopped before it ends by itself. */
export type StopReason =
  /** The task was cancelled (E-7). */
  | 'cancel'
  /** This process shuts down; another one will run the turn again (E-12). */
  | 'hand-over'
  /** An unhandled error of the handler failed the turn. */
  | 'failed'
  /** Another process runs the task (E-9). */
  | 'fenced'
  /** The store has no room for the output. */
  | 'no-room'

class StopError extends DOMException {
  readonly stop: StopReason

  constructor(stop: StopReason) {
    super(`The task was stopped: ${stop}`, 'AbortError')
    this.stop = stop
  }
}

/** The reason of the turn's `AbortSignal`. */
export function stopError(stop: StopReason): DOMException {
  return new StopError(stop)
}

/** Why the turn with this signal was stopped; undefined while it runs. */
export function stopReasonOf({ reason }: AbortSignal): StopReason | undefined {
  return reason instanceof StopError ? reason.stop : undefined
}

/** The error for new messages while the process drains (E-12). */
export function shuttingDown(): A2AError {
  return new A2AError('UNAVAILABLE', 'The server is shutting down, try again', { retryAfterSeconds: 1 })
}

export class StopController {
  /** Created when the handler reads its signal: few do, and a controller is expensive. */
  #controller: AbortController | undefined
  #stopTimer: (() => void) | undefined
  #reason: StopReason | undefined
  /** Called when the run no longer waits for the handler. */
  onGivenUp: (() => void) | undefined

  /** Undefined until the run is stopped. */
  get reason(): StopReason | undefined {
    return this.#reason
  }

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController()
      if (this.#reason) this.#controller.abort(stopError(this.#reason))
    }
    return this.#controller.signal
  }

  /** The first reason counts, except that `fenced` replaces any other. */
  stop(reason: StopReason, graceMs: number, clock: Clock): void {
    if (this.#reason && reason !== 'fenced') return
    this.#abort(reason)
    this.#stopTimer?.()
    if (reason === 'fenced' || reason === 'failed') this.onGivenUp?.()
    else this.#stopTimer = startTimer(clock, () => this.onGivenUp?.(), graceMs)
  }

  /** The run itself has failed: further yields are dropped. */
  fail(): void {
    this.#abort(this.#reason ?? 'fenced')
  }

  close(): void {
    this.#stopTimer?.()
  }

  #abort(reason: StopReason): void {
    this.#reason = reason
    this.#controller?.abort(stopError(reason)) // has no effect the second time
  }
}

/** Waits for work, but not longer than `ms`. The work itself continues. */
export async function waitAtMost(ms: number, work: PromiseLike<unknown> | undefined): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms)
  })
  try {
    await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}

/** Cancel requests may exceed `bytesPerTask` by this much, so that a full task can be cancelled. */
const cancelReserve = 10_000

/** The event of a cancel request. Throws if its metadata is too large for the task. */
export function cancelRequest(
  metadata: Struct | undefined,
  taskBytes: number,
  limits: EngineLimits,
): { readonly body: EventBody; readonly bytes: number } {
  const body = { cancelAsked: metadata ? { metadata } : {} }
  const bytes = storedSizeOf(body)
  assertTaskRoom(taskBytes - cancelReserve, bytes, limits)
  return { body, bytes }
}
