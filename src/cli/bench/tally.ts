/** What a load amounted to: how many, how fast, what went wrong. Pure. */

export interface Sample {
  readonly ms: number
  /** Of streams: when the first event came, and how many there were. */
  readonly firstMs?: number
  readonly events?: number
}

export interface Spread {
  readonly min: number
  readonly mean: number
  readonly p50: number
  readonly p90: number
  readonly p99: number
  readonly max: number
}

export interface Totals {
  readonly requests: number
  readonly succeeded: number
  readonly failed: number
  /** How often each kind of failure came, the most frequent first. */
  readonly errors: Readonly<Record<string, number>>
  readonly seconds: number
  readonly requestsPerSecond: number
  /** Absent when nothing succeeded. */
  readonly latencyMs?: Spread
  readonly firstEventMs?: Spread
  readonly events?: number
  readonly eventsPerSecond?: number
}

export class Tally {
  readonly #samples: Sample[] = []
  readonly #errors = new Map<string, number>()
  #failed = 0

  success(sample: Sample): void {
    this.#samples.push(sample)
  }

  failure(kind: string): void {
    this.#failed += 1
    this.#errors.set(kind, (this.#errors.get(kind) ?? 0) + 1)
  }

  get done(): number {
    return this.#samples.length + this.#failed
  }

  get failed(): number {
    return this.#failed
  }

  totals(elapsedMs: number): Totals {
    const seconds = elapsedMs / 1000
    const perSecond = (count: number) => (seconds > 0 ? round(count / seconds) : 0)
    const succeeded = this.#samples.length
    const latency = spreadOf(this.#samples.map(({ ms }) => ms))
    const first = spreadOf(this.#samples.flatMap(({ firstMs }) => (firstMs === undefined ? [] : [firstMs])))
    const events = this.#samples.reduce((sum, sample) => sum + (sample.events ?? 0), 0)
    return {
      requests: this.done,
      succeeded,
      failed: this.#failed,
      errors: Object.fromEntries([...this.#errors].sort(([, one], [, other]) => other - one)),
      seconds: round(seconds),
      requestsPerSecond: perSecond(succeeded),
      ...(latency && { latencyMs: latency }),
      ...(first && { firstEventMs: first, events, eventsPerSecond: perSecond(events) }),
    }
  }
}

export function spreadOf(values: readonly number[]): Spread | undefined {
  if (values.length === 0) return undefined
  const sorted = Float64Array.from(values).sort()
  // The smallest value that this share of all values does not exceed.
  const at = (share: number) => round(sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0)
  const mean = sorted.reduce((sum, value) => sum + value, 0) / sorted.length
  return { min: at(0), mean: round(mean), p50: at(0.5), p90: at(0.9), p99: at(0.99), max: at(1) }
}

function round(value: number): number {
  return Math.round(value * 100) / 100
}
