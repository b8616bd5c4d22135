import { agent, apiKey } from 'dragoman'
import { describe, expect, it } from 'vitest'
import { echoAgent } from '../src/testing/echo-agent.js'
import { bindings, type Client, type Json, readRefusal, testServer, userMessage } from './fixture.js'
import { proves } from './proves.js'

const path = '/.well-known/agent-card.json'

const shout = agent('Shout', async function* ({ text }) {
  yield text.toUpperCase()
})

describe('the agent card', () => {
  it(proves('R-CARD-1', 'is at the well-known path, without credentials'), async () => {
    await using server = await testServer(echoAgent, { auth: [apiKey('secret')] })
    const { status, headers, body } = await server.rest('GET', path, undefined, { 'A2A-Version': undefined })
    expect([status, headers.get('content-type'), body.name]).toEqual([200, 'application/json', 'Echo'])
  })

  it(proves('R-CARD-1', 'is below the path of each agent where there are several'), async () => {
    await using server = await testServer([shout, { agent: echoAgent, path: '/test/echo' }])
    expect((await server.rest('GET', `/shout${path}`)).body).toMatchObject({ name: 'Shout' })
    expect((await server.rest('GET', `/test/echo${path}`)).body).toMatchObject({ name: 'Echo' })
  })

  it(proves('R-CARD-2', 'is complete even if its author said no more than a name'), async () => {
    await using server = await testServer(shout, { publicUrl: 'https://agents.example', dialects: ['v1'] })
    expect((await server.rest('GET', path)).body).toEqual({
      name: 'Shout',
      description: 'Shout',
      version: '0.0.0',
      supportedInterfaces: [
        { url: 'https://agents.example/', protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
        { url: 'https://agents.example', protocolBinding: 'HTTP+JSON', protocolVersion: '1.0' },
      ],
      capabilities: { streaming: true, pushNotifications: false },
      defaultInputModes: ['text/plain', '*/*'],
      defaultOutputModes: ['text/plain'],
      skills: [{ id: 'shout', name: 'Shout', description: 'Shout', tags: ['shout'] }],
    })
  })

  it(proves('R-CARD-2', 'says what its author said'), async () => {
    const init = {
      name: 'Full',
      description: 'Has it all',
      version: '3.1.4',
      provider: { url: 'https://a.example', organization: 'A' },
      documentationUrl: 'https://a.example/docs',
      iconUrl: 'https://a.example/icon.png',
      capabilities: { streaming: false, pushNotifications: true },
      defaultInputModes: ['text/plain'],
      defaultOutputModes: ['application/json'],
      skills: [
        { id: 's', name: 'S', description: 'Does S', tags: ['s'], examples: ['do S'], inputModes: ['text/html'] },
      ],
    }
    const full = agent(init, async function* () {
      yield 'x'
    })
    await using server = await testServer(full)
    const { supportedInterfaces: _interfaces, ...rest } = (await server.rest('GET', path)).body
    expect(rest).toEqual(init)
  })

  it.each([
    ['one agent', shout, {}],
    ['an agent below a path', [{ agent: shout, path: '/deep/down' }], {}],
    ['tenants', shout, { advanced: { tenants: ['acme', 'globex'] } }],
  ])(proves('R-CARD-3', 'lists interfaces that are really there: %s'), async (_what, agents, options) => {
    await using server = await testServer(agents, {
      ...options,
      publicUrl: 'https://agents.example',
      dialects: ['v1'],
    })
    const { body } = await server.rest('GET', Array.isArray(agents) ? `/deep/down${path}` : path)
    const interfaces = body.supportedInterfaces as {
      url: string
      protocolBinding: string
      tenant?: string
      protocolVersion: string
    }[]
    const bindingsOf = (tenant?: string) =>
      interfaces.filter((each) => each.tenant === tenant).map((each) => each.protocolBinding)
    expect(bindingsOf()).toEqual(['JSONRPC', 'HTTP+JSON'])
    for (const tenant of (options as { tenants?: string[] }).tenants ?? [])
      expect(bindingsOf(tenant)).toEqual(['JSONRPC', 'HTTP+JSON'])
    for (const { url, protocolBinding, tenant, protocolVersion } of interfaces) {
      const at = url.replace('https://agents.example', '')
      const headers = { 'A2A-Version': protocolVersion }
      const params = { message: userMessage('hi'), ...(tenant && { tenant }) }
      const answer =
        protocolBinding === 'JSONRPC'
          ? await server.rest('POST', at, { jsonrpc: '2.0', id: 1, method: 'SendMessage', params }, headers)
          : await server.rest('POST', `${at}/message:send`, params, headers)
      const result = (protocolBinding === 'JSONRPC' ? answer.body.result : answer.body) as Json
      expect(result).toMatchObject({ task: { status: { state: 'TASK_STATE_COMPLETED' } } })
    }
  })

  it(proves('R-CARD-5', 'can be cached and asked for again'), async () => {
    await using server = await testServer(echoAgent)
    const { headers } = await server.fetch(path)
    const etag = headers.get('etag') ?? ''
    const modified = headers.get('last-modified') ?? ''
    expect(headers.get('cache-control')).toMatch(/max-age=[1-9]\d*/)
    expect(etag).toMatch(/^"\S+"$/)
    expect(Date.parse(modified)).toBeLessThanOrEqual(Date.now())
    expect(headers.get('vary')).toContain('A2A-Version')
    const ask = async (condition: Record<string, string>) => (await server.fetch(path, { headers: condition })).status
    expect(await ask({ 'If-None-Match': etag })).toBe(304)
    expect(await ask({ 'If-None-Match': `"other", W/${etag}` })).toBe(304)
    expect(await ask({ 'If-None-Match': '"other"' })).toBe(200)
    expect(await ask({ 'If-Modified-Since': modified })).toBe(304)
    expect(await ask({ 'If-Modified-Since': new Date(0).toUTCString() })).toBe(200)
    expect(await ask({ 'If-None-Match': '"other"', 'If-Modified-Since': modified })).toBe(200)
    const unchanged = await server.fetch(path, { headers: { 'If-None-Match': etag } })
    expect([await unchanged.text(), unchanged.headers.get('etag')]).toEqual(['', etag])
  })

  it(proves('R-CARD-5', 'can be asked for by its head'), async () => {
    await using server = await testServer(echoAgent)
    const response = await server.fetch(path, { method: 'HEAD' })
    expect([response.status, await response.text(), response.headers.has('etag')]).toEqual([200, '', true])
  })

  it(proves('R-CARD-7', 'holds no secrets'), async () => {
    await using server = await testServer(echoAgent, { auth: [apiKey({ 'key-of-alice': 'alice' })] })
    const { body } = await server.rest('GET', path)
    expect(body).toMatchObject({
      securitySchemes: { apiKey: { apiKeySecurityScheme: { location: 'header', name: 'X-API-Key' } } },
      securityRequirements: [{ schemes: { apiKey: {} } }],
    })
    expect(JSON.stringify(body)).not.toMatch(/key-of-alice|alice/)
  })

  it('is the pure v1.0 card while no other version is served', async () => {
    await using server = await testServer(echoAgent, { dialects: ['v1'] })
    const { body } = await server.rest('GET', path, undefined, { 'A2A-Version': '1.0' })
    expect((await server.rest('GET', path, undefined, { 'A2A-Version': undefined })).body).toEqual(body)
    expect(body).not.toHaveProperty('url')
    expect(readRefusal(await server.rest('GET', path, undefined, { 'A2A-Version': '99.0' })).reason).toBe(
      'VERSION_NOT_SUPPORTED',
    )
  })
})

describe('the bindings', () => {
  /** Ids, times and random values differ from server to server: number them in the order they appear. */
  function normalise(value: unknown): unknown {
    const seen = new Map<string, string>()
    const text = JSON.stringify(value).replace(/[0-9a-f]{8}-[0-9a-f-]{27}|\d{4}-\d\d-\d\dT[\d:.]+Z/g, (each) => {
      // The number of distinct times is random; only ids are numbered.
      if (each.includes('T')) return 'time'
      if (!seen.has(each)) seen.set(each, `id-${seen.size}`)
      return seen.get(each) ?? ''
    })
    return JSON.parse(text)
  }

  async function tour(client: Client): Promise<unknown> {
    const message = (text: string, more: Json = {}) => ({
      message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text }], ...more },
    })
    const asked = await client.call<{ task: { id: string } }>('SendMessage', message('ask'))
    const { id } = asked.task
    const stream = await client.stream('SendStreamingMessage', message('two', { taskId: id }))
    const events = (await stream.rest()).map(({ data }) => data)
    return [
      asked,
      events.at(-1),
      await client.call('GetTask', { id, historyLength: 1 }),
      await client.call('ListTasks', { includeArtifacts: true, pageSize: 3 }),
      await client.call('CreateTaskPushNotificationConfig', { taskId: id, id: 'one', url: 'https://client.example' }),
      await client.call('ListTaskPushNotificationConfigs', { taskId: id }),
      await client.call('DeleteTaskPushNotificationConfig', { taskId: id, id: 'one' }),
      await client.call('SendMessage', message('msg hi')),
      await client.refusal('CancelTask', { id }),
      await client.refusal('SubscribeToTask', { id }),
      await client.refusal('GetTask', { id: 'nope' }),
      await client.refusal('SendMessage', message('late', { taskId: id })),
      await client.refusal('SendMessage', {}),
      await client.refusal('GetExtendedAgentCard'),
      await client.refusal('ListTasks', {}, { 'X-API-Key': 'wrong' }),
      await client.refusal('ListTasks', {}, { 'A2A-Version': '99.0' }),
    ]
  }

  it(proves('R-CARD-9', 'give the same results and errors'), async () => {
    const reported: unknown[] = []
    for (const binding of bindings) {
      await using server = await testServer(echoAgent, { auth: [apiKey('secret')], dialects: ['v1'] })
      reported.push(normalise(await tour(server.over(binding, { 'X-API-Key': 'secret' }))))
    }
    expect(reported[0]).toEqual(reported[1])
  })

  it(proves('R-CARD-9', 'share their tasks'), async () => {
    await using server = await testServer(echoAgent)
    const [rpc, rest] = [server.over('JSON-RPC'), server.over('HTTP+JSON')]
    const { id } = await rpc.send('ask')
    expect(await rest.task(id)).toEqual(await rpc.task(id))
    const task = await rest.send({ taskId: id })
    expect(await rpc.task(id)).toEqual(task)
  })
})

