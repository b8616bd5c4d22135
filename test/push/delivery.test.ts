/** Deliveries to webhooks: content, order and authentication. */
import { agent } from 'dragoman'
import { createPushReceiver, type PushDelivery } from 'dragoman/client'
import { createHandler, type FetchHandler, generateSigningKey } from 'dragoman/server'
import { gate, until } from 'dragoman/testing'
import { describe, expect, it } from 'vitest'
import { proves } from '../../conformance/proves.js'
import { type Call, eventsOf, openHook } from './hook.js'
import { pushServer, storeKinds } from './served.js'

/** The events of a call, read by the receiver of the package. */
async function readBack(calls: readonly Call[], options: object = {}): Promise<readonly PushDelivery[]> {
  const deliveries: PushDelivery[] = []
  const receive = createPushReceiver({ ...options, onDelivery: (delivery) => void deliveries.push(delivery) })
  for (const { text, headers } of calls) {
    const request = new Request('https://hook.example/', {
      method: 'POST',
      body: text,
      headers: Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)]),
    })
    expect((await receive(request)).status).toBe(200)
  }
  return deliveries
}

describe.each(storeKinds)('webhooks of v1.0, on the %s store,', (store) => {
  it(proves(['R-PDEL-1', 'R-PDEL-2', 'R-PDEL-3'], 'get every event of their task, in order'), async () => {
    await using hook = await openHook()
    await using server = await pushServer({ store })
    const authentication = { scheme: 'Basic', credentials: 'dXNlcjpwYXNz' }
    const { id } = await server.send('chunks 3', { url: hook.url, token: 'tk', authentication })
    const calls = await hook.received(6)
    expect(eventsOf(calls)).toEqual([
      'task SUBMITTED',
      'status WORKING',
      'artifact chunk 1 ',
      'artifact chunk 2 ',
      'artifact chunk 3 ',
      'status COMPLETED',
    ])
    for (const { method, headers } of calls) {
      expect([method, headers['content-type']]).toEqual(['POST', 'application/a2a+json'])
      expect([headers.authorization, headers['x-a2a-notification-token']]).toEqual(['Basic dXNlcjpwYXNz', 'tk'])
    }
    expect(JSON.parse(calls[0]?.text ?? '')).toMatchObject({
      task: { id, history: [{ parts: [{ text: 'chunks 3' }] }] },
    })
    expect(new Set(calls.map(({ headers }) => headers['x-a2a-delivery-id'])).size).toBe(6)
    expect((await readBack(calls)).map(({ dialect, taskId }) => [dialect, taskId])).toEqual(Array(6).fill(['v1', id]))
  })

  it(proves('R-PDEL-4', 'that are added later get the events from then on'), async () => {
    await using hook = await openHook()
    await using server = await pushServer({ store })
    const { id } = await server.send('ask')
    await server.register(id, { url: hook.url })
    await server.send('more', undefined, { taskId: id })
    expect(eventsOf(await hook.received(3))).toEqual(['status WORKING', 'artifact ask\nmore', 'status COMPLETED'])
    await server.register(id, { url: `${hook.url}/late`, id: 'late' })
    // Neither webhook has pending events.
    const claim = { agents: ['Echo'], lease: { owner: 'x', ttlMs: 1 }, limit: 9 }
    await until(async () => (await server.store.deliveries.claim(claim)).nextInMs === undefined)
    expect(hook.calls).toHaveLength(3)
  })

  it('get each event once when a config comes with every message', async () => {
    await using hook = await openHook()
    await using server = await pushServer({ store })
    const { id } = await server.send('ask', { url: hook.url, id: 'mine' })
    await hook.received(2)
    await server.send('more', { url: hook.url, id: 'mine' }, { taskId: id })
    const calls = await hook.received(5)
    expect(eventsOf(calls)).toEqual([
      'task SUBMITTED',
      'status INPUT_REQUIRED',
      'status WORKING',
      'artifact ask\nmore',
      'status COMPLETED',
    ])
  })

  it('get no event for an answer without a task (R-PUSH-7)', async () => {
    await using hook = await openHook()
    await using server = await pushServer({ store })
    const configuration = { taskPushNotificationConfig: { url: hook.url } }
    const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'msg hi' }] }
    const request = (headers: Record<string, string>) =>
      server.handler.fetch(
        new Request('http://localhost/message:send', {
          method: 'POST',
          headers: { 'content-type': 'application/json', 'a2a-version': '1.0', ...headers },
          body: JSON.stringify({ message, configuration }),
        }),
      )
    expect(await (await request({ 'idempotency-key': 'k' })).json()).toMatchObject({ message: {} })
    await server.send('hello', { url: hook.url })
    expect(eventsOf(await hook.received(3))).toEqual(['task WORKING', 'artifact hello', 'status COMPLETED'])
  })

  it('can get statuses only', async () => {
    await using hook = await openHook()
    await using server = await pushServer({ store, push: { events: 'statuses' } })
    await server.send('chunks 3', { url: hook.url })
    expect(eventsOf(await hook.received(3))).toEqual(['task SUBMITTED', 'status WORKING', 'status COMPLETED'])
  })

  it('get nothing after they are deleted', async () => {
    await using hook = await openHook()
    await using server = await pushServer({ store })
    const { id: taskId } = await server.send('ask', { url: hook.url, id: 'mine' })
    await hook.received(2)
    await server.call('DeleteTaskPushNotificationConfig', { taskId, id: 'mine' })
    await server.register(taskId, { url: `${hook.url}/other` })
    await server.send('more', undefined, { taskId })
    const calls = await hook.received(5)
    expect(calls.slice(2).map(({ path }) => path)).toEqual(Array(3).fill('/hook/other'))
  })
})

