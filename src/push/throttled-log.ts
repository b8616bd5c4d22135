import type { Log, LogEntry } from '../model/log.js'

const windowMs = 60_000
/** Callers can make up keys, so the number of entries is bounded too. */
const maxEntries = 20

/** Returns whether the entry was written. */
export type ThrottledLog = (key: string, entry: LogEntry) => boolean

/**
 * A log for entries that callers can cause at will. In a minute it writes one entry for each key, and 20 at most. The next
 * entry that it writes has the number of those left out.
 */
export function createThrottledLog(log: Log, now = () => performance.now()): ThrottledLog {
  const written = new Set<string>()
  let sinceMs = now()
  let leftOut = 0
  return (key, entry) => {
    if (now() - sinceMs >= windowMs) {
      written.clear()
      sinceMs = now()
    }
    if (written.has(key) || written.size >= maxEntries) {
      leftOut += 1
      return false
    }
    written.add(key)
    const more = leftOut === 0 ? '' : ` (${leftOut} more since the last entry)`
    leftOut = 0
    log({ ...entry, message: entry.message + more })
    return true
  }
}
