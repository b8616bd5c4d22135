/** Recognition of the dialect of a request. */
import { agent, MemoryStore } from 'dragoman'
import type { DialectChoice, DialectName } from 'dragoman/server'
import { describe, expect, it } from 'vitest'
import { echoAgent } from '../src/testing/echo-agent.js'
import { type HeaderList, type Json, readRefusal, type TestServer, testServer, userMessage } from './fixture.js'
import {
  body01,
  message03,
  OlderClient,
  type OldTask,
  params01,
  protoMessage,
  readEvents,
  readOldError,
  rpc,
} from './older-fixture.js'
import { proves } from './proves.js'

const usual = ['v1', 'v0.3', 'v0.1'] as const

/** The dialect of a JSON-RPC result, or the code of its error. */
function toneOf(body: Json): string | number {
  const { result, error } = body as { result?: Json; error?: { code: number } }
  if (error) return error.code
  if (result && 'task' in result) return 'v1'
  if (result?.kind === 'task') return 'v0.3'
  if (result && 'sessionId' in result) return 'v0.1'
  return result && 'totalSize' in result ? 'v1' : JSON.stringify(body)
}

const sends = {
  v1: rpc('SendMessage', { message: userMessage('hello') }),
  'v0.3': rpc('message/send', { message: message03('hello') }),
  'v0.1': rpc('tasks/send', params01('job', 'hello')),
}

async function tone(server: TestServer, body: unknown, headers: HeaderList = {}, path = '/'): Promise<string | number> {
  return toneOf((await new OlderClient(server).send('POST', path, body, headers)).body)
}

describe('the version of a JSON-RPC call', () => {
  it.each([
    // Nothing named: the method says it.
    ['v1', undefined, 'v1'],
    ['v0.3', undefined, 'v0.3'],
    ['v0.1', undefined, 'v0.1'],
    ['v1', '', 'v1'],
    ['v0.3', ' ', 'v0.3'],
    // Named and right, with any patch number.
    ['v1', '1.0', 'v1'],
    ['v1', '1.0.1', 'v1'],
    ['v0.3', '0.3', 'v0.3'],
    ['v0.3', '0.3.0', 'v0.3'],
    ['v0.3', '0.2', 'v0.3'],
    ['v0.3', '0.2.6', 'v0.3'],
    ['v0.1', '0.1', 'v0.1'],
    ['v0.1', '0.1.0', 'v0.1'],
    // Methods of 0.x under any 0.x.
    ['v0.3', '0.1', 'v0.3'],
    ['v0.1', '0.3', 'v0.1'],
    // Offered, but without that method.
    ['v1', '0.3', -32601],
    ['v1', '0.1', -32601],
    ['v0.3', '1.0', -32601],
    ['v0.1', '1.0', -32601],
    // Not offered at all.
    ['v1', '99.0', -32009],
    ['v0.3', '99.0', -32009],
    ['v0.1', '0.9', -32009],
  ] as const)(proves('RM-DET-1', 'for the send of %s with version %j is %s'), async (method, version, expected) => {
    await using server = await testServer(echoAgent)
    expect(await tone(server, sends[method], { 'A2A-Version': version })).toBe(expected)
  })

  it.each([
    ['v1', undefined, -32601],
    ['v1', '', -32601],
    ['v1', '1.0', 'v1'],
    ['v0.3', undefined, 'v0.3'],
    ['v0.1', undefined, 'v0.1'],
    ['v0.3', '1.0', -32601],
  ] as const)(
    proves(['RM-DET-1', 'R-VER-3'], 'by the letter, for the send of %s with version %j, is %s'),
    async (method, version, expected) => {
      await using server = await testServer(echoAgent, { advanced: { assumeV1: false } })
      expect(await tone(server, sends[method], { 'A2A-Version': version })).toBe(expected)
    },
  )

  it(proves('RM-DET-1', 'is named in the hint for methods of another one'), async () => {
    await using server = await testServer(echoAgent)
    const { body } = await new OlderClient(server).send('POST', '/', sends['v0.3'], { 'A2A-Version': '1.0' })
    expect(body).toMatchObject({ error: { code: -32601, message: expect.stringContaining('A2A-Version') } })
    const other = await new OlderClient(server).error('SendMessage', {}, { 'A2A-Version': '0.3' })
    expect(other).toMatchObject({ code: -32601, message: expect.stringContaining('A2A-Version') })
  })

  it(proves('RM-DET-1', 'may be in the query; the header takes precedence'), async () => {
    await using server = await testServer(echoAgent)
    expect(await tone(server, sends['v0.3'], {}, '/?A2A-Version=1.0')).toBe(-32601)
    expect(await tone(server, sends['v0.3'], { 'A2A-Version': '0.3' }, '/?A2A-Version=1.0')).toBe('v0.3')
  })

  it.each(usual)(proves(['RM-DET-1', 'RL-ALL-3'], 'is refused where %s is switched off'), async (off) => {
    await using server = await testServer(echoAgent, { dialects: usual.filter((name) => name !== off) })
    const version = { v1: '1.0', 'v0.3': '0.3', 'v0.1': '0.1' }[off]
    expect(await tone(server, sends[off], { 'A2A-Version': version })).toBe(-32009)
    expect(await tone(server, sends[off])).toBe(-32601)
  })
})

