/** Everything that only reads a registry: by name, by skill, tag and text, page by page. */
import { invalid, notFound } from '../registry-client/registry-error.js'
import type { AgentKey } from '../registry-client/registry-words.js'
import { type Catalog, type CatalogAgent, type CatalogInstance, instancesOf, isOffered } from './catalog.js'
import { tagsOf, versionIn } from './documents.js'
import type { WorkShare } from './work-queue.js'

/** Conditions that an agent must all satisfy. */
export interface AgentFilter {
  readonly namespace?: string
  readonly text?: string
  /** Of a skill: its id or its name. */
  readonly skill?: string
  readonly tag?: string
  /** Includes agents that do not answer and names without a running instance. Default false. */
  readonly includeUnhealthy?: boolean
  /** Any other condition. Called for every agent that satisfies the rest. */
  readonly isWanted?: (found: FoundAgent) => boolean
}

export interface FindQuery extends AgentFilter {
  readonly limit: number
  /** What the instances of a page may weigh: it ends before the agent that is too much, but is never empty. */
  readonly maxBytes?: number
  /** Where another page ended. */
  readonly cursor?: string
  /** Matches to skip, for callers that count pages; in place of `cursor`. */
  readonly offset?: number
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
  const version = wanted === undefined || wanted === 'latest' ? agent.latest : wanted
  const instances = instancesShown(agent, version, includeUnhealthy)
  if (instances.length > 0) return { agent, version, instances }
  const isKnown = versionIn(agent.document, version) !== undefined
  return includeUnhealthy && isKnown ? { agent, version, instances } : undefined
}

function instancesShown(agent: CatalogAgent, version: string, includeUnhealthy: boolean): readonly CatalogInstance[] {
  if (includeUnhealthy) return instancesOf(agent, version)
  return version === agent.latest ? agent.offered : instancesOf(agent, version).filter(isOffered)
}

/** Steps of `WorkShare` that looking at one agent takes. */
const stepsPerAgent = 10

/** One page. Lets other requests run while it looks at many agents. */
export async function findAgents(catalog: Catalog, query: FindQuery, share: WorkShare): Promise<FoundPage> {
  const { text, limit, offset = 0 } = query
  const isSearch = hasWords(text)
  const after = isSearch || query.cursor === undefined ? '' : read('k', query.cursor)
  const start = isSearch && query.cursor !== undefined ? placeIn(query.cursor) : offset
  await share.start()
  const look = lookFor(catalog, query)
  const page = new PageOf(query)
  if (isSearch) {
    const hits = await catalog.index.search(text, (id) => look(id) !== undefined, share)
    for (const { id, score } of hits.slice(start, start + limit)) {
      const each = look(id)
      if (each && !page.add({ ...each, score })) break
    }
    const next = start + page.found.length
    return { found: page.found, total: hits.length, ...(next < hits.length && { cursor: spell('n', String(next)) }) }
  }
  let total = 0
  let last = ''
  let hasMore = false
  for (const id of catalog.ids()) {
    if (share.isSpent(stepsPerAgent)) await share.pause()
    const each = look(id)
    if (!each) continue
    total += 1
    if (id <= after || total <= start) continue
    if (!hasMore && page.add(each)) last = id
    else hasMore = true
  }
  return { found: page.found, total, ...(hasMore && { cursor: spell('k', last) }) }
}

/** Visits all agents that match: best first where words are looked for, else by namespace and name. */
export async function visitAgents(
  catalog: Catalog,
  filter: AgentFilter,
  visit: (found: FoundAgent) => void,
  share: WorkShare,
): Promise<void> {
  await share.start()
  const look = lookFor(catalog, filter)
  const ids = hasWords(filter.text)
    ? (await catalog.index.search(filter.text, (id) => look(id) !== undefined, share)).map((hit) => hit.id)
    : catalog.ids()
  for (const id of ids) {
    if (share.isSpent(stepsPerAgent)) await share.pause()
    const found = look(id)
    if (found) visit(found)
  }
}

function hasWords(text: string | undefined): text is string {
  return text !== undefined && text.trim() !== ''
}

function lookFor(catalog: Catalog, filter: AgentFilter): (id: string) => FoundAgent | undefined {
  const { namespace, includeUnhealthy = false, isWanted } = filter
  return (id) => {
    const agent = catalog.byId(id)
    if (!agent || (namespace !== undefined && agent.key.namespace !== namespace)) return undefined
    const found = shown(agent, includeUnhealthy)
    return found && matches(found, filter) && (isWanted?.(found) ?? true) ? found : undefined
  }
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

function matches({ instances }: FoundAgent, { skill, tag }: AgentFilter): boolean {
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
