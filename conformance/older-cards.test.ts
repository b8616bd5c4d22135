import { agent, apiKey } from 'dragoman'
import { validateCard } from 'dragoman/server'
import { describe, expect, it } from 'vitest'
import { echoAgent } from '../src/testing/echo-agent.js'
import { type HeaderList, type Json, readRefusal, type TestServer, testServer } from './fixture.js'
import { checkRestError, message03, OlderClient, type OldTask, params01, protoMessage, rpc } from './older-fixture.js'
import { proves } from './proves.js'

const wellKnown = '/.well-known/agent-card.json'
const oldPath = '/.well-known/agent.json'
const publicUrl = 'https://agents.example'
const auth = [apiKey('secret')]

async function card(server: TestServer, version?: string, path = wellKnown): Promise<Json> {
  return await new OlderClient(server).fetch('GET', path, undefined, { 'A2A-Version': version })
}

const errorsIn = (value: unknown) => validateCard(value).problems.filter(({ severity }) => severity === 'error')

describe('the card of 0.3', () => {
  it(
    proves(['R3-CARD-1', 'R3-CARD-2', 'R3-CARD-3', 'RM-CARD-1'], 'has every member 0.3 needs, and none of v1.0’s'),
    async () => {
      await using server = await testServer(echoAgent, { publicUrl, auth })
      const events = await card(server, '0.3')
      expect(events).toEqual({
        protocolVersion: '0.3.0',
        name: 'Echo',
        description: expect.any(String),
        url: `${publicUrl}/`,
        preferredTransport: 'JSONRPC',
        additionalInterfaces: [
          { url: `${publicUrl}/`, transport: 'JSONRPC' },
          { url: publicUrl, transport: 'HTTP+JSON' },
        ],
        version: '1.0.0',
        capabilities: { streaming: true, pushNotifications: true, stateTransitionHistory: false },
        securitySchemes: { apiKey: { type: 'apiKey', in: 'header', name: 'X-API-Key' } },
        security: [{ apiKey: [] }],
        defaultInputModes: ['text/plain', '*/*'],
        defaultOutputModes: ['text/plain'],
        skills: [expect.objectContaining({ id: 'echo', tags: ['test', 'echo'] })],
      })
      expect(errorsIn(events)).toEqual([])
    },
  )

  it(proves('R3-CARD-1', 'has the `stateTransitionHistory` that the author declares; v1.0 has none'), async () => {
    const historian = agent({ name: 'Historian', capabilities: { stateTransitionHistory: true } }, async function* () {
      yield 'x'
    })
    await using server = await testServer(historian, { dialects: 'all' })
    const capabilities = async (version?: string, path?: string) => (await card(server, version, path)).capabilities
    expect(await capabilities('0.3')).toMatchObject({ stateTransitionHistory: true })
    expect(await capabilities()).toMatchObject({ stateTransitionHistory: true })
    expect(await capabilities(undefined, oldPath)).toMatchObject({ stateTransitionHistory: true })
    expect(await capabilities(undefined, `/go${oldPath}`)).toMatchObject({ stateTransitionHistory: true })
    expect(await capabilities('1.0')).not.toHaveProperty('stateTransitionHistory')
  })

  it(proves(['R3-CARD-2', 'R3-CARD-3', 'R3-CARD-4'], 'lists transports that are really there'), async () => {
    await using server = await testServer([{ agent: echoAgent, path: '/deep/echo' }], { publicUrl })
    const events = await card(server, '0.3', `/deep/echo${wellKnown}`)
    const interfaces = events.additionalInterfaces as { url: string; transport: string }[]
    expect(interfaces.map(({ transport }) => transport)).toEqual(['JSONRPC', 'HTTP+JSON'])
    expect(interfaces[0]).toEqual({ url: events.url, transport: events.preferredTransport })
    for (const { url, transport } of interfaces) {
      const path = url.replace(publicUrl, '')
      if (transport === 'JSONRPC') {
        const client = new OlderClient(server, { path })
        expect(await client.result('message/send', { message: message03('hi') })).toMatchObject({ kind: 'task' })
      } else {
        const body = { message: protoMessage('hi') }
        const answer = await new OlderClient(server).fetch('POST', `${path}/v1/message:send`, body)
        expect(answer).toMatchObject({ task: { status: { state: 'TASK_STATE_COMPLETED' } } })
      }
    }
  })

  it(proves('RM-CARD-1', 'leaves out what needs a tenant'), async () => {
    await using server = await testServer(echoAgent, { publicUrl, advanced: { tenants: ['acme'] } })
    expect((await card(server, '0.3')).additionalInterfaces).toHaveLength(2)
    const { supportedInterfaces } = await card(server, '1.0')
    expect((supportedInterfaces as Json[]).some(({ tenant }) => tenant === 'acme')).toBe(true)
  })

  it.each(['0.3', '0.1'])(
    proves('RM-CARD-1', 'does not exist where that version is not served: %s'),
    async (version) => {
      await using server = await testServer(echoAgent, { dialects: ['v1'] })
      const answer = await server.rest('GET', wellKnown, undefined, { 'A2A-Version': version })
      expect(readRefusal(answer)).toMatchObject({
        reason: 'VERSION_NOT_SUPPORTED',
        metadata: { requestedVersion: version, supportedVersions: '1.0' },
      })
      expect((await server.fetch(oldPath)).status).toBe(404)
    },
  )

  it(proves(['RM-CARD-1', 'R-CARD-8'], 'is the only one where v1.0 is not served'), async () => {
    await using server = await testServer(echoAgent, { dialects: ['v0.3'] })
    expect(await card(server)).toEqual(await card(server, '0.3'))
    const { status, body } = await new OlderClient(server).send('GET', wellKnown, undefined, { 'A2A-Version': '1.0' })
    expect([status, checkRestError(body, status).code]).toEqual([400, -32009])
  })

  it(proves('R3-CARD-8', 'contains no secrets'), async () => {
    await using server = await testServer(echoAgent, { auth: [apiKey({ 'key-of-alice': 'alice' })], dialects: 'all' })
    for (const path of [wellKnown, oldPath, `/go${oldPath}`]) {
      for (const version of ['1.0', '0.3', undefined]) {
        const response = await new OlderClient(server).request('GET', path, undefined, { 'A2A-Version': version })
        expect(await response.text(), `${path} ${version}`).not.toMatch(/key-of-alice|alice/)
        expect(response.status).toBe(200)
      }
    }
  })
})

