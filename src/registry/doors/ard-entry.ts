/**
 * Entries of an ARD catalog. Filters, orders and facets read single members of an entry, so that a query over all
 * agents builds entries only for the page that it returns.
 */
import { isObject } from '../../model/is-object.js'
import { RegistryError } from '../../registry-client/registry-error.js'
import { versionIn } from '../documents.js'
import type { FoundAgent } from '../finds.js'
import { type HeldInstance, tagsOf } from '../held-instance.js'
import { timeOf } from './describe-agent.js'
import { cardMediaType } from './rest.js'

/** An entry of a catalog; exactly one of `url` and `data`, here always `url`. */
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

export type ReadValues = (found: FoundAgent, source: EntrySource) => readonly string[]

const longestPath = 200

/** Reads the texts and numbers that a path such as `metadata.namespace` leads to, through lists. */
export function readerOf(path: string): ReadValues {
  if (path === 'publisher') return (_, { publisher }) => [publisher]
  if (path.length > longestPath) throw new RegistryError('INVALID', `${path.slice(0, 40)}… leads to no field`)
  const [first = '', ...names] = path.split('.').slice(0, 8)
  if (!Object.hasOwn(members, first)) return () => []
  const member = members[first as Member] // it is one
  return (found, source) => {
    let values: readonly unknown[] = [member(found, source)].flat()
    for (const name of names)
      values = values.flatMap((value) =>
        isObject(value) && Object.hasOwn(value, name) ? (value[name] as unknown) : [],
      )
    return values.flatMap((value) => (typeof value === 'string' || typeof value === 'number' ? [String(value)] : []))
  }
}

export function displayNameOf(found: FoundAgent): string {
  return documentOf(found)?.card.name ?? found.agent.key.name
}

export function updatedMsOf({ agent: { document }, version }: FoundAgent): number {
  return versionIn(document, version)?.updatedMs ?? document.createdMs
}

export function documentOf({ instances }: FoundAgent): HeldInstance | undefined {
  return instances[0]?.document
}

/**
 * Letters, digits, dots, dashes and underscores; no two names have the same segment. A name of other characters, or
 * one that begins with `_`, becomes `_` and the name with every other byte written as `_` and two hexadecimal digits.
 */
export function urnSegment(name: string): string {
  if (/^[a-zA-Z0-9.-][a-zA-Z0-9._-]*$/.test(name)) return name
  const escaped = Array.from(Buffer.from(name), (byte) => {
    const character = String.fromCharCode(byte)
    return /[a-zA-Z0-9.-]/.test(character) ? character : `_${byte.toString(16).padStart(2, '0').toUpperCase()}`
  })
  return `_${escaped.join('')}`
}
