/** The MCP endpoint: access, request states, sessions, names of tools and hostile input. */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import * as sdk from '@modelcontextprotocol/server'
import { agent, approvals, approve, ask, bearer, fromJsonSchema, MemoryStore, oidc } from 'dragoman'
import { gate, until } from 'dragoman/testing'
import fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import { answerParts, formOf } from '../../src/integrations/mcp/form.js'
import { Sessions } from '../../src/integrations/mcp/sessions.js'
import type { JsonValue, Struct } from '../../src/model/part.js'
import { clothForm, createTailor, serveMcp } from './mcp-agents.js'
import { clients, taskIdIn, textIn } from './mcp-clients.js'

const auth = bearer({ a: 'alice', b: 'bob' })
const as = (token: string) => ({ authorization: `Bearer ${token}` })
const info = { name: 'test', version: '1.0.0' }
const connect = (name: string) => {
  const found = clients[name]
  if (!found) throw new Error(`no client ${name}`)
  return found
}
const modern = connect('2.4 auto')

/** A call of revision 2026-07-28 whose questions the test answers itself. */
async function manualClient(url: string, token: string) {
  const client = new Client(info, { capabilities: { elicitation: {} }, versionNegotiation: { mode: 'auto' } })
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: as(token) } }))
  const call = async (message: string, more: object = {}, name = 'Tailor') => {
    const params = { name, arguments: { message }, ...more }
    return (await client.callTool(params, { allowInputRequired: true })) as unknown as Asked
  }
  return { call, [Symbol.asyncDispose]: () => client.close() }
}

interface Asked {
  readonly requestState: string
  readonly resultType?: string
  readonly content: { readonly text?: string }[]
}

const answer = (requestState: string, value = '52') => ({
  requestState,
  inputResponses: { answer: { action: 'accept', content: { answer: value } } },
})

describe('the request state', () => {
  it('is refused if it is foreign or altered, or names another tool', async () => {
    const chef = agent('Chef', async function* () {
      yield 'Soup'
    })
    await using server = await serveMcp([createTailor().tailor, chef], {}, { auth })
    await using alice = await manualClient(server.url, 'a')
    await using bob = await manualClient(server.url, 'b')
    const { requestState } = await alice.call('suit')
    const [key, id, turn] = JSON.parse(requestState) as [string, string, number]
    await expect(bob.call('suit', answer(requestState))).rejects.toThrow('requestState')
    const altered = [[key, id, turn + 1], ['Chef', id, turn], [key, `${id}0`, turn], [key], [key, 1, 1]]
    const texts = altered.map((each) => JSON.stringify(each))
    for (const state of [...texts, '', '{', 'null', `[${'['.repeat(2000)}`, 'x'.repeat(100_000)])
      await expect(alice.call('suit', answer(state)), state.slice(0, 100)).rejects.toThrow('requestState')
    await expect(alice.call('suit', answer(requestState), 'Chef')).rejects.toThrow('requestState')
    expect((await alice.call('suit', answer(requestState))).content[0]?.text).toBe('Made: 52')
  })

  it('answers one question: a repeated answer returns its result, another answer is refused', async () => {
    await using server = await serveMcp(createTailor().tailor, {}, { auth })
    await using alice = await manualClient(server.url, 'a')
    const { requestState } = await alice.call('suit')
    for (let time = 0; time < 3; time++)
      expect((await alice.call('suit', answer(requestState))).content[0]?.text).toBe('Made: 52')
    await expect(alice.call('suit', answer(requestState, '54'))).rejects.toThrow('requestState')
    const tasks = await server.served.services.get('Tailor')?.listTasks({}, { caller: { id: 'alice' } })
    expect(tasks?.tasks).toHaveLength(1)
  })

  it('asks again if the client sends it without an answer', async () => {
    await using server = await serveMcp(createTailor().tailor, {}, { auth })
    await using alice = await manualClient(server.url, 'a')
    const { requestState } = await alice.call('suit')
    expect(await alice.call('suit', { requestState })).toMatchObject({ resultType: 'input_required', requestState })
  })
})

