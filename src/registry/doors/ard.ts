/** Agentic Resource Discovery 0.9: a catalog to crawl, search by words, browsing, facets. */
import { isObject } from '../../dialects/decode.js'
import { invalid, RegistryError, type RegistryErrorCode } from '../../registry-client/registry-error.js'
import { versionIn } from '../documents.js'
import type { FoundAgent } from '../finds.js'
import { tagsOf } from '../held-instance.js'
import { entryFilter, facetsOf, listFilter, listOrder } from './ard-filter.js'
import { timeOf } from './describe-agent.js'
import { type Door, type DoorParts, json, numberIn, readObject } from './door.js'
import { cardMediaType } from './rest.js'

export interface ArdOptions {
  /** The domain that stands behind the entries. Default: the host of the public address. */
  readonly publisher?: string
  /** Who runs this registry, in words. Default: the publisher. */
  readonly displayName?: string
}

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

/** A catalog is a file that crawlers read whole: what does not fit is found by searching. */
const largestCatalog = 1000
const catalogPath = '/.well-known/ai-catalog.json'
const federations: readonly unknown[] = ['auto', 'referrals', 'none']

export function createArdDoor({ registry, publicUrl, maxBodyBytes }: DoorParts, options: ArdOptions = {}): Door {
  const publisher = () => options.publisher ?? domainOf(publicUrl())
  const entryOf = (found: FoundAgent) => entry(found, publicUrl(), publisher())
  const everything = (text?: string) =>
    registry.list({ limit: Number.MAX_SAFE_INTEGER, ...(text !== undefined && { text }) }).found

  const catalog = (): Response => {
    const itself: CatalogEntry = {
      identifier: `urn:air:${publisher()}:registry:agents`,
      displayName: options.displayName ?? publisher(),
      type: 'application/ai-registry+json',
      url: `${publicUrl()}/`,
      description: 'Search for all agents of this registry',
    }
    const { found } = registry.list({ limit: largestCatalog })
    return json(200, {
      specVersion: '1.0',
      host: { displayName: options.displayName ?? publisher() },
      entries: [itself, ...found.map(entryOf)],
    })
  }

  const search = (body: Readonly<Record<string, unknown>>): Response => {
    const { federation = 'auto', pageSize, pageToken } = body
    const { text, isWanted } = queryIn(body.query)
    if (text === undefined || text.trim() === '') throw invalid('query.text', 'is missing')
    if (!federations.includes(federation)) throw invalid('federation', 'is auto, referrals or none')
    const { page, next } = pageOf(
      everything(text)
        .map((found) => ({ score: found.score ?? 0, entry: entryOf(found) }))
        .filter((each) => isWanted(each.entry)),
      { pageSize, pageToken, usual: 10 },
    )
    return json(200, {
      results: page.map((each) => ({ ...each.entry, score: each.score, source: `${publicUrl()}/` })),
      // There is no other registry that this one knows of.
      ...(federation === 'referrals' && { referrals: [] }),
      ...(next !== undefined && { pageToken: next }),
    })
  }

  const explore = (body: Readonly<Record<string, unknown>>): Response => {
    const { text, isWanted } = queryIn(body.query)
    const facets = isObject(body.resultType) ? body.resultType.facets : undefined
    if (!Array.isArray(facets)) throw invalid('resultType.facets', 'is a list of fields')
    const count = facetsOf(facets)
    const entries = everything(text).map(entryOf).filter(isWanted)
    return json(200, { resultType: 'facets', facets: count(entries) })
  }

  const list = ({ searchParams }: URL): Response => {
    const isWanted = listFilter(searchParams.get('filter'))
    const compare = listOrder(searchParams.get('orderBy'))
    const wanted = everything()
      .map((found) => ({ entry: entryOf(found), createdMs: found.agent.document.createdMs }))
      .filter(isWanted)
      .sort(compare)
    const { page, next } = pageOf(wanted, {
      pageSize: searchParams.get('pageSize'),
      pageToken: searchParams.get('pageToken') ?? undefined,
      usual: 20,
    })
    const items = page.map((each) => each.entry)
    return json(200, { items, total: wanted.length, ...(next !== undefined && { pageToken: next }) })
  }

  return {
    owns: (path) => path === catalogPath || path === '/search' || path === '/explore' || path === '/agents',
    isRead: () => true,
    async answer({ request, url }) {
      const route = `${request.method} ${url.pathname}`
      if (route === `GET ${catalogPath}`) return catalog()
      if (route === 'GET /agents') return list(url)
      if (route === 'POST /search') return search(await readObject(request, maxBodyBytes))
      if (route === 'POST /explore') return explore(await readObject(request, maxBodyBytes))
      throw new RegistryError('UNSUPPORTED', `${route} is nothing here`)
    },
    refuse: ({ code, message }) => {
      const [status, errorCode] = spellings[code]
      return json(status, { errorCode, message })
    },
  }
}

