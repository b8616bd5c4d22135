/** Limits on real sockets: each applies to the caller that exceeds it only, with an error in the caller's dialect. */
import { once } from 'node:events'
import { connect as connectHttp2 } from 'node:http2'
import { connect } from 'node:net'
import { agent, apiKey, ask, basic, bearer, type Served, type ServeOptions, serve, text } from 'dragoman'
import type { AuthScheme } from 'dragoman/auth'
import { createHandler, type Limits } from 'dragoman/server'
import { gate, until } from 'dragoman/testing'
import { describe, expect, it } from 'vitest'
import { echoAgent } from '../../src/testing/echo-agent.js'
import { chatRpc, invoke, taskRest } from '../matrix/ad-hoc-clients.js'
import { v1Grpc, v1Peer, v03Grpc } from '../matrix/grpc-clients.js'
import { v01JsonRpc, v03JsonRpc, v03Rest } from '../matrix/v0-clients.js'
import { v1JsonRpc, v1Rest } from '../matrix/v1-client.js'
import { type CallResult, type Fetch, resultOf, type WireClient } from '../matrix/wire-client.js'

const auth = [apiKey({ 'key-a': 'alice', 'key-b': 'bob' })]
const alice = { 'x-api-key': 'key-a' }
const bob = { 'x-api-key': 'key-b' }

type Headed = Readonly<Record<string, string>>

function as({ url }: Served, headers: Headed = {}): Fetch {
  return (path, init) => fetch(new URL(path, url), { ...init, headers: { ...(init.headers as Headed), ...headers } })
}

const hostOf = ({ url }: Served) => new URL(url).host

const wireClients: readonly (readonly [string, (served: Served, headers: Headed) => WireClient, number | string])[] = [
  ['v1 over JSON-RPC', (served, headers) => v1JsonRpc(as(served, headers)), -32000],
  ['v1 over HTTP+JSON', (served, headers) => v1Rest(as(served, headers)), 429],
  ['v1 over gRPC', (served, headers) => v1Grpc(hostOf(served), undefined, undefined, headers), 'RESOURCE_EXHAUSTED'],
  ['v0.3 over JSON-RPC', (served, headers) => v03JsonRpc(as(served, headers)), -32000],
  ['v0.3 over HTTP+JSON', (served, headers) => v03Rest(as(served, headers)), 429],
  ['v0.3 over gRPC', (served, headers) => v03Grpc(hostOf(served), headers), 'RESOURCE_EXHAUSTED'],
  ['v0.1', (served, headers) => v01JsonRpc(as(served, headers)), -32010],
  ['task-rest', (served, headers) => taskRest(as(served, headers)), 429],
  ['invoke', (served, headers) => invoke(as(served, headers)), 429],
  ['chat-rpc', (served, headers) => chatRpc(as(served, headers)), -32000],
]

function refusalOf(outcome: CallResult): { readonly code: number | string; readonly message: string } {
  if ('refused' in outcome) return outcome.refused
  throw new Error(`Not refused: ${JSON.stringify(outcome)}`)
}

async function post(served: Served, params: object, headers: Headed = {}, method = 'SendMessage') {
  const response = await as(served, { ...headers, 'a2a-version': '1.0' })('/', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
  const body = (await response.json()) as { error?: { message: string; data: Record<string, unknown>[] } }
  const info = body.error?.data.find((detail) => 'reason' in detail)
  return { status: response.status, retryAfter: response.headers.get('retry-after'), info, body }
}

function message(content: string, more: object = {}) {
  return { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: content }], ...more } }
}

/** An agent that works until the test releases it. */
function patient() {
  const { opened, open } = gate()
  let begun = 0
  const made = agent('Patient', async function* () {
    begun += 1
    yield text('begun').text
    await opened
  })
  return { agent: made, open, begun: () => begun }
}

