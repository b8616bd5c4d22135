import type { ServerResponse } from 'node:http'
import { describe, expect, it } from 'vitest'
import { validateCard } from '../dialects/validate-card/index.js'
import { createCardCache, freshForMs } from './card-cache.js'
import { v0_1Card, v0_3Card, v1Card } from './cards.fixture.js'
import { connect } from './connect.js'
import { fetchWithNames, json, serveHttp } from './http-server.fixture.js'
import { cardLocations, resolveCard } from './resolve-card.js'

/** A server with responses at some paths, and 404 for all others. */
function serveAt(answers: Record<string, (response: ServerResponse, headers: Record<string, unknown>) => unknown>) {
  return serveHttp(({ path, headers }, response) => {
    const answer = answers[path]
    if (answer) answer(response, headers)
    else response.writeHead(404).end('not here')
  })
}

const newer = '/.well-known/agent-card.json'
const older = '/.well-known/agent.json'

describe('cardLocations', () => {
  it.each([
    ['agent.example', 'https://agent.example', [newer, older]],
    ['agent.example:8443', 'https://agent.example:8443', [newer, older]],
    ['localhost:8001', 'http://localhost:8001', [newer, older]],
    ['127.1', 'http://127.0.0.1', [newer, older]],
    ['[::1]:80', 'http://[::1]', [newer, older]],
    ['http://agent.example/', 'http://agent.example', [newer, older]],
    ['agent.example/a/b/', 'https://agent.example', [`/a/b${newer}`, `/a/b${older}`, newer, older]],
    ['https://agent.example/cards/x.json?v=1#a', 'https://agent.example', ['/cards/x.json?v=1']],
    [`agent.example${older}`, 'https://agent.example', [older]],
  ])('returns the card locations of %s', (ref, origin, paths) => {
    expect(cardLocations(ref)).toMatchObject({ origin, urls: paths.map((path) => origin + path) })
  })

  it.each(['file:///etc/passwd', 'ftp://a.example', 'two words', '', 'http://', 'https://a b'])('rejects %j', (ref) => {
    expect(() => cardLocations(ref)).toThrow(expect.objectContaining({ name: 'TransportError', failure: 'refused' }))
  })
})

