import { apiKey as requireKey, serve } from 'dragoman'
import { describe, expect, it } from 'vitest'
import { echoAgent } from '../cli/echo-agent.js'
import { v1Card } from './cards.fixture.js'
import { json, type Seen, serveHttp } from './http-server.fixture.js'
import { apiKey, bearer, collect, connect, createCardCache, type WireEntry } from './index.js'

describe('connect', () => {
  it('is three lines, whatever the agent speaks', async () => {
    await using served = await serve(echoAgent)
    await using agent = await connect(served.url)
    expect((await agent.ask('Hello')).text).toBe('Hello')
    expect(agent.choice).toMatchObject({ dialect: 'v1', binding: 'JSONRPC', url: served.url })
    expect(agent.choice.reasons[0]).toMatch(/^Took JSONRPC 1\.0/)
  })

  it('takes a host, an address, the address of a card, or a card', async () => {
    await using served = await serve(echoAgent)
    const url = new URL(served.url)
    const card: unknown = await (await fetch(`${url}.well-known/agent-card.json`)).json()
    for (const ref of [url.host, url.href, `${url}.well-known/agent-card.json`, card as object]) {
      await using agent = await connect(ref)
      expect((await agent.ask('hi')).text).toBe('hi')
    }
  })

  it('asks resolvers for names', async () => {
    await using served = await serve(echoAgent)
    const resolvers = [async (name: string) => (name === 'echo' ? served.url : undefined)]
    await using agent = await connect('echo', { resolvers })
    expect(agent.card.name).toBe('Echo')
  })

  it.each(['JSONRPC', 'HTTP+JSON', 'GRPC'] as const)('brings what the card asks for over %s', async (binding) => {
    await using served = await serve(echoAgent, { auth: [requireKey('secret')] })
    await using stranger = await connect(served.url, { binding })
    await expect(stranger.ask('hi')).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
    const wire: WireEntry[] = []
    await using known = await connect(served.url, {
      binding,
      credentials: apiKey('secret'),
      onWire: (entry) => wire.push(entry),
    })
    expect((await known.ask('hi')).text).toBe('hi')
    expect(wire.length).toBeGreaterThan(2)
    expect(JSON.stringify(wire)).not.toContain('secret')
  })

  it('names its version on every request (R-VER-1), and brings credentials in headers only (R-SEC-4)', async () => {
    await using served = await serve(echoAgent, { auth: [requireKey('secret')] })
    const sent: { readonly version: string | null; readonly key: string | null; readonly body: string }[] = []
    const spying: typeof fetch = async (input, init) => {
      const request = new Request(input, init)
      const body = await request.clone().text()
      sent.push({ version: request.headers.get('a2a-version'), key: request.headers.get('x-api-key'), body })
      return await fetch(request)
    }
    await using agent = await connect(served.url, { credentials: apiKey('secret'), fetch: spying })
    const { task } = await agent.ask('hi')
    await agent.task(task?.id ?? '').get()
    await collect(agent.stream('chunks 2'))
    expect(sent.map(({ version }) => version)).toEqual(sent.map(() => '1.0'))
    expect(sent.slice(1).map(({ key }) => key)).toEqual(sent.slice(1).map(() => 'secret'))
    expect(sent.map(({ body }) => body).join()).not.toContain('secret')
  })

  it('negotiates, and can be pinned so that it does not fall back (R-VER-7)', async () => {
    await using old = await serve(echoAgent, { dialects: ['v0.3'] })
    await using agent = await connect(old.url)
    expect(agent.choice.dialect).toBe('v0.3')
    await expect(connect(old.url, { dialect: 'v1', pin: true })).rejects.toMatchObject({ failure: 'refused' })
  })

  it('keeps a conversation through a question', async () => {
    await using served = await serve(echoAgent)
    await using agent = await connect(served.url)
    const talk = agent.conversation()
    const asked = await talk.ask('ask')
    expect([asked.state, asked.text]).toEqual(['TASK_STATE_INPUT_REQUIRED', 'What is the second text?'])
    expect(talk.taskId).toBe(asked.task?.id)
    const answered = await collect(talk.stream('second'))
    expect([answered.state, answered.text]).toEqual(['TASK_STATE_COMPLETED', 'ask\nsecond'])
    expect(talk.taskId).toBeUndefined()
    expect((await talk.ask('more')).task?.contextId).toBe(asked.task?.contextId)
  })

  it('handles tasks: get, wait, watch, cancel', async () => {
    await using served = await serve(echoAgent)
    await using agent = await connect(served.url)
    const start = async (text: string) => {
      const { task } = await agent
        .ask(text, { configuration: { returnImmediately: true } })
        .catch(() => ({ task: undefined }))
      return task
    }
    const ended = await start('chunks 3 5')
    expect(ended?.status.state).toBe('TASK_STATE_COMPLETED')
    const sent = await agent.sendMessage({
      message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'sleep 60000' }] },
      configuration: { returnImmediately: true },
    })
    const id = 'task' in sent ? sent.task.id : ''
    const waiting = agent.task(id).wait()
    expect((await agent.task(id).cancel()).status.state).toBe('TASK_STATE_CANCELED')
    expect((await waiting).status.state).toBe('TASK_STATE_CANCELED')
  })

  it('says plainly what is wrong', async () => {
    await expect(connect('127.0.0.1:9')).rejects.toMatchObject({ name: 'TransportError', failure: 'unreachable' })
    await using served = await serve(echoAgent, { dialects: ['v1'] })
    await expect(connect(served.url, { dialect: 'v0.3', pin: true })).rejects.toMatchObject({ failure: 'refused' })
  })
})