describe('/v1/…', () => {
  it(proves('RM-DET-2', 'is 0.3’s HTTP+JSON unless v1.0 is named'), async () => {
    await using server = await testServer(echoAgent)
    const client = new OlderClient(server)
    for (const version of [undefined, '', '0.3', '0.2', '0.3.0']) {
      const body = { message: protoMessage('hello') }
      const answer = await client.send('POST', '/v1/message:send', body, { 'A2A-Version': version })
      expect([answer.status, answer.body], String(version)).toMatchObject([
        200,
        { task: { history: [{ content: [{ text: 'hello' }] }] } },
      ])
    }
  })

  it.each([
    ['POST', '/v1/message:send', { message: userMessage('hello') }],
    ['GET', '/v1/tasks', undefined],
    ['GET', '/v1/tasks/any', undefined],
  ])(proves('RM-DET-2', 'is a tenant to callers of v1.0, and there is none: %s %s'), async (verb, path, body) => {
    await using server = await testServer(echoAgent, { advanced: { tenants: ['acme'] } })
    const answer = await server.rest(verb, path, body)
    // `readRefusal` checks that the form is v1.0's.
    expect(answer.status).toBe(404)
    expect(['TASK_NOT_FOUND', 'METHOD_NOT_FOUND']).toContain(readRefusal(answer).reason)
  })
})

describe('GET /tasks/{id}', () => {
  const ended = async (server: TestServer) => (await server.over('JSON-RPC').send('hello')).id

  it(proves('RM-DET-3', 'is v1.0’s for callers that name v1.0, also where task-rest is served'), async () => {
    await using server = await testServer(echoAgent, { dialects: 'all' })
    const id = await ended(server)
    expect((await server.rest('GET', `/tasks/${id}`)).body).toMatchObject({ status: { state: 'TASK_STATE_COMPLETED' } })
    const query = await new OlderClient(server).fetch('GET', `/tasks/${id}?A2A-Version=1.0`)
    expect(query).toMatchObject({ status: { state: 'TASK_STATE_COMPLETED' } })
    expect(readRefusal(await server.rest('GET', '/tasks/nope')).reason).toBe('TASK_NOT_FOUND')
  })

  it(proves('RM-DET-3', 'is task-rest’s for others where that is served'), async () => {
    await using server = await testServer(echoAgent, { dialects: 'all' })
    const client = new OlderClient(server)
    const events = await client.fetch('GET', `/tasks/${await ended(server)}`)
    expect(events).toMatchObject({ status: { state: 'completed' }, artifacts: [{ index: 0, lastChunk: true }] })
    const unknown = await client.send('GET', '/tasks/nope')
    expect([unknown.status, unknown.body]).toMatchObject([404, { detail: expect.any(String), error: { code: -32001 } }])
  })

  it.each([
    [true, 200],
    [false, 404],
  ])(
    proves(['RM-DET-3', 'RM-DET-1'], 'is assumed to be v1.0’s elsewhere, if that is assumed: %j'),
    async (assumeV1, status) => {
      await using server = await testServer(echoAgent, { advanced: { assumeV1 } })
      const answer = await new OlderClient(server).send('GET', `/tasks/${await ended(server)}`)
      expect(answer.status).toBe(status)
      if (assumeV1) expect(answer.body).toMatchObject({ status: { state: 'TASK_STATE_COMPLETED' } })
    },
  )
})

