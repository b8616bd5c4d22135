import { agent, apiKey, artifact, askAuth, MemoryStore, rejected } from 'dragoman'
import { describe, expect, it } from 'vitest'
import { echoAgent } from '../src/testing/echo-agent.js'
import { type Json, testServer, userMessage } from './fixture.js'
import { OlderClient, type OldTask, params01, readEvents, rpc, textOfTask } from './older-fixture.js'
import { proves } from './proves.js'

interface Event extends Json {
  readonly id: string
  readonly status?: OldTask['status']
  readonly artifact?: Json
  readonly final?: boolean
}

const outline = (events: readonly Event[]) =>
  events.map(({ status, artifact: piece, final }) =>
    piece ? `artifact ${piece.index}` : `${status?.state}${final ? '!' : ''}`,
  )

const callers = { auth: [apiKey({ a: 'alice', b: 'bob' })] }
const alice = { headers: { 'X-API-Key': 'a' } }
const bob = { headers: { 'X-API-Key': 'b' } }

describe('tasks in 0.1', () => {
  it(proves(['RL-01-1', 'RM-ID-1'], 'have the id and the session that the caller chose'), async () => {
    await using server = await testServer(echoAgent)
    const client = new OlderClient(server)
    const task = await client.result<OldTask>('tasks/send', params01('job-7', 'ask', { sessionId: 's-1' }))
    expect(task).toMatchObject({ id: 'job-7', sessionId: 's-1', status: { state: 'input-required' } })
    const again = await client.result<OldTask>('tasks/send', params01('job-7', 'second', { sessionId: 's-1' }))
    expect(again).toMatchObject({ id: 'job-7', sessionId: 's-1', status: { state: 'completed' } })
    expect(textOfTask(again)).toBe('ask\nsecond')
    expect(await server.over('JSON-RPC').task('job-7')).toMatchObject({ id: 'job-7', contextId: 's-1' })
  })

  it(proves('RM-ID-2', 'get a session when they name none, and always return it'), async () => {
    await using server = await testServer(echoAgent)
    const client = new OlderClient(server)
    const first = await client.result<OldTask>('tasks/send', params01('j-1', 'ask'))
    const second = await client.result<OldTask>('tasks/send', params01('j-2', 'ask'))
    expect(first.sessionId).toMatch(/^\S+$/)
    expect(second.sessionId).not.toBe(first.sessionId)
    // Going on needs no session.
    expect(await client.result('tasks/send', params01('j-1', 'x'))).toMatchObject({ sessionId: first.sessionId })
    expect(await client.result('tasks/get', { id: 'j-2' })).toMatchObject({ sessionId: second.sessionId })
  })

  it(proves('RL-01-1', 'are in no other session than their own'), async () => {
    await using server = await testServer(echoAgent)
    const client = new OlderClient(server)
    await client.result('tasks/send', params01('j', 'ask', { sessionId: 's-1' }))
    expect((await client.error('tasks/send', params01('j', 'x', { sessionId: 's-2' }))).code).toBe(-32602)
  })

  it.each([undefined, '', 7, 'x'.repeat(257), 'a b', 'a\u0000b'])(
    proves('RM-ID-1', 'cannot have every id: %j'),
    async (id) => {
      await using server = await testServer(echoAgent)
      const { code, data } = await new OlderClient(server).error('tasks/send', { ...params01('', 'hi'), id })
      expect([code, data?.fieldViolations?.map(({ field }) => field)]).toEqual([-32602, ['id']])
    },
  )

  it(proves('RM-ID-1', 'with another caller’s id are rejected without details'), async () => {
    await using server = await testServer(echoAgent, callers)
    await new OlderClient(server, alice).result('tasks/send', params01('mine', 'ask'))
    await new OlderClient(server, alice).result('tasks/send', params01('done', 'hello'))
    for (const method of ['tasks/send', 'tasks/sendSubscribe']) {
      for (const id of ['mine', 'done']) {
        const error = await new OlderClient(server, bob).error(method, params01(id, 'let me in'))
        expect(error).toMatchObject({ code: -32602, data: { fieldViolations: [{ field: 'id' }] } })
        expect(JSON.stringify(error)).not.toMatch(/alice|owner|belong|ended|state|another caller/i)
      }
    }
    for (const method of ['tasks/get', 'tasks/cancel', 'tasks/pushNotification/get']) {
      expect((await new OlderClient(server, bob).error(method, { id: 'mine' })).code, method).toBe(-32001)
    }
    expect(await new OlderClient(server, alice).result('tasks/get', { id: 'mine' })).toMatchObject({
      status: { state: 'input-required' },
    })
  })

  it(proves('RM-ID-1', 'are one task when two sends race for an id'), async () => {
    await using server = await testServer(echoAgent)
    const client = new OlderClient(server)
    const answers = await Promise.all(
      ['a', 'b', 'c'].map((text) => client.call('tasks/send', params01('race', `chunks 1 ${text}`))),
    )
    const ids = answers.flatMap(({ body }) => ('result' in body ? [(body.result as OldTask).id] : []))
    expect(new Set(ids)).toEqual(new Set(['race']))
    for (const { body } of answers) {
      if ('error' in body) expect(body.error).toMatchObject({ code: -32009 })
    }
  })

  it(proves('RL-01-2', 'that have ended take no more messages'), async () => {
    await using server = await testServer(echoAgent)
    const client = new OlderClient(server)
    for (const text of ['hello', 'fail']) {
      await client.result('tasks/send', params01(text, text))
      for (const method of ['tasks/send', 'tasks/sendSubscribe'])
        expect((await client.error(method, params01(text, 'again'))).code).toBe(-32009)
    }
    expect((await client.result<OldTask>('tasks/get', { id: 'hello' })).status.state).toBe('completed')
  })

  it(proves('RL-01-3', 'show as many messages as were asked for, and none else'), async () => {
    await using server = await testServer(echoAgent)
    const client = new OlderClient(server)
    const first = await client.result<OldTask>('tasks/send', params01('j', 'ask', { historyLength: 5 }))
    expect(first.history).toMatchObject([{ role: 'user' }, { role: 'agent' }])
    await client.result('tasks/send', params01('j', 'second'))
    const roles = async (historyLength?: number) =>
      (await client.result<OldTask>('tasks/get', { id: 'j', historyLength })).history?.map(({ role }) => role) ?? []
    expect(await roles(2)).toEqual(['agent', 'user'])
    expect(await roles(10)).toEqual(['user', 'agent', 'user'])
    expect(await roles(0)).toEqual([])
    expect(await roles()).toEqual([])
    expect((await client.error('tasks/get', { id: 'j', historyLength: -1 })).code).toBe(-32602)
  })

  it(proves('RM-STR-3', 'are made of messages, and can be read later'), async () => {
    await using server = await testServer(echoAgent)
    const client = new OlderClient(server)
    const task = await client.result<OldTask>('tasks/send', params01('m', 'msg just this'))
    const completed = { state: 'completed', message: { role: 'agent', parts: [{ type: 'text', text: 'just this' }] } }
    expect(task).toMatchObject({ id: 'm', status: completed })
    expect(await client.result('tasks/get', { id: 'm' })).toMatchObject({ id: 'm', status: completed })
    const events = await client.events<Event>('tasks/sendSubscribe', params01('n', 'msg just this'))
    expect(events.at(-1)).toMatchObject({ id: 'n', status: completed, final: true })
    expect(await server.over('JSON-RPC').state('n')).toBe('TASK_STATE_COMPLETED')
  })

  it('say in metadata what 0.1 has no state for', async () => {
    const other = agent('Other', async function* ({ text }) {
      yield text === 'auth' ? askAuth('Log in') : rejected('No')
    })
    await using server = await testServer(other)
    const client = new OlderClient(server)
    expect(await client.result('tasks/send', params01('r', 'reject'))).toMatchObject({
      status: { state: 'failed' },
      metadata: { a2aState: 'TASK_STATE_REJECTED' },
    })
    expect(await client.result('tasks/send', params01('a', 'auth'))).toMatchObject({
      status: { state: 'input-required', message: { parts: [{ text: 'Log in' }] } },
      metadata: { a2aState: 'TASK_STATE_AUTH_REQUIRED' },
    })
  })

  it(proves('RL-01-11', 'need no `jsonrpc` in their envelope, which others do'), async () => {
    await using server = await testServer(echoAgent)
    const client = new OlderClient(server)
    const { jsonrpc: _version, ...bare } = rpc('tasks/send', params01('j', 'hello'))
    expect((await client.send('POST', '/', bare)).body).toMatchObject({ jsonrpc: '2.0', id: 7, result: { id: 'j' } })
    const other = { id: 7, method: 'message/send', params: {} }
    expect((await client.send('POST', '/', other)).body).toMatchObject({ error: { code: -32600 } })
    expect((await client.send('POST', '/', { ...bare, jsonrpc: '1.0' })).body).toMatchObject({
      error: { code: -32600 },
    })
  })
})

