/** What things may be called. */
import { invalid, RegistryError } from '../registry-client/registry-error.js'

/** Any printable text without a slash in front or around it; names are shown, compared and put into addresses. */
export function mustBeName(field: string, value: unknown, longest = 128): asserts value is string {
  if (typeof value !== 'string' || value === '') throw invalid(field, 'is missing')
  if (value.length > longest) throw invalid(field, `is longer than ${longest} characters`)
  const isPrintable = value.isWellFormed() && !/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(value) && value.trim() === value
  if (!isPrintable) throw invalid(field, 'holds characters that cannot be shown')
}

export function mustBeTags(tags: unknown, most: number): asserts tags is readonly string[] {
  if (!Array.isArray(tags)) throw invalid('tags', 'is a list of texts')
  if (tags.length > most) throw new RegistryError('INVALID', `tags: there may be ${most} at most`)
  for (const [place, tag] of tags.entries()) mustBeName(`tags[${place}]`, tag, 64)
}