/** Holds reads of tasks until `count` of them have seen the same state. */
class CountingStore extends MemoryStore {
  #missing = 0
  #seen = gate()

  hold(count: number): void {
    this.#missing = count
    this.#seen = gate()
  }

  override async view(...args: Parameters<MemoryStore['view']>) {
    const viewed = await super.view(...args)
    if (this.#missing === 0) return viewed
    this.#missing -= 1
    if (this.#missing === 0) this.#seen.open()
    await this.#seen.opened
    return viewed
  }
}

describe('a2a_reply', () => {
  it('answers one question: of several answers at once, one is accepted', async () => {
    const answers: string[] = []
    const finish = gate()
    const tailor = agent('Tailor', async function* ({ number, text }) {
      if (number === 1) yield ask('Which colour?')
      answers.push(text)
      await finish.opened
      yield `Made: ${text}`
    })
    const store = new CountingStore()
    await using server = await serveMcp(tailor, {}, { store })
    await using client = await modern({ url: server.url })
    const id = taskIdIn(await client.call('Tailor', { message: 'suit' }))
    const colours = ['red', 'blue', 'red', 'green']
    store.hold(colours.length)
    const replies = Promise.all(colours.map((answer) => client.call('a2a_reply', { task_id: id, answer })))
    await until(() => answers.length > 0)
    finish.open()
    const [accepted] = answers
    for (const [index, reply] of (await replies).entries()) {
      const isAccepted = colours[index] === accepted
      expect(reply.isError ?? false).toBe(!isAccepted)
      expect(textIn(reply)).toContain(isAccepted ? `Made: ${accepted}` : 'The question is not open any more')
    }
    expect(answers).toHaveLength(1)
  })
})

describe('access', () => {
  it('hides the tasks of other callers', async () => {
    await using server = await serveMcp(createTailor().tailor, {}, { auth })
    await using alice = await modern({ url: server.url, headers: as('a') })
    await using bob = await modern({ url: server.url, headers: as('b') })
    const id = taskIdIn(await alice.call('Tailor', { message: 'suit' }))
    for (const task_id of [id, 'Tailor/unknown', 'Chef/1', 'Tailor', '', 7]) {
      for (const tool of ['a2a_task', 'a2a_reply']) {
        const result = await bob.call(tool, { task_id, answer: '1' })
        expect(result.isError, `${tool} ${task_id}`).toBe(true)
      }
    }
    expect(textIn(await alice.call('a2a_reply', { task_id: id, answer: '50' }))).toContain('Made: 50')
  })

  it('refuses callers without credentials, and names the authorization server', async () => {
    const login = oidc('https://id.example', { audience: 'https://agents.example' })
    await using server = await serveMcp(createTailor().tailor, {}, { auth: login })
    const refused = await fetch(server.url, post({ jsonrpc: '2.0', id: 1, method: 'ping' }))
    expect(refused.status).toBe(401)
    expect(await refused.json()).toMatchObject({ jsonrpc: '2.0', error: { code: expect.any(Number) } })
    const address = /resource_metadata="([^"]+)"/.exec(refused.headers.get('www-authenticate') ?? '')?.[1] ?? ''
    expect(new URL(address).pathname).toBe('/.well-known/oauth-protected-resource/mcp')
    const metadata = await fetch(new URL(new URL(address).pathname, server.url))
    expect(await metadata.json()).toMatchObject({ authorization_servers: ['https://id.example'] })
  })

  it('refuses a skill that the caller may not use', async () => {
    const pay = { id: 'pay', input: fromJsonSchema({ type: 'object' }) }
    const guarded = agent(
      { name: 'Bank', skills: [{ ...pay, securityRequirements: [{ schemes: { bearer: { list: ['pay'] } } }] }] },
      async function* () {
        yield 'Paid'
      },
    )
    const callers = bearer({ a: { id: 'alice', scopes: ['pay'] }, b: { id: 'bob', scopes: [] } })
    await using server = await serveMcp(guarded, {}, { auth: callers })
    await using alice = await modern({ url: server.url, headers: as('a') })
    await using bob = await modern({ url: server.url, headers: as('b') })
    expect(textIn(await alice.call('Bank_pay', {}))).toContain('Paid')
    const refused = await bob.call('Bank_pay', {})
    expect(refused.isError).toBe(true)
    expect(textIn(refused)).toContain('pay')
  })
})

