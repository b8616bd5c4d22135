/**
 * The server rejects every call without a valid credential: every operation of every dialect over every binding, with
 * no credentials and with bad ones; paths that are similar to public ones. The test lists all public paths.
 */
import { connect as connectSocket } from 'node:net'
import { Client, credentials, Metadata, type ServiceError, status } from '@grpc/grpc-js'
import { apiKey, jwt, type Served, serve } from 'dragoman'
import { generateSigningKey } from 'dragoman/server'
import { exportJWK, generateKeyPair, SignJWT, UnsecuredJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { proves } from '../../conformance/proves.js'
import { fromGeneric, toGeneric } from '../../src/model/generic-service.js'
import { echoAgent } from '../../src/testing/echo-agent.js'
import { connect } from '../hostile/raw-client.js'
import { grpcRoutes, type HttpRoute, httpRoutes } from './all-routes.js'

const audience = 'https://agent.example'
const own = await generateKeyPair('ES256', { extractable: true })
const foreign = await generateKeyPair('ES256')
const publicKey = { ...(await exportJWK(own.publicKey)), kid: 'one' }

function token(claims: object = {}): SignJWT {
  const usual = { sub: 'alice', aud: audience, iss: 'me', exp: Math.floor(Date.now() / 1000) + 600 }
  return new SignJWT({ ...usual, ...claims }).setProtectedHeader({ alg: 'ES256', kid: 'one' })
}

const good = { 'x-api-key': 'key-a' }
const goodToken = await token().sign(own.privateKey)
const bearing = (given: string) => ({ authorization: `Bearer ${given}` })

/** Invalid credentials. */
const bad: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
  ['nothing', {}],
  ['a wrong key', { 'x-api-key': 'key-b' }],
  ['an empty key', { 'x-api-key': '' }],
  ['a key in capitals', { 'x-api-key': 'KEY-A' }],
  ['two keys, one of them good', { 'x-api-key': 'key-a, key-b' }],
  ['a key under another name', { 'x-api_key': 'key-a', apikey: 'key-a', key: 'key-a' }],
  ['a key as a cookie', { cookie: 'x-api-key=key-a; X-API-Key=key-a' }],
  ['a key as a token', bearing('key-a')],
  ['a key as a password', { authorization: `Basic ${btoa('key-a:key-a')}` }],
  ['a name', { 'x-agent-name': 'alice', 'x-forwarded-user': 'alice', 'x-remote-user': 'alice', from: 'alice' }],
  ['a header of a proxy', { 'x-client-cert': 'CN=alice', 'x-forwarded-client-cert': 'Subject="CN=alice"' }],
  ['an expired token', bearing(await token({ exp: 1000 }).sign(own.privateKey))],
  ['a token for another audience', bearing(await token({ aud: 'https://other.example' }).sign(own.privateKey))],
  ['a token of another issuer', bearing(await token({ iss: 'you' }).sign(own.privateKey))],
  ['a token with a foreign key', bearing(await token().sign(foreign.privateKey))],
  ['an unsigned token', bearing(`${new UnsecuredJWT({ sub: 'alice', aud: audience, iss: 'me', exp: 4e9 }).encode()}x`)],
  ['a good token without a scheme', { authorization: goodToken }],
  ['a good token under another scheme', { authorization: `Token ${goodToken}` }],
  ['a good token twice', { authorization: `Bearer ${goodToken}, Bearer ${goodToken}` }],
  ['a good token without its last letter', bearing(goodToken.slice(0, -1))],
]

let served: Served
/** Calls that reached an agent. */
const reached: string[] = []

beforeAll(async () => {
  served = await serve([{ agent: echoAgent, path: '/' }], {
    dialects: 'all',
    auth: [apiKey({ 'key-a': 'alice' }), jwt({ audience, issuer: 'me', keys: [publicKey] })],
    // The limit on failed attempts is off, so each attempt is judged by its credential.
    limits: { failedAuthentication: 'none' },
    cors: ['https://page.example'],
    advanced: {
      tenants: ['acme'],
      signing: { keys: [await generateSigningKey()] },
      wrap(service) {
        const { unary, streaming } = toGeneric(service)
        return fromGeneric({
          unary(operation, request, context) {
            reached.push(operation)
            return unary(operation, request, context)
          },
          streaming(operation, request, context) {
            reached.push(operation)
            return streaming(operation, request, context)
          },
        })
      },
    },
  })
})
afterAll(() => served.close({ deadlineMs: 0 }))

async function ask(
  { method, path, headers, body }: HttpRoute,
  more: Readonly<Record<string, string>>,
): Promise<Response> {
  return await fetch(new URL(path, served.url), {
    method,
    headers: { ...headers, ...more },
    ...(body !== undefined && { body }),
  })
}