describe('the rate of requests', () => {
  const rate = { perSecond: 0.01, burst: 2 }

  it.each(wireClients)('applies over %s, to each caller separately (R-SEC-5)', async (_name, speak, code) => {
    await using served = await serve(echoAgent, { dialects: 'all', auth, limits: { rate } })
    const hers = speak(served, alice)
    resultOf(await hers.send('one'))
    resultOf(await hers.send('two'))
    const message = 'Too many requests (limit rate: 0.01 a second, 2 at once), try again later'
    expect(refusalOf(await hers.send('three'))).toMatchObject({ code, message })
    resultOf(await speak(served, bob).send('one'))
  })

  it('returns the time to retry, over HTTP and over gRPC (R-SEC-5)', async () => {
    await using served = await serve(echoAgent, { auth, limits: { rate: { perSecond: 0.1, burst: 1 } } })
    await post(served, message('one'), alice)
    const refused = await post(served, message('two'), alice)
    expect(refused).toMatchObject({ status: 429, retryAfter: '10', info: { reason: 'RATE_LIMITED' } })
    expect(refused.body.error?.data).toContainEqual(expect.objectContaining({ retryDelay: '10s' }))
    const rest = await as(served, { ...alice, 'a2a-version': '1.0' })('/tasks', { method: 'GET' })
    expect([rest.status, rest.headers.get('retry-after')]).toEqual([429, '10'])
    const peer = v1Peer(hostOf(served), undefined, alice)
    const failure = await peer.failure('ListTasks', {})
    peer.close()
    expect(failure.details).toContainEqual(expect.objectContaining({ retryDelay: '10s' }))
  })

  it('applies before the body has been sent (R-SEC-5)', async () => {
    await using served = await serve(echoAgent, { auth, limits: { rate: { perSecond: 0.01, burst: 1 } } })
    await post(served, message('one'), alice)
    const socket = connect(Number(new URL(served.url).port), '127.0.0.1')
    socket.write(
      'POST /message:send HTTP/1.1\r\nHost: a\r\nX-API-Key: key-a\r\nA2A-Version: 1.0\r\nContent-Type: application/json\r\nContent-Length: 5000000\r\n\r\n{',
    )
    const [head] = (await once(socket, 'data')) as [Buffer]
    socket.destroy()
    expect(head.toString()).toMatch(/^HTTP\/1.1 429 /)
  })

  it('does not apply to anonymous callers by default', async () => {
    await using open = await serve(echoAgent)
    for (let i = 0; i < 20; i++) expect((await post(open, message('hello'))).status).toBe(200)
    await using limited = await serve(echoAgent, { limits: { rate: { perSecond: 0.01, burst: 1 } } })
    expect((await post(limited, message('hello'))).status).toBe(200)
    expect((await post(limited, message('hello'))).status).toBe(429)
    expect(refusalOf(await v1Grpc(hostOf(limited)).send('hello')).code).toBe('RESOURCE_EXHAUSTED')
  })

  it('does not apply to cards and health checks', async () => {
    await using served = await serve(echoAgent, { auth, limits: { rate: { perSecond: 0.01, burst: 1 } } })
    await post(served, message('one'), alice)
    for (const path of ['/.well-known/agent-card.json', '/healthz'])
      expect((await as(served, alice)(path, { method: 'GET' })).status).toBe(200)
  })
})