describe('methods that versions share', () => {
  const shared = async (server: TestServer, id: string, headers: HeaderList = {}) => {
    const got = await new OlderClient(server).result('tasks/get', { id }, headers)
    return got.kind === 'task' ? 'v0.3' : 'sessionId' in got ? 'v0.1' : JSON.stringify(got)
  }

  it(proves('RM-DET-4', 'answer as the task was made: 0.1 for 0.1’s, else 0.3'), async () => {
    await using server = await testServer(echoAgent, { dialects: 'all' })
    const client = new OlderClient(server)
    await client.result('tasks/send', params01('job-1', 'hello'))
    await new OlderClient(server, { path: '/go' }).result('tasks/send', params01('go-1', 'hello'))
    const { id: v03 } = await client.result<OldTask>('message/send', { message: message03('hello') })
    const { id: v1 } = await server.over('JSON-RPC').send('hello')
    const { id: rest } = await client.fetch<OldTask>('POST', '/tasks/send', body01('hello'))
    expect(await shared(server, 'job-1')).toBe('v0.1')
    for (const id of [v03, v1, rest]) expect(await shared(server, id)).toBe('v0.3')
    // A caller that names a version gets it.
    expect(await shared(server, 'job-1', { 'A2A-Version': '0.3' })).toBe('v0.3')
    expect(await shared(server, v03, { 'A2A-Version': '0.1' })).toBe('v0.1')
  })

  it(proves('RM-DET-4', 'cancel and resubscribe likewise'), async () => {
    await using server = await testServer(echoAgent)
    const client = new OlderClient(server)
    await client.result('tasks/send', params01('job-1', 'ask'))
    const { id } = await client.result<OldTask>('message/send', { message: message03('ask') })
    const first = async (taskId: string) => {
      const stream = await server.stream('POST', '/', rpc('tasks/resubscribe', { id: taskId }), {
        'A2A-Version': undefined,
      })
      const event = await stream.next()
      await stream.close()
      return event?.raw.result as Json
    }
    expect(await first('job-1')).toMatchObject({ id: 'job-1', status: { state: 'input-required' }, final: false })
    expect(await first(id)).toMatchObject({ kind: 'task', id })
    expect(await client.result('tasks/cancel', { id: 'job-1' })).toMatchObject({
      id: 'job-1',
      sessionId: expect.any(String),
    })
    expect(await client.result('tasks/cancel', { id })).toMatchObject({ kind: 'task' })
  })

  it(proves('RM-DET-4', 'say in 0.3’s words that a task is unknown'), async () => {
    await using server = await testServer(echoAgent)
    expect((await new OlderClient(server).error('tasks/get', { id: 'nope' })).code).toBe(-32001)
    const [events] = await readEvents(
      await new OlderClient(server).request('POST', '/', rpc('tasks/resubscribe', { id: 'nope' })),
    )
    expect(events?.data).toMatchObject({ error: { code: -32001 } })
  })

  it(proves('RM-DET-4', 'are one dialect’s where a path is pinned to it'), async () => {
    const dialects: DialectChoice = [
      'v1',
      'v0.3',
      { dialect: 'v0.1', path: '/old' },
      { dialect: 'v0.3', path: '/three' },
    ]
    await using server = await testServer(echoAgent, { dialects })
    const { id } = await server.over('JSON-RPC').send('hello')
    const at = (path: string) => new OlderClient(server, { path })
    expect(await at('/old').result('tasks/get', { id })).toHaveProperty('sessionId')
    expect(await at('/three').result('tasks/get', { id })).toHaveProperty('kind', 'task')
    expect((await at('/old').error('message/send', { message: message03('x') })).code).toBe(-32601)
    expect((await at('/three').error('tasks/send', params01('j', 'x'))).code).toBe(-32601)
    expect((await at('/').error('tasks/send', params01('j', 'x'))).code).toBe(-32601)
  })
})

