/** Everything that only reads a registry: by name, by skill, tag and text, page by page. */
import { invalid, notFound } from '../registry-client/registry-error.js'
import type { AgentKey } from '../registry-client/registry-words.js'
import { type Catalog, type CatalogAgent, type CatalogInstance, instancesOf, isOffered, latestOf } from './catalog.js'
import { versionIn } from './documents.js'
import { tagsOf } from './held-instance.js'

export interface FindQuery {
  readonly namespace?: string
  readonly text?: string
  /** Of a skill: its id or its name. */
  readonly skill?: string
  readonly tag?: string
  /** Also what does not answer, and names that nothing runs under now. Default false. */
  readonly includeUnhealthy?: boolean
  readonly limit: number
  /** What the instances of a page may weigh: it ends before the agent that is too much, but is never empty. */
  readonly maxBytes?: number
  /** Where another page ended. */
  readonly cursor?: string
}

export interface FoundAgent {
  readonly agent: CatalogAgent
  readonly version: string
  /** Those that are offered, of that version. */
  readonly instances: readonly CatalogInstance[]
  /** 0 to 100, where words were looked for. */
  readonly score?: number
}

export interface FoundPage {
  readonly found: readonly FoundAgent[]
  readonly cursor?: string
  /** Matches before paging. */
  readonly total: number
}

/** One agent; throws `NOT_FOUND`. */
export function findAgent(
  catalog: Catalog,
  key: AgentKey,
  {
    version,
    includeUnhealthy = false,
  }: { readonly version?: string | undefined; readonly includeUnhealthy?: boolean } = {},
): FoundAgent {
  const agent = catalog.get(key)
  const found = agent && shown(agent, includeUnhealthy, version)
  if (!found) throw notFound(key)
  return found
}

/** Of an agent: the version asked for, or the latest of which something can be offered. */
function shown(agent: CatalogAgent, includeUnhealthy: boolean, wanted?: string): FoundAgent | undefined {
  const latest = latestOf(agent)
  const version = wanted === undefined || wanted === 'latest' ? latest : wanted
  const all = instancesOf(agent, version)
  const instances = includeUnhealthy ? all : all.filter(isOffered)
  const isKnown = versionIn(agent.document, version) !== undefined
  return instances.length > 0 || (includeUnhealthy && isKnown) ? { agent, version, instances } : undefined
}

export function findAgents(catalog: Catalog, query: FindQuery): FoundPage {
  const { text, limit, includeUnhealthy = false } = query
  const look = (id: string): FoundAgent | undefined => {
    const agent = catalog.byId(id)
    if (!agent || (query.namespace !== undefined && agent.key.namespace !== query.namespace)) return undefined
    const found = shown(agent, includeUnhealthy)
    return found && matches(found, query) ? found : undefined
  }
  if (text !== undefined && text.trim() !== '') {
    const hits = catalog.index.search(text, (id) => look(id) !== undefined)
    const start = query.cursor === undefined ? 0 : placeIn(query.cursor)
    const page = new PageOf(query)
    for (const { id, score } of hits.slice(start, start + limit)) {
      const each = look(id)
      if (each && !page.add({ ...each, score })) break
    }
    const { found } = page
    const next = start + found.length
    return { found, total: hits.length, ...(next < hits.length && { cursor: spell('n', String(next)) }) }
  }
  return listed(catalog.ids(), look, query)
}

function listed(ids: readonly string[], look: (id: string) => FoundAgent | undefined, query: FindQuery): FoundPage {
  const after = query.cursor === undefined ? '' : read('k', query.cursor)
  const page = new PageOf(query)
  let total = 0
  let last = ''
  let hasMore = false
  for (const id of ids) {
    const each = look(id)
    if (!each) continue
    total += 1
    if (id <= after) continue
    if (!hasMore && page.add(each)) last = id
    else hasMore = true
  }
  return { found: page.found, total, ...(hasMore && { cursor: spell('k', last) }) }
}

class PageOf {
  readonly found: FoundAgent[] = []
  readonly #limit: number
  #bytesLeft: number

  constructor({ limit, maxBytes = Number.POSITIVE_INFINITY }: FindQuery) {
    this.#limit = limit
    this.#bytesLeft = maxBytes
  }

  /** False when there is no room for it. */
  add(found: FoundAgent): boolean {
    const bytes = found.instances.reduce((sum, { document }) => sum + document.bytes, 0)
    if (this.found.length >= this.#limit || (this.found.length > 0 && bytes > this.#bytesLeft)) return false
    this.#bytesLeft -= bytes
    this.found.push(found)
    return true
  }
}

function matches({ instances }: FoundAgent, { skill, tag }: FindQuery): boolean {
  if (skill === undefined && tag === undefined) return true
  const document = instances[0]?.document
  if (!document) return false
  const isSame = (one: string, other: string) => one.toLowerCase() === other.toLowerCase()
  const hasSkill =
    skill === undefined || document.card.skills.some(({ id, name }) => isSame(id, skill) || isSame(name, skill))
  return hasSkill && (tag === undefined || tagsOf(document).some((each) => isSame(each, tag)))
}

/** Cursors are ours to read: a letter for the kind of list, and a place in it. */
function spell(kind: 'k' | 'n', place: string): string {
  return Buffer.from(kind + place).toString('base64url')
}

function read(kind: 'k' | 'n', cursor: string): string {
  const text = Buffer.from(cursor, 'base64url').toString()
  if (text.startsWith(kind)) return text.slice(1)
  throw invalid('cursor', 'is not from a list like this one')
}

function placeIn(cursor: string): number {
  const place = Number(read('n', cursor))
  if (Number.isSafeInteger(place) && place >= 0) return place
  throw invalid('cursor', 'is not from a list like this one')
}
