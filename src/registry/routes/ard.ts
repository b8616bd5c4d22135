/** The API of Agentic Resource Discovery (ARD) 0.9: catalog, search, list and facets. */

import { isObject } from '../../model/is-object.js'
import { invalid, RegistryError, type RegistryErrorCode } from '../../registry-client/registry-error.js'
import type { HttpAnswer } from '../../transports/exchange.js'
import type { FoundAgent } from '../finds.js'
import { sortInSlices } from '../work-queue.js'
import {
  buildEntry,
  type CatalogEntry,
  createFacets,
  type EntrySource,
  entryFilter,
  type FoundFilter,
  listFilter,
  listOrder,
} from './ard-entries.js'
import { ResponseCache } from './response-cache.js'
import {
  json,
  text as jsonText,
  numberIn,
  type RegistryCall,
  type RouteGroup,
  type RouteGroupDeps,
  readObject,
} from './route-group.js'

/** The operator of the registry, as the ARD catalog names it. */
export interface ArdOptions {
  /** Domain of the operator. Default: the host of the public URL. */
  readonly publisher?: string
  /** Name of the operator. Default: `publisher`. */
  readonly displayName?: string
}

/** Maximum number of entries in the catalog file; the others are found by search. */
const maxCatalogEntries = 1000
/** Maximum quota bytes of the agents in the catalog file. */
const maxCatalogBytes = 16 * 1024 * 1024
const catalogPath = '/.well-known/ai-catalog.json'
const federations: readonly unknown[] = ['auto', 'referrals', 'none']

export function createArdRoutes(
  { registry, publicUrl, maxBodyBytes }: RouteGroupDeps,
  options: ArdOptions = {},
): RouteGroup {
  const responses = new ResponseCache()
  const sourceOf = (): EntrySource => {
    const url = publicUrl()
    return { publicUrl: url, publisher: options.publisher ?? domainOf(url) }
  }
  /** Encodes entries as JSON, with a cache. */
  const entriesOf = async (all: readonly FoundAgent[], source: EntrySource): Promise<readonly string[]> => {
    const entries: string[] = []
    for (const found of all) {
      const variant = `${found.version}\n${found.instances.length}\n${source.publicUrl}`
      entries.push(await responses.get(found.agent, variant, async () => JSON.stringify(buildEntry(found, source))))
    }
    return entries
  }

  const catalog = async ({ share }: RegistryCall): Promise<HttpAnswer> => {
    const source = sourceOf()
    const displayName = options.displayName ?? source.publisher
    const itself: CatalogEntry = {
      identifier: `urn:air:${source.publisher}:registry:agents`,
      displayName,
      type: 'application/ai-registry+json',
      url: `${source.publicUrl}/`,
      description: 'Search for all agents of this registry',
    }
    const { found } = await registry.list({ limit: maxCatalogEntries, maxBytes: maxCatalogBytes }, share)
    const entries = [JSON.stringify(itself), ...(await entriesOf(found, source))]
    const host = JSON.stringify({ displayName })
    return jsonText(200, `{"specVersion":"1.0","host":${host},"entries":[${entries.join(',')}]}`)
  }

  const search = async ({ share }: RegistryCall, body: Readonly<Record<string, unknown>>): Promise<HttpAnswer> => {
    const { federation = 'auto', pageSize, pageToken } = body
    const source = sourceOf()
    const { text, isWanted } = queryIn(body.query, source)
    if (text === undefined || text.trim() === '') throw invalid('query.text', 'is missing')
    if (!federations.includes(federation)) throw invalid('federation', 'must be auto, referrals or none')
    const page = pageIn({ pageSize, pageToken, defaultSize: 10 })
    const { found, total } = await registry.list({ text, isWanted, offset: page.start, limit: page.size }, share)
    const entries = await entriesOf(found, source)
    const end = `,"source":${JSON.stringify(`${source.publicUrl}/`)}}`
    const results = entries.map((entry, place) => `${entry.slice(0, -1)},"score":${found[place]?.score ?? 0}${end}`)
    // This registry has no links to other registries.
    const referrals = federation === 'referrals' ? ',"referrals":[]' : ''
    return jsonText(200, `{"results":[${results.join(',')}]${referrals}${tokenAfter(page, total)}}`)
  }

  const explore = async ({ share }: RegistryCall, body: Readonly<Record<string, unknown>>): Promise<HttpAnswer> => {
    const source = sourceOf()
    const { text, isWanted } = queryIn(body.query, source)
    const asked = isObject(body.resultType) ? body.resultType.facets : undefined
    if (!Array.isArray(asked)) throw invalid('resultType.facets', 'must be a list of fields')
    const facets = createFacets(asked, source, share)
    await registry.visit({ isWanted, ...(text !== undefined && { text }) }, facets.count, share)
    return json(200, { resultType: 'facets', facets: await facets.buckets() })
  }

  const list = async ({ url: { searchParams }, share }: RegistryCall): Promise<HttpAnswer> => {
    const source = sourceOf()
    const isWanted = listFilter(searchParams.get('filter'), source)
    const { keyOf, compare } = listOrder(searchParams.get('orderBy'))
    const page = pageIn({
      pageSize: searchParams.get('pageSize'),
      pageToken: searchParams.get('pageToken') ?? undefined,
      defaultSize: 20,
    })
    const wanted: { readonly found: FoundAgent; readonly key: string | number }[] = []
    await registry.visit({ isWanted }, (found) => wanted.push({ found, key: keyOf(found) }), share)
    // The sort is stable, so that pages do not overlap.
    const sorted = await sortInSlices(wanted, compare, share)
    const shown = sorted.slice(page.start, page.start + page.size).map((each) => each.found)
    const items = await entriesOf(shown, source)
    return jsonText(200, `{"items":[${items.join(',')}],"total":${wanted.length}${tokenAfter(page, wanted.length)}}`)
  }

  return {
    owns: (path) => path === catalogPath || path === '/search' || path === '/explore' || path === '/agents',
    isRead: () => true,
    async answer(call) {
      const { exchange, url } = call
      const route = `${exchange.method} ${url.pathname}`
      if (route === `GET ${catalogPath}`) return await catalog(call)
      if (route === 'GET /agents') return await list(call)
      if (route === 'POST /search') return await search(call, await readObject(exchange, maxBodyBytes))
      if (route === 'POST /explore') return await explore(call, await readObject(exchange, maxBodyBytes))
      throw new RegistryError('UNSUPPORTED', `Not found: ${route}`)
    },
    refuse: ({ code, message }) => {
      const [status, errorCode] = errorForms[code]
      return json(status, { errorCode, message })
    },
  }
}

