/**
 * Entries of an ARD catalog, and filters, orders and facets over them. These read single members of an entry, so that a
 * query over all agents builds whole entries only for the page that it returns.
 */
import { isObject } from '../../model/is-object.js'
import { RegistryError } from '../../registry-client/registry-error.js'
import { type InstanceSummary, tagsOf, versionIn } from '../documents.js'
import type { FoundAgent } from '../finds.js'
import type { WorkShare } from '../work-queue.js'
import { cardMediaType, timeOf } from './rest.js'
import { numberIn } from './route-group.js'

export type FoundFilter = (found: FoundAgent) => boolean

/** Limits of a query, because it is applied to every agent. */
const maxFields = 20
const maxValues = 1000
const maxFacets = 20
/** Maximum number of distinct values of a facet that are counted separately. */
const maxBuckets = 10_000
const maxExpressionLength = 4000

/** All keys must match; the values of a key are alternatives. */
export function entryFilter(filter: Readonly<Record<string, unknown>>, source: EntrySource): FoundFilter {
  const fields = Object.entries(filter)
  if (fields.length > maxFields) throw tooMany('query.filter', maxFields, 'fields')
  const tests = fields.map(([path, wanted]) => {
    const values: readonly unknown[] = Array.isArray(wanted) ? wanted : [wanted]
    if (values.length > maxValues) throw tooMany(`query.filter.${path.slice(0, 40)}`, maxValues, 'values')
    const allowed = new Set(values.map(textOf))
    const read = readerOf(path)
    return (found: FoundAgent) => read(found, source).some((value) => allowed.has(value))
  })
  return (found) => tests.every((test) => test(found))
}

function textOf(value: unknown): string {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return String(value)
  throw new RegistryError('INVALID', 'query.filter: values must be strings or lists of strings')
}

function tooMany(field: string, max: number, what: string): RegistryError {
  return new RegistryError('INVALID', `${field}: must have at most ${max} ${what}`)
}

interface Facet {
  readonly field: string
  readonly read: ReadValues
  readonly limit: number
  readonly minCount: number
  readonly counts: Map<string, number>
  /** Values beyond `maxBuckets`. */
  uncounted: number
}

interface Facets {
  count(found: FoundAgent): void
  buckets(): Promise<object>
}

/** Validates the requested facets, then counts the values of visited agents. */
export function createFacets(asked: readonly unknown[], source: EntrySource, share: WorkShare): Facets {
  if (asked.length > maxFacets) throw tooMany('resultType.facets', maxFacets, 'facets')
  const facets = asked.map((facet): Facet => {
    if (!isObject(facet) || typeof facet.field !== 'string')
      throw new RegistryError('INVALID', 'resultType.facets: each facet must have a `field`')
    const limit = numberIn(facet.limit, { field: 'limit', defaultValue: 20, max: 1000 })
    const minCount = numberIn(facet.minCount, { field: 'minCount', defaultValue: 1, max: 1e9 })
    return { field: facet.field, read: readerOf(facet.field), limit, minCount, counts: new Map(), uncounted: 0 }
  })
  return {
    count(found) {
      for (const facet of facets) {
        const values = new Set(facet.read(found, source))
        share.isSpent(10 + values.size * 3) // `visitAgents` pauses before the next agent
        for (const value of values) countValue(facet, value)
      }
    },
    async buckets() {
      // `Object.fromEntries` is safe for field names such as `__proto__`.
      const all: [string, object][] = []
      for (const facet of facets) {
        if (share.isSpent(facet.counts.size * 20)) await share.pause()
        all.push([facet.field, bucketsOf(facet)])
      }
      return Object.fromEntries(all)
    },
  }
}

function countValue(facet: Facet, value: string): void {
  const { counts } = facet
  const known = counts.get(value)
  if (known === undefined && counts.size >= maxBuckets) facet.uncounted += 1
  else counts.set(value, (known ?? 0) + 1)
}

