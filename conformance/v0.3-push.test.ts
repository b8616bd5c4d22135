import { agent, MemoryStore } from 'dragoman'
import { describe, expect, it } from 'vitest'
import { echoAgent } from '../src/testing/echo-agent.js'
import { type Json, type TestServer, testServer, userMessage } from './fixture.js'
import { body01, message03, OlderClient, type OldTask, params01, protoMessage } from './older-fixture.js'
import { proves } from './proves.js'

const url = 'https://client.example/hook'
const set = 'tasks/pushNotificationConfig/set'
const get = 'tasks/pushNotificationConfig/get'
const list = 'tasks/pushNotificationConfig/list'
const remove = 'tasks/pushNotificationConfig/delete'

async function newTask(client: OlderClient): Promise<string> {
  return (await client.result<OldTask>('message/send', { message: message03('ask') })).id
}

describe('webhooks in 0.3', () => {
  it.each([
    [set, { taskId: 'nope', pushNotificationConfig: { url } }],
    [get, { id: 'nope' }],
    [list, { id: 'nope' }],
    [remove, { id: 'nope', pushNotificationConfigId: 'one' }],
  ])(proves('R3-PUSH-1', 'are refused by an agent without them: %s'), async (method, params) => {
    const quiet = agent({ name: 'Quiet', capabilities: { pushNotifications: false } }, async function* () {
      yield 'x'
    })
    await using server = await testServer(quiet)
    const { code, message } = await new OlderClient(server).error(method, params)
    expect(code).toBe(-32003)
    expect(message).toMatch(/push notification.*not supported/i)
  })

  it(proves('R3-PUSH-1', 'are refused together with a message, too'), async () => {
    const quiet = agent({ name: 'Quiet', capabilities: { pushNotifications: false } }, async function* () {
      yield 'x'
    })
    await using server = await testServer(quiet)
    const params = { message: message03('go'), configuration: { pushNotificationConfig: { url } } }
    expect((await new OlderClient(server).error('message/send', params)).code).toBe(-32003)
  })

  it(proves('R3-PUSH-2', 'come back as they were set, and are replaced by others of their id'), async () => {
    await using server = await testServer(echoAgent)
    const client = new OlderClient(server)
    const taskId = await newTask(client)
    const config = { id: 'one', url, token: 'tk', authentication: { schemes: ['Bearer'], credentials: 's3cr3t' } }
    const stored = { taskId, pushNotificationConfig: config }
    expect(await client.result(set, stored)).toEqual(stored)
    expect(await client.result(get, { id: taskId, pushNotificationConfigId: 'one' })).toEqual(stored)
    const other = { taskId, pushNotificationConfig: { id: 'one', url: `${url}/2` } }
    await client.result(set, other)
    expect(await client.result<Json[]>(list, { id: taskId })).toEqual([other])
  })

  it(proves('R3-PUSH-2', 'keep all their schemes in the order in which they were listed'), async () => {
    await using server = await testServer(echoAgent)
    const client = new OlderClient(server)
    const taskId = await newTask(client)
    const authentication = { schemes: ['Digest', 'Basic', 'Bearer'], credentials: 's3cr3t' }
    const stored = { taskId, pushNotificationConfig: { id: 'one', url, authentication } }
    expect(await client.result(set, stored)).toEqual(stored)
    expect(await client.result(get, { id: taskId, pushNotificationConfigId: 'one' })).toEqual(stored)
    expect(await client.result<Json[]>(list, { id: taskId })).toEqual([stored])
    // v1.0 has one scheme.
    const { body } = await server.rpc('ListTaskPushNotificationConfigs', { taskId })
    expect(body).toMatchObject({
      result: { configs: [{ id: 'one', authentication: { scheme: 'Bearer', credentials: 's3cr3t' } }] },
    })
    expect(JSON.stringify(body)).not.toContain('schemes')
    const other = { taskId, pushNotificationConfig: { url, authentication: { schemes: Array(17).fill('Basic') } } }
    expect((await client.error(set, other)).message).toContain('authentication.schemes')
  })

  it(
    proves(['R3-PUSH-2', 'R3-PUSH-3', 'RL-02-3'], 'without an id are called like their task, and are the default'),
    async () => {
      await using server = await testServer(echoAgent)
      const client = new OlderClient(server)
      const id = await newTask(client)
      const stored = { taskId: id, pushNotificationConfig: { id, url } }
      expect(await client.result(set, { taskId: id, pushNotificationConfig: { url } })).toEqual(stored)
      expect(await client.result(get, { id })).toEqual(stored)
      expect(await client.result(get, { id, pushNotificationConfigId: 'default' })).toEqual(stored)
      expect(await client.result(get, { id, pushNotificationConfigId: id })).toEqual(stored)
      // A second one without an id takes its place.
      await client.result(set, { taskId: id, pushNotificationConfig: { url: `${url}/2` } })
      expect(await client.result<Json[]>(list, { id })).toMatchObject([{ pushNotificationConfig: { url: `${url}/2` } }])
      expect(await client.result(remove, { id, pushNotificationConfigId: 'default' })).toBeNull()
      expect(await client.result<Json[]>(list, { id })).toEqual([])
    },
  )

  it(proves('R3-PUSH-3', 'are found without a name where there is only one, listed and deleted'), async () => {
    await using server = await testServer(echoAgent)
    const client = new OlderClient(server)
    const id = await newTask(client)
    expect(await client.result<Json[]>(list, { id })).toEqual([])
    await client.result(set, { taskId: id, pushNotificationConfig: { id: 'only', url } })
    expect(await client.result(get, { id })).toMatchObject({ pushNotificationConfig: { id: 'only' } })
    await client.result(set, { taskId: id, pushNotificationConfig: { id: 'two', url } })
    expect(await client.result<Json[]>(list, { id })).toHaveLength(2)
    expect(await client.result(remove, { id, pushNotificationConfigId: 'only' })).toBeNull()
    expect(await client.result<Json[]>(list, { id })).toMatchObject([{ pushNotificationConfig: { id: 'two' } }])
    expect((await client.error(get, { id, pushNotificationConfigId: 'only' })).code).toBe(-32001)
  })

  it.each([
    [set, { taskId: 'nope', pushNotificationConfig: { url } }],
    [get, { id: 'nope' }],
    [list, { id: 'nope' }],
    [remove, { id: 'nope', pushNotificationConfigId: 'one' }],
  ])(proves('R3-PUSH-4', 'of an unknown task are not there: %s'), async (method, params) => {
    await using server = await testServer(echoAgent)
    const { code, message } = await new OlderClient(server).error(method, params)
    expect(code).toBe(-32001)
    expect(message).toMatch(/task|not found/i)
  })

  it.each([
    ['no address', { token: 't' }, 'pushNotificationConfig.url'],
    ['an address that is none', { url: 'file:///etc/passwd' }, 'url'],
    ['credentials without a scheme', { url, authentication: { schemes: [], credentials: 'c' } }, 'schemes'],
  ])(proves('R3-PUSH-2', 'are refused with %s'), async (_what, pushNotificationConfig, field) => {
    await using server = await testServer(echoAgent)
    const client = new OlderClient(server)
    const { code, message } = await client.error(set, { taskId: await newTask(client), pushNotificationConfig })
    expect(code).toBe(-32602)
    expect(message).toContain(field)
  })
})

