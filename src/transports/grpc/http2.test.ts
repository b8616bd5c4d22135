/** The protocol of gRPC on HTTP/2 streams, with requests that a client library does not send. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type ClientHttp2Session, connect, type IncomingHttpHeaders, type OutgoingHttpHeaders } from 'node:http2'
import { type AddressInfo, connect as connectSocket, createServer } from 'node:net'
import { deflateSync, gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { v1 } from '../../dialects/v1/index.js'
import { A2AError } from '../../model/errors.js'
import type { AgentService } from '../../model/service.js'
import { type AnswerStream, createHttp2Server, isRapid } from '../../server/http2.js'
import { gate, until } from '../../testing/wait.js'
import { Deadlines } from '../deadlines.js'
import { defaultRequestLimits } from '../read-json.js'
import { testGrpc } from './grpc.fixture.js'
import { type Rpc, services } from './messages.js'
import { RequestReader } from './request-reader.js'
import { createGrpcServer } from './server.js'
import { statusCodes } from './status.js'

const getTask = services.get('lf.a2a.v1.A2AService')?.get('GetTask') as Rpc
const service = {
  getTask: async ({ id }) => ({ id, contextId: 'c', status: { state: 'TASK_STATE_COMPLETED' } }),
} as Partial<AgentService> as AgentService

const head: OutgoingHttpHeaders = {
  ':method': 'POST',
  ':path': '/lf.a2a.v1.A2AService/GetTask',
  'content-type': 'application/grpc',
  te: 'trailers',
}

function framed(message: Uint8Array, flag = 0): Buffer {
  const prefix = Buffer.alloc(5)
  prefix[0] = flag
  prefix.writeUInt32BE(message.length, 1)
  return Buffer.concat([prefix, message])
}

const request = (id = 't-1') => getTask.request.encode({ id })

interface RawAnswer {
  readonly headers: IncomingHttpHeaders
  /** Those of the headers if there is no body. */
  readonly trailers: IncomingHttpHeaders
  readonly body: Buffer
}

/** Sends the pieces in separate frames. Without an end, the request stays open. */
async function call(
  session: ClientHttp2Session,
  headers: OutgoingHttpHeaders,
  pieces: readonly Buffer[],
  isEnded = true,
): Promise<RawAnswer> {
  const stream = session.request({ ...head, ...headers })
  let received: IncomingHttpHeaders = {}
  let trailers: IncomingHttpHeaders | undefined
  const body: Buffer[] = []
  stream.on('response', (given) => {
    received = given
  })
  stream.on('trailers', (given) => {
    trailers = given
  })
  stream.on('data', (piece: Buffer) => body.push(piece))
  for (const piece of pieces) {
    stream.write(piece)
    await new Promise((resolve) => setImmediate(resolve))
  }
  if (isEnded) stream.end()
  await once(stream, 'close')
  return { headers: received, trailers: trailers ?? received, body: Buffer.concat(body) }
}

async function open(more: Parameters<typeof testGrpc>[2] = {}, given = service) {
  const server = await testGrpc(given, v1, more)
  const session = connect(`http://127.0.0.1:${server.port}`)
  return {
    server,
    session,
    async [Symbol.asyncDispose]() {
      session.destroy()
      await server[Symbol.asyncDispose]()
    },
  }
}

/** A server of HTTP/2 alone, which checks its connections at the given times. */
async function rawConnection(
  times: { pingMs?: number; pongMs?: number; idleMs?: number },
  answer: AnswerStream = (stream) => stream.respond({ ':status': 204 }, { endStream: true }),
) {
  const http2 = createHttp2Server(answer, times)
  const listener = createServer((socket) => http2.accept(socket)).listen(0, '127.0.0.1')
  await once(listener, 'listening')
  const { port } = listener.address() as AddressInfo // it listens on TCP
  return {
    port,
    async [Symbol.asyncDispose]() {
      await http2.close(0)
      listener.close()
    },
  }
}

/** The status code and the decoded message of an answer. */
function statusIn({ trailers }: RawAnswer): [number, string] {
  return [Number(trailers['grpc-status']), decodeURIComponent(String(trailers['grpc-message'] ?? ''))]
}