describe('tasks', () => {
  it.each(Object.entries(clients))('go on when the server closes the connection of client %s', async (_name, open) => {
    const store = new MemoryStore()
    const { tailor, begun } = createTailor()
    const server = await serveMcp(tailor, {}, { store })
    await using client = await open({ url: server.url })
    const calling = client.call('Tailor', { message: 'slow' }).catch(() => undefined)
    await begun.opened
    await server[Symbol.asyncDispose]()
    await using again = await serveMcp(createTailor().tailor, {}, { store })
    const tasks = await again.served.services.get('Tailor')?.listTasks({}, { caller: { id: 'anonymous' } })
    expect(tasks?.tasks.map(({ status }) => status.state)).not.toContain('TASK_STATE_CANCELED')
    expect(tasks?.tasks).toHaveLength(1)
    await client[Symbol.asyncDispose]()
    await calling
  })

  it('go on when a client cancels a2a_task, which only waits', async () => {
    const { tailor, begun, finish } = createTailor()
    await using server = await serveMcp(tailor)
    const session = await openSession(server.url)
    const calling = await session.send(call('slow'))
    await begun.opened
    const service = server.served.services.get('Tailor')
    const tasks = async () => (await service?.listTasks({}, { caller: { id: 'anonymous' } }))?.tasks
    const params = { name: 'a2a_task', arguments: { task_id: `Tailor/${(await tasks())?.[0]?.id}` } }
    const waiting = await session.send({ ...call(''), id: 4, params })
    await session.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 4 } })
    expect(await session.isOpen()).toBe(true)
    finish.open()
    expect(await calling.text()).toContain('Half. Whole.')
    expect((await tasks())?.map(({ status }) => status.state)).toEqual(['TASK_STATE_COMPLETED'])
    await waiting.body?.cancel()
  })

  it('go on when a client of an older revision ends its session', async () => {
    const { tailor, begun, finish } = createTailor()
    await using server = await serveMcp(tailor)
    const session = await openSession(server.url)
    const calling = await session.send(call('slow'))
    await begun.opened
    await fetch(server.url, { method: 'DELETE', headers: session.headers })
    await calling.text()
    finish.open()
    const service = server.served.services.get('Tailor')
    const states = async () =>
      (await service?.listTasks({}, { caller: { id: 'anonymous' } }))?.tasks.map(({ status }) => status.state)
    await until(async () => (await states())?.[0] === 'TASK_STATE_COMPLETED')
  })
})

const post = (body: unknown, headers: Record<string, string> = {}): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
  body: typeof body === 'string' ? body : JSON.stringify(body),
})

const call = (message: string) => ({
  jsonrpc: '2.0',
  id: 2,
  method: 'tools/call',
  params: { name: 'Tailor', arguments: { message } },
})

const hello = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: info },
}

/** A session of revision 2025-06-18, without a client. */
async function openSession(url: string, more: Record<string, string> = {}, capabilities: object = {}) {
  const opened = await fetch(url, post({ ...hello, params: { ...hello.params, capabilities } }, more))
  await opened.text()
  const headers = { ...more, 'mcp-session-id': opened.headers.get('mcp-session-id') ?? '' }
  const send = (body: unknown) => fetch(url, post(body, headers))
  const isOpen = async () => {
    const response = await send({ jsonrpc: '2.0', id: 3, method: 'ping' })
    await response.text()
    return response.status === 200
  }
  return { status: opened.status, headers, send, isOpen }
}

