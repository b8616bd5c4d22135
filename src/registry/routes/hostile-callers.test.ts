/** Requests of hostile or faulty callers. Each API rejects them with its own errors, at low cost. */
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { apiKey } from '../../auth/static-schemes.js'
import { MemoryStore } from '../../stores/memory.js'
import { createRegistry, type RegistryOptions } from '../create-registry.js'
import { agentId, collection, instanceId } from '../documents.js'
import { cardFor, open } from '../registry.fixture.js'

/** A registry with one agent, and its log lines. */
async function filled(options: RegistryOptions = {}) {
  const failures: unknown[] = []
  const registry = await open({ ...options, log: (entry) => failures.push(entry.error) })
  await registry.call('PUT', '/v1/agents/public/shout', { card: cardFor('Shout') })
  return { ...registry, failures, [Symbol.asyncDispose]: () => registry.served.close() }
}

const nacos = '/nacos/v3/admin/ai/a2a'
/** Throws when it is converted to a string. */
const unspeakable = { toString: 1, valueOf: 1 }
const badArd = { status: 400, body: { errorCode: 'INVALID_ARGUMENT' } }
const badNacos = { status: 400, body: { code: 20002 } }

describe('values that are not strings', () => {
  it.each<[string, string, object]>([
    ['a filter', '/search', { query: { text: 'x', filter: { tags: unspeakable } } }],
    ['one value of a filter', '/search', { query: { text: 'x', filter: { tags: ['a', unspeakable] } } }],
    ['a page token', '/search', { query: { text: 'x' }, pageToken: unspeakable }],
    ['a page size', '/search', { query: { text: 'x' }, pageSize: unspeakable }],
    ['the limit of a facet', '/explore', { resultType: { facets: [{ field: 'tags', limit: unspeakable }] } }],
    ['the least count of a facet', '/explore', { resultType: { facets: [{ field: 'tags', minCount: [] }] } }],
  ])('as %s', async (_, path, body) => {
    await using registry = await filled()
    expect(await registry.call('POST', path, body)).toMatchObject(badArd)
    expect(registry.failures).toEqual([])
  })

  it('as a version to renew', async () => {
    await using registry = await filled()
    const body = '{"version":"\\ud800","instance":"\\ud800"}'
    expect(await registry.call('POST', '/v1/agents/public/shout/renew', body)).toMatchObject({ status: 404 })
    expect(registry.failures).toEqual([])
  })
})

describe('limits on the number', () => {
  it('of values to filter by, or fields', async () => {
    await using registry = await filled()
    const values = Array.from({ length: 1001 }, (_, n) => `v${n}`)
    const fields = Object.fromEntries(values.slice(0, 21).map((value) => [value, value]))
    for (const filter of [{ tags: values }, fields, { ['a.'.repeat(200)]: 'x' }]) {
      expect(await registry.call('POST', '/search', { query: { text: 'x', filter } })).toMatchObject(badArd)
      const explore = { query: { filter }, resultType: { facets: [] } }
      expect(await registry.call('POST', '/explore', explore)).toMatchObject(badArd)
    }
    const long = new URLSearchParams({ filter: `tags = '${values.join(',')}'` })
    expect(await registry.call('GET', `/agents?${long}`)).toMatchObject(badArd)
  })

  it('of facets, or of a field', async () => {
    await using registry = await filled()
    for (const facets of [Array(21).fill({ field: 'tags' }), [{ field: 'a.'.repeat(200) }]])
      expect(await registry.call('POST', '/explore', { resultType: { facets } })).toMatchObject(badArd)
  })

  it('of levels and values in a card in a form field', async () => {
    await using registry = await filled()
    const deep = `{"name":"deep","a":${'['.repeat(80_000)}${']'.repeat(80_000)}}`
    for (const agentCard of [deep, `{"a":[${'1,'.repeat(60_000)}1]}`])
      expect(await registry.call('POST', nacos, new URLSearchParams({ agentCard }))).toMatchObject(badNacos)
    expect(registry.failures).toEqual([])
  })

  it('of form fields', async () => {
    await using registry = await filled()
    const form = new URLSearchParams({ agentCard: JSON.stringify(cardFor('Many')) })
    for (let n = 0; n < 100; n++) form.set(`f${n}`, '')
    expect(await registry.call('POST', nacos, form)).toMatchObject(badNacos)
  })
})

