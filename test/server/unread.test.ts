/** Clients that send requests and do not read the responses. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect as connectHttp2 } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { connect, type Socket } from 'node:net'
import { type AgentService, agent, apiKey, serve, type Task } from 'dragoman'
import { toNodeListener } from 'dragoman/server'
import { describe, it } from 'vitest'
import { createListener } from '../../src/server/listener.js'
import { callerKey, UnreadAnswers } from '../../src/server/peer-connection.js'
import { eventually } from '../hostile/waiting.js'

const largeOutput = agent('Talker', async function* () {
  yield 'x'.repeat(8 * 1024 * 1024)
})

const request = (body: string) =>
  `POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nA2A-Version: 1.0\r\nContent-Length: ${body.length}\r\n\r\n${body}`

const send = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'SendMessage',
  params: { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hi' }] } },
})

async function unreadConnection(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => undefined)
  await new Promise<void>((resolve) => socket.once('connect', resolve))
  socket.pause()
  return socket
}

describe('a reader that reads nothing', () => {
  it('is disconnected, and a slow reader is not', async () => {
    await using served = await serve(largeOutput, { advanced: { deadlines: { readMs: 2000 } } })
    const { port } = new URL(served.url)
    const silent = await unreadConnection(Number(port))
    silent.write(request(send))
    let isClosed = false
    silent.on('close', () => {
      isClosed = true
    })
    const slow = await unreadConnection(Number(port))
    let read = 0
    slow.write(request(send))
    slow.on('data', (chunk: Buffer) => {
      read += chunk.length
      slow.pause()
    })
    slow.pause()
    const reading = setInterval(() => slow.resume(), 5)
    // The client sees the end of the connection when it writes, or reads the earlier bytes.
    await eventually(20_000, 'the silent client to be disconnected', () => {
      silent.write('x')
      return isClosed
    })
    await eventually(20_000, 'the slow client to receive the whole response', () => read > 8 * 1024 * 1024)
    clearInterval(reading)
    assert.equal(slow.destroyed, false)
    slow.destroy()
  })
})

describe('a reader that reads slower than the minimum rate', () => {
  const large = 'y'.repeat(40 * 1024 * 1024)

  /** Reads small pieces until everything was read or the connection is closed. */
  async function readSlowly(minReadRate: number): Promise<'all' | 'closed'> {
    const answer = toNodeListener({ fetch: async () => new Response(large) })
    const { server, closeAll } = createListener(answer, { deadlines: { readMs: 1000, minReadRate } })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo // a TCP server that listens
    const slow = await unreadConnection(port)
    let read = 0
    let isClosed = false
    slow.on('data', (chunk: Buffer) => {
      read += chunk.length
      slow.pause()
    })
    slow.on('close', () => {
      isClosed = true
    })
    slow.pause()
    slow.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')
    const reading = setInterval(() => slow.resume(), 2)
    const outcome = await eventually(25_000, 'the whole response, or the end of the connection', () => {
      if (read > large.length) return 'all'
      return isClosed ? 'closed' : undefined
    })
    clearInterval(reading)
    slow.destroy()
    closeAll()
    server.close()
    return outcome
  }

  it('is disconnected, although it makes progress', async () => {
    assert.equal(await readSlowly(1024 ** 4), 'closed')
  })

  it('stays connected at the minimum rate', async () => {
    assert.equal(await readSlowly(1024), 'all')
  })
})

