/** Routes of an application on the agents' port. */
import { agent, apiKey, bearer, type CallContext, serve } from 'dragoman'
import { type AuditEntry, createHandler, type Route } from 'dragoman/server'
import { describe, expect, it } from 'vitest'
import { connect } from '../hostile/raw-client.js'

const shout = agent('Shout', async function* ({ text }) {
  yield text.toUpperCase()
})
const at = (path: string, init: RequestInit = {}) => new Request(`http://localhost${path}`, init)
const key = { headers: { 'x-api-key': 'k1' } }

const whoami: Route = { path: '/api/me', answer: async (_, { caller }) => Response.json({ id: caller.id }) }

describe('routes', () => {
  it('require the same auth as the agents', async () => {
    const handler = await createHandler(shout, { auth: [apiKey({ k1: 'alice' })], routes: [whoami] })
    const refused = await handler.fetch(at('/api/me'))
    expect(refused.status).toBe(401)
    expect(refused.headers.get('www-authenticate')).toContain('ApiKey')
    expect(await (await handler.fetch(at('/api/me/deeper', key))).json()).toEqual({ id: 'alice' })
    await handler.close()
  })

  it('reject pages of other origins unless they are public', async () => {
    const open: Route = { path: '/open', isPublic: true, answer: async () => new Response('come in') }
    const handler = await createHandler(shout, { auth: [apiKey('k1')], routes: [whoami, open] })
    const headers = { ...key.headers, origin: 'http://elsewhere.example' }
    expect((await handler.fetch(at('/api/me', { headers }))).status).toBe(403)
    expect(await (await handler.fetch(at('/open', { headers: { origin: headers.origin } }))).text()).toBe('come in')
    await handler.close()
  })

  it('pass requests that they do not handle, and similar paths, to the agents', async () => {
    const page: Route = {
      path: '/',
      isPublic: true,
      answer: ({ headers }) =>
        headers.get('accept') === 'text/html' ? Promise.resolve(new Response('a page')) : undefined,
    }
    const handler = await createHandler(shout, { routes: [page, whoami] })
    expect(await (await handler.fetch(at('/', { headers: { accept: 'text/html' } }))).text()).toBe('a page')
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ListTasks', params: {} })
    const rpc = await handler.fetch(
      at('/', { method: 'POST', headers: { 'content-type': 'application/json', 'a2a-version': '1.0' }, body }),
    )
    expect(await rpc.json()).toMatchObject({ result: { tasks: [] } })
    expect((await handler.fetch(at('/api/mean'))).status).toBe(404)
    expect((await handler.fetch(at('/.well-known/agent-card.json'))).status).toBe(200)
    await handler.close()
  })

  it.each<[string, string, number]>([
    ['to an agent', '/shout/tasks', 200],
    ['to no agent', '/nowhere', 404],
  ])('authenticate, count and record a request once that they pass on %s', async (_, path, status) => {
    let verified = 0
    const entries: AuditEntry[] = []
    const verify = async () => {
      verified += 1
      return { id: 'alice' }
    }
    const pass: Route = { path, answer: () => undefined }
    const handler = await createHandler([{ agent: shout, path: '/shout' }], {
      auth: [bearer(verify)],
      routes: [pass],
      limits: { rate: { perSecond: 0.001, burst: 2 } },
      advanced: { audit: (entry) => entries.push(entry) },
    })
    const call = async () => {
      const headers = { authorization: 'Bearer t', 'a2a-version': '1.0' }
      return (await handler.fetch(at(path, { headers }))).status
    }
    expect([await call(), await call(), await call()]).toEqual([status, status, 429])
    expect(verified).toBe(3)
    const outcome = status === 200 ? 'ok' : 'METHOD_NOT_FOUND'
    expect(entries).toMatchObject([{ outcome }, { outcome }, { outcome: 'RATE_LIMITED', route: path }])
    expect(entries.map(({ caller }) => caller)).toEqual(['alice', 'alice', 'alice'])
    await handler.close()
  })

  it('leave callers to the agents if they are public and pass a request on', async () => {
    const pass: Route = { path: '/tasks', isPublic: true, answer: () => undefined }
    const handler = await createHandler(shout, { auth: [apiKey('k1')], routes: [pass] })
    expect((await handler.fetch(at('/tasks'))).status).toBe(401)
    await handler.close()
  })

  describe('with `cors`', () => {
    const cors = ['https://app.example']
    const exposing = async ({ method }: Request) =>
      new Response(null, {
        status: method === 'OPTIONS' ? 299 : 200,
        headers: { 'access-control-allow-origin': '*', 'access-control-expose-headers': 'x-own' },
      })
    const asking = { 'access-control-request-method': 'PUT' }

    it('answer all requests themselves if they are public', async () => {
      const open: Route = { path: '/open', isPublic: true, answer: exposing }
      const handler = await createHandler(shout, { cors, routes: [open] })
      for (const origin of ['https://app.example', 'https://other.example']) {
        const preflight = await handler.fetch(at('/open', { method: 'OPTIONS', headers: { origin, ...asking } }))
        expect(preflight.status, origin).toBe(299)
        const { headers } = await handler.fetch(at('/open', { headers: { origin } }))
        expect(headers.get('access-control-allow-origin'), origin).toBe('*')
        expect(headers.get('access-control-expose-headers'), origin).toBe('x-own')
        expect(headers.get('vary'), origin).toBeNull()
      }
      await handler.close()
    })

    it('keep the headers that they expose', async () => {
      const handler = await createHandler(shout, { cors, routes: [{ path: '/api', answer: exposing }] })
      const { headers } = await handler.fetch(at('/api', { headers: { origin: 'https://app.example' } }))
      expect(headers.get('access-control-allow-origin')).toBe('https://app.example')
      expect(headers.get('access-control-expose-headers')?.split(',')).toEqual(
        expect.arrayContaining(['x-own', 'etag', 'A2A-Version']),
      )
      await handler.close()
    })

    it('get requests with OPTIONS that are no preflights', async () => {
      const handler = await createHandler(shout, { cors, routes: [{ path: '/api', answer: exposing }] })
      const options = async (headers: Record<string, string>) =>
        (await handler.fetch(at('/api', { method: 'OPTIONS', headers }))).status
      const origin = 'https://app.example'
      expect(await options({})).toBe(299)
      expect(await options({ origin })).toBe(299)
      expect(await options(asking)).toBe(299)
      expect(await options({ origin, ...asking })).toBe(204)
      await handler.close()
    })

    it('leave preflights and responses to the agents that public routes pass on', async () => {
      const page: Route = { path: '/tasks', isPublic: true, answer: () => undefined }
      const handler = await createHandler(shout, { cors, routes: [page] })
      const origin = 'https://app.example'
      const preflight = await handler.fetch(at('/tasks', { method: 'OPTIONS', headers: { origin, ...asking } }))
      expect(preflight.status).toBe(204)
      expect(preflight.headers.get('access-control-allow-origin')).toBe(origin)
      const tasks = await handler.fetch(at('/tasks', { headers: { origin, 'a2a-version': '1.0' } }))
      expect([tasks.status, tasks.headers.get('access-control-allow-origin')]).toEqual([200, origin])
      await handler.close()
    })
  })

  it.each<[string, Route['answer'], string]>([
    ['throw', () => Promise.reject(new Error('a secret')), 'a secret'],
    [
      'return a value that is not a Response',
      async () => ({}) as Response,
      '`answer` of a route must return a Response, or undefined',
    ],
  ])('that %s reveal the reason in the log only', async (_, answer, message) => {
    const logged: unknown[] = []
    const broken: Route = { path: '/broken', answer }
    const handler = await createHandler(shout, { routes: [broken], log: ({ error }) => logged.push(error) })
    const response = await handler.fetch(at('/broken'))
    expect(response.status).toBe(500)
    expect(await response.text()).not.toContain(message)
    expect(logged).toMatchObject([{ message }])
    await handler.close()
  })

  describe('that call agents', () => {
    const workshop = agent(
      {
        name: 'Workshop',
        skills: [
          { id: 'look' },
          { id: 'repair', securityRequirements: [{ schemes: { bearer: { list: ['repair'] } } }] },
        ],
      },
      async function* ({ text }) {
        yield `${text}: repaired`
      },
    )
    const auth = [bearer({ 'token-1': { id: 'alice', scopes: ['repair'] }, 'token-2': 'bob' })]
    const as = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })
    const message = { messageId: 'm1', role: 'ROLE_USER' as const, parts: [{ text: 'a chair' }] }
    const calling = (path: string, context: Partial<CallContext> = {}): Route => ({
      path,
      async answer(_request, { caller, services }) {
        const sent = await services.get('Workshop')?.sendMessage({ message }, { caller, ...context })
        return Response.json(sent)
      },
    })

    it('get the results that their caller would get over A2A', async () => {
      const entries: AuditEntry[] = []
      const handler = await createHandler(workshop, {
        auth,
        routes: [calling('/api/repairs'), calling('/api/acme', { tenant: 'acme' })],
        advanced: {
          tenants: ['acme'],
          policy: { tenants: ({ id }) => id === 'carol' },
          audit: (entry) => entries.push(entry),
        },
      })
      const refused = await handler.fetch(at('/api/repairs', as('token-2')))
      expect(refused.status).toBe(403)
      expect(await refused.json()).toMatchObject({ error: { status: 'PERMISSION_DENIED' } })
      expect((await handler.fetch(at('/api/acme', as('token-1')))).status).toBe(404)
      expect(await (await handler.fetch(at('/api/repairs', as('token-1')))).text()).toContain('a chair: repaired')
      expect((await handler.fetch(at('/api/repairs'))).status).toBe(401)
      const route = { agent: '', route: '/api/repairs' }
      const call = { agent: 'Workshop', operation: 'sendMessage', dialect: 'v1' }
      expect(entries).toMatchObject([
        { ...call, caller: 'bob', outcome: 'PERMISSION_DENIED' },
        { ...route, caller: 'bob', outcome: 'PERMISSION_DENIED' },
        { ...call, caller: 'alice', tenant: 'acme', outcome: 'TASK_NOT_FOUND' },
        { agent: '', route: '/api/acme', caller: 'alice', outcome: 'TASK_NOT_FOUND' },
        { ...call, caller: 'alice', outcome: 'ok', taskId: expect.stringMatching(/\S/) },
        { ...route, caller: 'alice', outcome: 'ok' },
        { ...route, outcome: 'UNAUTHENTICATED' },
      ])
      await handler.close()
    })

    it('appear in the audit when a stream ends', async () => {
      const entries: AuditEntry[] = []
      const streaming: Route = {
        path: '/api/stream',
        async answer(_request, { caller, services }) {
          const items = services.get('Workshop')?.sendStreamingMessage({ message }, { caller })
          let count = 0
          for await (const _item of items ?? []) count += 1
          return Response.json({ count })
        },
      }
      const handler = await createHandler(workshop, {
        auth,
        routes: [streaming],
        advanced: { audit: (entry) => entries.push(entry) },
      })
      expect(await (await handler.fetch(at('/api/stream', as('token-1')))).json()).toEqual({ count: 3 })
      expect((await handler.fetch(at('/api/stream', as('token-2')))).status).toBe(403)
      const call = { agent: 'Workshop', operation: 'sendStreamingMessage' }
      expect(entries.filter(({ operation }) => operation)).toMatchObject([
        { ...call, caller: 'alice', outcome: 'ok', taskId: expect.stringMatching(/\S/) },
        { ...call, caller: 'bob', outcome: 'PERMISSION_DENIED' },
      ])
      await handler.close()
    })
  })

  it('get the same services on every access', async () => {
    const comparing: Route = {
      path: '/compare',
      async answer(_, visit) {
        const { services } = visit
        return Response.json(services === visit.services)
      },
    }
    const handler = await createHandler(shout, { routes: [comparing] })
    expect(await (await handler.fetch(at('/compare'))).json()).toBe(true)
    await handler.close()
  })

  it('have the agents’ limit of body bytes', async () => {
    let read = 0
    const counting: Route = {
      path: '/count',
      isPublic: true,
      async answer(request) {
        for await (const chunk of request.body ?? []) read += chunk.byteLength
        return Response.json({ read })
      },
    }
    const parsing: Route = {
      path: '/parse',
      isPublic: true,
      answer: async (request) => Response.json(await request.json()),
    }
    const logged: unknown[] = []
    await using served = await serve(shout, {
      routes: [counting, parsing],
      limits: { bodyBytes: 1000 },
      log: ({ message }) => logged.push(message),
      advanced: { engine: { stallMs: 0 } },
    })
    const send = (path: string, init: RequestInit) =>
      fetch(new URL(path, served.url), { method: 'POST', duplex: 'half', ...init } as RequestInit)
    const endless = () =>
      new ReadableStream<Uint8Array>({ pull: (controller) => controller.enqueue(new Uint8Array(300)) })
    expect(await (await send('/count', { body: 'x'.repeat(1000) })).json()).toEqual({ read: 1000 })
    expect(await (await send('/count', {})).json()).toEqual({ read: 1000 })
    expect(await (await send('/parse', { body: '{"a":1}' })).json()).toEqual({ a: 1 })
    for (const path of ['/count', '/parse']) {
      const announced = await send(path, { body: 'x'.repeat(1001) })
      expect(announced.status, path).toBe(413)
      expect(await announced.json()).toMatchObject({ error: { message: expect.stringContaining('1000 bytes') } })
      expect((await send(path, { body: endless() })).status, path).toBe(413)
    }
    expect(read).toBeLessThanOrEqual(2000)
    expect(logged).toEqual([])
  })

  describe('on a port', () => {
    let release: () => void = () => undefined
    const first = new Promise<void>((resolve) => {
      release = resolve
    })
    const route = (path: string, answer: Route['answer']): Route => ({ path, answer })
    const routes = [
      route('/cookies', async () => {
        const headers = new Headers([
          ['set-cookie', 'a=1'],
          ['set-cookie', 'b=2, c'],
          ['content-length', '2'],
        ])
        return new Response('ok', { headers })
      }),
      route('/stream', async () => {
        const body = new ReadableStream<Uint8Array>({
          async start(controller) {
            controller.enqueue(new TextEncoder().encode('one'))
            await first
            controller.enqueue(new TextEncoder().encode('two'))
            controller.close()
          },
        })
        return new Response(body)
      }),
      route('/nothing', async () => new Response(null, { status: 204 })),
      route('/head', async ({ method }) => new Response(method, { headers: { 'content-length': '77' } })),
      route('/method', async ({ method }) => new Response(method)),
      route('/query', async ({ url, headers }) => Response.json([new URL(url).search, headers.get('x-two')])),
    ]

    it('keep cookies, lengths, bodies and headers', async () => {
      await using served = await serve(shout, { routes })
      const get = (path: string, init?: RequestInit) => fetch(new URL(path, served.url), init)
      const cookies = await get('/cookies')
      expect(cookies.headers.getSetCookie()).toEqual(['a=1', 'b=2, c'])
      expect([cookies.headers.get('content-length'), await cookies.text()]).toEqual(['2', 'ok'])
      expect((await get('/nothing')).status).toBe(204)
      const head = await get('/head', { method: 'HEAD' })
      expect([head.headers.get('content-length'), await head.text()]).toEqual(['77', ''])
      const query = await get('/query?a=%20b&c', { headers: { 'x-two': '1, 2' } })
      expect(await query.json()).toEqual(['?a=%20b&c', '1, 2'])
    })

    it('send the parts of a stream as they become ready', async () => {
      await using served = await serve(shout, { routes })
      const reader = (await fetch(new URL('/stream', served.url))).body?.getReader()
      const read = async () => new TextDecoder().decode((await reader?.read())?.value)
      expect(await read()).toBe('one')
      release()
      expect(await read()).toBe('two')
      expect((await reader?.read())?.done).toBe(true)
    })

    it('do not get methods that `Request` cannot have', async () => {
      await using served = await serve(shout, { routes })
      using client = await connect(served.url)
      await client.write('TRACE /method HTTP/1.1\r\nHost: localhost\r\n\r\n')
      expect(await client.answer()).toMatchObject({ status: 404 })
      await client.write('PUT /method HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n')
      expect(await client.answer()).toMatchObject({ status: 200, text: 'PUT' })
    })
  })

  it.each(['api', '/api/', '//', ''])('reject %j as a path', async (path) => {
    await expect(createHandler(shout, { routes: [{ ...whoami, path }] })).rejects.toThrow(/Invalid path of a route/)
  })
})
