/** The A2A part of the admin API of Nacos 3: requests are forms, responses have a `Result` envelope. */

import type { AgentCard } from '../../model/agent-card.js'
import { RegistryError, type RegistryErrorCode } from '../../registry-client/registry-error.js'
import { type AgentKey, defaultNamespace } from '../../registry-client/registry-messages.js'
import type { Exchange, HttpAnswer } from '../../transports/exchange.js'
import { type CatalogAgent, instancesOf } from '../catalog.js'
import { cardTextOf, type InstanceDocument } from '../documents.js'
import type { FoundAgent } from '../finds.js'
import {
  json,
  numberIn,
  objectIn,
  type RegistryCall,
  type RouteGroup,
  type RouteGroupDeps,
  readAll,
} from './route-group.js'

const nacosPath = '/nacos/v3/admin/ai/a2a'

export function createNacosRoutes({ registry, maxBodyBytes }: RouteGroupDeps): RouteGroup {
  const save = async ({ publisher }: RegistryCall, form: URLSearchParams, expect: 'absent' | 'present') => {
    const card = cardIn(form)
    const name = asciiName(card.name)
    const type = form.get('registrationType') || 'URL'
    if (type !== 'URL' && type !== 'SERVICE')
      throw new RegistryError('INVALID', `registrationType should be URL or SERVICE but was ${type.slice(0, 40)}`)
    // Nacos stores one card for each version, independent of instances.
    const latest = expect === 'absent' || form.get('setAsLatest') === 'true'
    await registry.publish({ namespace: namespaceIn(form), name, card, instance: 'nacos', latest, expect }, publisher)
    return success('ok')
  }

  const remove = async ({ publisher }: RegistryCall, form: URLSearchParams) => {
    const version = form.get('version')
    try {
      await registry.withdraw({ ...keyIn(form), ...(version && { version }) }, publisher)
    } catch (caught) {
      // Nacos reports success when it deletes an unknown agent.
      if (!(caught instanceof RegistryError && caught.code === 'NOT_FOUND')) throw caught
    }
    return success('ok')
  }

  const get = async (form: URLSearchParams) => {
    const version = form.get('version')
    const found = registry.find(keyIn(form), version ? { version } : {})
    const first = await firstOf(found)
    if (!first) throw new RegistryError('NOT_FOUND', `AgentCard ${found.agent.key.name} has no healthy instance`)
    return success({ ...(JSON.parse(first.published) as object), registrationType: 'URL' })
  }

  const firstOf = async ({ instances: [first] }: FoundAgent) => first && (await registry.read(first.key))

  const list = async ({ share }: RegistryCall, form: URLSearchParams) => {
    const search = (form.get('search') ?? '').toLowerCase()
    if (search !== 'blur' && search !== 'accurate')
      throw new RegistryError('INVALID', 'Request parameter `search` should be `accurate` or `blur`.')
    const name = form.get('agentName') ?? ''
    const pageNo = numberIn(form.get('pageNo'), { field: 'pageNo', defaultValue: 1, max: 1_000_000 })
    const pageSize = numberIn(form.get('pageSize'), { field: 'pageSize', defaultValue: 100, max: 100 })
    const lower = name.toLowerCase()
    const isWanted = ({ agent: { key } }: FoundAgent) =>
      name === '' || (search === 'accurate' ? key.name === name : key.name.toLowerCase().includes(lower))
    const { found, total } = await registry.list(
      { namespace: namespaceIn(form), isWanted, offset: (pageNo - 1) * pageSize, limit: pageSize },
      share,
    )
    return success({
      totalCount: total,
      pageNumber: pageNo,
      pagesAvailable: Math.ceil(total / pageSize),
      pageItems: await Promise.all(found.map(async (each) => versionInfo(each, await firstOf(each)))),
    })
  }

  const versions = (form: URLSearchParams) => success(versionDetails(registry.find(keyIn(form)).agent))

  return {
    owns: (path) => path === nacosPath || path.startsWith(`${nacosPath}/`),
    isRead: ({ method }) => method === 'GET',
    async answer(call) {
      const { exchange, url } = call
      const form = await formOf(exchange, url, maxBodyBytes)
      const route = `${exchange.method} ${url.pathname.slice(nacosPath.length)}`
      if (route === 'GET ') return await get(form)
      if (route === 'GET /list') return await list(call, form)
      if (route === 'GET /version/list') return versions(form)
      if (route === 'POST ') return await save(call, form, 'absent')
      if (route === 'PUT ') return await save(call, form, 'present')
      if (route === 'DELETE ') return await remove(call, form)
      throw new RegistryError('UNSUPPORTED', `Not found: ${exchange.method} ${url.pathname}`)
    },
    refuse: ({ code, message }) => {
      const { status, number, text } = errorForms[code]
      return json(status, { code: number, message: text, data: message })
    },
  }
}

