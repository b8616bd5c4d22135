import { describe, expect, it } from 'vitest'
import { echoAgent } from '../src/testing/echo-agent.js'
import { operationNames, readRefusal, testServer } from './fixture.js'
import { message03, OlderClient } from './older-fixture.js'
import { proves } from './proves.js'

const emptyList = { tasks: [], nextPageToken: '', pageSize: 50, totalSize: 0 }

describe('the JSON-RPC binding', () => {
  it(proves('R-RPC-1', 'answers a POST of a JSON-RPC object with one'), async () => {
    await using server = await testServer(echoAgent)
    const { status, headers, body } = await server.rpc('ListTasks', {})
    expect({ status, type: headers.get('content-type'), body }).toEqual({
      status: 200,
      type: 'application/json',
      body: { jsonrpc: '2.0', id: 1, result: emptyList },
    })
  })

  it(proves('R-RPC-1', 'has no other verb than POST'), async () => {
    await using server = await testServer(echoAgent)
    for (const method of ['GET', 'PUT', 'DELETE']) expect((await server.rest(method, '/')).status).toBe(404)
  })

  it.each(operationNames)(proves('R-RPC-1', 'knows %s by its PascalCase name'), async (name) => {
    await using server = await testServer(echoAgent)
    const { body } = await server.rpc(name, {})
    expect(body).not.toHaveProperty('error.code', -32601)
  })

  it.each(['sendMessage', 'message/send', 'sendmessage', 'SendMessage ', 'toString', '__proto__'])(
    proves('R-RPC-2', 'does not know a method called %j'),
    async (method) => {
      await using server = await testServer(echoAgent)
      const answer = await server.rpc(method, {})
      expect(readRefusal(answer).reason).toBe('METHOD_NOT_FOUND')
      expect(answer.body.id).toBe(1)
    },
  )

  it.each(['seven', '', 7, 0, -1, 2.5, null])(
    proves('R-RPC-2', 'echoes the id %j in results and errors'),
    async (id) => {
      await using server = await testServer(echoAgent)
      const result = await server.rest('POST', '/', { jsonrpc: '2.0', id, method: 'ListTasks' })
      expect(result.body).toEqual({ jsonrpc: '2.0', id, result: emptyList })
      const error = await server.rest('POST', '/', { jsonrpc: '2.0', id, method: 'GetTask', params: { id: 'nope' } })
      expect(error.body).toMatchObject({ jsonrpc: '2.0', id, error: { code: -32001 } })
    },
  )

  it.each([
    ['another version', { jsonrpc: '1.0', id: 7, method: 'ListTasks' }, 7],
    ['no version', { id: 7, method: 'ListTasks' }, 7],
    ['no method', { jsonrpc: '2.0', id: 'a' }, 'a'],
    ['a method that is no string', { jsonrpc: '2.0', id: 7, method: 1 }, 7],
    ['an object as id', { jsonrpc: '2.0', id: {}, method: 'ListTasks' }, null],
    ['a boolean as id', { jsonrpc: '2.0', id: true, method: 'ListTasks' }, null],
    ['a string instead of an object', '"ListTasks"', null],
    ['null instead of an object', 'null', null],
  ])(proves('R-RPC-2', 'refuses %s as an invalid request'), async (_what, body, id) => {
    await using server = await testServer(echoAgent)
    const answer = await server.rest('POST', '/', body)
    expect(readRefusal(answer).reason).toBe('INVALID_REQUEST')
    expect(answer.body.id).toBe(id)
  })

  it.each(['', '{', '{"jsonrpc":"2.0","id":7,', 'SendMessage'])(
    proves('R-RPC-2', 'refuses the body %j as bad JSON'),
    async (body) => {
      await using server = await testServer(echoAgent)
      const answer = await server.rest('POST', '/', body)
      expect(readRefusal(answer).reason).toBe('PARSE_ERROR')
      expect(answer.body.id).toBeNull()
    },
  )

  it(proves('R-RPC-3', 'answers requests without an id'), async () => {
    await using server = await testServer(echoAgent)
    const result = await server.rest('POST', '/', { jsonrpc: '2.0', method: 'ListTasks' })
    expect(result.body).toEqual({ jsonrpc: '2.0', id: null, result: emptyList })
    const error = await server.rest('POST', '/', { jsonrpc: '2.0', method: 'Nothing' })
    expect(error.body).toMatchObject({ id: null, error: { code: -32601 } })
  })

  it.each(['message/send', 'message/stream'])(
    proves('R-RPC-3', 'runs %s without an id in 0.3 and answers with 204; errors are answered'),
    async (method) => {
      await using server = await testServer(echoAgent)
      const client = new OlderClient(server)
      const call = (message: object) => client.request('POST', '/', { jsonrpc: '2.0', method, params: { message } })
      const response = await call(message03('hello'))
      expect([response.status, await response.text()]).toEqual([204, ''])
      await expect
        .poll(async () => (await client.result<{ tasks: object[] }>('tasks/list', {})).tasks)
        .toMatchObject([{ status: { state: 'completed' } }])
      const refused = await call({ role: 'user' })
      expect(await refused.json()).toMatchObject({ id: null, error: { code: -32602 } })
    },
  )

  it.each([[[]], [[{ jsonrpc: '2.0', id: 1, method: 'ListTasks' }]]])(
    proves('R-RPC-3', 'refuses the batch %j'),
    async (batch) => {
      await using server = await testServer(echoAgent)
      expect(readRefusal(await server.rest('POST', '/', batch)).reason).toBe('INVALID_REQUEST')
    },
  )

  it(proves('R-RPC-4', 'is there with and without a slash at the end'), async () => {
    await using server = await testServer([{ agent: echoAgent, path: '/agents/echo' }])
    const request = { jsonrpc: '2.0', id: 1, method: 'ListTasks' }
    for (const path of ['/agents/echo', '/agents/echo/', '/agents/echo?from=test', '/agents/echo/?from=test']) {
      expect((await server.rest('POST', path, request)).body).toEqual({ jsonrpc: '2.0', id: 1, result: emptyList })
    }
  })

  it.each([
    'text/plain',
    'text/plain; charset=utf-8',
    'application/xml',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
  ])(proves('R-RPC-5', 'refuses %s before it looks at the body'), async (type) => {
    await using server = await testServer(echoAgent)
    const answer = await server.rest('POST', '/', 'this is not JSON', { 'Content-Type': type })
    expect(readRefusal(answer).reason).toBe('CONTENT_TYPE_NOT_SUPPORTED')
  })

  it.each(['application/json', 'application/json; charset=utf-8', 'Application/JSON', 'application/a2a+json'])(
    proves('R-RPC-5', 'takes %s and answers application/json'),
    async (type) => {
      await using server = await testServer(echoAgent)
      const { headers, body } = await server.rpc('ListTasks', {}, { 'Content-Type': type })
      expect(body).toEqual({ jsonrpc: '2.0', id: 1, result: emptyList })
      expect(headers.get('content-type')).toBe('application/json')
    },
  )

  it(proves('R-RPC-6', 'lets ListTasks and GetExtendedAgentCard do without params, and no other method'), async () => {
    await using server = await testServer(echoAgent)
    expect((await server.rpc('ListTasks')).body).toHaveProperty('result', emptyList)
    expect(readRefusal(await server.rpc('GetExtendedAgentCard')).reason).toBe('UNSUPPORTED_OPERATION') // it got as far as the agent
    for (const name of operationNames) {
      if (name === 'ListTasks' || name === 'GetExtendedAgentCard') continue
      expect(readRefusal(await server.rpc(name)), name).toMatchObject({ reason: 'INVALID_PARAMS' })
    }
  })

  it.each([[[]], ['text'], [7]])(proves('R-RPC-2', 'refuses params that are no object: %j'), async (params) => {
    await using server = await testServer(echoAgent)
    expect(readRefusal(await server.rpc('GetTask', params)).reason).toBe('INVALID_PARAMS')
  })
})
