/** Compares two JSON values member by member. */

export interface Difference {
  readonly path: string
  /** Absent if only the second value has the member. */
  readonly before?: unknown
  /** Absent if only the first value has the member. */
  readonly after?: unknown
}

const deepest = 40

export function diffJson(before: unknown, after: unknown, path = '', depth = 0): Difference[] {
  if (!isBranch(before) || !isBranch(after) || Array.isArray(before) !== Array.isArray(after) || depth > deepest)
    return JSON.stringify(before) === JSON.stringify(after) ? [] : [{ path, before, after }]
  const names = new Set([...Object.keys(before), ...Object.keys(after)])
  return [...names].flatMap((name) => {
    const place = Array.isArray(before) ? `${path}[${name}]` : path === '' ? name : `${path}.${name}`
    if (!(name in after)) return [{ path: place, before: before[name] }]
    if (!(name in before)) return [{ path: place, after: after[name] }]
    return diffJson(before[name], after[name], place, depth + 1)
  })
}

function isBranch(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}
