/** All three APIs of the registry over HTTP. */
import { describe, expect, it } from 'vitest'
import { apiKey } from '../../auth/static-schemes.js'
import { at, cardFor, open } from '../registry.fixture.js'

const place = '/v1/agents/public/shout'

describe('the registry’s own API', () => {
  it('publishes, finds, renews and withdraws (RL-L0-8)', async () => {
    await using registry = await open()
    const { call } = registry
    const card = cardFor('Shout')
    const published = await call('PUT', place, { card, tags: ['loud'], ttlSeconds: 30, instance: 'one' })
    expect(published.status).toBe(200)
    expect(published.body).toMatchObject({ namespace: 'public', name: 'shout', version: '1.0.0', latest: '1.0.0' })

    const found = await call('GET', place)
    expect(found.body).toMatchObject({
      card,
      tags: ['loud', 'test'],
      owner: 'anonymous',
      signature: { state: 'absent' },
      versions: [{ version: '1.0.0', isLatest: true, instances: 1 }],
      instances: [{ instance: 'one', url: 'http://127.0.0.1:9/', ttlSeconds: 30, health: { state: 'unknown' }, card }],
    })
    expect((await call('GET', `${place}/card`)).body).toEqual(card)
    expect((await call('GET', `${place}/card`)).headers.get('content-type')).toBe('application/a2a-agent-card+json')
    expect((await call('POST', `${place}/renew`, { version: '1.0.0', instance: 'one' })).body).toEqual({
      ttlSeconds: 30,
    })
    expect((await call('POST', `${place}/renew`, { version: '1.0.0', instance: 'two' })).status).toBe(404)
    expect((await call('GET', `${place}/health`)).body.instances).toMatchObject([{ instance: 'one', history: [] }])

    for (const query of ['text=shout', 'skill=Work', 'tag=loud', 'namespace=public', ''])
      expect((await call('GET', `/v1/agents?${query}`)).body).toMatchObject({ total: 1, agents: [{ name: 'shout' }] })
    expect((await call('GET', '/v1/agents?text=shout')).body.agents[0].score).toBe(100)
    for (const query of ['text=whisper', 'skill=x', 'tag=x', 'namespace=x'])
      expect((await call('GET', `/v1/agents?${query}`)).body).toEqual({ total: 0, agents: [] })

    expect((await call('DELETE', place)).body).toEqual({ withdrawn: 1 })
    expect((await call('GET', place)).status).toBe(404)
  })

  it('pages with a cursor', async () => {
    await using registry = await open()
    for (const name of ['a', 'b', 'c']) await registry.call('PUT', `/v1/agents/public/${name}`, { card: cardFor(name) })
    const first = await registry.call('GET', '/v1/agents?limit=2')
    expect(first.body.agents).toHaveLength(2)
    const second = await registry.call('GET', `/v1/agents?limit=2&cursor=${first.body.cursor}`)
    expect(second.body).toMatchObject({ agents: [{ name: 'c' }], total: 3 })
    expect(second.body.cursor).toBeUndefined()
  })

  it('encodes its errors', async () => {
    await using registry = await open()
    const { call } = registry
    const error = (status: number, name: string) => ({ status, body: { error: { code: status, status: name } } })
    expect(await call('GET', '/v1/agents/public/none')).toMatchObject(error(404, 'NOT_FOUND'))
    expect(await call('GET', '/v1/nothing')).toMatchObject(error(404, 'NOT_FOUND'))
    expect(await call('PATCH', place, {})).toMatchObject(error(404, 'NOT_FOUND'))
    expect(await call('PUT', place, '{')).toMatchObject(error(400, 'INVALID_ARGUMENT'))
    expect(await call('PUT', place, '[]')).toMatchObject(error(400, 'INVALID_ARGUMENT'))
    expect(await call('PUT', place, { card: cardFor('x'), ttlSeconds: 'soon' })).toMatchObject(
      error(400, 'INVALID_ARGUMENT'),
    )
    expect(await call('PUT', place, { card: {} })).toMatchObject({
      status: 400,
      body: {
        error: {
          details: expect.arrayContaining([expect.objectContaining({ path: expect.stringContaining('card') })]),
        },
      },
    })
    expect(await call('GET', '/v1/agents?limit=none')).toMatchObject(error(400, 'INVALID_ARGUMENT'))
    expect(await call('GET', '/v1/agents?cursor=!')).toMatchObject(error(400, 'INVALID_ARGUMENT'))
    expect(await call('GET', '/v1/agents/%E0%A4%A/x')).toMatchObject(error(404, 'NOT_FOUND'))
    expect(await call('PUT', place, { card: 'x'.repeat(900 * 1024) })).toMatchObject(error(413, 'PAYLOAD_TOO_LARGE'))
    expect(await call('GET', '/v1/watch?after=x')).toMatchObject(error(400, 'INVALID_ARGUMENT'))
  })

  it('accepts authenticated callers, and web pages of its own origin only', async () => {
    const auth = [apiKey({ 'key-a': 'ann', 'key-b': 'bob' })]
    await using registry = await open({ auth })
    const { call } = registry
    const [ann, bob] = [{ 'x-api-key': 'key-a' }, { 'x-api-key': 'key-b' }]
    const refused = await call('PUT', place, { card: cardFor('Shout') })
    expect(refused).toMatchObject({ status: 401, body: { error: { status: 'UNAUTHENTICATED' } } })
    expect(refused.headers.get('www-authenticate')).toContain('X-API-Key')
    expect((await call('GET', '/v1/agents')).status).toBe(401)
    expect((await call('GET', '/healthz')).status).toBe(200)
    expect((await call('POST', '/healthz')).status).toBe(405)
    expect((await call('GET', '/readyz')).status).toBe(200)
    expect((await call('PUT', place, { card: cardFor('Shout') }, ann)).body.owner).toBe('ann')
    expect(await call('PUT', place, { card: cardFor('Shout') }, bob)).toMatchObject({ status: 403 })
    expect((await call('DELETE', place, undefined, bob)).status).toBe(403)
    expect((await call('GET', place, undefined, bob)).status).toBe(200)
    expect((await call('GET', place, undefined, { ...bob, origin: 'https://evil.example' })).status).toBe(403)
  })

  it('can be public for reads and protected for writes', async () => {
    await using registry = await open({ auth: [apiKey('secret')], publicRead: true })
    const { call } = registry
    expect((await call('PUT', place, { card: cardFor('Shout') })).status).toBe(401)
    await call('PUT', place, { card: cardFor('Shout') }, { 'x-api-key': 'secret' })
    expect((await call('GET', place)).status).toBe(200)
    expect((await call('POST', '/search', { query: { text: 'shout' } })).body.results).toHaveLength(1)
    expect((await call('DELETE', place)).status).toBe(401)
  })
})

