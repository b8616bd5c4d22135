/**
 * Roughly the length of a value's JSON text, without making it. Every member and every empty object counts, so that
 * limits cannot be bypassed. Counting ends when there is more than `enough`.
 */
export function sizeOf(value: unknown, enough = Number.POSITIVE_INFINITY, containerSize = 2): number {
  let size = 0
  // Not by recursion: values may be as deep as a request may be long.
  const open: unknown[] = [value]
  while (open.length > 0 && size <= enough) {
    const next = open.pop()
    if (typeof next === 'string') size += next.length + 3 + escapesOf(next)
    else if (typeof next !== 'object' || next === null) size += 6
    else {
      size += containerSize
      if (Array.isArray(next)) for (const element of next) open.push(element)
      else {
        // JSON values inherit nothing: `for in` visits their members without making a list of them.
        for (const name in next) {
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

/** Shorter texts cannot make a value much larger than it counts. */
const minScanned = 1024

/** The characters that JSON adds to a long text: it writes most control characters as `\u0001`. */
function escapesOf(text: string): number {
  if (text.length < minScanned) return 0
  let added = 0
  for (let place = 0; place < text.length; place++) {
    const code = text.charCodeAt(place)
    if (code < 8 || code === 11 || (code > 13 && code < 32)) added += 5
  }
  return added
}

/** The heap that an object or a list takes beside its members. */
const heapOfContainer = 40

/**
 * The size of a value for limits on what is stored: its text, and what its objects and lists take in memory, which for
 * values of many small members is far more than their JSON text.
 */
export function storedSizeOf(value: unknown, enough?: number): number {
  return sizeOf(value, enough, heapOfContainer)
}

/** A quarter of the heap that V8 may use, in bytes. Where V8 cannot be asked: of 1 GB. */
export function quarterOfHeap(): number {
  const process = globalThis.process as NodeJS.Process | undefined
  const limit = process?.getBuiltinModule?.('node:v8')?.getHeapStatistics().heap_size_limit
  return Math.floor((limit || 1024 ** 3) / 4)
}
