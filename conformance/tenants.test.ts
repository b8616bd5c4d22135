import type { Task } from 'dragoman'
import { describe, expect, it } from 'vitest'
import { echoAgent } from '../src/testing/echo-agent.js'
import { bindings, outline, readRefusal, testServer, userMessage } from './fixture.js'
import { proves } from './proves.js'

const tenants = ['acme', 'globex corp/ünit']
const [acme = '', globex = ''] = tenants
const url = 'https://client.example/hook'

describe.each(bindings)('tenants over %s', (binding) => {
  it(proves('R-TEN-2', 'are named in the request, in the query where there is no body'), async () => {
    await using server = await testServer(echoAgent, { advanced: { tenants } })
    const client = server.over(binding)
    for (const tenant of tenants) {
      const task = await client.send('ask', { tenant })
      const { id } = task
      expect(await client.call('GetTask', { id, tenant })).toEqual(task)
      expect(await client.call('ListTasks', { tenant })).toMatchObject({ tasks: [{ id }], totalSize: 1 })
      await client.call('CreateTaskPushNotificationConfig', { taskId: id, id: 'one', url, tenant })
      expect(await client.call('GetTaskPushNotificationConfig', { taskId: id, id: 'one', tenant })).toMatchObject({
        id: 'one',
        url,
      })
      expect(await client.call('ListTaskPushNotificationConfigs', { taskId: id, tenant })).toMatchObject({
        configs: [{ id: 'one' }],
      })
      expect(await client.call('DeleteTaskPushNotificationConfig', { taskId: id, id: 'one', tenant })).toEqual({})
      const stream = await client.stream('SubscribeToTask', { id, tenant })
      expect(await client.call('CancelTask', { id, tenant })).toMatchObject({
        status: { state: 'TASK_STATE_CANCELED' },
      })
      expect(outline(await stream.rest())).toEqual(['task:INPUT_REQUIRED', 'status:CANCELED'])
    }
  })

  it(proves('R-TEN-3', 'cannot see each other’s tasks'), async () => {
    await using server = await testServer(echoAgent, { advanced: { tenants } })
    const client = server.over(binding)
    const { id, contextId } = await client.send('ask', { tenant: acme })
    const config = { taskId: id, id: 'one', url }
    await client.call('CreateTaskPushNotificationConfig', { ...config, tenant: acme })
    for (const tenant of [{ tenant: globex }, {}]) {
      for (const refusal of [
        await client.refusal('GetTask', { id, ...tenant }),
        await client.refusal('CancelTask', { id, ...tenant }),
        await client.refusal('SubscribeToTask', { id, ...tenant }),
        await client.refusal('SendMessage', { message: userMessage({ taskId: id }), ...tenant }),
        await client.refusal('SendStreamingMessage', { message: userMessage({ taskId: id }), ...tenant }),
        await client.refusal('CreateTaskPushNotificationConfig', { ...config, ...tenant }),
        await client.refusal('GetTaskPushNotificationConfig', { taskId: id, id: 'one', ...tenant }),
        await client.refusal('ListTaskPushNotificationConfigs', { taskId: id, ...tenant }),
        await client.refusal('DeleteTaskPushNotificationConfig', { taskId: id, id: 'one', ...tenant }),
      ]) {
        expect(refusal).toMatchObject({ reason: 'TASK_NOT_FOUND', metadata: { taskId: id } })
      }
      expect(await client.call('ListTasks', { contextId, ...tenant })).toMatchObject({ tasks: [], totalSize: 0 })
    }
    expect(await client.call('GetTask', { id, tenant: acme })).toMatchObject({
      status: { state: 'TASK_STATE_INPUT_REQUIRED' },
    })
  })

  it(proves('R-TEN-3', 'that do not exist are not found'), async () => {
    await using server = await testServer(echoAgent, { advanced: { tenants } })
    const client = server.over(binding)
    for (const tenant of ['nobody', 'ACME', 'acme ', '__proto__']) {
      expect((await client.refusal('ListTasks', { tenant })).reason, tenant).toBe('TASK_NOT_FOUND')
      expect((await client.refusal('SendMessage', { message: userMessage('hi'), tenant })).reason, tenant).toBe(
        'TASK_NOT_FOUND',
      )
    }
    await using without = await testServer(echoAgent)
    expect((await without.over(binding).refusal('ListTasks', { tenant: 'acme' })).reason).toBe('TASK_NOT_FOUND')
  })

  it(proves(['R-TEN-3', 'E-10'], 'have idempotency keys of their own'), async () => {
    await using server = await testServer(echoAgent, { advanced: { tenants } })
    const client = server.over(binding)
    const headers = { 'Idempotency-Key': 'k-1' }
    const first = await client.send({ messageId: 'm' }, { tenant: acme }, headers)
    const second = await client.send({ messageId: 'm' }, { tenant: globex }, headers)
    expect(second.id).not.toBe(first.id)
  })
})

describe('tenants in the path', () => {
  it(proves('R-TEN-2', 'count on both bindings'), async () => {
    await using server = await testServer(echoAgent, { advanced: { tenants } })
    for (const tenant of tenants) {
      const prefix = `/${encodeURIComponent(tenant)}`
      const sent = await server.rest('POST', `${prefix}/message:send`, { message: userMessage('hi') })
      const { id } = sent.body.task as Task
      expect(sent.status).toBe(200)
      const rpc = { jsonrpc: '2.0', id: 1, method: 'GetTask', params: { id } }
      expect((await server.rest('POST', prefix, rpc)).body).toMatchObject({ result: { id } })
      expect((await server.rest('POST', `${prefix}/`, rpc)).body).toMatchObject({ result: { id } })
      expect((await server.rest('GET', `/tasks/${id}?tenant=${encodeURIComponent(tenant)}`)).body).toMatchObject({ id })
    }
  })

  it(proves('R-TEN-2', 'must not be contradicted by the request'), async () => {
    await using server = await testServer(echoAgent, { advanced: { tenants } })
    const message = userMessage('hi')
    const refusals = [
      await server.rest('POST', '/acme/message:send', { message, tenant: globex }),
      await server.rest('GET', `/acme/tasks?tenant=${encodeURIComponent(globex)}`),
      await server.rest('POST', '/acme', {
        jsonrpc: '2.0',
        id: 1,
        method: 'SendMessage',
        params: { message, tenant: globex },
      }),
    ]
    for (const answer of refusals)
      expect(readRefusal(answer)).toMatchObject({ reason: 'INVALID_PARAMS', violations: [{ field: 'tenant' }] })
    expect((await server.rest('POST', '/acme/message:send', { message, tenant: acme })).status).toBe(200)
  })

  it(proves('R-TEN-3', 'are not found when they do not exist'), async () => {
    await using server = await testServer(echoAgent, { advanced: { tenants } })
    expect((await server.rest('GET', '/nobody/tasks')).status).toBe(404)
    expect((await server.rest('POST', '/nobody/message:send', { message: userMessage('hi') })).status).toBe(404)
    expect((await server.rest('POST', '/nobody', { jsonrpc: '2.0', id: 1, method: 'ListTasks' })).status).toBe(404)
  })
})
