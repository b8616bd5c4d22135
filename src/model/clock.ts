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

/** The first part of a version 7 UUID: 48 bits of time. */
export function uuidTime(timeMs: number): string {
  const time = timeMs.toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}`
}

/** A version 7 UUID from its time and 19 random hexadecimal digits. */
export function uuidV7(time: string, digits: string): string {
  const variant = '89ab'[Number.parseInt(digits[0] ?? '0', 16) & 3]
  return `${time}-7${digits.slice(1, 4)}-${variant}${digits.slice(4, 7)}-${digits.slice(7, 19)}`
}