describe('a request', () => {
  it('may come in any pieces', async () => {
    await using at = await open()
    const bytes = framed(request('a-task-with-a-long-id'))
    for (const size of [1, 3, 5, 7, bytes.length]) {
      const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, place) =>
        bytes.subarray(place * size, (place + 1) * size),
      )
      const answer = await call(at.session, {}, pieces)
      expect(statusIn(answer)).toEqual([statusCodes.OK, ''])
      expect(answer.headers).toMatchObject({ ':status': 200, 'content-type': 'application/grpc+proto' })
      expect(getTask.response.decode(answer.body.subarray(5))).toMatchObject({ id: 'a-task-with-a-long-id' })
    }
  })

  it.each([
    ['gzip', gzipSync],
    ['deflate', deflateSync],
  ])('may be compressed with %s', async (encoding, compress) => {
    await using at = await open()
    const answer = await call(at.session, { 'grpc-encoding': encoding }, [framed(compress(request()), 1)])
    expect(statusIn(answer)).toEqual([statusCodes.OK, ''])
    expect(answer.headers['grpc-accept-encoding']).toBe('identity,deflate,gzip')
    // The flag of each message decides, not the header.
    expect(statusIn(await call(at.session, { 'grpc-encoding': encoding }, [framed(request())]))).toEqual([0, ''])
  })

  it('is refused if it decompresses to more than the limit', async () => {
    await using at = await open({ endpoint: { limits: { ...defaultRequestLimits, bodyBytes: 100_000 } } })
    const bomb = framed(gzipSync(Buffer.alloc(50_000_000)), 1)
    expect(bomb.length).toBeLessThan(100_000)
    const [code, message] = statusIn(await call(at.session, { 'grpc-encoding': 'gzip' }, [bomb]))
    expect(code).toBe(statusCodes.RESOURCE_EXHAUSTED)
    expect(message).toContain('larger than 100000')
  })

  it('is decompressed with three others at most, and not if its call is over', async () => {
    const bytes = framed(gzipSync(request()), 1)
    let started = 0
    let received = 0
    let overs = 0
    const finish = (isOver: () => boolean) => {
      const reader = new RequestReader(1000)
      expect(reader.add(bytes)).toBeUndefined()
      const onMessage = () => {
        received += 1
      }
      reader.finish({ encoding: 'gzip', isOver, onMessage, onRefused: ({ message }) => assert.fail(message) })
    }
    const count = () => {
      started += 1
      return false
    }
    for (let place = 0; place < 20; place++) finish(count)
    expect(started).toBe(4)
    finish(() => {
      overs += 1
      return true
    })
    await until(() => received === 20 && overs === 1)
  })

  it.each<[string, OutgoingHttpHeaders, readonly Buffer[], keyof typeof statusCodes]>([
    ['has an unknown encoding', { 'grpc-encoding': 'snappy' }, [framed(request(), 1)], 'UNIMPLEMENTED'],
    [
      'names a member of objects as its encoding',
      { 'grpc-encoding': 'constructor' },
      [framed(request(), 1)],
      'UNIMPLEMENTED',
    ],
    ['names the prototype as its encoding', { 'grpc-encoding': '__proto__' }, [framed(request(), 1)], 'UNIMPLEMENTED'],
    ['is compressed without an encoding', {}, [framed(request(), 1)], 'INTERNAL'],
    ['is not what its encoding says', { 'grpc-encoding': 'gzip' }, [framed(request(), 1)], 'INTERNAL'],
    ['has no message', {}, [], 'UNIMPLEMENTED'],
    ['has half a prefix', {}, [Buffer.from([0, 0])], 'UNIMPLEMENTED'],
    ['has half a message', {}, [framed(request()).subarray(0, 7)], 'UNIMPLEMENTED'],
    ['has two messages', {}, [framed(request()), framed(request())], 'UNIMPLEMENTED'],
    ['has an invalid timeout', { 'grpc-timeout': '5 minutes' }, [framed(request())], 'INTERNAL'],
    ['has a timeout with too many digits', { 'grpc-timeout': '123456789S' }, [framed(request())], 'INTERNAL'],
    ['names an unknown rpc', { ':path': '/lf.a2a.v1.A2AService/Sing' }, [framed(request())], 'UNIMPLEMENTED'],
    ['has no service', { ':path': '/' }, [framed(request())], 'UNIMPLEMENTED'],
  ])('is refused if it %s', async (_, headers, pieces, code) => {
    await using at = await open()
    expect(statusIn(await call(at.session, headers, pieces))[0]).toBe(statusCodes[code])
    expect(statusIn(await call(at.session, {}, [framed(request())]))).toEqual([statusCodes.OK, ''])
  })

  it('is refused before its body has arrived if the length is too large', async () => {
    await using at = await open()
    const answer = await call(at.session, {}, [Buffer.from([0, 0x7f, 0xff, 0xff, 0xff])], false)
    expect(statusIn(answer)[0]).toBe(statusCodes.RESOURCE_EXHAUSTED)
  })

  it.each([
    ['plain', {}, framed(request())],
    ['compressed', { 'grpc-encoding': 'gzip' }, framed(gzipSync(request()), 1)],
  ])('ends with INTERNAL if an error outside of the service stops it, %s', async (_, headers, bytes) => {
    const options = {
      get observe(): never {
        throw new Error('broken')
      },
    }
    const answer = createGrpcServer(
      Object.defineProperties(
        { dialects: [v1], endpointOf: () => undefined, limits: defaultRequestLimits, onError: () => undefined },
        Object.getOwnPropertyDescriptors(options),
      ),
    )
    await using server = await rawConnection({}, answer)
    const session = connect(`http://127.0.0.1:${server.port}`)
    expect(statusIn(await call(session, headers, [bytes]))).toEqual([statusCodes.INTERNAL, 'Internal error'])
    session.destroy()
  })

  it('is refused with 405 unless its method is POST', async () => {
    await using at = await open()
    const { headers } = await call(at.session, { ':method': 'PUT' }, [framed(request())])
    expect(headers).toMatchObject({ ':status': 405, allow: 'POST', 'grpc-status': '13' })
  })

  it('ends with DEADLINE_EXCEEDED if it never ends', async () => {
    await using at = await open({ options: { requestMs: 50 } })
    for (const pieces of [[], [framed(request()).subarray(0, 6)], [framed(request())]]) {
      expect(statusIn(await call(at.session, {}, pieces, false))).toEqual([
        statusCodes.DEADLINE_EXCEEDED,
        'The request never ended',
      ])
    }
  })

  it('may wait for its answer longer than the time for the request', async () => {
    const opened = gate()
    const slow = { getTask: async () => opened.opened.then(() => service.getTask({ id: 'x' }, {} as never)) }
    await using at = await open({ options: { requestMs: 20 } }, slow as unknown as AgentService)
    const answer = call(at.session, {}, [framed(request())])
    // Another request measures the time.
    expect(statusIn(await call(at.session, {}, [], false))[0]).toBe(statusCodes.DEADLINE_EXCEEDED)
    opened.open()
    expect(statusIn(await answer)).toEqual([statusCodes.OK, ''])
  })

  it('reads metadata with bytes, and lists', async () => {
    const seen: (string | null)[] = []
    const admit = (headers: { get(name: string): string | null }) => {
      seen.push(headers.get('X-Key-bin'), headers.get('x-list'), headers.get('x-none'))
      return { id: 'ann' }
    }
    await using at = await open({ options: { admit } })
    const value = Buffer.from('héllo').toString('base64').replaceAll('=', '')
    await call(at.session, { 'x-key-bin': value, 'x-list': ['a', 'b'] }, [framed(request())])
    expect(seen).toEqual(['héllo', 'a, b', null])
  })

  it('needs credentials, for an unknown rpc too', async () => {
    const refused = new A2AError('UNAUTHENTICATED', 'Missing or invalid credentials')
    await using at = await open({ options: { admit: () => ({ refused, challenge: 'Bearer' }) } })
    for (const path of ['/lf.a2a.v1.A2AService/GetTask', '/lf.a2a.v1.A2AService/Sing', '/']) {
      const answer = await call(at.session, { ':path': path }, [framed(request())])
      expect(statusIn(answer)[0]).toBe(statusCodes.UNAUTHENTICATED)
      expect(answer.trailers['www-authenticate']).toBe('Bearer')
    }
  })

  it('is refused if incomplete requests on its connection hold too much', async () => {
    await using at = await open({ endpoint: { limits: { ...defaultRequestLimits, bodyBytes: 24 * 1024 * 1024 } } })
    // The last byte of each message is missing.
    const large = framed(Buffer.alloc(23 * 1024 * 1024)).subarray(0, -1)
    // The client needs memory for its own requests.
    const session = connect(`http://127.0.0.1:${at.server.port}`, { maxSessionMemory: 200 })
    const streams = Array.from({ length: 4 }, () => session.request(head))
    const codes: unknown[] = []
    for (const stream of streams) {
      stream.on('error', () => undefined)
      stream.on('response', (headers) => codes.push(headers['grpc-status']))
      stream.write(large)
    }
    await until(() => codes.length > 0)
    expect(codes[0]).toBe(String(statusCodes.RESOURCE_EXHAUSTED))
    for (const stream of streams) stream.close()
    expect(statusIn(await call(session, {}, [framed(request())]))).toEqual([statusCodes.OK, ''])
    session.destroy()
  })
})

