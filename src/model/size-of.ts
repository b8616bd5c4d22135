/**
 * Estimates the length of a value's JSON text without encoding it. Counts every member and every empty object, so that
 * limits cannot be bypassed. Stops above `enough`.
 */
export function sizeOf(value: unknown, enough = Number.POSITIVE_INFINITY, containerSize = 2): number {
  return shallowSizeOf(value, enough, containerSize, maxRecursion)
}

/** Deeper values are counted with a list of open values: they may be as deep as a request is long. */
const maxRecursion = 16

/** Recursion allocates nothing. Most values are this shallow. */
function shallowSizeOf(value: unknown, enough: number, containerSize: number, levels: number): number {
  if (typeof value === 'string') return value.length + 3 + escapesOf(value)
  if (typeof value !== 'object' || value === null) return 6
  if (levels === 0) return deepSizeOf(value, enough, containerSize)
  let size = containerSize
  if (Array.isArray(value)) {
    for (let place = value.length - 1; place >= 0 && size <= enough; place--)
      size += shallowSizeOf(value[place], enough - size, containerSize, levels - 1)
    return size
  }
  // `for in` does not allocate a list; JSON values inherit no members.
  for (const name in value) {
    if (size > enough) break
    const member = (value as Record<string, unknown>)[name]
    if (member !== undefined) size += name.length + 3 + shallowSizeOf(member, enough - size, containerSize, levels - 1)
  }
  return size
}

function deepSizeOf(value: unknown, enough: number, containerSize: number): number {
  let size = 0
  const open: unknown[] = [value]
  while (open.length > 0 && size <= enough) {
    const next = open.pop()
    if (typeof next === 'string') size += next.length + 3 + escapesOf(next)
    else if (typeof next !== 'object' || next === null) size += 6
    else {
      size += containerSize
      if (Array.isArray(next)) for (const element of next) open.push(element)
      else {
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

/** Shorter texts are not scanned: their escapes cannot add much. */
const minScanned = 1024

/** Characters that JSON adds to a long text: it encodes most control characters as `\u0001`. */
function escapesOf(text: string): number {
  if (text.length < minScanned) return 0
  let added = 0
  for (let place = 0; place < text.length; place++) {
    const code = text.charCodeAt(place)
    if (code < 8 || code === 11 || (code > 13 && code < 32)) added += 5
  }
  return added
}

/** Heap bytes of an object or a list without its members. */
const heapOfContainer = 40

/**
 * The size of a value for limits of stored data: its text, and the heap of its objects and lists. For values of many small
 * members the heap is far larger than the JSON text.
 */
export function storedSizeOf(value: unknown, enough?: number): number {
  return sizeOf(value, enough, heapOfContainer)
}

/** A quarter of V8's heap limit in bytes; of 1 GB in other runtimes. */
export function quarterOfHeap(): number {
  const process = globalThis.process as NodeJS.Process | undefined
  const limit = process?.getBuiltinModule?.('node:v8')?.getHeapStatistics().heap_size_limit
  return Math.floor((limit || 1024 ** 3) / 4)
}