describe.each([...httpRoutes(), ...httpRoutes('/acme')].map((way) => [way.name, way] as const))('%s', (_name, way) => {
  it(proves(['R-SEC-2', 'R3-SEC-1', 'RL-ALL-2'], 'rejects missing and invalid credentials'), async () => {
    reached.length = 0
    for (const [what, headers] of way.path.startsWith('/acme') ? bad.slice(0, 2) : bad) {
      const answer = await ask(way, headers)
      const text = await answer.text()
      expect([answer.status, what], text).toEqual([401, what])
      expect(answer.headers.get('www-authenticate'), what).toMatch(/^ApiKey name="X-API-Key", Bearer realm="agent"/)
      expect(answer.headers.get('content-type'), what).toContain('json')
      const body = JSON.parse(text) as { id?: unknown; error?: unknown }
      if (way.isRpc) expect([body.id, typeof body.error], what).toEqual([7, 'object'])
      expect(text, what).not.toMatch(/alice|key-a|acme|ES256/)
    }
    expect(reached).toEqual([])
  })

  it('accepts a valid credential', async () => {
    for (const headers of [good, bearing(goodToken)]) {
      const answer = await ask(way, headers)
      await answer.body?.cancel()
      expect([401, 403]).not.toContain(answer.status)
    }
  })
})

describe.each(grpcRoutes().map((way) => [way.name, way] as const))('%s over gRPC', (_name, { path }) => {
  const call = (headers: Readonly<Record<string, string>>) =>
    new Promise<ServiceError>((resolve, reject) => {
      const client = new Client(new URL(served.url).host, credentials.createInsecure())
      const metadata = new Metadata()
      for (const [name, value] of Object.entries(headers)) metadata.set(name, value)
      const bytes = (value: Buffer) => value
      client.makeUnaryRequest(path, bytes, bytes, Buffer.alloc(0), metadata, (error) => {
        client.close()
        if (error) resolve(error)
        else reject(new Error('The call was answered'))
      })
    })

  it(proves(['R-SEC-2', 'R-GRPC-2'], 'rejects missing and invalid credentials'), async () => {
    reached.length = 0
    for (const [what, headers] of bad) {
      const { code, metadata } = await call(headers)
      expect([status[code], what]).toEqual(['UNAUTHENTICATED', what])
      expect(String(metadata.get('www-authenticate')[0]), what).toMatch(/^ApiKey name="X-API-Key", Bearer/)
    }
    expect(reached).toEqual([])
  })

  it('accepts a valid credential', async () => {
    const outcome = await call(good).catch(() => ({ code: status.OK }))
    expect(status[outcome.code]).not.toBe('UNAUTHENTICATED')
  })
})

describe('two headers `authorization` over gRPC', () => {
  const frame = (type: number, flags: number, body: Buffer, stream = 1) =>
    Buffer.concat([Buffer.from([0, body.length >> 8, body.length, type, flags, 0, 0, 0, stream]), body])
  /** Lengths from 127 on take further bytes (RFC 7541, 5.1). */
  const literal = (text: string) => {
    const bytes = Buffer.from(text)
    if (bytes.length < 127) return Buffer.concat([Buffer.from([bytes.length]), bytes])
    const rest = bytes.length - 127
    return Buffer.concat([Buffer.from([127, (rest & 127) | 128, rest >> 7]), bytes])
  }
  const hello = Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), frame(4, 0, Buffer.alloc(0), 0)])

  /** Lists the tasks, until the stream has ended. Client libraries do not send such headers. */
  async function call(tokens: readonly string[]): Promise<void> {
    const headers = [
      [':method', 'POST'],
      [':scheme', 'http'],
      [':path', '/lf.a2a.v1.A2AService/ListTasks'],
      [':authority', 'localhost'],
      ['content-type', 'application/grpc'],
      ['te', 'trailers'],
      ...tokens.map((given) => ['authorization', `Bearer ${given}`]),
    ].flatMap(([name = '', value = '']) => [Buffer.from([0x10]), literal(name), literal(value)])
    const socket = connectSocket(Number(new URL(served.url).port), '127.0.0.1')
    socket.write(Buffer.concat([hello, frame(1, 4, Buffer.concat(headers)), frame(0, 1, Buffer.alloc(5))]))
    let received = Buffer.alloc(0)
    for await (const piece of socket) {
      received = Buffer.concat([received, piece])
      while (received.length >= 9 && received.length >= 9 + received.readUIntBE(0, 3)) {
        const isEnd = received[3] === 1 && ((received[4] ?? 0) & 1) === 1
        received = received.subarray(9 + received.readUIntBE(0, 3))
        if (isEnd) return // closes the socket
      }
    }
    throw new Error('The connection was closed')
  }

  it(proves('R-SEC-2', 'are refused, whichever of them is good'), async () => {
    reached.length = 0
    await call([goodToken])
    expect(reached).toEqual(['listTasks'])
    for (const tokens of [
      [goodToken, 'bad'],
      ['bad', goodToken],
      [goodToken, goodToken],
    ])
      await call(tokens)
    expect(reached).toEqual(['listTasks'])
  })
})