function bucketsOf({ counts, uncounted, limit, minCount }: Facet): object {
  const all = [...counts]
    .map(([value, count]) => ({ value, count }))
    .filter(({ count }) => count >= minCount)
    .sort((a, b) => b.count - a.count || (a.value < b.value ? -1 : 1))
  const rest = all.slice(limit).reduce((sum, { count }) => sum + count, uncounted)
  return { buckets: all.slice(0, limit), ...(rest > 0 && { otherCount: rest }) }
}

/** Parses `type = 'a,b' AND updatedAfter > '2026-01-01'`: all clauses must match; values with commas are alternatives. */
export function listFilter(expression: string | null, source: EntrySource): FoundFilter {
  if (expression === null || expression.trim() === '') return () => true
  if (expression.length > maxExpressionLength)
    throw new RegistryError('INVALID', `filter: is longer than ${maxExpressionLength} characters`)
  const tests = expression.split(/\sAND\s/i).map((clause) => {
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
        `filter: ${JSON.stringify(clause.slice(0, 100))} is not supported; the fields are ${Object.keys(clauses).join(', ')}`,
      )
    return make(given, source)
  })
  return (found) => tests.every((test) => test(found))
}

const clauses: Readonly<Record<string, (value: string, source: EntrySource) => FoundFilter>> = {
  displayName: (value) => {
    const part = value.toLowerCase()
    return (found) => displayNameOf(found).toLowerCase().includes(part)
  },
  type: (value) => {
    const isWanted = optionsIn(value).has(cardMediaType)
    return () => isWanted
  },
  tags: (value) => {
    const tags = optionsIn(value)
    return (found) => {
      const document = documentOf(found)
      return document !== undefined && tagsOf(document).some((tag) => tags.has(tag))
    }
  },
  publisherId: (value, { publisher }) => {
    const isWanted = optionsIn(value).has(publisher)
    return () => isWanted
  },
  createdAfter: (value) => {
    const time = timeIn('createdAfter', value)
    return ({ agent }) => agent.document.createdMs > time
  },
  updatedAfter: (value) => {
    const time = timeIn('updatedAfter', value)
    return (found) => updatedMsOf(found) > time
  },
}

function optionsIn(value: string): ReadonlySet<string> {
  return new Set(value.split(',').map((each) => each.trim()))
}

function timeIn(field: string, value: string): number {
  const time = Date.parse(value)
  if (!Number.isNaN(time)) return time
  throw new RegistryError('INVALID', `filter: ${field} must be a time such as 2026-01-31T12:00:00Z`)
}

type SortKey = string | number

const orders: Readonly<Record<string, (found: FoundAgent) => SortKey>> = {
  displayName: (found) => displayNameOf(found).toLowerCase(),
  name: (found) => displayNameOf(found).toLowerCase(),
  updatedAt: updatedMsOf,
  createdAt: ({ agent }) => agent.document.createdMs,
  created_at: ({ agent }) => agent.document.createdMs,
}

interface ListOrder {
  readonly keyOf: (found: FoundAgent) => SortKey
  readonly compare: (a: { readonly key: SortKey }, b: { readonly key: SortKey }) => number
}

export function listOrder(orderBy: string | null): ListOrder {
  const [field = '', direction = 'ASC'] = (orderBy ?? 'displayName').trim().split(/\s+/)
  const keyOf = Object.hasOwn(orders, field) ? orders[field] : undefined
  if (!keyOf || !/^(asc|desc)$/i.test(direction))
    throw new RegistryError('INVALID', `orderBy: must be one of ${Object.keys(orders).join(', ')}, with ASC or DESC`)
  const sign = /^desc$/i.test(direction) ? -1 : 1
  return { keyOf, compare: (a, b) => (a.key === b.key ? 0 : a.key < b.key ? -sign : sign) }
}

/** An entry of a catalog. ARD requires one of `url` and `data`; here it is always `url`. */
export interface CatalogEntry {
  readonly identifier: string
  readonly displayName: string
  readonly type: string
  readonly url: string
  readonly description?: string
  readonly tags?: readonly string[]
  readonly capabilities?: readonly string[]
  readonly representativeQueries?: readonly string[]
  readonly version?: string
  readonly updatedAt?: string
  readonly metadata?: Readonly<Record<string, string | number>>
}