describe('a caller that does not read', () => {
  it('is limited to a share of the memory for responses, and others get theirs', async () => {
    const auth = [apiKey({ a: 'alice', b: 'bob' })]
    const parts = [{ text: 'x'.repeat(16 * 1024 * 1024) }]
    const task = {
      id: 't',
      contextId: 'c',
      status: { state: 'TASK_STATE_COMPLETED' },
      artifacts: [{ artifactId: 'a', parts }],
    }
    const wrap = (service: AgentService) => ({ ...service, getTask: async () => task as Task })
    await using served = await serve(largeOutput, { auth, advanced: { wrap } })
    const { port } = new URL(served.url)
    const slow = await Promise.all(Array.from({ length: 18 }, () => unreadConnection(Number(port))))
    for (const socket of slow)
      socket.write('GET /tasks/t HTTP/1.1\r\nHost: localhost\r\nA2A-Version: 1.0\r\nX-API-Key: a\r\n\r\n')
    const status = async (key: string) => {
      const headers = { 'a2a-version': '1.0', 'x-api-key': key }
      const answer = await fetch(new URL('/tasks/t', served.url), { headers })
      await answer.arrayBuffer()
      return answer.status
    }
    await eventually(20_000, 'the share of the caller to be used up', async () => (await status('a')) === 429)
    for (let i = 0; i < 5; i++) assert.equal(await status('b'), 200)
    for (const socket of slow) socket.destroy()
    await eventually(20_000, 'the share of the caller to be free again', async () => (await status('a')) === 200)
  })

  it('is limited to a share over gRPC too', async () => {
    const parts = [{ text: 'x'.repeat(20 * 1024 * 1024) }]
    const status = { state: 'TASK_STATE_COMPLETED' }
    const task = { id: 't', contextId: 'c', status, artifacts: [{ artifactId: 'a', parts }] }
    const wrap = (service: AgentService) => ({ ...service, getTask: async () => task as Task })
    await using served = await serve(largeOutput, { advanced: { wrap } })
    const session = connectHttp2(served.url)
    const statuses = await Promise.all(
      Array.from({ length: 5 }, async () => {
        const stream = session.request({
          ':method': 'POST',
          ':path': '/lf.a2a.v1.A2AService/GetTask',
          'content-type': 'application/grpc',
        })
        // GetTaskRequest: field 2 is the id. The client does not read the response.
        stream.end(Buffer.from([0, 0, 0, 0, 3, 18, 1, 116]))
        const [headers] = (await once(stream, 'response')) as [Record<string, string | undefined>]
        return headers['grpc-status']
      }),
    )
    const exhausted = '8'
    assert.equal(statuses.filter((each) => each === exhausted).length, 2)
    session.destroy()
  })
})

describe('many large unread responses', () => {
  const admitFrom = (unread: UnreadAnswers, address: string) => unread.admit(250, callerKey(undefined, address))

  it('are rejected when all callers together hold the whole budget', () => {
    const unread = new UnreadAnswers(1000)
    const [release] = [1, 2, 3, 4].map((n) => admitFrom(unread, `192.0.2.${n}`))
    const message = 'Too many answers are unread (limit unreadAnswers: 1000 bytes), try again later'
    const busy = {
      code: 'UNAVAILABLE',
      message,
      details: { metadata: { limit: 'unreadAnswers', max: '1000' }, retryAfterSeconds: 1 },
    }
    assert.throws(() => admitFrom(unread, '192.0.2.5'), busy)
    release?.()
    admitFrom(unread, '192.0.2.5')
  })

  it('are counted by the /64 network of an IPv6 caller', () => {
    const unread = new UnreadAnswers(1000)
    admitFrom(unread, '2001:db8:1:2::1')
    assert.throws(() => admitFrom(unread, '2001:db8:1:2::2'), {
      code: 'RATE_LIMITED',
      message: 'Too many of your answers are unread (limit unreadAnswers: 250 bytes for each caller), read them first',
    })
    admitFrom(unread, '2001:db8:1:3::1')
  })

  it('are rejected above the limit, and accepted again when they are gone', async () => {
    const large = 'y'.repeat(40 * 1024 * 1024)
    const server = createServer(toNodeListener({ fetch: async () => new Response(large) }))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo // a TCP server that listens
    const silent = await Promise.all(Array.from({ length: 6 }, () => unreadConnection(port)))
    for (const socket of silent) socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')
    const status = async () => (await fetch(`http://127.0.0.1:${port}/`)).status
    // Without credentials the address identifies the caller, which has a share of the budget.
    await eventually(20_000, 'a refusal', async () => (await status()) === 429)
    for (const socket of silent) socket.destroy()
    await eventually(20_000, 'an answer', async () => (await status()) === 200)
    server.closeAllConnections()
    server.close()
  })
})
