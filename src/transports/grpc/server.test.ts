import { connect } from 'node:net'
import { status } from '@grpc/grpc-js'
import { describe, expect, it } from 'vitest'
import { v1 } from '../../dialects/v1/index.js'
import type { AgentCard } from '../../model/agent-card.js'
import { A2AError } from '../../model/errors.js'
import type { AgentService, CallContext } from '../../model/service.js'
import type { Task } from '../../model/task.js'
import { until } from '../../testing/wait.js'
import { defaultRequestLimits } from '../read-json.js'
import { failureOf, fromStruct, fromValue, type Json, testGrpc, toStruct, toValue } from './grpc.fixture.js'
import { readDetails } from './status.js'

const unauthenticated = new A2AError('UNAUTHENTICATED', 'Missing or invalid credentials')

const task: Task = {
  id: 't-1',
  contextId: 'c-1',
  status: {
    state: 'TASK_STATE_COMPLETED',
    timestamp: '2026-01-05T08:00:00.250Z',
    message: { messageId: 'm-2', role: 'ROLE_AGENT', parts: [{ text: 'done' }] },
  },
  artifacts: [{ artifactId: 'a-1', name: 'answer', parts: [{ text: 'hello' }, { raw: 'AAECAw==' }] }],
  history: [{ messageId: 'm-1', role: 'ROLE_USER', parts: [{ url: 'https://files.example/a' }] }],
}

/** The same value as the client library returns it. */
const shownTask = { ...task, status: { ...task.status, timestamp: { seconds: 1767600000, nanos: 250_000_000 } } }

const config = { id: 'p-1', taskId: 't-1', url: 'https://hooks.example/', authentication: { scheme: 'Bearer' } }

const card: AgentCard = {
  name: 'Shout',
  description: 'Shouts',
  version: '1.0.0',
  supportedInterfaces: [{ url: 'localhost:1', protocolBinding: 'GRPC', protocolVersion: '1.0' }],
  capabilities: { streaming: true, pushNotifications: false, extendedAgentCard: true },
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [{ id: 's', name: 'Shout', description: 'Shouts', tags: ['loud'] }],
  securitySchemes: { key: { apiKeySecurityScheme: { location: 'header', name: 'X-Key' } } },
  securityRequirements: [{ schemes: { key: { list: [] } } }],
}

/** A service with fixed answers that records its requests. */
function scripted(overrides: Partial<AgentService> = {}) {
  const calls: { operation: string; request: unknown; context: CallContext }[] = []
  const unary =
    <T>(operation: string, answer: T) =>
    async (request: unknown, context: CallContext): Promise<T> => {
      calls.push({ operation, request, context })
      return answer
    }
  const streaming = (operation: string) =>
    async function* (request: unknown, context: CallContext) {
      calls.push({ operation, request, context })
      yield { event: { task }, seq: 4 }
      yield {
        event: {
          artifactUpdate: { taskId: 't-1', contextId: 'c-1', artifact: { artifactId: 'a', parts: [{ text: 'x' }] } },
        },
        seq: 5,
      }
    }
  const service: AgentService = {
    sendMessage: unary('sendMessage', { task }),
    sendStreamingMessage: streaming('sendStreamingMessage'),
    getTask: unary('getTask', task),
    listTasks: unary('listTasks', { tasks: [task], nextPageToken: 'n', pageSize: 50, totalSize: 1 }),
    cancelTask: unary('cancelTask', task),
    subscribeToTask: streaming('subscribeToTask'),
    createTaskPushNotificationConfig: unary('createTaskPushNotificationConfig', config),
    getTaskPushNotificationConfig: unary('getTaskPushNotificationConfig', config),
    listTaskPushNotificationConfigs: unary('listTaskPushNotificationConfigs', { configs: [config], nextPageToken: '' }),
    deleteTaskPushNotificationConfig: unary('deleteTaskPushNotificationConfig', undefined),
    getExtendedAgentCard: unary('getExtendedAgentCard', card),
    ...overrides,
  }
  return { service, calls }
}

function failing(error: unknown): Partial<AgentService> {
  return { getTask: () => Promise.reject(error) }
}

