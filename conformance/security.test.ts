import { inspect } from 'node:util'
import { agent, apiKey, askAuth } from 'dragoman'
import { describe, expect, it } from 'vitest'
import { echoAgent } from '../src/testing/echo-agent.js'
import { bindings, type Client, operationNames, readRefusal, testServer, userMessage } from './fixture.js'
import { proves } from './proves.js'

const auth = [apiKey({ 'key-a': 'alice', 'key-b': 'bob' })]
const anything = { id: 'any', taskId: 'any', url: 'https://client.example/hook', message: userMessage('hi') }

describe.each(bindings)('callers over %s', (binding) => {
  it.each(operationNames)(proves('R-SEC-2', 'must prove who they are to call %s'), async (operation) => {
    await using server = await testServer(echoAgent, { auth })
    for (const key of [undefined, '', 'wrong', 'KEY-A', 'key-a,key-b', 'key-']) {
      const answer = await server.over(binding, { 'X-API-Key': key }).answer(operation, anything)
      expect(readRefusal(answer).reason, String(key)).toBe('UNAUTHENTICATED')
      expect(answer.status).toBe(401)
      expect(answer.headers.get('www-authenticate')).toBe('ApiKey name="X-API-Key"')
    }
    // With a key the same call is authenticated.
    const answer = await server.over(binding, { 'X-API-Key': 'key-a' }).response(operation, anything)
    expect(answer.status).not.toBe(401)
    await answer.body?.cancel()
  })

  it.each([
    ['query', (client: Client) => client.answer('ListTasks'), '?k=key-a'],
    ['cookie', (client: Client) => client.answer('ListTasks', {}, { Cookie: 'a=b; k=key-a' }), ''],
  ] as const)(
    proves('R-SEC-2', 'may authenticate in the %s where the card declares it'),
    async (location, ask, query) => {
      await using server = await testServer(echoAgent, {
        auth: [apiKey({ 'key-a': 'alice' }, { name: 'k', location })],
      })
      const { body } = await server.rest('GET', '/.well-known/agent-card.json')
      expect(body).toHaveProperty('securitySchemes.apiKey.apiKeySecurityScheme', { location, name: 'k' })
      expect((await server.over(binding).answer('ListTasks', {}, { 'X-API-Key': 'key-a', k: 'key-a' })).status).toBe(
        401,
      )
      if (location === 'cookie') expect((await ask(server.over(binding))).status).toBe(200)
      const [method, path, request] =
        binding === 'JSON-RPC'
          ? ['POST', '/', { jsonrpc: '2.0', id: 1, method: 'ListTasks' }]
          : ['GET', '/tasks', undefined]
      const expected = location === 'query' ? 200 : 401
      expect((await server.rest(method, `${path}${query}`, request)).status).toBe(expected)
    },
  )

  it(proves('R-SEC-3', 'see and touch nothing of each other’s'), async () => {
    await using server = await testServer(echoAgent, { auth })
    const alice = server.over(binding, { 'X-API-Key': 'key-a' })
    const bob = server.over(binding, { 'X-API-Key': 'key-b' })
    const task = await alice.send('ask')
    for (const operation of operationNames) {
      if (operation === 'ListTasks' || operation === 'GetExtendedAgentCard') continue
      const message = userMessage({ taskId: task.id })
      const refusal = await bob.refusal(operation, { ...anything, id: task.id, taskId: task.id, message })
      expect(refusal, operation).toMatchObject({ reason: 'TASK_NOT_FOUND' })
    }
    expect(await bob.call('ListTasks')).toEqual({ tasks: [], nextPageToken: '', pageSize: 50, totalSize: 0 })
    expect(await alice.task(task.id)).toEqual(task)
    // A context gives no access either: Bob's task has the same context id as hers.
    const his = await bob.send({ contextId: task.contextId })
    expect(his.history).toHaveLength(1)
    expect(await alice.call('ListTasks', { contextId: task.contextId })).toMatchObject({
      tasks: [{ id: task.id }],
      totalSize: 1,
    })
  })

  it(proves('R-ERR-7', 'cannot distinguish tasks of other callers from tasks that do not exist'), async () => {
    await using server = await testServer(echoAgent, { auth })
    const alice = server.over(binding, { 'X-API-Key': 'key-a' })
    const bob = server.over(binding, { 'X-API-Key': 'key-b' })
    const { id: hers } = await alice.send('ask')
    const { id: ended } = await alice.send('hello')
    await alice.call('CreateTaskPushNotificationConfig', { taskId: hers, id: 'one', url: anything.url })
    const unknown = hers.replaceAll(/[0-9]/g, '0')
    for (const operation of operationNames) {
      if (operation === 'ListTasks' || operation === 'GetExtendedAgentCard') continue
      const look = async (id: string) => {
        const { status, body } = await bob.answer(operation, {
          ...anything,
          id: operation.includes('Config') ? 'one' : id,
          taskId: id,
          message: userMessage({ taskId: id }),
        })
        return [status, JSON.parse(JSON.stringify(body).replaceAll(id, 'ID'))]
      }
      const nothing = await look(unknown)
      expect(await look(hers), operation).toEqual(nothing)
      expect(await look(ended), operation).toEqual(nothing)
    }
  })

  it(proves('R-SEC-5', 'find their keys in no log'), async () => {
    const logged: unknown[] = []
    const broken = agent({ name: 'Broken', capabilities: { pushNotifications: true } }, async function* () {
      throw new Error('Broken')
    })
    await using server = await testServer(broken, {
      auth,
      log: (entry) => logged.push(entry),
      advanced: {
        wrap: (service) => ({
          ...service,
          getTask: async () => {
            throw new Error('Worse')
          },
        }),
      },
    })
    const client = server.over(binding, { 'X-API-Key': 'key-a' })
    const config = {
      url: anything.url,
      token: 'tk-secret',
      authentication: { scheme: 'Bearer', credentials: 'cr-secret' },
    }
    await client.send('hi', { configuration: { taskPushNotificationConfig: config } })
    await client.refusal('GetTask', { id: 'any' })
    await server.over(binding, { 'X-API-Key': 'wrong-key' }).refusal('ListTasks')
    expect(logged.length).toBeGreaterThanOrEqual(2)
    expect(inspect(logged, { depth: 20 })).not.toMatch(/key-a|wrong-key|tk-secret|cr-secret/)
  })

  it(proves('R-ITA-7', 'are not let in by a task that waits for an authorisation'), async () => {
    const locked = agent('Locked', async function* () {
      yield askAuth('Log in')
    })
    await using server = await testServer(locked, { auth })
    const task = await server.over(binding, { 'X-API-Key': 'key-a' }).send('go')
    expect(task.status.state).toBe('TASK_STATE_AUTH_REQUIRED')
    const params = { message: userMessage({ taskId: task.id }) }
    expect((await server.over(binding).refusal('SendMessage', params)).reason).toBe('UNAUTHENTICATED')
    expect((await server.over(binding, { 'X-API-Key': 'key-b' }).refusal('SendMessage', params)).reason).toBe(
      'TASK_NOT_FOUND',
    )
  })
})