/** The messages in a response with server-sent events. */
async function* messagesOf({ body }: Response): AsyncGenerator<unknown, void, void> {
  let text = ''
  for await (const chunk of body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += chunk
    const frames = text.split('\n\n')
    text = frames.pop() ?? ''
    for (const frame of frames) {
      const data = /^data: (.+)$/m.exec(frame)?.[1]
      if (data !== undefined) yield JSON.parse(data)
    }
  }
}

describe('sessions of older revisions', () => {
  it('ask on the stream of the call, which a client need not listen beside', async () => {
    await using server = await serveMcp(createTailor().tailor)
    const session = await openSession(server.url, {}, { elicitation: {} })
    const response = await session.send(call('suit'))
    const events = messagesOf(response)
    const asked = (await events.next()).value as { readonly id: number; readonly method: string }
    expect(asked).toMatchObject({ method: 'elicitation/create', params: { message: 'Which size?' } })
    await session.send({ jsonrpc: '2.0', id: asked.id, result: { action: 'accept', content: { answer: '52' } } })
    expect((await events.next()).value).toMatchObject({ id: 2, result: { content: [{ text: 'Made: 52' }, {}] } })
  })

  it('leave a task waiting whose call is cancelled before the user answers', async () => {
    await using server = await serveMcp(createTailor().tailor)
    const session = await openSession(server.url, {}, { elicitation: {} })
    const events = messagesOf(await session.send(call('suit')))
    await events.next()
    await session.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 2 } })
    expect(await session.isOpen()).toBe(true)
    const tasks = await server.served.services.get('Tailor')?.listTasks({}, { caller: { id: 'anonymous' } })
    expect(tasks?.tasks.map(({ status }) => status.state)).toEqual(['TASK_STATE_INPUT_REQUIRED'])
    await events.return(undefined)
  })

  it('belong to the caller that opened them', async () => {
    await using server = await serveMcp(createTailor().tailor, {}, { auth })
    const alice = await openSession(server.url, as('a'))
    expect(await alice.isOpen()).toBe(true)
    const foreign = { ...alice.headers, ...as('b') }
    for (const headers of [foreign, { ...as('b'), 'mcp-session-id': 'unknown' }]) {
      for (const init of [post(call('hello'), headers), { headers }, { method: 'DELETE', headers }]) {
        const response = await fetch(server.url, init)
        expect(response.status).toBe(404)
        expect(await response.json()).toMatchObject({ jsonrpc: '2.0', error: { message: 'Session not found' } })
      }
    }
    expect(await alice.isOpen()).toBe(true)
    expect((await fetch(server.url, post(call('hello'), as('a')))).status).toBe(400)
  })

  it('are limited: the oldest session of the caller ends, unless all are in use', async () => {
    const { tailor, begun, finish } = createTailor()
    await using server = await serveMcp(tailor, { maxSessions: 2 })
    const [first, second] = [await openSession(server.url), await openSession(server.url)]
    const third = await openSession(server.url)
    expect([await first.isOpen(), await second.isOpen(), await third.isOpen()]).toEqual([false, true, true])
    const busy = await second.send(call('slow'))
    await begun.opened
    const fourth = await openSession(server.url)
    expect([await second.isOpen(), await third.isOpen(), await fourth.isOpen()]).toEqual([true, false, true])
    const alsoBusy = await fourth.send(call('slow'))
    const refused = await fetch(server.url, post(hello))
    expect(refused.status).toBe(429)
    finish.open()
    expect(await busy.text()).toContain('Whole')
    expect(await alsoBusy.text()).toContain('Whole')
  })

  it('of one caller do not displace those of another', async () => {
    await using server = await serveMcp(createTailor().tailor, { maxSessions: 20 }, { auth })
    const alice = await openSession(server.url, as('a'))
    for (let count = 0; count < 30; count++) expect((await openSession(server.url, as('b'))).status).toBe(200)
    expect(await alice.isOpen()).toBe(true)
  })

  it('are not kept if the client does not open them', async () => {
    await using server = await serveMcp(createTailor().tailor, { maxSessions: 1 })
    const session = await openSession(server.url)
    const refused = await fetch(server.url, post(hello, { accept: 'text/plain' }))
    expect(refused.status).toBe(406)
    expect(session.status).toBe(200)
    // A refused request ends no other session.
    expect(await session.isOpen()).toBe(true)
  })

  it('are not kept open by streams that are refused', async () => {
    await using server = await serveMcp(createTailor().tailor, { maxSessions: 1 })
    const first = await openSession(server.url)
    const refused = await fetch(server.url, { headers: { ...first.headers, accept: 'application/json' } })
    expect(refused.status).toBe(406)
    await refused.text()
    expect((await openSession(server.url)).status).toBe(200)
    expect(await first.isOpen()).toBe(false)
  })

  it('end when they are idle, but not during a call or while the client listens', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    try {
      const limits = { maxSessions: 10, sessionIdleMs: 1000 }
      const sessions = new Sessions(sdk, limits, () => new sdk.Server(info))
      const caller = { id: 'alice' }
      let id = ''
      await sessions.open(caller, async (transport) => {
        const response = await transport.handleRequest(new Request('http://localhost/mcp', post(hello)))
        id = transport.sessionId ?? ''
        return response
      })
      const ping = (signal = new AbortController().signal, answer = new Response()) =>
        sessions.use(id, caller, async () => answer, signal)
      const events = (stream: ReadableStream) =>
        new Response(stream, { headers: { 'content-type': 'text/event-stream' } })
      const leaving = new AbortController()
      await ping(leaving.signal, events(new ReadableStream()))
      vi.advanceTimersByTime(10_000)
      await ping()
      vi.advanceTimersByTime(10_000)
      leaving.abort()
      vi.advanceTimersByTime(999)
      await ping()
      const ending = await ping(undefined, events(new Blob(['data: 1\n\n']).stream()))
      vi.advanceTimersByTime(10_000)
      expect(await ending.text()).toBe('data: 1\n\n')
      vi.advanceTimersByTime(999)
      await ping()
      vi.advanceTimersByTime(1000)
      await expect(ping()).rejects.toThrow('Session not found')
    } finally {
      vi.useRealTimers()
    }
  })

  it('keep a session open whose client listens, until it leaves', async () => {
    await using server = await serveMcp(createTailor().tailor, { maxSessions: 1 })
    const session = await openSession(server.url)
    const leaving = new AbortController()
    const headers = { ...session.headers, accept: 'text/event-stream' }
    const stream = await fetch(server.url, { headers, signal: leaving.signal })
    expect(stream.status).toBe(200)
    expect((await openSession(server.url)).status).toBe(429)
    leaving.abort()
    await until(async () => (await openSession(server.url)).status === 200)
  })
})

