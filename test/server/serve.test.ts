import { A2AError, agent, apiKey, ask as askCaller, type ServeOptions, serve, working } from 'dragoman'
import { apiKeyCredential } from 'dragoman/client'
import { createHandler } from 'dragoman/server'
import { until } from 'dragoman/testing'
import { describe, expect, it, vi } from 'vitest'
import { z } from 'zod'

const named = (name: string) =>
  agent(name, async function* ({ text }) {
    yield `${name} got ${text}`
  })

async function ask(url: string, text: string, headers: Record<string, string> = {}): Promise<unknown> {
  const message = { messageId: 'm1', role: 'ROLE_USER', parts: [{ text }] }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } })
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body,
  })
  return await response.json()
}

const answerWith = (text: string) => ({ result: { task: { artifacts: [{ parts: [{ text }] }] } } })

describe('serve', () => {
  it('mounts several agents at separate paths, with separate tasks', async () => {
    await using served = await serve([named('First One'), { agent: named('Second'), path: '/two' }])
    const [first, second] = served.agents
    expect(new URL(first?.url ?? '').pathname).toBe('/first-one/')
    expect(await ask(first?.url ?? '', 'hi')).toMatchObject(answerWith('First One got hi'))
    expect(await ask(second?.url ?? '', 'hi')).toMatchObject(answerWith('Second got hi'))
    const list = (await (await fetch(`${second?.url}tasks`)).json()) as { totalSize: number }
    expect(list.totalSize).toBe(1)
    const card = (await (await fetch(`${first?.url}.well-known/agent-card.json`)).json()) as {
      supportedInterfaces: { url: string }[]
    }
    expect(card.supportedInterfaces[0]?.url).toBe(first?.url)
  })

  it('serves an agent on its own port if configured', async () => {
    await using served = await serve([named('Common'), { agent: named('Alone'), port: 0 }])
    const [common, alone] = served.agents
    expect(new URL(common?.url ?? '').port).not.toBe(new URL(alone?.url ?? '').port)
    expect(new URL(alone?.url ?? '').pathname).toBe('/')
    expect(await ask(alone?.url ?? '', 'hi')).toMatchObject(answerWith('Alone got hi'))
  })

  it('lets agents call each other by name', async () => {
    const front = agent('Front', async function* (turn) {
      yield working('asking')
      yield `${(await turn.call('Back', turn.text)).text}!`
    })
    await using served = await serve([front, named('Back')])
    expect(await ask(served.url, 'hi')).toMatchObject(answerWith('Back got hi!'))
  })

  it('names the place in the application when an agent misuses a function of the package', async () => {
    const written = vi.spyOn(console, 'error').mockImplementation(() => undefined)
    const wrong = agent('Wrong', async function* () {
      yield askCaller('Which?', { schema: { type: 'bool' } })
    })
    try {
      await using served = await serve(wrong)
      await ask(served.url, 'hi')
      expect(written.mock.calls.map(([line]) => String(line))).toEqual([
        expect.stringMatching(/The schema of `ask` is not valid: .* at .*serve\.test\.ts/),
      ])
    } finally {
      written.mockRestore()
    }
  })

  it.each([
    [
      'throws',
      () => {
        throw new Error('the disk is full')
      },
    ],
    ['rejects', () => Promise.reject(new Error('the disk is full'))],
  ])('serves calls although its log %s, and writes that to stderr', async (_, log) => {
    const written = vi.spyOn(console, 'error').mockImplementation(() => undefined)
    try {
      const thrower = agent('Thrower', async function* () {
        yield working()
        throw new TypeError('no')
      })
      await using served = await serve(thrower, { log })
      expect(await ask(served.url, 'hello')).toMatchObject({
        result: { task: { status: { state: 'TASK_STATE_FAILED' } } },
      })
      await until(() => written.mock.calls.length > 0)
      expect(written.mock.calls[0]?.[0]).toMatch(/^dragoman error: The function `log` failed: Error: the disk is full/)
    } finally {
      written.mockRestore()
    }
  })

  it('writes errors that an agent throws to stderr, one line each, unless `log` is false', async () => {
    const written = vi.spyOn(console, 'error').mockImplementation(() => undefined)
    const throwing = agent('Thrower', async function* ({ text }) {
      yield working()
      throw new TypeError(`no ${text}`)
    })
    const says = 'x\n\u001b[31m postgres://ann:hunter2@db/x'
    try {
      {
        await using served = await serve(throwing)
        const { result } = (await ask(served.url, says)) as { result: { task: { id: string } } }
        expect(written.mock.calls).toHaveLength(1)
        const [line = ''] = (written.mock.calls[0] ?? []) as string[]
        expect(line).toMatch(
          /^dragoman error: The agent threw \(agent Thrower, task \S+\): TypeError: no x .*serve\.test\.ts/,
        )
        expect(line).toContain(`task ${result.task.id}`)
        for (const hidden of ['\n', '\u001b', 'hunter2']) expect(line).not.toContain(hidden)
      }
      written.mockClear()
      await using silent = await serve(throwing, { log: false })
      await ask(silent.url, says)
      expect(written).not.toHaveBeenCalled()
    } finally {
      written.mockRestore()
    }
  })

  it('requires `auth` on public addresses, or an explicit `none`', async () => {
    await expect(serve(named('Open'), { host: '0.0.0.0' })).rejects.toThrow(/auth/)
    await using served = await serve(named('Open'), { host: '0.0.0.0', auth: 'none' })
    expect(served.url).toContain('localhost')
  })

  it('names the problem of a configuration and the fix', async () => {
    await expect(serve([named('Same'), named('Same')])).rejects.toThrow(/rename|another path/)
    const root = { agent: named('Root'), path: '/' }
    await expect(serve([root, { agent: named('X'), path: '/tasks' }])).rejects.toThrow(/reserved/)
    await expect(serve([{ agent: named('X'), path: '/healthz' }])).rejects.toThrow(/reserved/)
    await expect(serve(named('X'), { store: 'redis://x' })).rejects.toThrow(/sqlite:PATH/)
    await expect(serve([])).rejects.toThrow(/needs an agent/)
    expect(() => agent('', async function* () {})).toThrow(/name/)
  })

  it.each<[unknown, RegExp]>([
    [{ prot: 8001 }, /^Unknown option of serve: prot\. Did you mean `port`\?$/],
    [{ Port: 8001 }, /Did you mean `port`\?/],
    [{ publicUrl: 'a.example' }, /^`publicUrl` must be an address .*: write 'https:\/\/a\.example'; got "a\.example"$/],
    [{ publicUrl: 'localhost:8001' }, /^`publicUrl` must .*: write 'http:\/\/localhost:8001'/],
    [{ publicUrl: 8001 }, /^`publicUrl` must .*: write 'https:\/\/agents\.example'; got 8001$/],
    [{ publicURL: 'https://agents.example' }, /Did you mean `publicUrl`\?/],
    [{ limits: { bodyByte: 1 } }, /^Unknown option of serve\.limits: bodyByte\. Did you mean `bodyBytes`\?$/],
    [{ push: { allowHost: [] } }, /^Unknown option of serve\.push: allowHost\. Did you mean `allowHosts`\?$/],
    [
      { advanced: { deadlines: { bodyTimeout: 1 } } },
      /^Unknown option of serve\.advanced\.deadlines: bodyTimeout\. Its options are firstByteMs/,
    ],
    [{ __proto__: null, constructor: 1 }, /^Unknown option of serve: constructor\./],
    [{ [`port${'t'.repeat(100_000)}`]: 1 }, /Its options are port, host/],
    [8001, /^The options of serve must be an object: \{ port: … \}$/],
    [{ auth: 'secret' }, /^`auth` must be a scheme or a list of schemes: write `auth: apiKey\('…'\)`/],
    [{ auth: ['secret'] }, /^`auth` must be a scheme or a list of schemes/],
    [
      { auth: apiKeyCredential('x') },
      /client credential from 'dragoman\/client'\. Import a scheme such as `apiKey` from 'dragoman'/,
    ],
    [
      { auth: [apiKeyCredential('x')] },
      /client credential from 'dragoman\/client'\. Import a scheme such as `apiKey` from 'dragoman'/,
    ],
    [
      { cors: '*' },
      /^`cors` must be a list of origins: write `cors: \['https:\/\/app\.example'\]`; '\*' is not supported/,
    ],
    [{ cors: ['*'] }, /'\*' is not supported/],
    [{ cors: 'https://app.example' }, /^`cors` must be a list of origins/],
    [{ cors: ['https://app.example/'] }, /got "https:\/\/app\.example\/"$/],
    [{ cors: ['app.example'] }, /got "app\.example"$/],
  ])('names the fix for %j', async (options, message) => {
    await expect(serve(named('X'), options as ServeOptions)).rejects.toThrow(message)
  })

  it('accepts one scheme as well as a list', async () => {
    await using served = await serve(named('X'), { auth: apiKey('secret') })
    expect((await fetch(`${served.url}tasks`)).status).toBe(401)
    expect((await fetch(`${served.url}tasks`, { headers: { 'x-api-key': 'secret' } })).status).toBe(200)
  })

  it('names the fix for options that only `serve` has', async () => {
    await expect(createHandler(named('X'), { port: 8001 } as object)).rejects.toThrow(
      /^Unknown option of createHandler: port\. /,
    )
  })

  it('treats undefined options as absent, and accepts every origin a browser sends', async () => {
    const options = {
      prot: undefined,
      port: undefined,
      cors: ['http://localhost:3000', 'null', 'chrome-extension://abc'],
    }
    await using served = await serve(named('X'), options as object)
    expect((await fetch(new URL('/healthz', served.url))).status).toBe(200)
  })

  it('names the fix for a handler that is not an async generator', async () => {
    const advice = "The handler of B must be an async generator: write agent('B', async function* (turn) { yield '…' })"
    for (const handler of [async () => 'x', function* () {}, 'x', undefined])
      expect(() => agent('B', handler as never)).toThrow(advice)
    const logged: unknown[] = []
    await using served = await serve(agent('B', (() => Promise.resolve('x')) as never), {
      log: ({ error }) => logged.push(error),
    })
    const answer = (await ask(served.url, 'hi')) as { result: { task: { status: { message: object } } } }
    expect(logged).toEqual([new TypeError(advice)])
    expect(answer.result.task.status.message).toMatchObject({ parts: [{ text: `The agent failed: ${advice}` }] })
  })

  it('names the fix for an entry that is not an agent', async () => {
    for (const entry of [undefined, 'X', {}])
      await expect(serve([named('X'), entry as never])).rejects.toThrow(
        "Not an agent: serve.agents[1]; write agent('Shout', …), or { agent: shout, path: '/shout' }",
      )
  })

  it.each([[], [null], [{}], ['  '], [{ name: '' }, async function* () {}]])(
    'names the fix for agent(%j)',
    (...wrong) => {
      const make = agent as unknown as (...given: readonly unknown[]) => unknown
      expect(() => make(...wrong)).toThrow(
        new TypeError("An agent needs a name and a handler: agent('Shout', async function* (turn) { … })"),
      )
    },
  )

  it('separates callers by their keys', async () => {
    await using served = await serve(named('Private'), { auth: [apiKey({ k1: 'ann', k2: 'bob' })] })
    const answer = (await ask(served.url, 'hi', { 'x-api-key': 'k1' })) as { result: { task: { id: string } } }
    const { id } = answer.result.task
    const get = (key: string) => fetch(`${served.url}tasks/${id}`, { headers: { 'x-api-key': key } })
    expect((await get('k1')).status).toBe(200)
    expect((await get('k2')).status).toBe(404)
    expect((await get('nope')).status).toBe(401)
    expect((await fetch(`${served.url}.well-known/agent-card.json`)).status).toBe(200)
  })

  it('wraps single operations of an agent', async () => {
    await using served = await serve(named('Wrapped'), {
      advanced: {
        wrap: (service) => ({
          ...service,
          listTasks: async () => {
            throw new A2AError('PERMISSION_DENIED', 'No lists today')
          },
        }),
      },
    })
    expect(await ask(served.url, 'hi')).toMatchObject(answerWith('Wrapped got hi'))
    const refused = await fetch(`${served.url}tasks`)
    expect(refused.status).toBe(403)
    expect(await refused.json()).toMatchObject({ error: { message: 'No lists today' } })
  })

  it('publishes the schemas of skills as JSON Schema', async () => {
    const typed = agent(
      {
        name: 'Typed',
        skills: [{ id: 'add', input: z.object({ a: z.number() }), output: z.object({ sum: z.number() }) }],
      },
      async function* (turn) {
        yield String(turn.data().a)
      },
    )
    await using served = await serve(typed)
    const card = (await (await fetch(`${served.url}.well-known/agent-card.json`)).json()) as {
      capabilities: { extensions: { params: { skills: { add: { input: { properties: object } } } } }[] }
    }
    expect(card.capabilities.extensions[0]?.params.skills.add.input.properties).toEqual({ a: { type: 'number' } })
  })

  it('answers browsers only from the listed origins', async () => {
    await using served = await serve(named('Web'), { cors: ['https://app.example'] })
    const preflight = (origin: string) =>
      fetch(served.url, { method: 'OPTIONS', headers: { origin, 'access-control-request-method': 'POST' } })
    expect((await preflight('https://app.example')).headers.get('access-control-allow-origin')).toBe(
      'https://app.example',
    )
    expect((await preflight('https://evil.example')).headers.get('access-control-allow-origin')).toBeNull()
    const { status, headers } = await preflight('https://app.example')
    expect([status, headers.get('vary')]).toEqual([204, 'Origin, Access-Control-Request-Headers'])
    expect(headers.get('access-control-max-age')).toBe('7200')
    expect(headers.get('access-control-allow-methods')?.split(',')).toEqual(expect.arrayContaining(['POST', 'DELETE']))
  })

  it('lets pages of the listed origins read responses and their headers', async () => {
    await using served = await serve(named('Web'), { cors: ['https://app.example'], auth: apiKey('k') })
    const get = async (path: string, origin: string) => await fetch(`${served.url}${path}`, { headers: { origin } })
    for (const path of ['.well-known/agent-card.json', 'healthz', 'tasks', 'nowhere']) {
      const { headers } = await get(path, 'https://app.example')
      expect(headers.get('access-control-allow-origin'), path).toBe('https://app.example')
      expect(headers.get('access-control-expose-headers')?.split(','), path).toEqual(
        expect.arrayContaining(['A2A-Version', 'etag', 'www-authenticate']),
      )
      expect(headers.get('vary'), path).toMatch(/(^|, )Origin$/)
      expect((await get(path, 'https://evil.example')).headers.get('access-control-allow-origin'), path).toBeNull()
    }
  })

  it('accepts only GET and HEAD for health checks', async () => {
    await using served = await serve(named('Healthy'))
    for (const path of ['healthz', 'readyz']) {
      expect((await fetch(`${served.url}${path}`, { method: 'HEAD' })).status).toBe(200)
      const response = await fetch(`${served.url}${path}`, { method: 'POST', body: '{}' })
      expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
    }
  })

  it('is healthy immediately, and not ready while it drains', async () => {
    const served = await serve(named('Healthy'))
    expect(await (await fetch(`${served.url}healthz`)).json()).toEqual({ status: 'ok' })
    expect((await fetch(`${served.url}readyz`)).status).toBe(200)
    await served.close()
    await expect(fetch(`${served.url}healthz`)).rejects.toThrow()
  })
})
