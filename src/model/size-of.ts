/**
 * Roughly the length of a value's JSON text, without making it. Every member and every empty object counts, so that
 * limits cannot be bypassed. Counting ends when there is more than `enough`.
 */
export function sizeOf(value: unknown, enough = Number.POSITIVE_INFINITY): number {
  let size = 0
  // Not by recursion: values may be as deep as a request may be long.
  const open: unknown[] = [value]
  while (open.length > 0 && size <= enough) {
    const next = open.pop()
    if (typeof next === 'string') size += next.length + 3
    else if (typeof next !== 'object' || next === null) size += 6
    else {
      size += 2
      if (Array.isArray(next)) for (const element of next) open.push(element)
      else {
        for (const name of Object.keys(next)) {
          const member = (next as Record<string, unknown>)[name]
          if (member === undefined) continue
          size += name.length + 3
          open.push(member)
        }
      }
    }
  }
  return size
}
