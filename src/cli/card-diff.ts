/** Two cards, member by member. Pure. */
import { isObject } from '../model/is-object.js'

export interface Difference {
  /** A JSON path such as `skills[echo].name`. */
  readonly path: string
  /** Absent: only the second card has it. */
  readonly before?: unknown
  /** Absent: only the first card has it. */
  readonly after?: unknown
}

const deepest = 50

export function diffCards(before: unknown, after: unknown): Difference[] {
  const found: Difference[] = []
  compare(before, after, '', found, 0)
  return found
}

function compare(before: unknown, after: unknown, path: string, found: Difference[], depth: number): void {
  const one = membersOf(before)
  const other = membersOf(after)
  if (!one || !other || Array.isArray(before) !== Array.isArray(after) || depth > deepest) {
    if (JSON.stringify(before) !== JSON.stringify(after)) found.push({ path: trimmed(path), before, after })
    return
  }
  for (const [name, value] of one) {
    if (other.has(name)) compare(value, other.get(name), path + name, found, depth + 1)
    else found.push({ path: trimmed(path + name), before: value })
  }
  for (const [name, value] of other) if (!one.has(name)) found.push({ path: trimmed(path + name), after: value })
}

/** Members by their step in a path; absent for plain values. */
function membersOf(value: unknown): ReadonlyMap<string, unknown> | undefined {
  if (Array.isArray(value)) return new Map(stepsOf(value).map((step, place) => [step, value[place]]))
  if (!isObject(value)) return undefined
  return new Map(Object.entries(value).map(([name, member]) => [`.${name}`, member]))
}

/** What has a name of its own is found again wherever it stands; words are their own names. */
function stepsOf(list: readonly unknown[]): string[] {
  const names = list.map(nameOf)
  const areNames = names.every((name) => name !== undefined) && new Set(names).size === names.length
  return list.map((_, place) => `[${areNames ? names[place] : place}]`)
}

function nameOf(item: unknown): string | undefined {
  if (typeof item === 'string') return item
  if (!isObject(item)) return undefined
  if (typeof item.id === 'string') return item.id
  if (typeof item.uri === 'string') return item.uri
  const binding = item.protocolBinding ?? item.transport
  if (typeof item.url !== 'string' || typeof binding !== 'string') return undefined
  return [binding, item.protocolVersion, item.url].filter((each) => typeof each === 'string').join(' ')
}

function trimmed(path: string): string {
  return path.replace(/^\./, '')
}
