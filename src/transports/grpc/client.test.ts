import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { createServer as createHttp2Server } from 'node:http2'
import { type AddressInfo, createServer, type Server as NetServer } from 'node:net'
import { Metadata } from '@grpc/grpc-js'
import { describe, expect, it } from 'vitest'
import { v1Client } from '../../dialects/v1/client.js'
import { v1 } from '../../dialects/v1/index.js'
import type { AgentCard } from '../../model/agent-card.js'
import { A2AError } from '../../model/errors.js'
import type { AgentService, CallContext } from '../../model/service.js'
import type { Task } from '../../model/task.js'
import { TransportError } from '../../model/transport-error.js'
import { gate, until } from '../../testing/wait.js'
import { defaultRequestLimits } from '../read-json.js'
import { context, hostile, plain, testClient } from './client.fixture.js'
import type { GrpcWireEntry } from './client.js'
import { testGrpc } from './grpc.fixture.js'
import { services } from './messages.js'

const task: Task = {
  id: 't-1',
  contextId: 'c-1',
  status: { state: 'TASK_STATE_COMPLETED', timestamp: '2026-01-05T08:00:00.250Z' },
  artifacts: [{ artifactId: 'a-1', parts: [{ text: 'hello' }, { raw: 'AAECAw==' }, { data: [1, null] }] }],
  history: [{ messageId: 'm-1', role: 'ROLE_USER', parts: [{ url: 'https://files.example/a' }] }],
  metadata: { nested: { list: [1, 'x', null] } },
}

const config = { id: 'p-1', taskId: 't-1', url: 'https://hooks.example/', authentication: { scheme: 'Bearer' } }

const card: AgentCard = {
  name: 'Shout',
  description: 'Shouts',
  version: '1.0.0',
  supportedInterfaces: [{ url: 'localhost:1', protocolBinding: 'GRPC', protocolVersion: '1.0' }],
  capabilities: { streaming: true },
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [{ id: 's', name: 'Shout', description: 'Shouts', tags: ['loud'] }],
}

const message = { messageId: 'm-1', role: 'ROLE_USER', parts: [{ text: 'hi' }] } as const

/** A service with some operations. The test does not call the others. */
function only(service: Partial<AgentService>): AgentService {
  return service as AgentService
}

async function failureOf(call: Promise<unknown>): Promise<unknown> {
  try {
    await call
  } catch (error) {
    return error
  }
  throw new Error('The call succeeded')
}