/** HTTP status, code and message of Nacos. The details are in `data`, as in Nacos. */
const errorForms: Readonly<
  Record<RegistryErrorCode, { readonly status: number; readonly number: number; readonly text: string }>
> = {
  INVALID: { status: 400, number: 20002, text: 'parameter validate error' },
  NOT_FOUND: { status: 404, number: 20004, text: 'resource not found' },
  CONFLICT: { status: 409, number: 20005, text: 'resource conflict' },
  UNAUTHENTICATED: { status: 403, number: 10001, text: 'access denied' },
  FORBIDDEN: { status: 403, number: 10001, text: 'access denied' },
  QUOTA: { status: 429, number: 5033, text: 'tenant capacity reach quota' },
  TOO_LARGE: { status: 413, number: 5034, text: 'config content size is over limit' },
  UNSUPPORTED: { status: 404, number: 20004, text: 'resource not found' },
  UNAVAILABLE: { status: 503, number: 30000, text: 'server error' },
  INTERNAL: { status: 500, number: 30000, text: 'server error' },
}

function success(data: unknown): HttpAnswer {
  return json(200, { code: 0, message: 'success', data })
}

const maxFields = 100

/** Merges the fields of the query and of the body. */
async function formOf(exchange: Exchange, url: URL, maxBytes: number): Promise<URLSearchParams> {
  const form = new URLSearchParams(url.searchParams)
  if (exchange.method === 'GET') return form
  const type = exchange.headers.get('content-type') ?? ''
  const body = await readAll(exchange, maxBytes)
  if (body.byteLength === 0) return form
  if (type !== '' && !/^application\/x-www-form-urlencoded\b/i.test(type))
    throw new RegistryError('INVALID', 'Send application/x-www-form-urlencoded')
  const text = new TextDecoder().decode(body)
  // `URLSearchParams.set` takes linear time for each field.
  if (text.split('&', maxFields + 1).length > maxFields)
    throw new RegistryError('INVALID', `A form may have at most ${maxFields} fields`)
  for (const [name, value] of new URLSearchParams(text)) form.set(name, value)
  return form
}

function cardIn(form: URLSearchParams): Readonly<Record<string, unknown>> {
  const text = form.get('agentCard') ?? ''
  if (text === '') throw new RegistryError('INVALID', 'Request parameter `agentCard` should not be `null` or empty.')
  return objectIn(Buffer.from(text), 'Request parameter `agentCard`')
}

function asciiName(name: unknown): string {
  if (typeof name === 'string' && /^[\x20-\x7e]{1,64}$/.test(name)) return name
  throw new RegistryError('INVALID', 'The name of an agent must have 1 to 64 printable ASCII characters')
}

function namespaceIn(form: URLSearchParams): string {
  return form.get('namespaceId') || defaultNamespace
}

function keyIn(form: URLSearchParams): AgentKey {
  const name = form.get('agentName') ?? ''
  if (name === '') throw new RegistryError('INVALID', "Required parameter 'agentName' type String is not present")
  return { namespace: namespaceIn(form), name }
}

function versionInfo({ agent }: FoundAgent, shown: InstanceDocument | undefined): object {
  const card = shown && (JSON.parse(cardTextOf(shown)) as AgentCard) // written by publish
  const { name, description, version, iconUrl, capabilities, skills } = card ?? {}
  return {
    name: agent.key.name,
    ...(name !== agent.key.name && { displayName: name }),
    description,
    version,
    ...(iconUrl !== undefined && { iconUrl }),
    capabilities,
    skills,
    latestPublishedVersion: agent.latest,
    versionDetails: versionDetails(agent),
    registrationType: 'URL',
  }
}

function versionDetails(agent: CatalogAgent): readonly object[] {
  const latest = agent.latest
  const seconds = (ms: number) => `${new Date(ms).toISOString().slice(0, 19)}Z`
  return Object.entries(agent.document.versions)
    .filter(([version]) => instancesOf(agent, version).length > 0)
    .map(([version, { createdMs, updatedMs }]) => ({
      version,
      createdAt: seconds(createdMs),
      updatedAt: seconds(updatedMs),
      latest: version === latest,
    }))
}
