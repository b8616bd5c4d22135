/** A deep copy of a JSON value. Strings are shared: they cannot change. Callers bound the depth of the value. */
export function copyJson<Value>(value: Value): Value {
  return copy(value) as Value // the copy has the shape of the value
}

function copy(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(copy)
  const members: Record<string, unknown> = {}
  for (const name of Object.keys(value)) {
    const member = copy((value as Record<string, unknown>)[name])
    // Assigning to this name would set the prototype.
    if (name === '__proto__') Object.defineProperty(members, name, { value: member, enumerable: true })
    else members[name] = member
  }
  return members
}

/** A map whose values are copied when they are read, so that the reader cannot change them. */
export class CopiedValues<Value> implements ReadonlyMap<string, Value> {
  readonly #values: ReadonlyMap<string, Value>

  constructor(values: ReadonlyMap<string, Value>) {
    this.#values = values
  }

  get size(): number {
    return this.#values.size
  }

  get(key: string): Value | undefined {
    return copyJson(this.#values.get(key))
  }

  has(key: string): boolean {
    return this.#values.has(key)
  }

  forEach(visit: (value: Value, key: string, map: ReadonlyMap<string, Value>) => void): void {
    for (const [key, value] of this) visit(value, key, this)
  }

  keys(): MapIterator<string> {
    return this.#values.keys()
  }

  *values(): MapIterator<Value> {
    for (const value of this.#values.values()) yield copyJson(value)
  }

  *entries(): MapIterator<[string, Value]> {
    for (const [key, value] of this.#values) yield [key, copyJson(value)]
  }

  [Symbol.iterator](): MapIterator<[string, Value]> {
    return this.entries()
  }
}

const maxDepth = 64

/** Whether JSON preserves a value: plain objects, arrays and finite numbers. */
export function isJson(value: unknown, depth: number): boolean {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return true
  if (typeof value === 'number') return Number.isFinite(value)
  if (typeof value !== 'object' || depth >= maxDepth) return false
  if (Array.isArray(value)) return value.every((each) => isJson(each, depth + 1))
  const prototype = Object.getPrototypeOf(value) as unknown
  if (prototype !== Object.prototype && prototype !== null) return false
  return Object.values(value).every((each) => each === undefined || isJson(each, depth + 1))
}
