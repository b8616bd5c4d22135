/** The registry's own door: `/v1/…`, plain JSON. `docs/registry.md` describes it. */
import { isObject } from '../../model/is-object.js'
import { invalid, notFound, RegistryError, type RegistryErrorCode } from '../../registry-client/registry-error.js'
import type { AgentKey, InstanceKey } from '../../registry-client/registry-words.js'
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
/** What the instances of a page may weigh. */
const maxPageBytes = 4 * 1024 * 1024
/** Media type of a card, by which catalogs name it. */
export const cardMediaType = 'application/a2a-agent-card+json'

export function createRestRoutes({ registry, maxBodyBytes }: RouteGroupDeps): RouteGroup {
  const answers = new ResponseCache()
  /** Put together once for all who ask the same, until something changes. */
  const answerFor = (found: FoundAgent): Promise<string> =>
    // Of one version those that are offered are some of all, or all: their number says which.
    answers.get(found.agent, `${found.version}\n${found.instances.length}`, () => describeAgent(found, registry.read))

  /** The card as it was published, of the first instance that is offered. */
  const cardOf = async ({ instances: [first] }: FoundAgent, key: AgentKey): Promise<Response> => {
    const document = first && (await registry.read(first.key))
    if (!document) throw notFound(key)
    return text(200, document.published, { 'content-type': cardMediaType })
  }

  const agents = async (call: RegistryCall, key: AgentKey, rest: readonly string[]): Promise<Response | undefined> => {
    const { request, url, publisher } = call
    const [verb, ...more] = rest
    if (more.length > 0) return undefined
    const wanted = wantedOf(url)
    if (request.method === 'GET') {
      if (verb === undefined) return text(200, await answerFor(registry.find(key, wanted)))
      if (verb === 'card') return await cardOf(registry.find(key, wanted), key)
      if (verb === 'health') return await health(key, wanted.version)
      return undefined
    }
    if (request.method === 'PUT' && verb === undefined) return await publish(request, key, publisher)
    if (request.method === 'POST' && verb === 'renew') return await renew(request, key, publisher)
    if (request.method === 'DELETE' && verb === undefined) {
      const query = { version: url.searchParams.get('version'), instance: url.searchParams.get('instance') }
      const { version, instance } = query
      const target = { ...key, ...(version !== null && { version }), ...(instance !== null && { instance }) }
      return json(200, { withdrawn: await registry.withdraw(target, publisher) })
    }
    return undefined
  }

  const publish = async (request: Request, key: AgentKey, publisher: Publisher): Promise<Response> => {
    const published = await registry.publish(
      { ...key, ...publicationIn(await readObject(request, maxBodyBytes)) },
      publisher,
    )
    const found = registry.find(key, { version: published.version, includeUnhealthy: true })
    return text(200, await answerFor(found))
  }

  const renew = async (request: Request, key: AgentKey, publisher: Publisher): Promise<Response> => {
    const { version, instance } = await readObject(request, maxBodyBytes)
    if (typeof version !== 'string' || typeof instance !== 'string')
      throw new RegistryError('INVALID', 'Name the version and the instance that are renewed')
    const renewed = await registry.renew({ ...key, version, instance }, publisher)
    if (!renewed) throw notFound(key)
    return json(200, { ttlSeconds: renewed.ttlMs / 1000 })
  }

  const health = async (key: AgentKey, version: string | undefined): Promise<Response> => {
    const { instances } = registry.find(key, { ...(version !== undefined && { version }), includeUnhealthy: true })
    const shown = instances.map(async (each) => ({
      ...describeInstance(each),
      history: await registry.history(each.key),
    }))
    return json(200, { instances: await Promise.all(shown) })
  }

  const list = async ({ url, share }: RegistryCall): Promise<Response> => {
    const of = (name: string) => url.searchParams.get(name) ?? undefined
    const [namespace, words, skill, tag, cursor] = ['namespace', 'text', 'skill', 'tag', 'cursor'].map(of)
    const { includeUnhealthy } = wantedOf(url)
    const query = {
      limit: numberIn(url.searchParams.get('limit'), { field: 'limit', usual: 20, most: maxPageSize }),
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
      const answer = await answerFor(each)
      found.push(each.score === undefined ? answer : `${answer.slice(0, -1)},"score":${each.score}}`)
    }
    const end = page.cursor === undefined ? '' : `,"cursor":${JSON.stringify(page.cursor)}`
    return text(200, `{"agents":[${found.join(',')}],"total":${page.total}${end}}`)
  }

  const watch = ({ request, url, callerKey }: RegistryCall): Response => {
    const given = request.headers.get('last-event-id') ?? url.searchParams.get('after')
    const after = given === null ? undefined : Number(given)
    if (after !== undefined && !(Number.isSafeInteger(after) && after >= 0))
      throw new RegistryError('INVALID', 'Last-Event-ID: is no revision of this registry')
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
      const isGet = call.request.method === 'GET'
      if (first === 'watch' && namespace === undefined && isGet) return watch(call)
      if (first === 'agents' && namespace === undefined && isGet) return await list(call)
      const isAgent = first === 'agents' && namespace !== undefined && name !== undefined
      const answer = isAgent ? await agents(call, { namespace, name }, rest) : undefined
      if (answer) return answer
      throw new RegistryError('UNSUPPORTED', `${call.request.method} ${call.url.pathname} is nothing here`)
    },
    refuse: ({ code, message, problems }) => {
      const { status, name } = spellings[code]
      const details = problems.map((problem) => ({ ...problem }))
      return json(status, { error: { code: status, status: name, message, details } })
    },
  }
}