const spellings: Readonly<Record<RegistryErrorCode, readonly [status: number, errorCode: string]>> = {
  INVALID: [400, 'INVALID_ARGUMENT'],
  NOT_FOUND: [404, 'NOT_FOUND'],
  CONFLICT: [409, 'ALREADY_EXISTS'],
  UNAUTHENTICATED: [401, 'UNAUTHENTICATED'],
  FORBIDDEN: [403, 'PERMISSION_DENIED'],
  QUOTA: [429, 'RATE_LIMIT_EXCEEDED'],
  TOO_LARGE: [413, 'INVALID_ARGUMENT'],
  UNSUPPORTED: [404, 'NOT_FOUND'],
  UNAVAILABLE: [503, 'UNAVAILABLE'],
  INTERNAL: [500, 'INTERNAL_ERROR'],
}

function entry({ agent, version, instances }: FoundAgent, publicUrl: string, publisher: string): CatalogEntry {
  const { namespace, name } = agent.key
  const document = instances[0]?.document
  const skills = document?.card.skills ?? []
  const queries = [...new Set(skills.flatMap(({ examples }) => examples ?? []))].slice(0, 5)
  return {
    identifier: ['urn:air', publisher, urnSegment(namespace), urnSegment(name)].join(':'),
    displayName: document?.card.name ?? name,
    type: cardMediaType,
    url: `${publicUrl}/v1/agents/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}/card`,
    ...(document && { description: document.card.description, tags: tagsOf(document) }),
    capabilities: skills.map((skill) => skill.name),
    ...(queries.length >= 2 && { representativeQueries: queries }),
    version,
    updatedAt: timeOf(versionIn(agent.document, version)?.updatedMs ?? agent.document.createdMs),
    metadata: { namespace, name, instances: instances.length },
  }
}

/** Letters, digits, dots, dashes and underscores; what is lost to that is made up for by what the name hashes to. */
function urnSegment(name: string): string {
  const plain = name.replace(/[^a-zA-Z0-9._-]+/g, '-').replace(/^-+|-+$/g, '')
  if (plain === name) return plain
  let hash = 0
  for (const unit of name) hash = (Math.imul(hash, 31) + (unit.codePointAt(0) ?? 0)) >>> 0
  return [plain, hash.toString(36)].filter((part) => part !== '').join('-')
}

function domainOf(url: string): string {
  const { hostname } = new URL(url)
  return /^[a-zA-Z0-9.-]+$/.test(hostname) ? hostname : 'localhost'
}

function queryIn(query: unknown): { readonly text?: string; readonly isWanted: (entry: CatalogEntry) => boolean } {
  if (query === undefined) return { isWanted: () => true }
  if (!isObject(query)) throw invalid('query', 'is an object')
  const { text, filter = {} } = query
  if (text !== undefined && typeof text !== 'string') throw invalid('query.text', 'is a text')
  if (!isObject(filter)) throw invalid('query.filter', 'is an object')
  return { isWanted: entryFilter(filter), ...(text !== undefined && { text }) }
}

function pageOf<Item>(
  all: readonly Item[],
  { pageSize, pageToken, usual }: { readonly pageSize: unknown; readonly pageToken: unknown; readonly usual: number },
): { readonly page: readonly Item[]; readonly next?: string } {
  const size = numberIn(pageSize, { field: 'pageSize', usual, most: 100 })
  if (pageToken !== undefined && typeof pageToken !== 'string') throw invalid('pageToken', 'is a text')
  const start = pageToken === undefined || pageToken === '' ? 0 : Number(pageToken)
  if (!Number.isSafeInteger(start) || start < 0) throw invalid('pageToken', 'is not from here')
  const end = start + size
  return { page: all.slice(start, end), ...(end < all.length && { next: String(end) }) }
}
