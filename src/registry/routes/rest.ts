/** The registry's own API: JSON at `/v1/…`. See `docs/registry.md`. */

import { isObject } from '../../model/is-object.js'
import { invalid, notFound, RegistryError, type RegistryErrorCode } from '../../registry-client/registry-error.js'
import type { AgentKey, InstanceKey } from '../../registry-client/registry-messages.js'
import type { Exchange, HttpAnswer } from '../../transports/exchange.js'
import type { CatalogInstance } from '../catalog.js'
import { cardTextOf, type InstanceDocument, tagsOf } from '../documents.js'
import type { FoundAgent } from '../finds.js'
import type { Publication, Publisher } from '../publications.js'
import { ResponseCache } from './response-cache.js'
import {
  json,
  numberIn,
  type RegistryCall,
  type RouteGroup,
  type RouteGroupDeps,
  readObject,
  segmentsOf,
  text,
} from './route-group.js'

const maxPageSize = 100
/** Maximum quota bytes of a page. */
const maxPageBytes = 4 * 1024 * 1024
/** Media type of a card in catalogs. */
export const cardMediaType = 'application/a2a-agent-card+json'

export function createRestRoutes({ registry, maxBodyBytes }: RouteGroupDeps): RouteGroup {
  const responses = new ResponseCache()
  /** Encodes an agent, with a cache. */
  const encodeAgent = (found: FoundAgent): Promise<string> =>
    // The selected instances are either all or the healthy ones, so their number identifies the selection.
    responses.get(found.agent, `${found.version}\n${found.instances.length}`, () => describeAgent(found, registry.read))

  /** The published card of the first offered instance. */
  const cardOf = async ({ instances: [first] }: FoundAgent, key: AgentKey): Promise<HttpAnswer> => {
    const document = first && (await registry.read(first.key))
    if (!document) throw notFound(key)
    return text(200, document.published, { 'content-type': cardMediaType })
  }

  const agents = async (
    call: RegistryCall,
    key: AgentKey,
    rest: readonly string[],
  ): Promise<HttpAnswer | undefined> => {
    const { exchange, url, publisher } = call
    const [verb, ...more] = rest
    if (more.length > 0) return undefined
    const wanted = wantedOf(url)
    if (exchange.method === 'GET') {
      if (verb === undefined) return text(200, await encodeAgent(registry.find(key, wanted)))
      if (verb === 'card') return await cardOf(registry.find(key, wanted), key)
      if (verb === 'health') return await health(key, wanted.version)
      return undefined
    }
    if (exchange.method === 'PUT' && verb === undefined) return await publish(exchange, key, publisher)
    if (exchange.method === 'POST' && verb === 'renew') return await renew(exchange, key, publisher)
    if (exchange.method === 'DELETE' && verb === undefined) {
      const query = { version: url.searchParams.get('version'), instance: url.searchParams.get('instance') }
      const { version, instance } = query
      const target = { ...key, ...(version !== null && { version }), ...(instance !== null && { instance }) }
      return json(200, { withdrawn: await registry.withdraw(target, publisher) })
    }
    return undefined
  }

  const publish = async (exchange: Exchange, key: AgentKey, publisher: Publisher): Promise<HttpAnswer> => {
    const published = await registry.publish(
      { ...key, ...publicationIn(await readObject(exchange, maxBodyBytes)) },
      publisher,
    )
    const found = registry.find(key, { version: published.version, includeUnhealthy: true })
    return text(200, await encodeAgent(found))
  }

  const renew = async (exchange: Exchange, key: AgentKey, publisher: Publisher): Promise<HttpAnswer> => {
    const { version, instance } = await readObject(exchange, maxBodyBytes)
    if (typeof version !== 'string' || typeof instance !== 'string')
      throw new RegistryError('INVALID', 'version and instance must be strings')
    const renewed = await registry.renew({ ...key, version, instance }, publisher)
    if (!renewed) throw notFound(key)
    return json(200, { ttlSeconds: renewed.ttlMs / 1000 })
  }

  const health = async (key: AgentKey, version: string | undefined): Promise<HttpAnswer> => {
    const { instances } = registry.find(key, { ...(version !== undefined && { version }), includeUnhealthy: true })
    const shown = instances.map(async (each) => ({
      ...describeInstance(each),
      history: await registry.history(each.key),
    }))
    return json(200, { instances: await Promise.all(shown) })
  }

  const list = async ({ url, share }: RegistryCall): Promise<HttpAnswer> => {
    const of = (name: string) => url.searchParams.get(name) ?? undefined
    const [namespace, words, skill, tag, cursor] = ['namespace', 'text', 'skill', 'tag', 'cursor'].map(of)
    const { includeUnhealthy } = wantedOf(url)
    const query = {
      limit: numberIn(url.searchParams.get('limit'), { field: 'limit', defaultValue: 20, max: maxPageSize }),
      maxBytes: maxPageBytes,
      includeUnhealthy,
      ...(namespace !== undefined && { namespace }),
      ...(words !== undefined && { text: words }),
      ...(skill !== undefined && { skill }),
      ...(tag !== undefined && { tag }),
      ...(cursor !== undefined && { cursor }),
    }
    const page = await registry.list(query, share)
    const found: string[] = []
    for (const each of page.found) {
      const answer = await encodeAgent(each)
      found.push(each.score === undefined ? answer : `${answer.slice(0, -1)},"score":${each.score}}`)
    }
    const end = page.cursor === undefined ? '' : `,"cursor":${JSON.stringify(page.cursor)}`
    return text(200, `{"agents":[${found.join(',')}],"total":${page.total}${end}}`)
  }

  const watch = ({ exchange, url, callerKey }: RegistryCall): HttpAnswer => {
    const given = exchange.headers.get('last-event-id') ?? url.searchParams.get('after')
    const after = given === null ? undefined : Number(given)
    if (after !== undefined && !(Number.isSafeInteger(after) && after >= 0))
      throw new RegistryError('INVALID', 'Last-Event-ID: must be a revision of this registry')
    const [namespace, name] = [url.searchParams.get('namespace'), url.searchParams.get('name')]
    return registry.watch({
      callerKey,
      ...(after !== undefined && { after }),
      ...(namespace !== null && { namespace }),
      ...(name !== null && { name }),
    })
  }

  return {
    owns: (path) => path === '/v1' || path.startsWith('/v1/'),
    isRead: ({ method }) => method === 'GET',
    async answer(call) {
      const [, first, namespace, name, ...rest] = segmentsOf(call.url.pathname) ?? []
      const isGet = call.exchange.method === 'GET'
      if (first === 'watch' && namespace === undefined && isGet) return watch(call)
      if (first === 'agents' && namespace === undefined && isGet) return await list(call)
      const isAgent = first === 'agents' && namespace !== undefined && name !== undefined
      const answer = isAgent ? await agents(call, { namespace, name }, rest) : undefined
      if (answer) return answer
      throw new RegistryError('UNSUPPORTED', `Not found: ${call.exchange.method} ${call.url.pathname}`)
    },
    refuse: ({ code, message, problems }) => {
      const { status, name } = errorForms[code]
      const details = problems.map((problem) => ({ ...problem }))
      return json(status, { error: { code: status, status: name, message, details } })
    },
  }
}

