import type { Language } from '../text/text.js'

/** Formats a duration in the user's language. */
export function formatMs(ms: number, language: Language): string {
  const [value, unit] = ms < 1000 ? [Math.round(ms), 'millisecond'] : [Math.round(ms / 100) / 10, 'second']
  return new Intl.NumberFormat(language, { style: 'unit', unit: String(unit), unitDisplay: 'short' }).format(
    Number(value),
  )
}

/** Formats a size in the user's language. */
export function formatBytes(bytes: number, language: Language): string {
  const [value, unit] = bytes < 1000 ? [bytes, 'byte'] : [Math.round(bytes / 100) / 10, 'kilobyte']
  return new Intl.NumberFormat(language, { style: 'unit', unit: String(unit), unitDisplay: 'narrow' }).format(
    Number(value),
  )
}

/** The end of an id: ids that begin with the time differ at the end. */
export function shortId(id: string): string {
  return id.slice(-8)
}
