/** The same invalid calls in every dialect older than v1.0: each dialect has its own error form and codes. */
import { A2AError, agent, apiKey } from 'dragoman'
import type { HandlerOptions } from 'dragoman/server'
import { describe, expect, it } from 'vitest'
import { echoAgent } from '../src/testing/echo-agent.js'
import { type Answer, type HeaderList, type Json, testServer } from './fixture.js'
import {
  body01,
  checkOldError,
  checkRestError,
  message03,
  type OldError,
  OlderClient,
  type OldTask,
  params01,
  protoMessage,
  rpc,
} from './older-fixture.js'
import { proves } from './proves.js'

type ErrorCodes = readonly [http: number, code: number | 'error']

interface DialectCase {
  readonly name: string
  readonly path: string
  /** The header that identifies the dialect when the body cannot be parsed. */
  readonly version?: string
  /** A valid request, which tests modify. */
  readonly good: Json
  /** A request for an unknown task. */
  readonly unknown: Json
  /** A request with one invalid member, which `field` names. */
  readonly wrong: Json
  readonly field: string
  /** Checks the form and reads the number; dialects without numeric codes return `error`. */
  read(answer: Answer): ErrorCodes
  readonly expected: Readonly<
    Record<
      'unknown' | 'wrong' | 'unauthenticated' | 'foreign' | 'large' | 'media' | 'broken' | 'internal' | 'limited',
      ErrorCodes
    >
  >
}

/** JSON-RPC with details as one object. */
const inEnvelope =
  (id: number | null = 7) =>
  ({ status, body }: Answer): ErrorCodes => {
    expect(Object.keys(body)).toEqual(['jsonrpc', 'id', 'error'])
    expect(body.jsonrpc).toBe('2.0')
    expect([id, null]).toContain(body.id)
    return [status, checkOldError(body.error as OldError).code]
  }

const bare = ({ status, body }: Answer): ErrorCodes => [status, checkRestError(body, status).code]

/** 0.3's JSON-RPC: no details (R3-ERR-1). */
const withoutData = (answer: Answer): ErrorCodes => {
  expect(answer.body.error).not.toHaveProperty('data')
  return inEnvelope()(answer)
}

const withDetail = ({ status, body }: Answer): ErrorCodes => {
  expect(Object.keys(body)).toEqual(['detail', 'error'])
  expect(Object.keys(body.error as Json)).toEqual(['code', 'message'])
  return [status, (body.error as { code: number }).code]
}

const sentence = ({ status, body }: Answer): ErrorCodes => {
  expect(body).toEqual({ error: expect.stringMatching(/\S/), status: 'error' })
  return [status, 'error']
}

const onRpc = {
  unknown: [200, -32001],
  wrong: [200, -32602],
  unauthenticated: [401, -32000],
  foreign: [403, -32000],
  large: [413, -32600],
  media: [200, -32005],
  broken: [200, -32700],
  internal: [200, -32603],
  limited: [429, -32000],
} as const
const in01 = { ...onRpc, unauthenticated: [401, -32007], foreign: [403, -32008], limited: [429, -32010] } as const
const onRest = {
  unknown: [404, -32001],
  wrong: [400, -32602],
  unauthenticated: [401, -32000],
  foreign: [403, -32000],
  large: [413, -32600],
  media: [400, -32005],
  broken: [400, -32700],
  internal: [500, -32603],
  limited: [429, -32000],
} as const
const inTaskRest = {
  ...onRest,
  wrong: [422, -32602],
  unauthenticated: [401, -32007],
  foreign: [403, -32008],
  limited: [429, -32010],
  media: [415, -32005],
} as const
const inInvoke = {
  unknown: [404, 'error'],
  wrong: [400, 'error'],
  unauthenticated: [401, 'error'],
  foreign: [403, 'error'],
  large: [413, 'error'],
  media: [400, 'error'],
  broken: [400, 'error'],
  internal: [500, 'error'],
  limited: [429, 'error'],
} as const

const wrong03 = message03({ parts: [{ kind: 'text', text: 7 }] })