describe('without a key', () => {
  it(proves('R-ERR-13', 'JSON-RPC callers get a JSON-RPC error and a challenge'), async () => {
    await using server = await testServer(echoAgent, { auth })
    const { status, headers, body } = await server.rpc('ListTasks')
    expect(status).toBe(401)
    expect(headers.get('www-authenticate')).toMatch(/^ApiKey /)
    expect(body).toMatchObject({ jsonrpc: '2.0', error: { code: -32000, message: expect.stringMatching(/\S/) } })
  })

  it(proves(['R-SEC-2', 'R-EXT-6'], 'does not reveal which methods and paths exist'), async () => {
    await using server = await testServer(echoAgent, { auth })
    expect((await server.rpc('urn:some/extension/Method', {})).status).toBe(401)
    for (const [method, path] of [
      ['GET', '/nothing'],
      ['GET', '/metrics'],
      ['POST', '/some/extension'],
      ['PUT', '/tasks'],
      ['GET', '/.well-known/secrets.json'],
    ] as const) {
      expect((await server.rest(method, path, method === 'GET' ? undefined : {})).status, path).toBe(401)
    }
  })

  it(proves('R-SEC-2', 'only the card and the state of health are open'), async () => {
    await using server = await testServer(echoAgent, { auth })
    for (const path of ['/.well-known/agent-card.json', '/healthz', '/readyz'])
      expect((await server.fetch(path)).status, path).toBe(200)
  })
})