describe('hostile input', () => {
  it.each([
    ['huge arguments', JSON.stringify(call('x'.repeat(200_000))), 413],
    ['deep arguments', `{"a":${'['.repeat(5000)}${']'.repeat(5000)}}`, 400],
    ['text that is not JSON', '{', 400],
    ['nothing', '', 400],
    ['a number', '7', 400],
    ['an empty batch', '[]', 400],
  ])('%s', async (_name, body, status) => {
    await using server = await serveMcp(createTailor().tailor, {}, { limits: { bodyBytes: 100_000 } })
    const response = await fetch(server.url, post(body))
    expect(response.status).toBe(status)
    expect(await response.json()).toMatchObject({ error: { code: expect.any(Number), message: expect.any(String) } })
  })

  it('refuses batches, which would count as one call for the rate of the port', async () => {
    await using server = await serveMcp(createTailor().tailor)
    const session = await openSession(server.url)
    for (const refused of [
      await session.send([call('hello'), { ...call('hello'), id: 3 }]),
      await session.send([call('hello')]),
      await fetch(server.url, post([hello])),
    ]) {
      expect(refused.status).toBe(400)
      expect(await refused.json()).toMatchObject({ error: { code: -32600, message: 'Batches are not supported' } })
    }
    const tasks = await server.served.services.get('Tailor')?.listTasks({}, { caller: { id: 'anonymous' } })
    expect(tasks?.tasks).toEqual([])
    expect(await session.isOpen()).toBe(true)
  })

  it('refuses other media types and methods', async () => {
    await using server = await serveMcp(createTailor().tailor)
    expect((await fetch(server.url, post(hello, { 'content-type': 'text/plain' }))).status).toBe(415)
    expect((await fetch(server.url, { method: 'PUT' })).status).toBeGreaterThanOrEqual(400)
    expect((await fetch(`${server.url}/below`)).status).toBe(404)
  })

  it('answers wrong arguments and unknown tools with an error', async () => {
    await using server = await serveMcp(createTailor().tailor)
    await using client = await modern({ url: server.url })
    for (const args of [
      {},
      { message: 7 },
      { message: '' },
      { message: 'x', context_id: 7 },
      { message: 'x', context_id: 'y'.repeat(999) },
    ])
      expect((await client.call('Tailor', args)).isError, JSON.stringify(args).slice(0, 50)).toBe(true)
    expect((await client.call('a2a_reply', {})).isError).toBe(true)
    await expect(client.call('unknown', {})).rejects.toThrow('Tool not found')
    await expect(client.call('__proto__', {})).rejects.toThrow('Tool not found')
  })
})

