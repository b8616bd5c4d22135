/**
 * The stopping of a run. Its handler gets the `AbortSignal`, and a grace period to leave by itself; a run that another
 * process has taken over waits for nobody.
 */
import { type Stop, stopReason } from './stop.js'

export class Stopping {
  /** Made when the handler looks at its signal: most never do, and a controller is not cheap. */
  #controller: AbortController | undefined
  #graceTimer: NodeJS.Timeout | undefined
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
  ask(why: Stop, graceMs: number): void {
    if (this.#why && why !== 'fenced') return
    this.#tell(why)
    clearTimeout(this.#graceTimer)
    if (why === 'fenced' || why === 'failed') this.onGivenUp()
    else this.#graceTimer = setTimeout(() => this.onGivenUp(), graceMs)
  }

  /** The run has failed: what the handler still yields goes nowhere. */
  fail(): void {
    this.#tell(this.#why ?? 'fenced')
  }

  end(): void {
    clearTimeout(this.#graceTimer)
  }

  #tell(why: Stop): void {
    this.#why = why
    this.#controller?.abort(stopReason(why)) // a second time it does nothing
  }
}