describe('requests with invalid credentials', () => {
  const failedAuthentication = { perSecond: 0.01, burst: 2 }
  const status = async (served: Served, headers: Headed) => (await post(served, message('hello'), headers)).status

  it('are limited by address; callers that were authenticated before still pass (R-SEC-5)', async () => {
    await using served = await serve(echoAgent, { auth, limits: { failedAuthentication } })
    expect(await status(served, alice)).toBe(200)
    for (const key of ['guess-1', 'guess-2']) expect(await status(served, { 'x-api-key': key })).toBe(401)
    // A credential that was never valid here is no longer verified, even if it is right.
    expect(await post(served, message('hello'), bob)).toMatchObject({
      status: 429,
      info: { metadata: { limit: 'failedAuthentication', max: '0.01 a second, 2 at once' } },
    })
    expect(refusalOf(await v1Grpc(hostOf(served), undefined, undefined, bob).send('hello'))).toMatchObject({
      code: 'RESOURCE_EXHAUSTED',
      message:
        'Too many requests with invalid credentials from your address (limit failedAuthentication: 0.01 a second, 2 at once), try again later',
    })
    expect(await status(served, alice)).toBe(200)
    resultOf(await v1Grpc(hostOf(served), undefined, undefined, alice).send('hello'))
  })

  it('do not include requests without a credential', async () => {
    await using served = await serve(echoAgent, { auth, limits: { failedAuthentication } })
    for (let i = 0; i < 5; i++) expect(await status(served, {})).toBe(401)
    expect(await status(served, bob)).toBe(200)
  })

  /** Statuses of many guesses from one address. */
  const guess = async (address: string | undefined, limits: Limits = {}) => {
    const handler = await createHandler(echoAgent, { auth, limits })
    const connection = address === undefined ? undefined : { address: () => address }
    const ask = async (key: string) =>
      (await handler.fetch(new Request('http://localhost/tasks', { headers: { 'x-api-key': key } }), connection)).status
    const answers = await Promise.all(Array.from({ length: 400 }, (_, number) => ask(`guess-${number}`)))
    const known = await ask('key-a')
    await handler.close()
    return { answers, known }
  }

  it.each(['8.8.8.8', '::ffff:8.8.8.8', '2606:4700::1'])(
    'have a limit by default from the public address %s: 10 a second, 100 at once',
    async (address) => {
      const { answers } = await guess(address)
      expect(answers.filter((each) => each === 401).length).toBeGreaterThanOrEqual(100)
      expect(answers).toContain(429)
      const unlimited = await guess(address, { failedAuthentication: 'none' })
      expect(new Set(unlimited.answers)).toEqual(new Set([401]))
    },
  )

  it.each(['127.0.0.1', '::1', '10.0.0.7', '::ffff:192.168.0.7', 'fd00::7', undefined])(
    'have no default limit from %s, which callers may share, but an explicit one',
    async (address) => {
      const { answers, known } = await guess(address)
      expect([new Set(answers), known]).toEqual([new Set([401]), 200])
      const limited = await guess(address, { failedAuthentication })
      expect([limited.answers.at(-1), limited.known]).toEqual([429, 429])
    },
  )

  it('count although the caller has left before they are verified', async () => {
    let checked = 0
    const handler = await createHandler(echoAgent, {
      auth: bearer(async () => {
        checked += 1
        await Promise.resolve()
        return undefined
      }),
      limits: { failedAuthentication },
    })
    for (let number = 0; number < 10; number++) {
      let isConnected = true
      const connection = { address: () => (isConnected ? '8.8.8.8' : undefined) }
      const headers = { authorization: `Bearer guess-${number}` }
      const answering = handler.fetch(new Request('http://localhost/tasks', { headers }), connection)
      isConnected = false
      await answering
    }
    expect(checked).toBe(2)
    await handler.close()
  })

  it('are recognised wherever a credential is sent', async () => {
    const schemes: readonly [AuthScheme, Headed][] = [
      [apiKey('right', { location: 'cookie', name: 'key' }), { cookie: 'other=1; key=right' }],
      [basic({ alice: 'right' }), { authorization: `Basic ${btoa('alice:right')}` }],
      [bearer('right'), { authorization: 'Bearer right' }],
    ]
    for (const [scheme, right] of schemes) {
      await using served = await serve(echoAgent, { auth: [scheme], limits: { failedAuthentication } })
      expect(await status(served, right)).toBe(200)
      const wrong = Object.fromEntries(Object.entries(right).map(([name, value]) => [name, `${value}x`]))
      expect(await status(served, wrong)).toBe(401)
      expect(await status(served, wrong)).toBe(401)
      expect(await status(served, wrong), scheme.name).toBe(429)
      expect(await status(served, right), scheme.name).toBe(200)
    }
  })

  /** A handler with two schemes. `ask` resolves to the status of a request from one public address. */
  const askBoth = async (limits: Limits) => {
    const handler = await createHandler(echoAgent, { auth: [...auth, bearer({ 'token-c': 'carol' })], limits })
    const connection = { address: () => '8.8.8.8' }
    const ask = async (headers: Headed) =>
      (await handler.fetch(new Request('http://localhost/tasks/none', { headers }), connection)).status
    return { ask, [Symbol.asyncDispose]: () => handler.close() }
  }

  it.each<[string, (number: number) => Headed]>([
    ['values beside a valid key', (number) => ({ ...bob, authorization: `Basic ${number}` })],
    [
      'spellings of one token',
      (number) => ({ authorization: `Bearer ${' '.repeat(1 + (number % 100))}${'\t'.repeat(number / 100)}token-c` }),
    ],
  ])('do not replace the known credentials of other callers: %s', async (_name, headersOf) => {
    await using both = await askBoth({ failedAuthentication: { perSecond: 0.01, burst: 1 }, rate: 'none' })
    expect(await both.ask(alice)).toBe(404)
    // More than the server keeps.
    for (let number = 0; number < 10_001; number++) await both.ask(headersOf(number))
    expect(await both.ask({ 'x-api-key': 'guess' })).toBe(401)
    expect(await both.ask({ 'x-api-key': 'guess' })).toBe(429)
    expect(await both.ask(alice)).toBe(404)
  })

  it('count beside a valid credential, which still passes when the limit is reached', async () => {
    await using both = await askBoth({ failedAuthentication })
    for (const token of ['guess-1', 'guess-2', 'guess-3'])
      expect(await both.ask({ ...alice, authorization: `Bearer ${token}` })).toBe(404)
    expect(await both.ask({ authorization: 'Bearer token-c' })).toBe(429)
    expect(await both.ask({ ...bob, authorization: 'Bearer guess-4' })).toBe(429)
    expect(await both.ask({ ...alice, authorization: 'Bearer guess-5' })).toBe(404)
    expect(await both.ask(alice)).toBe(404)
  })

  it('do not include tokens that are valid for another scheme with the same header', async () => {
    const tokens = [bearer({ one: 'ann' }, { scheme: 'first' }), bearer({ two: 'ben' }, { scheme: 'second' })]
    await using served = await serve(echoAgent, { auth: tokens, limits: { failedAuthentication } })
    for (let i = 0; i < 5; i++) expect(await status(served, { authorization: 'Bearer two' })).toBe(200)
    expect(await status(served, { authorization: 'Bearer one' })).toBe(200)
  })
})