describe('what else a request looks like', () => {
  it(proves('RM-DET-5', 'does not turn a v1.0 call into an older one'), async () => {
    await using server = await testServer(echoAgent)
    const task = await server.over('JSON-RPC').send({ kind: 'message', parts: [{ kind: 'text', text: 'hello' }] })
    expect(task.history?.[0]?.parts).toEqual([{ text: 'hello' }])
    expect(task.history?.[0]).not.toHaveProperty('kind')
  })

  const extensible = agent(
    { name: 'Extensible', extensions: [{ uri: 'urn:test:a' }] },
    async function* ({ extensions }) {
      yield extensions.join()
    },
  )

  it(proves(['RM-DET-6', 'R3-EXT-1'], 'names extensions to 0.x by either header, to v1.0 by its own'), async () => {
    await using server = await testServer(extensible, { dialects: 'all' })
    const active = async (body: unknown, headers: HeaderList) => {
      const answer = await new OlderClient(server).send('POST', '/', body, headers)
      return [answer.headers.get('a2a-extensions'), answer.headers.get('x-a2a-extensions')]
    }
    const list = rpc('tasks/list')
    expect(await active(list, { 'X-A2A-Extensions': 'urn:test:a' })).toEqual([null, 'urn:test:a'])
    expect(await active(list, { 'A2A-Extensions': 'urn:test:a' })).toEqual([null, 'urn:test:a'])
    const v1 = rpc('ListTasks')
    expect(await active(v1, { 'A2A-Version': '1.0', 'X-A2A-Extensions': 'urn:test:a' })).toEqual([null, null])
    expect(await active(v1, { 'A2A-Version': '1.0', 'A2A-Extensions': 'urn:test:a' })).toEqual(['urn:test:a', null])
  })

  it(proves(['RM-DET-6', 'RL-L1-8'], 'never takes X-A2A-Version for A2A-Version'), async () => {
    await using server = await testServer(echoAgent, { dialects: 'all', advanced: { assumeV1: false } })
    for (const version of ['1.0', '99.0', '0.3']) {
      const headers = { 'X-A2A-Version': version }
      expect(await tone(server, sends['v0.3'], headers)).toBe('v0.3')
      expect(await tone(server, sends.v1, headers)).toBe(-32601)
      expect((await new OlderClient(server).send('GET', '/v1/tasks', undefined, headers)).status).toBe(200)
    }
    // And A2A-Version means nothing on the paths of invoke.
    const { status } = await new OlderClient(server).send(
      'POST',
      '/a2a/invoke',
      { input: 'hi' },
      { 'X-A2A-Version': '1.0' },
    )
    expect(status).toBe(200)
  })
})

describe('dialect, tenant and caller', () => {
  it(proves('RM-DET-7', 'are kept with the task they made'), async () => {
    const store = new MemoryStore()
    await using server = await testServer(echoAgent, { dialects: 'all', store, advanced: { tenants: ['acme'] } })
    const client = new OlderClient(server)
    const record = async (id: string) => (await store.load({ agent: 'Echo', id }))?.record
    const { id } = await client.result<OldTask>('message/send', { message: message03('ask') })
    expect(await record(id)).toMatchObject({ dialect: 'v0.3', tenant: '', owner: 'anonymous' })
    await client.result('tasks/send', params01(id, 'second'))
    expect(await record(id)).toMatchObject({ dialect: 'v0.3' })
    const path = '/acme/'
    await new OlderClient(server, { path }).result('tasks/send', params01('t-1', 'hello'))
    expect(await record('t-1')).toMatchObject({ dialect: 'v0.1', tenant: 'acme' })
    const chat = await new OlderClient(server, { path: '/api/v1/a2a' }).result('message/send', {
      message: message03('ask'),
    })
    expect(await record(String(chat.taskId))).toMatchObject({ dialect: 'chat-rpc' })
    const asked = await client.fetch('POST', '/a2a/invoke', { input: 'ask' })
    expect(await record(String(asked.task_id))).toMatchObject({ dialect: 'invoke' })
  })
})

