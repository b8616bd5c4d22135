import { readFileSync } from 'node:fs'
import { type AgentService, agent as defineAgent, apiKey as requireKey, bearer as requireToken, serve } from 'dragoman'
import { createHandler, generateSigningKey } from 'dragoman/server'
import { describe, expect, it, vi } from 'vitest'
import { echoAgent } from '../testing/echo-agent.js'
import { hostile } from '../transports/grpc/client.fixture.js'
import { v1Card } from './cards.fixture.js'
import { json, serveHttp } from './http-server.fixture.js'
import {
  A2AError,
  type AgentClient,
  apiKeyCredential,
  basicCredential,
  bearerCredential,
  type CardDocument,
  type ConnectOptions,
  type ConnectWarning,
  type CredentialSource,
  collect,
  connect,
  connectAgents,
  createCardCache,
  type WireEntry,
} from './index.js'
import { originOf, trustedOriginsOfFound } from './trusted-origins.js'

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string
}

describe('connect', () => {
  it('sends a message and returns the answer', async () => {
    await using served = await serve(echoAgent)
    await using agent = await connect(served.url)
    expect((await agent.ask('Hello')).text).toBe('Hello')
    expect(agent.choice).toMatchObject({ dialect: 'v1', binding: 'JSONRPC', url: served.url })
    expect(agent.choice.reasons[0]).toMatch(/^Took JSONRPC 1\.0/)
  })

  describe('to an agent in this process', () => {
    const calls = async (client: AgentClient) => {
      const { task } = await client.ask('ask')
      const chunks = await collect(client.stream('chunks 2'))
      const unknown = await client
        .task('none')
        .get()
        .catch((error: unknown) => error)
      return [task?.status.state, chunks.text, unknown instanceof A2AError && unknown.code]
    }
    const answers = ['TASK_STATE_INPUT_REQUIRED', 'chunk 1 chunk 2 ', 'TASK_NOT_FOUND']

    it('calls a handler, a fetch-style function, a service and an agent', async () => {
      const handler = await createHandler(echoAgent, { publicUrl: 'https://agents.example/api' })
      const service = handler.services.get('Echo') as AgentService
      for (const ref of [handler, (request: Request) => handler.fetch(request), service, echoAgent]) {
        await using client = await connect(ref)
        expect(await calls(client)).toEqual(answers)
      }
      await handler.close()
    })

    it('calls any dialect and HTTP binding of a handler, with credentials', async () => {
      const handler = await createHandler([echoAgent], { auth: [requireToken('secret')] })
      await expect(connect(handler).then((client) => client.ask('hello'))).rejects.toThrow(
        expect.objectContaining({ code: 'UNAUTHENTICATED' }),
      )
      for (const [dialect, binding] of [
        ['v1', 'HTTP+JSON'],
        ['v0.3', 'JSONRPC'],
      ] as const) {
        await using client = await connect(handler, { dialect, binding, credentials: bearerCredential('secret') })
        expect(await calls(client)).toEqual(answers)
        expect(client.choice).toMatchObject({
          dialect,
          binding,
          url: expect.stringMatching('^http://localhost/echo/?$'),
        })
      }
      await handler.close()
    })

    it('rejects options that do not apply to a service', async () => {
      const handler = await createHandler(echoAgent)
      const service = handler.services.get('Echo') as AgentService
      const refused: ConnectOptions = {
        credentials: bearerCredential('secret'),
        signatures: 'require',
        allowedOrigins: ['*'],
        resolvers: [],
        dialects: [],
        cache: createCardCache(),
        pin: true,
      }
      for (const [name, value] of Object.entries(refused))
        await expect(connect(service, { [name]: value })).rejects.toThrow(
          `\`${name}\` has no effect on a service, which is called directly; connect to the handler instead`,
        )
      const used = { timeoutMs: 0, retry: {}, breaker: {}, signal: new AbortController().signal, onWarning: () => {} }
      await using client = await connect(service, used)
      expect(await calls(client)).toEqual(answers)
      await handler.close()
    })

    it.each([
      [undefined, 'undefined'],
      ['hello', 'a string'],
      [{ status: 200 }, 'an object'],
    ])('rejects a handler that returns %j', async (returned, described) => {
      const message = `The handler returned ${described}, expected a Response`
      const urls: string[] = []
      const handle = (async ({ url }: Request) => {
        urls.push(url)
        return returned
      }) as unknown as (request: Request) => Promise<Response>
      await expect(connect(handle)).rejects.toThrow(message)
      // One attempt for each address at which a card may be.
      expect(urls.length).toBe(new Set(urls).size)
      await expect(connect({ fetch: handle })).rejects.toThrow(message)
      const afterCard = async (request: Request) =>
        request.url.includes('/.well-known/') ? await handler.fetch(request) : await handle(request)
      const handler = await createHandler(echoAgent, { dialects: ['v1'] })
      await using client = await connect(afterCard)
      urls.length = 0
      await expect(client.getTask({ id: 'any' })).rejects.toThrow(message)
      // One attempt for each interface of the card.
      expect(urls.length).toBe(new Set(urls).size)
      await handler.close()
    })

    it('copies requests and results of a service', async () => {
      const handler = await createHandler(echoAgent)
      await using client = await connect(handler.services.get('Echo') as AgentService)
      const message = { messageId: 'copied', role: 'ROLE_USER' as const, parts: [{ text: 'ask' }] }
      const sent = await client.sendMessage({ message })
      if (!('task' in sent)) throw new Error('expected a task')
      const { id } = sent.task
      const before = JSON.stringify(await client.getTask({ id }))
      Object.assign(message.parts[0] as object, { text: 'changed' })
      Object.assign(sent.task.status, { state: 'TASK_STATE_COMPLETED' })
      Object.assign((await client.getTask({ id })).status, { state: 'TASK_STATE_FAILED' })
      for await (const event of client.subscribeToTask({ id })) {
        if ('task' in event.event) Object.assign(event.event.task.status, { state: 'TASK_STATE_FAILED' })
        break
      }
      expect(JSON.stringify(await client.getTask({ id }))).toBe(before)
      await handler.close()
    })

    it('aborts the turns of the agent that it started when it is closed', { timeout: 8000 }, async () => {
      let begin = () => {}
      const begun = new Promise<void>((resolve) => {
        begin = resolve
      })
      let wasAborted = false
      const client = await connect(
        defineAgent('Waiting', async function* ({ signal }) {
          yield 'first'
          begin()
          await new Promise((resolve) => signal.addEventListener('abort', resolve))
          wasAborted = true
        }),
      )
      const asked = client.ask('hello').catch(() => undefined)
      await begun
      await client.close()
      expect(wasAborted).toBe(true)
      await asked
    })

    it('limits an infinite `timeoutMs` to the longest timer', async () => {
      const handler = await createHandler(echoAgent)
      const timers = vi.spyOn(globalThis, 'setTimeout')
      for (const ref of [handler, handler.services.get('Echo') as AgentService]) {
        await using client = await connect(ref, { timeoutMs: Number.POSITIVE_INFINITY })
        expect((await client.ask('hello')).text).toBe('hello')
      }
      const delays = timers.mock.calls.map(([, delayMs = 0]) => delayMs)
      timers.mockRestore()
      expect(Math.max(...delays)).toBe(0x7fff_ffff)
      await handler.close()
    })

    it('stops the agent that it started when it is closed', async () => {
      const client = await connect(echoAgent)
      await client.close()
      await expect(client.ask('hello')).rejects.toThrow()
    })
  })

  it('names `publicUrl` when the agent cannot be reached at the address on its card', async () => {
    const gone = await serveHttp(() => undefined)
    const { origin } = gone
    await gone[Symbol.asyncDispose]()
    await using server = await serveHttp((_, response) => json(response, v1Card(origin)))
    await using agent = await connect(server.origin, { retry: { attempts: 1 } })
    const message = new RegExp(
      `nothing listens there \\(ECONNREFUSED\\)\\. The card at ${server.origin}/.well-known/agent-card.json names ${origin}.*: set \`publicUrl\` `,
    )
    await expect(agent.ask('hello')).rejects.toThrow(message)
    await expect(collect(agent.stream('hello'))).rejects.toThrow(message)
  })

  it('rejects targets that are not an agent, in types and at run time', async () => {
    // @ts-expect-error a list
    await expect(connect([])).rejects.toThrow('`connect` needs one agent, got a list')
    // @ts-expect-error a list
    await expect(connect(['http://localhost:8001'])).rejects.toThrow('`connectAgents({ Name: [...] })`')
    // @ts-expect-error a number
    await expect(connect(8001)).rejects.toThrow('`connect` needs the address, the name or the card of an agent')
    // @ts-expect-error a function that returns no response
    await expect(connect(() => 8001)).rejects.toThrow('The handler returned a number, expected a Response')
  })

  it.each([async () => undefined, 'https://registry.example', ['https://registry.example'], {}])(
    'says what to write in place of `resolvers: %j`',
    async (given) => {
      const options = { resolvers: given } as unknown as ConnectOptions
      const message =
        "`resolvers` must be a list of resolvers: write `resolvers: [registryResolver('https://registry.example')]`"
      await expect(connect('weather', options)).rejects.toThrow(message)
      expect(() => connectAgents({}, options)).toThrow(message)
    },
  )

  it('accepts a host, an address, the address of a card, or a card', async () => {
    await using served = await serve(echoAgent)
    const url = new URL(served.url)
    const card: unknown = await (await fetch(`${url}.well-known/agent-card.json`)).json()
    for (const ref of [url.host, url.href, `${url}.well-known/agent-card.json`, card as CardDocument]) {
      await using agent = await connect(ref)
      expect((await agent.ask('hi')).text).toBe('hi')
    }
  })

  it.each<[unknown, unknown, RegExp]>([
    [
      undefined,
      {},
      /^`connect` needs the address, the name or the card of an agent: connect\('http:.*; got undefined$/,
    ],
    [null, {}, /; got null$/],
    [8001, {}, /; got 8001$/],
    ['agent.example', { credential: 1 }, /^Unknown option of connect: credential\. Did you mean `credentials`\?$/],
    [
      'agent.example',
      { retry: { attempt: 1 } },
      /^Unknown option of connect\.retry: attempt\. Did you mean `attempts`\?$/,
    ],
    ['agent.example', 'secret', /^The options of connect must be an object/],
    ['agent.example', { credentials: requireKey('x') }, /must be made by `apiKeyCredential`/],
    ['agent.example', { credentials: [requireKey('x')] }, /of 'dragoman\/client'/],
    ['agent.example', { credentials: 'secret' }, /write `credentials: apiKeyCredential\('…'\)`/],
  ])('names the right call in the error of connect(%j, %j)', async (ref, options, message) => {
    await expect(connect(ref as string, options as object)).rejects.toThrow(message)
  })

  it.each([
    ['an API key', { credentials: apiKeyCredential('secret') }],
    ['a token', { credentials: [bearerCredential('token')] }],
    ['a credential by the name of its scheme', { credentials: { bearer: bearerCredential('token') } }],
    ['a header', { headers: { 'x-api-key': 'secret' } }],
  ])('reads a protected card with %s', async (_, options) => {
    await using served = await serve(echoAgent, {
      auth: [requireKey('secret'), requireToken('token')],
      advanced: { protectCard: true },
    })
    await expect(connect(served.url)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
    await expect(connect(served.url, { credentials: apiKeyCredential('wrong') })).rejects.toMatchObject({
      code: 'UNAUTHENTICATED',
      message: expect.stringContaining('the credentials that were sent were refused'),
    })
    const wire: WireEntry[] = []
    const cache = createCardCache()
    await using agent = await connect(served.url, { ...options, cache, onWire: (entry) => wire.push(entry) })
    expect((await agent.ask('hi')).text).toBe('hi')
    expect(JSON.stringify(wire)).not.toMatch(/secret|Bearer token/)
    // A protected card is not shared between callers.
    await expect(connect(served.url, { cache })).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
  })

  it.each(['JSONRPC', 'HTTP+JSON', 'GRPC'] as const)(
    'distinguishes refused credentials from missing ones over %s',
    async (binding) => {
      await using served = await serve(echoAgent, { auth: [requireKey('secret')] })
      const refusalWith = async (options: ConnectOptions) => {
        await using agent = await connect(served.url, { binding, ...options })
        const refusals = [agent.ask('hi'), collect(agent.stream('hi'))].map((call) =>
          call.then(
            () => 'answered',
            (error: Error) => error.message,
          ),
        )
        return await Promise.all(refusals)
      }
      const refused = expect.stringMatching(/^The agent refused the credentials that were sent: /)
      const missing = expect.not.stringContaining('that were sent')
      expect(await refusalWith({})).toEqual([missing, missing])
      expect(await refusalWith({ headers: { 'x-trace': '1' } })).toEqual([missing, missing])
      expect(await refusalWith({ credentials: bearerCredential('x') })).toEqual([missing, missing])
      expect(await refusalWith({ credentials: apiKeyCredential('wrong') })).toEqual([refused, refused])
      expect(await refusalWith({ headers: { 'X-API-Key': 'wrong' } })).toEqual([refused, refused])
    },
  )

  it('sends credentials for a card only after a rejection, and only to the origin that the user named', async () => {
    const secrets = (server: { readonly seen: readonly { readonly headers: object }[] }) =>
      server.seen.map(({ headers }) => /secret/.test(JSON.stringify(headers)))
    const options = { credentials: apiKeyCredential('secret'), headers: { 'x-also': 'secret too' } }
    await using other = await serveHttp((_, response) => json(response, {}, {}, 401))
    await using open = await serveHttp((_, response) => json(response, v1Card('http://localhost:9')))
    await (await connect(open.origin, { ...options, allowedOrigins: ['*'] })).close()
    expect(secrets(open)).toEqual([false])
    await using moved = await serveHttp(({ path, headers }, response) =>
      headers['x-api-key'] === 'secret'
        ? json(response, {}, { location: other.origin + path }, 302)
        : json(response, {}, {}, 401),
    )
    await expect(connect(moved.origin, options)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
    expect([secrets(moved), secrets(other)]).toEqual([[false, true], [false]])
    // A URL from a registry was not named by the user.
    const resolvers = [async () => other.origin]
    await expect(connect('found', { ...options, resolvers, allowPrivate: true })).rejects.toThrow()
    expect(secrets(other)).not.toContain(true)
  })

  it('asks resolvers for names', async () => {
    await using served = await serve(echoAgent)
    const resolvers = [
      Object.assign(async (name: string) => (name === 'echo' ? served.url : undefined), { source: 'user' }),
    ]
    await using agent = await connect('echo', { resolvers })
    expect(agent.card.name).toBe('Echo')
  })

  it.each(['JSONRPC', 'HTTP+JSON', 'GRPC'] as const)(
    'sends the credentials that the card requires over %s',
    async (binding) => {
      await using served = await serve(echoAgent, { auth: [requireKey('secret')] })
      await using anonymous = await connect(served.url, { binding })
      await expect(anonymous.ask('hi')).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
      const wire: WireEntry[] = []
      await using known = await connect(served.url, {
        binding,
        credentials: apiKeyCredential('secret'),
        onWire: (entry) => wire.push(entry),
      })
      expect((await known.ask('hi')).text).toBe('hi')
      expect(wire.length).toBeGreaterThan(2)
      expect(JSON.stringify(wire)).not.toContain('secret')
    },
  )

  it.each(['JSONRPC', 'HTTP+JSON', 'GRPC'] as const)(
    'sends its user agent over %s (R3-PB-12)',
    async (protocolBinding) => {
      const seen: unknown[] = []
      await using http = await serveHttp((request, response) => {
        seen.push(request.headers['user-agent'])
        json(response, {}, {}, 503)
      })
      await using grpc = await hostile({
        unary(metadata, callback) {
          seen.push(metadata.get('user-agent')[0])
          callback({ code: 5 })
        },
      })
      const url = protocolBinding === 'GRPC' ? `127.0.0.1:${grpc.port}` : http.origin
      const supportedInterfaces = [{ url, protocolBinding, protocolVersion: '1.0' }]
      await using agent = await connect(v1Card(url, { supportedInterfaces }), { retry: { attempts: 1 } })
      await expect(agent.task('t').get()).rejects.toThrow()
      expect(seen.map((each) => String(each).split(' ')[0])).toEqual([`dragoman/${version}`])
    },
  )

  it.each<[string, object, CredentialSource, string[]]>([
    [
      'a key under a header of any name',
      { apiKeySecurityScheme: { location: 'header', name: 'X-Odd' } },
      apiKeyCredential('o"dd-value'),
      ['dd-value'],
    ],
    [
      'a key under a parameter of any name',
      { apiKeySecurityScheme: { location: 'query', name: 'odd' } },
      apiKeyCredential('value!~odd'),
      ['value!~odd', 'value%21%7Eodd'],
    ],
    ['a token', { httpAuthSecurityScheme: { scheme: 'Bearer' } }, bearerCredential('to-be-kept'), ['to-be-kept']],
    ['a password', { httpAuthSecurityScheme: { scheme: 'Basic' } }, basicCredential('me', 'kept'), [btoa('me:kept')]],
  ])('redacts %s in every message of the agent (R-SEC-5)', async (_what, scheme, credentials, hidden) => {
    await using server = await serveHttp(({ path, headers }, response) => {
      if (path.startsWith('/.well-known'))
        return json(
          response,
          v1Card(server.origin, { securitySchemes: { s: scheme }, securityRequirements: [{ schemes: { s: {} } }] }),
        )
      const repeated = `${path} ${headers['x-odd']} ${headers.authorization}`
      const task = { id: repeated, contextId: 'c', status: { state: 'TASK_STATE_COMPLETED' } }
      return json(response, { jsonrpc: '2.0', id: 1, result: task }, { 'x-repeated': repeated })
    })
    const wire: WireEntry[] = []
    await using agent = await connect(server.origin, {
      credentials,
      headers: { 'x-mine': 'given-along' },
      onWire: (entry) => wire.push(entry),
    })
    await agent
      .task('t')
      .get()
      .catch(() => undefined)
    expect(server.seen.at(-1)?.headers['x-mine']).toBe('given-along')
    const sent = `${server.seen.at(-1)?.path} ${JSON.stringify(server.seen.at(-1)?.headers)}`
    expect(hidden.some((each) => sent.includes(each))).toBe(true)
    expect(wire.at(-1)).toMatchObject({ direction: 'response', body: expect.stringContaining('[redacted]') })
    for (const each of [...hidden, 'given-along']) expect(JSON.stringify(wire)).not.toContain(each)
  })

  it('sends its version with every request (R-VER-1), and credentials in headers only (R-SEC-4)', async () => {
    await using served = await serve(echoAgent, { auth: [requireKey('secret')] })
    const sent: { readonly version: string | null; readonly key: string | null; readonly body: string }[] = []
    const spying: typeof fetch = async (input, init) => {
      const request = new Request(input, init)
      const body = await request.clone().text()
      sent.push({ version: request.headers.get('a2a-version'), key: request.headers.get('x-api-key'), body })
      return await fetch(request)
    }
    await using agent = await connect(served.url, { credentials: apiKeyCredential('secret'), fetch: spying })
    const { task } = await agent.ask('hi')
    await agent.task(task?.id ?? '').get()
    await collect(agent.stream('chunks 2'))
    expect(sent.map(({ version }) => version)).toEqual(sent.map(() => '1.0'))
    expect(sent.slice(1).map(({ key }) => key)).toEqual(sent.slice(1).map(() => 'secret'))
    expect(sent.map(({ body }) => body).join()).not.toContain('secret')
  })

  it('negotiates the version, and does not fall back from a pinned one (R-VER-7)', async () => {
    await using old = await serve(echoAgent, { dialects: ['v0.3'] })
    await using agent = await connect(old.url)
    expect(agent.choice.dialect).toBe('v0.3')
    await expect(connect(old.url, { dialect: 'v1', pin: true })).rejects.toMatchObject({ failure: 'refused' })
  })

  it('falls back to the next interface if the path of the first does not exist', async () => {
    await using served = await serve(echoAgent)
    const card = (await (await fetch(`${served.url}.well-known/agent-card.json`)).json()) as object
    const at = (url: string) => ({ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' })
    for (const path of ['wrong', 'v1/rpc', 'tasks/rpc']) {
      const warnings: ConnectWarning[] = []
      const offered = { ...card, supportedInterfaces: [at(served.url + path), at(served.url)] }
      await using agent = await connect(offered, { onWarning: (warning) => warnings.push(warning) })
      expect((await agent.ask('hello')).text).toBe('hello')
      expect(agent.choice.url).toBe(served.url)
      expect(warnings).toMatchObject([
        { code: 'interface-fallback', message: expect.stringContaining('HTTP 40'), choice: { url: served.url } },
      ])
    }
  })

  it('ignores errors of `onWarning`', async () => {
    await using served = await serve(echoAgent)
    const at = (url: string) => ({ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' })
    const supportedInterfaces = [at(`${served.url}wrong`), at(served.url)]
    let warnings = 0
    const onWarning = () => {
      warnings += 1
      throw new Error('onWarning failed')
    }
    await using agent = await connect(v1Card(served.url, { supportedInterfaces }), { onWarning })
    expect((await agent.ask('hello')).text).toBe('hello')
    expect(warnings).toBeGreaterThan(0)
  })

  it('continues the task that asked a question', async () => {
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

  it('rejects unreachable agents and unsupported dialects', async () => {
    await expect(connect('127.0.0.1:9')).rejects.toMatchObject({ name: 'TransportError', failure: 'unreachable' })
    await using served = await serve(echoAgent, { dialects: ['v1'] })
    await expect(connect(served.url, { dialect: 'v0.3', pin: true })).rejects.toMatchObject({ failure: 'refused' })
  })
})

describe('agents from a registry', () => {
  /** A resolver that finds one card in the registry at a URL. */
  const knowing = (card: object, source?: string) =>
    Object.assign(async () => [card], { ...(source !== undefined && { source }) })
  const here = 'http://127.0.0.1:8020'
  const cardAt = async (url: string) =>
    (await (await fetch(new URL('/.well-known/agent-card.json', url))).json()) as object

  it.each(['JSONRPC', 'HTTP+JSON', 'GRPC'] as const)(
    'get credentials over %s only if they are allowed',
    async (binding) => {
      await using served = await serve(echoAgent, { auth: [requireKey('secret')] })
      const resolvers = [knowing(await cardAt(served.url), here)]
      const warnings: ConnectWarning[] = []
      const wire: WireEntry[] = []
      const options = {
        binding,
        resolvers,
        credentials: apiKeyCredential('secret'),
        headers: { 'x-tenant-secret': 'hidden' },
      }
      await using found = await connect('echo', {
        ...options,
        onWarning: (warning) => warnings.push(warning),
        onWire: (entry) => wire.push(entry),
      })
      await expect(found.ask('hi')).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
      expect(JSON.stringify(wire.map(({ headers }) => headers))).not.toMatch(/x-api-key|x-tenant-secret/)
      expect(warnings).toContainEqual({
        code: 'credentials-withheld',
        message: expect.stringContaining('add it to `allowedOrigins`'),
        origin: originOf(found.choice.url),
        canAllow: true,
      })
      for (const allowed of [found.choice.url, '*']) {
        await using agent = await connect('echo', { ...options, allowedOrigins: [allowed] })
        expect((await agent.ask('hi')).text).toBe('hi')
      }
    },
  )

  it('get credentials if a key that the user trusts has signed the card', async () => {
    const key = await generateSigningKey()
    const { d: _, ...publicKey } = key
    await using served = await serve(echoAgent, {
      auth: [requireKey('secret')],
      advanced: { signing: { keys: [key] } },
    })
    const options = { resolvers: [knowing(await cardAt(served.url), here)], credentials: apiKeyCredential('secret') }
    await using agent = await connect('echo', { ...options, signatures: { keys: [publicKey] } })
    expect((await agent.ask('hi')).text).toBe('hi')
    // A key that the agent itself publishes proves only that the agent signed.
    await using unproved = await connect('echo', options)
    await expect(unproved.ask('hi')).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
  })

  it.each(['JSONRPC', 'GRPC'] as const)(
    'are not dialled over %s in a network class that their registry is not in',
    async (binding) => {
      await using inside = await serveHttp((_, response) => response.end('{}'))
      const url = binding === 'GRPC' ? `127.0.0.1:${inside.port}` : inside.origin
      const card = v1Card(url, { supportedInterfaces: [{ url, protocolBinding: binding, protocolVersion: '1.0' }] })
      for (const [source, more] of [
        [undefined, {}],
        ['https://203.0.113.1', {}],
        ['http://10.0.0.1:8020', {}],
        [here, { allowNeighbours: false }],
      ] as const) {
        await using agent = await connect('x', { resolvers: [knowing(card, source)], retry: { attempts: 1 }, ...more })
        await expect(agent.ask('hi')).rejects.toThrow('must not be reached')
      }
      expect(inside.connections()).toBe(0)
      await using agent = await connect('x', { resolvers: [knowing(card, here)], retry: { attempts: 1 } })
      await expect(agent.ask('hi')).rejects.toThrow()
      expect(inside.connections()).toBeGreaterThan(0)
    },
  )

  it.each([
    ['https://agent.example', true],
    ['http://agent.example', false],
    ['http://10.0.0.1:8001', false],
    ['http://localhost:8001', true],
    ['http://127.0.0.1:8001', true],
    ['http://[::1]:8001', true],
    ['http://agent.localhost:8001', false],
    ['agent.example:443', false],
    ['localhost:8001', true],
  ])('get allowed credentials at %s: %s', (url, isTrusted) => {
    const unsigned = { state: 'absent' } as const
    expect(trustedOriginsOfFound([url], { allowedOrigins: ['*'] }, unsigned).length > 0).toBe(isTrusted)
    expect(trustedOriginsOfFound([url], {}, { state: 'valid' }).length > 0).toBe(isTrusted)
    expect(trustedOriginsOfFound([url], {}, unsigned)).toEqual([])
    expect(trustedOriginsOfFound([url], {}, { state: 'unknown-key' })).toEqual([])
  })
})
