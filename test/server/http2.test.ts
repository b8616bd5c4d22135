/** JSON-RPC, HTTP+JSON and event streams over HTTP/2, with the limits of HTTP/1.1. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
} from 'node:http2'
import { type AddressInfo, createServer } from 'node:net'
import { text as readText } from 'node:stream/consumers'
import { type AgentService, agent, apiKey, type ServeOptions, serve, type Task } from 'dragoman'
import { gate } from 'dragoman/testing'
import { describe, expect, it } from 'vitest'
import { v1 } from '../../src/dialects/v1/index.js'
import type { Assembly } from '../../src/server/assemble.js'
import { createHttp2Server, type Http2Server } from '../../src/server/http2.js'
import { createHttp2Endpoint } from '../../src/server/http2-endpoint.js'
import { createHttp2Answer } from '../../src/server/http2-exchange.js'
import { echoAgent } from '../../src/testing/echo-agent.js'
import type { AnswerExchange } from '../../src/transports/exchange.js'
import { defaultRequestLimits } from '../../src/transports/read-json.js'
import { Heartbeats, SseFeed } from '../../src/transports/sse.js'
import { eventually } from '../hostile/waiting.js'
import { certificate, key } from '../matrix/certificate.js'

interface Received {
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

async function read(stream: ClientHttp2Stream): Promise<Received> {
  const [[headers], body] = await Promise.all([once(stream, 'response'), readText(stream)])
  return { headers: headers as IncomingHttpHeaders, body }
}

const json = { 'content-type': 'application/json', 'a2a-version': '1.0' }

function ask(
  session: ClientHttp2Session,
  path: string,
  body?: object,
  headers?: OutgoingHttpHeaders,
): ClientHttp2Stream {
  const stream = session.request({ ':path': path, ':method': body ? 'POST' : 'GET', ...json, ...headers })
  if (body) stream.end(JSON.stringify(body))
  return stream
}

const message = (text: string) => ({ message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text }] } })
const rpc = (method: string, params: object) => ({ jsonrpc: '2.0', id: 1, method, params })

async function over(options: ServeOptions = {}, served = echoAgent) {
  const server = await serve(served, options)
  const session = connect(server.url, options.tls ? { ca: certificate } : {})
  return {
    url: server.url,
    server,
    session,
    async [Symbol.asyncDispose]() {
      session.destroy()
      await server.close({ deadlineMs: 0 })
    },
  }
}

/** A connection to these parts of a server alone. */
async function bare(http2: Pick<Http2Server, 'accept'> & { close(graceMs: number): Promise<void> }) {
  const listener = createServer((socket) => http2.accept(socket)).listen(0, '127.0.0.1')
  await once(listener, 'listening')
  const session = connect(`http://127.0.0.1:${(listener.address() as AddressInfo).port}`) // it listens on TCP
  return {
    session,
    async [Symbol.asyncDispose]() {
      session.destroy()
      await http2.close(0)
      listener.close()
    },
  }
}

describe.each([
  ['cleartext', {}],
  ['TLS', { tls: { key, cert: certificate } }],
] as const)('HTTP/2 in %s', (_, options) => {
  it('answers JSON-RPC and HTTP+JSON', async () => {
    await using at = await over(options)
    const { headers, body } = await read(ask(at.session, '/', rpc('SendMessage', message('hello'))))
    expect(headers).toMatchObject({ ':status': 200, 'content-type': 'application/json' })
    expect(headers['content-length']).toBe(String(Buffer.byteLength(body)))
    const { task } = JSON.parse(body).result
    expect(task.status.state).toBe('TASK_STATE_COMPLETED')
    const found = await read(ask(at.session, `/tasks/${task.id}?historyLength=0`))
    expect(JSON.parse(found.body).id).toBe(task.id)
    const missing = await read(ask(at.session, '/tasks/none'))
    expect(missing.headers[':status']).toBe(404)
    const card = await read(ask(at.session, '/.well-known/agent-card.json'))
    expect(JSON.parse(card.body).name).toBe(echoAgent.card.name)
    const head = await read(ask(at.session, '/.well-known/agent-card.json', undefined, { ':method': 'HEAD' }))
    expect([head.headers[':status'], head.body]).toEqual([200, ''])
  })

  it('streams events', async () => {
    await using at = await over(options)
    const stream = ask(at.session, '/message:stream', message('chunks 50'))
    const { headers, body } = await read(stream)
    expect(headers['content-type']).toBe('text/event-stream')
    expect(headers).not.toHaveProperty('connection')
    expect(body.match(/^data: /gm)).toHaveLength(53)
  })

  it('carries many streams on one connection', async () => {
    await using at = await over(options)
    const streams = Array.from({ length: 100 }, () => ask(at.session, '/message:stream', message('chunks 3 50')))
    // All of them are open at the same time.
    await Promise.all(streams.map((stream) => once(stream, 'response')))
    for (const stream of streams) assert.equal((await readText(stream)).match(/^data: /gm)?.length, 6)
  })
})

