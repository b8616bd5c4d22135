/** Faults that the server finds before it reads the method: bytes, JSON, the JSON-RPC envelope, media types. */
import assert from 'node:assert/strict'
import { describe, expect, it } from 'vitest'
import { proves } from '../../conformance/proves.js'
import { envelope, message, send, startPeer } from './peer.js'

const utf8 = new TextEncoder()

const notJson: readonly [name: string, body: string | Uint8Array<ArrayBuffer>][] = [
  ['nothing', ''],
  ['blanks', ' \n\t '],
  ['an open brace', '{'],
  ['an open string', '"abc'],
  ['a bare word', 'nonsense'],
  ['NaN', 'NaN'],
  ['single quotes', "{'jsonrpc':'2.0'}"],
  ['a trailing comma', '{"jsonrpc":"2.0",}'],
  ['a comment', '{"jsonrpc":"2.0"/* hello */}'],
  ['two values', '{} {}'],
  ['a NUL', '\0'],
  ['a raw control character in a string', '{"jsonrpc":"2.0","method":"\u0001"}'],
  ['a half escape', '{"jsonrpc":"2.0","method":"\\u12"}'],
  ['an overlong encoding', Uint8Array.from([0x22, 0xc0, 0xaf, 0x22])],
  ['a lone continuation byte', Uint8Array.from([0x22, 0x80, 0x22])],
  ['half a character', Uint8Array.from([0x22, 0xe2, 0x82, 0x22])],
  ['a surrogate in UTF-8', Uint8Array.from([0x22, 0xed, 0xa0, 0x80, 0x22])],
  ['invalid UTF-8 inside a valid request', brokenText()],
  ['UTF-16', Uint8Array.from(Buffer.from('{"jsonrpc":"2.0"}', 'utf16le'))],
  ['gzip', Uint8Array.from([0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00])],
]

describe('a body that is not JSON', () => {
  it.each(notJson)(proves('R-RPC-2', '%s is a parse error without an id'), async (_, body) => {
    await using peer = await startPeer()
    const { error, id } = await peer.rpc(body)
    assert.equal(error?.reason, 'PARSE_ERROR')
    assert.equal(id, null)
    await peer.assertAlive()
  })

  // An empty body is an empty request on this binding (R-CANCEL-6), so it fails later.
  it.each(notJson.filter(([, body]) => body.length > 0))(
    proves('R-ERR-5', '%s is a parse error on HTTP+JSON'),
    async (_, body) => {
      await using peer = await startPeer()
      for (const path of ['/message:send', '/message:stream', '/tasks/x:cancel', '/tasks/x/pushNotificationConfigs']) {
        const { error } = await peer.rest('POST', path, body)
        assert.equal(error?.reason, 'PARSE_ERROR', path)
      }
    },
  )

  it('ignores a byte order mark', async () => {
    await using peer = await startPeer()
    const { result } = await peer.rpc(`\uFEFF${envelope('SendMessage', send('hello'))}`)
    expect(result).toHaveProperty('task.status.state', 'TASK_STATE_COMPLETED')
  })
})