interface Way {
  readonly name: string
  readonly dialect: string
  /** Makes a task and its webhook; answers the task's id. */
  register(server: TestServer): Promise<string>
}

const ways: readonly Way[] = [
  {
    name: 'v1.0',
    dialect: 'v1',
    async register(server) {
      const configuration = { taskPushNotificationConfig: { url } }
      return (await server.over('JSON-RPC').send('ask', { message: userMessage('ask'), configuration })).id
    },
  },
  {
    name: '0.3, beside the message',
    dialect: 'v0.3',
    async register(server) {
      const params = { message: message03('ask'), configuration: { pushNotificationConfig: { url } } }
      return (await new OlderClient(server).result<OldTask>('message/send', params)).id
    },
  },
  {
    name: '0.3, by its method',
    dialect: 'v0.3',
    async register(server) {
      const client = new OlderClient(server)
      const taskId = await newTask(client)
      await client.result(set, { taskId, pushNotificationConfig: { url } })
      return taskId
    },
  },
  {
    name: '0.3 over HTTP+JSON',
    dialect: 'v0.3',
    async register(server) {
      const client = new OlderClient(server)
      const body = { message: protoMessage('ask'), configuration: { pushNotification: { url } } }
      return (await client.fetch<{ task: OldTask }>('POST', '/v1/message:send', body)).task.id
    },
  },
  {
    name: '0.1, beside the message',
    dialect: 'v0.1',
    async register(server) {
      await new OlderClient(server).result('tasks/send', params01('job-1', 'ask', { pushNotification: { url } }))
      return 'job-1'
    },
  },
  {
    name: '0.1, by its method',
    dialect: 'v0.1',
    async register(server) {
      const client = new OlderClient(server)
      await client.result('tasks/send', params01('job-2', 'ask'))
      await client.result('tasks/pushNotification/set', { id: 'job-2', pushNotificationConfig: { url } })
      return 'job-2'
    },
  },
  {
    name: 'the Go library’s form',
    dialect: 'v0.1-go',
    async register(server) {
      const client = new OlderClient(server, { path: '/go' })
      await client.result('tasks/send', params01('go-1', 'ask', { pushNotification: { url } }))
      return 'go-1'
    },
  },
  {
    name: 'task-rest, beside the message',
    dialect: 'task-rest',
    async register(server) {
      const body = { ...body01('ask'), pushNotification: { url } }
      return (await new OlderClient(server).fetch<OldTask>('POST', '/tasks/send', body)).id
    },
  },
  {
    name: 'task-rest, by its path',
    dialect: 'task-rest',
    async register(server) {
      const client = new OlderClient(server)
      const { id } = await client.fetch<OldTask>('POST', '/tasks/send', body01('ask'))
      await client.fetch('POST', '/tasks/pushNotification/set', { id, pushNotificationConfig: { url } })
      return id
    },
  },
]

