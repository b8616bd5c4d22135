/** The header `grpc-timeout`. */
const unitMs: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1000, m: 1, u: 0.001, n: 0.000_001 }

/** In milliseconds. Undefined if the value is invalid. */
export function readTimeout(value: string): number | undefined {
  const [, digits, unit = ''] = /^(\d{1,8})([HMSmun])$/.exec(value) ?? []
  const factor = unitMs[unit]
  return digits === undefined || factor === undefined ? undefined : Number(digits) * factor
}