/** A port on which nothing listens. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  const port = await portOf(server)
  server.close()
  await once(server, 'close')
  return port
}

async function portOf(server: NetServer): Promise<number> {
  if (!server.listening) await once(server, 'listening')
  return (server.address() as AddressInfo).port // it listens on TCP
}

describe('the gRPC client', () => {
  it.each([
    ['sendMessage', { message, configuration: { historyLength: 0, returnImmediately: true } }, { task }],
    ['sendMessage', { message }, { message: { messageId: 'm-2', role: 'ROLE_AGENT', parts: [{ text: 'ho' }] } }],
    ['getTask', { id: 't-1', historyLength: 3 }, task],
    [
      'listTasks',
      { contextId: 'c-1', status: 'TASK_STATE_WORKING', statusTimestampAfter: '2026-01-05T08:00:00.000Z' },
      { tasks: [task], nextPageToken: 'n', pageSize: 50, totalSize: 1 },
    ],
    ['cancelTask', { id: 't-1', metadata: { why: 'bored' } }, task],
    ['createTaskPushNotificationConfig', config, config],
    ['getTaskPushNotificationConfig', { taskId: 't-1', id: 'p-1' }, config],
    ['listTaskPushNotificationConfigs', { taskId: 't-1' }, { configs: [config], nextPageToken: 'n' }],
    ['deleteTaskPushNotificationConfig', { taskId: 't-1', id: 'p-1' }, undefined],
    ['getExtendedAgentCard', {}, card],
  ] as const)('calls %s (R-GRPC-1)', async (operation, request, answer) => {
    const calls: unknown[] = []
    const service = only({
      [operation]: async (asked: unknown) => {
        calls.push(asked)
        return answer
      },
    })
    await using server = await testGrpc(service, v1)
    using client = testClient(server.port, { dialect: v1Client })
    const call = client[operation] as (request: unknown, context: CallContext) => Promise<unknown>
    expect(await call(request, context)).toEqual(answer)
    expect(calls).toEqual([request])
  })

  it('sends the service parameters and credentials as metadata (R-GRPC-2, R-SVC-1, R-EXT-2)', async () => {
    const seen: CallContext[] = []
    const service = only({
      async getTask(_, context) {
        seen.push(context)
        return task
      },
    })
    const headers: (string | null)[] = []
    const admit = async ({ get }: { get(name: string): string | null }) => {
      headers.push(get('authorization'), get('a2a-version'), get('user-agent'), get('x-extra'))
      return { id: 'ann' }
    }
    await using server = await testGrpc(service, v1, { options: { admit } })
    using client = testClient(server.port, {
      metadata: async () => ({ Authorization: 'Bearer good', 'X-Extra': '1' }),
      userAgent: 'tests/1.0',
    })
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
    const more = { extensions: ['urn:a', 'urn:b'], idempotencyKey: 'k', resumeAfter: 17, traceparent }
    await client.getTask({ id: 't-1' }, { ...context, ...more })
    expect(seen).toEqual([{ caller: { id: 'ann' }, dialect: 'v1', ...more }])
    expect(headers).toEqual(['Bearer good', '1.0', expect.stringMatching(/^tests\/1.0 grpc/), '1'])
  })

  it('names the tenant of a request (R-TEN-2)', async () => {
    const seen: unknown[] = []
    const service = only({
      async getTask(request) {
        seen.push(request)
        return task
      },
    })
    await using server = await testGrpc(service, v1, { endpoint: { hasTenant: (tenant) => ['acme'].includes(tenant) } })
    using client = testClient(server.port)
    await client.getTask({ id: 't-1', tenant: 'acme' }, context)
    expect(seen).toEqual([{ id: 't-1', tenant: 'acme' }])
  })

  it.each(['http://127.0.0.1:PORT', 'http://127.0.0.1:PORT/grpc', 'dns:///127.0.0.1:PORT', 'dns:localhost:PORT'])(
    'understands the address %s (R-GRPC-5)',
    async (authority) => {
      await using server = await testGrpc(only({ getTask: async () => task }), v1)
      using client = testClient(0, { authority: authority.replace('PORT', String(server.port)) })
      expect(await client.getTask({ id: 't-1' }, context)).toEqual(task)
    },
  )

  it.each([
    'unix:/run/agent.sock',
    'unix:agent',
    'ftp://a.example:21',
    'dns://resolver.example/a.example:1',
    'a.example:port',
    'a.example:70000',
    'a.example/path',
    'user@a.example:1',
    '',
    ' ',
  ])('rejects the address "%s"', (authority) => {
    expect(() => testClient(0, { authority })).toThrow(/write host:port or https:\/\/host:port/)
  })

  it('rejects operations that the version lacks without a call', async () => {
    const { grpc } = plain as { grpc: NonNullable<typeof plain.grpc> } // it has one
    const { listTasks: _, subscribeToTask: __, ...rpcs } = grpc.rpcs
    using client = testClient(await freePort(), { dialect: { ...plain, grpc: { ...grpc, rpcs } } })
    expect(await failureOf(client.listTasks({}, context))).toMatchObject({ code: 'UNSUPPORTED_OPERATION' })
    const stream = client.subscribeToTask({ id: 't' }, context)
    expect(await failureOf(stream[Symbol.asyncIterator]().next())).toMatchObject({ code: 'UNSUPPORTED_OPERATION' })
  })

  it('cannot be created for dialects without gRPC, or with unknown rpcs', () => {
    const { grpc, ...without } = plain
    expect(() => testClient(1, { dialect: without })).toThrow(/not available over gRPC/)
    const dialect = { ...plain, grpc: { ...grpc, rpcs: { getTask: 'FetchTask' } } as NonNullable<typeof grpc> }
    expect(() => testClient(1, { dialect })).toThrow(/no rpc FetchTask/)
  })

  it('rejects calls after close, and lets running calls finish', async () => {
    const rest = gate()
    let isAsked = false
    const service = only({
      async getTask() {
        isAsked = true
        await rest.opened
        return task
      },
    })
    await using server = await testGrpc(service, v1)
    using client = testClient(server.port)
    const running = client.getTask({ id: 't-1' }, context)
    await until(() => isAsked)
    client.close()
    expect(await failureOf(client.getTask({ id: 't-1' }, context))).toMatchObject({ failure: 'aborted' })
    const stream = client.subscribeToTask({ id: 't-1' }, context)[Symbol.asyncIterator]()
    expect(await failureOf(stream.next())).toMatchObject({ failure: 'aborted' })
    rest.open()
    expect(await running).toEqual(task)
  })

  it('logs the wire', async () => {
    const service = only({
      getTask: () => Promise.reject(new A2AError('TASK_NOT_FOUND', 'No task t-1')),
      cancelTask: async () => task,
      async *subscribeToTask() {
        yield { event: { task }, seq: 3 }
      },
    })
    await using server = await testGrpc(service, v1)
    const log: GrpcWireEntry[] = []
    using client = testClient(server.port, {
      metadata: async () => ({ authorization: 'Bearer secret' }),
      onWire: (entry) => log.push(entry),
    })
    await failureOf(client.getTask({ id: 't-1' }, context))
    await client.cancelTask({ id: 't-1' }, context)
    for await (const _ of client.subscribeToTask({ id: 't-1' }, context));
    const headers = { authorization: 'Bearer secret', 'A2A-Version': '1.0' }
    expect(log).toMatchObject([
      { direction: 'out', rpc: 'GetTask', headers, body: { id: 't-1' }, ms: 0 },
      { direction: 'in', rpc: 'GetTask', status: 'NOT_FOUND' },
      { direction: 'out', rpc: 'CancelTask', headers, body: { id: 't-1' } },
      {
        direction: 'in',
        rpc: 'CancelTask',
        status: 'OK',
        body: { id: 't-1', status: { state: 'TASK_STATE_COMPLETED' } },
      },
      { direction: 'out', rpc: 'SubscribeToTask', headers },
      { direction: 'in', rpc: 'SubscribeToTask', body: { task: { id: 't-1' } } },
      { direction: 'in', rpc: 'SubscribeToTask', status: 'OK' },
    ])
    expect(log.every(({ ms }) => ms >= 0)).toBe(true)
  })
})

describe('the error of a failed gRPC call', () => {
  it('is the error of the agent, with its details (R-ERR-6)', async () => {
    const error = new A2AError('TASK_NOT_CANCELABLE', 'Läuft nicht', { metadata: { state: 'done' } })
    await using server = await testGrpc(only({ cancelTask: () => Promise.reject(error) }), v1)
    using client = testClient(server.port)
    const failure = await failureOf(client.cancelTask({ id: 't-1' }, context))
    expect(failure).toBeInstanceOf(A2AError)
    expect(failure).toMatchObject({
      code: 'TASK_NOT_CANCELABLE',
      message: 'Läuft nicht',
      details: { metadata: { state: 'done' } },
    })
  })

  it('names the invalid fields (R-ERR-3)', async () => {
    await using server = await testGrpc(only({}), v1)
    using client = testClient(server.port)
    const failure = await failureOf(client.sendMessage({ message: { ...message, parts: [] } }, context))
    expect(failure).toMatchObject({
      code: 'INVALID_PARAMS',
      details: { violations: [{ field: 'message.parts' }] },
    })
  })

  it('is UNAVAILABLE if the agent reports it', async () => {
    const error = new A2AError('UNAVAILABLE', 'Draining')
    await using server = await testGrpc(only({ getTask: () => Promise.reject(error) }), v1)
    using client = testClient(server.port)
    expect(await failureOf(client.getTask({ id: 't' }, context))).toMatchObject({ code: 'UNAVAILABLE' })
  })

  it('is derived from the status if there are no details', async () => {
    await using peer = await hostile({ unary: (_, callback) => callback({ code: 16, details: 'Who are you?' }) })
    using client = testClient(peer.port)
    expect(await failureOf(client.getTask({ id: 't' }, context))).toMatchObject({
      name: 'A2AError',
      code: 'UNAUTHENTICATED',
      message: 'Who are you?',
    })
  })

  it('reports a request that cannot be encoded', async () => {
    using client = testClient(await freePort())
    const failure = await failureOf(client.listTasks({ statusTimestampAfter: 'yesterday' }, context))
    expect(failure).toMatchObject({ name: 'A2AError', code: 'INVALID_PARAMS' })
  })

  it('names a header that cannot be sent, without its value', async () => {
    using client = testClient(await freePort(), { metadata: async () => ({ authorization: 'Bearer hunter2\n' }) })
    const failure = await failureOf(client.getTask({ id: 't' }, context))
    expect(failure).toMatchObject({ failure: 'refused', message: expect.stringContaining('authorization') })
    expect(String(failure)).not.toContain('hunter2')
  })

  it('is unreachable and retryable if nothing listens', async () => {
    using client = testClient(await freePort())
    const failure = await failureOf(client.getTask({ id: 't' }, context))
    expect(failure).toBeInstanceOf(TransportError)
    expect(failure).toMatchObject({ failure: 'unreachable', isRetryable: true })
    const stream = client.subscribeToTask({ id: 't' }, context)[Symbol.asyncIterator]()
    expect(await failureOf(stream.next())).toMatchObject({ failure: 'unreachable' })
  })

  it('is unreachable for an unknown host name', async () => {
    using client = testClient(0, { authority: 'agent.invalid:1' })
    expect(await failureOf(client.getTask({ id: 't' }, context))).toMatchObject({ failure: 'unreachable' })
  })

  it('does not persist after the peer has restarted', async () => {
    const port = await freePort()
    using client = testClient(port)
    expect(await failureOf(client.getTask({ id: 't' }, context))).toMatchObject({ failure: 'unreachable' })
    await using server = await testGrpc(only({ getTask: async () => task }), v1)
    const forward = createServer((socket) => server.grpc.accept(socket)).listen(port, '127.0.0.1')
    try {
      await portOf(forward)
      expect(await until(() => client.getTask({ id: 't-1' }, context).catch(() => undefined))).toEqual(task)
    } finally {
      forward.close()
    }
  })

  it('is unreachable if the peer uses HTTP/1.1', async () => {
    const web = createHttpServer((_, response) => response.end('hello')).listen(0, '127.0.0.1')
    try {
      using client = testClient(await portOf(web))
      expect(await failureOf(client.getTask({ id: 't' }, context))).toMatchObject({ failure: 'unreachable' })
    } finally {
      web.close()
    }
  })

  it.each([
    [404, 'text/html', { failure: 'bad-answer' }],
    [200, 'application/json', { failure: 'bad-answer' }],
    [503, 'text/html', { failure: 'unreachable' }],
    [401, 'text/html', { code: 'UNAUTHENTICATED' }],
  ])('is derived from a gateway response: %d with %s', async (status, type, expected) => {
    const web = createHttp2Server().listen(0, '127.0.0.1')
    web.on('stream', (stream) => {
      stream.on('error', () => undefined)
      stream.respond({ ':status': status, 'content-type': type })
      stream.end('<html>this is not gRPC, and no bytes of it are</html>')
    })
    try {
      using client = testClient(await portOf(web))
      expect(await failureOf(client.getTask({ id: 't' }, context))).toMatchObject(expected)
    } finally {
      web.close()
    }
  })

  it('is unreachable if the connection breaks before the response', async () => {
    let isAsked = false
    const service = only({
      getTask() {
        isAsked = true
        return new Promise<Task>(() => undefined)
      },
    })
    await using server = await testGrpc(service, v1)
    using client = testClient(server.port)
    const failure = failureOf(client.getTask({ id: 't' }, context))
    await until(() => isAsked)
    await server.grpc.close(0)
    expect(await failure).toMatchObject({ failure: 'unreachable' })
  })

  it('is a timeout for unary calls', async () => {
    const service = only({ getTask: () => new Promise<Task>(() => undefined) })
    await using server = await testGrpc(service, v1)
    using client = testClient(server.port, { timeoutMs: 30 })
    expect(await failureOf(client.getTask({ id: 't' }, context))).toMatchObject({
      failure: 'timeout',
      isRetryable: false,
    })
  })

  it('is an abort by the caller’s signal: before the call, during it, and while credentials load', async () => {
    let isAsked = false
    const service = only({
      getTask() {
        isAsked = true
        return new Promise<Task>(() => undefined)
      },
    })
    await using server = await testGrpc(service, v1)
    using client = testClient(server.port)
    const gone = AbortSignal.abort('bored')
    expect(await failureOf(client.getTask({ id: 't' }, { ...context, signal: gone }))).toMatchObject({
      failure: 'aborted',
      cause: 'bored',
    })
    expect(isAsked).toBe(false)
    const during = new AbortController()
    const failure = failureOf(client.getTask({ id: 't' }, { ...context, signal: during.signal }))
    await until(() => isAsked)
    during.abort()
    expect(await failure).toMatchObject({ failure: 'aborted' })
    using waiting = testClient(server.port, { metadata: () => new Promise(() => undefined) })
    const before = new AbortController()
    const early = failureOf(waiting.getTask({ id: 't' }, { ...context, signal: before.signal }))
    before.abort()
    expect(await early).toMatchObject({ failure: 'aborted' })
  })

  it('is the error of the credential source', async () => {
    using client = testClient(await freePort(), { metadata: () => Promise.reject(new Error('no token')) })
    expect(await failureOf(client.getTask({ id: 't' }, context))).toMatchObject({ message: 'no token' })
  })

  it('reports a response that is too large, and is PAYLOAD_TOO_LARGE for such a request', async () => {
    const large = { ...task, metadata: { text: 'x'.repeat(5000) } }
    await using server = await testGrpc(only({ getTask: async () => large, cancelTask: async () => task }), v1, {
      endpoint: { limits: { ...defaultRequestLimits, bodyBytes: 4000 } },
    })
    using client = testClient(server.port, { maxMessageBytes: 2000 })
    expect(await failureOf(client.getTask({ id: 't' }, context))).toMatchObject({
      failure: 'refused',
      isRetryable: false,
    })
    const metadata = { text: 'x'.repeat(5000) }
    expect(await failureOf(client.cancelTask({ id: 't', metadata }, context))).toMatchObject({
      name: 'A2AError',
      code: 'PAYLOAD_TOO_LARGE',
    })
    expect(await client.cancelTask({ id: 't' }, context)).toEqual(task)
  })
})

describe('invalid responses', () => {
  it.each([
    ['half a field', Buffer.from([0x12])],
    ['a length beyond the end', Buffer.from([0x12, 0x7f, 0x01])],
    ['field number 0', Buffer.from([0x00, 0x00])],
    ['noise', Buffer.from('not a message at all')],
  ])('%s', async (_, bytes) => {
    await using peer = await hostile({
      unary: (_, callback) => callback(null, bytes),
      stream(call) {
        call.write(bytes)
        call.end()
      },
    })
    using client = testClient(peer.port)
    expect(await failureOf(client.getTask({ id: 't' }, context))).toMatchObject({ failure: 'bad-answer' })
    const stream = client.subscribeToTask({ id: 't' }, context)[Symbol.asyncIterator]()
    expect(await failureOf(stream.next())).toMatchObject({ failure: 'bad-answer' })
  })

  it('missing required fields are errors of the agent, with their path', async () => {
    const { response } = services.get('lf.a2a.v1.A2AService')?.get('GetTask') ?? {}
    const bytes = response?.encode({ id: 't', status: {} })
    await using peer = await hostile({ unary: (_, callback) => callback(null, bytes as Buffer) })
    using client = testClient(peer.port)
    expect(await failureOf(client.getTask({ id: 't' }, context))).toMatchObject({
      code: 'INVALID_AGENT_RESPONSE',
      details: { violations: [{ field: 'status.state', description: 'is required' }] },
    })
  })

  it('an error in a decoder is an invalid response', async () => {
    const { grpc } = plain as { grpc: NonNullable<typeof plain.grpc> } // it has one
    const getTask = { ...grpc.operations.getTask, decode: () => (undefined as never as Task).id }
    const operations = { ...grpc.operations, getTask } as unknown as typeof grpc.operations
    await using server = await testGrpc(only({ getTask: async () => task }), v1)
    using client = testClient(server.port, { dialect: { ...plain, grpc: { ...grpc, operations } } })
    expect(await failureOf(client.getTask({ id: 't' }, context))).toMatchObject({ code: 'INVALID_AGENT_RESPONSE' })
  })

  it.each([
    [99, ''],
    [2, 'half %E0%A4%A'],
    [13, 'Received RST_STREAM with code 2'],
    [14, ''],
    [1, 'not by us'],
    [12, 'x'.repeat(5000)],
  ])('status %d "%s" becomes a typed error', async (code, details) => {
    await using peer = await hostile({ unary: (_, callback) => callback({ code, details }) })
    using client = testClient(peer.port)
    const failure = await failureOf(client.getTask({ id: 't' }, context))
    expect(failure).toSatisfy((each) => each instanceof A2AError || each instanceof TransportError)
    expect((failure as Error).message.length).toBeLessThan(300)
  })

  it.each([
    ['compressed without saying how', {}],
    ['compressed in a way nobody knows', { 'grpc-encoding': 'br' }],
    ['compressed, and is not', { 'grpc-encoding': 'gzip' }],
  ])('a message that is %s', async (_, headers) => {
    const web = createHttp2Server().listen(0, '127.0.0.1')
    web.on('stream', (stream) => {
      stream.on('error', () => undefined)
      stream.respond({ 'content-type': 'application/grpc', ...headers })
      stream.end(Buffer.from([1, 0, 0, 0, 2, 8, 1]))
    })
    try {
      using client = testClient(await portOf(web))
      expect(await failureOf(client.getTask({ id: 't' }, context))).toMatchObject({ failure: 'bad-answer' })
    } finally {
      web.close()
    }
  })

  it('the client ignores invalid details and keeps the status', async () => {
    await using peer = await hostile({
      unary(_, callback) {
        const error = Object.assign(new Error(), { code: 14, details: 'Gone' })
        const metadata = new Metadata()
        metadata.set('grpc-status-details-bin', Buffer.from('noise'))
        callback({ ...error, metadata })
      },
    })
    using client = testClient(peer.port)
    expect(await failureOf(client.getTask({ id: 't' }, context))).toMatchObject({
      code: 'UNAVAILABLE',
      message: 'Gone',
    })
  })
})