/** Registers a webhook with a send, in each dialect that has webhooks. */
const registrations: readonly {
  readonly dialect: string
  readonly as: string
  readonly path: string
  body(url: string): object
}[] = [
  {
    dialect: 'v0.3',
    as: 'v0.3',
    path: '/',
    body: (url) =>
      rpc('message/send', {
        message: { kind: 'message', messageId: 'm', role: 'user', parts: [{ kind: 'text', text: 'chunks 2' }] },
        configuration: { pushNotificationConfig: webhook(url) },
      }),
  },
  {
    dialect: 'v0.1',
    as: 'v0.1',
    path: '/',
    body: (url) => rpc('tasks/send', { ...old('chunks 2'), pushNotification: webhook(url) }),
  },
  {
    dialect: 'v0.1-go',
    as: 'v0.1',
    path: '/go',
    body: (url) => rpc('tasks/send', { ...old('chunks 2'), pushNotification: webhook(url) }),
  },
  {
    dialect: 'task-rest',
    as: 'task-rest',
    path: '/tasks/send',
    body: (url) => ({ ...old('chunks 2'), pushNotification: webhook(url) }),
  },
]

const rpc = (method: string, params: object) => ({ jsonrpc: '2.0', id: 7, method, params })
const old = (text: string) => ({ id: 'job', message: { role: 'user', parts: [{ type: 'text', text }] } })
const webhook = (url: string) => ({ url, token: 'tk', authentication: { schemes: ['Bearer'], credentials: 'cr' } })

