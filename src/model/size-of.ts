/**
 * Roughly what a JSON value takes on the wire, in characters, without spelling it. All of it counts, whatever member it
 * is in: who wants to be large finds the one that does not. Counting ends when there is more than `enough`.
 */
export function sizeOf(value: unknown, enough = Number.POSITIVE_INFINITY): number {
  let size = 0
  // Not by recursion: values may be as deep as a request may be long.
  const open: unknown[] = [value]
  while (open.length > 0 && size <= enough) {
    const next = open.pop()
    if (typeof next === 'string') size += next.length + 3
    else if (typeof next !== 'object' || next === null) size += 6
    else if (Array.isArray(next)) for (const element of next) open.push(element)
    else {
      for (const [name, member] of Object.entries(next)) {
        size += name.length + 3
        open.push(member)
      }
    }
  }
  return size
}