const dialectCases: readonly DialectCase[] = [
  ...['message/send', 'message/stream'].map((method) => ({
    name: `0.3, ${method}`,
    path: '/',
    version: '0.3',
    good: rpc(method, { message: message03('hello') }),
    unknown: rpc(method, { message: message03({ taskId: 'nope' }) }),
    wrong: rpc(method, { message: wrong03 }),
    field: 'message.parts[0].text',
    read: withoutData,
    expected: onRpc,
  })),
  ...['/v1/message:send', '/v1/message:stream'].map((path) => ({
    name: `0.3, ${path}`,
    path,
    good: { message: protoMessage('hello') },
    unknown: { message: protoMessage({ taskId: 'nope' }) },
    wrong: { message: protoMessage({ content: [{ text: 7 }] }) },
    field: 'message.parts[0].text',
    read: bare,
    expected: onRest,
  })),
  ...['tasks/send', 'tasks/sendSubscribe'].map((method) => ({
    name: `0.1, ${method}`,
    path: '/',
    version: '0.1',
    good: rpc(method, params01('j', 'hello')),
    unknown: rpc('tasks/get', { id: 'nope' }),
    wrong: rpc(method, { id: 'j', message: { role: 'user', parts: [{ type: 'text', text: 7 }] } }),
    field: 'message.parts[0].text',
    read: inEnvelope(),
    expected: in01,
  })),
  {
    name: 'the Go library’s form',
    path: '/go',
    good: rpc('tasks/send', params01('g', 'hello')),
    unknown: rpc('tasks/get', { id: 'nope' }),
    wrong: rpc('tasks/send', { id: 'g', message: { role: 'user', parts: [{ type: 'text', text: 7 }] } }),
    field: 'message.parts[0].text',
    read: inEnvelope(),
    expected: in01,
  },
  ...['/tasks/send', '/tasks/sendSubscribe'].map((path) => ({
    name: `task-rest, ${path}`,
    path,
    good: body01('hello'),
    unknown: body01('hello', { taskId: 'nope' }),
    wrong: { message: { role: 'user', parts: [{ type: 'text', text: 7 }] } },
    field: 'message.parts[0].text',
    read: withDetail,
    expected: inTaskRest,
  })),
  ...['/a2a/invoke', '/a2a/stream'].map((path) => ({
    name: `invoke, ${path}`,
    path,
    good: { input: 'hello' },
    unknown: { input: 'hello', task_id: 'nope' },
    wrong: { input: 'hello', chat_id: 7 },
    field: 'chat_id',
    read: sentence,
    expected: inInvoke,
  })),
  ...['/api/v1/a2a', '/a2a/v1'].flatMap((path) =>
    ['message/send', 'message/stream'].map((method) => ({
      name: `chat-rpc, ${method} at ${path}`,
      path,
      good: rpc(method, { message: message03('hello') }),
      unknown: rpc(method, { message: message03({ taskId: 'nope' }) }),
      wrong: rpc(method, { message: wrong03 }),
      field: 'message.parts[0].text',
      read: inEnvelope(),
      expected: onRpc,
    })),
  ),
]

async function refused(
  { path, read, version }: DialectCase,
  body: unknown,
  { headers = {}, options = {} }: { headers?: HeaderList; options?: HandlerOptions } = {},
): Promise<{ expected: ErrorCodes; answer: Answer }> {
  await using server = await testServer(echoAgent, { dialects: 'all', ...options })
  const answer = await new OlderClient(server, { headers: { 'A2A-Version': version } }).send(
    'POST',
    path,
    body,
    headers,
  )
  expect(answer.headers.get('content-type')).toBe('application/json')
  return { expected: read(answer), answer }
}

