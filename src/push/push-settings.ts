/** How webhooks are delivered. */
export interface PushSettings {
  /** For one attempt, the answer included. Default 15 s. */
  readonly timeoutMs: number
  /** An event this old is given up when an attempt fails; it becomes a dead letter. Default 24 h. */
  readonly giveUpAfterMs: number
  /** The first wait after a failure; it doubles with every further one. Default 1 s. */
  readonly firstRetryMs: number
  /** The longest wait between attempts, and the most that `Retry-After` may ask for. Default 15 minutes. */
  readonly longestRetryMs: number
  /** Webhooks that are called at once. Those that keep a call waiting for long stop counting. Default 64. */
  readonly concurrency: number
  /** Of them, at one origin. Default 16. */
  readonly perOrigin: number
  /** What webhooks of v1.0 are told: every event, or only what the status was set to. Default `all`. */
  readonly events: 'all' | 'statuses'
  /** How often to look for deliveries that nobody hinted at. Default 5 s. */
  readonly pollMs: number
}

export const defaultSettings: PushSettings = {
  timeoutMs: 15_000,
  giveUpAfterMs: 24 * 60 * 60_000,
  firstRetryMs: 1_000,
  longestRetryMs: 15 * 60_000,
  concurrency: 64,
  perOrigin: 16,
  events: 'all',
  pollMs: 5_000,
}

/** An attempt begins in the first third of a lease and ends before the last: order survives a lease that is lost. */
export function leaseOf({ timeoutMs }: PushSettings): number {
  return 3 * timeoutMs
}

/** Jitter spreads those that failed together. */
export function retryDelay({ firstRetryMs, longestRetryMs }: PushSettings, attempts: number, askedMs = 0): number {
  const delay = Math.min(firstRetryMs * 2 ** Math.min(attempts - 1, 30), longestRetryMs)
  return Math.round(Math.max(delay * (0.5 + Math.random() / 2), Math.min(askedMs, longestRetryMs)))
}
