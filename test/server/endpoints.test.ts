/** Other protocols in front of the agents of a port. */
import { once } from 'node:events'
import { connect as connectHttp2 } from 'node:http2'
import {
  A2AError,
  type AgentService,
  agent,
  apiKey,
  bearer,
  oidc,
  type ServeOptions,
  type StreamItem,
  serve,
} from 'dragoman'
import { withFlows, withScopes } from 'dragoman/auth'
import {
  type AuditEntry,
  createHandler,
  type Endpoint,
  type EventStream,
  expressMount,
  type HandlerOptions,
  type Route,
  type Visit,
} from 'dragoman/server'
import { gate, until } from 'dragoman/testing'
import express from 'express'
import { describe, expect, it } from 'vitest'
import { connect } from '../hostile/raw-client.js'

const shout = agent('Shout', async function* ({ text }) {
  yield text.toUpperCase()
})
const message = (text: string) => ({ messageId: crypto.randomUUID(), role: 'ROLE_USER' as const, parts: [{ text }] })
const at = (path: string, init: RequestInit = {}) => new Request(`http://localhost${path}`, init)
const posting = (body: unknown, headers: Record<string, string> = {}): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': 'application/json', ...headers },
  body: JSON.stringify(body),
})

/** An endpoint whose errors are lines of text. */
const lines = (answer: Endpoint['answer'], more: Partial<Endpoint> = {}): Endpoint => ({
  name: 'lines',
  paths: ['/lines'],
  answer,
  refuse: ({ code, message: text }) => ({
    status: code === 'UNAUTHENTICATED' ? 401 : 400,
    headers: { 'content-type': 'text/plain' },
    body: `${code} ${text}`,
  }),
  ...more,
})
const ok = (body: unknown) => ({
  status: 200,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
})

async function audited(endpoint: Endpoint, options: HandlerOptions = {}, served = shout) {
  const entries: AuditEntry[] = []
  const handler = await createHandler(served, {
    ...options,
    endpoints: [endpoint],
    advanced: { ...options.advanced, audit: (entry) => entries.push(entry) },
  })
  return { entries, fetch: handler.fetch, [Symbol.asyncDispose]: () => handler.close({ deadlineMs: 0 }) }
}

const events = (items: AsyncIterable<string>, more: Partial<EventStream<string>> = {}): EventStream<string> => ({
  items,
  encode: (item) => `data: ${item}\n\n`,
  encodeError: ({ code }) => `event: error\ndata: ${code}\n\n`,
  ...more,
})

