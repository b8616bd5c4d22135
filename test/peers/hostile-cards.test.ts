/** Hostile cards. The client sends no credentials to addresses that only the card names. */

import type { AddressInfo, Socket } from 'node:net'
import { createServer as createTcpServer } from 'node:net'
import { A2AError, type ConnectOptions, type ConnectWarning, connect, TransportError } from 'dragoman/client'
import { describe, expect, it } from 'vitest'
import { fetchWithNames } from '../../src/client/http-server.fixture.js'
import { type Call, cardOf, cardPath, type HostileServer, hostileServer, json, result, task } from './hostile-server.js'

const quick: ConnectOptions = { timeoutMs: 1000, retry: { firstDelayMs: 1, maxDelayMs: 10 } }
const secret = { authorization: 'Bearer s3cret', 'x-api-key': 's3cret' }
const named = fetchWithNames('agent.example', 'evil.example')

async function failureOf(call: () => Promise<unknown>): Promise<string> {
  try {
    return `answered ${JSON.stringify(await call())}`
  } catch (error) {
    if (error instanceof A2AError) return error.code
    if (error instanceof TransportError) return error.failure
    throw error
  }
}

/** Answers every request, as do the servers that its card names. */
const obliging = {
  SendMessage: (call: Call) => result(call, { task: task('COMPLETED') }),
  GetTask: (call: Call) => result(call, task('COMPLETED')),
}

function secretsSeenBy({ calls }: HostileServer): readonly unknown[] {
  return calls.filter(({ headers }) => JSON.stringify(headers).includes('s3cret'))
}

function rpcAt(url: string): object {
  return { supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }] }
}

