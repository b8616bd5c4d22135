/** Reads from the catalog: one agent by name, or pages of agents by namespace, skill, tag and text. */
import { invalid, notFound } from '../registry-client/registry-error.js'
import type { AgentKey } from '../registry-client/registry-messages.js'
import { type Catalog, type CatalogAgent, type CatalogInstance, instancesOf, isOffered } from './catalog.js'
import { tagsOf, versionIn } from './documents.js'
import type { WorkShare } from './work-queue.js'

/** Conditions that an agent must all satisfy. */
export interface AgentFilter {
  readonly namespace?: string
  readonly text?: string
  /** Id or name of a skill. */
  readonly skill?: string
  readonly tag?: string
  /** Includes unhealthy agents and names without instances. Default false. */
  readonly includeUnhealthy?: boolean
  /** A further condition, called for every agent that satisfies the others. */
  readonly isWanted?: (found: FoundAgent) => boolean
}

/** A request for one page of agents. */
export interface FindQuery extends AgentFilter {
  /** Maximum number of agents. */
  readonly limit: number
  /** Maximum quota bytes of the page. The page ends before the agent that exceeds them, but has at least one agent. */
  readonly maxBytes?: number
  /** Continues after the page that returned this cursor. */
  readonly cursor?: string
  /** Number of matches to skip, in place of `cursor`. */
  readonly offset?: number
}

/** An agent that was found, with its instances of one version. */
export interface FoundAgent {
  readonly agent: CatalogAgent
  readonly version: string
  /** Offered instances of that version. */
  readonly instances: readonly CatalogInstance[]
  /** Relevance from 0 to 100, for searches by text. */
  readonly score?: number
}

/** One page of agents. */
export interface FoundPage {
  readonly found: readonly FoundAgent[]
  /** Absent on the last page. */
  readonly cursor?: string
  /** Number of matches on all pages. */
  readonly total: number
}

/** Finds one agent. Throws `NOT_FOUND`. */
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

/** Selects the requested version, or the latest, if it has something to offer. */
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

/** Cost of one agent in steps of `WorkShare`. */
const stepsPerAgent = 10

/** Finds one page. Other requests run in between while it reads many agents. */
export async function findAgents(catalog: Catalog, query: FindQuery, share: WorkShare): Promise<FoundPage> {
  const { text, limit, offset = 0 } = query
  const isSearch = hasWords(text)
  const after = isSearch || query.cursor === undefined ? '' : decodeCursor('k', query.cursor)
  const start = isSearch && query.cursor !== undefined ? offsetIn(query.cursor) : offset
  await share.start()
  const look = lookFor(catalog, query)
  const page = new PageBuilder(query)
  if (isSearch) {
    const hits = await catalog.index.search(text, (id) => look(id) !== undefined, share)
    for (const { id, score } of hits.slice(start, start + limit)) {
      const each = look(id)
      if (each && !page.add({ ...each, score })) break
    }
    const next = start + page.found.length
    return {
      found: page.found,
      total: hits.length,
      ...(next < hits.length && { cursor: encodeCursor('n', String(next)) }),
    }
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
  return { found: page.found, total, ...(hasMore && { cursor: encodeCursor('k', last) }) }
}

/** Visits all matching agents: by relevance if the filter has a text, otherwise by namespace and name. */
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

class PageBuilder {
  readonly found: FoundAgent[] = []
  readonly #limit: number
  #bytesLeft: number

  constructor({ limit, maxBytes = Number.POSITIVE_INFINITY }: FindQuery) {
    this.#limit = limit
    this.#bytesLeft = maxBytes
  }

  /** Returns false if the page is full. */
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

/** A cursor is the kind of list (`k`: by key, `n`: by number) and the position in it. */
function encodeCursor(kind: 'k' | 'n', position: string): string {
  return Buffer.from(kind + position).toString('base64url')
}

function decodeCursor(kind: 'k' | 'n', cursor: string): string {
  const text = Buffer.from(cursor, 'base64url').toString()
  if (text.startsWith(kind)) return text.slice(1)
  throw invalid('cursor', 'is not valid for this list')
}

function offsetIn(cursor: string): number {
  const offset = Number(decodeCursor('n', cursor))
  if (Number.isSafeInteger(offset) && offset >= 0) return offset
  throw invalid('cursor', 'is not valid for this list')
}
