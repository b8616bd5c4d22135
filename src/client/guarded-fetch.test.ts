import { createServer } from 'node:net'
import { brotliCompressSync, createGzip, deflateSync, gzipSync } from 'node:zlib'
import { describe, expect, it, vi } from 'vitest'
import { TransportError } from '../model/transport-error.js'
import { userAgent } from '../model/user-agent.js'
import { createSender, type GuardedRequest, type SenderOptions, toTransportError } from './guarded-fetch.js'
import { fetchWithNames, json, serveHttp } from './http-server.fixture.js'
import type { WireEntry } from './wire-log.js'

const get = (url: string, rest: Partial<GuardedRequest> = {}) => ({ method: 'GET', url, headers: {}, ...rest })

/** Sends as for an agent on the internet. */
function senderTo(name: string, port: number, options: Partial<SenderOptions> = {}) {
  return createSender({
    namedOrigins: [`http://${name}:${port}`],
    fetch: fetchWithNames(name, 'other.example'),
    lookup: async (host) => (host === 'inside.example' ? ['10.0.0.1'] : ['8.8.8.8']),
    ...options,
  })
}

async function failure(promise: Promise<unknown>): Promise<TransportError> {
  const caught = await promise.then(
    () => undefined,
    (error: unknown) => error,
  )
  expect(caught).toBeInstanceOf(TransportError)
  return caught as TransportError // the line above checks the class
}

