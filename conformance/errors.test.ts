import { A2AError, agent, apiKey, type ErrorCode, MemoryStore } from 'dragoman'
import { errorCodes } from 'dragoman/model'
import { describe, expect, it } from 'vitest'
import { echoAgent } from '../src/testing/echo-agent.js'
import { bindings, type Client, gate, type Json, readRefusal, testServer, userMessage } from './fixture.js'
import { proves } from './proves.js'

/** Refuses every message with the error that its text names. */
const refuser = agent('Refuser', async function* ({ text }) {
  if (text !== '') throw new A2AError(text as ErrorCode, `Refused with ${text}`, { metadata: { because: 'asked to' } })
  yield text
})

const mute = agent({ name: 'Mute', capabilities: { streaming: false, pushNotifications: false } }, async function* () {
  yield 'unheard'
})

describe.each(bindings)('errors over %s', (binding) => {
  it.each(errorCodes)(
    proves(['R-ERR-1', 'R-ERR-2'], 'encodes %s with its code, a message and an ErrorInfo'),
    async (code) => {
      await using server = await testServer(refuser)
      // `refusal` checks the numbers, the HTTP status and the members against literals.
      expect(await server.over(binding).refusal('SendMessage', { message: userMessage(code) })).toEqual({
        reason: code,
        message: `Refused with ${code}`,
        metadata: { because: 'asked to' },
        violations: [],
      })
    },
  )

  it.each([
    ['an unknown task', 'GetTask', { id: 'nope' }],
    ['a missing message', 'SendMessage', {}],
    ['a missing extended card', 'GetExtendedAgentCard', {}],
  ] as const)(
    proves(['R-ERR-1', 'R-ERR-2'], 'gives every detail of %s a type, and ErrorInfo only text'),
    async (_what, operation, params) => {
      await using server = await testServer(echoAgent)
      const { body } = await server.over(binding).answer(operation, params)
      const error = body.error as { message: string; data?: Json[]; details?: Json[] }
      expect(error.message).toMatch(/\S/)
      const details = error.data ?? error.details ?? []
      expect(details.map((detail) => detail['@type'])).toContain('type.googleapis.com/google.rpc.ErrorInfo')
      for (const detail of details) expect(detail['@type']).toMatch(/^type\.googleapis\.com\/google\.rpc\.\w+$/)
      const info = details.find((detail) => 'reason' in detail)
      expect(info).toMatchObject({ domain: 'a2a-protocol.org', reason: expect.stringMatching(/^[A-Z_]+$/) })
      for (const value of Object.values(info?.metadata as Json)) expect(value).toBeTypeOf('string')
    },
  )

  it(proves('R-ERR-3', 'names every field that is wrong, by its path'), async () => {
    await using server = await testServer(echoAgent)
    const message = { role: 'ROLE_NOBODY', parts: [{ text: 'fine' }, { text: 7 }], metadata: [] }
    const { violations } = await server
      .over(binding)
      .refusal('SendMessage', { message, configuration: { historyLength: 1.5 } })
    expect(violations.map(({ field }) => field)).toEqual([
      'message.messageId',
      'message.role',
      'message.parts[1].text',
      'message.metadata',
      'configuration.historyLength',
    ])
    for (const { description } of violations) expect(description).toMatch(/\S/)
  })

  it.each([
    ['a part without content', { message: userMessage({ parts: [{}] }) }],
    ['a negative history length', { message: userMessage('hi'), configuration: { historyLength: -1 } }],
    [
      'a webhook without an address',
      { message: userMessage('hi'), configuration: { taskPushNotificationConfig: { token: 't' } } },
    ],
    [
      'a webhook that is no address',
      { message: userMessage('hi'), configuration: { taskPushNotificationConfig: { url: 'file:///etc' } } },
    ],
    ['a media type it does not take', { message: userMessage({ parts: [{ text: 'x', mediaType: 'image/png' }] }) }],
    ['a task that does not exist', { message: userMessage({ taskId: 'nope' }) }],
    ['a tenant that does not exist', { message: userMessage('hi'), tenant: 'nope' }],
  ])(proves('R-ERR-8', 'lets the agent see nothing of %s'), async (_what, params) => {
    let turns = 0
    const counting = agent(
      { name: 'Counting', defaultInputModes: ['text/plain'], capabilities: { pushNotifications: true } },
      async function* () {
        turns += 1
        yield 'seen'
      },
    )
    await using server = await testServer(counting)
    const client = server.over(binding)
    await client.refusal('SendMessage', params)
    await client.refusal('SendStreamingMessage', params)
    expect(turns).toBe(0)
    expect(await client.call('ListTasks')).toMatchObject({ totalSize: 0 })
  })

  it.each([
    [
      'CreateTaskPushNotificationConfig',
      { taskId: 'nope', url: 'https://client.example/hook' },
      'PUSH_NOTIFICATION_NOT_SUPPORTED',
    ],
    ['GetTaskPushNotificationConfig', { taskId: 'nope', id: 'one' }, 'PUSH_NOTIFICATION_NOT_SUPPORTED'],
    ['ListTaskPushNotificationConfigs', { taskId: 'nope' }, 'PUSH_NOTIFICATION_NOT_SUPPORTED'],
    ['DeleteTaskPushNotificationConfig', { taskId: 'nope', id: 'one' }, 'PUSH_NOTIFICATION_NOT_SUPPORTED'],
    ['SubscribeToTask', { id: 'nope' }, 'UNSUPPORTED_OPERATION'],
    ['SendStreamingMessage', { message: userMessage({ taskId: 'nope' }) }, 'UNSUPPORTED_OPERATION'],
  ] as const)(
    proves('R-ERR-9', 'says that %s is not offered before it looks for the task'),
    async (operation, params, reason) => {
      await using server = await testServer(mute)
      expect((await server.over(binding).refusal(operation, params)).reason).toBe(reason)
    },
  )

  it(proves('R-ERR-11', 'says when to come back'), async () => {
    await using server = await testServer(echoAgent)
    await server.handler.close({ deadlineMs: 0 })
    const answer = await server.over(binding).answer('SendMessage', { message: userMessage('late') })
    expect(readRefusal(answer).reason).toBe('UNAVAILABLE')
    expect(answer.headers.get('retry-after')).toMatch(/^\d+$/)
  })

  it('hides the text of unexpected failures and logs it', async () => {
    const logged: unknown[] = []
    await using server = await testServer(echoAgent, {
      log: ({ level, error }) => {
        if (level === 'error') logged.push(error)
      },
      advanced: {
        wrap: (service) => ({
          ...service,
          getTask: async () => {
            throw new Error('the password is 1234')
          },
        }),
      },
    })
    const answer = await server.over(binding).answer('GetTask', { id: 'any' })
    expect(readRefusal(answer)).toMatchObject({ reason: 'INTERNAL_ERROR', message: 'Internal error' })
    expect(JSON.stringify(answer.body)).not.toContain('1234')
    expect(logged).toEqual([new Error('the password is 1234')])
  })
})