describe('parts in 0.1', () => {
  const mirror = agent('Mirror', async function* ({ message }) {
    yield artifact('same', message.parts)
  })

  it.each([
    ['a file that is only named', { type: 'file', file: { name: 'a.pdf', mimeType: 'application/pdf' } }],
    ['a file in bytes', { type: 'file', file: { name: 'a.txt', mimeType: 'text/plain', bytes: 'aGk=' } }],
    ['a file by its address', { type: 'file', file: { uri: 'https://a.example/f' } }],
    ['a list as data', { type: 'data', data: [1, { two: 2 }] }],
    ['an object as data', { type: 'data', data: { deep: { n: null } }, metadata: { mark: 1 } }],
  ])(proves(['RM-PART-3', 'RM-PART-1'], 'come back as they went: %s'), async (_what, part) => {
    await using server = await testServer(mirror)
    const params = { id: 'j', message: { role: 'user', parts: [part] } }
    const task = await new OlderClient(server).result<OldTask>('tasks/send', params)
    expect(task.artifacts?.[0]?.parts).toEqual([part])
  })

  it(proves('RM-PART-3', 'that only name a file are data to v1.0'), async () => {
    await using server = await testServer(mirror)
    const parts = [{ type: 'file', file: { name: 'a.pdf' } }]
    await new OlderClient(server).result('tasks/send', { id: 'j', message: { role: 'user', parts } })
    const task = await server.over('JSON-RPC').task('j')
    expect(task.artifacts?.[0]?.parts).toEqual([
      { data: { file: { name: 'a.pdf' } }, metadata: { a2aFileReference: true } },
    ])
  })

  it(proves('RM-PART-1', 'wrap what is no object, and only v1.0 sees it unwrapped'), async () => {
    await using server = await testServer(mirror)
    const client = server.over('JSON-RPC')
    const { id } = await client.send({ parts: [{ data: 7 }, { data: null }, { data: 'x' }] })
    const wrapped = (value: unknown) => ({ type: 'data', data: { value }, metadata: { data_part_compat: true } })
    const task = await new OlderClient(server, { headers: { 'A2A-Version': '0.1' } }).result<OldTask>('tasks/get', {
      id,
    })
    expect(task.artifacts?.[0]?.parts).toEqual([wrapped(7), wrapped(null), wrapped('x')])
    expect((await client.task(id)).artifacts?.[0]?.parts).toEqual([{ data: 7 }, { data: null }, { data: 'x' }])
  })

  it.each([
    ['an unknown type', { type: 'video' }],
    ['two contents', { type: 'file', file: { bytes: 'aGk=', uri: 'https://a.example/f' } }],
    ['a text that is none', { type: 'text', text: 7 }],
  ])('are refused with %s', async (_what, part) => {
    await using server = await testServer(mirror)
    const params = { id: 'j', message: { role: 'user', parts: [part] } }
    const { code, data } = await new OlderClient(server).error('tasks/send', params)
    expect(code).toBe(-32602)
    expect(data?.fieldViolations?.[0]?.field).toMatch(/^message\.parts\[0\]/)
  })
})