describe('the well-known card', () => {
  it(proves(['RM-CARD-2', 'R-CARD-8'], 'is pure for those who name a version, and hybrid for others'), async () => {
    await using server = await testServer(echoAgent, { publicUrl, auth })
    const [v1, v03, hybrid] = [await card(server, '1.0'), await card(server, '0.3'), await card(server)]
    for (const member of ['url', 'protocolVersion', 'preferredTransport', 'additionalInterfaces', 'security']) {
      expect([member in v1, member in v03, member in hybrid], member).toEqual([false, true, true])
    }
    for (const member of ['supportedInterfaces', 'securityRequirements']) {
      expect([member in v1, member in v03, member in hybrid], member).toEqual([true, false, true])
    }
    expect(await card(server, '1.0.1')).toEqual(v1)
    expect(await card(server, '0.3.0')).toEqual(v03)
    expect(await card(server, '0.2')).toEqual(v03)
    expect(await card(server, undefined, `${wellKnown}?A2A-Version=0.3`)).toEqual(v03)
  })

  it(proves('RM-CARD-2', 'is readable by clients of every version in its hybrid form'), async () => {
    await using server = await testServer(echoAgent, { publicUrl, auth })
    const [v1, v03, hybrid] = [await card(server, '1.0'), await card(server, '0.3'), await card(server)]
    expect(hybrid).toMatchObject(v1)
    expect(hybrid).toMatchObject(v03)
    expect(hybrid.securitySchemes).toEqual({
      apiKey: {
        type: 'apiKey',
        in: 'header',
        name: 'X-API-Key',
        apiKeySecurityScheme: { location: 'header', name: 'X-API-Key' },
      },
    })
    for (const each of [v1, v03, hybrid]) expect(errorsIn(each)).toEqual([])
  })

  it(proves('RM-CARD-2', 'says that it varies, and each form has a tag of its own'), async () => {
    await using server = await testServer(echoAgent, { publicUrl })
    const headers = async (version?: string) =>
      (await new OlderClient(server).request('GET', wellKnown, undefined, { 'A2A-Version': version })).headers
    const tags = new Set<string | null>()
    for (const version of ['1.0', '0.3', undefined]) {
      const got = await headers(version)
      expect(got.get('vary')).toContain('A2A-Version')
      tags.add(got.get('etag'))
    }
    expect(tags.size).toBe(3)
    const [tag] = tags
    const again = async (conditions: HeaderList) =>
      (
        await new OlderClient(server).request('GET', wellKnown, undefined, {
          'If-None-Match': String(tag),
          ...conditions,
        })
      ).status
    expect(await again({ 'A2A-Version': '1.0' })).toBe(304)
    expect(await again({ 'A2A-Version': '0.3' })).toBe(200)
    expect(await again({})).toBe(200)
  })

  it.each(['v1', 'hybrid', 'v0.3'] as const)(
    proves('R-CARD-8', 'is %s for others where that is configured'),
    async (form) => {
      await using server = await testServer(echoAgent, { publicUrl, advanced: { card: form } })
      const events = await card(server)
      expect(['supportedInterfaces' in events, 'url' in events]).toEqual([form !== 'v0.3', form !== 'v1'])
      expect('url' in (await card(server, '1.0'))).toBe(false)
      expect('supportedInterfaces' in (await card(server, '0.3'))).toBe(false)
    },
  )

  it(proves('RM-CARD-2', 'needs no credentials in any form'), async () => {
    await using server = await testServer(echoAgent, { auth, dialects: 'all' })
    for (const path of [wellKnown, oldPath, `/go${wellKnown}`, `/go${oldPath}`]) {
      expect((await new OlderClient(server).request('GET', path)).status, path).toBe(200)
    }
  })

  it.each(['99.0', 'nonsense'])(proves(['RM-CARD-2', 'R-VER-4'], 'does not exist in version %s'), async (version) => {
    await using server = await testServer(echoAgent)
    const answer = await server.rest('GET', wellKnown, undefined, { 'A2A-Version': version })
    expect(readRefusal(answer).reason).toBe('VERSION_NOT_SUPPORTED')
  })
})

