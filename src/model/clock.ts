/** Source of the time, of ids and of timers. Tests replace it with `fakeClock()`. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number
  /** A new unique id. Ids made later sort later, which keeps database indexes compact. */
  newId(): string
  /**
   * Calls back after `ms` milliseconds, and every `ms` milliseconds if `repeats` is set. The returned function stops the
   * timer. Default: the timers of the platform.
   */
  startTimer?(callback: () => void, ms: number, options?: { readonly repeats?: boolean }): () => void
}