const errorForms: Readonly<Record<RegistryErrorCode, readonly [status: number, errorCode: string]>> = {
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

function domainOf(url: string): string {
  const { hostname } = new URL(url)
  return /^[a-zA-Z0-9.-]+$/.test(hostname) ? hostname : 'localhost'
}

function queryIn(query: unknown, source: EntrySource): { readonly text?: string; readonly isWanted: FoundFilter } {
  if (query === undefined) return { isWanted: () => true }
  if (!isObject(query)) throw invalid('query', 'must be an object')
  const { text, filter = {} } = query
  if (text !== undefined && typeof text !== 'string') throw invalid('query.text', 'must be a string')
  if (!isObject(filter)) throw invalid('query.filter', 'must be an object')
  return { isWanted: entryFilter(filter, source), ...(text !== undefined && { text }) }
}

interface PageRange {
  readonly start: number
  readonly size: number
}

function pageIn(asked: {
  readonly pageSize: unknown
  readonly pageToken: unknown
  readonly defaultSize: number
}): PageRange {
  const { pageSize, pageToken, defaultSize } = asked
  const size = numberIn(pageSize, { field: 'pageSize', defaultValue: defaultSize, max: 100 })
  if (pageToken !== undefined && typeof pageToken !== 'string') throw invalid('pageToken', 'must be a string')
  const start = pageToken === undefined || pageToken === '' ? 0 : Number(pageToken)
  if (!Number.isSafeInteger(start) || start < 0) throw invalid('pageToken', 'is not valid')
  return { start, size }
}

/** The JSON member `pageToken`, unless this is the last page. */
function tokenAfter({ start, size }: PageRange, total: number): string {
  const end = start + size
  return end < total ? `,"pageToken":"${end}"` : ''
}