const errorForms: Readonly<Record<RegistryErrorCode, { readonly status: number; readonly name: string }>> = {
  INVALID: { status: 400, name: 'INVALID_ARGUMENT' },
  NOT_FOUND: { status: 404, name: 'NOT_FOUND' },
  CONFLICT: { status: 409, name: 'ALREADY_EXISTS' },
  UNAUTHENTICATED: { status: 401, name: 'UNAUTHENTICATED' },
  FORBIDDEN: { status: 403, name: 'PERMISSION_DENIED' },
  QUOTA: { status: 429, name: 'RESOURCE_EXHAUSTED' },
  TOO_LARGE: { status: 413, name: 'PAYLOAD_TOO_LARGE' },
  UNSUPPORTED: { status: 404, name: 'NOT_FOUND' },
  UNAVAILABLE: { status: 503, name: 'UNAVAILABLE' },
  INTERNAL: { status: 500, name: 'INTERNAL' },
}

function wantedOf({ searchParams }: URL): { readonly version?: string; readonly includeUnhealthy: boolean } {
  const version = searchParams.get('version')
  const includeUnhealthy = searchParams.has('includeUnhealthy') && searchParams.get('includeUnhealthy') !== 'false'
  return { includeUnhealthy, ...(version !== null && { version }) }
}

