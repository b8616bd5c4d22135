/** 1,000,000,000 seconds: about thirty years. */
const maxSeconds = 1_000_000_000

/**
 * Reads `Retry-After`, in seconds: a number, or a date, which is compared with the peer's own clock (`Date`), because the
 * clocks may differ. Returns undefined for invalid values.
 */
export function readRetryAfter(
  retryAfter: string | null | undefined,
  date: string | null | undefined,
): number | undefined {
  const asked = retryAfter?.trim() ?? ''
  if (/^\d+$/.test(asked)) return Math.min(Number(asked), maxSeconds)
  // `Date.parse` accepts numbers and other formats that are not HTTP dates.
  if (!/^[A-Z][a-z]+, .*GMT$/.test(asked)) return undefined
  const ms = Date.parse(asked) - Date.parse(date ?? '')
  return Number.isNaN(ms) ? undefined : Math.max(0, Math.ceil(ms / 1000))
}