describe('the API of ARD 0.9', () => {
  async function filled() {
    const registry = await open({ publicUrl: 'https://registry.example', catalog: { displayName: 'Example' } })
    const skill = (id: string, examples: readonly string[]) => ({ id, name: id, description: id, tags: [id], examples })
    const publish = (namespace: string, name: string, description: string, skills: readonly object[]) =>
      registry.call('PUT', `/v1/agents/${namespace}/${encodeURIComponent(name)}`, {
        card: { ...cardFor(name, { description }), skills },
      })
    await publish('travel', 'Flights', 'Books flights', [skill('booking', ['book a flight', 'find a hotel'])])
    await publish('travel', 'Trains', 'Books trains', [skill('booking', [])])
    await publish('天气', '天气 助手', '查询天气预报', [skill('weather', ['今天天气', '明天天气'])])
    return registry
  }

  it('returns a catalog', async () => {
    await using registry = await filled()
    const { body } = await registry.call('GET', '/.well-known/ai-catalog.json')
    expect(body).toMatchObject({ specVersion: '1.0', host: { displayName: 'Example' } })
    expect(body.entries).toHaveLength(4)
    expect(body.entries[0]).toMatchObject({ type: 'application/ai-registry+json', url: 'https://registry.example/' })
    const flights = body.entries.find(({ displayName }: { displayName: string }) => displayName === 'Flights')
    expect(flights).toMatchObject({
      identifier: 'urn:air:registry.example:travel:Flights',
      displayName: 'Flights',
      type: 'application/a2a-agent-card+json',
      url: 'https://registry.example/v1/agents/travel/Flights/card',
      capabilities: ['booking'],
      representativeQueries: ['book a flight', 'find a hotel'],
      version: '1.0.0',
    })
    for (const entry of body.entries) {
      expect(entry.identifier).toMatch(/^urn:air:[a-zA-Z0-9.-]+(:[a-zA-Z0-9._-]+)+$/)
      expect('url' in entry !== 'data' in entry).toBe(true)
    }
  })

  it('assigns unique identifiers to agents', async () => {
    await using registry = await open({ publicUrl: 'https://registry.example' })
    const names = [
      'Pay Bills',
      'Pay-Bills',
      'Pay-Bills-1tqwln8',
      'Pay_20Bills',
      '_Pay_20Bills',
      '付 款',
      'a/b',
      'a_2Fb',
    ]
    for (const name of names)
      await registry.call('PUT', `/v1/agents/public/${encodeURIComponent(name)}`, { card: cardFor('x') })
    const { body } = await registry.call('GET', '/agents')
    const identifiers = body.items.map(({ identifier }: { identifier: string }) => identifier)
    expect(identifiers).toHaveLength(names.length)
    expect(new Set(identifiers).size).toBe(names.length)
    for (const each of identifiers) expect(each).toMatch(/^urn:air:[a-zA-Z0-9.-]+(:[a-zA-Z0-9._-]+)+$/)
    expect(identifiers).toContain('urn:air:registry.example:public:Pay-Bills-1tqwln8')
    expect(identifiers).toContain('urn:air:registry.example:public:_Pay_20Bills')
  })

  it('searches', async () => {
    await using registry = await filled()
    const search = (body: object) => registry.call('POST', '/search', body)
    const { body } = await search({ query: { text: 'book a flight' }, federation: 'referrals' })
    expect(body.results[0]).toMatchObject({ displayName: 'Flights', score: 100, source: 'https://registry.example/' })
    expect(body.referrals).toEqual([])
    expect((await search({ query: { text: '天气' } })).body.results[0].displayName).toBe('天气 助手')
    expect((await search({ query: { text: 'books', filter: { displayName: 'Trains' } } })).body.results).toHaveLength(1)
    expect((await search({ query: { text: 'books', filter: { publisher: ['other.example'] } } })).body.results).toEqual(
      [],
    )
    const first = (await search({ query: { text: 'books' }, pageSize: 1 })).body
    const second = (await search({ query: { text: 'books' }, pageSize: 1, pageToken: first.pageToken })).body
    expect([...first.results, ...second.results].map(({ displayName }) => displayName).sort()).toEqual([
      'Flights',
      'Trains',
    ])
    expect(second.pageToken).toBeUndefined()
  })

  it('lists, filters and orders', async () => {
    await using registry = await filled()
    const list = async (query: Record<string, string>) =>
      (await registry.call('GET', `/agents?${new URLSearchParams(query)}`)).body
    expect((await list({})).total).toBe(3)
    expect((await list({ orderBy: 'displayName DESC', pageSize: '1' })).items[0].displayName).toBe('天气 助手')
    expect((await list({ filter: "displayName = 'train'" })).items).toHaveLength(1)
    expect(
      (await list({ filter: "type = 'application/a2a-agent-card+json' AND createdAfter > '2020-01-01'" })).total,
    ).toBe(3)
    expect((await list({ filter: "createdAfter > '2999-01-01'" })).total).toBe(0)
  })

  it('returns facets', async () => {
    await using registry = await filled()
    const facets = [{ field: 'capabilities' }, { field: 'metadata.namespace', limit: 1 }, { field: 'publisher' }]
    const { body } = await registry.call('POST', '/explore', { resultType: { facets } })
    expect(body).toEqual({
      resultType: 'facets',
      facets: {
        capabilities: {
          buckets: [
            { value: 'booking', count: 2 },
            { value: 'weather', count: 1 },
          ],
        },
        'metadata.namespace': { buckets: [{ value: 'travel', count: 2 }], otherCount: 1 },
        publisher: { buckets: [{ value: 'registry.example', count: 3 }] },
      },
    })
  })

  it('encodes errors as ARD defines them', async () => {
    await using registry = await filled()
    const invalid = { status: 400, body: { errorCode: 'INVALID_ARGUMENT' } }
    for (const body of [
      {},
      { query: {} },
      { query: { text: 'x' }, federation: 'all' },
      { query: { text: 'x' }, pageSize: -1 },
    ])
      expect(await registry.call('POST', '/search', body)).toMatchObject(invalid)
    expect(await registry.call('GET', '/agents?filter=nonsense')).toMatchObject(invalid)
    expect(await registry.call('GET', '/agents?filter=constructor%20%3D%20%27x%27')).toMatchObject(invalid)
    expect(await registry.call('GET', '/agents?orderBy=__proto__')).toMatchObject(invalid)
    expect(await registry.call('POST', '/explore', {})).toMatchObject(invalid)
    expect(await registry.call('GET', '/search')).toMatchObject({ status: 404, body: { errorCode: 'NOT_FOUND' } })
  })
})