describe('limits of a request', () => {
  it('limit the number of values, over every binding (R-SEC-5)', async () => {
    await using served = await serve(echoAgent, { limits: { jsonElements: 100 } })
    const sent = (count: number) => [{ data: Array.from({ length: count }, () => 1) }]
    // The JSON-RPC error has no id, because the request was not parsed.
    const { status, info } = await post(served, { message: { messageId: 'm', role: 'ROLE_USER', parts: sent(500) } })
    expect([status, info?.reason]).toEqual([413, 'PAYLOAD_TOO_LARGE'])
    for (const wireClient of [v1Rest(as(served)), v1Grpc(hostOf(served))]) {
      resultOf(await wireClient.send(sent(50)))
      expect(refusalOf(await wireClient.send(sent(500))), wireClient.name).toMatchObject({
        message: 'The request has too many values (limit jsonElements: 100)',
      })
    }
  })

  it('limit the depth', async () => {
    await using served = await serve(echoAgent, { limits: { jsonDepth: 10 } })
    const nested = (depth: number) => JSON.parse(`${'['.repeat(depth)}${']'.repeat(depth)}`) as unknown
    const long = 'x'.repeat(5000)
    const send = (depth: number) => post(served, { ...message(long), metadata: { nested: nested(depth) } })
    expect((await send(3)).info).toBeUndefined()
    const limit = { limit: 'jsonDepth', max: '10' }
    expect(await send(20)).toMatchObject({
      info: { reason: 'PARSE_ERROR', metadata: limit },
      body: { error: { message: 'Invalid JSON payload: nested too deeply (limit jsonDepth: 10)' } },
    })
  })

  it('limit the size', async () => {
    await using served = await serve(echoAgent, { limits: { bodyBytes: 20_000 } })
    expect(await post(served, message('x'.repeat(20_000)))).toMatchObject({
      status: 413,
      info: { metadata: { limit: 'bodyBytes', max: '20000' } },
      body: { error: { message: 'The request is too large (limit bodyBytes: 20000 bytes)' } },
    })
  })

  it('limit the parts of a message', async () => {
    await using served = await serve(echoAgent, { limits: { partsPerMessage: 2 } })
    for (const wireClient of [v1JsonRpc(as(served)), v1Rest(as(served)), v1Grpc(hostOf(served))]) {
      resultOf(await wireClient.send([{ text: 'a' }, { text: 'b' }]))
      const { message: text } = refusalOf(await wireClient.send([{ text: 'a' }, { text: 'b' }, { text: 'c' }]))
      expect(text, wireClient.name).toContain('message.parts: has more than 2 elements')
    }
    // The error names the limit, over every binding.
    const limit = { reason: 'INVALID_PARAMS', metadata: { limit: 'partsPerMessage', max: '2' } }
    const tooMany = message('', { parts: Array(3).fill({ text: 'a' }) })
    expect((await post(served, tooMany)).info).toMatchObject(limit)
    const peer = v1Peer(hostOf(served))
    const { details } = await peer.failure('SendMessage', tooMany)
    peer.close()
    expect(details).toContainEqual(expect.objectContaining(limit))
  })
})