const spellings: Readonly<Record<RegistryErrorCode, { readonly status: number; readonly name: string }>> = {
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
  if (ttlSeconds !== undefined && typeof ttlSeconds !== 'number') throw invalid('ttlSeconds', 'is a number')
  if (instance !== undefined && typeof instance !== 'string') throw invalid('instance', 'is a text')
  if (latest !== undefined && typeof latest !== 'boolean') throw invalid('latest', 'is true or false')
  const isProbe = isObject(probe) && typeof probe.text === 'string' && probe.text.length <= 1000
  if (probe !== undefined && !isProbe) throw invalid('probe', 'is an object with a short `text`')
  return {
    card,
    ...(tags !== undefined && { tags: tags as readonly string[] }), // looked at where all tags are
    ...(instance !== undefined && { instance }),
    ...(latest !== undefined && { latest }),
    ...(ttlSeconds !== undefined && { ttlMs: ttlSeconds * 1000 }),
    ...(isProbe && { probe: { text: String(probe.text) } }),
  }
}

export type ReadInstance = (key: InstanceKey) => Promise<InstanceDocument | undefined>

export async function describeAgent(found: FoundAgent, read: ReadInstance): Promise<string> {
  const { agent, version } = found
  const { key, document, latest, revision } = agent
  const whole = await Promise.all(found.instances.map(async (held) => ({ held, stored: await read(held.key) })))
  // What is gone by now is not told of.
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

export function describeInstance({ key, document, health }: CatalogInstance): object {
  return {
    instance: key.instance,
    version: key.version,
    url: document.url,
    publishedAt: timeOf(document.publishedMs),
    ...(document.ttlMs !== undefined && { ttlSeconds: document.ttlMs / 1000 }),
    health: health ? { state: health.state, since: timeOf(health.sinceMs), ...health.levels } : { state: 'unknown' },
  }
}

/** The JSON of an object that has some, with more members whose JSON is there already. */
function withMembers(object: object, members: Readonly<Record<string, string>>): string {
  const more = Object.entries(members).map(([name, json]) => `,${JSON.stringify(name)}:${json}`)
  return `${JSON.stringify(object).slice(0, -1)}${more.join('')}}`
}

export function timeOf(ms: number): string {
  return new Date(ms).toISOString()
}