describe('a webhook', () => {
  const key = (id: string) => ({ agent: 'Echo', id })
  const registered = async (store: MemoryStore, id: string) =>
    (await store.deliveries.listConfigs(key(id))).map(({ dialect, config }) => [dialect, config.url])

  it.each(ways)(
    proves('RM-DET-7', 'remembers the dialect it was registered in: $name'),
    async ({ dialect, register }) => {
      const store = new MemoryStore()
      await using server = await testServer(echoAgent, { dialects: 'all', store })
      const id = await register(server)
      expect(await registered(store, id)).toEqual([[dialect, url]])
      expect((await store.load(key(id)))?.record).toMatchObject({ dialect, owner: 'anonymous', tenant: '' })
    },
  )

  it(proves('RM-DET-7', 'keeps its dialect, independent of the dialect of the task’s other callers'), async () => {
    const store = new MemoryStore()
    await using server = await testServer(echoAgent, { dialects: 'all', store })
    const { id } = await server.over('HTTP+JSON').send('ask')
    const client = new OlderClient(server)
    await client.result(set, { taskId: id, pushNotificationConfig: { url } })
    await client.fetch('POST', '/tasks/send', body01('second', { taskId: id }))
    expect((await store.load(key(id)))?.record.dialect).toBe('v1')
    expect(await registered(store, id)).toEqual([['v0.3', url]])
  })
})