describe.each(bindings)('the extended card over %s', (binding) => {
  it.each([{}, { extendedAgentCard: false }])(
    proves('R-XCARD-1', 'is refused by an agent with the capabilities %j'),
    async (capabilities) => {
      const plain = agent({ name: 'Plain', capabilities, extendedCard: (card) => card }, async function* () {
        yield 'x'
      })
      await using server = await testServer(plain)
      expect((await server.over(binding).refusal('GetExtendedAgentCard')).reason).toBe('UNSUPPORTED_OPERATION')
    },
  )

  it(proves('R-XCARD-2', 'is not configured where it is declared and missing'), async () => {
    const promising = agent({ name: 'Promising', capabilities: { extendedAgentCard: true } }, async function* () {
      yield 'x'
    })
    await using server = await testServer(promising)
    expect((await server.over(binding).refusal('GetExtendedAgentCard')).reason).toBe(
      'EXTENDED_AGENT_CARD_NOT_CONFIGURED',
    )
  })

  it(proves('R-XCARD-3', 'is for callers who have proved who they are, and may be another for each'), async () => {
    const discreet = agent(
      {
        name: 'Discreet',
        capabilities: { extendedAgentCard: true },
        extendedCard: (card, caller) => ({ ...card, description: `For ${caller.id}` }),
      },
      async function* () {
        yield 'x'
      },
    )
    await using server = await testServer(discreet, { auth: [apiKey({ a: 'alice', b: 'bob' })] })
    const publicCard = (await server.rest('GET', path)).body
    expect(publicCard).toMatchObject({ capabilities: { extendedAgentCard: true }, securitySchemes: { apiKey: {} } })
    expect((await server.over(binding).refusal('GetExtendedAgentCard')).reason).toBe('UNAUTHENTICATED')
    expect((await server.over(binding, { 'X-API-Key': 'wrong' }).refusal('GetExtendedAgentCard')).reason).toBe(
      'UNAUTHENTICATED',
    )
    expect(await server.over(binding, { 'X-API-Key': 'a' }).call('GetExtendedAgentCard')).toEqual({
      ...publicCard,
      description: 'For alice',
    })
    expect(await server.over(binding, { 'X-API-Key': 'b' }).call('GetExtendedAgentCard')).toEqual({
      ...publicCard,
      description: 'For bob',
    })
  })
})