describe('names of inherited object properties', () => {
  const inherited = ['toString', '__proto__', 'constructor', 'hasOwnProperty']

  it.each(inherited)('are not versions: %s', async (version) => {
    await using registry = await filled()
    for (const path of [
      `/v1/agents/public/shout?includeUnhealthy&version=${version}`,
      `/v1/agents/public/shout/health?version=${version}`,
      `/v1/agents/public/shout/card?version=${version}`,
      `${nacos}?agentName=shout&version=${version}`,
    ])
      expect((await registry.call('GET', path)).status, path).toBe(404)
  })

  it.each(inherited)('are valid versions once they are published: %s', async (version) => {
    await using registry = await filled({ limits: { maxVersions: 2 } })
    const publish = (each: string) =>
      registry.call('PUT', '/v1/agents/public/shout', { card: cardFor('Shout', { version: each }) })
    expect(await publish(version)).toMatchObject({ status: 200, body: { version, latest: version } })
    expect((await publish('3')).status).toBe(429)
    const found = await registry.call('GET', `/v1/agents/public/shout?version=${version}`)
    expect(found.body.versions.map((each: { version: string }) => each.version)).toEqual(['1.0.0', version])
    expect((await registry.call('DELETE', `/v1/agents/public/shout?version=${version}`)).body).toEqual({ withdrawn: 1 })
    expect((await registry.call('GET', '/v1/agents/public/shout')).body.latest).toBe('1.0.0')
  })

  it('are counted as versions', async () => {
    await using registry = await filled({ limits: { maxVersions: 1 } })
    for (const version of inherited) {
      const card = cardFor('Shout', { version })
      expect((await registry.call('PUT', '/v1/agents/public/shout', { card })).status, version).toBe(429)
    }
  })

  it('are valid facets', async () => {
    await using registry = await filled()
    const facets = inherited.map((field) => ({ field }))
    const { body } = await registry.call('POST', '/explore', { resultType: { facets } })
    expect(Object.entries(body.facets)).toEqual(inherited.map((field) => [field, { buckets: [] }]))
  })
})

describe('rate-limited callers', () => {
  const rate = { perSecond: 0.001, burst: 3 }
  const auth = [apiKey({ 'key-a': 'ann', 'key-b': 'bob' })]
  const [ann, bob] = [{ 'x-api-key': 'key-a' }, { 'x-api-key': 'key-b' }]

  it('get a retry delay in the format of each API, and other callers are not limited', async () => {
    await using registry = await open({ auth, limits: { rate } })
    for (let n = 0; n < 3; n++) expect((await registry.call('GET', '/v1/agents', undefined, ann)).status).toBe(200)
    const refused = await registry.call('GET', '/v1/agents', undefined, ann)
    expect(refused).toMatchObject({ status: 429, body: { error: { status: 'RESOURCE_EXHAUSTED' } } })
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(await registry.call('POST', '/search', { query: { text: 'x' } }, ann)).toMatchObject({
      status: 429,
      body: { errorCode: 'RATE_LIMIT_EXCEEDED' },
    })
    expect(await registry.call('GET', `${nacos}/list?search=blur`, undefined, ann)).toMatchObject({
      status: 429,
      body: { code: 5033 },
    })
    expect((await registry.call('GET', '/v1/agents', undefined, bob)).status).toBe(200)
    expect((await registry.call('GET', '/healthz')).status).toBe(200)
  })

  it('are identified by their IP address without authentication', async () => {
    const served = await createRegistry({ limits: { rate } })
    await using _ = served
    const from = async (address: string | undefined) =>
      (await served.fetch(new Request('http://localhost/v1/agents'), { address: () => address })).status
    const all = async (address: string | undefined) => {
      const statuses: number[] = []
      for (let n = 0; n < 4; n++) statuses.push(await from(address))
      return statuses
    }
    expect(await all('192.0.2.1')).toEqual([200, 200, 200, 429])
    expect(await all('192.0.2.2')).toEqual([200, 200, 200, 429])
    // One IPv6 caller has all addresses of a /64 network.
    expect(await all('2001:db8:1:2::1')).toEqual([200, 200, 200, 429])
    expect(await from('2001:db8:1:2::2')).toBe(429)
    expect(await from('2001:db8:1:3::1')).toBe(200)
    // All callers without an address share one limit.
    expect(await all(undefined)).toEqual([200, 200, 200, 429])
  })

  it('without credentials do not limit callers with credentials', async () => {
    await using registry = await open({ auth, publicRead: true, limits: { rate, failedAuthentication: rate } })
    for (const status of [200, 200, 200, 429]) expect((await registry.call('GET', '/v1/agents')).status).toBe(status)
    expect((await registry.call('PUT', '/v1/agents/public/x', { card: cardFor('x') }, ann)).status).toBe(200)
    const guess = (key: string) => registry.call('DELETE', '/v1/agents/public/x', undefined, { 'x-api-key': key })
    for (const status of [401, 401, 401, 429]) expect((await guess('wrong')).status).toBe(status)
  })

  it('are limited in watches, too', async () => {
    await using registry = await open({ auth, limits: { maxWatchesPerCaller: 1 } })
    const watch = (headers: Record<string, string>) => fetch(`${registry.served.address}/v1/watch`, { headers })
    const held = [await watch(ann)]
    expect((await watch(ann)).status).toBe(429)
    held.push(await watch(bob))
    expect(held.map(({ status }) => status)).toEqual([200, 200])
    await Promise.all(held.map(({ body }) => body?.cancel()))
  })
})