describe('the API of Nacos 3', () => {
  const base = '/nacos/v3/admin/ai/a2a'
  const form = (fields: Record<string, string>) => new URLSearchParams(fields)
  const cardIn = (name: string, version = '1.0.0') => ({ agentCard: JSON.stringify(cardFor(name, { version })) })
  const ok = { status: 200, body: { code: 0, message: 'success', data: 'ok' } }

  it('registers, updates, reads, lists and deletes', async () => {
    await using registry = await open()
    const { call } = registry
    expect(await call('POST', base, form({ ...cardIn('Route Planner'), registrationType: 'URL' }))).toMatchObject(ok)
    expect(await call('POST', base, form(cardIn('Route Planner')))).toMatchObject({
      status: 409,
      body: { code: 20005 },
    })
    expect(await call('GET', `${base}?agentName=Route+Planner`)).toMatchObject({
      body: { code: 0, data: { name: 'Route Planner', version: '1.0.0', registrationType: 'URL' } },
    })
    expect(await call('PUT', base, form(cardIn('Route Planner', '2.0.0')))).toMatchObject(ok)
    expect((await call('GET', `${base}?agentName=Route+Planner`)).body.data.version).toBe('1.0.0')
    expect((await call('GET', `${base}?agentName=Route+Planner&version=2.0.0`)).body.data.version).toBe('2.0.0')
    expect(await call('PUT', base, form({ ...cardIn('Route Planner', '2.0.0'), setAsLatest: 'true' }))).toMatchObject(
      ok,
    )
    expect((await call('GET', `${base}?agentName=Route+Planner`)).body.data.version).toBe('2.0.0')
    expect((await call('GET', `${base}/version/list?agentName=Route+Planner`)).body.data).toMatchObject([
      { version: '1.0.0', latest: false, createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/) },
      { version: '2.0.0', latest: true },
    ])
    await call('POST', base, form({ ...cardIn('Other'), namespaceId: 'dev' }))
    await call('POST', base, form(cardIn('Road Works')))
    const list = (query: string) => call('GET', `${base}/list?${query}`)
    expect((await list('agentName=ro&search=blur&pageNo=1&pageSize=1')).body.data).toMatchObject({
      totalCount: 2,
      pageNumber: 1,
      pagesAvailable: 2,
      pageItems: [{ name: 'Road Works', latestPublishedVersion: '1.0.0', registrationType: 'URL' }],
    })
    expect((await list('agentName=Ro&search=accurate')).body.data.totalCount).toBe(0)
    expect((await list('search=blur&namespaceId=dev')).body.data.pageItems).toMatchObject([{ name: 'Other' }])
    expect(await call('DELETE', `${base}?agentName=Route+Planner&version=2.0.0`)).toMatchObject(ok)
    expect((await call('GET', `${base}?agentName=Route+Planner`)).body.data.version).toBe('1.0.0')
    expect(await call('DELETE', base, form({ agentName: 'Route Planner' }))).toMatchObject(ok)
    expect(await call('GET', `${base}?agentName=Route+Planner`)).toMatchObject({ status: 404, body: { code: 20004 } })
    expect(await call('DELETE', `${base}?agentName=Route+Planner`)).toMatchObject(ok)
  })

  it('shares its agents with the other APIs', async () => {
    await using registry = await open()
    await registry.call('POST', base, form(cardIn('Shared')))
    expect((await registry.call('GET', '/v1/agents/public/Shared')).body.card.name).toBe('Shared')
    await registry.call('PUT', '/v1/agents/public/mine', { card: cardFor('Mine', at('http://127.0.0.1:10/')) })
    expect((await registry.call('GET', `${base}?agentName=mine`)).body.data.name).toBe('Mine')
  })

  it('accepts the access token for every scheme of the registry', async () => {
    await using registry = await open({ auth: [apiKey({ 'the-token': 'ann' })] })
    const { call } = registry
    expect(await call('POST', base, form(cardIn('x')))).toMatchObject({
      status: 403,
      body: { code: 10001, message: 'access denied' },
    })
    expect(await call('POST', base, form(cardIn('x')), { accessToken: 'the-token' })).toMatchObject(ok)
    expect(await call('GET', `${base}?agentName=x`, undefined, { accessToken: 'wrong' })).toMatchObject({ status: 403 })
    expect((await call('GET', '/v1/agents/public/x', undefined, { 'x-api-key': 'the-token' })).body.owner).toBe('ann')
  })

  it('encodes errors as Nacos does', async () => {
    await using registry = await open()
    const { call } = registry
    const invalid = {
      status: 400,
      body: { code: 20002, message: 'parameter validate error', data: expect.any(String) },
    }
    expect(await call('POST', base, form({}))).toMatchObject(invalid)
    expect(await call('POST', base, form({ agentCard: '{' }))).toMatchObject(invalid)
    expect(await call('POST', base, form({ agentCard: '[]' }))).toMatchObject(invalid)
    expect(await call('POST', base, form(cardIn('天气')))).toMatchObject(invalid)
    expect(await call('POST', base, form(cardIn('x'.repeat(65))))).toMatchObject(invalid)
    expect(await call('POST', base, form({ ...cardIn('x'), registrationType: 'OTHER' }))).toMatchObject(invalid)
    expect(await call('POST', base, { agentCard: {} })).toMatchObject(invalid)
    expect(await call('PUT', base, form(cardIn('none')))).toMatchObject({ status: 404, body: { code: 20004 } })
    expect(await call('GET', base)).toMatchObject(invalid)
    expect(await call('GET', `${base}/list`)).toMatchObject(invalid)
    expect(await call('GET', `${base}/version/list?agentName=none`)).toMatchObject({ status: 404 })
    expect(await call('PATCH', base, form({}))).toMatchObject({ status: 404, body: { code: 20004 } })
  })
})