describe.each(dialectCases)('mistakes in $name', (dialectCase) => {
  const { expected, good } = dialectCase
  const { version: _named, ...unversioned } = dialectCase

  it('an unknown task', async () => {
    expect((await refused(unversioned, dialectCase.unknown)).expected).toEqual(expected.unknown)
  })

  it('a member of the wrong type, which is named', async () => {
    const { expected: codes, answer } = await refused(unversioned, dialectCase.wrong)
    expect(codes).toEqual(expected.wrong)
    expect(JSON.stringify(answer.body)).toContain(dialectCase.field)
  })

  it(proves(['R3-SEC-1', 'RL-ALL-2'], 'no credentials, or wrong ones'), async () => {
    for (const key of [undefined, 'wrong']) {
      const options = { auth: [apiKey('k')] }
      const { expected: codes, answer } = await refused(unversioned, good, { headers: { 'X-API-Key': key }, options })
      expect(codes).toEqual(expected.unauthenticated)
      expect(answer.headers.get('www-authenticate')).toBe('ApiKey name="X-API-Key"')
    }
  })

  it(proves('RL-ALL-2', 'a page of another origin'), async () => {
    const headers = { Origin: 'https://evil.example' }
    expect((await refused(unversioned, good, { headers })).expected).toEqual(expected.foreign)
  })

  it(proves('RL-ALL-2', 'a body that is too large'), async () => {
    const options = { limits: { bodyBytes: 2000 } }
    const { expected: codes } = await refused(dialectCase, { ...good, padding: 'x'.repeat(3000) }, { options })
    expect(codes).toEqual(expected.large)
  })

  it(proves('RL-ALL-2', 'a body of another media type'), async () => {
    const { expected: codes } = await refused(dialectCase, good, { headers: { 'Content-Type': 'text/plain' } })
    expect(codes).toEqual(expected.media)
  })

  it('broken JSON', async () => {
    for (const body of ['{"a":', 'hello', '\u0000', new Uint8Array([0xff, 0xfe])]) {
      expect((await refused(dialectCase, body)).expected).toEqual(expected.broken)
    }
  })

  /** Every send fails with this. */
  const failing = (error: Error): HandlerOptions => ({
    advanced: {
      wrap: (service) => ({
        ...service,
        sendMessage: () => Promise.reject(error),
        sendStreamingMessage: () => ({ [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(error) }) }),
      }),
    },
  })

  it('an internal failure, without details', async () => {
    const options = failing(new Error('the password is 1234'))
    const { expected: codes, answer } = await refused(unversioned, good, { options })
    expect(codes).toEqual(expected.internal)
    expect(JSON.stringify(answer.body)).not.toContain('1234')
  })

  it('too many calls, with the time to come back', async () => {
    const options = failing(new A2AError('RATE_LIMITED', 'Too many', { retryAfterSeconds: 3 }))
    const { expected: codes, answer } = await refused(unversioned, good, { options })
    expect(codes).toEqual(expected.limited)
    expect(answer.headers.get('retry-after')).toBe('3')
  })
})