describe('a card that is not for everybody', () => {
  const isKnown = ({ headers }: Seen) => headers['x-api-key'] === 'secret' || headers.authorization === 'Bearer token'
  const guarded = () =>
    serveHttp((request, response) =>
      request.path !== '/.well-known/agent-card.json'
        ? json(response, {}, {}, 404)
        : isKnown(request)
          ? json(response, v1Card(`http://${request.headers.host}/`), { 'cache-control': 'public, max-age=300' })
          : json(response, {}, { 'www-authenticate': 'Bearer' }, 401),
    )

  it.each([
    ['headers', { headers: { 'X-API-Key': 'secret' } }],
    ['an API key', { credentials: apiKey('secret') }],
    ['a token', { credentials: bearer('token') }],
  ])('is asked for with %s, after it was asked for without', async (_, options) => {
    await using server = await guarded()
    const wire: WireEntry[] = []
    await using agent = await connect(server.origin, { ...options, onWire: (entry) => void wire.push(entry) })
    expect(agent.card.name).toBe('Agent')
    expect(server.seen.map(isKnown)).toEqual([false, true])
    expect(JSON.stringify(wire)).not.toMatch(/secret|Bearer token/)
  })

  it('is refused to those who bring nothing, or something else', async () => {
    await using server = await guarded()
    for (const options of [{}, { headers: { 'x-api-key': 'other' } }, { credentials: apiKey('other') }])
      await expect(connect(server.origin, options)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
  })

  it('is not remembered for the next one', async () => {
    await using server = await guarded()
    const cache = createCardCache()
    await connect(server.origin, { cache, credentials: apiKey('secret') })
    await expect(connect(server.origin, { cache })).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
  })

  it('is no reason to tell another host who asks', async () => {
    await using other = await serveHttp((_, response) => json(response, v1Card('http://127.0.0.1:1/')))
    const elsewhere = `http://localhost:${other.port}/card.json`
    await using server = await serveHttp((request, response) =>
      isKnown(request) ? response.writeHead(302, { location: elsewhere }).end() : json(response, {}, {}, 401),
    )
    await connect(server.origin, { headers: { 'x-api-key': 'secret' }, allowPrivate: true }).catch(() => undefined)
    expect(other.seen.map(isKnown)).toEqual([false])
  })

  it('is asked for without them where it is for everybody, so that it can be shared', async () => {
    await using served = await serve(echoAgent, { auth: [requireKey('secret')] })
    const wire: WireEntry[] = []
    await connect(served.url, { headers: { 'x-api-key': 'secret' }, onWire: (entry) => void wire.push(entry) })
    const asked = wire.filter(({ direction }) => direction === 'request')
    expect(asked.map(({ headers }) => Object.keys(headers ?? {}).includes('x-api-key'))).toEqual([false])
  })
})

describe('allowedOrigins', () => {
  it.each([
    ['the origin', (origin: string) => [origin], true],
    ['any origin', () => ['*'], true],
    ['another origin', () => ['http://127.0.0.1:1'], false],
  ])('of %s: whether credentials go there', async (_, allowed, isSent) => {
    await using agentServer = await serveHttp((_request, response) => json(response, {}, {}, 500))
    await using cardServer = await serveHttp((_request, response) =>
      json(
        response,
        v1Card(agentServer.origin, {
          securitySchemes: { key: { apiKeySecurityScheme: { location: 'header', name: 'X-API-Key' } } },
          securityRequirements: [{ schemes: { key: {} } }],
        }),
      ),
    )
    await using agent = await connect(cardServer.origin, {
      credentials: apiKey('secret'),
      headers: { 'x-extra': 'more' },
      allowedOrigins: allowed(agentServer.origin),
    })
    await agent.getTask({ id: 't' }).catch(() => undefined)
    const [seen] = agentServer.seen
    expect([seen?.headers['x-api-key'], seen?.headers['x-extra']]).toEqual(
      isSent ? ['secret', 'more'] : [undefined, undefined],
    )
  })
})