describe('HTTP/2', () => {
  it('serves routes of the application, and reads bodies in pieces', async () => {
    const routes = [
      {
        path: '/route',
        answer: async (request: Request) => {
          const headers = new Headers({ 'x-host': request.headers.get('host') ?? '', 'set-cookie': 'a=1' })
          headers.append('set-cookie', 'b=2')
          return new Response((await request.text()).toUpperCase(), { headers })
        },
      },
    ]
    await using at = await over({ routes })
    const stream = at.session.request({ ':path': '/route', ':method': 'POST', expect: '100-continue' })
    await once(stream, 'continue')
    for (const piece of ['one ', 'two ', 'three']) stream.write(piece)
    stream.end()
    const { headers, body } = await read(stream)
    expect(body).toBe('ONE TWO THREE')
    expect(headers).toMatchObject({ 'x-host': new URL(at.url).host, 'set-cookie': ['a=1', 'b=2'] })
  })

  it('needs credentials, and reads no body without them', async () => {
    await using at = await over({ auth: apiKey({ secret: 'alice' }) })
    const stream = at.session.request({ ':path': '/message:send', ':method': 'POST', ...json })
    // The body never ends.
    stream.write('{')
    const { headers } = await read(stream)
    expect(headers[':status']).toBe(401)
    const known = await read(ask(at.session, '/tasks', undefined, { 'x-api-key': 'secret' }))
    expect(known.headers[':status']).toBe(200)
    // A proxy may have checked the other value.
    const twice = await read(ask(at.session, '/tasks', undefined, { 'x-api-key': ['secret', 'other'] }))
    expect(twice.headers[':status']).toBe(401)
  })

  it.each<[string, OutgoingHttpHeaders, number]>([
    ['two different hosts', { ':authority': 'localhost', host: 'elsewhere.example' }, 400],
    ['an invalid host', { ':authority': 'a@b' }, 400],
    ['no path', { ':path': '*', ':method': 'OPTIONS' }, 400],
    ['a method that does not exist', { ':path': '/tasks', ':method': 'DELETE' }, 404],
  ])('refuses a request with %s', async (_, headers, status) => {
    await using at = await over()
    const stream = at.session.request({ ':path': '/', ...json, ...headers })
    stream.end()
    expect((await read(stream)).headers[':status']).toBe(status)
    expect((await read(ask(at.session, '/healthz'))).headers[':status']).toBe(200)
  })

  it('refuses a body that is too large, before it has arrived', async () => {
    await using at = await over({ limits: { bodyBytes: 1000 } })
    for (const length of [{ 'content-length': 5000 }, {}]) {
      const stream = at.session.request({ ':path': '/', ':method': 'POST', ...json, ...length })
      stream.write('x'.repeat(2000))
      expect((await read(stream)).headers[':status']).toBe(413)
    }
  })

  it('answers 408 if a body does not end in time', async () => {
    await using at = await over({ advanced: { deadlines: { bodyMs: 50 } } })
    const stream = at.session.request({ ':path': '/', ':method': 'POST', ...json })
    stream.write('{"json')
    expect((await read(stream)).headers[':status']).toBe(408)
  })

  it('logs a body that the client interrupts at debug, and makes no call', async () => {
    const entries: { readonly level: string }[] = []
    await using at = await over({ log: (entry) => void entries.push(entry) })
    for (const path of ['/', '/message:send']) {
      entries.length = 0
      const session = connect(at.url)
      session.on('error', () => undefined)
      const stream = session.request({ ':path': path, ':method': 'POST', ...json, 'content-length': 500 })
      stream.on('error', () => undefined)
      stream.write(JSON.stringify(message('half')))
      // Answered after the server has received the other request.
      await read(ask(session, '/healthz'))
      session.destroy()
      await eventually(5000, 'an entry', () => entries.length > 0)
      expect(entries.map(({ level }) => level)).toEqual(['debug'])
    }
    expect(JSON.parse((await read(ask(at.session, '/tasks'))).body).totalSize).toBe(0)
  })

  it('resets streams whose readers take nothing, and others go on', async () => {
    const talker = agent('Talker', async function* () {
      yield 'x'.repeat(2 * 1024 * 1024)
    })
    await using at = await over({ advanced: { deadlines: { readMs: 200 } } }, talker)
    for (const path of ['/message:send', '/message:stream']) {
      const unread = ask(at.session, path, message('hi'))
      unread.on('error', () => undefined)
      await once(unread, 'response')
      await eventually(10_000, 'a reset', () => unread.rstCode === constants.NGHTTP2_CANCEL)
      const { body } = await read(ask(at.session, path, message('hi')))
      expect(body.length).toBeGreaterThan(2 * 1024 * 1024)
    }
  })

  it.each<[string, OutgoingHttpHeaders, string]>([
    ['an answer', { ':path': '/tasks', ':method': 'GET' }, ''],
    ['an event', { ':path': '/message:stream', ':method': 'POST' }, JSON.stringify(message('hi'))],
    [
      'a message of gRPC',
      { ':path': '/lf.a2a.v1.A2AService/ListTasks', ':method': 'POST', 'content-type': 'application/grpc' },
      '\0\0\0\0\0',
    ],
  ])('resets a stream whose window never opens for %s, however short it is', async (_, headers, body) => {
    await using at = await over({ advanced: { deadlines: { readMs: 200 } } })
    const session = connect(at.url, { settings: { initialWindowSize: 0 } })
    const stream = session.request({ ...json, ...headers })
    stream.on('error', () => undefined)
    if (body !== '') stream.end(body)
    await once(stream, 'response')
    await eventually(10_000, 'a reset', () => stream.rstCode === constants.NGHTTP2_CANCEL)
    session.destroy()
  })

  it.each<[string, AnswerExchange]>([
    [
      'throws',
      () => {
        throw new Error('broken')
      },
    ],
    ['rejects', () => Promise.reject(new Error('broken'))],
    ['returns nothing', () => undefined as never],
    ['resolves to nothing', () => Promise.resolve(undefined as never)],
  ])('answers 500 if the application %s, and 400 without a valid address', async (_, answer) => {
    await using at = await bare(createHttp2Server(createHttp2Answer(answer)))
    expect((await read(at.session.request({ ':path': '/' }))).headers[':status']).toBe(500)
    const twoHosts = { ':path': '/', ':authority': 'one.example', host: 'other.example' }
    expect((await read(at.session.request(twoHosts))).headers[':status']).toBe(400)
  })

  it('cancels a stream of events whose headers cannot be written, before the stream has closed', async () => {
    const gone = gate()
    let isGone = false
    let wasGone: boolean | undefined
    const answer: AnswerExchange = () => {
      // After the answer is written, and before the next event of the socket.
      queueMicrotask(() => {
        wasGone = isGone
        gone.open()
      })
      const rest = { next: () => new Promise<never>(() => undefined) }
      const body = new SseFeed<string>({
        first: rest.next(),
        rest,
        encode: String,
        encodeEnd: String,
        encodeError: String,
        onGone: () => {
          isGone = true
        },
        heartbeats: new Heartbeats(60_000),
      })
      return { status: 1000, headers: {}, body }
    }
    await using at = await bare(createHttp2Server(createHttp2Answer(answer)))
    const stream = at.session.request({ ':path': '/' })
    const failed = once(stream, 'error')
    await gone.opened
    expect(wasGone).toBe(true)
    await failed
  })

  it('resets the first call of gRPC if its answer throws, and goes on', async () => {
    const broken = () => {
      throw new Error('broken')
    }
    const handler = { dialects: [v1], limits: defaultRequestLimits, onError: broken, observe: broken }
    const assembly = { handlers: new Map([['', handler]]), admit: broken } as unknown as Assembly
    await using at = await bare(
      createHttp2Endpoint({ answer: broken, assembly: () => assembly, hasGrpc: true, deadlines: undefined }),
    )
    const grpc = { ':method': 'POST', ':path': '/lf.a2a.v1.A2AService/GetTask', 'content-type': 'application/grpc' }
    for (let calls = 0; calls < 2; calls++) {
      const stream = at.session.request(grpc)
      await assert.rejects(once(stream, 'response'), /INTERNAL_ERROR/)
    }
  })

  it('reads the content type of gRPC exactly', async () => {
    await using at = await over()
    const other = { 'content-type': 'application/grpc-web' }
    const { headers } = await read(ask(at.session, '/', rpc('ListTasks', {}), other))
    expect(headers['content-type']).toBe('application/json')
  })

  it('limits the unread answers of a caller', async () => {
    const parts = [{ text: 'x'.repeat(20 * 1024 * 1024) }]
    const status = { state: 'TASK_STATE_COMPLETED' }
    const task = { id: 't', contextId: 'c', status, artifacts: [{ artifactId: 'a', parts }] }
    const wrap = (service: AgentService) => ({ ...service, getTask: async () => task as Task })
    await using at = await over({ advanced: { wrap } })
    const statuses: unknown[] = await Promise.all(
      Array.from({ length: 5 }, async () => {
        const [headers] = (await once(ask(at.session, '/tasks/t'), 'response')) as [IncomingHttpHeaders]
        return headers[':status']
      }),
    )
    expect(statuses.filter((each) => each === 429)).toHaveLength(2)
  })

  it('sends GOAWAY when the server closes, and its streams end', async () => {
    await using at = await over()
    const stream = ask(at.session, '/message:stream', message('chunks 5 20'))
    await once(stream, 'response')
    const goaway = once(at.session, 'goaway')
    const closed = at.server.close()
    expect((await goaway)[0]).toBe(constants.NGHTTP2_NO_ERROR)
    expect((await readText(stream)).match(/TASK_STATE_COMPLETED/)).not.toBeNull()
    await closed
  })
})