describe('the card for readers of 0.2 and 0.1', () => {
  it(proves('RL-02-1', 'is at the older path, with an address and both kinds of authentication'), async () => {
    await using server = await testServer(echoAgent, { publicUrl, auth })
    const events = await card(server, undefined, oldPath)
    const { additionalInterfaces: _interfaces, ...rest } = await card(server, '0.3')
    expect(events).toMatchObject({
      ...rest,
      url: publicUrl,
      additionalInterfaces: ['JSONRPC', 'HTTP+JSON'].map((transport) => ({ url: publicUrl, transport })),
    })
    expect(events.authentication).toEqual({ schemes: ['apiKey'] })
    expect(errorsIn(events)).toEqual([])
    // The version header has no effect: readers of this card send none.
    expect(await card(server, '1.0', oldPath)).toEqual(events)
    const client = new OlderClient(server, {
      path: new URL(String(events.url)).pathname,
      headers: { 'X-API-Key': 'secret' },
    })
    expect(await client.result<OldTask>('tasks/send', params01('j', 'hello'))).toMatchObject({ id: 'j' })
    expect(await client.result('message/send', { message: message03('hello') })).toMatchObject({ kind: 'task' })
  })

  it(proves('RL-02-1', 'is a card of 0.1 where nothing newer is served'), async () => {
    await using server = await testServer(echoAgent, { publicUrl, auth, dialects: ['v0.1'] })
    const events = await card(server, undefined, oldPath)
    expect(events).toMatchObject({
      name: 'Echo',
      url: publicUrl,
      version: '1.0.0',
      capabilities: { streaming: true, pushNotifications: true, stateTransitionHistory: false },
      authentication: { schemes: ['apiKey'] },
      skills: [{ id: 'echo' }],
    })
    expect(events).not.toHaveProperty('protocolVersion')
    expect(await card(server)).toEqual(events)
  })

  it.each([
    ['task-rest', publicUrl],
    ['chat-rpc', `${publicUrl}/api/v1/a2a`],
  ] as const)(proves('RL-02-1', 'leads to %s where only that is served'), async (dialect, url) => {
    await using server = await testServer(echoAgent, { publicUrl, dialects: [dialect] })
    expect(await card(server, undefined, oldPath)).toMatchObject({ name: 'Echo', url })
  })

  it.each([
    ['v0.1', '1.0'],
    ['chat-rpc', '1.0'],
    ['v0.1', '0.3'],
    ['invoke', undefined],
  ] as const)(
    proves('RM-CARD-1', 'is not the card of a version that is not served: %s, asked for %s'),
    async (dialect, version) => {
      await using server = await testServer(echoAgent, { publicUrl, dialects: [dialect] })
      const { status } = await new OlderClient(server).request('GET', wellKnown, undefined, { 'A2A-Version': version })
      expect([400, 404]).toContain(status)
    },
  )

  it(proves('RL-GO-6', 'is the Go library’s own where that form is pinned'), async () => {
    const iconic = agent(
      { name: 'Iconic', iconUrl: 'https://a.example/i.png', documentationUrl: 'https://a.example' },
      async function* () {
        yield 'x'
      },
    )
    await using server = await testServer(iconic, { publicUrl, dialects: 'all' })
    for (const path of [`/go${oldPath}`, `/go${wellKnown}`]) {
      const events = await card(server, undefined, path)
      expect(events).toMatchObject({
        url: `${publicUrl}/go`,
        iconUri: 'https://a.example/i.png',
        authentication: { schemes: [] },
      })
      expect(events).not.toHaveProperty('documentationUrl')
    }
    const client = new OlderClient(server, { path: '/go/' })
    expect(await client.result('tasks/send', params01('g', 'hello'))).toMatchObject({ status: { state: 'completed' } })
  })
})