describe('tools', () => {
  it('have unique names of letters, digits, _ and -', async () => {
    const names = ['a2a_reply', 'a2a task', 'Tailör', 'Tailor', '仕立屋', 'x'.repeat(100), `${'x'.repeat(100)}y`]
    const agents = names.map((name) =>
      agent(name, async function* () {
        yield `I am ${name}`
      }),
    )
    await using server = await serveMcp(agents)
    await using client = await modern({ url: server.url })
    const listed = (await client.tools()).map(({ name }) => name)
    expect(new Set(listed).size).toBe(names.length + 2)
    for (const name of listed) expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/)
    const answers = await Promise.all(listed.slice(0, -2).map((name) => client.call(name, { message: 'who?' })))
    expect(answers.map(({ content }) => content[0]?.text)).toEqual(names.map((name) => `I am ${name}`))
  })

  it('are the skills that have a schema, whose arguments are checked', async () => {
    const input = fromJsonSchema<{ cloth: string }>(clothForm)
    const skills = [{ id: 'sew', description: 'Sews', input }, { id: 'chat' }] as const
    const tailor = agent({ name: 'Tailor', skills }, async function* (turn) {
      yield `${turn.text}${JSON.stringify(turn.data())} ${turn.message.metadata?.skillId}`
    })
    await using server = await serveMcp(tailor)
    await using client = await modern({ url: server.url })
    const tools = await client.tools()
    expect(tools.map(({ name }) => name)).toEqual(['Tailor', 'Tailor_sew', 'a2a_reply', 'a2a_task'])
    expect(tools[1]?.inputSchema).toEqual(clothForm)
    const sewn = textIn(await client.call('Tailor_sew', { cloth: 'wool' }))
    expect(sewn).toContain('{"cloth":"wool"} sew')
    expect(sewn).toContain('context_id')
    const wrong = await client.call('Tailor_sew', { cloth: 'jute' })
    expect(wrong.isError).toBe(true)
    expect(textIn(wrong)).toContain('cloth')
  })

  it('do not name the conversation if no tool of the agent takes it', async () => {
    const input = fromJsonSchema<{ cloth: string }>(clothForm)
    const tailor = agent({ name: 'Tailor', skills: [{ id: 'sew', input }] }, async function* (turn) {
      yield turn.data().cloth
    })
    await using server = await serveMcp(tailor)
    await using client = await modern({ url: server.url })
    expect((await client.call('Tailor_sew', { cloth: 'wool' })).content).toMatchObject([{ text: 'wool' }])
  })
})

