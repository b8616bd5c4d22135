/** Metadata keys that carry what 0.3 has no member for. They are taken out again when read back. */
import type { Struct } from '../../model/part.js'

export const reserved = {
  mediaType: 'a2aMediaType',
  filename: 'a2aFilename',
  referenceTaskIds: 'a2aReferenceTaskIds',
  /** The flag other SDKs use as well (RM-PART-1). */
  wrappedData: 'data_part_compat',
} as const

/** The metadata without these keys; nothing when none are left. */
export function withoutKeys(metadata: Struct, keys: readonly string[]): Struct | undefined {
  const rest = Object.entries(metadata).filter(([key]) => !keys.includes(key))
  return rest.length > 0 ? Object.fromEntries(rest) : undefined
}