describe('streams in 0.1', () => {
  it(proves('RL-01-5', 'begin with a status and end with a final one'), async () => {
    await using server = await testServer(echoAgent)
    const events = await new OlderClient(server).events<Event>('tasks/sendSubscribe', params01('j', 'chunks 2'))
    expect(outline(events)).toEqual(['submitted', 'working', 'artifact 0', 'artifact 0', 'completed!'])
    for (const event of events) expect(event.id).toBe('j')
    expect(events.slice(2, 4)).toMatchObject([
      { artifact: { parts: [{ type: 'text', text: 'chunk 1 ' }] } },
      { artifact: { parts: [{ type: 'text', text: 'chunk 2 ' }], append: true, lastChunk: true } },
    ])
  })

  it.each([
    ['ask', 'input-required!'],
    ['fail', 'failed!'],
    ['reject', 'failed!'],
    ['crash', 'failed!'],
  ])(proves('RL-01-5', 'end after %s'), async (word, last) => {
    await using server = await testServer(echoAgent)
    const events = await new OlderClient(server).events<Event>('tasks/sendSubscribe', params01('j', word))
    expect(outline(events).at(-1)).toBe(last)
    expect(events.filter(({ final }) => final === true)).toHaveLength(1)
  })

  it(proves('RL-01-7', 'that cannot begin are an ordinary error'), async () => {
    await using server = await testServer(echoAgent)
    const client = new OlderClient(server)
    expect((await client.error('tasks/sendSubscribe', { id: 'j' })).code).toBe(-32602)
    const old = new OlderClient(server, { headers: { 'A2A-Version': '0.1' } })
    expect((await old.error('tasks/resubscribe', { id: 'nope' })).code).toBe(-32001)
    const mute = agent({ name: 'Mute', capabilities: { streaming: false } }, async function* () {
      yield 'x'
    })
    await using silent = await testServer(mute)
    expect((await new OlderClient(silent).error('tasks/sendSubscribe', params01('j', 'hi'))).code).toBe(-32006)
  })

  it(proves('RL-01-7', 'that break are closed by an error in the envelope'), async () => {
    await using server = await testServer(echoAgent, {
      advanced: {
        wrap: (service) => ({
          ...service,
          async *sendStreamingMessage(request, context) {
            for await (const item of service.sendStreamingMessage(request, context)) {
              if ('artifactUpdate' in item.event) throw new Error('The disk is full')
              yield item
            }
          },
        }),
      },
    })
    const sent = await readEvents(
      await new OlderClient(server).request('POST', '/', rpc('tasks/sendSubscribe', params01('j', 'chunks 2'))),
    )
    expect(sent.at(-1)?.data).toMatchObject({
      jsonrpc: '2.0',
      id: 7,
      error: { code: -32603, message: 'Internal error' },
    })
    expect(JSON.stringify(sent)).not.toContain('disk')
  })

  it(proves(['RL-01-5', 'RL-01-2'], 'show what there is to those who come back, and -32009 at the end'), async () => {
    await using server = await testServer(echoAgent)
    const client = new OlderClient(server)
    await client.result('tasks/send', params01('j', 'ask'))
    const stream = await server.stream('POST', '/', rpc('tasks/resubscribe', { id: 'j' }), { 'A2A-Version': undefined })
    expect((await stream.next())?.raw.result).toMatchObject({
      id: 'j',
      status: { state: 'input-required' },
      final: false,
    })
    await client.result('tasks/send', params01('j', 'second'))
    const rest = (await stream.rest()).map(({ raw }) => raw.result as Event)
    expect(outline(rest).at(-1)).toBe('completed!')
    expect((await client.error('tasks/resubscribe', { id: 'j' })).code).toBe(-32009)
  })
})

