/** Connections that stall, send slowly, pipeline, or use another protocol: deadlines apply, and other connections are served. */
import assert from 'node:assert/strict'
import { type ClientHttp2Stream, connect as connectHttp2, constants, type OutgoingHttpHeaders } from 'node:http2'
import { type AgentService, bearer, type Served, serve } from 'dragoman'
import type { Deadlines, Route } from 'dragoman/server'
import { describe, expect, it } from 'vitest'
import { proves } from '../../conformance/proves.js'
import { AddressCount } from '../../src/server/listener.js'
import { echoAgent } from '../../src/testing/echo-agent.js'
import { readRest, readRpc } from './answers.js'
import { envelope, send } from './peer.js'
import { connect, post, postHead, type RawClient } from './raw-client.js'
import { eventually, within } from './waiting.js'

const deadlines = { firstByteMs: 250, headersMs: 300, bodyMs: 400 }
/** Much longer than the deadlines above, and much shorter than the defaults. */
const timeoutMs = 5000

describe('a connection that stalls', { timeout: 20_000 }, () => {
  it.each<[string, string]>([
    ['sends nothing', ''],
    ['stops in the request line', 'POST /mess'],
    ['stops where HTTP/2 would begin', 'PRI * HTT'],
    ['sends one letter', 'P'],
    ['stops in the headers', 'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Ty'],
    ['stops before the blank line', 'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n'],
    ['stops before the body', postHead('/', { 'Content-Length': 100 })],
    ['stops in the body', `${postHead('/message:send', { 'Content-Length': 100 })}{"message":`],
    ['stops in a chunk', `${postHead('/', { 'Transfer-Encoding': 'chunked' })}64\r\n{"jsonrpc"`],
    ['stops before the last chunk', `${postHead('/', { 'Transfer-Encoding': 'chunked' })}2\r\n{}\r\n`],
  ])('is closed when it %s', async (_, bytes) => {
    await using served = await serve(echoAgent, { advanced: { deadlines } })
    using client = await connect(served.url)
    await client.write(bytes)
    await assertCut(client)
    await assertServing(served)
  })

  it.each<[string, string, string]>([
    ['letters of a request line', 'GET /', 'x'],
    ['headers', 'POST / HTTP/1.1\r\nHost: localhost\r\n', 'X-Drip: drip\r\n'],
    ['a body', postHead('/', { 'Content-Length': 100_000 }), ' '],
    ['chunks', postHead('/', { 'Transfer-Encoding': 'chunked' }), '1\r\n \r\n'],
  ])('is closed when it slowly sends %s', async (_, head, drop) => {
    await using served = await serve(echoAgent, { advanced: { deadlines } })
    using client = await connect(served.url)
    await client.write(head)
    let drops = 0
    await eventually(timeoutMs, 'the server to close the connection', async () => {
      await client.write(drop[drops % drop.length] ?? '')
      drops += 1
      return client.isClosed
    })
    await assertCut(client)
    await assertServing(served)
  })

  it('is closed when it stalls in its second request', async () => {
    await using served = await serve(echoAgent, { advanced: { deadlines } })
    using client = await connect(served.url)
    await client.write(post('/', envelope('SendMessage', send('first'))))
    assert.equal((await client.answer()).status, 200)
    await client.write('POST / HTTP/1.1\r\nHost: loc')
    await assertCut(client)
  })

  it('is closed when it stalls in a request that began in the packet of the previous one', async () => {
    await using served = await serve(echoAgent, { advanced: { deadlines } })
    using client = await connect(served.url)
    await client.write(`${post('/', envelope('SendMessage', send('first')))}POST / HTTP/1.1\r\nHost: loc`)
    assert.equal((await client.answer()).status, 200)
    await assertCut(client)
  })

  it('is closed when it stalls in the body of its second request', async () => {
    await using served = await serve(echoAgent, { advanced: { deadlines } })
    using client = await connect(served.url)
    await client.write(post('/', envelope('SendMessage', send('first'))))
    assert.equal((await client.answer()).status, 200)
    await client.write(`${postHead('/', { 'Content-Length': 100 })}{"json`)
    await assertCut(client)
  })

  it('does not block others: 200 stalled connections', async () => {
    await using served = await serve(echoAgent, { advanced: { deadlines } })
    using stalled = stack(await Promise.all(Array.from({ length: 200 }, () => connect(served.url))))
    for (const [place, client] of stalled.clients.entries())
      await client.write(place % 2 === 0 ? '' : 'POST / HTTP/1.1\r\nHost: localhost\r\n')
    await assertServing(served)
    await within(timeoutMs, 'all of them to be closed', Promise.all(stalled.clients.map(({ closed }) => closed)))
  })
})