describe('a caller of an older dialect', () => {
  const callers = { auth: [apiKey({ a: 'alice', b: 'bob' })], dialects: 'all' } as const
  const alice = { 'X-API-Key': 'a' }
  const bob = { 'X-API-Key': 'b' }
  const url = 'https://client.example/hook'

  /** Every way to touch a task. */
  const ways = (id: string): readonly (readonly [verb: string, path: string, body?: unknown])[] => [
    ...(
      [
        ['tasks/get', { id }],
        ['tasks/cancel', { id }],
        ['tasks/resubscribe', { id }],
        ['tasks/subscribe', { id }],
        ['message/send', { message: message03({ taskId: id }) }],
        ['message/stream', { message: message03({ taskId: id }) }],
        ['tasks/send', params01(id, 'x')],
        ['tasks/sendSubscribe', params01(id, 'x')],
        ['tasks/pushNotificationConfig/set', { taskId: id, pushNotificationConfig: { url } }],
        ['tasks/pushNotificationConfig/get', { id }],
        ['tasks/pushNotificationConfig/list', { id }],
        ['tasks/pushNotificationConfig/delete', { id, pushNotificationConfigId: 'default' }],
        ['tasks/pushNotification/set', { id, pushNotificationConfig: { url } }],
        ['tasks/pushNotification/set', { id, pushNotificationConfig: null }],
        ['tasks/pushNotification/get', { id }],
      ] as const
    ).map(([method, params]) => ['POST', '/', rpc(method, params)] as const),
    ...['tasks/get', 'tasks/cancel', 'tasks/resubscribe', 'tasks/pushNotification/get'].map(
      (method) => ['POST', '/go', rpc(method, { id })] as const,
    ),
    ['POST', '/go', rpc('tasks/send', params01(id, 'x'))],
    ['POST', '/v1/message:send', { message: protoMessage({ taskId: id }) }],
    ['POST', '/v1/message:stream', { message: protoMessage({ taskId: id }) }],
    ['GET', `/v1/tasks/${id}`],
    ['POST', `/v1/tasks/${id}:cancel`],
    ['GET', `/v1/tasks/${id}:subscribe`],
    ['POST', `/v1/tasks/${id}:subscribe`],
    ['GET', `/v1/tasks/${id}/pushNotificationConfigs`],
    ['POST', `/v1/tasks/${id}/pushNotificationConfigs`, { url }],
    ['POST', `/v1/task/${id}/pushNotificationConfigs`, { url }],
    ['GET', `/v1/tasks/${id}/pushNotificationConfigs/default`],
    ['DELETE', `/v1/tasks/${id}/pushNotificationConfigs/default`],
    ['POST', '/tasks/send', body01('x', { taskId: id })],
    ['POST', '/tasks/sendSubscribe', body01('x', { taskId: id })],
    ['GET', `/tasks/${id}`],
    ['POST', `/tasks/${id}/cancel`],
    ['POST', '/tasks/cancel', { id }],
    ['POST', '/tasks/resubscribe', { id }],
    ['POST', '/tasks/pushNotification/set', { id, pushNotificationConfig: { url } }],
    ['POST', '/tasks/pushNotification/get', { id }],
    ['POST', '/a2a/invoke', { input: 'x', task_id: id }],
    ['POST', '/a2a/stream', { input: 'x', task_id: id }],
    ['POST', '/a2a/invoke', rpc('invoke', { input: 'x', task_id: id })],
    ...['/api/v1/a2a', '/a2a/v1'].flatMap((path) => [
      ['POST', path, rpc('message/send', { message: message03({ taskId: id }) })] as const,
      ['POST', path, rpc('message/stream', { message: message03({ taskId: id }) })] as const,
      ['POST', path, rpc('tasks/get', { id })] as const,
      ['POST', path, rpc('tasks/cancel', { id })] as const,
    ]),
  ]
  /** Paths and methods that name no task. */
  const others: readonly (readonly [verb: string, path: string, body?: unknown])[] = [
    ['POST', '/', rpc('tasks/list')],
    ['POST', '/', rpc('agent/getAuthenticatedExtendedCard')],
    ['POST', '/', rpc('agent/authenticatedExtendedCard')],
    ['POST', '/', rpc('no/such/method')],
    ['GET', '/v1/tasks'],
    ['GET', '/v1/card'],
    ['GET', '/agent/authenticatedExtendedCard'],
    ['POST', '/go/no/such/path', {}],
    ['GET', '/go'],
    ['GET', '/a2a/invoke'],
    ['GET', '/api/v1/a2a'],
    ['POST', '/tasks/unheard-of', {}],
  ]

  it(
    proves(['RL-ALL-2', 'R3-SEC-1', 'RL-L0-5', 'RL-L1-7'], 'needs credentials on every path and for every method'),
    async () => {
      await using server = await testServer(echoAgent, { ...callers, limits: { failedAuthentication: 'none' } })
      const client = new OlderClient(server)
      const { id } = await client.result<OldTask>('message/send', { message: message03('ask') }, alice)
      for (const [verb, path, body] of [...ways(id), ...others]) {
        for (const version of [undefined, '1.0', '0.3', '0.1', '99.0']) {
          const { status, headers } = await client.request(verb, path, body, {
            'A2A-Version': version,
            'X-API-Key': 'wrong',
          })
          const what = `${verb} ${path} ${JSON.stringify(body)} as ${version}`
          expect([status, headers.get('www-authenticate')], what).toEqual([401, 'ApiKey name="X-API-Key"'])
        }
      }
      expect(await client.result('tasks/get', { id }, alice)).toMatchObject({ status: { state: 'input-required' } })
    },
  )

  it(proves('RL-ALL-2', 'touches nothing of other callers’'), async () => {
    await using server = await testServer(echoAgent, callers)
    const client = new OlderClient(server)
    for (const send of [
      async () => (await client.result<OldTask>('message/send', { message: message03('ask') }, alice)).id,
      async () => (await client.result<OldTask>('tasks/send', params01('mine', 'ask'), alice)).id,
    ]) {
      const id = await send()
      await client.result('tasks/pushNotificationConfig/set', { taskId: id, pushNotificationConfig: { url } }, alice)
      const before = await client.result('tasks/get', { id }, { ...alice, 'A2A-Version': '0.3' })
      for (const [verb, path, body] of ways(id)) {
        const response = await client.request(verb, path, body, bob)
        const text = await response.text()
        expect(text, `${verb} ${path} ${JSON.stringify(body)}`).toMatch(/"error"|"code":-32001/)
        expect(text).not.toContain('What is the second text?')
        expect(response.status).not.toBe(500)
      }
      expect(await client.result('tasks/get', { id }, { ...alice, 'A2A-Version': '0.3' })).toEqual(before)
      expect(await client.result('tasks/pushNotificationConfig/list', { id }, alice)).toHaveLength(1)
    }
    expect(await client.result('tasks/list', {}, bob)).toMatchObject({ tasks: [], totalSize: 0 })
  })

  it(proves('RL-ALL-2', 'registers only webhooks that v1.0 would take'), async () => {
    await using server = await testServer(echoAgent, { dialects: 'all' })
    const client = new OlderClient(server)
    await client.result('tasks/send', params01('j', 'ask'))
    const bad = { url: 'file:///etc/passwd' }
    for (const [path, body] of [
      ['/', rpc('message/send', { message: message03('x'), configuration: { pushNotificationConfig: bad } })],
      ['/', rpc('tasks/pushNotificationConfig/set', { taskId: 'j', pushNotificationConfig: bad })],
      ['/', rpc('tasks/send', params01('k', 'x', { pushNotification: bad }))],
      ['/', rpc('tasks/pushNotification/set', { id: 'j', pushNotificationConfig: bad })],
      ['/go', rpc('tasks/pushNotification/set', { id: 'j', pushNotificationConfig: bad })],
      ['/v1/message:send', { message: protoMessage('x'), configuration: { pushNotification: bad } }],
      ['/v1/tasks/j/pushNotificationConfigs', bad],
      ['/tasks/send', { ...body01('x'), pushNotification: bad }],
      ['/tasks/pushNotification/set', { id: 'j', pushNotificationConfig: bad }],
    ] as const) {
      const { body: expected } = await client.send('POST', path, body)
      expect(JSON.stringify(expected), `${path} ${JSON.stringify(body)}`).toContain('-32602')
    }
    expect(await client.result('tasks/pushNotificationConfig/list', { id: 'j' })).toEqual([])
  })

  const chat = dialectCases.filter(({ name }) => name.startsWith('chat-rpc'))
  const nameless = chat.map((dialectCase) => ({
    ...dialectCase,
    name: `${dialectCase.name}, without ids`,
    good: rpc(String(dialectCase.good.method), { message: { role: 'user', parts: [{ kind: 'text', text: 'hello' }] } }),
  }))

  it.each([...dialectCases, ...nameless])(
    proves('E-10', 'may repeat a send with its key: $name'),
    async ({ path, good }) => {
      let turns = 0
      const counting = agent('Counting', async function* () {
        turns += 1
        yield `turn ${turns}`
      })
      await using server = await testServer(counting, { dialects: 'all' })
      const client = new OlderClient(server)
      const send = async () => {
        const response = await client.request('POST', path, good, { 'Idempotency-Key': 'k' })
        return [response.status, await response.text()] as const
      }
      const [status, first] = await send()
      expect([status, first]).toEqual([200, expect.stringContaining('turn 1')])
      const [again, second] = await send()
      expect([again, second]).toEqual([200, expect.stringContaining('turn 1')])
      expect(second).not.toContain('"error"')
      expect(turns).toBe(1)
    },
  )

  it(proves('RL-ALL-4', 'is seen in the log with dialect and binding'), async () => {
    const seen: string[] = []
    await using server = await testServer(echoAgent, {
      dialects: 'all',
      log: ({ dialect, message }) => {
        if (dialect) seen.push(`${dialect}: ${message}`)
      },
      advanced: { logCalls: true },
    })
    const client = new OlderClient(server)
    await client.result('message/send', { message: message03('hi') })
    await client.fetch('GET', '/v1/tasks')
    await client.result('tasks/send', params01('j', 'hi'))
    await client.fetch('POST', '/tasks/send', body01('hi'))
    await client.fetch('POST', '/a2a/invoke', { input: 'hi' })
    expect(seen).toEqual([
      'v0.3: sendMessage over JSONRPC',
      'v0.3: listTasks over HTTP+JSON',
      'v0.1: sendMessage over JSONRPC',
      'task-rest: sendMessage over HTTP+JSON',
      'invoke: sendMessage over HTTP+JSON',
    ])
  })
})