describe('resolveCard', () => {
  it('reads the card at the well-known path', async () => {
    await using server = await serveAt({ [newer]: (response) => json(response, v1Card(server.origin)) })
    const resolved = await resolveCard(`127.0.0.1:${server.port}`)
    expect(resolved).toMatchObject({ dialect: 'v1', url: server.origin + newer, origin: server.origin, warnings: [] })
    expect(validateCard(resolved.raw).isValid).toBe(true)
    expect(resolved.raw).toEqual(v1Card(server.origin))
    expect(server.seen[0]?.headers).toMatchObject({ 'a2a-version': '1.0', accept: 'application/json' })
  })

  it('tries the older path on 404 (RL-02-2)', async () => {
    await using server = await serveAt({ [older]: (response) => json(response, v0_1Card(server.origin)) })
    const resolved = await resolveCard(server.origin)
    expect(resolved).toMatchObject({ dialect: 'v0.1', url: server.origin + older })
    expect(resolved.warnings[0]).toContain('HTTP 404')
  })

  it('looks below the path first, then at the origin', async () => {
    const own = `/agents/a${newer}`
    await using both = await serveAt({
      [own]: (response) => json(response, v1Card('http://x.example', { name: 'below' })),
      [newer]: (response) => json(response, v1Card('http://x.example', { name: 'above' })),
    })
    expect((await resolveCard(`${both.origin}/agents/a/`)).card.name).toBe('below')
    expect((await resolveCard(`${both.origin}/agents/b`)).card.name).toBe('above')
  })

  it('warns if the card of the origin is used, and names both addresses', async () => {
    await using server = await serveAt({ [newer]: (response) => json(response, v1Card(server.origin)) })
    const warning = `There is no card at ${server.origin}/nope: connected to the agent at ${server.origin} instead`
    const cache = createCardCache()
    expect((await resolveCard(`${server.origin}/nope`, { cache })).warnings).toContain(warning)
    // A cached card causes the warning, too.
    expect((await resolveCard(`${server.origin}/nope`, { cache })).warnings).toEqual([warning])
    const warnings: string[] = []
    await using agent = await connect(`${server.origin}/nope`, { onWarning: ({ message }) => warnings.push(message) })
    expect(agent.card.name).toBe(v1Card('').name)
    expect(warnings).toContain(warning)
  })

  it('skips responses that are not JSON', async () => {
    await using server = await serveAt({
      [newer]: (response) => response.writeHead(200, { 'content-type': 'application/json' }).end('<!doctype html>'),
      [older]: (response) => json(response, v0_3Card(server.origin)),
    })
    const { dialect, warnings } = await resolveCard(server.origin)
    expect(dialect).toBe('v0.3')
    expect(warnings[0]).toContain('is not JSON')
  })

  it('reads a card with another content type, with a warning', async () => {
    await using server = await serveAt({
      [newer]: (response) =>
        response.writeHead(200, { 'content-type': 'text/html' }).end(JSON.stringify(v1Card('http://x.example'))),
    })
    expect((await resolveCard(server.origin)).warnings).toEqual([
      'The card is sent as text/html and not as application/json',
    ])
  })

  it('asks again without a version if the server rejects the version', async () => {
    await using server = await serveAt({
      [newer]: (response, headers) =>
        headers['a2a-version'] ? json(response, {}, {}, 400) : json(response, v0_3Card('http://x.example')),
    })
    expect((await resolveCard(server.origin)).dialect).toBe('v0.3')
  })

  it.each([
    ['nothing anywhere', {}, 'There is no card at'],
    ['an array', { [newer]: (response: ServerResponse) => json(response, '[]') }, 'is not a JSON object'],
    ['no card', { [newer]: (response: ServerResponse) => json(response, '{}') }, 'The card cannot be read: name'],
    [
      'depth',
      { [newer]: (response: ServerResponse) => json(response, `${'[{"a":'.repeat(5000)}1${'}]'.repeat(5000)}`) },
      'is not JSON',
    ],
    ['a protected card', { [newer]: (response: ServerResponse) => json(response, '{}', {}, 401) }, 'is protected'],
    ['a broken server', { [newer]: (response: ServerResponse) => json(response, '{}', {}, 500) }, 'HTTP 500'],
    [
      'a huge card',
      { [newer]: (response: ServerResponse) => json(response, JSON.stringify({ name: 'x'.repeat(1.1e6) })) },
      'larger than 1048576',
    ],
    [
      'a redirect to a private network',
      { [newer]: (response: ServerResponse) => response.writeHead(302, { location: 'http://169.254.169.254/' }).end() },
      'link-local',
    ],
  ])('reports the problem: %s', async (_, answers, words) => {
    await using server = await serveAt(answers)
    await expect(resolveCard(server.origin)).rejects.toThrow(words)
  })

  it('gives up on slow cards', async () => {
    await using server = await serveAt({ [newer]: (response) => response.writeHead(200).write('{"name":') })
    await expect(resolveCard(server.origin, { timeoutMs: 60 })).rejects.toMatchObject({ failure: 'timeout' })
  })

  it('rejects a redirect from the internet to this machine', async () => {
    await using server = await serveAt({
      [newer]: (response) => response.writeHead(302, { location: `${server.origin}/secret` }).end(),
      '/secret': (response) => json(response, v1Card('http://x.example')),
    })
    const options = { fetch: fetchWithNames('agent.example'), lookup: async () => ['8.8.8.8'] }
    const promise = resolveCard(`http://agent.example:${server.port}`, options)
    await expect(promise).rejects.toMatchObject({ failure: 'refused' })
    expect(server.seen).toHaveLength(1)
  })

  it('accepts a card', async () => {
    const resolved = await resolveCard(v0_3Card('https://agent.example'))
    expect(resolved.dialect).toBe('v0.3')
    expect(resolved).not.toHaveProperty('origin')
  })

  describe('resolvers', () => {
    it('are asked in order for names, and not for addresses', async () => {
      await using server = await serveAt({ [newer]: (response) => json(response, v1Card(server.origin)) })
      const names: string[] = []
      const resolvers = [
        async (name: string) => void names.push(name),
        Object.assign(async (name: string) => (name === 'weather' ? server.origin : undefined), { source: 'user' }),
        async () => v0_3Card('https://agent.example'),
      ]
      await using weather = await connect('weather', { resolvers })
      expect(weather.choice.url).toBe(server.origin)
      await using other = await connect('other.name', { resolvers })
      expect(other.choice.dialect).toBe('v0.3')
      for (const ref of [`127.0.0.1:${server.port}`, server.origin]) await (await connect(ref, { resolvers })).close()
      expect(names).toEqual(['weather', 'other.name'])
    })

    it('return addresses that are guarded, unless they are in the network class of the registry', async () => {
      await using server = await serveAt({ [newer]: (response) => json(response, v1Card(server.origin)) })
      const from = (source?: string) => Object.assign(async () => server.origin, { ...(source && { source }) })
      for (const source of [undefined, 'https://203.0.113.1', 'http://10.0.0.1:8020'])
        await expect(connect('weather', { resolvers: [from(source)] })).rejects.toThrow('must not be reached')
      expect(server.seen).toEqual([])
      await using local = await connect('weather', { resolvers: [from('http://localhost:8020')] })
      expect(local.choice.dialect).toBe('v1')
    })

    it('that do not know a name leave it to be used as a host', async () => {
      const resolvers = [async () => undefined]
      await expect(connect('no-such-agent.invalid', { resolvers })).rejects.toThrow(
        'no-such-agent.invalid cannot be reached',
      )
      await expect(connect('no such agent', { resolvers })).rejects.toThrow(
        'neither an address nor the name of an agent',
      )
    })
  })

  describe('the cache (R-CARD-6)', () => {
    async function serveTagged(control: string) {
      let version = 1
      const server = await serveHttp(({ headers, path }, response) => {
        if (path !== older) return response.writeHead(404).end()
        const etag = `"${version}"`
        const fields = { etag, 'cache-control': control }
        if (headers['if-none-match'] === etag) return response.writeHead(304, fields).end()
        return json(response, v0_3Card(server.origin, { version: String(version) }), fields)
      })
      return {
        ...server,
        origin: server.origin,
        change: () => void version++,
        [Symbol.asyncDispose]: server[Symbol.asyncDispose],
      }
    }

    it('sends no request while a card is fresh, and a conditional one afterwards', async () => {
      await using server = await serveTagged('public, max-age=100')
      let nowMs = 0
      const options = { cache: createCardCache(), now: () => nowMs }
      const version = async (rest = {}) => (await resolveCard(server.origin, { ...options, ...rest })).card.version
      expect(await version()).toBe('1')
      nowMs = 99_999
      server.change()
      expect(await version()).toBe('1')
      expect(server.seen).toHaveLength(2) // 404 at the newer path, then the card
      nowMs = 100_001
      expect(await version()).toBe('2')
      nowMs = 200_002
      expect(await version()).toBe('2')
      expect(server.seen.slice(2).map(({ path, headers }) => [path, headers['if-none-match']])).toEqual([
        [older, '"1"'],
        [older, '"2"'],
      ])
      server.change()
      expect(await version({ refresh: true })).toBe('3')
    })

    it('obeys no-store', async () => {
      await using server = await serveTagged('no-store')
      const cache = createCardCache()
      await resolveCard(server.origin, { cache })
      expect(await cache.get(server.origin + newer)).toBeUndefined()
    })

    it.each([
      ['max-age=10', 10_000],
      ['public, Max-Age="10"', 10_000],
      ['no-cache, max-age=10', 0],
      ['max-age=99999999', 86_400_000],
      ['', 60_000],
      ['no-store', undefined],
    ])('reads the max age of %j', (control, expected) => {
      expect(freshForMs(new Headers(control ? { 'cache-control': control } : {}))).toBe(expected)
    })

    it('takes the age of an answer into account', () => {
      expect(freshForMs(new Headers({ 'cache-control': 'max-age=10', age: '4' }))).toBe(6000)
    })

    it('evicts the least recently used card', async () => {
      const cache = createCardCache()
      const entry = { url: 'u', raw: {}, freshUntilMs: 0 }
      for (let count = 0; count < 200; count++) await cache.set(String(count), entry)
      await cache.get('0')
      await cache.set('new', entry)
      expect(await cache.get('0')).toBeDefined()
      expect(await cache.get('1')).toBeUndefined()
    })
  })
})