describe('a slow connection', { timeout: 20_000 }, () => {
  it('is served when it sends byte by byte within the deadline', async () => {
    await using served = await serve(echoAgent)
    using client = await connect(served.url)
    for (const byte of post('/', envelope('SendMessage', send('slowly')))) await client.write(byte)
    expect(readRpc(await client.answer()).result).toHaveProperty('task.status.state', 'TASK_STATE_COMPLETED')
  })

  it(proves('R-SEND-7', 'may wait for its response longer than the deadline of requests'), async () => {
    await using served = await serve(echoAgent, { advanced: { deadlines } })
    using client = await connect(served.url)
    await client.write(post('/', envelope('SendMessage', send(`sleep ${deadlines.bodyMs * 3}`))))
    expect(readRpc(await client.answer()).result).toHaveProperty('task.status.state', 'TASK_STATE_COMPLETED')
  })

  it('may stay idle between requests', async () => {
    await using served = await serve(echoAgent, { advanced: { deadlines } })
    using client = await connect(served.url)
    using other = await connect(served.url)
    await client.write(post('/', envelope('SendMessage', send('first'))))
    await client.answer()
    // Another connection measures the time: when the server closes it, the idle one has been idle for longer than any deadline.
    await other.write('POST')
    await other.closes(timeoutMs)
    using third = await connect(served.url)
    await third.closes(timeoutMs)
    await client.write(post('/', envelope('SendMessage', send('second'))))
    assert.equal((await client.answer()).status, 200)
  })
})

describe('one connection, many requests', () => {
  it('serves a hundred one after the other', async () => {
    await using served = await serve(echoAgent)
    using client = await connect(served.url)
    for (let i = 0; i < 100; i++) {
      await client.write(post('/', envelope('SendMessage', send(`"${i}`), i)))
      assert.equal(readRpc(await client.answer()).id, i)
    }
  })

  it('serves a hundred in one packet, in their order', async () => {
    await using served = await serve(echoAgent)
    using client = await connect(served.url)
    const requests = Array.from({ length: 100 }, (_, i) => post('/', envelope('SendMessage', send(`"${i}`), i)))
    await client.write(requests.join(''))
    for (let i = 0; i < 100; i++) assert.equal(readRpc(await client.answer()).id, i)
  })

  it('keeps the order when the first request takes longest', async () => {
    await using served = await serve(echoAgent)
    using client = await connect(served.url)
    await client.write(
      post('/', envelope('SendMessage', send('sleep 200'), 'slow')) +
        post('/', envelope('SendMessage', send('msg fast'), 'fast')),
    )
    assert.equal(readRpc(await client.answer()).id, 'slow')
    assert.equal(readRpc(await client.answer()).id, 'fast')
  })

  it('serves both bindings, streams and errors in any sequence', async () => {
    await using served = await serve(echoAgent)
    using client = await connect(served.url)
    await client.write(
      post('/', '{') +
        post('/message:stream', JSON.stringify(send('chunks 5'))) +
        'GET /tasks?pageSize=0 HTTP/1.1\r\nHost: localhost\r\n\r\n' +
        post('/', envelope('SendStreamingMessage', send('msg x'))),
    )
    assert.equal(readRpc(await client.answer()).error?.reason, 'PARSE_ERROR')
    assert.equal(readRest(await client.answer()).events.length, 8)
    assert.equal(readRest(await client.answer()).error?.reason, 'INVALID_PARAMS')
    assert.equal(readRpc(await client.answer()).events.length, 1)
  })

  it('answers Expect: 100-continue', async () => {
    await using served = await serve(echoAgent)
    using client = await connect(served.url)
    const body = envelope('SendMessage', send('hello'))
    await client.write(postHead('/', { 'Content-Length': Buffer.byteLength(body), Expect: '100-continue' }))
    assert.equal((await client.answer()).status, 100)
    await client.write(body)
    assert.equal((await client.answer()).status, 200)
  })

  it('closes after `Connection: close`', async () => {
    await using served = await serve(echoAgent)
    using client = await connect(served.url)
    await client.write(post('/', envelope('SendMessage', send('hello')), { Connection: 'close' }))
    assert.equal((await client.answer()).status, 200)
    await client.closes(timeoutMs)
  })

  it('survives clients that send a request and close the connection at once', async () => {
    await using served = await serve(echoAgent)
    for (let i = 0; i < 50; i++) {
      using client = await connect(served.url)
      await client.write(
        post(
          i % 2 === 0 ? '/' : '/message:stream',
          i % 2 === 0 ? envelope('SendMessage', send('chunks 50')) : JSON.stringify(send('chunks 50')),
        ),
      )
    }
    await assertServing(served)
  })
})

