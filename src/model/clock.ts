/** Time and identity, so that both can be faked. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number
  /** A new unique id. Ids made later sort later, which keeps database indexes compact. */
  newId(): string
}

/**
 * A version 7 UUID: 48 bits of time, then randomness. The caller brings both, so this stays pure.
 * Several times faster than composing it through a byte array.
 */
export function uuidV7(timeMs: number, random: Uint32Array): string {
  const time = timeMs.toString(16).padStart(12, '0')
  const a = hex8(random[0] ?? 0)
  const b = hex8(random[1] ?? 0)
  const c = hex8(random[2] ?? 0)
  const variant = '89ab'[(random[3] ?? 0) & 3] ?? '8'
  return `${time.slice(0, 8)}-${time.slice(8)}-7${a.slice(0, 3)}-${variant}${a.slice(3, 6)}-${a.slice(6)}${b}${c.slice(0, 2)}`
}

function hex8(value: number): string {
  return value.toString(16).padStart(8, '0')
}