describe('a card', () => {
  const cards: readonly (readonly [name: string, failure: string | RegExp, answer: (call: Call) => unknown])[] = [
    ['that is a web page', 'bad-answer', ({ response }) => response.end('<!doctype html>')],
    ['that is missing', 'bad-answer', ({ response }) => response.writeHead(404).end()],
    ['that is a list', 'bad-answer', ({ response }) => json(response, [])],
    ['that is an empty object', 'INVALID_AGENT_RESPONSE', ({ response }) => json(response, {})],
    [
      'whose interfaces are not a list',
      /INVALID_AGENT_RESPONSE|refused/,
      ({ response }) => json(response, { supportedInterfaces: 7 }),
    ],
    ['that is too long', 'refused', ({ response }) => response.end(`"${'x'.repeat(2 * 1024 * 1024)}"`)],
    ['that never arrives', 'timeout', () => undefined],
    [
      'that nests too deeply',
      'bad-answer',
      ({ response }) => response.end(`{"a":${'['.repeat(50_000)}${']'.repeat(50_000)}}`),
    ],
    ['that ends early', 'unreachable', ({ response }) => response.destroy()],
    ['that redirects to itself', 'refused', ({ response }) => response.writeHead(302, { location: cardPath }).end()],
    [
      'that redirects to a file',
      'refused',
      ({ response }) => response.writeHead(302, { location: 'file:///etc/passwd' }).end(),
    ],
    ['that redirects without an address', 'refused', ({ response }) => response.writeHead(302).end()],
    [
      'of another protocol',
      'refused',
      ({ response }) =>
        json(
          response,
          cardOf('', { supportedInterfaces: [{ url: '/', protocolBinding: 'JSONRPC', protocolVersion: '9.9' }] }),
        ),
    ],
    [
      'with a script for an address',
      'refused',
      ({ response }) => json(response, cardOf('', rpcAt('javascript:alert(1)'))),
    ],
    [
      'with a password in its address',
      'refused',
      ({ response }) => json(response, cardOf('', rpcAt('http://a:b@127.0.0.1:1/'))),
    ],
  ]

  it.each(cards)('%s is %s', async (_name, failure, answer) => {
    await using server = await hostileServer({ [cardPath]: answer, '/.well-known/agent.json': answer })
    const failed = await failureOf(async () => {
      await using agent = await connect(server.origin, quick)
      return await agent.ask('hi')
    })
    if (typeof failure === 'string') expect(failed).toBe(failure)
    else expect(failed).toMatch(failure)
  })

  it('cannot redirect a client from a public address to this machine', async () => {
    await using inside = await hostileServer(obliging)
    await using server = await hostileServer({
      [cardPath]: ({ response }) => response.writeHead(302, { location: inside.origin + cardPath }).end(),
    })
    const connecting = () => connect(`http://agent.example:${server.port}`, { ...quick, fetch: named })
    // Without a DNS answer the client cannot compare addresses.
    expect(await failureOf(connecting)).toMatch(/^(refused|unreachable|timeout)$/)
    expect(inside.calls).toEqual([])
  })

  it('cannot redirect its readers to another host', async () => {
    await using evil = await hostileServer(obliging)
    await using server = await hostileServer({
      [cardPath]: ({ response }) => json(response, cardOf('', rpcAt(`http://evil.example:${evil.port}/`))),
    })
    const url = `http://agent.example:${server.port}`
    expect(await failureOf(() => connect(url, { ...quick, fetch: named, headers: secret }))).toBe('refused')
    expect(evil.calls).toEqual([])
  })

  it('with one unusable interface is used through another one', async () => {
    await using server = await hostileServer({
      ...obliging,
      [cardPath]: ({ response }) =>
        json(
          response,
          cardOf('', {
            supportedInterfaces: [
              { url: 'http://evil.example/', protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
              // This server has no HTTP+JSON.
              { url: `${server.origin}/rest`, protocolBinding: 'HTTP+JSON', protocolVersion: '1.0' },
              { url: `${server.origin}/`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
            ],
          }),
        ),
    })
    const warnings: string[] = []
    await using agent = await connect(server.origin, { ...quick, onWarning: ({ message }) => warnings.push(message) })
    expect((await agent.ask('hi')).state).toBe('TASK_STATE_COMPLETED')
    expect(agent.choice).toMatchObject({ binding: 'JSONRPC', url: `${server.origin}/` })
    expect(warnings.join()).toContain('Fell back to v1 over JSONRPC')
  })
})

describe('a missing gRPC server', () => {
  const grpcAt = (port: number) =>
    cardOf('', {
      supportedInterfaces: [{ url: `127.0.0.1:${port}`, protocolBinding: 'GRPC', protocolVersion: '1.0' }],
    })

  it.each([
    ['no server listens', undefined],
    ['the server closes the connection', (socket: Socket) => socket.destroy()],
    ['the server answers 400', (socket: Socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')],
    ['the server never answers', () => undefined],
    ['the server answers without end', (socket: Socket) => socket.on('data', () => socket.write(Buffer.alloc(65_536)))],
  ])('because %s fails in time', async (_name, behave) => {
    const sockets = new Set<Socket>()
    const server = createTcpServer((socket) => {
      sockets.add(socket)
      socket.on('error', () => undefined)
      behave?.(socket)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo // it listens on a port
    if (!behave) await new Promise((resolve) => server.close(resolve))
    await using agent = await connect(grpcAt(port), quick)
    expect(await failureOf(() => agent.ask('hi'))).toMatch(/^(unreachable|timeout|bad-answer)$/)
    for (const socket of sockets) socket.destroy()
    server.close()
  })
})

describe('credentials of the user', () => {
  it('are sent to the named origin', async () => {
    await using server = await hostileServer(obliging)
    await using agent = await connect(server.origin, { ...quick, headers: secret })
    await agent.ask('hi')
    expect(server.calls.at(-1)?.headers).toMatchObject(secret)
  })

  it('are not sent to another port of the same host, with a warning', async () => {
    await using other = await hostileServer(obliging)
    await using server = await hostileServer({
      [cardPath]: ({ response }) => json(response, cardOf('', rpcAt(`${other.origin}/`))),
    })
    const warnings: string[] = []
    const onWarning = ({ message }: ConnectWarning) => warnings.push(message)
    await using agent = await connect(server.origin, { ...quick, headers: secret, onWarning })
    expect((await agent.ask('hi')).state).toBe('TASK_STATE_COMPLETED')
    expect(secretsSeenBy(other)).toEqual([])
    expect(warnings).toEqual([expect.stringContaining(`not sent to ${other.origin}`)])
  })

  it('are sent to another origin if it is allowed', async () => {
    await using other = await hostileServer(obliging)
    await using server = await hostileServer({
      [cardPath]: ({ response }) => json(response, cardOf('', rpcAt(`${other.origin}/`))),
    })
    await using agent = await connect(server.origin, { ...quick, headers: secret, allowedOrigins: [other.origin] })
    await agent.ask('hi')
    expect(secretsSeenBy(other)).toHaveLength(1)
  })

  it('are not sent after redirects, of the card or of a call', async () => {
    await using other = await hostileServer({
      ...obliging,
      '/tasks/t1': ({ response }) => json(response, task('COMPLETED')),
      [cardPath]: ({ response }) =>
        json(
          response,
          cardOf('', {
            supportedInterfaces: [{ url: `${server.origin}/`, protocolBinding: 'HTTP+JSON', protocolVersion: '1.0' }],
          }),
        ),
    })
    const away = ({ path, response }: Call) => response.writeHead(307, { location: other.origin + path }).end()
    await using server = await hostileServer({ [cardPath]: away, '*': away })
    await using agent = await connect(server.origin, { ...quick, headers: secret })
    await failureOf(() => agent.ask('hi'))
    await failureOf(() => agent.task('t1').get())
    await failureOf(async () => {
      for await (const _ of agent.stream('hi'));
    })
    expect(other.calls.length).toBeGreaterThan(0)
    expect(secretsSeenBy(other)).toEqual([])
    expect(secretsSeenBy(server).length).toBeGreaterThan(0)
  })

  it('are not sent with cookies that a server sets', async () => {
    await using server = await hostileServer({
      GetTask(call) {
        call.response.setHeader('set-cookie', 'track=me; Path=/')
        result(call, task('COMPLETED'))
      },
    })
    await using agent = await connect(server.origin, quick)
    await agent.task('t1').get()
    await agent.task('t1').get()
    expect(server.calls.map(({ headers }) => headers.cookie)).toEqual([undefined, undefined, undefined])
  })
})

it('pages whose tokens form a cycle are passed on: the caller sees the token', async () => {
  await using server = await hostileServer({
    ListTasks: (call) =>
      result(call, { tasks: [task('COMPLETED')], nextPageToken: 'again', pageSize: 1, totalSize: 1 }),
  })
  await using agent = await connect(server.origin, quick)
  const first = await agent.listTasks({})
  const second = await agent.listTasks({ pageToken: first.nextPageToken })
  expect([first.nextPageToken, second.nextPageToken]).toEqual(['again', 'again'])
  expect(server.calls.filter(({ method }) => method === 'ListTasks')).toHaveLength(2)
})
