import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { serveHttp } from '../client/http-server.fixture.js'
import { A2AError } from '../model/errors.js'
import { file } from '../model/part.js'
import { fetchFile } from './fetch-file.js'

const here = { allowHosts: ['localhost'] }
const text = (bytes: Uint8Array) => Buffer.from(bytes).toString()

describe('fetchFile', () => {
  it('reads what a link leads to', async () => {
    await using server = await serveHttp(({ path }, response) =>
      path === '/old.txt'
        ? response.writeHead(302, { location: '/a/new.txt' }).end()
        : response.writeHead(200, { 'content-type': 'Text/Plain; charset=utf-8' }).end('hello'),
    )
    const { bytes, ...rest } = await fetchFile(file(new URL(`${server.origin}/old.txt`)), here)
    expect([text(bytes), rest]).toEqual(['hello', { mediaType: 'text/plain', filename: 'old.txt' }])
  })

  it('reads what is in the message', async () => {
    const part = file(new Uint8Array([1, 2, 3]), { filename: '../../.ssh/id', mediaType: 'image/png' })
    expect(await fetchFile(part)).toEqual({ bytes: new Uint8Array([1, 2, 3]), filename: 'id', mediaType: 'image/png' })
  })

  it('removes special characters from names and types', async () => {
    const part = { raw: '', filename: '..\\..\\.a\u001b[2J\u202e:b', mediaType: 'text/html\r\nx: y' }
    expect(await fetchFile(part)).toMatchObject({ filename: 'a_[2J__b', mediaType: 'text/html' })
    expect(await fetchFile({ raw: '', filename: '..', mediaType: '<script>' })).toEqual({ bytes: new Uint8Array() })
  })

  it.each([
    'http://127.0.0.1:PORT/',
    'https://127.0.0.1:PORT/',
    'https://localhost:PORT/',
    'http://0x7f000001:PORT/',
    'https://169.254.169.254/latest/meta-data/',
    'https://[::ffff:10.0.0.1]/',
    'https://user:password@8.8.8.8/',
    'file:///etc/passwd',
    'nonsense',
  ])('does not follow %s (R-SEC-6)', async (url) => {
    await using server = await serveHttp((_, response) => response.end('secret'))
    const fetched = fetchFile({ url: url.replace('PORT', String(server.port)) })
    await expect(fetched).rejects.toMatchObject({ code: 'INVALID_PARAMS' })
    expect(server.seen).toEqual([])
  })

  it('does not follow a redirect to a private network (R-SEC-6)', async () => {
    await using inside = await serveHttp((_, response) => response.end('secret'))
    await using server = await serveHttp((_, response) =>
      response.writeHead(302, { location: `http://127.0.0.1:${inside.port}/` }).end(),
    )
    const url = `http://localhost:${server.port}/`
    await expect(fetchFile({ url }, { ...here, allowPorts: [server.port] })).rejects.toBeInstanceOf(A2AError)
    expect([server.seen.length, inside.seen.length]).toEqual([1, 0])
  })

  it('does not reveal names of private networks (R-SEC-6)', async () => {
    const words = await Promise.all(
      ['https://10.0.0.1/', 'https://no-such-name.invalid/'].map((url) => fetchFile({ url }).catch(String)),
    )
    expect(words.map((each) => String(each).replace(/at \S+/, ''))[0]).toBe(
      words.map((each) => String(each).replace(/at \S+/, ''))[1],
    )
  })

  it('reads no more than allowed, packed or not, linked or not (R-SEC-6)', async () => {
    const long = 'x'.repeat(5000)
    await using server = await serveHttp(({ path }, response) => {
      if (path === '/packed') response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(long))
      else if (path === '/chunked') {
        response.write(long)
        response.end()
      } else response.writeHead(200, { 'content-length': '5000' }).end(long)
    })
    for (const path of ['/packed', '/chunked', '/announced']) {
      const part = { url: server.origin + path }
      const tooMuch = fetchFile(part, { ...here, limits: { maxBytes: 4999 } })
      await expect(tooMuch).rejects.toMatchObject({ code: 'PAYLOAD_TOO_LARGE' })
      expect((await fetchFile(part, { ...here, limits: { maxBytes: 5000 } })).bytes.byteLength).toBe(5000)
    }
    const inline = file(new Uint8Array(11))
    await expect(fetchFile(inline, { limits: { maxBytes: 10 } })).rejects.toMatchObject({ code: 'PAYLOAD_TOO_LARGE' })
    expect((await fetchFile(inline, { limits: { maxBytes: 11 } })).bytes.byteLength).toBe(11)
  })

  it('waits no longer than allowed, and not for a task that was cancelled', async () => {
    await using server = await serveHttp((_, response) => response.writeHead(200).write('x'))
    const part = { url: server.origin }
    await expect(fetchFile(part, { ...here, limits: { timeoutMs: 30 } })).rejects.toThrow('longer than 30 ms')
    const controller = new AbortController()
    const waiting = expect(fetchFile(part, { ...here, signal: controller.signal })).rejects.toThrow('enough')
    controller.abort(new Error('enough'))
    await waiting
  })

  it('says what is wrong', async () => {
    await using server = await serveHttp((_, response) => response.writeHead(404).end())
    await expect(fetchFile({ url: server.origin }, here)).rejects.toThrow('HTTP 404')
    await expect(fetchFile({ text: 'a' })).rejects.toThrow('not a file')
    await expect(fetchFile({ url: 'http://files.example/' })).rejects.toThrow('https:')
  })
})