function publicationIn(body: Readonly<Record<string, unknown>>): Omit<Publication, keyof AgentKey> {
  const { card, instance, tags, ttlSeconds, latest, probe } = body
  if (ttlSeconds !== undefined && typeof ttlSeconds !== 'number') throw invalid('ttlSeconds', 'must be a number')
  if (instance !== undefined && typeof instance !== 'string') throw invalid('instance', 'must be a string')
  if (latest !== undefined && typeof latest !== 'boolean') throw invalid('latest', 'must be true or false')
  const isProbe = isObject(probe) && typeof probe.text === 'string' && probe.text.length <= 1000
  if (probe !== undefined && !isProbe)
    throw invalid('probe', 'must be an object with a `text` of up to 1000 characters')
  return {
    card,
    ...(tags !== undefined && { tags: tags as readonly string[] }), // validated by `publish`
    ...(instance !== undefined && { instance }),
    ...(latest !== undefined && { latest }),
    ...(ttlSeconds !== undefined && { ttlMs: ttlSeconds * 1000 }),
    ...(isProbe && { probe: { text: String(probe.text) } }),
  }
}

type ReadInstance = (key: InstanceKey) => Promise<InstanceDocument | undefined>

/** Encodes an agent. Cards are inserted as the JSON text that is stored. */
async function describeAgent(found: FoundAgent, read: ReadInstance): Promise<string> {
  const { agent, version } = found
  const { key, document, latest, revision } = agent
  const whole = await Promise.all(found.instances.map(async (held) => ({ held, stored: await read(held.key) })))
  // Skips instances that were removed in the meantime.
  const instances = whole.flatMap(({ held, stored }) => (stored ? [{ held, stored }] : []))
  const [first] = instances
  const head = {
    ...key,
    version,
    latest,
    versions: Object.entries(document.versions).map(([each, { createdMs, updatedMs }]) => ({
      version: each,
      isLatest: each === latest,
      instances: agent.instances.filter((instance) => instance.key.version === each).length,
      createdAt: timeOf(createdMs),
      updatedAt: timeOf(updatedMs),
    })),
    owner: document.owner,
    tags: first ? tagsOf(first.held.document) : [],
    ...(first && { signature: first.held.document.signature }),
    revision,
  }
  const described = instances.map(({ held, stored }) => withMembers(describeInstance(held), { card: stored.published }))
  return withMembers(head, {
    ...(first && { card: cardTextOf(first.stored) }),
    instances: `[${described.join(',')}]`,
  })
}

function describeInstance({ key, document, health }: CatalogInstance): object {
  return {
    instance: key.instance,
    version: key.version,
    url: document.url,
    publishedAt: timeOf(document.publishedMs),
    ...(document.ttlMs !== undefined && { ttlSeconds: document.ttlMs / 1000 }),
    health: health ? { state: health.state, since: timeOf(health.sinceMs), ...health.levels } : { state: 'unknown' },
  }
}

/** Encodes an object and adds members that are JSON already; the object must not be empty. */
function withMembers(object: object, members: Readonly<Record<string, string>>): string {
  const more = Object.entries(members).map(([name, json]) => `,${JSON.stringify(name)}:${json}`)
  return `${JSON.stringify(object).slice(0, -1)}${more.join('')}}`
}

export function timeOf(ms: number): string {
  return new Date(ms).toISOString()
}