const message = { messageId: 'm-1', role: 'ROLE_USER', parts: [{ text: 'hi' }] }

describe('the gRPC server', () => {
  it.each([
    [
      'SendMessage',
      { message, configuration: { historyLength: 0, acceptedOutputModes: ['text/plain'] } },
      { task: shownTask },
    ],
    ['GetTask', { id: 't-1', historyLength: 3 }, shownTask],
    [
      'ListTasks',
      { contextId: 'c-1', status: 'TASK_STATE_WORKING', pageSize: 5, includeArtifacts: true },
      { tasks: [shownTask], nextPageToken: 'n', pageSize: 50, totalSize: 1 },
    ],
    ['CancelTask', { id: 't-1' }, shownTask],
    ['CreateTaskPushNotificationConfig', config, config],
    ['GetTaskPushNotificationConfig', { taskId: 't-1', id: 'p-1' }, config],
    ['ListTaskPushNotificationConfigs', { taskId: 't-1', pageSize: 2 }, { configs: [config] }],
    ['DeleteTaskPushNotificationConfig', { taskId: 't-1', id: 'p-1' }, {}],
  ])('answers %s (R-GRPC-1)', async (rpc, request, answer) => {
    const { service, calls } = scripted()
    await using server = await testGrpc(service, v1)
    const { message: got } = await server.unary(rpc, request)
    expect(got).toEqual(answer)
    expect(calls).toEqual([
      {
        operation: `${rpc[0]?.toLowerCase()}${rpc.slice(1)}`,
        request,
        context: { caller: { id: 'anonymous' }, dialect: 'v1' },
      },
    ])
  })

  it('answers GetExtendedAgentCard, maps and oneofs included', async () => {
    await using server = await testGrpc(scripted().service, v1)
    const { message: got } = await server.unary('GetExtendedAgentCard', {})
    expect(got).toEqual({
      ...card,
      // proto3 cannot distinguish an empty list from a missing one.
      securityRequirements: [{ schemes: { key: {} } }],
    })
  })

  it('keeps every JSON value in data parts and metadata, in and out (R-JSON-12)', async () => {
    const metadata = {
      count: 3,
      big: 9007199254740991,
      ratio: -0.5,
      nothing: null,
      list: [1, [], {}, [null]],
      nested: { a: { b: {} } },
      yes: false,
      text: '汉',
    }
    const { service, calls } = scripted({
      getTask: async () => ({
        ...task,
        metadata,
        artifacts: [{ artifactId: 'a', parts: [{ data: null }, { data: 7 }, { data: metadata }] }],
      }),
    })
    await using server = await testGrpc(service, v1)
    await server.unary('SendMessage', {
      message: { ...message, parts: [{ data: toValue(metadata) }, { data: toValue(null) }, { data: toValue(0) }] },
      metadata: toStruct(metadata),
    })
    expect(calls[0]?.request).toEqual({
      message: { ...message, parts: [{ data: metadata }, { data: null }, { data: 0 }] },
      metadata,
    })
    const { message: got } = await server.unary('GetTask', { id: 't-1' })
    expect(fromStruct(got.metadata)).toEqual(metadata)
    const [artifact] = got.artifacts as { parts: { data: Json }[] }[]
    expect(artifact?.parts.map(({ data }) => fromValue(data))).toEqual([null, 7, metadata])
  })

  it('keeps the bytes of files, in and out', async () => {
    const bytes = Buffer.from(Array.from({ length: 70_000 }, (_, place) => place % 251)).toString('base64')
    const { service, calls } = scripted({
      sendMessage: async ({ message: { parts } }) => ({ message: { messageId: 'r', role: 'ROLE_AGENT', parts } }),
    })
    await using server = await testGrpc(service, v1)
    const parts = [{ raw: bytes, filename: 'a.bin', mediaType: 'application/octet-stream' }, { raw: '' }]
    const { message: got } = await server.unary('SendMessage', { message: { ...message, parts } })
    expect((got.message as Json).parts).toEqual(parts)
    expect(calls).toEqual([])
  })

  it('reads metadata like HTTP headers (R-GRPC-2, R-SVC-1)', async () => {
    const { service, calls } = scripted()
    await using server = await testGrpc(service, v1, {
      endpoint: { extensions: [{ uri: 'urn:a', isRequired: false }] },
    })
    const { headers } = await server.unary(
      'SendMessage',
      { message },
      {
        metadata: {
          'a2a-version': '1.0.3',
          'a2a-extensions': 'urn:a, urn:unknown',
          'idempotency-key': 'k',
          'last-event-id': '17',
          traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
        },
      },
    )
    expect(calls[0]?.context).toEqual({
      caller: { id: 'anonymous' },
      dialect: 'v1',
      extensions: ['urn:a', 'urn:unknown'],
      idempotencyKey: 'k',
      resumeAfter: 17,
      traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    })
    expect(headers.get('a2a-extensions')).toEqual(['urn:a'])
  })

  it('serves known tenants only (R-TEN-2)', async () => {
    const { service, calls } = scripted()
    await using server = await testGrpc(service, v1, { endpoint: { hasTenant: (tenant) => ['acme'].includes(tenant) } })
    await server.unary('GetTask', { tenant: 'acme', id: 't-1' })
    expect(calls[0]?.context.tenant).toBe('acme')
    expect(await failureOf(server.unary('GetTask', { tenant: 'other', id: 't-1' }))).toMatchObject({
      code: status.NOT_FOUND,
    })
  })

  it('reports that there is no agent for a call', async () => {
    await using server = await testGrpc(scripted().service, v1, { options: { endpointOf: () => undefined } })
    expect(await failureOf(server.unary('GetTask', { id: 't' }))).toMatchObject({ code: status.UNIMPLEMENTED })
    expect(await failureOf(server.unary('GetTask', { id: 't', tenant: 'x' }))).toMatchObject({ code: status.NOT_FOUND })
  })
})