describe('HTTP/2 without TLS', () => {
  const preface = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'

  it.each<[string, readonly string[]]>([
    ['at once', [`${preface}\0\0\0\x04\0\0\0\0\0`]],
    ['in two pieces', ['PRI * HTTP/2.0\r\n', '\r\nSM\r\n\r\n']],
    ['byte by byte', [...preface]],
  ])('is served if gRPC is off, and its preface arrives %s', async (_, pieces) => {
    await using served = await serve(echoAgent, { advanced: { grpc: false } })
    using client = await connect(served.url)
    for (const piece of pieces) await client.write(piece)
    // The server's settings: a frame of type 4.
    await eventually(timeoutMs, 'a frame', () => client.received.length >= 9)
    assert.equal(client.received.charCodeAt(3), 4)
    await assertServing(served)
  })

  it.each([undefined, 'application/grpcfoo', 'application/grpc-web'])(
    'is answered like HTTP/1.1 if the content type is not that of gRPC: %s',
    async (type) => {
      await using served = await serve(echoAgent)
      const session = connectHttp2(served.url)
      const headers = { 'a2a-version': '1.0', ...(type && { 'content-type': type }) }
      const stream = session.request({ ':path': '/tasks', ':method': 'GET', ...headers })
      const status = new Promise((resolve) => stream.once('response', (headers) => resolve(headers[':status'])))
      assert.equal(await within(timeoutMs, 'an answer', status), 200)
      session.destroy()
      await assertServing(served)
    },
  )

  const getTask = {
    ':method': 'POST',
    ':path': '/lf.a2a.v1.A2AService/GetTask',
    'content-type': 'application/grpc',
    te: 'trailers',
  }
  /** A complete request for the task `x`. */
  const taskX = Buffer.from([0, 0, 0, 0, 3, 0x12, 1, 0x78])

  it.each(['CANCEL', 'NO_ERROR'] as const)(
    'is closed with GOAWAY when it opens and resets streams rapidly with %s, and others are served',
    async (reason) => {
      // No response ends before its stream is reset.
      const wrap = (service: AgentService) => ({ ...service, getTask: () => new Promise<never>(() => undefined) })
      await using served = await serve(echoAgent, { advanced: { wrap } })
      // Several connections, and resets of streams that the server knows already: the server must close such a session without an error.
      for (let round = 0; round < 4; round++) {
        const session = connectHttp2(served.url)
        session.on('error', () => undefined)
        let code: number | undefined
        let opened = 0
        session.on('goaway', (given: number) => {
          code = given
        })
        await eventually(timeoutMs, 'the session to be closed', async () => {
          const streams = Array.from({ length: session.closed || session.destroyed ? 0 : 10 }, () =>
            session.request(getTask),
          )
          for (const stream of streams) stream.on('error', () => undefined)
          if (round % 2 === 1) await new Promise((resolve) => setImmediate(resolve))
          for (const stream of streams) {
            if (reason === 'NO_ERROR') stream.end(taskX)
            stream.close(constants[`NGHTTP2_${reason}`])
          }
          opened += streams.length
          return session.destroyed
        })
        assert.equal(code, constants.NGHTTP2_ENHANCE_YOUR_CALM)
        assert.ok(opened >= 500, `${opened} streams were opened`)
      }
      await assertServing(served)
    },
  )

  it('is kept when streams are reset with NO_ERROR after their responses', async () => {
    await using served = await serve(echoAgent)
    const session = connectHttp2(served.url)
    const call = (headers: OutgoingHttpHeaders, end: (stream: ClientHttp2Stream) => void) => {
      const stream = session.request(headers)
      stream.resume()
      // Clients reset streams whose request is still open, because the response is complete.
      stream.once('end', () => stream.close(constants.NGHTTP2_NO_ERROR))
      end(stream)
      return new Promise((resolve) => stream.once('close', resolve))
    }
    for (let round = 0; round < 15; round++) {
      const unknown = { ...getTask, ':path': '/lf.a2a.v1.A2AService/Unknown' }
      const half = Array.from({ length: 10 }, () => call(unknown, (stream) => stream.write(taskX)))
      const whole = Array.from({ length: 10 }, () => call(getTask, (stream) => stream.end(taskX)))
      await within(timeoutMs, 'the calls to end', Promise.all([...half, ...whole]))
    }
    await within(timeoutMs, 'an answer', new Promise((resolve) => session.ping(resolve)))
    assert.equal(session.destroyed, false)
    session.destroy()
  })

  it('is kept when 500 calls are cancelled at once', async () => {
    await using served = await serve(echoAgent)
    const session = connectHttp2(served.url)
    const ended = Array.from({ length: 500 }, () => {
      const stream = session.request(getTask)
      stream.on('error', () => undefined)
      stream.close(constants.NGHTTP2_CANCEL)
      return new Promise((resolve) => stream.once('close', resolve))
    })
    await Promise.all(ended)
    await within(timeoutMs, 'an answer', new Promise((resolve) => session.ping(resolve)))
    assert.equal(session.destroyed, false)
    session.destroy()
  })

  it('refuses gRPC with UNIMPLEMENTED if gRPC is off', async () => {
    await using served = await serve(echoAgent, { advanced: { grpc: false } })
    const session = connectHttp2(served.url)
    const stream = session.request(getTask)
    const status = new Promise((resolve) => stream.once('response', (headers) => resolve(headers['grpc-status'])))
    stream.end(taskX)
    assert.equal(await within(timeoutMs, 'an answer', status), '12')
    session.destroy()
    await assertServing(served)
  })

  it('is not mistaken for a request that begins alike', async () => {
    await using served = await serve(echoAgent)
    using client = await connect(served.url)
    await client.write('PRI /tasks HTTP/1.1\r\nHost: localhost\r\n\r\n')
    const answer = await client.answerOrEnd()
    assert.ok(!answer || answer.status === 400)
  })
})