describe('a dialect that is switched off', () => {
  const doors: readonly (readonly [DialectName, string, string, unknown])[] = [
    ['v0.3', 'POST', '/v1/message:send', { message: protoMessage('hello') }],
    ['v0.3', 'GET', '/v1/tasks', undefined],
    ['task-rest', 'POST', '/tasks/send', body01('hello')],
    ['task-rest', 'POST', '/tasks/sendSubscribe', body01('hello')],
    ['invoke', 'POST', '/a2a/invoke', { input: 'hello' }],
    ['invoke', 'POST', '/a2a/stream', { input: 'hello' }],
    ['chat-rpc', 'POST', '/api/v1/a2a', rpc('message/send', { message: message03('hello') })],
    ['chat-rpc', 'POST', '/a2a/v1', rpc('message/send', { message: message03('hello') })],
    ['v0.1-go', 'POST', '/go', rpc('tasks/send', params01('g', 'hello'))],
  ]

  it.each(doors)(proves('RL-ALL-3', 'leaves nothing behind: %s, %s %s'), async (name, verb, path, body) => {
    const everything: readonly DialectName[] = ['v1', 'v0.3', 'v0.1', 'v0.1-go', 'task-rest', 'invoke', 'chat-rpc']
    await using on = await testServer(echoAgent, { dialects: everything })
    const answer = await new OlderClient(on).request(verb, path, body)
    expect(answer.status).toBe(200)
    expect(await answer.text()).not.toContain('"error"')
    await using off = await testServer(echoAgent, { dialects: everything.filter((each) => each !== name) })
    expect((await new OlderClient(off).send(verb, path, body)).status).toBe(404)
  })

  it.each(doors.filter(([name]) => name !== 'v0.3'))(
    proves('RL-ALL-3', 'is off unless asked for: %s, %s %s'),
    async (_name, verb, path, body) => {
      await using server = await testServer(echoAgent)
      expect((await new OlderClient(server).send(verb, path, body)).status).toBe(404)
    },
  )

  it.each([
    ['v0.1', '/nothing'],
    ['chat-rpc', '/nothing'],
    [{ dialect: 'v0.1-go', path: '/go' }, '/go/nothing'],
  ] as const)(
    proves('RL-ALL-3', 'answers 404 to a GET of an unknown path, also where only JSON-RPC is served: %j, %s'),
    async (dialect, path) => {
      await using server = await testServer(echoAgent, { dialects: [dialect] })
      expect((await new OlderClient(server).request('GET', path)).status).toBe(404)
    },
  )

  it(proves('RL-ALL-3', 'is rejected by its version where nothing older than v1.0 is served'), async () => {
    await using server = await testServer(echoAgent, { dialects: ['v1'] })
    for (const [version, body] of [
      ['0.3', sends['v0.3']],
      ['0.1', sends['v0.1']],
    ] as const) {
      expect(await tone(server, body, { 'A2A-Version': version })).toBe(-32009)
      expect(await tone(server, body)).toBe(-32601)
    }
  })

  it(proves('RL-ALL-3', 'may be v1.0 itself'), async () => {
    await using server = await testServer(echoAgent, { dialects: ['v0.3', 'v0.1'] })
    const answer = await server.rpc('ListTasks')
    expect(readOldError(answer).code).toBe(-32009)
    expect((await server.rest('GET', '/tasks')).status).toBe(404)
    expect(await tone(server, sends.v1)).toBe(-32601)
  })
})