describe('errors of the gRPC server', () => {
  it('are encoded as status and details (R-ERR-6)', async () => {
    const error = new A2AError('RATE_LIMITED', 'Slow down, läuft', { retryAfterSeconds: 7, metadata: { limit: '3' } })
    await using server = await testGrpc(scripted(failing(error)).service, v1)
    const failure = await failureOf(server.unary('GetTask', { id: 't-1' }))
    expect(failure).toMatchObject({ code: status.RESOURCE_EXHAUSTED, details: 'Slow down, läuft' })
    expect(detailsIn(failure)).toEqual({
      code: status.RESOURCE_EXHAUSTED,
      message: 'Slow down, läuft',
      details: [
        {
          '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
          reason: 'RATE_LIMITED',
          domain: 'a2a-protocol.org',
          metadata: { limit: '3' },
        },
        { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '7s' },
      ],
    })
  })

  it('name the invalid fields (R-ERR-3)', async () => {
    await using server = await testGrpc(scripted().service, v1)
    const failure = await failureOf(server.unary('SendMessage', { message: { messageId: 'm', parts: [{}] } }))
    expect(failure.code).toBe(status.INVALID_ARGUMENT)
    expect(detailsIn(failure).details[1]).toEqual({
      '@type': 'type.googleapis.com/google.rpc.BadRequest',
      fieldViolations: [
        { field: 'message.role', description: 'is required' },
        { field: 'message.parts[0]', description: 'must have one of text, raw, url, data' },
      ],
    })
  })

  it('hide the cause of an internal error', async () => {
    await using server = await testGrpc(scripted(failing(new Error('password is hunter2'))).service, v1)
    const failure = await failureOf(server.unary('GetTask', { id: 't-1' }))
    expect(failure).toMatchObject({ code: status.INTERNAL, details: 'Internal error' })
    expect(JSON.stringify([failure, detailsIn(failure)])).not.toContain('hunter2')
    expect(server.errors.map(({ cause }) => (cause as Error).message)).toEqual(['password is hunter2'])
  })

  it('encode messages that are not valid in headers', async () => {
    const error = new A2AError('TASK_NOT_FOUND', `\ud800 ${'long '.repeat(5000)}`, {
      metadata: { key: 'x'.repeat(50_000) },
    })
    await using server = await testGrpc(scripted(failing(error)).service, v1)
    const failure = await failureOf(server.unary('GetTask', { id: 't-1' }))
    expect(failure.code).toBe(status.NOT_FOUND)
    expect(failure.details.length).toBeLessThan(600)
  })

  it('encode details that do not match their types', async () => {
    const error = new A2AError('TASK_NOT_FOUND', 'Nowhere', { metadata: { tries: 3, at: null } as never })
    await using server = await testGrpc(scripted(failing(error)).service, v1)
    expect(await failureOf(server.unary('GetTask', { id: 't-1' }))).toMatchObject({
      code: status.NOT_FOUND,
      details: 'Nowhere',
    })
  })

  it('name the required credentials to unauthenticated callers', async () => {
    const { service, calls } = scripted()
    const admit = (headers: { get(name: string): string | null }) =>
      headers.get('Authorization') === 'Bearer good' ? { id: 'ann' } : { refused: unauthenticated, challenge: 'Bearer' }
    await using server = await testGrpc(service, v1, { options: { admit } })
    const failure = await failureOf(server.unary('GetTask', { id: 't-1' }))
    expect(failure.code).toBe(status.UNAUTHENTICATED)
    expect(failure.metadata.get('www-authenticate')).toEqual(['Bearer'])
    await server.unary('GetTask', { id: 't-1' }, { metadata: { authorization: 'Bearer good' } })
    expect(calls.map(({ context }) => context.caller.id)).toEqual(['ann'])
  })

  it('come before the body of an unauthenticated caller is decoded', async () => {
    await using server = await testGrpc(scripted().service, v1, {
      options: { admit: async () => ({ refused: unauthenticated }) },
    })
    const failure = await failureOf(server.raw('/lf.a2a.v1.A2AService/GetTask', Buffer.from([0xff])))
    expect(failure.code).toBe(status.UNAUTHENTICATED)
  })

  it.each(['0.3', '99.0', 'nonsense'])(
    'reject version %s at the service of another version (R-VER-4)',
    async (version) => {
      await using server = await testGrpc(scripted().service, v1)
      const failure = await failureOf(server.unary('GetTask', { id: 't-1' }, { metadata: { 'a2a-version': version } }))
      expect(failure.code).toBe(status.FAILED_PRECONDITION)
      expect(detailsIn(failure).details[0]).toMatchObject({
        reason: 'VERSION_NOT_SUPPORTED',
        metadata: { requestedVersion: version, supportedVersions: '1.0' },
      })
    },
  )

  it('reject callers without a required extension (R-EXT-3)', async () => {
    const extensions = [{ uri: 'urn:must', isRequired: true }]
    await using server = await testGrpc(scripted().service, v1, { endpoint: { extensions } })
    const failure = await failureOf(server.unary('GetTask', { id: 't-1' }))
    expect(detailsIn(failure).details[0]).toMatchObject({ reason: 'EXTENSION_SUPPORT_REQUIRED' })
    const { headers } = await server.unary('GetTask', { id: 't-1' }, { metadata: { 'a2a-extensions': 'urn:must' } })
    expect(headers.get('a2a-extensions')).toEqual(['urn:must'])
  })

  it.each([
    ['half a field', Buffer.from([0x12])],
    ['a length beyond the end', Buffer.from([0x12, 0x7f, 0x01])],
    ['field number 0', Buffer.from([0x00, 0x00])],
    ['an end without a group', Buffer.from([0x0c])],
    ['noise', Buffer.from('not a message at all')],
  ])('report %s as INVALID_ARGUMENT', async (_, bytes) => {
    const { service, calls } = scripted()
    await using server = await testGrpc(service, v1)
    const failure = await failureOf(server.raw('/lf.a2a.v1.A2AService/SendMessage', bytes))
    expect(failure.code).toBe(status.INVALID_ARGUMENT)
    expect(detailsIn(failure).details[0]).toMatchObject({ reason: 'PARSE_ERROR' })
    expect(calls).toEqual([])
  })

  it('report a Struct that is nested too deeply, and the server continues', async () => {
    await using server = await testGrpc(scripted().service, v1, {
      endpoint: { limits: { ...defaultRequestLimits, bodyBytes: 4_000_000 } },
    })
    let nested = Buffer.alloc(0)
    for (let depth = 0; depth < 5000; depth++) {
      const list = Buffer.concat([Buffer.from([50]), varint(nested.length), nested])
      nested = Buffer.concat([Buffer.from([10]), varint(list.length), list])
    }
    const struct = Buffer.concat([Buffer.from([10, 1, 97, 18]), varint(nested.length), nested])
    const entry = Buffer.concat([Buffer.from([10]), varint(struct.length), struct])
    const bytes = Buffer.concat([Buffer.from([34]), varint(entry.length), entry])
    const failure = await failureOf(server.raw('/lf.a2a.v1.A2AService/SendMessage', bytes))
    expect(failure.code).toBe(status.INVALID_ARGUMENT)
    await server.unary('GetTask', { id: 't-1' })
  })

  it('report unknown rpcs and services', async () => {
    await using server = await testGrpc(scripted().service, v1)
    for (const path of ['/lf.a2a.v1.A2AService/Nothing', '/a2a.v1.A2AService/SendMessage', '/other/Thing']) {
      expect((await failureOf(server.raw(path, Buffer.alloc(0)))).code).toBe(status.UNIMPLEMENTED)
    }
  })

  it('report messages that are too large', async () => {
    const { service, calls } = scripted()
    await using server = await testGrpc(service, v1, {
      endpoint: { limits: { ...defaultRequestLimits, bodyBytes: 1000 } },
    })
    const parts = [{ text: 'x'.repeat(2000) }]
    const failure = await failureOf(server.unary('SendMessage', { message: { ...message, parts } }))
    expect(failure.code).toBe(status.RESOURCE_EXHAUSTED)
    expect(calls).toEqual([])
  })

  it('report operations that the agent does not support', async () => {
    await using server = await testGrpc(scripted().service, v1, { endpoint: { dialects: [] } })
    expect((await failureOf(server.unary('GetTask', { id: 't-1' }))).code).toBe(status.UNIMPLEMENTED)
  })
})