describe('an HTTP/2 connection', () => {
  it('gets GOAWAY when the server closes, and its calls end', async () => {
    const opened = gate()
    let isCalled = false
    const slow = {
      getTask: async () => {
        isCalled = true
        await opened.opened
        return await service.getTask({ id: 'x' }, {} as never)
      },
    }
    await using at = await open({}, slow as unknown as AgentService)
    const answer = call(at.session, {}, [framed(request())])
    await until(() => isCalled)
    const goaway = once(at.session, 'goaway')
    const closed = at.server.grpc.close(5000)
    expect((await goaway)[0]).toBe(0)
    opened.open()
    expect(statusIn(await answer)).toEqual([statusCodes.OK, ''])
    await closed
  })

  /** The preface and settings. */
  const hello = Buffer.concat([
    Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
    Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]),
  ])
  /** Settings, and a HEADERS frame whose end never comes. */
  const unfinished = Buffer.concat([hello, Buffer.from([0, 0, 1, 1, 0, 0, 0, 0, 1, 0x83])])

  it.each([0, 8])('answers no stream that is reset in the packet of its headers, with code %i', async (code) => {
    const isOpen: boolean[] = []
    await using server = await rawConnection({}, (stream) => {
      isOpen.push(!stream.destroyed)
      stream.respond({ ':status': 204 }, { endStream: true })
    })
    const socket = connectSocket(server.port, '127.0.0.1')
    // GET http://l/ with END_HEADERS, then RST_STREAM.
    const headers = Buffer.from([0, 0, 6, 1, 4, 0, 0, 0, 1, 0x82, 0x86, 0x84, 0x41, 1, 0x6c])
    const reset = Buffer.from([0, 0, 4, 3, 0, 0, 0, 0, 1, 0, 0, 0, code])
    const ping = Buffer.concat([Buffer.from([0, 0, 8, 6, 0, 0, 0, 0, 0]), Buffer.from('answered')])
    let received = ''
    socket.on('data', (piece) => {
      received += piece.toString('latin1')
    })
    socket.write(hello)
    await until(() => received !== '')
    socket.write(Buffer.concat([headers, reset, ping]))
    await until(() => received.includes('answered'))
    expect(isOpen).not.toContain(false)
    socket.destroy()
    // Another connection is served.
    const session = connect(`http://127.0.0.1:${server.port}`)
    const stream = session.request({ ':path': '/' })
    expect((await once(stream, 'response'))[0][':status']).toBe(204)
    expect(isOpen.at(-1)).toBe(true)
    session.destroy()
  })

  it('resets the stream whose answer throws', async () => {
    await using server = await rawConnection({}, () => {
      throw new Error('broken')
    })
    const session = connect(`http://127.0.0.1:${server.port}`)
    const stream = session.request({ ':path': '/' })
    await assert.rejects(once(stream, 'response'), /INTERNAL_ERROR/)
    session.destroy()
  })

  it('is closed if its headers never end', async () => {
    await using server = await rawConnection({ pingMs: 30, pongMs: 60 })
    const socket = connectSocket(server.port, '127.0.0.1')
    socket.on('error', () => undefined).resume()
    socket.write(unfinished)
    // Headers go on, but they do not end. A peer in the middle of them cannot answer a ping.
    const drip = setInterval(() => socket.write(Buffer.from([0, 0, 1, 9, 0, 0, 0, 0, 1, 0x84])), 20)
    await once(socket, 'close')
    clearInterval(drip)
  })

  it('is closed when it is idle, not while a stream is open', async () => {
    await using server = await rawConnection({ pingMs: 20, pongMs: 5000, idleMs: 50 })
    const session = connect(`http://127.0.0.1:${server.port}`)
    const goaway = once(session, 'goaway')
    const stream = session.request({ ':path': '/' })
    stream.resume()
    expect((await once(stream, 'response'))[0][':status']).toBe(204)
    expect((await goaway)[0]).toBe(0)
    session.destroy()
  })

  it('is reset if its headers are larger than the limit', async () => {
    await using at = await open()
    // The limit holds as soon as the client has acknowledged it.
    await call(at.session, {}, [framed(request())])
    const stream = at.session.request({ ...head, 'x-large': 'x'.repeat(40_000) })
    const failure = await new Promise<Error | undefined>((resolve) => {
      stream.on('error', resolve)
      stream.on('close', () => resolve(undefined))
    })
    assert.match(String(failure), /ENHANCE_YOUR_CALM|NGHTTP2/)
    expect(statusIn(await call(at.session, {}, [framed(request())]))).toEqual([statusCodes.OK, ''])
  })
})

it.each([
  [999, undefined, true],
  [1000, undefined, false],
  [99, '100m', true],
  [100, '100m', false],
  [999, '2S', true],
  [20, '20m', false],
  [500, '19m', true],
  [500, '0S', true],
  [500, 'soon', true],
])('counts a reset after %i ms of a call with the timeout %s as rapid: %s', (elapsedMs, timeout, expected) => {
  expect(isRapid(elapsedMs, timeout)).toBe(expected)
})

it('keeps nothing of a far deadline that is removed', () => {
  const deadlines = new Deadlines()
  const entry = { expire: () => undefined }
  for (let hours = 1; hours <= 100; hours++) deadlines.remove(entry, deadlines.add(entry, hours * 3_600_000))
  expect(deadlines.size).toBe(0)
})