describe('the form of errors', () => {
  it(proves('R-ERR-4', 'is code, message and an array of data on JSON-RPC'), async () => {
    await using server = await testServer(echoAgent)
    const { body } = await server.rpc('GetTask', { id: 'nope' })
    expect(body).toEqual({
      jsonrpc: '2.0',
      id: 1,
      error: {
        code: -32001,
        message: 'Task not found: nope',
        data: [
          {
            '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
            reason: 'TASK_NOT_FOUND',
            domain: 'a2a-protocol.org',
            metadata: { taskId: 'nope' },
          },
        ],
      },
    })
  })

  it(proves('R-ERR-4', 'keeps the codes of the protocol between -32001 and -32099'), async () => {
    await using server = await testServer(refuser)
    for (const reason of errorCodes.slice(0, 9)) {
      const { body } = await server.rpc('SendMessage', { message: userMessage(reason) })
      const { code } = body.error as { code: number }
      expect(code, reason).toBeLessThanOrEqual(-32001)
      expect(code, reason).toBeGreaterThanOrEqual(-32099)
    }
  })

  it(proves('R-ERR-5', 'is a google.rpc.Status on HTTP+JSON, with the HTTP status as its code'), async () => {
    await using server = await testServer(echoAgent)
    const { status, body } = await server.rest('GET', '/tasks/nope')
    expect({ status, body }).toEqual({
      status: 404,
      body: {
        error: {
          code: 404,
          status: 'NOT_FOUND',
          message: 'Task not found: nope',
          details: [
            {
              '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
              reason: 'TASK_NOT_FOUND',
              domain: 'a2a-protocol.org',
              metadata: { taskId: 'nope' },
            },
          ],
        },
      },
    })
  })

  it.each(errorCodes)(proves('R-ERR-12', 'sends %s over JSON-RPC with the HTTP status it deserves'), async (reason) => {
    await using server = await testServer(refuser)
    const { status, headers } = await server.rpc('SendMessage', { message: userMessage(reason) })
    const kept: Record<string, number> = {
      UNAUTHENTICATED: 401,
      PERMISSION_DENIED: 403,
      PAYLOAD_TOO_LARGE: 413,
      RATE_LIMITED: 429,
      UNAVAILABLE: 503,
    }
    expect([status, headers.get('content-type')]).toEqual([kept[reason] ?? 200, 'application/json'])
  })

  it.each(bindings)(
    proves('R-ERR-12', 'is 413 over %s for a request that is too large, announced or not'),
    async (binding) => {
      await using server = await testServer(echoAgent, { limits: { bodyBytes: 1000 } })
      const params = { message: userMessage('x'.repeat(1000)) }
      expect((await server.over(binding).refusal('SendMessage', params)).reason).toBe('PAYLOAD_TOO_LARGE')
      expect((await server.over(binding).refusal('SendMessage', params, { 'Content-Length': '1200' })).reason).toBe(
        'PAYLOAD_TOO_LARGE',
      )
    },
  )
})

