import type { Clock } from '../../model/clock.js'
import { startTimer } from '../system-clock.js'

/** Why a turn is stopped before it has ended by itself. */
export type Stop =
  /** Somebody wants the task to end (E-7). */
  | 'cancel'
  /** This process shuts down; another one will run the turn again (E-12). */
  | 'hand-over'
  /** A stray error of the handler has failed the turn. */
  | 'failed'
  /** Another process runs the task already (E-9). */
  | 'fenced'
  /** The store has no room for what the task makes. */
  | 'no-room'

class StopSignal extends DOMException {
  readonly stop: Stop

  constructor(stop: Stop) {
    super(`The task was stopped: ${stop}`, 'AbortError')
    this.stop = stop
  }
}

/** What the turn's `AbortSignal` is aborted with. */
export function stopReason(stop: Stop): DOMException {
  return new StopSignal(stop)
}

/** Why a turn was stopped, by its signal; absent while it runs. */
export function stopOf({ reason }: AbortSignal): Stop | undefined {
  return reason instanceof StopSignal ? reason.stop : undefined
}

export class Stopping {
  /** Made when the handler looks at its signal: most never do, and a controller is not cheap. */
  #controller: AbortController | undefined
  #stopTimer: (() => void) | undefined
  #why: Stop | undefined
  /** The handler is not waited for any longer. */
  onGivenUp: () => void = () => undefined

  /** Absent while nobody has asked for it. */
  get why(): Stop | undefined {
    return this.#why
  }

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController()
      if (this.#why) this.#controller.abort(stopReason(this.#why))
    }
    return this.#controller.signal
  }

  /** The first reason counts, unless the task is lost. */
  ask(why: Stop, graceMs: number, clock: Clock): void {
    if (this.#why && why !== 'fenced') return
    this.#tell(why)
    this.#stopTimer?.()
    if (why === 'fenced' || why === 'failed') this.onGivenUp()
    else this.#stopTimer = startTimer(clock, () => this.onGivenUp(), graceMs)
  }

  /** The run has failed: what the handler still yields goes nowhere. */
  fail(): void {
    this.#tell(this.#why ?? 'fenced')
  }

  end(): void {
    this.#stopTimer?.()
  }

  #tell(why: Stop): void {
    this.#why = why
    this.#controller?.abort(stopReason(why)) // a second time it does nothing
  }
}

/** The work, or what is left of it when the time is over: it goes on, but nobody waits for it any more. */
export async function atMost(ms: number, work: PromiseLike<unknown> | undefined): Promise<void> {
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