describe('limits of a caller', () => {
  it('limit the running tasks; others are served meanwhile (R-SEC-5)', async () => {
    const slow = patient()
    await using served = await serve(slow.agent, { auth, limits: { runsPerCaller: 2 } })
    const now = { configuration: { returnImmediately: true } }
    for (let i = 0; i < 2; i++) expect((await post(served, { ...message('go'), ...now }, alice)).status).toBe(200)
    expect(await post(served, { ...message('go'), ...now }, alice)).toMatchObject({
      status: 429,
      info: { reason: 'RATE_LIMITED', metadata: { limit: 'runsPerCaller', max: '2' } },
      body: { error: { message: 'Too many of your tasks are running (limit runsPerCaller: 2)' } },
    })
    expect((await post(served, { ...message('go'), ...now }, bob)).status).toBe(200)
    slow.open()
    await until(async () => (await post(served, { ...message('go'), ...now }, alice)).status === 200)
  })

  it('limit the running tasks of all callers together', async () => {
    const slow = patient()
    await using served = await serve(slow.agent, { auth, limits: { runs: 2 } })
    const now = { configuration: { returnImmediately: true } }
    for (const caller of [alice, bob]) await post(served, { ...message('go'), ...now }, caller)
    expect(await post(served, { ...message('go'), ...now }, alice)).toMatchObject({
      status: 503,
      info: { reason: 'UNAVAILABLE', metadata: { limit: 'runs', max: '2' } },
      body: { error: { message: 'Too many tasks are running (limit runs: 2)' } },
    })
    slow.open()
  })

  it('limit the open streams, across bindings (R-SEC-5)', async () => {
    const slow = patient()
    await using served = await serve(slow.agent, { auth, limits: { streamsPerCaller: 2 } })
    const opened: AsyncIterator<unknown>[] = []
    const open = async (wireClient: WireClient) => {
      const stream = wireClient.stream('go')[Symbol.asyncIterator]()
      await stream.next()
      opened.push(stream)
    }
    await open(v1JsonRpc(as(served, alice)))
    await open(v1Grpc(hostOf(served), undefined, undefined, alice))
    await expect(open(v1JsonRpc(as(served, alice)))).rejects.toThrow(
      'Too many of your streams are open (limit streamsPerCaller: 2)',
    )
    await expect(open(v1Rest(as(served, alice)))).rejects.toThrow('429')
    await expect(open(v1Grpc(hostOf(served), undefined, undefined, alice))).rejects.toThrow('RESOURCE_EXHAUSTED')
    await open(v1JsonRpc(as(served, bob)))
    // A closed stream frees its place.
    await opened[0]?.return?.()
    await until(() =>
      open(v1JsonRpc(as(served, alice))).then(
        () => true,
        () => false,
      ),
    )
    slow.open()
  })

  it('limit the waiting messages of one task', async () => {
    const slow = patient()
    await using served = await serve(slow.agent, { limits: { waitingMessages: 2 } })
    const now = { configuration: { returnImmediately: true } }
    const first = (await post(served, { ...message('go'), ...now })) as unknown as {
      body: { result: { task: { id: string } } }
    }
    const taskId = first.body.result.task.id
    await until(() => slow.begun() === 1)
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => post(served, { ...message('more', { taskId }), ...now })),
    )
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(2)
    const refused = answers.filter(({ status }) => status === 429)
    expect(refused).toHaveLength(8)
    expect(refused[0]?.info).toMatchObject({ metadata: { limit: 'waitingMessages', max: '2' } })
    slow.open()
  })

  it('limit the webhooks of one task, set alone or with a message', async () => {
    const curious = agent({ name: 'Curious', capabilities: { pushNotifications: true } }, async function* () {
      yield ask('And?')
    })
    await using served = await serve(curious, { limits: { pushConfigsPerTask: 2 } })
    const url = 'https://hooks.example/a'
    const made = (await post(served, message('hello'))) as unknown as { body: { result: { task: { id: string } } } }
    const taskId = made.body.result.task.id
    const set = (id: string) => post(served, { taskId, id, url }, {}, 'CreateTaskPushNotificationConfig')
    const outcomes = await Promise.all(['a', 'b', 'c', 'd'].map(set))
    expect(outcomes.filter(({ info }) => info === undefined)).toHaveLength(2)
    const withMessage = { configuration: { taskPushNotificationConfig: { id: 'e', url } } }
    const refused = await post(served, { ...message('more', { taskId }), ...withMessage })
    expect(refused.info).toMatchObject({ metadata: { limit: 'pushConfigsPerTask', max: '2' } })
  })

  it('limit the history to its newest messages (R-HIST-1)', async () => {
    await using served = await serve(
      agent('Curious', async function* () {
        yield ask('And?')
      }),
      { limits: { historyMessages: 3 } },
    )
    const wireClient = v1JsonRpc(as(served))
    const { id, contextId } = resultOf(await wireClient.send('1'))
    for (const content of ['2', '3']) await wireClient.send(content, { taskId: id, contextId })
    const texts = async (historyLength?: number) => {
      const params = { id, ...(historyLength !== undefined && { historyLength }) }
      const { body } = await post(served, params, {}, 'GetTask')
      const { history = [] } = (body as unknown as { result: { history?: { parts: { text: string }[] }[] } }).result
      return history.map(({ parts }) => parts[0]?.text)
    }
    expect(await texts()).toEqual(['And?', '3', 'And?'])
    expect(await texts(100)).toEqual(['And?', '3', 'And?'])
    expect(await texts(1)).toEqual(['And?'])
    expect(await texts(0)).toEqual([])
  })
})