describe('forms', () => {
  const leaf = fc.oneof(
    fc.record(
      { type: fc.constantFrom('string', 'number', 'integer', 'boolean', 'array', 'object', 'null') },
      { requiredKeys: [] },
    ),
    fc.record({ enum: fc.array(fc.oneof(fc.string(), fc.integer()), { maxLength: 3 }) }),
    fc.record({
      type: fc.constant('array'),
      items: fc.record({ enum: fc.array(fc.string(), { minLength: 1, maxLength: 3 }) }),
    }),
    fc.record({ $ref: fc.constant('#/$defs/x') }),
  )
  const keywords = fc.record(
    {
      title: fc.jsonValue(),
      description: fc.jsonValue(),
      default: fc.jsonValue(),
      format: fc.jsonValue(),
      minLength: fc.jsonValue(),
      minimum: fc.jsonValue(),
      maxItems: fc.jsonValue(),
    },
    { requiredKeys: [] },
  )
  const property = fc.tuple(keywords, leaf).map(([more, type]) => ({ ...more, ...type }))
  const schemas = fc.oneof(
    fc.record(
      {
        type: fc.constant('object'),
        properties: fc.dictionary(fc.string(), property, { maxKeys: 4 }),
        required: fc.jsonValue(),
      },
      { requiredKeys: ['type', 'properties'] },
    ),
    fc.object({ maxDepth: 3 }),
  )

  it('are what the package accepts, for every schema', () => {
    fc.assert(
      fc.property(schemas, (schema) => {
        const { message, requestedSchema } = formOf('Which?', schema as Struct)
        expect(sdk.isSpecType.ElicitRequestFormParams({ mode: 'form', message, requestedSchema })).toBe(true)
      }),
    )
  })

  it('ask for an approval with a boolean', async () => {
    const payer = agent({ name: 'Payer', extensions: [approvals] }, async function* ({ approvals: decisions }) {
      if (!decisions) yield approve([{ id: 'call-1', name: 'pay', args: { amount: 3 } }])
      yield `Approved: ${decisions?.get('call-1')?.approved}`
    })
    await using server = await serveMcp(payer)
    const asked: unknown[] = []
    await using client = await modern(
      { url: server.url },
      {
        answer: (params) => {
          asked.push(params)
          return { action: 'accept', content: { approved: true } }
        },
      },
    )
    expect(textIn(await client.call('Payer', { message: 'go' }))).toContain('Approved: true')
    expect(asked).toMatchObject([{ requestedSchema: { properties: { approved: { type: 'boolean' } } } }])
  })

  it('ask for JSON if the schema is not flat', () => {
    const nested = {
      type: 'object',
      properties: { size: { type: 'object', properties: { chest: { type: 'number' } } } },
    }
    const { message, requestedSchema } = formOf('Which?', nested)
    expect(message).toContain('"chest"')
    expect(requestedSchema.properties).toMatchObject({ answer: { type: 'string' } })
    expect(answerParts({ answer: '{"size":{"chest":1}}' }, nested)).toEqual([{ text: '{"size":{"chest":1}}' }])
  })

  it('survive schemas whose references grow without bound', async () => {
    const levels = Array.from({ length: 30 }, (_, level): [string, JsonValue] => {
      const $ref = `#/$defs/level${level + 1}`
      return [`level${level}`, { anyOf: [{ $ref }, { $ref }] }]
    })
    const schema = {
      type: 'object',
      properties: { a: { $ref: '#/$defs/level0' } },
      $defs: { ...Object.fromEntries(levels), level30: { type: 'object' } },
    }
    const asking = agent('Tailor', async function* ({ number }) {
      if (number === 1) yield ask('Which?', { schema })
      yield 'Done'
    })
    await using server = await serveMcp(asking)
    const asked: unknown[] = []
    await using client = await modern(
      { url: server.url },
      {
        answer: (params) => {
          asked.push(params)
          return { action: 'accept', content: { answer: '{}' } }
        },
      },
    )
    expect(textIn(await client.call('Tailor', { message: 'go' }))).toContain('Done')
    expect(asked).toMatchObject([{ requestedSchema: { properties: { answer: {} } } }])
  })
})
