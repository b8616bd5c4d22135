/** Filters, orders and facets over the entries of a catalog. Pure. */
import { isObject } from '../../dialects/decode.js'
import { RegistryError } from '../../registry-client/registry-error.js'
import type { CatalogEntry } from './ard.js'
import { numberIn } from './door.js'

/** What is sent here is held against every agent there is, so there is not much of it. */
const mostFields = 20
const mostValues = 1000
const mostFacets = 20
const longestPath = 200
const longestExpression = 4000

/** Values within a key are alternatives; keys must all hold. */
export function entryFilter(filter: Readonly<Record<string, unknown>>): (entry: CatalogEntry) => boolean {
  const fields = Object.entries(filter)
  if (fields.length > mostFields) throw tooMany('query.filter', mostFields, 'fields')
  const tests = fields.map(([path, wanted]) => {
    const values: readonly unknown[] = Array.isArray(wanted) ? wanted : [wanted]
    if (values.length > mostValues) throw tooMany(`query.filter.${path.slice(0, 40)}`, mostValues, 'values')
    const allowed = new Set(values.map(textOf))
    const read = readerOf(path)
    return (entry: CatalogEntry) => read(entry).some((value) => allowed.has(value))
  })
  return (entry) => tests.every((test) => test(entry))
}

function textOf(value: unknown): string {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return String(value)
  throw new RegistryError('INVALID', 'query.filter: values are texts, or lists of texts')
}

function tooMany(field: string, most: number, what: string): RegistryError {
  return new RegistryError('INVALID', `${field}: there may be ${most} ${what} at most`)
}

/** Reads whatever a path leads to, lists opened; `publisher` is read from the identifier. */
function readerOf(path: string): (entry: CatalogEntry) => readonly string[] {
  if (path === 'publisher') return (entry) => [publisherOf(entry)]
  if (path.length > longestPath) throw new RegistryError('INVALID', `${path.slice(0, 40)}… leads to no field`)
  const names = path.split('.').slice(0, 8)
  return (entry) => {
    let found: readonly unknown[] = [entry]
    for (const name of names)
      found = found.flatMap((value) => (isObject(value) && Object.hasOwn(value, name) ? (value[name] as unknown) : []))
    return found.flatMap((value) => (typeof value === 'string' || typeof value === 'number' ? [String(value)] : []))
  }
}

function publisherOf({ identifier }: CatalogEntry): string {
  return identifier.split(':')[2] ?? ''
}

interface Facet {
  readonly read: (entry: CatalogEntry) => readonly string[]
  readonly limit: number
  readonly minCount: number
}

/** Understands what is asked for before anything is counted. */
export function facetsOf(asked: readonly unknown[]): (entries: readonly CatalogEntry[]) => object {
  if (asked.length > mostFacets) throw tooMany('resultType.facets', mostFacets, 'facets')
  const facets = asked.map((facet) => {
    if (!isObject(facet) || typeof facet.field !== 'string')
      throw new RegistryError('INVALID', 'resultType.facets: each names a `field`')
    const limit = numberIn(facet.limit, { field: 'limit', usual: 20, most: 1000 })
    const minCount = numberIn(facet.minCount, { field: 'minCount', usual: 1, most: 1e9 })
    return { field: facet.field, read: readerOf(facet.field), limit, minCount }
  })
  // Fields may be called like what every object has.
  return (entries) => Object.fromEntries(facets.map((facet) => [facet.field, bucketsOf(entries, facet)]))
}

function bucketsOf(entries: readonly CatalogEntry[], { read, limit, minCount }: Facet): object {
  const counts = new Map<string, number>()
  for (const entry of entries) for (const value of new Set(read(entry))) counts.set(value, (counts.get(value) ?? 0) + 1)
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
  if (expression.length > longestExpression)
    throw new RegistryError('INVALID', `filter: is longer than ${longestExpression} characters`)
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
  displayName: (value) => {
    const part = value.toLowerCase()
    return (listed) => listed.entry.displayName.toLowerCase().includes(part)
  },
  type: (value) => {
    const types = optionsIn(value)
    return (listed) => types.has(listed.entry.type)
  },
  tags: (value) => {
    const tags = optionsIn(value)
    return (listed) => listed.entry.tags?.some((tag) => tags.has(tag)) === true
  },
  publisherId: (value) => {
    const publishers = optionsIn(value)
    return (listed) => publishers.has(publisherOf(listed.entry))
  },
  createdAfter: (value) => {
    const time = timeIn('createdAfter', value)
    return (listed) => listed.createdMs > time
  },
  updatedAfter: (value) => {
    const time = timeIn('updatedAfter', value)
    return (listed) => Date.parse(listed.entry.updatedAt ?? '') > time
  },
}

function optionsIn(value: string): ReadonlySet<string> {
  return new Set(value.split(',').map((each) => each.trim()))
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