describe('the extended card of older versions', () => {
  const discreet = agent(
    {
      name: 'Discreet',
      capabilities: { extendedAgentCard: true },
      extendedCard: (events, caller) => ({ ...events, description: `For ${caller.id}` }),
    },
    async function* () {
      yield 'x'
    },
  )
  const promising = agent({ name: 'Promising', capabilities: { extendedAgentCard: true } }, async function* () {
    yield 'x'
  })
  const method = 'agent/getAuthenticatedExtendedCard'
  const oldGet = '/agent/authenticatedExtendedCard'
  const alice = { 'X-API-Key': 'a' }
  const callers = { auth: [apiKey({ a: 'alice' })] }

  it(proves(['R3-CARD-6', 'RL-02-4'], 'is for callers who have proved who they are'), async () => {
    await using server = await testServer(discreet, callers)
    const pub = await card(server, '0.3')
    expect(pub.supportsAuthenticatedExtendedCard).toBe(true)
    const mine = { ...pub, description: 'For alice' }
    const client = new OlderClient(server)
    expect(await client.result(method, undefined, alice)).toEqual(mine)
    expect(await client.result('agent/authenticatedExtendedCard', undefined, alice)).toEqual(mine)
    expect(await client.fetch('GET', oldGet, undefined, alice)).toEqual(mine)
    expect(await client.fetch('GET', '/v1/card', undefined, alice)).toMatchObject({ description: 'For alice' })
    for (const [verb, path, body] of [
      ['POST', '/', rpc(method)],
      ['GET', oldGet, undefined],
      ['GET', '/v1/card', undefined],
    ] as const) {
      const { status, headers } = await client.request(verb, path, body)
      expect([status, headers.get('www-authenticate')], path).toEqual([401, 'ApiKey name="X-API-Key"'])
    }
  })

  it.each([
    ['declared and missing', promising, -32007],
    ['not declared', echoAgent, -32004],
  ])(proves(['R3-CARD-6', 'RL-02-4'], 'is refused where it is %s'), async (_what, served, code) => {
    await using server = await testServer(served, callers)
    const client = new OlderClient(server, { headers: alice })
    expect((await client.error(method)).code).toBe(code)
    expect((await client.send('GET', '/v1/card')).body.code).toBe(code)
    expect((await client.send('GET', oldGet)).status).toBe(404)
  })
})
