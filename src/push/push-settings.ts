/** Settings of webhook deliveries, with a value for each. */
export interface PushSettings {
  /** Milliseconds for one attempt, including the response. Default 15 s. */
  readonly timeoutMs: number
  /** When an attempt fails and the event is this old, the delivery becomes a dead letter. Default 24 h. */
  readonly giveUpAfterMs: number
  /** The first delay after a failure; it doubles with each further failure. Default 1 s. */
  readonly firstRetryMs: number
  /** The maximum delay between attempts, also for `Retry-After`. Default 15 minutes. */
  readonly maxRetryMs: number
  /** Webhooks that are called at once. Calls that hang for long are not counted. Default 64. */
  readonly concurrency: number
  /** Webhooks that are called at once at one origin. Default 16. */
  readonly perOrigin: number
  /** The events that webhooks get, where the dialect has a choice: all, or changes of the status only. Default `all`. */
  readonly events: 'all' | 'statuses'
  /** Milliseconds between polls for deliveries of which the store sent no notification. Default 5 s. */
  readonly pollMs: number
}

export const defaultPushSettings: PushSettings = {
  timeoutMs: 15_000,
  giveUpAfterMs: 24 * 60 * 60_000,
  firstRetryMs: 1_000,
  maxRetryMs: 15 * 60_000,
  concurrency: 64,
  perOrigin: 16,
  events: 'all',
  pollMs: 5_000,
}

/** An attempt begins in the first third of a lease and ends before the last: deliveries stay in order if the lease is lost. */
export function leaseOf({ timeoutMs }: PushSettings): number {
  return 3 * timeoutMs
}

/** The delay before the next attempt, with jitter. `askedMs` is the `Retry-After` of the webhook. */
export function retryDelay({ firstRetryMs, maxRetryMs }: PushSettings, attempts: number, askedMs = 0): number {
  const delay = Math.min(firstRetryMs * 2 ** Math.min(attempts - 1, 30), maxRetryMs)
  return Math.round(Math.max(delay * (0.5 + Math.random() / 2), Math.min(askedMs, maxRetryMs)))
}
