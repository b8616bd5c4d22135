import type { Log, LogEntry } from '../model/log.js'

const windowMs = 60_000
/** Callers can invent keys, so the total number of entries is limited too. */
const maxEntries = 20

/** Returns whether the entry was written. */
export type ThrottledLog = (key: string, entry: LogEntry) => boolean

/**
 * A log for entries that callers can cause at will. It writes one entry per key and at most 20 entries per minute. The next
 * entry states how many were omitted.
 */
export function createThrottledLog(log: Log, now = () => performance.now()): ThrottledLog {
  const written = new Set<string>()
  let sinceMs = now()
  let omitted = 0
  return (key, entry) => {
    if (now() - sinceMs >= windowMs) {
      written.clear()
      sinceMs = now()
    }
    if (written.has(key) || written.size >= maxEntries) {
      omitted += 1
      return false
    }
    written.add(key)
    const more = omitted === 0 ? '' : ` (${omitted} more since the last entry)`
    omitted = 0
    log({ ...entry, message: entry.message + more })
    return true
  }
}
