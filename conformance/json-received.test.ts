import type { Task } from 'dragoman'
import { describe, expect, it } from 'vitest'
import { echoAgent } from '../src/testing/echo-agent.js'
import { bindings, type Client, type Json, readRefusal, testServer, userMessage } from './fixture.js'
import { proves } from './proves.js'

describe.each(bindings)('what is received over %s', (binding) => {
  const echo = async (client: Client, message: Json) => (await client.send(message)).history?.[0]

  it(proves('R-JSON-2', 'may be spelled in snake_case'), async () => {
    await using server = await testServer(echoAgent)
    const client = server.over(binding)
    const first = await client.send('ask')
    const message = {
      message_id: 'm-1',
      task_id: first.id,
      context_id: first.contextId,
      role: 'ROLE_USER',
      parts: [{ text: 'two', media_type: 'text/plain' }],
      reference_task_ids: ['t-0'],
    }
    const configuration = {
      history_length: 1,
      accepted_output_modes: ['text/plain'],
      task_push_notification_config: { id: 'one', url: 'https://client.example/hook' },
    }
    const { task } = await client.call<{ task: Task }>('SendMessage', { message, configuration })
    expect(task.history).toEqual([
      {
        messageId: 'm-1',
        taskId: first.id,
        contextId: first.contextId,
        role: 'ROLE_USER',
        parts: [{ text: 'two', mediaType: 'text/plain' }],
        referenceTaskIds: ['t-0'],
      },
    ])
    expect(await client.call('ListTaskPushNotificationConfigs', { taskId: task.id, page_size: 1 })).toMatchObject({
      configs: [{ id: 'one' }],
    })
    await client.send('other')
    const query = {
      context_id: first.contextId,
      page_size: 7,
      history_length: 0,
      include_artifacts: true,
      status_timestamp_after: '2020-01-01T00:00:00Z',
    }
    const { history: _history, ...listed } = task
    expect(await client.call('ListTasks', query)).toEqual({
      tasks: [listed],
      nextPageToken: '',
      pageSize: 7,
      totalSize: 1,
    })
  })

  it(proves('R-JSON-2', 'may set returnImmediately in snake_case'), async () => {
    await using server = await testServer(echoAgent)
    const task = await server.over(binding).send('sleep 60000', { configuration: { return_immediately: true } })
    expect(task.status.state).toMatch(/SUBMITTED|WORKING/)
  })

  it(proves('R-JSON-3', 'may hold enums by name or number'), async () => {
    await using server = await testServer(echoAgent)
    const client = server.over(binding)
    expect(await echo(client, { role: 1 })).toMatchObject({ role: 'ROLE_USER' })
    expect(await echo(client, { role: 'ROLE_AGENT' })).toMatchObject({ role: 'ROLE_AGENT' })
    expect(await client.refusal('SendMessage', { message: userMessage({ role: 'user' }) })).toMatchObject({
      violations: [{ field: 'message.role' }],
    })
    expect(await client.refusal('SendMessage', { message: userMessage({ role: 9 }) })).toMatchObject({
      violations: [{ field: 'message.role' }],
    })
    expect(await client.refusal('ListTasks', { status: 'TASK_STATE_DONE' })).toMatchObject({
      violations: [{ field: 'status' }],
    })
  })

  it.each([
    ['message', {}],
    ['message.messageId', { message: { role: 'ROLE_USER', parts: [{ text: 'x' }] } }],
    ['message.messageId', { message: userMessage({ messageId: '' }) }],
    ['message.role', { message: { messageId: 'm', parts: [{ text: 'x' }] } }],
    ['message.role', { message: userMessage({ role: 'ROLE_UNSPECIFIED' }) }],
    ['message.parts', { message: { messageId: 'm', role: 'ROLE_USER' } }],
    ['message.parts', { message: userMessage({ parts: [] }) }],
    [
      'configuration.taskPushNotificationConfig.url',
      { message: userMessage('x'), configuration: { taskPushNotificationConfig: {} } },
    ],
    [
      'configuration.taskPushNotificationConfig.authentication.scheme',
      {
        message: userMessage('x'),
        configuration: { taskPushNotificationConfig: { url: 'https://a.example', authentication: {} } },
      },
    ],
  ])(proves(['R-JSON-5', 'R-SEND-2'], 'must have a value for %s'), async (field, params) => {
    await using server = await testServer(echoAgent)
    for (const operation of ['SendMessage', 'SendStreamingMessage'] as const) {
      expect(await server.over(binding).refusal(operation, params)).toMatchObject({
        reason: 'INVALID_PARAMS',
        violations: [{ field }],
      })
    }
  })

  it(proves('R-JSON-6', 'may have unknown members, which are ignored and not echoed'), async () => {
    await using server = await testServer(echoAgent)
    const given = { messageId: 'm', kind: 'message', parts: [{ text: 'hi', kind: 'text' }], extra: { deep: true } }
    const client = server.over(binding)
    const { task } = await client.call<{ task: Task }>('SendMessage', {
      message: userMessage(given),
      configuration: { blocking: true },
      extra: 1,
    })
    expect(task.history).toEqual([
      { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hi' }], taskId: task.id, contextId: task.contextId },
    ])
  })

  it.each([
    ['text and url', { text: 'x', url: 'https://a.example' }],
    ['raw and data', { raw: 'AAAA', data: {} }],
    ['text and null data', { text: 'x', data: null }],
    ['nothing', {}],
    ['a file name only', { filename: 'x.txt' }],
    ['null text', { text: null }],
  ])(proves('R-JSON-7', 'must not have a part with %s'), async (_what, part) => {
    await using server = await testServer(echoAgent)
    const refusal = await server
      .over(binding)
      .refusal('SendMessage', { message: userMessage({ parts: [{ text: 'ok' }, part] }) })
    expect(refusal).toMatchObject({ reason: 'INVALID_PARAMS', violations: [{ field: 'message.parts[1]' }] })
  })

  it(proves('R-JSON-8', 'may say null for what is not there, except in data parts'), async () => {
    await using server = await testServer(echoAgent)
    const parts = [{ data: null }, { text: 'x', raw: null, url: null, filename: null, mediaType: null, metadata: null }]
    const nothing = { contextId: null, taskId: null, metadata: null, extensions: null, referenceTaskIds: null }
    const params = { message: userMessage({ messageId: 'm', parts, ...nothing }), configuration: null, metadata: null }
    const { task } = await server.over(binding).call<{ task: Task }>('SendMessage', params)
    const { id: taskId, contextId } = task
    expect(task.history).toEqual([
      { messageId: 'm', taskId, contextId, role: 'ROLE_USER', parts: [{ data: null }, { text: 'x' }] },
    ])
  })

  it.each([
    ['+/8=', '+/8='],
    ['-_8=', '+/8='],
    ['-_8', '+/8='],
    ['YQ', 'YQ=='],
    ['', ''],
  ])(proves('R-JSON-9', 'may hold bytes as %j, which are sent as %j'), async (raw, expected) => {
    await using server = await testServer(echoAgent)
    expect(await echo(server.over(binding), { parts: [{ raw }] })).toMatchObject({ parts: [{ raw: expected }] })
  })

  it.each(['*', 'YWJj!', 'YWJjZ', 7])(proves('R-JSON-9', 'must not hold %j as bytes'), async (raw) => {
    await using server = await testServer(echoAgent)
    const refusal = await server.over(binding).refusal('SendMessage', { message: userMessage({ parts: [{ raw }] }) })
    expect(refusal).toMatchObject({ violations: [{ field: 'message.parts[0].raw' }] })
  })

  it.each([1, '1', 2147483647, '2147483647'])(proves('R-JSON-10', 'may hold %j as a number'), async (historyLength) => {
    await using server = await testServer(echoAgent)
    const task = await server.over(binding).send('hello', { configuration: { historyLength } })
    expect(task.history).toHaveLength(1)
  })

  it.each([1.5, '1.5', 2147483648, '2147483648', -2147483649, 'one', true, [1]])(
    proves('R-JSON-10', 'must not hold %j as a number'),
    async (historyLength) => {
      await using server = await testServer(echoAgent)
      const refusal = await server
        .over(binding)
        .refusal('SendMessage', { message: userMessage('x'), configuration: { historyLength } })
      expect(refusal).toMatchObject({ violations: [{ field: 'configuration.historyLength' }] })
    },
  )

  it.each([
    '2020-01-05T08:00:00Z',
    '2020-01-05T08:00:00.1Z',
    '2020-01-05T08:00:00.123456789Z',
    '2020-01-05T10:00:00+02:00',
    '2020-01-05T03:00:00.5-05:00',
  ])(proves('R-JSON-11', 'may hold the timestamp %s'), async (statusTimestampAfter) => {
    await using server = await testServer(echoAgent)
    await server.over(binding).send('hello')
    expect(await server.over(binding).call('ListTasks', { statusTimestampAfter })).toMatchObject({ totalSize: 1 })
  })

  it(proves('R-JSON-11', 'is taken at its offset'), async () => {
    await using server = await testServer(echoAgent)
    const client = server.over(binding)
    const { status } = await client.send('hello')
    const local = `${new Date(Date.parse(status.timestamp ?? '') + 2 * 3600_000).toISOString().slice(0, -1)}+02:00`
    const later = `${new Date(Date.parse(status.timestamp ?? '') + 2 * 3600_000 + 1).toISOString().slice(0, -1)}+02:00`
    expect(await client.call('ListTasks', { statusTimestampAfter: local })).toMatchObject({ totalSize: 1 })
    expect(await client.call('ListTasks', { statusTimestampAfter: later })).toMatchObject({ totalSize: 0 })
  })

  it.each([
    '2020-01-05',
    '2020-01-05T08:00:00',
    '2020-13-05T08:00:00Z',
    '2020-02-30T08:00:00Z',
    '2020-01-05T25:00:00Z',
    'now',
    '1578211200',
  ])(proves('R-JSON-11', 'must not hold the timestamp %j'), async (statusTimestampAfter) => {
    await using server = await testServer(echoAgent)
    const refusal = await server.over(binding).refusal('ListTasks', { statusTimestampAfter })
    expect(refusal).toMatchObject({ violations: [{ field: 'statusTimestampAfter' }] })
  })

  it(proves('R-JSON-12', 'may hold any JSON object as metadata, which stays as it is'), async () => {
    await using server = await testServer(echoAgent)
    const metadata = {
      'urn:test:x': { list: [1, 'two', null, false, { deep: [] }] },
      snake_case: 1.5,
      '': '',
      constructor: 'c',
    }
    expect(await echo(server.over(binding), { metadata, parts: [{ text: 'x', metadata }] })).toMatchObject({
      metadata,
      parts: [{ text: 'x', metadata }],
    })
  })

  it.each([[[]], ['text'], [7], [true]])(proves('R-JSON-12', 'must not hold %j as metadata'), async (metadata) => {
    await using server = await testServer(echoAgent)
    const refusal = await server.over(binding).refusal('SendMessage', { message: userMessage({ metadata }), metadata })
    expect(refusal.violations.map(({ field }) => field)).toEqual(['message.metadata', 'metadata'])
  })
})

describe('the states of tasks', () => {
  it.each([
    [3, 'hello'],
    [4, 'fail'],
    [6, 'ask'],
    [7, 'reject'],
    [8, 'auth'],
  ])(proves('R-JSON-3', 'have numbers: %i is that of a task after %j'), async (status, text) => {
    await using server = await testServer(echoAgent)
    const client = server.over('JSON-RPC')
    for (const each of ['hello', 'fail', 'ask', 'reject', 'auth']) await client.send(each)
    const { tasks } = await client.call<{ tasks: Task[] }>('ListTasks', { status })
    expect(tasks.map(({ history }) => history?.[0]?.parts)).toEqual([[{ text }]])
  })
})

describe('bytes that are no good JSON', () => {
  const send = '{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}],"metadata":{"n":1e999}}}'

  it(proves('R-JSON-12', 'are refused when a number is not finite'), async () => {
    await using server = await testServer(echoAgent)
    const rest = readRefusal(await server.rest('POST', '/message:send', send))
    const rpc = readRefusal(
      await server.rest('POST', '/', `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":${send}}`),
    )
    expect([rest.violations[0]?.field, rpc.violations[0]?.field]).toEqual(['message.metadata.n', 'message.metadata.n'])
  })

  it.each(['/', '/message:send'])(proves('R-JSON-14', 'are refused at %s when they are not UTF-8'), async (path) => {
    await using server = await testServer(echoAgent)
    const latin1 = Buffer.from('{"jsonrpc":"2.0","id":1,"method":"Gr\u00fc\u00dfe","params":{}}', 'latin1')
    expect(readRefusal(await server.rest('POST', path, latin1)).reason).toBe('PARSE_ERROR')
  })

  it('never reach the prototype of anything', async () => {
    await using server = await testServer(echoAgent)
    const body =
      '{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}],"metadata":{"__proto__":{"polluted":true}}}}'
    await server.rest('POST', '/message:send', body)
    expect({}).not.toHaveProperty('polluted')
  })
})
