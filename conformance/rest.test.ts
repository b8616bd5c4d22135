import type { Agent, Task } from 'dragoman'
import { describe, expect, it } from 'vitest'
import { echoAgent } from '../src/testing/echo-agent.js'
import { type Json, outline, readRefusal, testServer, userMessage } from './fixture.js'
import { proves } from './proves.js'

const hook = 'https://client.example/hook'

async function sendOverRest(server: Awaited<ReturnType<typeof testServer>>, text: string): Promise<Task> {
  const { body } = await server.rest('POST', '/message:send', { message: userMessage(text) })
  return body.task as Task
}

describe('the HTTP+JSON binding', () => {
  it(proves('R-REST-1', 'has a path and a verb for every operation'), async () => {
    const capabilities = { pushNotifications: true, extendedAgentCard: true }
    const complete: Agent = { ...echoAgent, card: { ...echoAgent.card, capabilities, extendedCard: (card) => card } }
    await using server = await testServer(complete)
    const { id } = await sendOverRest(server, 'hello')
    const waiting = await sendOverRest(server, 'ask')
    const configs = `/tasks/${id}/pushNotificationConfigs`
    const answers: Json = {}
    const look = async (method: string, path: string, body?: Json) => {
      const answer = await server.rest(method, path, body)
      answers[`${method} ${path.replace(id, 'ID').replace(waiting.id, 'WAITING')}`] = [
        answer.status,
        Object.keys(answer.body)[0],
      ]
    }
    await look('GET', `/tasks/${id}`)
    await look('GET', '/tasks')
    await look('POST', `/tasks/${waiting.id}:cancel`, {})
    await look('POST', configs, { id: 'one', url: hook })
    await look('GET', configs)
    await look('GET', `${configs}/one`)
    await look('DELETE', `${configs}/one`)
    await look('GET', '/extendedAgentCard')
    expect(answers).toEqual({
      'GET /tasks/ID': [200, 'id'],
      'GET /tasks': [200, 'tasks'],
      'POST /tasks/WAITING:cancel': [200, 'id'],
      'POST /tasks/ID/pushNotificationConfigs': [200, expect.any(String)],
      'GET /tasks/ID/pushNotificationConfigs': [200, 'configs'],
      'GET /tasks/ID/pushNotificationConfigs/one': [200, expect.any(String)],
      'DELETE /tasks/ID/pushNotificationConfigs/one': [200, undefined],
      'GET /extendedAgentCard': [200, 'name'],
    })
    const stream = await server.stream('POST', '/message:stream', { message: userMessage('hello') })
    expect(outline(await stream.rest()).at(-1)).toBe('status:COMPLETED')
  })

  it.each([
    ['GET', '/message:send'],
    ['GET', '/message:stream'],
    ['POST', '/tasks'],
    ['DELETE', '/tasks/any'],
    ['PUT', '/tasks/any/pushNotificationConfigs/one'],
    ['POST', '/extendedAgentCard'],
    ['GET', '/nothing'],
    ['GET', '/tasks/any/nothing'],
    ['POST', '/tasks/any:nothing'],
  ])(proves('R-REST-1', 'answers 404 to %s %s'), async (method, path) => {
    await using server = await testServer(echoAgent)
    const answer = await server.rest(method, path, method === 'GET' ? undefined : {})
    expect(readRefusal(answer).reason).toBe('METHOD_NOT_FOUND')
  })

  it.each(['plain', 'with blank', 'with/slash', 'ünïcödé', '100%', '50%20', 'a:cancel', 'a?b#c', '..%2F'])(
    proves('R-REST-1', 'decodes the path value of the config %j once'),
    async (id) => {
      await using server = await testServer(echoAgent)
      const task = await sendOverRest(server, 'hello')
      const configs = `/tasks/${task.id}/pushNotificationConfigs`
      await server.rest('POST', configs, { id, url: hook })
      const { body } = await server.rest('GET', `${configs}/${encodeURIComponent(id)}`)
      expect(body).toEqual({ id, taskId: task.id, url: hook })
    },
  )

  it(proves('R-REST-1', 'takes a colon and a word for an action before it takes them for an id'), async () => {
    await using server = await testServer(echoAgent)
    const { id } = await sendOverRest(server, 'ask')
    const { body } = await server.rest('POST', `/tasks/${id}:cancel`)
    expect(body).toMatchObject({ id, status: { state: 'TASK_STATE_CANCELED' } })
    expect(readRefusal(await server.rest('GET', `/tasks/${id}:cancel`)).metadata).toEqual({ taskId: `${id}:cancel` })
  })

  it(proves('R-REST-1', 'has every path below each tenant too'), async () => {
    await using server = await testServer(echoAgent, { advanced: { tenants: ['acme'] } })
    const sent = await server.rest('POST', '/acme/message:send', { message: userMessage('hello') })
    const task = sent.body.task as Task
    expect((await server.rest('GET', `/acme/tasks/${task.id}`)).body).toEqual(task)
    expect((await server.rest('GET', '/acme/tasks')).body).toMatchObject({ totalSize: 1 })
    const configs = `/acme/tasks/${task.id}/pushNotificationConfigs`
    expect((await server.rest('POST', configs, { id: 'one', url: hook })).status).toBe(200)
    expect((await server.rest('GET', `${configs}/one`)).body).toMatchObject({ id: 'one' })
    const stream = await server.stream('POST', '/acme/message:stream', { message: userMessage('hello') })
    expect(outline(await stream.rest()).at(-1)).toBe('status:COMPLETED')
  })

  it(proves('R-REST-2', 'reads numbers, flags, enums and timestamps from the query'), async () => {
    await using server = await testServer(echoAgent)
    const task = await sendOverRest(server, 'hello')
    await sendOverRest(server, 'ask')
    const query = new URLSearchParams({
      contextId: task.contextId,
      status: 'TASK_STATE_COMPLETED',
      pageSize: '7',
      historyLength: '0',
      includeArtifacts: 'true',
      statusTimestampAfter: '2020-01-01T02:00:00+02:00',
    })
    const { history: _history, ...expected } = task
    expect((await server.rest('GET', `/tasks?${query}`)).body).toEqual({
      tasks: [expected],
      nextPageToken: '',
      pageSize: 7,
      totalSize: 1,
    })
    const { artifacts: _artifacts, ...bare } = expected
    query.set('includeArtifacts', 'false')
    expect((await server.rest('GET', `/tasks?${query}`)).body).toMatchObject({ tasks: [bare] })
    expect((await server.rest('GET', `/tasks/${task.id}?historyLength=0`)).body).toEqual(expected)
  })

  it.each([
    ['pageSize', 'many'],
    ['pageSize', '1.5'],
    ['historyLength', 'all'],
    ['includeArtifacts', 'yes'],
    ['includeArtifacts', '1'],
    ['status', 'completed'],
    ['statusTimestampAfter', 'yesterday'],
  ])(proves('R-REST-2', 'refuses %s=%s and names the parameter'), async (name, value) => {
    await using server = await testServer(echoAgent)
    const refusal = readRefusal(await server.rest('GET', `/tasks?${name}=${value}`))
    expect(refusal).toMatchObject({ reason: 'INVALID_PARAMS', violations: [{ field: name }] })
  })

  it.each([
    ['application/json', undefined, 'application/json'],
    ['application/a2a+json', undefined, 'application/a2a+json'],
    ['application/a2a+json; charset=utf-8', undefined, 'application/a2a+json'],
    ['application/json', 'application/a2a+json', 'application/a2a+json'],
    ['application/json', 'application/json', 'application/json'],
    ['application/json', '*/*', 'application/json'],
  ])(proves('R-REST-3', 'given %s, accepting %s, answers %s'), async (type, accept, expected) => {
    await using server = await testServer(echoAgent)
    const headers = { 'Content-Type': type, Accept: accept }
    const success = await server.rest('POST', '/message:send', { message: userMessage('hello') }, headers)
    expect([success.status, success.headers.get('content-type')]).toEqual([200, expected])
    const error = await server.rest('POST', '/message:send', {}, headers)
    expect([error.status, error.headers.get('content-type')]).toEqual([400, expected])
  })

  it(proves('R-REST-4', 'answers success with 200, and a delete with an empty object'), async () => {
    await using server = await testServer(echoAgent)
    const { id } = await sendOverRest(server, 'hello')
    const configs = `/tasks/${id}/pushNotificationConfigs`
    expect((await server.rest('POST', configs, { id: 'one', url: hook })).status).toBe(200)
    const { status, body } = await server.rest('DELETE', `${configs}/one`)
    expect({ status, body }).toEqual({ status: 200, body: {} })
  })

  it.each(['text/plain', 'application/xml', 'application/x-www-form-urlencoded'])(
    proves('R-REST-4', 'refuses a request of type %s'),
    async (type) => {
      await using server = await testServer(echoAgent)
      const answer = await server.rest('POST', '/message:send', 'not JSON at all', { 'Content-Type': type })
      expect(readRefusal(answer).reason).toBe('CONTENT_TYPE_NOT_SUPPORTED')
    },
  )

  it.each(['[]', '"text"', '7', 'null'])(proves('R-ERR-8', 'refuses the body %s, which is no object'), async (body) => {
    await using server = await testServer(echoAgent)
    expect(readRefusal(await server.rest('POST', '/message:send', body)).reason).toBe('INVALID_PARAMS')
  })

  it.each([
    ['GET', undefined, undefined],
    ['POST', undefined, undefined],
    ['POST', '', 'application/json'],
    ['POST', {}, 'application/json'],
  ])(proves('R-REST-5', 'streams a subscription by %s with the body %j'), async (method, body, type) => {
    await using server = await testServer(echoAgent)
    const { id } = await sendOverRest(server, 'ask')
    const stream = await server.stream(method, `/tasks/${id}:subscribe`, body, { 'Content-Type': type })
    expect(outline([await stream.next()].flatMap((event) => event ?? []))).toEqual(['task:INPUT_REQUIRED'])
    await server.rest('POST', `/tasks/${id}:cancel`)
    expect(outline(await stream.rest())).toEqual(['status:CANCELED'])
  })
})