describe('public access', () => {
  const at = async (method: string, path: string, headers: Record<string, string> = {}) =>
    (await fetch(new URL(path, served.url), { method, headers })).status

  it(proves('R-SEC-2', 'covers cards, keys, health checks and CORS preflights'), async () => {
    for (const path of [
      '/.well-known/agent-card.json',
      '/.well-known/agent.json',
      '/go/.well-known/agent-card.json',
      '/go/.well-known/agent.json',
      '/.well-known/jwks.json',
      '/healthz',
      '/readyz',
    ]) {
      expect([await at('GET', path), path]).toEqual([200, path])
      expect([await at('HEAD', path), path]).toEqual([200, path])
    }
    const preflight = { origin: 'https://page.example', 'access-control-request-method': 'POST' }
    expect(await at('OPTIONS', '/', preflight)).toBe(204)
  })

  it.each([
    ['POST', '/.well-known/agent-card.json'],
    ['DELETE', '/.well-known/agent-card.json'],
    ['GET', '/'],
    ['GET', '/metrics'],
    ['GET', '/.well-known/'],
    ['GET', '/.well-known/openid-configuration'],
    ['GET', '/favicon.ico'],
    ['GET', '/acme'],
    ['GET', '/acme/'],
    ['GET', '/nobody/tasks'],
    ['PUT', '/tasks'],
    ['PATCH', '/tasks/x'],
    ['GET', '/extendedAgentCard'],
    ['GET', '/v1/card'],
    ['GET', '/agent/authenticatedExtendedCard'],
  ])('does not cover %s %s', async (method, path) => {
    expect(await at(method, path)).toBe(401)
  })

  it.each([
    '//healthz/../tasks',
    '/healthz/../tasks',
    '/healthz/..%2ftasks',
    '/healthz/%2e%2e/tasks',
    '/healthz/',
    '/healthz//',
    '/healthz.',
    '/healthz;/tasks',
    '/healthz%00',
    '/HEALTHZ',
    '/%68ealthz/x',
    '/readyz/tasks',
    '/.well-known/agent-card.json/',
    '/.well-known/agent-card.json/tasks',
    '/.well-known/agent-card.json/../../tasks',
    '/.well-known/agent-card.json%2f..%2f..%2ftasks',
    '/.well-known/agent-card.json;/tasks',
    '/.well-known/agent-card.json.',
    '/.well-known/AGENT-CARD.JSON',
    '/.WELL-KNOWN/agent-card.json',
    '/.well-known/../tasks',
    '/.well-known/..%2ftasks',
    '/.well-known//agent-card.json',
    '/.well-known/./tasks',
    '//.well-known/../tasks',
    '//tasks',
    '///tasks',
    '/./tasks',
    '/tasks/',
    '/tasks/.',
    '/tasks/..',
    '/tasks%2fx',
    '/TASKS',
    '/tasks.',
    '/tasks?x=/.well-known/agent-card.json',
    '/tasks#/.well-known/agent-card.json',
    '/tasks/.well-known/agent-card.json',
    '/tasks\\..\\.well-known\\agent-card.json',
    '/acme/../tasks',
    '/acme//tasks',
    '/%61cme/tasks',
    '/ACME/tasks',
    '/acme%2ftasks',
    '/acme/.well-known/../tasks',
    '/go/../tasks',
    '/go//',
    '/GO/',
    '/go/.well-known/agent-card.json/x',
  ])(proves('R-SEC-2', 'does not cover the path %s'), async (path) => {
    reached.length = 0
    for (const method of ['GET', 'POST', 'DELETE']) {
      using client = await connect(served.url)
      const body = method === 'GET' ? '' : '{}'
      const length = `Content-Type: application/json\r\nContent-Length: ${body.length}`
      await client.write(`${method} ${path} HTTP/1.1\r\nHost: localhost\r\n${length}\r\n\r\n${body}`)
      const answer = await client.answer()
      expect([401, 400], `${method} ${path}: ${answer.status} ${answer.text}`).toContain(answer.status)
    }
    expect(reached).toEqual([])
  })

  it('does not depend on the host of a request', async () => {
    for (const head of ['GET http://healthz/tasks HTTP/1.1', 'GET //healthz/tasks HTTP/1.1', 'GET /tasks HTTP/1.1']) {
      using client = await connect(served.url)
      await client.write(`${head}\r\nHost: localhost/healthz?\r\n\r\n`)
      const answer = await client.answerOrEnd()
      expect([400, 401, undefined]).toContain(answer?.status)
    }
  })
})

describe('agents on separate paths', () => {
  it('leave no path between them public', async () => {
    await using several = await serve([{ agent: echoAgent, path: '/a' }], { auth: [apiKey('k')] })
    const { origin } = new URL(several.url)
    for (const path of ['/', '/b', '/b/tasks', '/.well-known/agent-card.json', '/a/tasks', '/a', '/A/tasks', '/ab']) {
      const answer = await fetch(`${origin}${path}`)
      expect([answer.status, path]).toEqual([401, path])
      expect(answer.headers.get('www-authenticate')).toBe('ApiKey name="X-API-Key"')
    }
    expect((await fetch(`${origin}/b`, { headers: { 'x-api-key': 'k' } })).status).toBe(404)
    expect((await fetch(`${origin}/a/.well-known/agent-card.json`)).status).toBe(200)
  })
})