describe('connections', () => {
  it.each([
    ['nothing', ''],
    ['a preface and noise', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nthis is not a frame, nor is this: \u0000\u0001'],
    ['HTTP/1.1', 'GET / HTTP/1.1\r\n\r\n'],
  ])('survive %s', async (_, text) => {
    await using server = await testGrpc(scripted().service, v1)
    const socket = connect(server.port, '127.0.0.1')
    socket.on('error', () => undefined)
    socket.write(text)
    if (text === '') socket.destroy()
    await until(() => socket.destroyed || socket.readableEnded || socket.bytesWritten >= text.length)
    socket.destroy()
    await server.unary('GetTask', { id: 't-1' })
  })

  it('let running calls finish before they close', async () => {
    let finish: () => void = () => undefined
    const asked = new Promise<void>((resolve) => {
      finish = resolve
    })
    let isAsked = false
    const getTask = async () => {
      isAsked = true
      await asked
      return task
    }
    await using server = await testGrpc(scripted({ getTask }).service, v1)
    const answer = server.unary('GetTask', { id: 't-1' })
    await until(() => isAsked)
    const closed = server.grpc.close(5000)
    finish()
    expect((await answer).message).toEqual(shownTask)
    await closed
  })

  it('close at the deadline, also with running calls', async () => {
    const getTask = () => new Promise<Task>(() => undefined)
    await using server = await testGrpc(scripted({ getTask }).service, v1)
    const answer = failureOf(server.unary('GetTask', { id: 't-1' }))
    await until(() => server.client.getChannel().getConnectivityState(false) === 2)
    await server.grpc.close(10)
    expect([status.UNAVAILABLE, status.CANCELLED]).toContain((await answer).code)
  })
})

function detailsIn({ metadata }: { readonly metadata: { get(key: string): unknown[] } }) {
  const [bytes] = metadata.get('grpc-status-details-bin')
  return readDetails(bytes as Buffer)
}

function varint(value: number): Buffer {
  const bytes: number[] = []
  let rest = value
  for (; rest > 127; rest >>>= 7) bytes.push((rest & 127) | 128)
  return Buffer.from([...bytes, rest])
}