describe('a client that resets its connection in the middle of a body', () => {
  it.each([
    ['JSON-RPC', '/', { 'Content-Length': 1000 }],
    ['HTTP+JSON', '/message:send', { 'Content-Length': 1000 }],
    ['JSON-RPC in chunks', '/', { 'Transfer-Encoding': 'chunked' }],
    ['a route', '/route', { 'Content-Length': 1000 }],
    ['a route in chunks', '/route', { 'Transfer-Encoding': 'chunked' }],
  ])('is logged at debug, not as an error (%s)', async (_, path, headers) => {
    const entries: { readonly level: string }[] = []
    const route: Route = { path: '/route', answer: async (request) => Response.json(await request.json()) }
    await using served = await serve(echoAgent, { log: (entry) => void entries.push(entry), routes: [route] })
    for (let i = 0; i < 10; i++) {
      using client = await connect(served.url)
      await client.write(`${postHead(path, headers)}5\r\n{"js`)
      client.socket.resetAndDestroy()
    }
    await eventually(timeoutMs, 'ten entries', () => entries.length >= 10)
    expect(new Set(entries.map(({ level }) => level))).toEqual(new Set(['debug']))
    await assertServing(served)
  })
})

describe('connections beyond a limit', () => {
  it('are closed at once, logged once, and accepted again when others have left', async () => {
    const entries: { readonly level: string; readonly message: string }[] = []
    const log = (entry: (typeof entries)[number]) => void entries.push(entry)
    for (const [connections, option] of [
      [{ max: 3 }, 'connections.max)'],
      [{ maxPerAddress: 3 }, 'connections.maxPerAddress)'],
    ] as const) {
      entries.length = 0
      await using served = await serve(echoAgent, { log, advanced: { connections } })
      using open = stack(await Promise.all(Array.from({ length: 3 }, () => connect(served.url))))
      for (let i = 0; i < 10; i++) {
        using excess = await connect(served.url)
        await excess.closes(timeoutMs)
        assert.equal(excess.received, '')
      }
      expect(entries.filter(({ level }) => level === 'warn')).toHaveLength(1)
      expect(entries.at(-1)?.message).toContain(option)
      open.clients[0]?.socket.destroy()
      await eventually(timeoutMs, 'a place', async () => {
        using client = await connect(served.url)
        await client.write(post('/', envelope('SendMessage', send('hello'))))
        return (await client.answerOrEnd())?.status === 200
      })
    }
  })

  it('are by default more than 1,000 from one public address, not from a private one', () => {
    const counts = new AddressCount(undefined)
    const count = (address: string) => Array.from({ length: 1500 }, () => counts.add(address)).filter(Boolean).length
    expect(count('192.0.43.7')).toBe(1000)
    expect(count('2606:4700:1:2::3')).toBe(1000)
    expect(count('2606:4700:1:2::4')).toBe(0)
    for (const address of ['127.0.0.1', '10.1.2.3', '::1']) expect(count(address), address).toBe(1500)
    counts.remove('192.0.43.7')
    expect(count('192.0.43.7')).toBe(1)
  })
})