describe('createSender', () => {
  it('sends a request and reads the response', async () => {
    await using server = await serveHttp((seen, response) => json(response, { got: seen.body }))
    const send = createSender({ namedOrigins: [server.origin] })
    const request = { method: 'POST', url: `${server.origin}/a`, headers: { 'x-one': '1' }, body: 'hello' }
    const response = await send(request)
    expect(await response.json()).toEqual({ got: 'hello' })
    expect(response.url).toBe(`${server.origin}/a`)
    expect(server.seen[0]?.headers).toMatchObject({ 'x-one': '1', 'user-agent': userAgent })
  })

  it('returns statuses without a body', async () => {
    await using server = await serveHttp((_, response) => response.writeHead(304).end())
    expect((await createSender({ namedOrigins: [server.origin] })(get(server.origin))).status).toBe(304)
  })

  describe('redirects', () => {
    it('are followed for GET, at most three times', async () => {
      await using server = await serveHttp(({ path }, response) => {
        const left = Number(path.slice(1))
        if (left === 0) json(response, 'true')
        else response.writeHead(302, { location: `/${left - 1}` }).end()
      })
      const send = createSender({ namedOrigins: [server.origin] })
      expect((await send(get(`${server.origin}/3`))).url).toBe(`${server.origin}/0`)
      expect((await failure(send(get(`${server.origin}/4`)))).message).toContain('more than 3 times')
    })

    it('are not followed for POST', async () => {
      await using server = await serveHttp((_, response) =>
        response.writeHead(307, { location: '/other?token=secret' }).end(),
      )
      const send = createSender({ namedOrigins: [server.origin] })
      const refusal = await failure(send({ ...get(`${server.origin}/other/?key=secret`), method: 'POST', body: '{}' }))
      expect(refusal).toMatchObject({ failure: 'refused', isRetryable: false })
      expect(refusal.message).toContain(`${server.origin}/other/ redirects to ${server.origin}/other: use that address`)
      expect(refusal.message).not.toContain('secret')
      expect(server.seen).toHaveLength(1)
    })

    it.each([
      ['this machine', 'http://127.0.0.1:PORT/secret'],
      ['this machine, spelled otherwise', 'http://0x7f000001:PORT/secret'],
      ['this machine by name', 'http://localhost:PORT/secret'],
      ['this machine by its embedded address', 'http://[::ffff:127.0.0.1]:PORT/secret'],
      ['the metadata of a cloud', 'http://169.254.169.254/latest/meta-data/'],
      ['a private network', 'http://10.0.0.1/'],
      ['a name on a private network', 'http://inside.example/'],
      ['another scheme', 'file:///etc/passwd'],
      ['a place with a password in it', 'http://user:password@other.example:PORT/'],
    ])('are not followed to %s', async (_, location) => {
      await using server = await serveHttp(({ path }, response) =>
        path === '/secret'
          ? json(response, '"secret"')
          : response.writeHead(302, { location: location.replace('PORT', String(server.port)) }).end(),
      )
      const refusal = await failure(senderTo('agent.example', server.port)(get(`http://agent.example:${server.port}/`)))
      expect(refusal).toMatchObject({ failure: 'refused', isRetryable: false })
      expect(server.seen).toHaveLength(1)
    })

    it('are followed within the network class of the user’s URL, and everywhere if all networks are allowed', async () => {
      await using server = await serveHttp(({ path }, response) =>
        path === '/end'
          ? json(response, '"end"')
          : response.writeHead(302, { location: `http://localhost:${server.port}/end` }).end(),
      )
      const fromLoopback = await createSender({ namedOrigins: [server.origin] })(get(server.origin))
      expect(await fromLoopback.text()).toBe('"end"')
      const send = senderTo('agent.example', server.port, { allowPrivate: true })
      expect(await (await send(get(`http://agent.example:${server.port}/`))).text()).toBe('"end"')
    })

    it('are not followed from loopback to other private networks', async () => {
      await using server = await serveHttp((_, response) =>
        response.writeHead(302, { location: 'http://10.0.0.1/' }).end(),
      )
      expect((await failure(createSender({ namedOrigins: [server.origin] })(get(server.origin)))).message).toContain(
        'private',
      )
    })

    it('are not followed from https to http', async () => {
      await using server = await serveHttp((_, response) =>
        response.writeHead(302, { location: `http://agent.example:${server.port}/` }).end(),
      )
      const send = senderTo('agent.example', server.port)
      const refusal = await failure(send(get(`https://agent.example:${server.port}/`)))
      expect(refusal.message).toContain('from https to http')
    })

    it('do not carry credentials to another origin', async () => {
      await using other = await serveHttp((_, response) => json(response, '"other"'))
      await using server = await serveHttp((_, response) =>
        response.writeHead(302, { location: `http://other.example:${other.port}/` }).end(),
      )
      const headers = { authorization: 'Bearer s', cookie: 'a=s', 'x-api-key': 's', 'x-invented': 's', accept: 'a/b' }
      const send = senderTo('agent.example', server.port)
      await send(get(`http://agent.example:${server.port}/`, { headers }))
      expect(server.seen[0]?.headers).toMatchObject(headers)
      expect(other.seen[0]?.headers.accept).toBe('a/b')
      for (const name of ['authorization', 'cookie', 'x-api-key', 'x-invented'])
        expect(other.seen[0]?.headers).not.toHaveProperty(name)
    })

    it('fail in browsers, which hide the target', async () => {
      const opaque = { type: 'opaqueredirect', status: 0, headers: new Headers(), body: null } as Response // as browsers return it
      const send = createSender({ namedOrigins: ['http://127.0.0.1'], fetch: async () => opaque })
      expect((await failure(send(get('http://127.0.0.1/')))).failure).toBe('refused')
    })
  })

  it('rejects URLs in private networks before it connects', async () => {
    await using server = await serveHttp((_, response) => json(response, '1'))
    const refusal = await failure(createSender({ namedOrigins: ['https://8.8.8.8'] })(get(server.origin)))
    expect(refusal.failure).toBe('refused')
    expect(server.seen).toEqual([])
  })

  describe('limits', () => {
    it('apply to the body size, with or without Content-Length or compression', async () => {
      const long = 'x'.repeat(5000)
      await using server = await serveHttp(({ path }, response) => {
        if (path === '/announced') response.writeHead(200, { 'content-length': '5000' }).end(long)
        else if (path === '/packed') response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(long))
        else {
          response.write(long)
          response.end()
        }
      })
      const send = createSender({ namedOrigins: [server.origin], maxBytes: 4999 })
      for (const path of ['/announced', '/packed', '/chunked'])
        expect((await failure(send(get(server.origin + path)))).failure).toBe('refused')
      const enough = createSender({ namedOrigins: [server.origin], maxBytes: 5000 })
      expect(await (await enough(get(`${server.origin}/packed`))).text()).toBe(long)
    })

    it('apply to the time for the headers and for the body', async () => {
      await using server = await serveHttp(({ path }, response) => {
        if (path === '/head') return
        response.writeHead(200).write('{')
      })
      const timeoutOf = async (path: string, limits: Partial<SenderOptions>) =>
        await failure(createSender({ namedOrigins: [server.origin], ...limits })(get(`${server.origin}/${path}`)))
      expect(await timeoutOf('head', { headersTimeoutMs: 50 })).toMatchObject({ failure: 'timeout' })
      expect((await timeoutOf('body', { bodyTimeoutMs: 60 })).message).toContain('within 60 ms')
    })

    it('do not apply to streams', async () => {
      let end = () => undefined as unknown
      await using server = await serveHttp((_, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n')
        end = () => response.end('data: 2\n\n')
      })
      const limits = { headersTimeoutMs: 40, bodyTimeoutMs: 20, maxBytes: 5 }
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
      try {
        const send = createSender({ namedOrigins: [server.origin], ...limits })
        const response = await send(get(server.origin, { isStream: true }))
        vi.advanceTimersByTime(1000)
        end()
        expect(await response.text()).toBe('data: 1\n\ndata: 2\n\n')
      } finally {
        vi.useRealTimers()
      }
    })

    it('apply to a response that is not a stream', async () => {
      await using server = await serveHttp((_, response) => json(response, 'x'.repeat(100)))
      const send = createSender({ namedOrigins: [server.origin], maxBytes: 10 })
      expect((await failure(send(get(server.origin, { isStream: true })))).failure).toBe('refused')
    })
  })

  describe('event streams', () => {
    const stream = { 'content-type': 'text/event-stream' }
    const openStream = async (origin: string) => {
      const { body } = await createSender({ namedOrigins: [origin] })(get(origin, { isStream: true }))
      return body ?? expect.fail('The response has no body')
    }
    const textOf = (bytes: Uint8Array | undefined) => new TextDecoder().decode(bytes)

    it('are decompressed as they arrive', async () => {
      const packed = createGzip()
      await using server = await serveHttp((_, response) =>
        packed.pipe(response.writeHead(200, { ...stream, 'content-encoding': 'gzip' })),
      )
      const body = openStream(server.origin)
      packed.write('data: 1\n\n')
      packed.flush()
      expect(textOf(await (await body).read())).toBe('data: 1\n\n')
      packed.end('data: 2\n\n')
      expect(textOf(await (await body).read())).toBe('data: 2\n\n')
      expect(await (await body).read()).toBeUndefined()
    })

    it('stop the peer while they are not read', async () => {
      const mebibyte = Buffer.alloc(1024 * 1024)
      let written = 0
      await using server = await serveHttp(({ path }, response) => {
        if (path !== '/') return json(response, String(written))
        response.writeHead(200, stream)
        const write = () => {
          while (written < 200) {
            written += 1
            if (!response.write(mebibyte)) return response.once('drain', write)
          }
          return response.end()
        }
        write()
      })
      const body = await openStream(server.origin)
      const send = createSender({ namedOrigins: [server.origin] })
      const count = async () => Number(await (await send(get(`${server.origin}/count`))).text())
      // The peer has stopped when many requests in a row see the same number.
      for (let before = await count(), same = 0; same < 50; ) {
        const now = await count()
        same = now === before ? same + 1 : 0
        before = now
      }
      expect(written).toBeLessThan(100)
      let length = 0
      for (let piece = await body.read(); piece; piece = await body.read()) length += piece.byteLength
      expect(length).toBe(200 * mebibyte.byteLength)
    })

    it('close their connection when the reader leaves', async () => {
      let closed = () => undefined as unknown
      const isClosed = new Promise<unknown>((resolve) => {
        closed = () => resolve(true)
      })
      await using server = await serveHttp((_, response) => {
        response.on('close', () => closed())
        response.writeHead(200, stream).write('data: 1\n\n')
      })
      const body = await openStream(server.origin)
      await body.read()
      await body.cancel()
      expect(await isClosed).toBe(true)
    })

    it('fail if the connection breaks, after the bytes that arrived', async () => {
      await using server = await serveHttp((_, response) => {
        response.writeHead(200, stream).write('data: 1\n\n', () => response.destroy())
      })
      const body = await openStream(server.origin)
      expect(textOf(await body.read())).toBe('data: 1\n\n')
      await expect(body.read()).rejects.toThrow()
    })

    it('end with the signal of the caller', async () => {
      await using server = await serveHttp((_, response) => response.writeHead(200, stream).write('data: 1\n\n'))
      const controller = new AbortController()
      const send = createSender({ namedOrigins: [server.origin] })
      const { body } = await send(get(server.origin, { isStream: true, signal: controller.signal }))
      await body?.read()
      const next = body?.read()
      controller.abort()
      await expect(next).rejects.toThrow()
    })
  })

  it('decompresses bodies, and joins headers that occur several times', async () => {
    const packed: Readonly<Record<string, (text: string) => Buffer>> = {
      gzip: gzipSync,
      deflate: deflateSync,
      br: brotliCompressSync,
      'gzip, br': (text) => brotliCompressSync(gzipSync(text)),
    }
    await using server = await serveHttp(({ path }, response) => {
      const coding = decodeURIComponent(path.slice(1))
      response.writeHead(200, { 'content-encoding': coding, 'x-many': ['a', 'b'] }).end(packed[coding]?.('\uFEFF"ü"'))
    })
    const send = createSender({ namedOrigins: [server.origin] })
    for (const coding of Object.keys(packed)) {
      const response = await send(get(`${server.origin}/${encodeURIComponent(coding)}`))
      expect(await response.json()).toBe('ü')
      expect(response.headers.get('X-Many')).toBe('a, b')
    }
  })

  describe('failures', () => {
    it('report a refused connection', async () => {
      const server = await serveHttp(() => undefined)
      await server[Symbol.asyncDispose]()
      const error = await failure(createSender({ namedOrigins: [server.origin] })(get(server.origin)))
      expect(error).toMatchObject({ failure: 'unreachable', isRetryable: true, wasSent: false })
      expect(error.message).toBe(`127.0.0.1:${server.port} cannot be reached: nothing listens there (ECONNREFUSED)`)
    })

    it('report a port that fetch blocks, and keep causes without a code', async () => {
      const error = await failure(createSender({ namedOrigins: ['http://localhost:9'] })(get('http://localhost:9/')))
      expect(error).toMatchObject({ failure: 'unreachable', isRetryable: false, wasSent: false })
      expect(error.message).toBe(
        'localhost:9 cannot be reached: fetch does not allow this port, serve on another one (BAD_PORT)',
      )
      const broken = new TypeError('fetch failed', { cause: new Error('proxy says no') })
      expect(toTransportError(broken, { url: 'http://agent.example/' }).message).toBe(
        'agent.example cannot be reached: the connection failed: proxy says no',
      )
    })

    it('report an unknown host name', async () => {
      const url = 'http://no-such-host.invalid/'
      const error = await failure(createSender({ namedOrigins: [url] })(get(url)))
      expect(error).toMatchObject({ failure: 'unreachable', wasSent: false })
      expect(error.message).toMatch(/no-such-host\.invalid cannot be reached: the name/)
    })

    it('report a peer without HTTP, and a peer without TLS', async () => {
      const server = createServer((socket) =>
        socket.on('data', () => socket.end('SSH-2.0-x\r\n')).on('error', () => undefined),
      )
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      const { port } = server.address() as { port: number } // it listens on TCP
      const send = createSender({ namedOrigins: ['http://127.0.0.1'] })
      expect((await failure(send(get(`http://127.0.0.1:${port}/`)))).failure).toBe('bad-answer')
      const encrypted = await failure(send(get(`https://127.0.0.1:${port}/`)))
      expect([encrypted.message, encrypted.wasSent]).toEqual([expect.stringContaining('does not speak TLS'), false])
      server.close()
    })

    it.each(['gzip', 'br', 'deflate'])('report a body that is not compressed with %s as it says', async (coding) => {
      await using server = await serveHttp((_, response) =>
        response.writeHead(200, { 'content-encoding': coding }).end('this is plain text'),
      )
      const error = await failure(createSender({ namedOrigins: [server.origin] })(get(server.origin)))
      expect(error).toMatchObject({ failure: 'bad-answer', isRetryable: false })
    })

    it('mark a request that was sent as sent', async () => {
      await using server = await serveHttp((_, response) => response.destroy())
      const error = await failure(createSender({ namedOrigins: [server.origin] })(get(server.origin)))
      expect(error).toMatchObject({ failure: 'unreachable', wasSent: true })
    })

    it('are classified by the message of a custom `fetch`', async () => {
      const server = await serveHttp(() => undefined)
      await server[Symbol.asyncDispose]()
      const send = createSender({ namedOrigins: [server.origin], fetch: (url, init) => fetch(url, init) })
      expect(await failure(send(get(server.origin)))).toMatchObject({ failure: 'unreachable', wasSent: false })
    })

    it('distinguish an abort from a deadline of the caller', async () => {
      await using server = await serveHttp(() => undefined)
      const send = createSender({ namedOrigins: [server.origin] })
      const controller = new AbortController()
      const aborted = failure(send(get(server.origin, { signal: controller.signal })))
      controller.abort()
      expect((await aborted).failure).toBe('aborted')
      const late = failure(send(get(server.origin, { signal: AbortSignal.timeout(30) })))
      expect((await late).failure).toBe('timeout')
    })
  })

  describe('the wire log', () => {
    it('contains requests and responses without secrets (R-SEC-5)', async () => {
      await using server = await serveHttp(({ body }, response) =>
        json(response, { echo: body }, { 'set-cookie': 'a=s3cret' }),
      )
      const events: WireEntry[] = []
      const send = createSender({
        namedOrigins: [server.origin],
        wire: { binding: 'card', onWire: (entry) => events.push(entry) },
      })
      const request: GuardedRequest = {
        method: 'POST',
        url: `${server.origin}/a?api_key=s3cret&q=1&odd=inv%2Fented`,
        headers: {
          authorization: 'Bearer s3cret',
          cookie: 'k=s3cret',
          'x-api-key': 's3cret',
          'x-odd': 'inv/ented',
          a: 'b',
        },
        body: 'inv/ented words',
        secrets: ['inv/ented'],
      }
      await send(request)
      expect(events.map(({ direction }) => direction)).toEqual(['request', 'response'])
      const [sent, answered] = events
      expect(sent).toMatchObject({
        headers: { a: 'b', authorization: '[redacted]' },
        body: '[redacted] words',
      })
      expect(answered).toMatchObject({
        status: 200,
        exchange: events[0]?.exchange,
        body: '{"echo":"[redacted] words"}',
      })
      expect(JSON.stringify(events)).not.toMatch(/s3cret|ented"|inv%2F/)
    })

    it('contains stream chunks and failures, and no confidential bodies', async () => {
      await using server = await serveHttp(({ path }, response) =>
        path === '/stream'
          ? response.writeHead(200, { 'content-type': 'text/event-stream' }).end('data: 1\n\n')
          : json(response, { access_token: 't' }),
      )
      const events: WireEntry[] = []
      const send = createSender({
        namedOrigins: [server.origin],
        wire: { binding: 'card', onWire: (entry) => events.push(entry) },
        maxBytes: 100,
      })
      expect(await (await send(get(`${server.origin}/stream`, { isStream: true }))).text()).toBe('data: 1\n\n')
      expect(events.at(-1)).toMatchObject({
        direction: 'event',
        body: 'data: 1\n\n',
        what: `GET ${server.origin}/stream`,
      })
      await send(get(server.origin, { isConfidential: true } as Partial<GuardedRequest>))
      expect(events.at(-1)).toMatchObject({ direction: 'response', body: '[redacted]' })
      await failure(send(get('http://127.0.0.1:1/')))
      expect(events.at(-1)).toMatchObject({
        status: expect.stringContaining('cannot be reached'),
        exchange: events.at(-2)?.exchange,
      })
    })
  })
})