describe('endpoints', () => {
  it('see their caller, their path and the agents of the port', async () => {
    const seen = lines(async ({ method, query }, { caller, path, agents }) =>
      ok({
        method,
        query,
        id: caller.id,
        path,
        agents: [...agents].map(([name, { card, url }]) => [name, card.name, url]),
      }),
    )
    const handler = await createHandler([shout], {
      auth: [apiKey({ k1: 'alice' })],
      publicUrl: 'https://agents.example/base',
      endpoints: [seen],
    })
    const response = await handler.fetch(at('/base/lines/deep?a=1', { headers: { 'x-api-key': 'k1' } }))
    expect(await response.json()).toEqual({
      method: 'GET',
      query: 'a=1',
      id: 'alice',
      path: '/lines/deep',
      agents: [['Shout', 'Shout', 'https://agents.example/base/shout']],
    })
    await handler.close()
  })

  it('can be instances of classes', async () => {
    class Page {
      readonly name = 'page'
      readonly paths = ['/page']
      readonly #text = 'a page'
      answer() {
        return ok(this.#text)
      }
      refuse() {
        return ok('refused')
      }
    }
    const handler = await createHandler(shout, { endpoints: [new Page()] })
    expect(await (await handler.fetch(at('/page'))).json()).toBe('a page')
    await handler.close()
  })

  it('answer with a Response too', async () => {
    const whole = lines(async (_, { toRequest }) => new Response(await toRequest().text(), { status: 201 }))
    const handler = await createHandler(shout, { endpoints: [whole] })
    const response = await handler.fetch(at('/lines', { method: 'PUT', body: 'as it came' }))
    expect([response.status, await response.text()]).toEqual([201, 'as it came'])
    await handler.close()
  })

  describe('refuse in their own format', () => {
    it('wrong keys, with a challenge', async () => {
      await using served = await audited(
        lines(() => ok({})),
        { auth: [apiKey({ k1: 'alice' })] },
      )
      const refused = await served.fetch(at('/lines', { headers: { 'x-api-key': 'wrong' } }))
      expect([refused.status, await refused.text()]).toEqual([401, 'UNAUTHENTICATED Missing or invalid credentials'])
      expect(refused.headers.get('www-authenticate')).toContain('ApiKey')
      expect(refused.headers.get('cache-control')).toBe('no-store')
      expect(served.entries).toMatchObject([{ agent: '', endpoint: 'lines', outcome: 'UNAUTHENTICATED' }])
      expect(served.entries[0]).not.toHaveProperty('route')
    })

    it('foreign origins and hosts, and callers above the rate', async () => {
      await using served = await audited(
        lines(() => ok({})),
        {
          limits: { rate: { perSecond: 0.001, burst: 1 } },
          advanced: { allowedHosts: [] },
        },
      )
      const textOf = async (request: Request) => (await served.fetch(request)).text()
      expect(await textOf(at('/lines', { headers: { origin: 'https://evil.example' } }))).toMatch(/^PERMISSION_DENIED/)
      expect(await textOf(new Request('http://rebound.example/lines'))).toMatch(/^PERMISSION_DENIED Host not allowed/)
      expect(await textOf(at('/lines'))).toBe('{}')
      const limited = await served.fetch(at('/lines'))
      expect(await limited.text()).toMatch(/^RATE_LIMITED/)
      expect(Number(limited.headers.get('retry-after'))).toBeGreaterThan(0)
      expect(served.entries.map(({ outcome, endpoint }) => [outcome, endpoint])).toEqual([
        ['PERMISSION_DENIED', 'lines'],
        ['PERMISSION_DENIED', 'lines'],
        ['ok', 'lines'],
        ['RATE_LIMITED', 'lines'],
      ])
    })

    it('errors without their text, which the log gets', async () => {
      const logged: unknown[] = []
      const log: HandlerOptions['log'] = ({ message: text, error }) => logged.push([text, (error as Error).message])
      const broken = lines(() => Promise.reject(new Error('a secret')))
      const wrong = lines(() => ({}) as never, { name: 'wrong', paths: ['/wrong'] })
      const mute = lines(() => Promise.reject(new A2AError('TASK_NOT_FOUND', 'Task not found: 1')), {
        name: 'mute',
        paths: ['/mute'],
        refuse: () => {
          throw new Error('no words')
        },
      })
      const handler = await createHandler(shout, { log, endpoints: [broken, wrong, mute] })
      for (const path of ['/lines', '/wrong'])
        expect(await (await handler.fetch(at(path))).text()).toBe('INTERNAL_ERROR Internal error')
      const unspoken = await handler.fetch(at('/mute'))
      expect([unspoken.status, await unspoken.text()]).toEqual([404, expect.stringContaining('Task not found: 1')])
      expect(logged).toEqual([
        ['The endpoint lines failed', 'a secret'],
        ['The endpoint wrong failed', expect.stringMatching(/must return \{ status, headers, body \}/)],
        ['`refuse` of the endpoint mute failed', 'no words'],
      ])
      await handler.close()
    })
  })

  it('let pages of `cors` send and read the headers of their protocol', async () => {
    const session = lines(() => ({ status: 200, headers: { 'mcp-session-id': '1' }, body: '' }))
    const origin = 'https://app.example'
    const handler = await createHandler(shout, { cors: [origin], auth: [apiKey('k1')], endpoints: [session] })
    const asking = {
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'mcp-session-id,x-api-key',
    }
    const preflight = async (path: string, from = origin) =>
      (await handler.fetch(at(path, { method: 'OPTIONS', headers: { origin: from, ...asking } }))).headers
    expect((await preflight('/lines')).get('access-control-allow-headers')).toBe('mcp-session-id,x-api-key')
    expect((await preflight('/tasks')).get('access-control-allow-headers')).not.toContain('mcp-session-id')
    expect((await preflight('/lines', 'https://evil.example')).get('access-control-allow-origin')).toBeNull()
    const { headers } = await handler.fetch(at('/lines', { headers: { origin, 'x-api-key': 'k1' } }))
    expect(headers.get('access-control-expose-headers')?.split(',')).toEqual(
      expect.arrayContaining(['mcp-session-id', 'retry-after']),
    )
    await handler.close()
  })

  describe('read JSON', () => {
    const reading = lines(async (_, { readJson }) => ok(await readJson()))

    it('within the limits of the port', async () => {
      const handler = await createHandler(shout, { endpoints: [reading], limits: { jsonDepth: 5, jsonElements: 3000 } })
      const answerOf = async (init: RequestInit) => (await handler.fetch(at('/lines', init))).text()
      expect(await answerOf(posting({ a: [1] }))).toBe('{"a":[1]}')
      const deep = `${'['.repeat(1500)}${']'.repeat(1500)}`
      expect(await answerOf({ ...posting({}), body: deep })).toMatch(/^PARSE_ERROR .*jsonDepth/)
      expect(await answerOf(posting(Array(3001).fill(0)))).toMatch(/^PAYLOAD_TOO_LARGE .*jsonElements/)
      expect(await answerOf({ ...posting({}), body: '{' })).toMatch(/^PARSE_ERROR/)
      expect(await answerOf({ method: 'POST', body: '{}' })).toMatch(/^CONTENT_TYPE_NOT_SUPPORTED/)
      await handler.close()
    })

    it('and refuse a body of 20 MB before it has arrived', async () => {
      const entries: AuditEntry[] = []
      await using served = await serve(shout, {
        endpoints: [reading],
        advanced: { audit: (entry) => entries.push(entry) },
      })
      using client = await connect(served.url)
      const size = 20 * 1024 * 1024
      await client.write(
        `POST /lines HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${size}\r\n\r\n[`,
      )
      expect(await client.answer()).toMatchObject({ status: 400, text: expect.stringMatching(/^PAYLOAD_TOO_LARGE/) })
      let sent = 0
      const pieces = new ReadableStream<Uint8Array>({
        pull(controller) {
          sent += 64 * 1024
          if (sent > size) controller.close()
          else controller.enqueue(new Uint8Array(64 * 1024).fill(0x20))
        },
      })
      const init = { ...posting({}), body: pieces, duplex: 'half' } as RequestInit
      const response = await fetch(new URL('/lines', served.url), init)
      expect(await response.text()).toMatch(/^PAYLOAD_TOO_LARGE/)
      expect(sent).toBeLessThan(size)
      expect(entries).toMatchObject(
        Array(2).fill({ endpoint: 'lines', outcome: 'PAYLOAD_TOO_LARGE', limit: 'bodyBytes' }),
      )
    })
  })

  describe('call agents', () => {
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
    const as = (token: string) => ({ authorization: `Bearer ${token}` })
    const repair = lines(async (_, { caller, services, agents }) => {
      expect(services.get('Workshop')).toBe(agents.get('Workshop')?.service)
      return ok(await services.get('Workshop')?.sendMessage({ message: message('a chair') }, { caller }))
    })

    it('only as their caller may, and in the audit', async () => {
      await using served = await audited(repair, { auth }, workshop)
      const overA2A = await served.fetch(at('/message:send', posting({ message: message('a chair') }, as('token-2'))))
      expect(overA2A.status).toBe(403)
      const refused = await served.fetch(at('/lines', { headers: as('token-2') }))
      expect(await refused.text()).toMatch(/^PERMISSION_DENIED .*skill/)
      const done = await served.fetch(at('/lines', { headers: as('token-1') }))
      expect(await done.text()).toContain('a chair: repaired')
      const call = { agent: 'Workshop', operation: 'sendMessage', endpoint: 'lines' }
      expect(served.entries.slice(1)).toMatchObject([
        { ...call, caller: 'bob', outcome: 'PERMISSION_DENIED' },
        { agent: '', endpoint: 'lines', caller: 'bob', outcome: 'PERMISSION_DENIED' },
        { ...call, caller: 'alice', outcome: 'ok', taskId: expect.stringMatching(/\S/) },
        { agent: '', endpoint: 'lines', caller: 'alice', outcome: 'ok' },
      ])
    })

    it('with requests that are checked like those over A2A', async () => {
      const sending = lines(async (_, { caller, services, readJson }) => {
        const parts = [{ data: await readJson() }]
        const request = { message: { ...message(''), parts, taskId: undefined }, configuration: undefined }
        return ok(await services.get('Shout')?.sendMessage(request as never, { caller }))
      })
      await using served = await audited(sending)
      const answerOf = async (body: string) => (await served.fetch(at('/lines', { ...posting({}), body }))).text()
      expect(await answerOf('{"a":1}')).toContain('TASK_STATE_COMPLETED')
      expect(await answerOf('{"__proto__":1}')).toMatch(/^INVALID_PARAMS .*__proto__/)
      expect(await answerOf(`${'['.repeat(65)}${']'.repeat(65)}`)).toMatch(/^INVALID_PARAMS .*nested deeper/)
      expect(served.entries.map(({ agent: name, outcome }) => [name, outcome])).toEqual([
        ['Shout', 'ok'],
        ['', 'ok'],
        ...Array.from({ length: 2 }, () => [
          ['Shout', 'INVALID_PARAMS'],
          ['', 'INVALID_PARAMS'],
        ]).flat(),
      ])
    })

    it('in the trace of the request, unless they name another one', async () => {
      const traced = agent('Traced', async function* (turn) {
        yield `${turn.traceparent}`
      })
      const calling = lines(async ({ query }, { caller, services }) => {
        const context = query === '' ? { caller } : { caller, traceparent: query }
        return ok(await services.get('Traced')?.sendMessage({ message: message('go') }, context))
      })
      await using served = await audited(calling, {}, traced)
      const own = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
      const other = '00-1af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
      const answerOf = async (path: string) => (await served.fetch(at(path, { headers: { traceparent: own } }))).text()
      expect(await answerOf('/lines')).toContain(own)
      expect(await answerOf(`/lines?${other}`)).toContain(other)
    })

    it('and the debug log and the metrics name the endpoint', async () => {
      const logged: unknown[] = []
      await using served = await serve(workshop, {
        auth,
        metrics: true,
        endpoints: [repair],
        log: ({ level, message: text }) => level === 'debug' && logged.push(text),
        advanced: { logCalls: true },
      })
      const get = (path: string) => fetch(new URL(path, served.url), { headers: as('token-1') })
      expect((await get('/lines')).status).toBe(200)
      expect(logged).toEqual(['sendMessage over lines'])
      expect(await (await get('/metrics')).text()).toMatch(/dragoman_calls_total\{.*binding="lines".*\} 1/)
    })
  })

  describe('stream', () => {
    it('events, and are recorded at the end', async () => {
      const go = gate()
      const streaming = lines((_, { stream }) =>
        stream(
          events(
            (async function* () {
              yield 'one'
              await go.opened
              yield 'two'
            })(),
            { encodeEnd: () => 'data: [DONE]\n\n', headers: { 'x-own': 'yes' } },
          ),
        ),
      )
      await using served = await audited(streaming)
      const response = await served.fetch(at('/lines'))
      expect([response.headers.get('content-type'), response.headers.get('x-own')]).toEqual([
        'text/event-stream',
        'yes',
      ])
      expect(served.entries).toEqual([])
      go.open()
      expect(await response.text()).toBe('data: one\n\ndata: two\n\ndata: [DONE]\n\n')
      expect(served.entries).toMatchObject([{ endpoint: 'lines', outcome: 'ok' }])
    })

    it('errors: the first with its status, later ones as events', async () => {
      const failing = lines((_, { path, stream }) =>
        stream(
          events(
            (async function* () {
              if (path.endsWith('/late')) yield 'one'
              throw new A2AError('TASK_NOT_FOUND', 'Task not found: 1')
            })(),
          ),
        ),
      )
      await using served = await audited(failing)
      const early = await served.fetch(at('/lines'))
      expect([early.status, await early.text()]).toEqual([400, 'TASK_NOT_FOUND Task not found: 1'])
      const late = await served.fetch(at('/lines/late'))
      expect([late.status, await late.text()]).toEqual([200, 'data: one\n\nevent: error\ndata: TASK_NOT_FOUND\n\n'])
      expect(served.entries).toMatchObject(Array(2).fill({ outcome: 'TASK_NOT_FOUND' }))
    })

    it('before the first event if they are open, with comments while they are idle', async () => {
      const go = gate()
      const waiting = lines((_, { stream }) =>
        stream(
          events(
            (async function* () {
              await go.opened
              yield 'one'
            })(),
            { opened: Promise.resolve() },
          ),
        ),
      )
      await using served = await serve(shout, { endpoints: [waiting], advanced: { heartbeatMs: 5 } })
      const response = await fetch(new URL('/lines', served.url))
      const reader = response.body?.getReader()
      expect(new TextDecoder().decode((await reader?.read())?.value)).toMatch(/^:\n\n/)
      go.open()
      let text = ''
      for (let next = await reader?.read(); next && !next.done; next = await reader?.read())
        text += new TextDecoder().decode(next.value)
      expect(text).toMatch(/data: one\n\n$/)
    })

    it('only as fast as they are read', async () => {
      let pulled = 0
      const piece = 'x'.repeat(64 * 1024)
      const fast = lines((_, { stream }) =>
        stream(
          events(
            (async function* () {
              for (;;) {
                pulled += 1
                yield piece
              }
            })(),
          ),
        ),
      )
      await using served = await audited(fast)
      const reader = (await served.fetch(at('/lines'))).body?.getReader()
      await reader?.read()
      for (let turn = 0; turn < 100; turn++) await new Promise((resolve) => setImmediate(resolve))
      expect(pulled).toBeLessThan(10)
      await reader?.cancel()
    })

    it('the rest of a task to a caller that returns', async () => {
      const go = gate()
      const slow = agent('Slow', async function* () {
        yield 'one '
        await go.opened
        yield 'two'
      })
      const following = lines(({ query }, { caller, services, signal, stream }) => {
        const service = services.get('Slow') as AgentService // the only agent
        const wanted = new URLSearchParams(query)
        const id = wanted.get('task')
        const { opened, open: onOpen } = gate()
        const items =
          id === null
            ? service.sendStreamingMessage({ message: message('go') }, { caller, signal })
            : service.subscribeToTask({ id }, { caller, signal, onOpen, resumeAfter: Number(wanted.get('after')) })
        const encode = ({ event, seq }: StreamItem) => `data: ${JSON.stringify({ event, seq })}\n\n`
        return stream<StreamItem>({ items, opened, encode, encodeError: ({ code }) => code })
      })
      const handler = await createHandler(slow, { endpoints: [following] })
      const left = (await handler.fetch(at('/lines'))).body?.getReader()
      let text = ''
      while (!text.includes('"one "')) text += new TextDecoder().decode((await left?.read())?.value)
      await left?.cancel()
      const seen = text
        .trim()
        .split('\n\n')
        .map((line) => JSON.parse(line.slice('data: '.length)))
      const { id } = seen[0].event.task
      const returned = await handler.fetch(at(`/lines?task=${id}&after=${seen.at(-1).seq}`))
      go.open()
      const rest = await returned.text()
      expect(rest).toContain('"two"')
      expect(rest).toContain('TASK_STATE_COMPLETED')
      expect(rest).not.toContain('"one "')
      const missing = await handler.fetch(at('/lines?task=unknown&after=1'))
      expect(await missing.text()).toMatch(/^TASK_NOT_FOUND/)
      await handler.close()
    })

    it('nothing if they answer otherwise', async () => {
      let isEnded = false
      const changing = lines(async (_, { stream }) => {
        await stream(
          events(
            (async function* () {
              try {
                yield 'one'
                yield 'two'
              } finally {
                isEnded = true
              }
            })(),
          ),
        )
        return ok('changed')
      })
      await using served = await audited(changing)
      expect(await (await served.fetch(at('/lines'))).json()).toBe('changed')
      await until(() => isEnded)
      expect(served.entries).toMatchObject([{ outcome: 'ok' }])
    })
  })

  describe('whose caller disconnects', () => {
    /** Streams until the signal aborts, and remembers both ends. */
    function endless(use: (visit: Visit) => Promise<Response> | undefined = () => undefined) {
      const seen = { aborted: 0, ended: 0 }
      const endpoint = lines(async (_, visit) => {
        const { signal } = visit
        expect(visit.signal).toBe(signal)
        signal.addEventListener('abort', () => {
          seen.aborted += 1
        })
        const aborted = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
        const items = (async function* () {
          try {
            yield 'one'
            await aborted
          } finally {
            seen.ended += 1
          }
        })()
        return (await use(visit)) ?? (await visit.stream(events(items)))
      })
      return { seen, endpoint }
    }

    it('over HTTP/1.1: the signal aborts and the stream ends', async () => {
      const { seen, endpoint } = endless()
      const entries: AuditEntry[] = []
      await using served = await serve(shout, {
        endpoints: [endpoint],
        advanced: { audit: (entry) => entries.push(entry) },
      })
      const leaving = new AbortController()
      const response = await fetch(new URL('/lines', served.url), { signal: leaving.signal })
      await response.body?.getReader().read()
      expect(seen).toEqual({ aborted: 0, ended: 0 })
      leaving.abort()
      await until(() => seen.aborted === 1 && seen.ended === 1)
      expect(entries).toMatchObject([{ endpoint: 'lines', outcome: 'ok' }])
    })

    it('over HTTP/2: the signal aborts and the stream ends', async () => {
      const { seen, endpoint } = endless()
      await using served = await serve(shout, { endpoints: [endpoint] })
      const session = connectHttp2(served.url)
      const stream = session.request({ ':path': '/lines' })
      await once(stream, 'data')
      stream.close()
      await until(() => seen.aborted === 1 && seen.ended === 1)
      session.destroy()
    })

    it('of a function from Request to Response: the signal aborts and the stream ends', async () => {
      const { seen, endpoint } = endless()
      await using served = await audited(endpoint)
      const reader = (await served.fetch(at('/lines'))).body?.getReader()
      await reader?.read()
      await reader?.cancel()
      await until(() => seen.aborted === 1 && seen.ended === 1)
      const leaving = new AbortController()
      await (await served.fetch(at('/lines', { signal: leaving.signal }))).body?.getReader().read()
      leaving.abort()
      await until(() => seen.aborted === 2 && seen.ended === 2)
    })

    it('of a body that is a ReadableStream', async () => {
      const body = () => new ReadableStream({ start: (controller) => controller.enqueue(new Uint8Array(1)) })
      const { seen, endpoint } = endless(async () => new Response(body()))
      await using served = await audited(endpoint)
      const reader = (await served.fetch(at('/lines'))).body?.getReader()
      await reader?.read()
      await reader?.cancel()
      expect(seen.aborted).toBe(1)
    })

    it.each(['HTTP/1.1', 'HTTP/2'])('before the answer, over %s', async (protocol) => {
      const arrived = gate()
      const aborted = gate()
      const endpoint = lines(async (_, { signal }) => {
        signal.addEventListener('abort', () => aborted.open())
        arrived.open()
        await aborted.opened
        return ok({})
      })
      await using served = await serve(shout, { endpoints: [endpoint] })
      if (protocol === 'HTTP/2') {
        const session = connectHttp2(served.url)
        const stream = session.request({ ':path': '/lines', ':method': 'POST' })
        stream.write('half of a body')
        await arrived.opened
        stream.close()
        await aborted.opened
        session.destroy()
      } else {
        using client = await connect(served.url)
        await client.write('GET /lines HTTP/1.1\r\nHost: localhost\r\n\r\n')
        await arrived.opened
        client.socket.destroy()
        await aborted.opened
      }
    })

    it.each(['HTTP/1.1', 'HTTP/2', 'fetch'])('after the answer over %s: no signal aborts', async (protocol) => {
      const signals: AbortSignal[] = []
      const endpoint = lines((_, { signal, stream, path }) => {
        signals.push(signal)
        if (!path.endsWith('/stream')) return ok({})
        return stream(
          events(
            (async function* () {
              yield 'one'
            })(),
          ),
        )
      })
      const options: ServeOptions = { endpoints: [endpoint] }
      if (protocol === 'fetch') {
        const handler = await createHandler(shout, options as HandlerOptions)
        for (const path of ['/lines', '/lines/stream']) {
          const leaving = new AbortController()
          await (await handler.fetch(at(path, { signal: leaving.signal }))).text()
          leaving.abort()
        }
        await handler.close()
      } else {
        const served = await serve(shout, options)
        const session = protocol === 'HTTP/2' ? connectHttp2(served.url) : undefined
        for (const path of ['/lines', '/lines/stream']) {
          if (!session) await (await fetch(new URL(path, served.url), { headers: { connection: 'close' } })).text()
          else await once(session.request({ ':path': path }).resume(), 'close')
        }
        session?.destroy()
        await served.close({ deadlineMs: 0 })
      }
      expect(signals.map(({ aborted }) => aborted)).toEqual([false, false])
    })
  })

  it('work behind a mount', async () => {
    const handler = await createHandler(shout, {
      publicUrl: 'http://localhost/a2a',
      endpoints: [lines(async (_, { path, readJson }) => ok([path, await readJson()]))],
    })
    const app = express().use('/a2a', expressMount(handler))
    const server = app.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as { port: number }
    const response = await fetch(`http://127.0.0.1:${port}/a2a/lines/x`, posting({ a: 1 }))
    expect(await response.json()).toEqual(['/lines/x', { a: 1 }])
    server.close()
    await handler.close()
  })

  describe('and paths', () => {
    const named = (path: string): Endpoint => lines(() => ok(path), { name: path, paths: [path] })

    it('the longest wins, over routes too; unhandled requests reach the agents', async () => {
      const route: Route = { path: '/v1/models/own', answer: async () => Response.json('route') }
      const passing = lines(() => undefined, { name: 'passing', paths: ['/tasks'] })
      const handler = await createHandler(shout, {
        endpoints: [named('/v1'), passing, named('/v1/models')],
        routes: [route],
      })
      const answerOf = async (path: string) =>
        (await handler.fetch(at(path, { headers: { 'a2a-version': '1.0' } }))).json()
      expect(await answerOf('/v1/other')).toBe('/v1')
      expect(await answerOf('/v1/models')).toBe('/v1/models')
      expect(await answerOf('/v1/models/own/1')).toBe('route')
      expect(await answerOf('/tasks')).toMatchObject({ tasks: [] })
      await handler.close()
    })

    it.each<[string, HandlerOptions, RegExp]>([
      ['used twice', { endpoints: [named('/v1'), named('/v1')] }, /Two endpoints or routes have the path \/v1/],
      [
        'of a route',
        { endpoints: [named('/v1')], routes: [{ path: '/v1', answer: () => undefined }] },
        /Two endpoints or routes have the path \/v1/,
      ],
      ['without a slash', { endpoints: [named('v1')] }, /Invalid path of the endpoint v1: "v1"/],
      ['that are absent', { endpoints: [lines(() => undefined, { paths: [] })] }, /The endpoint lines has no paths/],
      [
        'that the base path begins with',
        { endpoints: [named('/mcp')], publicUrl: 'https://agents.example/mcp' },
        /The path of `publicUrl`, \/mcp, is ambiguous/,
      ],
      ['of functions', { endpoints: [(() => named('/v1')) as never] }, /Not an endpoint/],
    ])('reject paths %s', async (_, options, reason) => {
      await expect(createHandler(shout, options)).rejects.toThrow(TypeError)
      await expect(createHandler(shout, options)).rejects.toThrow(reason)
    })
  })

  describe('that are OAuth resources', () => {
    const resource = lines(() => ok({}), { isOAuthResource: true })
    const options = { publicUrl: 'https://agents.example/base', endpoints: [resource] }
    const oauth = oidc('https://id.example/', { audience: 'https://agents.example' })
    const metadataPath = '/base/.well-known/oauth-protected-resource/lines'

    it('name their metadata in challenges', async () => {
      const handler = await createHandler(shout, { ...options, auth: [apiKey('k1'), withScopes(oauth, ['call'])] })
      const refused = await handler.fetch(at('/base/lines'))
      const address = 'https://agents.example/base/.well-known/oauth-protected-resource/lines'
      expect(refused.headers.get('www-authenticate')).toContain(`Bearer resource_metadata="${address}", realm="agent"`)
      const found = await handler.fetch(at(metadataPath, { headers: { origin: 'https://inspector.example' } }))
      expect(await found.json()).toEqual({
        resource: 'https://agents.example/base/lines',
        authorization_servers: ['https://id.example/'],
        scopes_supported: ['call'],
        bearer_methods_supported: ['header'],
      })
      expect(found.headers.get('access-control-allow-origin')).toBe('*')
      const statusOf = async (method: string) => (await handler.fetch(at(metadataPath, { method }))).status
      expect([await statusOf('OPTIONS'), await statusOf('HEAD'), await statusOf('POST')]).toEqual([204, 200, 405])
      expect((await handler.fetch(at(`${metadataPath}/deeper`))).status).toBe(401)
      // Agents and other endpoints do not.
      expect((await handler.fetch(at('/base/tasks'))).headers.get('www-authenticate')).not.toContain(
        'resource_metadata',
      )
      await handler.close()
    })

    it.each<[string, HandlerOptions, string | undefined]>([
      ['keys', { auth: [apiKey('k1')] }, undefined],
      ['tokens of no known server', { auth: [bearer('t')] }, undefined],
      [
        'the metadata of a server',
        {
          auth: withFlows(
            bearer('t'),
            { clientCredentials: { tokenUrl: 'https://id.example/token', scopes: {} } },
            { metadataUrl: 'https://id.example/.well-known/oauth-authorization-server/acme' },
          ),
        },
        'https://id.example/acme',
      ],
    ])('with %s', async (_, auth, server) => {
      const handler = await createHandler(shout, { ...options, ...auth })
      const found = await handler.fetch(at(metadataPath))
      if (server === undefined) expect(found.status).toBe(401)
      else expect(await found.json()).toMatchObject({ authorization_servers: [server] })
      await handler.close()
    })
  })

  it('close with the server, before running turns end', async () => {
    const logged: unknown[] = []
    const order: string[] = []
    const slow = agent('Slow', async function* ({ signal }) {
      yield 'begun'
      await once(signal, 'abort')
      order.push('turn')
    })
    const closing = lines(() => undefined, { close: () => void order.push('endpoint') })
    const failing = lines(() => undefined, {
      name: 'failing',
      paths: ['/failing'],
      close: () => Promise.reject(new Error('not now')),
    })
    const hanging = lines(() => undefined, {
      name: 'hanging',
      paths: ['/h'],
      close: () => new Promise(() => undefined),
    })
    const handler = await createHandler(slow, {
      endpoints: [closing, failing, hanging],
      log: ({ message: text }) => logged.push(text),
    })
    const items = handler.services.get('Slow')?.sendStreamingMessage({ message: message('x') }, { caller: { id: 'a' } })
    await items?.[Symbol.asyncIterator]().next()
    await handler.close({ deadlineMs: 20 })
    expect(order[0]).toBe('endpoint')
    expect(logged).toContain('The endpoint failing could not be closed')
  })
})
