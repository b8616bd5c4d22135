/** Thirty years. */
const forEver = 1_000_000_000

/**
 * For how long a peer wants to be left alone, in seconds: `Retry-After` as a number, or as a date, which is held against
 * the peer's own clock (`Date`), because ours may be another. Strangers write both: what is neither is nothing.
 */
export function readRetryAfter(
  retryAfter: string | null | undefined,
  date: string | null | undefined,
): number | undefined {
  const asked = retryAfter?.trim() ?? ''
  if (/^\d+$/.test(asked)) return Math.min(Number(asked), forEver)
  // Dates that are only numbers, and other things that a computer takes for one, are no dates of HTTP.
  if (!/^[A-Z][a-z]+, .*GMT$/.test(asked)) return undefined
  const ms = Date.parse(asked) - Date.parse(date ?? '')
  return Number.isNaN(ms) ? undefined : Math.max(0, Math.ceil(ms / 1000))
}
