/** Notifies listeners of frequent changes at most once per frame. */
import { useSyncExternalStore } from 'react'

export class Signal {
  #listeners = new Set<() => void>()
  #isScheduled = false
  version = 0

  changed(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    // Hidden pages have no frames.
    if (document.hidden) setTimeout(this.#tell, 250)
    else requestAnimationFrame(this.#tell)
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  readonly read = (): number => this.version

  readonly #tell = (): void => {
    this.#isScheduled = false
    this.version += 1
    for (const listener of this.#listeners) listener()
  }
}

/** Renders again after a change. */
export function useSignal(signal: Signal): number {
  return useSyncExternalStore(signal.subscribe, signal.read)
}