/** Expects that the server closed the connection, with a 408 or without a response. */
async function assertCut(client: RawClient): Promise<void> {
  await client.closes(timeoutMs)
  assert.match(client.received, /^(HTTP\/1\.1 408 |$)/)
}

async function assertServing(served: Served): Promise<void> {
  using client = await connect(served.url)
  await client.write(post('/', envelope('SendMessage', send('still there?'))))
  assert.equal(readRpc(await client.answer()).error, undefined)
}

function stack(clients: readonly RawClient[]): { readonly clients: readonly RawClient[] } & Disposable {
  return {
    clients,
    [Symbol.dispose]() {
      for (const client of clients) client[Symbol.dispose]()
    },
  }
}

// A renamed option is a type error here.
deadlines satisfies Deadlines

describe('a request with two values of a header that has one', () => {
  it('is not answered by the first value', async () => {
    await using served = await serve(echoAgent, { auth: bearer({ good: 'ann' }) })
    using client = await connect(served.url)
    const body = envelope('SendMessage', send('hi'))
    const good = { Authorization: 'Bearer good' }
    await client.write(post('/', body, { ...good, authorization: 'Bearer bad' }))
    expect((await client.answer()).status).toBe(401)
    // `post` sends a `Content-Type` already.
    await client.write(post('/', body, { ...good, 'content-type': 'text/plain' }))
    expect(readRpc(await client.answer()).error?.reason).toBe('CONTENT_TYPE_NOT_SUPPORTED')
    await client.write(post('/', body, good))
    expect(readRpc(await client.answer()).error).toBeUndefined()
  })
})

describe('a body that the server does not read', () => {
  it('ends the connection after the response, unless it arrives soon', async () => {
    await using served = await serve(echoAgent, { limits: { bodyBytes: 1000 } })
    using open = await connect(served.url)
    await open.write(`${postHead('/', { 'Content-Length': 5000 })}{`)
    expect((await open.answer()).status).toBe(413)
    await open.closes(timeoutMs)
    using complete = await connect(served.url)
    await complete.write(postHead('/', { 'Content-Length': 5000 }) + 'x'.repeat(5000))
    expect((await complete.answer()).status).toBe(413)
    await complete.write(post('/', envelope('SendMessage', send('again'))))
    expect(readRpc(await complete.answer()).error).toBeUndefined()
  })
})

describe('a request with two hosts', () => {
  it.each(['localhost', 'elsewhere.example'])('is rejected, with all requests after it (%s)', async (second) => {
    await using served = await serve(echoAgent)
    using client = await connect(served.url)
    const twice = post('/', envelope('SendMessage', send('hi')), { hOST: second })
    await client.write(twice + post('/', envelope('SendMessage', send('behind it'))))
    expect((await client.answer()).status).toBe(400)
    await client.closes(timeoutMs)
    expect(client.received).toBe('')
    await assertServing(served)
  })
})