/** The registry that the entries belong to. */
export interface EntrySource {
  readonly publicUrl: string
  readonly publisher: string
}

type Member = keyof CatalogEntry

const members: { readonly [Name in Member]-?: (found: FoundAgent, source: EntrySource) => CatalogEntry[Name] } = {
  identifier: ({ agent: { key } }, { publisher }) =>
    ['urn:air', publisher, urnSegment(key.namespace), urnSegment(key.name)].join(':'),
  displayName: (found) => displayNameOf(found),
  type: () => cardMediaType,
  url: ({ agent: { key } }, { publicUrl }) =>
    `${publicUrl}/v1/agents/${encodeURIComponent(key.namespace)}/${encodeURIComponent(key.name)}/card`,
  description: (found) => documentOf(found)?.card.description,
  tags: (found) => {
    const document = documentOf(found)
    return document && tagsOf(document)
  },
  capabilities: (found) => documentOf(found)?.card.skills.map((skill) => skill.name) ?? [],
  representativeQueries: (found) => {
    const examples = documentOf(found)?.card.skills.flatMap((skill) => skill.examples ?? [])
    const queries = [...new Set(examples)].slice(0, 5)
    return queries.length >= 2 ? queries : undefined
  },
  version: ({ version }) => version,
  updatedAt: (found) => timeOf(updatedMsOf(found)),
  metadata: ({ agent: { key }, instances }) => ({ ...key, instances: instances.length }),
}

export function buildEntry(found: FoundAgent, source: EntrySource): CatalogEntry {
  const all = Object.entries(members).map(([name, read]) => [name, read(found, source)])
  return Object.fromEntries(all.filter(([, value]) => value !== undefined)) as CatalogEntry // all members, in order
}

type ReadValues = (found: FoundAgent, source: EntrySource) => readonly string[]

const maxPathLength = 200

/** Creates a reader of the strings and numbers at a path such as `metadata.namespace`; lists are flattened. */
function readerOf(path: string): ReadValues {
  if (path === 'publisher') return (_, { publisher }) => [publisher]
  if (path.length > maxPathLength) throw new RegistryError('INVALID', `${path.slice(0, 40)}… is not a field`)
  const [first = '', ...names] = path.split('.').slice(0, 8)
  if (!Object.hasOwn(members, first)) return () => []
  const member = members[first as Member] // checked above
  return (found, source) => {
    let values: readonly unknown[] = [member(found, source)].flat()
    for (const name of names)
      values = values.flatMap((value) =>
        isObject(value) && Object.hasOwn(value, name) ? (value[name] as unknown) : [],
      )
    return values.flatMap((value) => (typeof value === 'string' || typeof value === 'number' ? [String(value)] : []))
  }
}

function displayNameOf(found: FoundAgent): string {
  return documentOf(found)?.card.name ?? found.agent.key.name
}

function updatedMsOf({ agent: { document }, version }: FoundAgent): number {
  return versionIn(document, version)?.updatedMs ?? document.createdMs
}

export function documentOf({ instances }: FoundAgent): InstanceSummary | undefined {
  return instances[0]?.document
}

/**
 * Encodes a name injectively with letters, digits, dots, dashes and underscores. A name with other characters, or one that
 * starts with `_`, becomes `_` and the name with each special byte as `_` and two hexadecimal digits.
 */
function urnSegment(name: string): string {
  if (/^[a-zA-Z0-9.-][a-zA-Z0-9._-]*$/.test(name)) return name
  const escaped = Array.from(Buffer.from(name), (byte) => {
    const character = String.fromCharCode(byte)
    return /[a-zA-Z0-9.-]/.test(character) ? character : `_${byte.toString(16).padStart(2, '0').toUpperCase()}`
  })
  return `_${escaped.join('')}`
}