describe('of two faults the earlier one counts', () => {
  const picky = agent(
    { name: 'Picky', capabilities: { streaming: false }, extensions: [{ uri: 'urn:test:needed', required: true }] },
    async function* () {
      yield 'never'
    },
  )
  const key = { 'X-API-Key': 'secret' }
  const needed = { 'A2A-Extensions': 'urn:test:needed' }
  const push = 'CreateTaskPushNotificationConfig'
  type Refuse = (client: Client) => Promise<{ readonly reason: string }>

  it.each<readonly [string, string, Refuse]>([
    [
      'authentication before the version',
      'UNAUTHENTICATED',
      (client) => client.refusal('ListTasks', {}, { 'X-API-Key': undefined, 'A2A-Version': '99.0' }),
    ],
    [
      'the version before extensions',
      'VERSION_NOT_SUPPORTED',
      (client) => client.refusal('ListTasks', {}, { 'A2A-Version': '99.0' }),
    ],
    ['extensions before params', 'EXTENSION_SUPPORT_REQUIRED', (client) => client.refusal('SendMessage', {})],
    ['params before capabilities', 'INVALID_PARAMS', (client) => client.refusal(push, { taskId: 'nope' }, needed)],
    [
      'the range of a parameter before capabilities',
      'INVALID_PARAMS',
      (client) =>
        client.refusal(
          'SendStreamingMessage',
          { message: userMessage('hi'), configuration: { historyLength: -1 } },
          needed,
        ),
    ],
    [
      'capabilities before the task',
      'PUSH_NOTIFICATION_NOT_SUPPORTED',
      (client) => client.refusal(push, { taskId: 'nope', url: 'https://client.example' }, needed),
    ],
  ])(proves('R-ERR-10', '%s: %s'), async (_what, reason, refuse) => {
    await using server = await testServer(picky, { auth: [apiKey('secret')] })
    const reasons = await Promise.all(bindings.map(async (binding) => (await refuse(server.over(binding, key))).reason))
    expect(reasons).toEqual([reason, reason])
  })

  it.each([
    ['authentication before the media type', 'UNAUTHENTICATED', 'not JSON', { 'Content-Type': 'text/plain' }],
    [
      'the media type before the JSON',
      'CONTENT_TYPE_NOT_SUPPORTED',
      'not JSON',
      { ...key, 'Content-Type': 'text/plain' },
    ],
    ['the JSON before the version', 'PARSE_ERROR', 'not JSON', { ...key, 'A2A-Version': '99.0' }],
  ])(proves('R-ERR-10', '%s: %s'), async (_what, reason, body, headers) => {
    await using server = await testServer(picky, { auth: [apiKey('secret')] })
    for (const path of ['/', '/message:send']) {
      expect(readRefusal(await server.rest('POST', path, body, headers)).reason, path).toBe(reason)
    }
  })

  it.each([
    [
      'the envelope before the version',
      'INVALID_REQUEST',
      { jsonrpc: '1.0', id: 1, method: 'ListTasks' },
      { 'A2A-Version': '99.0' },
    ],
    [
      'the version before the method',
      'VERSION_NOT_SUPPORTED',
      { jsonrpc: '2.0', id: 1, method: 'Nothing' },
      { 'A2A-Version': '99.0' },
    ],
    ['extensions before the method', 'EXTENSION_SUPPORT_REQUIRED', { jsonrpc: '2.0', id: 1, method: 'Nothing' }, {}],
    [
      'the method before its params',
      'METHOD_NOT_FOUND',
      { jsonrpc: '2.0', id: 1, method: 'Nothing', params: 7 },
      needed,
    ],
  ])(proves('R-ERR-10', '%s: %s'), async (_what, reason, body, headers) => {
    await using server = await testServer(picky, { auth: [apiKey('secret')] })
    expect(readRefusal(await server.rest('POST', '/', body, { ...key, ...headers })).reason).toBe(reason)
  })
})

describe('a failing store', () => {
  it.each(bindings)('is an error to try again over %s, never a hanging call', async (binding) => {
    const started = gate()
    const eager = agent('Eager', async function* () {
      started.open()
      yield 'lost'
    })
    class FailingStore extends MemoryStore {
      override async append(): Promise<never> {
        throw new Error('disk full')
      }
    }
    await using server = await testServer(eager, { store: new FailingStore() })
    const refusal = await server.over(binding).refusal('SendMessage', { message: userMessage('hi') })
    await started.opened
    expect(refusal.reason).toBe('UNAVAILABLE')
    expect(refusal.message).not.toContain('disk full')
  })
})