describe('a request that never ends', () => {
  const deadlines = { firstByteMs: 5000, headersMs: 200, bodyMs: 200 }
  it.each<[string, ServeOptions]>([
    ['without authentication', { advanced: { deadlines } }],
    ['with it', { auth, advanced: { deadlines } }],
  ])('is closed over gRPC, %s (R-SEC-5)', async (_name, options) => {
    await using served = await serve(echoAgent, options)
    const session = connectHttp2(`http://${hostOf(served)}`)
    const request = session.request({
      ':method': 'POST',
      ':path': '/lf.a2a.v1.A2AService/SendMessage',
      'content-type': 'application/grpc',
      te: 'trailers',
      ...alice,
    })
    // The header announces a length, of which one byte is sent.
    request.write(Buffer.from([0, 0, 0, 1, 0, 10]))
    const [headers] = (await once(request, 'response')) as [Record<string, string>]
    const trailers =
      headers['grpc-status'] === undefined ? ((await once(request, 'trailers'))[0] as typeof headers) : headers
    expect(trailers['grpc-status']).toBe('4')
    session.destroy()
  })

  it('does not include long streams', async () => {
    await using served = await serve(echoAgent, { advanced: { deadlines } })
    const events = v1Grpc(hostOf(served)).stream('sleep 600')
    const states: (string | undefined)[] = []
    for await (const { state } of events) states.push(state)
    expect(states.at(-1)).toBe('completed')
  })
})

describe('limits', () => {
  it.each([
    { runs: 0 },
    { bodyBytes: -1 },
    { jsonElements: Number.NaN },
    { waitingMessages: '5' as unknown as number },
  ])('must be valid numbers: %o', async (limits) => {
    await expect(serve(echoAgent, { limits })).rejects.toThrow(/limits(\.|: )/)
  })
})
