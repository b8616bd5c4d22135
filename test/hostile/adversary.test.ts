/** Regression tests for faults that adversarial testing found. */
import { connect as connectHttp2 } from 'node:http2'
import { connect } from 'node:net'
import { apiKey, serve } from 'dragoman'
import { createHandler } from 'dragoman/server'
import { describe, expect, it } from 'vitest'
import { echoAgent } from '../../src/testing/echo-agent.js'
import { within } from './waiting.js'

const preface = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'

describe('a server', () => {
  it('survives a connection that is reset while gRPC is being loaded', async () => {
    await using served = await serve(echoAgent)
    await new Promise<void>((resolve) => {
      const socket = connect(Number(new URL(served.url).port), '127.0.0.1', () =>
        socket.write(preface, () => setTimeout(() => socket.resetAndDestroy(), 2)),
      )
      socket.on('error', () => undefined)
      socket.on('close', () => resolve())
    })
    expect((await fetch(`${served.url}healthz`)).status).toBe(200)
  })

  it('rejects an unauthenticated gRPC call before it reads the message', async () => {
    await using served = await serve(echoAgent, { auth: [apiKey('k')] })
    const session = connectHttp2(served.url)
    const stream = session.request({
      ':method': 'POST',
      ':path': '/lf.a2a.v1.A2AService/SendMessage',
      'content-type': 'application/grpc',
      te: 'trailers',
    })
    stream.on('error', () => undefined)
    // The client announces a message and never sends it.
    stream.write(Buffer.from([0, 0, 0x90, 0, 0]))
    const status = new Promise((resolve) => {
      stream.on('response', (headers) => headers['grpc-status'] && resolve(headers['grpc-status']))
      stream.on('trailers', (trailers) => resolve(trailers['grpc-status']))
    })
    expect(String(await within(3000, 'a refusal', status))).toBe('16')
    session.destroy()
  })

  it('rejects an unauthenticated call with a long chunked body', async () => {
    await using served = await serve(echoAgent, { auth: [apiKey('k')], dialects: 'all' })
    const piece = new TextEncoder().encode('x'.repeat(50_000))
    const pieces = ReadableStream.from([piece, piece, piece, piece])
    const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: pieces, duplex: 'half' }
    const answer = fetch(`${served.url}a2a/invoke`, init as RequestInit)
    expect((await within(3000, 'a refusal', answer)).status).toBe(401)
  })

  it('rejects a web page whose host name resolves to this machine (DNS rebinding)', async () => {
    const handler = await createHandler(echoAgent, { publicUrl: 'http://127.0.0.1:8001' })
    const ask = async (host: string, origin: string) => {
      const headers = { origin, 'a2a-version': '1.0' }
      return (await handler.fetch(new Request(`http://${host}/tasks`, { headers }))).status
    }
    expect(await ask('evil.example:8001', 'http://evil.example:8001')).toBe(403)
    expect(await ask('127.0.0.1:8001', 'http://127.0.0.1:8001')).toBe(200)
    expect(await ask('localhost:9', 'http://localhost:9')).toBe(200)
    await handler.close()
  })

  it('limits pages of large tasks by size', async () => {
    const handler = await createHandler(echoAgent)
    const headers = { 'content-type': 'application/json', 'a2a-version': '1.0' }
    const parts = [{ text: 'large' }, { raw: 'A'.repeat(1024 * 1024) }]
    for (let task = 0; task < 14; task++) {
      const body = JSON.stringify({ message: { messageId: `m${task}`, role: 'ROLE_USER', parts } })
      await handler.fetch(new Request('http://localhost/message:send', { method: 'POST', headers, body }))
    }
    const pages: string[][] = []
    let token = ''
    do {
      const url = `http://localhost/tasks?pageSize=100&pageToken=${encodeURIComponent(token)}`
      const answer = await handler.fetch(new Request(url, { headers }))
      const page = (await answer.json()) as { tasks: { id: string }[]; nextPageToken: string; totalSize: number }
      expect(page.totalSize).toBe(14)
      pages.push(page.tasks.map(({ id }) => id))
      token = page.nextPageToken
    } while (token !== '')
    expect(pages.map(({ length }) => length)).toEqual([7, 7])
    expect(new Set(pages.flat()).size).toBe(14)
    await handler.close()
  })

  it('reads `:action` suffixes as actions, although the path could be an id', async () => {
    const handler = await createHandler(echoAgent, { dialects: 'all' })
    const response = await handler.fetch(new Request('http://localhost/tasks/abc:subscribe'))
    expect(await response.text()).toContain('Task not found: abc"')
    await handler.close()
  })

  it.each([
    [{ advanced: { tenants: ['message:send'] } }],
    [{ advanced: { tenants: ['go'] }, dialects: 'all' as const }],
    [{ dialects: ['v1', { dialect: 'v0.1', path: '/v1' }] as const }],
  ])('rejects a configuration whose paths collide: %j', async (options) => {
    await expect(createHandler(echoAgent, options)).rejects.toThrow(TypeError)
  })

  it('stores bytes in standard base64, whichever alphabet they are received in', async () => {
    const handler = await createHandler(echoAgent)
    const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ raw: '-_ab'.repeat(1000) }] }
    const headers = { 'content-type': 'application/json', 'a2a-version': '1.0' }
    const body = JSON.stringify({ message })
    const response = await handler.fetch(
      new Request('http://localhost/message:send', { method: 'POST', headers, body }),
    )
    expect(await response.json()).toHaveProperty('task.history[0].parts[0].raw', '+/ab'.repeat(1000))
    await handler.close()
  })
})

describe('an idempotency key', () => {
  const invoke = (input: string) => ({ path: '/a2a/invoke', body: { input, chat_id: 'c1' } })
  const v01 = (id: string) => ({
    path: '/',
    body: {
      jsonrpc: '2.0',
      id: 1,
      method: 'tasks/send',
      params: { id, message: { role: 'user', parts: [{ type: 'text', text: 'hi' }] } },
    },
  })

  it('applies to messages that continue a conversation', async () => {
    const handler = await createHandler(echoAgent, { dialects: 'all' })
    const send = async ({ path, body }: ReturnType<typeof invoke>, key: string) => {
      const headers = { 'content-type': 'application/json', 'idempotency-key': key }
      const request = new Request(`http://localhost${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
      return (await handler.fetch(request)).json()
    }
    const asked = await send(invoke('ask'), 'k1')
    expect(await send(invoke('ask'), 'k1')).toEqual(asked)
    const answered = await send(invoke('second'), 'k2')
    expect(answered).toMatchObject({ output: 'ask\nsecond' })
    expect(await send(invoke('second'), 'k2')).toEqual(answered)
    await handler.close()
  })

  it('belongs to one task if callers choose ids', async () => {
    const handler = await createHandler(echoAgent)
    const send = async ({ path, body }: ReturnType<typeof v01>) => {
      const headers = { 'content-type': 'application/json', 'idempotency-key': 'k' }
      const request = new Request(`http://localhost${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
      return (await handler.fetch(request)).json()
    }
    expect(await send(v01('A'))).toMatchObject({ result: { id: 'A' } })
    expect(await send(v01('A'))).toMatchObject({ result: { id: 'A' } })
    expect(await send(v01('B'))).toMatchObject({ error: { code: -32600 } })
    await handler.close()
  })
})