describe('an envelope that is not one', () => {
  const valid = JSON.parse(envelope('SendMessage', send('hello'))) as Record<string, unknown>

  it.each<[string, unknown]>([
    ['null', null],
    ['a number', 42],
    ['a string', 'SendMessage'],
    ['true', true],
    ['an empty object', {}],
    ['an empty array', []],
    ['a batch of one', [valid]],
    ['a batch of a thousand', Array.from({ length: 1000 }, () => valid)],
    ['no jsonrpc', { ...valid, jsonrpc: undefined }],
    ['jsonrpc 1.0', { ...valid, jsonrpc: '1.0' }],
    ['jsonrpc as a number', { ...valid, jsonrpc: 2.0 }],
    ['an id that is an object', { ...valid, id: {} }],
    ['an id that is an array', { ...valid, id: [1] }],
    ['an id that is a boolean', { ...valid, id: true }],
    ['no method', { ...valid, method: undefined }],
    ['an empty method', { ...valid, method: '' }],
    ['a method that is a number', { ...valid, method: 1 }],
    ['a method that is null', { ...valid, method: null }],
    ['a method that is an object', { ...valid, method: { toString: 'SendMessage' } }],
  ])(proves(['R-RPC-2', 'R-RPC-3'], '%s is an invalid request'), async (_, body) => {
    await using peer = await startPeer()
    const { error } = await peer.rpc(JSON.stringify(body))
    assert.equal(error?.reason, 'INVALID_REQUEST')
  })

  it.each([
    'NoSuchMethod',
    'sendMessage',
    'SendMessage ',
    'message/send',
    '__proto__',
    'constructor',
    'toString',
    'hasOwnProperty',
    '\0',
    '😀',
  ])(proves('R-RPC-2', 'there is no method %j'), async (method) => {
    await using peer = await startPeer()
    const { error, id } = await peer.rpc(envelope(method, send('hello'), 'my id'))
    assert.equal(error?.reason, 'METHOD_NOT_FOUND')
    assert.equal(id, 'my id')
  })

  it('does not repeat a method name of a megabyte', async () => {
    await using peer = await startPeer()
    const { error, text } = await peer.call('x'.repeat(1_000_000), {})
    assert.equal(error?.reason, 'METHOD_NOT_FOUND')
    assert.ok(text.length < 10_000)
  })

  it.each<[unknown, unknown]>([
    ['', ''],
    ['x'.repeat(10_000), 'x'.repeat(10_000)],
    ['\u0000\ud83d\ude00', '\u0000\ud83d\ude00'],
    [0, 0],
    [-1.5, -1.5],
    [Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
    [null, null],
    [undefined, null],
  ])(proves(['R-RPC-2', 'R-RPC-3'], 'the id %# comes back'), async (sent, expected) => {
    await using peer = await startPeer()
    const { id, error } = await peer.rpc(
      JSON.stringify({ jsonrpc: '2.0', id: sent, method: 'GetTask', params: { id: 'nope' } }),
    )
    assert.equal(id, expected)
    assert.equal(error?.reason, 'TASK_NOT_FOUND')
  })

  it('responds with null for an id that JSON cannot represent', async () => {
    await using peer = await startPeer()
    const { id } = await peer.rpc('{"jsonrpc":"2.0","id":1e999,"method":"GetTask","params":{"id":"nope"}}')
    assert.equal(id, null)
  })

  it('reads the last of two members with the same name', async () => {
    await using peer = await startPeer()
    const { error } = await peer.rpc(
      '{"jsonrpc":"2.0","id":1,"method":"SendMessage","method":"GetTask","params":{"id":"nope"}}',
    )
    assert.equal(error?.reason, 'TASK_NOT_FOUND')
  })
})

describe('a media type that is not JSON', () => {
  it.each([
    'text/plain',
    'text/html',
    'application/xml',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/jsonp',
    'json',
    '*/*',
    ',',
    'application/json,text/plain',
  ])(proves(['R-RPC-5', 'R-REST-4'], '%s is refused before the body is parsed'), async (type) => {
    await using peer = await startPeer()
    const overRpc = await peer.rpc('this is not JSON', { 'content-type': type })
    const overRest = await peer.rest('POST', '/message:send', 'this is not JSON', { 'content-type': type })
    assert.equal(overRpc.error?.reason, 'CONTENT_TYPE_NOT_SUPPORTED')
    assert.equal(overRest.error?.reason, 'CONTENT_TYPE_NOT_SUPPORTED')
  })

  it.each([
    'application/json',
    'APPLICATION/JSON',
    'application/json; charset=utf-8',
    'application/json;;;',
    'application/a2a+json',
  ])(proves('R-REST-3', '%s is JSON'), async (type) => {
    await using peer = await startPeer()
    const overRpc = await peer.rpc(envelope('SendMessage', send('hello')), { 'content-type': type })
    const overRest = await peer.rest('POST', '/message:send', send('hello'), { 'content-type': type })
    expect(overRpc.result).toHaveProperty('task.status.state', 'TASK_STATE_COMPLETED')
    expect(overRest.result).toHaveProperty('task.status.state', 'TASK_STATE_COMPLETED')
  })
})

/** A valid request whose text is not UTF-8. */
function brokenText(): Uint8Array<ArrayBuffer> {
  const [before = '', after = ''] = envelope('SendMessage', { message: message('@') }).split('@')
  return Uint8Array.from([...utf8.encode(before), 0xff, 0xfe, ...utf8.encode(after)])
}