describe('a registry of 20,000 agents', () => {
  const store = new MemoryStore()
  const size = 20_000
  const words = ['travel', 'weather', 'invoice', 'summary', 'music', 'video', 'report', 'legal']
  /** Every agent has every word. */
  const text = words.join(' ')
  let registry: Awaited<ReturnType<typeof open>>

  beforeAll(async () => {
    const versions = { '1.0.0': { createdMs: 1, updatedMs: 1 } }
    const agent = { owner: 'ann', latest: '1.0.0', versions, createdMs: 1, isLeased: false }
    for (let n = 0; n < size; n++) {
      const key = { namespace: 'public', name: `agent-${n}` }
      const published = JSON.stringify(cardFor(key.name, { description: text }))
      const rest = { url: 'http://127.0.0.1:9/', tags: [], publishedMs: 1, signature: { state: 'unsigned' } }
      await store.records.put(collection, agentId(key), agent)
      await store.records.put(collection, instanceId({ ...key, version: '1.0.0', instance: 'a' }), {
        published,
        ...rest,
      })
    }
    registry = await open({ store })
  })
  afterEach(() => vi.restoreAllMocks())
  afterAll(() => registry.served.close())

  it.each<[string, string, object | undefined, (body: never) => unknown]>([
    ['search', '/search', { query: { text } }, (body: { results: unknown[] }) => body.results.length === 10],
    [
      'search with a filter',
      '/search',
      { query: { text, filter: { tags: ['test'], 'metadata.namespace': 'public' } }, pageToken: '19995' },
      (body: { results: unknown[] }) => body.results.length === 5,
    ],
    [
      'list in order',
      '/agents?orderBy=displayName%20DESC',
      undefined,
      (body: { total: number }) => body.total === size,
    ],
    [
      'count',
      '/explore',
      { resultType: { facets: [{ field: 'tags' }] } },
      (body: { facets: { tags: object } }) => JSON.stringify(body.facets.tags).includes(`"count":${size}`),
    ],
    [
      'list through Nacos',
      `${nacos}/list?search=blur&agentName=agent&pageSize=10&pageNo=2000`,
      undefined,
      (body: { data: { totalCount: number } }) => body.data.totalCount === size,
    ],
  ])('builds only the entries of the page: %s', async (_, path, body, isRight) => {
    // Every entry that is built encodes the name of its agent, and so does every agent that is read from the store.
    const encode = vi.spyOn(globalThis, 'encodeURIComponent')
    const answer = await registry.call(body ? 'POST' : 'GET', path, body)
    expect(answer.status).toBe(200)
    expect(isRight(answer.body as never), JSON.stringify(answer.body).slice(0, 500)).toBe(true)
    expect(encode.mock.calls.length).toBeLessThan(500)
  })

  it('answers a lookup before searches that began earlier', async () => {
    const finished: string[] = []
    const note = (name: string) => (answer: { status: number }) => finished.push(`${name} ${answer.status}`)
    const searches = Array.from({ length: 8 }, () => registry.call('POST', '/search', { query: { text } }))
    const noted = searches.map((each) => each.then(note('search')))
    const listed = registry.call('GET', `/v1/agents?text=${encodeURIComponent(text)}`).then(note('list'))
    await registry.call('GET', '/v1/agents/public/agent-7').then(note('lookup'))
    await Promise.all([...noted, listed])
    expect(finished.indexOf('lookup 200')).toBe(0)
    expect(finished).toHaveLength(10)
  })

  it('charges a search by its cost', async () => {
    await using limited = await open({ store, limits: { rate: { perSecond: 0.001, burst: 20 } } })
    const search = () => limited.call('POST', '/search', { query: { text } })
    for (let n = 0; n < 3; n++) expect((await limited.call('GET', '/v1/agents/public/agent-7')).status).toBe(200)
    // Both are admitted before the first has cost anything.
    const statuses = (await Promise.all([search(), search()])).map(({ status }) => status)
    expect(statuses.sort()).toEqual([200, 429])
    const refused = await limited.call('GET', '/v1/agents/public/agent-7')
    expect(refused.status).toBe(429)
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
  })
})
