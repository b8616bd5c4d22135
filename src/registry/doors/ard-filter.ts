/** Filters, orders and facets over the entries of a catalog. Pure. */
import { isObject } from '../../dialects/decode.js'
import { RegistryError } from '../../registry-client/registry-error.js'
import type { CatalogEntry } from './ard.js'
import { numberIn } from './door.js'

/** Values within a key are alternatives; keys must all hold. */
export function isMatch(entry: CatalogEntry, filter: Readonly<Record<string, unknown>>): boolean {
  return Object.entries(filter).every(([path, wanted]) => {
    const allowed = (Array.isArray(wanted) ? wanted : [wanted]).map(String)
    return valuesAt(entry, path).some((value) => allowed.includes(value))
  })
}

/** Whatever a path leads to, lists opened; `publisher` is read from the identifier. */
function valuesAt(entry: CatalogEntry, path: string): readonly string[] {
  if (path === 'publisher') return [publisherOf(entry)]
  let found: readonly unknown[] = [entry]
  for (const name of path.split('.').slice(0, 8))
    found = found.flatMap((value) => (isObject(value) && Object.hasOwn(value, name) ? (value[name] as unknown) : []))
  return found.flatMap((value) => (typeof value === 'string' || typeof value === 'number' ? [String(value)] : []))
}

function publisherOf({ identifier }: CatalogEntry): string {
  return identifier.split(':')[2] ?? ''
}

const mostFacets = 20

export function facetsOf(entries: readonly CatalogEntry[], asked: readonly unknown[]): object {
  const facets: Record<string, object> = {}
  for (const facet of asked.slice(0, mostFacets)) {
    if (!isObject(facet) || typeof facet.field !== 'string')
      throw new RegistryError('INVALID', 'resultType.facets: each names a `field`')
    const limit = numberIn(facet.limit as number | undefined, { field: 'limit', usual: 20, most: 1000 })
    const minCount = numberIn(facet.minCount as number | undefined, { field: 'minCount', usual: 1, most: 1e9 })
    facets[facet.field] = bucketsOf(entries, facet.field, { limit, minCount })
  }
  return facets
}

function bucketsOf(
  entries: readonly CatalogEntry[],
  field: string,
  { limit, minCount }: { readonly limit: number; readonly minCount: number },
): object {
  const counts = new Map<string, number>()
  for (const entry of entries)
    for (const value of new Set(valuesAt(entry, field))) counts.set(value, (counts.get(value) ?? 0) + 1)
  const all = [...counts]
    .map(([value, count]) => ({ value, count }))
    .filter(({ count }) => count >= minCount)
    .sort((a, b) => b.count - a.count || (a.value < b.value ? -1 : 1))
  const rest = all.slice(limit).reduce((sum, { count }) => sum + count, 0)
  return { buckets: all.slice(0, limit), ...(rest > 0 && { otherCount: rest }) }
}

export interface ListedEntry {
  readonly entry: CatalogEntry
  readonly createdMs: number
}

type Test = (listed: ListedEntry) => boolean

/** `type = 'a,b' AND updatedAfter > '2026-01-01'`: clauses must all hold, values with commas are alternatives. */
export function listFilter(expression: string | null): Test {
  if (expression === null || expression.trim() === '') return () => true
  const tests = expression.split(/\s+AND\s+/i).map((clause) => {
    const [, field = '', value] = /^\s*([\w.]+)\s*(?:=|>|>=)\s*(?:'([^']*)'|"[^"]*"|\S+)\s*$/.exec(clause) ?? []
    const given =
      value ??
      clause
        .replace(/^[^=>]*[=>]+\s*/, '')
        .replace(/^"|"\s*$/g, '')
        .trim()
    const make = Object.hasOwn(clauses, field) ? clauses[field] : undefined
    if (!make)
      throw new RegistryError(
        'INVALID',
        `filter: ${JSON.stringify(clause.slice(0, 100))} is not understood; the fields are ${Object.keys(clauses).join(', ')}`,
      )
    return make(given)
  })
  return (listed) => tests.every((test) => test(listed))
}

const clauses: Readonly<Record<string, (value: string) => Test>> = {
  displayName: (value) => (listed) => listed.entry.displayName.toLowerCase().includes(value.toLowerCase()),
  type: (value) => (listed) => optionsIn(value).includes(listed.entry.type),
  tags: (value) => (listed) => optionsIn(value).some((tag) => listed.entry.tags?.includes(tag)),
  publisherId: (value) => (listed) => optionsIn(value).includes(publisherOf(listed.entry)),
  createdAfter: (value) => {
    const time = timeIn('createdAfter', value)
    return (listed) => listed.createdMs > time
  },
  updatedAfter: (value) => {
    const time = timeIn('updatedAfter', value)
    return (listed) => Date.parse(listed.entry.updatedAt ?? '') > time
  },
}

function optionsIn(value: string): readonly string[] {
  return value.split(',').map((each) => each.trim())
}

function timeIn(field: string, value: string): number {
  const time = Date.parse(value)
  if (!Number.isNaN(time)) return time
  throw new RegistryError('INVALID', `filter: ${field} takes a time such as 2026-01-31T12:00:00Z`)
}

const orders: Readonly<Record<string, (listed: ListedEntry) => string | number>> = {
  displayName: ({ entry }) => entry.displayName.toLowerCase(),
  name: ({ entry }) => entry.displayName.toLowerCase(),
  updatedAt: ({ entry }) => entry.updatedAt ?? '',
  createdAt: ({ createdMs }) => createdMs,
  created_at: ({ createdMs }) => createdMs,
}

/** By the identifier where nothing else decides, so that pages never overlap. */
export function listOrder(orderBy: string | null): (a: ListedEntry, b: ListedEntry) => number {
  const [field = '', direction = 'ASC'] = (orderBy ?? 'displayName').trim().split(/\s+/)
  const read = Object.hasOwn(orders, field) ? orders[field] : undefined
  if (!read || !/^(asc|desc)$/i.test(direction))
    throw new RegistryError('INVALID', `orderBy: one of ${Object.keys(orders).join(', ')}, with ASC or DESC`)
  const sign = /^desc$/i.test(direction) ? -1 : 1
  return (a, b) => {
    const [one, other] = [read(a), read(b)]
    if (one !== other) return one < other ? -sign : sign
    return a.entry.identifier < b.entry.identifier ? -1 : 1
  }
}
