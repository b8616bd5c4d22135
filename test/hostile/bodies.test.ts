/** Bodies over the limit, on real sockets: the server rejects them in the form of the binding and serves the next call. */
import assert from 'node:assert/strict'
import { gzipSync } from 'node:zlib'
import { type Served, serve } from 'dragoman'
import { createHandler } from 'dragoman/server'
import { describe, it } from 'vitest'
import { proves } from '../../conformance/proves.js'
import { echoAgent } from '../../src/testing/echo-agent.js'
import { type Outcome, readRest, readRpc } from './answers.js'
import { envelope, send, startPeer } from './peer.js'
import { chunk, connect, lastChunk, post, postHead } from './raw-client.js'

const megabyte = 1024 * 1024

const bindings: readonly [name: string, path: string, read: typeof readRpc][] = [
  ['JSON-RPC', '/', readRpc],
  ['HTTP+JSON', '/message:send', readRest],
  ['HTTP+JSON streaming', '/message:stream', readRest],
]

describe.each(bindings)('a body over the limit on %s', (_, path, read) => {
  it.each<[string, number | undefined, number]>([
    ['a small limit', 1000, 1001],
    ['a small limit, by far', 1000, 5 * megabyte],
    ['the default of 10 MB', undefined, 10 * megabyte + 1],
  ])(proves('R-ERR-12', '%s, announced with Content-Length, is 413'), async (_name, bodyBytes, size) => {
    await using served = await serve(echoAgent, bodyBytes === undefined ? {} : { limits: { bodyBytes } })
    using client = await connect(served.url)
    await client.write(postHead(path, { 'Content-Length': size }))
    const sending = client.write('x'.repeat(size))
    assertTooLarge(read(await client.answer()))
    await sending
    await assertServing(served)
  })

  it.each<[string, number | undefined, number]>([
    ['a small limit', 1000, 1001],
    ['the default of 10 MB', undefined, 10 * megabyte + 1],
  ])(proves('R-ERR-12', '%s, in chunks, is 413'), async (_name, bodyBytes, size) => {
    await using served = await serve(echoAgent, bodyBytes === undefined ? {} : { limits: { bodyBytes } })
    using client = await connect(served.url)
    await client.write(postHead(path, { 'Transfer-Encoding': 'chunked' }))
    const piece = Math.min(size, 100_000)
    const sending = (async () => {
      for (let sent = 0; sent < size; sent += piece) await client.write(chunk('x'.repeat(Math.min(piece, size - sent))))
      await client.write(lastChunk)
    })()
    assertTooLarge(read(await client.answer()))
    await sending
    await assertServing(served)
  })

  it(proves('R-ERR-12', 'an endless chunked body is rejected at the limit'), async () => {
    await using served = await serve(echoAgent, { limits: { bodyBytes: 1000 } })
    using client = await connect(served.url)
    await client.write(postHead(path, { 'Transfer-Encoding': 'chunked' }))
    await client.write(chunk('['.repeat(600)))
    await client.write(chunk('['.repeat(600)))
    assertTooLarge(read(await client.answer()))
    await assertServing(served)
  })

  it(proves('R-ERR-12', 'a `Content-Length` of a terabyte is rejected before the body'), async () => {
    await using served = await serve(echoAgent)
    using client = await connect(served.url)
    await client.write(postHead(path, { 'Content-Length': 1024 ** 4 }))
    assertTooLarge(read(await client.answer()))
  })

  it('accepts a body of exactly the limit', async () => {
    const body = path === '/' ? envelope('SendMessage', send('hello')) : JSON.stringify(send('hello'))
    const bodyBytes = 2000
    await using served = await serve(echoAgent, { limits: { bodyBytes } })
    using client = await connect(served.url)
    await client.write(post(path, body.padEnd(bodyBytes)))
    const announced = read(await client.answer())
    assert.equal(announced.error, undefined, announced.text)
    await client.write(postHead(path, { 'Transfer-Encoding': 'chunked' }) + chunk(body.padEnd(bodyBytes)) + lastChunk)
    const chunked = read(await client.answer())
    assert.equal(chunked.error, undefined, chunked.text)
  })

  it('is rejected twenty times concurrently, and the next call is served', async () => {
    await using served = await serve(echoAgent, { limits: { bodyBytes: 1000 } })
    await Promise.all(
      Array.from({ length: 20 }, async () => {
        using client = await connect(served.url)
        await client.write(post(path, 'x'.repeat(200_000)))
        assertTooLarge(read(await client.answer()))
      }),
    )
    await assertServing(served)
  })
})

describe('the length of a body', () => {
  it(proves('R-ERR-12', 'is counted, for every `Content-Length`'), async () => {
    await using peer = await startPeer(undefined, { limits: { bodyBytes: 1000 } })
    const tooLong = envelope('SendMessage', send('x'.repeat(2000)))
    for (const announced of ['10', '0', '-1', 'ten', '']) {
      assertTooLarge(await peer.rpc(tooLong, { 'content-length': announced }))
      assertTooLarge(await peer.rest('POST', '/message:send', send('x'.repeat(2000)), { 'content-length': announced }))
    }
  })

  it(proves('R-ERR-12', 'is counted while it is read, for hosts that do not check `Content-Length`'), async () => {
    const handler = await createHandler(echoAgent, { limits: { bodyBytes: 1000 } })
    let sent = 0
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        sent += 500
        controller.enqueue(new Uint8Array(500).fill(0x20))
        if (sent === 50_000) controller.close()
      },
    })
    const headers = { 'content-type': 'application/json', 'content-length': '10' }
    const init = { method: 'POST', headers, body, duplex: 'half' } as RequestInit
    assert.equal((await handler.fetch(new Request('http://localhost/', init))).status, 413)
    assert.ok(sent <= 2500, `${sent} bytes were read`)
    await handler.close()
  })

  it('does not grow: the server does not decompress bodies', async () => {
    await using peer = await startPeer()
    const bomb = Uint8Array.from(gzipSync(' '.repeat(20 * megabyte) + envelope('SendMessage', send('x'))))
    const { error } = await peer.rpc(bomb, { 'content-encoding': 'gzip' })
    assert.equal(error?.reason, 'PARSE_ERROR')
  })
})

function assertTooLarge({ error, status, text }: Outcome): void {
  assert.equal(error?.reason, 'PAYLOAD_TOO_LARGE', text)
  assert.equal(status, 413)
}

async function assertServing(served: Served): Promise<void> {
  using client = await connect(served.url)
  await client.write(post('/', envelope('SendMessage', send('still there?'))))
  const { error, text } = readRpc(await client.answer())
  assert.equal(error, undefined, text)
}