async function post(handler: FetchHandler, path: string, body: object, headers: Record<string, string> = {}) {
  const answer = await handler.fetch(
    new Request(`http://localhost${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    }),
  )
  expect(answer.status).toBe(200)
  return (await answer.json()) as Record<string, unknown>
}

describe.each(registrations)('webhooks of $dialect', ({ as, path, body }) => {
  it(
    proves(
      ['RM-PUSH-1', 'RM-PUSH-2', 'R3-PUSH-5', 'R3-PUSH-6', 'RL-01-8'],
      'get the whole task at each status, and no artifact events',
    ),
    async () => {
      await using hook = await openHook()
      await using server = await pushServer({ dialects: 'all' })
      await post(server.handler, path, body(hook.url))
      const calls = await hook.received(3)
      for (const { headers } of calls) {
        expect(headers['content-type']).toBe('application/json')
        expect([headers.authorization, headers['x-a2a-notification-token']]).toEqual(['Bearer cr', 'tk'])
      }
      const deliveries = await readBack(calls)
      expect(deliveries.map(({ dialect }) => dialect)).toContain(as)
      const tasks = calls.map(({ text }) => JSON.parse(text) as { status: { state: string }; artifacts?: unknown[] })
      expect(tasks.map(({ artifacts = [] }) => artifacts.length)).toEqual([0, 0, 1])
      expect(tasks.at(-1)?.status.state).toBe('completed')
      expect(tasks.every((task) => !('task' in task))).toBe(true)
      if (as === 'v0.3') expect(tasks.every((task) => 'kind' in task && task.kind === 'task')).toBe(true)
    },
  )
})

describe('webhooks', () => {
  it(
    proves(
      ['R3-PUSH-8', 'RM-PUSH-1'],
      'are called in the dialect of their registration, whichever dialect drives the task',
    ),
    async () => {
      await using hook = await openHook()
      await using server = await pushServer({ dialects: 'all' })
      const { id } = await server.send('ask', { url: hook.url })
      await hook.received(2)
      const pushNotificationConfig = { url: `${hook.url}/old` }
      await post(server.handler, '/', rpc('tasks/pushNotificationConfig/set', { taskId: id, pushNotificationConfig }))
      await server.send('more', undefined, { taskId: id })
      const calls = await hook.received(7)
      const kinds = (path: string) =>
        calls.filter((each) => each.path === path).map(({ text }) => Object.keys(JSON.parse(text))[0])
      expect(kinds('/hook/old')).toEqual(['kind', 'kind'])
      expect(kinds('/hook')).toEqual(['task', 'statusUpdate', 'statusUpdate', 'artifactUpdate', 'statusUpdate'])
    },
  )

  it('get a signed token for each delivery, in addition to their own credentials (R-PDEL-9, RL-01-9)', async () => {
    await using hook = await openHook()
    await using server = await pushServer({
      publicUrl: 'https://agent.example',
      advanced: { signing: { keys: [await generateSigningKey()] } },
    })
    const keys = await (await server.handler.fetch(new Request('http://localhost/.well-known/jwks.json'))).text()
    await using jwks = await openHook((_call, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end(keys)
    })
    await server.send('hello', { url: hook.url })
    const options = { jwksUrl: jwks.url, issuer: 'https://agent.example', audience: hook.url }
    expect(await readBack(await hook.received(3), options)).toHaveLength(3)
    await server.send('hello', { url: hook.url, authentication: { scheme: 'Bearer', credentials: 'cr' } })
    const later = (await hook.received(6)).slice(3)
    expect(later.map(({ headers }) => headers.authorization)).toEqual(Array(3).fill('Bearer cr'))
    expect(await readBack(later, options)).toHaveLength(3)
  })

  it(proves('R-PDEL-7', 'never delay the agent'), async () => {
    await using hook = await openHook(() => undefined)
    await using server = await pushServer()
    const task = await server.send('chunks 50', { url: hook.url })
    expect(task.status.state).toBe('TASK_STATE_COMPLETED')
    await hook.received(1)
    expect((await server.send('hello', { url: hook.url })).status.state).toBe('TASK_STATE_COMPLETED')
  })

  it('get progress while the task runs', async () => {
    await using hook = await openHook()
    const { opened, open } = gate()
    const slow = agent({ name: 'Slow', capabilities: { pushNotifications: true } }, async function* () {
      yield 'first'
      await opened
      yield 'second'
    })
    const handler = await createHandler(slow, { push: { allowHosts: ['127.0.0.1'] } })
    try {
      const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'go' }] }
      const configuration = { taskPushNotificationConfig: { url: hook.url } }
      const sent = post(handler, '/message:send', { message, configuration }, { 'a2a-version': '1.0' })
      await until(() => eventsOf(hook.calls).includes('artifact first'))
      open()
      await sent
      await until(() => eventsOf(hook.calls).at(-1) === 'status COMPLETED')
    } finally {
      await handler.close({ deadlineMs: 0 })
    }
  })
})
