/** Request lines and paths that no client library would send, on real sockets. */
import assert from 'node:assert/strict'
import { type Served, serve } from 'dragoman'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { proves } from '../../conformance/proves.js'
import { echoAgent } from '../../src/testing/echo-agent.js'
import { assertNoTraces, readRest, readRpc } from './answers.js'
import { envelope, send } from './peer.js'
import { connect, post } from './raw-client.js'

let served: Served

beforeAll(async () => {
  served = await serve([echoAgent], { advanced: { tenants: ['acme'] } })
})

afterAll(async () => {
  using client = await connect(served.url)
  await client.write(post('/echo', envelope('SendMessage', send('still there?'))))
  assert.equal(readRpc(await client.answer()).error, undefined)
  await served.close({ deadlineMs: 0 })
})

describe('paths', () => {
  it.each([
    '/echo/tasks/../../etc/passwd',
    '/echo/tasks/..%2f..%2fetc%2fpasswd',
    '/echo/tasks/%2e%2e/%2e%2e/etc/passwd',
    '/echo/tasks/..;/admin',
    '/echo/./././tasks/x',
    '/echo/tasks/%ZZ',
    '/echo/tasks/%',
    '/echo/tasks/%C3',
    '/echo/tasks/%C0%AF',
    '/echo/tasks/%ED%A0%80',
    '/echo/tasks/%00',
    '/echo/tasks/x%00.json',
    '/echo/tasks/%0d%0aSet-Cookie:%20a=b',
    '/echo/tasks/%252e%252e%252f',
    '/echo/tasks/a/b/c/d/e',
    '/echo/tasks/x/',
    '/echo/tasks//x',
    '/echo//tasks/x',
    '/echo/tasks/x:unknown',
    '/echo/tasks/:cancel',
    '/echo/tasks/x/pushNotificationConfigs/%2F',
    '/echo/tasks/x/pushNotificationConfigs/..',
    '/echo/message:sendx',
    '/echo/MESSAGE:SEND',
    '/echo/__proto__',
    '/echo/constructor',
    '/echo/.env',
    '/echo/.git/config',
    '/echo/package.json',
    '/.well-known/../echo/nothing',
    '/echo/.well-known/agent-card.json/..%2f..',
    '/ech%6f/tasks/nope',
    '/nobody/tasks',
    '/acme/tasks',
    '/echo/evil/tasks/x',
    '/echo/%ZZ/tasks',
    `/echo/tasks/${'x'.repeat(8000)}`,
    `/echo/${'a/'.repeat(3000)}`,
  ])(proves('R-REST-1', 'GET %s is not found, or not valid, in the form of the binding'), async (path) => {
    using client = await connect(served.url)
    await client.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`)
    const answer = await client.answer()
    assert.ok(answer.status === 404 || answer.status === 400, `${answer.status}: ${answer.text}`)
    assertNoTraces(answer.text, path)
    assert.ok(!/set-cookie/i.test(answer.headers))
    // Paths outside every agent have no binding.
    if (new URL(path, served.url).pathname.startsWith('/echo/')) assert.ok(readRest(answer, { sent: path }).error)
  })

  it(proves('R-REST-1', 'a percent-encoded id is decoded once'), async () => {
    using client = await connect(served.url)
    await client.write(`GET /echo/tasks/%2541%2Fb HTTP/1.1\r\nHost: localhost\r\n\r\n`)
    const { error } = readRest(await client.answer())
    assert.equal(error?.message.includes('%41/b'), true, error?.message)
  })
})

describe('invalid HTTP requests', () => {
  it.each<[string, string]>([
    ['an unknown verb', 'EAT /echo HTTP/1.1\r\nHost: localhost\r\n\r\n'],
    ['a verb in lower case', 'get /echo HTTP/1.1\r\nHost: localhost\r\n\r\n'],
    ['no verb', ' /echo HTTP/1.1\r\nHost: localhost\r\n\r\n'],
    ['no host', 'GET /echo/tasks HTTP/1.1\r\n\r\n'],
    ['a host with a blank', 'GET /echo/tasks HTTP/1.1\r\nHost: a b\r\n\r\n'],
    ['a host with a path', 'GET /echo/tasks HTTP/1.1\r\nHost: a/b?c#d@e\r\n\r\n'],
    ['two hosts', 'GET /echo/tasks/x HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n'],
    ['a star', 'OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n'],
    ['a backslash', 'GET /echo\\..\\tasks HTTP/1.1\r\nHost: localhost\r\n\r\n'],
    ['another protocol', 'GET /echo SPDY/3\r\nHost: localhost\r\n\r\n'],
    ['HTTP/0.9', 'GET /echo\r\n\r\n'],
    ['binary', '\x00\x01\x02\x03\xff\xfe\r\n\r\n'],
    ['a TLS hello', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'.padEnd(200, '\0')],
    ['two lengths', 'POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello'],
    [
      'a length and chunks',
      'POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    ['a negative length', 'POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n'],
    ['a length of letters', 'POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: five\r\n\r\nhello'],
    [
      'a chunk of letters',
      'POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n',
    ],
    ['a header without a name', 'GET /echo HTTP/1.1\r\nHost: localhost\r\n: y\r\n\r\n'],
    ['a header with a NUL', 'GET /echo HTTP/1.1\r\nHost: localhost\r\nA2A-Version: 1\x000\r\n\r\n'],
    ['a folded header', 'GET /echo HTTP/1.1\r\nHost: localhost\r\nX-A: a\r\n b\r\n\r\n'],
    ['a header of 100 KB', `GET /echo HTTP/1.1\r\nHost: localhost\r\nX-A: ${'a'.repeat(100_000)}\r\n\r\n`],
    ['ten thousand headers', `GET /echo HTTP/1.1\r\nHost: localhost\r\n${'a: b\r\n'.repeat(10_000)}\r\n`],
    ['a tunnel', 'CONNECT localhost:22 HTTP/1.1\r\nHost: localhost:22\r\n\r\n'],
    ['an upgrade', 'GET /echo/x HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'],
    ['a trace', 'TRACE /echo HTTP/1.1\r\nHost: localhost\r\nCookie: secret\r\n\r\n'],
  ])('%s is a client error or a closed connection', async (_, request) => {
    using client = await connect(served.url)
    await client.write(Buffer.from(request, 'latin1'))
    const answer = await client.answerOrEnd()
    if (!answer) return assert.equal(client.received, '')
    assert.ok(answer.status >= 400 && answer.status < 500, `${answer.status} ${answer.text}`)
    assertNoTraces(answer.text, request)
    assert.ok(!answer.text.includes('secret'))
  })

  it('the host of an absolute URL in the request line is checked', async () => {
    using client = await connect(served.url)
    await client.write('GET http://evil.example/echo/tasks HTTP/1.1\r\nHost: localhost\r\n\r\n')
    const answer = await client.answer()
    assert.equal(answer.status, 403)
    assert.match(answer.text, /Host not allowed: evil\.example/)
  })
})