describe('webhooks in 0.1', () => {
  const url = 'https://client.example/hook'
  const set = 'tasks/pushNotification/set'
  const get = 'tasks/pushNotification/get'

  it('are one for each task, and null takes it away', async () => {
    const store = new MemoryStore()
    await using server = await testServer(echoAgent, { store })
    const client = new OlderClient(server)
    await client.result('tasks/send', params01('j', 'ask'))
    const config = { url, token: 'tk', authentication: { schemes: ['Bearer'], credentials: 'c' } }
    expect(await client.result(set, { id: 'j', pushNotificationConfig: config })).toEqual({
      id: 'j',
      pushNotificationConfig: config,
    })
    await client.result(set, { id: 'j', pushNotificationConfig: { url: `${url}/2` } })
    expect(await client.result(get, { id: 'j' })).toEqual({ id: 'j', pushNotificationConfig: { url: `${url}/2` } })
    const stored = await store.deliveries.listConfigs({ agent: 'Echo', id: 'j' })
    expect(stored.map(({ config: { id, url: address } }) => [id, address])).toEqual([['j', `${url}/2`]])
    expect(await client.result(set, { id: 'j', pushNotificationConfig: null })).toEqual({
      id: 'j',
      pushNotificationConfig: null,
    })
    expect(await store.deliveries.listConfigs({ agent: 'Echo', id: 'j' })).toEqual([])
    expect((await client.error(get, { id: 'j' })).code).toBe(-32001)
  })

  it('are refused for unknown tasks, without an address, and by agents that have none', async () => {
    await using server = await testServer(echoAgent)
    const client = new OlderClient(server)
    expect((await client.error(set, { id: 'nope', pushNotificationConfig: { url } })).code).toBe(-32001)
    await client.result('tasks/send', params01('j', 'ask'))
    expect((await client.error(set, { id: 'j', pushNotificationConfig: {} })).code).toBe(-32602)
    expect((await client.error(set, { id: 'j' })).code).toBe(-32602)
    const quiet = agent('Quiet', async function* () {
      yield 'x'
    })
    await using other = await testServer(quiet)
    expect((await new OlderClient(other).error(set, { id: 'nope', pushNotificationConfig: { url } })).code).toBe(-32003)
  })
})

