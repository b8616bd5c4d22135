import { agent, apiKey } from 'dragoman'
import type { TaskPushNotificationConfig } from 'dragoman/model'
import { describe, expect, it } from 'vitest'
import { echoAgent } from '../src/testing/echo-agent.js'
import { bindings, type Client, testServer, userMessage } from './fixture.js'
import { proves } from './proves.js'

const url = 'https://client.example/hook'

interface Configs {
  readonly configs: TaskPushNotificationConfig[]
  readonly nextPageToken: string
}

const create = (client: Client, config: object) =>
  client.call<TaskPushNotificationConfig>('CreateTaskPushNotificationConfig', config)
const get = (client: Client, taskId: string, id: string) => client.call('GetTaskPushNotificationConfig', { taskId, id })
const list = (client: Client, taskId: string, more: object = {}) =>
  client.call<Configs>('ListTaskPushNotificationConfigs', { taskId, ...more })
const remove = (client: Client, taskId: string, id: string) =>
  client.call('DeleteTaskPushNotificationConfig', { taskId, id })

describe.each(bindings)('push notification configs over %s', (binding) => {
  it.each([{ pushNotifications: false }, {}])(
    proves('R-PUSH-1', 'are refused by an agent with the capabilities %j'),
    async (capabilities) => {
      const quiet = agent({ name: 'Quiet', capabilities }, async function* ({ text }) {
        yield text
      })
      await using server = await testServer(quiet)
      const client = server.over(binding)
      const { id: taskId } = await client.send('hello')
      for (const refusal of [
        await client.refusal('CreateTaskPushNotificationConfig', { taskId, url }),
        await client.refusal('GetTaskPushNotificationConfig', { taskId, id: 'one' }),
        await client.refusal('ListTaskPushNotificationConfigs', { taskId }),
        await client.refusal('DeleteTaskPushNotificationConfig', { taskId, id: 'one' }),
      ]) {
        expect(refusal.reason).toBe('PUSH_NOTIFICATION_NOT_SUPPORTED')
      }
    },
  )

  it(proves('R-PUSH-2', 'come back whole when they are created, and are found again'), async () => {
    await using server = await testServer(echoAgent)
    const client = server.over(binding)
    const { id: taskId } = await client.send('ask')
    const config = { id: 'one', taskId, url, token: 'tk', authentication: { scheme: 'Bearer', credentials: 's3cr3t' } }
    expect(await create(client, config)).toEqual(config)
    expect(await get(client, taskId, 'one')).toEqual(config)
  })

  it(proves('R-PUSH-2', 'get an id when they have none'), async () => {
    await using server = await testServer(echoAgent)
    const client = server.over(binding)
    const { id: taskId } = await client.send('ask')
    const first = await create(client, { taskId, url })
    const second = await create(client, { taskId, url })
    expect(first).toEqual({ id: expect.stringMatching(/^\S+$/), taskId, url })
    expect(second.id).not.toBe(first.id)
    expect(await get(client, taskId, first.id ?? '')).toEqual(first)
  })

  it(proves('R-PUSH-2', 'replace those of the same id'), async () => {
    await using server = await testServer(echoAgent)
    const client = server.over(binding)
    const { id: taskId } = await client.send('ask')
    await create(client, { id: 'one', taskId, url, token: 'old' })
    await create(client, { id: 'one', taskId, url: `${url}/new` })
    expect((await list(client, taskId)).configs).toEqual([{ id: 'one', taskId, url: `${url}/new` }])
  })

  it.each([
    ['no address', {}, 'url'],
    ['an empty address', { url: '' }, 'url'],
    ['half an address', { url: '/hook' }, 'url'],
    ['an address that is not of the web', { url: 'ftp://client.example/hook' }, 'url'],
    ['authentication without a scheme', { url, authentication: { credentials: 'c' } }, 'authentication.scheme'],
  ])(proves(['R-PUSH-2', 'R-JSON-5'], 'are refused with %s'), async (_what, config, field) => {
    await using server = await testServer(echoAgent)
    const client = server.over(binding)
    const { id: taskId } = await client.send('ask')
    const refusal = await client.refusal('CreateTaskPushNotificationConfig', { taskId, ...config })
    expect(refusal).toMatchObject({ reason: 'INVALID_PARAMS', violations: [{ field }] })
    expect((await list(client, taskId)).configs).toEqual([])
  })

  it(proves('R-PUSH-3', 'outlive the end of their task, and can be made after it'), async () => {
    await using server = await testServer(echoAgent)
    const client = server.over(binding)
    const { id: taskId } = await client.send('ask')
    await create(client, { id: 'before', taskId, url })
    await client.send({ taskId })
    expect(await client.state(taskId)).toBe('TASK_STATE_COMPLETED')
    await create(client, { id: 'after', taskId, url })
    expect((await list(client, taskId)).configs.map(({ id }) => id)).toEqual(['after', 'before'])
    expect(await get(client, taskId, 'before')).toEqual({ id: 'before', taskId, url })
  })

  it(proves('R-PUSH-4', 'are listed, all of them, for their task only'), async () => {
    await using server = await testServer(echoAgent)
    const client = server.over(binding)
    const { id: taskId } = await client.send('ask')
    const { id: otherId } = await client.send('ask')
    expect(await list(client, taskId)).toEqual({ configs: [], nextPageToken: '' })
    const made = []
    for (const id of ['c', 'a', 'b']) made.push(await create(client, { id, taskId, url }))
    await create(client, { id: 'other', taskId: otherId, url })
    const { configs } = await list(client, taskId)
    expect(configs).toHaveLength(3)
    expect(configs).toEqual(expect.arrayContaining(made))
  })

  it(proves('R-PUSH-4', 'are listed page by page'), async () => {
    await using server = await testServer(echoAgent)
    const client = server.over(binding)
    const { id: taskId } = await client.send('ask')
    const ids = ['a', 'b', 'c', 'd', 'e']
    for (const id of ids) await create(client, { id, taskId, url })
    const seen: unknown[] = []
    let pageToken = ''
    do {
      const page = await list(client, taskId, { pageSize: 2, ...(pageToken && { pageToken }) })
      seen.push(page.configs.map(({ id }) => id))
      pageToken = page.nextPageToken
    } while (pageToken !== '' && seen.length < 10)
    expect(seen).toEqual([['a', 'b'], ['c', 'd'], ['e']])
  })

  it(proves('R-PUSH-5', 'that do not exist are not found, nor are those of tasks that do not'), async () => {
    await using server = await testServer(echoAgent)
    const client = server.over(binding)
    const { id: taskId } = await client.send('ask')
    expect(await client.refusal('GetTaskPushNotificationConfig', { taskId, id: 'nope' })).toMatchObject({
      reason: 'TASK_NOT_FOUND',
      message: 'Push notification config not found: nope',
    })
    for (const refusal of [
      await client.refusal('CreateTaskPushNotificationConfig', { taskId: 'nope', url }),
      await client.refusal('GetTaskPushNotificationConfig', { taskId: 'nope', id: 'one' }),
      await client.refusal('ListTaskPushNotificationConfigs', { taskId: 'nope' }),
    ]) {
      expect(refusal.reason).toBe('TASK_NOT_FOUND')
    }
  })

  it(
    proves('R-PUSH-6', 'are deleted for good, as often as one likes, but not from tasks that do not exist'),
    async () => {
      await using server = await testServer(echoAgent)
      const client = server.over(binding)
      const { id: taskId } = await client.send('ask')
      await create(client, { id: 'one', taskId, url })
      await create(client, { id: 'two', taskId, url })
      expect(await remove(client, taskId, 'one')).toEqual({})
      expect(await remove(client, taskId, 'one')).toEqual({})
      expect((await client.refusal('GetTaskPushNotificationConfig', { taskId, id: 'one' })).reason).toBe(
        'TASK_NOT_FOUND',
      )
      expect((await list(client, taskId)).configs.map(({ id }) => id)).toEqual(['two'])
      expect((await client.refusal('DeleteTaskPushNotificationConfig', { taskId: 'nope', id: 'one' })).reason).toBe(
        'TASK_NOT_FOUND',
      )
    },
  )

  it.each(['SendMessage', 'SendStreamingMessage'] as const)(
    proves('R-PUSH-7', 'that come with %s belong to the task that comes of it'),
    async (operation) => {
      await using server = await testServer(echoAgent)
      const client = server.over(binding)
      const configuration = { taskPushNotificationConfig: { id: 'inline', url, token: 'tk' } }
      const first = await client.send('ask')
      for (const message of [userMessage('hello'), userMessage({ taskId: first.id })]) {
        const response = await client.response(operation, { message, configuration })
        const [, taskId = ''] = /"taskId":"([^"]+)"/.exec(await response.text()) ?? []
        expect((await list(client, taskId)).configs).toEqual([{ id: 'inline', taskId, url, token: 'tk' }])
      }
    },
  )

  it(proves('R-PUSH-7', 'that come with a message are dropped when the answer is only a message'), async () => {
    await using server = await testServer(echoAgent)
    const client = server.over(binding)
    const configuration = { taskPushNotificationConfig: { id: 'inline', url } }
    const answer = await client.call('SendMessage', { message: userMessage('msg hi'), configuration })
    expect(answer).toMatchObject({ message: { parts: [{ text: 'hi' }] } })
    expect(await client.call('ListTasks')).toMatchObject({ totalSize: 0 })
  })

  it(proves('R-PUSH-8', 'are for the owner of their task only'), async () => {
    await using server = await testServer(echoAgent, { auth: [apiKey({ a: 'alice', b: 'bob' })] })
    const alice = server.over(binding, { 'X-API-Key': 'a' })
    const bob = server.over(binding, { 'X-API-Key': 'b' })
    const { id: taskId } = await alice.send('ask')
    const config = await create(alice, { id: 'one', taskId, url })
    for (const refusal of [
      await bob.refusal('CreateTaskPushNotificationConfig', { id: 'one', taskId, url: `${url}/bob` }),
      await bob.refusal('GetTaskPushNotificationConfig', { taskId, id: 'one' }),
      await bob.refusal('ListTaskPushNotificationConfigs', { taskId }),
      await bob.refusal('DeleteTaskPushNotificationConfig', { taskId, id: 'one' }),
    ]) {
      expect(refusal).toMatchObject({ reason: 'TASK_NOT_FOUND', metadata: { taskId } })
    }
    expect(await get(alice, taskId, 'one')).toEqual(config)
  })
})
