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