describe('callers of 0.1', () => {
  it.each(['tasks/send', 'tasks/sendSubscribe', 'tasks/pushNotification/set', 'tasks/pushNotification/get'])(
    proves('RL-01-10', 'need credentials in their headers for %s'),
    async (method) => {
      await using server = await testServer(echoAgent, callers)
      const params = { ...params01('j', 'hi', { apiKey: 'a' }), pushNotificationConfig: { url: 'https://a.example' } }
      const { status, headers, body } = await new OlderClient(server).call(method, params)
      expect([status, headers.get('www-authenticate')]).toEqual([401, 'ApiKey name="X-API-Key"'])
      expect(body).toMatchObject({
        jsonrpc: '2.0',
        id: 7,
        error: { code: -32007, data: { reason: 'UNAUTHENTICATED' } },
      })
    },
  )

  it(proves('RL-01-10', 'get 401 without credentials and 403 without permission'), async () => {
    await using server = await testServer(echoAgent)
    const { status, body } = await new OlderClient(server, { headers: { Origin: 'https://evil.example' } }).call(
      'tasks/send',
      params01('j', 'hi'),
    )
    expect([status, body]).toMatchObject([403, { error: { code: -32008 } }])
  })

  it(proves('RL-01-10', 'are asked for further credentials as for any input'), async () => {
    await using server = await testServer(echoAgent)
    const task = await new OlderClient(server).result<OldTask>('tasks/send', params01('j', 'auth'))
    expect(task.status).toMatchObject({
      state: 'input-required',
      message: { parts: [{ text: 'A credential is needed' }] },
    })
  })
})

describe('the Go library’s form of 0.1', () => {
  const go = { path: '/go' }

  it('has its own states, and asks no questions', async () => {
    await using server = await testServer(echoAgent, { dialects: 'all' })
    const client = new OlderClient(server, go)
    expect(await client.result('tasks/send', params01('g', 'hello'))).toMatchObject({ status: { state: 'completed' } })
    expect(await client.result('tasks/send', params01('h', 'ask'))).toMatchObject({
      status: { state: 'processing', message: { parts: [{ text: 'What is the second text?' }] } },
    })
    expect(await client.result('tasks/cancel', { id: 'h' })).toMatchObject({ status: { state: 'canceled' } })
  })

  it('streams named events, the first in an envelope and the others bare', async () => {
    await using server = await testServer(echoAgent, { dialects: 'all' })
    const request = rpc('tasks/sendSubscribe', params01('g', 'chunks 2'))
    const sent = await readEvents(await new OlderClient(server).request('POST', '/go', request))
    expect(sent.map(({ event }) => event)).toEqual([
      'rpc_result',
      'task_status_update',
      'task_artifact_update',
      'task_artifact_update',
      'task_status_update',
    ])
    expect(sent[0]?.data).toMatchObject({ jsonrpc: '2.0', id: 7, result: { id: 'g', status: { state: 'pending' } } })
    expect(sent[2]?.data).toMatchObject({ id: 'g', artifact: { parts: [{ text: 'chunk 1 ' }] } })
    expect(sent[3]?.data).toMatchObject({ id: 'g', artifact: { lastChunk: true }, final: true })
    expect(sent.at(-1)?.data).toMatchObject({ id: 'g', status: { state: 'completed' }, final: true })
  })

  it(proves('RL-GO-7', 'has no history, even on request'), async () => {
    await using server = await testServer(echoAgent, { dialects: 'all' })
    const client = new OlderClient(server, go)
    await client.result('tasks/send', params01('g', 'hello'))
    expect(await client.result('tasks/get', { id: 'g', historyLength: 5 })).not.toHaveProperty('history')
  })

  it(proves('RL-GO-5', 'takes "0" for the version of the envelope, which others do not'), async () => {
    await using server = await testServer(echoAgent, { dialects: 'all' })
    const odd = { ...rpc('tasks/send', params01('g', 'hello')), jsonrpc: '0' }
    expect((await new OlderClient(server).send('POST', '/go', odd)).body).toHaveProperty('result')
    expect((await new OlderClient(server).send('POST', '/', odd)).body).toMatchObject({ error: { code: -32600 } })
  })

  it('reads the same tasks as the other dialects', async () => {
    await using server = await testServer(echoAgent, { dialects: 'all' })
    const { task } = await server
      .over('JSON-RPC')
      .call<{ task: { id: string } }>('SendMessage', { message: userMessage('hello') })
    expect(await new OlderClient(server, go).result('tasks/get', { id: task.id })).toMatchObject({
      id: task.id,
      status: { state: 'completed' },
      artifacts: [{ parts: [{ text: 'hello' }] }],
    })
  })
})
