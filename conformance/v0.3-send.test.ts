import { agent, artifact, failed, file } from 'dragoman'
import { describe, expect, it } from 'vitest'
import { echoAgent } from '../src/testing/echo-agent.js'
import { type Json, testServer } from './fixture.js'
import {
  message03,
  OlderClient,
  type OldMessage,
  type OldTask,
  readOldError,
  rpc,
  textOfTask,
} from './older-fixture.js'
import { proves } from './proves.js'

const mirror = agent('Mirror', async function* ({ message }) {
  yield artifact('same', message.parts)
})

describe('sending in 0.3', () => {
  it(
    proves(['R3-SEND-1', 'R3-SEND-6', 'R3-DM-1'], 'answers with the bare task, every object with its kind'),
    async () => {
      await using server = await testServer(echoAgent)
      const task = await new OlderClient(server).result<OldTask>('message/send', { message: message03('hello') })
      expect(task).toEqual({
        kind: 'task',
        id: expect.stringMatching(/^\S+$/),
        contextId: expect.stringMatching(/^\S+$/),
        status: { state: 'completed', timestamp: expect.stringMatching(/Z$/) },
        artifacts: [{ artifactId: expect.any(String), parts: [{ kind: 'text', text: 'hello' }] }],
        history: [
          {
            kind: 'message',
            messageId: expect.any(String),
            contextId: task.contextId,
            taskId: task.id,
            role: 'user',
            parts: [{ kind: 'text', text: 'hello' }],
          },
        ],
      })
    },
  )

  it(proves(['R3-SEND-1', 'R3-SEND-6', 'R3-DM-1'], 'answers with the bare message'), async () => {
    await using server = await testServer(echoAgent)
    expect(await new OlderClient(server).result('message/send', { message: message03('msg hi') })).toEqual({
      kind: 'message',
      messageId: expect.stringMatching(/^\S+$/),
      contextId: expect.stringMatching(/^\S+$/),
      role: 'agent',
      parts: [{ kind: 'text', text: 'hi' }],
    })
  })

  it(proves('R3-DM-1', 'names the kind of every part and of status messages'), async () => {
    const kinds = agent('Kinds', async function* () {
      yield artifact('all', [{ text: 't' }, { data: { d: 1 } }, { url: 'https://a.example/f' }])
      yield artifact('bytes', file(new Uint8Array([1])))
      yield failed('No more')
    })
    await using server = await testServer(kinds)
    const { artifacts, status } = await new OlderClient(server).result<OldTask>('message/send', {
      message: message03('go'),
    })
    const kindsOf = artifacts?.flatMap(({ parts }) => parts.map(({ kind }) => kind))
    expect([kindsOf, status.message?.kind]).toEqual([['text', 'data', 'file', 'file'], 'message'])
  })

  it.each([
    ['a message without its kind', { kind: undefined }, 'hello'],
    ['a text without its kind', { parts: [{ text: 'plain' }] }, 'plain'],
    ['data without its kind', { parts: [{ data: { a: 1 } }] }, '?'],
    ['a file without its kind', { parts: [{ file: { uri: 'https://a.example/f' } }] }, '?'],
    ['an unknown member', { unheardOf: { deep: [1] }, parts: [{ kind: 'text', text: 'x', odd: 1 }] }, 'x'],
  ])(proves(['R3-DM-1', 'R3-DM-4', 'RL-02-3'], 'reads %s'), async (_what, members, text) => {
    await using server = await testServer(mirror)
    const task = await new OlderClient(server).result<OldTask>('message/send', { message: message03(members) })
    expect([task.status.state, textOfTask(task)]).toEqual(['completed', text])
    expect(JSON.stringify(task)).not.toMatch(/unheardOf|odd/)
  })

  it.each([
    ['bytes', { bytes: 'aGk=' }, { bytes: 'aGk=' }],
    ['fileWithBytes', { fileWithBytes: 'aGk=' }, { bytes: 'aGk=' }],
    ['data', { data: 'aGk=' }, { bytes: 'aGk=' }],
    ['uri', { uri: 'https://a.example/f' }, { uri: 'https://a.example/f' }],
    ['fileWithUri', { fileWithUri: 'https://a.example/f' }, { uri: 'https://a.example/f' }],
    ['bytes in the alphabet of addresses', { bytes: '-_-_' }, { bytes: '+/+/' }],
    ['bytes without padding', { bytes: 'aGk' }, { bytes: 'aGk=' }],
  ])(
    proves(['R3-DM-2', 'RM-PART-5'], 'takes a file by its %s, and returns it as 0.3 does'),
    async (_what, given, expected) => {
      await using server = await testServer(mirror)
      const about = { name: 'f.txt', mimeType: 'text/plain' }
      const parts = [{ kind: 'file', file: { ...given, ...about } }]
      const task = await new OlderClient(server).result<OldTask>('message/send', { message: message03({ parts }) })
      expect(task.artifacts?.[0]?.parts).toEqual([{ kind: 'file', file: { ...expected, ...about } }])
    },
  )

  it.each([
    ['two contents', { kind: 'file', file: { bytes: 'aGk=', uri: 'https://a.example/f' } }, 'message.parts[0].file'],
    ['no content', { kind: 'file', file: { name: 'f' } }, 'message.parts[0].file'],
    ['a list for data', { kind: 'data', data: [1] }, 'message.parts[0].data'],
    ['an unknown kind', { kind: 'video', video: 'x' }, 'message.parts[0]'],
  ])(proves(['R3-DM-2', 'R3-RPC-2'], 'refuses a part with %s'), async (_what, part, field) => {
    await using server = await testServer(mirror)
    const { code, message } = await new OlderClient(server).error('message/send', {
      message: message03({ parts: [part] }),
    })
    expect(code).toBe(-32602)
    expect(message).toContain(field)
  })

  it.each([
    ['id', { messageId: undefined }, 'message.messageId'],
    ['role', { role: undefined }, 'message.role'],
    ['known role', { role: 'ROLE_NOBODY' }, 'message.role'],
    ['parts', { parts: undefined }, 'message.parts'],
    ['any part', { parts: [] }, 'message.parts'],
    ['list of parts', { parts: 'hello' }, 'message.parts'],
  ])(proves('R3-SEND-2', 'refuses a message without %s'), async (_what, members, field) => {
    await using server = await testServer(echoAgent)
    const client = new OlderClient(server)
    const { code, message } = await client.error('message/send', { message: message03(members) })
    expect([code, message]).toEqual([-32602, expect.stringMatching(`^${field}: [^;]+$`)])
    expect((await client.error('message/stream', { message: message03(members) })).code).toBe(-32602)
  })

  it(proves('R3-SEND-3', 'refuses messages to a task that has ended'), async () => {
    await using server = await testServer(echoAgent)
    const client = new OlderClient(server)
    const { id: taskId } = await client.result<OldTask>('message/send', { message: message03('hello') })
    expect((await client.error('message/send', { message: message03({ taskId }) })).code).toBe(-32004)
    expect((await client.error('message/stream', { message: message03({ taskId }) })).code).toBe(-32004)
  })

  it(proves('R3-SEND-4', 'knows neither unknown tasks nor tasks in another context'), async () => {
    await using server = await testServer(echoAgent)
    const client = new OlderClient(server)
    const { id: taskId } = await client.result<OldTask>('message/send', { message: message03('ask') })
    expect((await client.error('message/send', { message: message03({ taskId: 'nope' }) })).code).toBe(-32001)
    expect(await client.error('message/send', { message: message03({ taskId, contextId: 'other' }) })).toMatchObject({
      code: -32602,
      message: expect.stringContaining('message.contextId'),
    })
  })

  it(proves('R3-SEND-5', 'waits over JSON-RPC unless the caller asks otherwise'), async () => {
    await using server = await testServer(echoAgent)
    const client = new OlderClient(server)
    const state = async (configuration?: Json) =>
      (await client.result<OldTask>('message/send', { message: message03('sleep 50'), configuration })).status.state
    expect(await state()).toBe('completed')
    expect(await state({ acceptedOutputModes: [] })).toBe('completed')
    expect(await state({ blocking: true })).toBe('completed')
    expect(await state({ blocking: false })).toMatch(/^(submitted|working)$/)
  })

  it(proves('R3-SEND-6', 'keeps the context that a message names'), async () => {
    await using server = await testServer(echoAgent)
    const client = new OlderClient(server)
    const send = (text: string) =>
      client.result<OldTask>('message/send', {
        message: message03({ contextId: 'c-1', parts: [{ kind: 'text', text }] }),
      })
    const [first, second] = [await send('one'), await send('two')]
    expect([first.contextId, second.contextId]).toEqual(['c-1', 'c-1'])
    expect(first.id).not.toBe(second.id)
  })
})

describe('tasks in 0.3', () => {
  it(proves('R3-MTH-1', 'are made, read and cancelled by an agent that can do nothing else'), async () => {
    const plain = agent(
      { name: 'Plain', capabilities: { streaming: false, pushNotifications: false } },
      async function* ({ signal }) {
        yield 'begun'
        await new Promise((resolve) => signal.addEventListener('abort', resolve))
      },
    )
    await using server = await testServer(plain)
    const client = new OlderClient(server)
    const { id } = await client.result<OldTask>('message/send', {
      message: message03('go'),
      configuration: { blocking: false },
    })
    expect((await client.result<OldTask>('tasks/get', { id })).id).toBe(id)
    expect((await client.result<OldTask>('tasks/cancel', { id })).status.state).toBe('canceled')
    const params = { taskId: id, pushNotificationConfig: { url: 'https://client.example/hook' } }
    expect((await client.error('tasks/pushNotificationConfig/set', params)).code).toBe(-32003)
    expect((await client.error('message/stream', { message: message03('go') })).code).toBe(-32004)
    expect((await client.error('agent/getAuthenticatedExtendedCard')).code).toBe(-32004)
  })

  it.each(['tasks/get', 'tasks/cancel'])(
    proves(['R3-GET-1', 'R3-CANCEL-1', 'R3-ERR-1'], 'that are not there are -32001 to %s, without data'),
    async (method) => {
      await using server = await testServer(echoAgent)
      expect(await new OlderClient(server).error(method, { id: 'nope' })).toEqual({
        code: -32001,
        message: 'Task not found: nope',
      })
    },
  )

  it(proves('R3-GET-2', 'show as much of their history as was asked for'), async () => {
    await using server = await testServer(echoAgent)
    const client = new OlderClient(server)
    const { id } = await client.result<OldTask>('message/send', { message: message03('ask') })
    await client.result('message/send', { message: message03({ taskId: id }) })
    const history = async (historyLength?: number) =>
      (await client.result<OldTask>('tasks/get', { id, historyLength })).history?.map((each: OldMessage) => each.role)
    expect(await history()).toEqual(['user', 'agent', 'user'])
    expect(await history(99)).toEqual(['user', 'agent', 'user'])
    expect(await history(2)).toEqual(['agent', 'user'])
    expect(await history(0)).toEqual([])
    expect((await client.error('tasks/get', { id, historyLength: -1 })).code).toBe(-32602)
  })

  it(proves(['R3-CANCEL-1', 'R3-DM-3'], 'are canceled, and found by either form of the state'), async () => {
    await using server = await testServer(echoAgent)
    const client = new OlderClient(server)
    const { id } = await client.result<OldTask>('message/send', { message: message03('ask') })
    expect(await client.result('tasks/cancel', { id })).toMatchObject({
      kind: 'task',
      id,
      status: { state: 'canceled' },
    })
    for (const status of ['canceled', 'cancelled']) {
      expect(await client.result('tasks/list', { status })).toMatchObject({ tasks: [{ id }], totalSize: 1 })
    }
  })

  it.each([
    ['hello', 'completed'],
    ['fail', 'failed'],
    ['reject', 'rejected'],
  ])(proves('R3-CANCEL-1', 'cannot be canceled after their end: %s'), async (text, state) => {
    await using server = await testServer(echoAgent)
    const client = new OlderClient(server)
    const { id } = await client.result<OldTask>('message/send', { message: message03(text) })
    expect((await client.error('tasks/cancel', { id })).code).toBe(-32002)
    expect((await client.result<OldTask>('tasks/get', { id })).status.state).toBe(state)
  })

  it(proves('R3-CANCEL-1', 'cannot be canceled twice'), async () => {
    await using server = await testServer(echoAgent)
    const client = new OlderClient(server)
    const { id } = await client.result<OldTask>('message/send', { message: message03('ask') })
    await client.result('tasks/cancel', { id })
    expect((await client.error('tasks/cancel', { id })).code).toBe(-32002)
  })

  it(proves('R3-MTH-3', 'are listed as the drafts after 0.3 do it'), async () => {
    await using server = await testServer(echoAgent)
    const client = new OlderClient(server)
    await client.result('message/send', { message: message03('hello') })
    const { contextId } = await client.result<OldTask>('message/send', { message: message03('ask') })
    expect(await client.result('tasks/list', { contextId })).toEqual({
      tasks: [expect.objectContaining({ kind: 'task', contextId })],
      totalSize: 1,
      pageSize: 1,
      nextPageToken: '',
    })
    expect(await client.result('tasks/list')).toMatchObject({ totalSize: 2 })
  })
})

describe('JSON-RPC in 0.3', () => {
  const named = { 'A2A-Version': '0.3' }

  it(proves('R3-RPC-1', 'is served at the address of the card, and answers errors with 200'), async () => {
    await using server = await testServer([{ agent: echoAgent, path: '/deep/echo' }], {
      publicUrl: 'https://agents.example',
    })
    const { body } = await server.rest('GET', '/deep/echo/.well-known/agent-card.json', undefined, named)
    const path = new URL(String(body.url)).pathname
    const client = new OlderClient(server, { path })
    expect(await client.result('message/send', { message: message03('hello') })).toMatchObject({ kind: 'task' })
    // `error` checks the status and the media type.
    expect((await client.error('tasks/get', { id: 'nope' })).code).toBe(-32001)
  })

  it.each([
    ['broken JSON', '{"jsonrpc":"2.0",', -32700, null],
    ['no JSON at all', 'hello', -32700, null],
    ['another version of the envelope', { ...rpc('tasks/get', { id: 'x' }), jsonrpc: '1.0' }, -32600, 7],
    ['no method', { jsonrpc: '2.0', id: 'a' }, -32600, 'a'],
    ['a method that is no text', { jsonrpc: '2.0', id: 'a', method: 7 }, -32600, 'a'],
    ['an id that is none', rpc('tasks/get', { id: 'x' }, { odd: 1 }), -32600, null],
    ['a list of calls', [rpc('tasks/get', { id: 'x' })], -32600, null],
    ['an unknown method', rpc('tasks/frobnicate', {}), -32601, 7],
    ['parameters that are no object', rpc('message/send', 'hello'), -32602, 7],
    ['no parameters', rpc('message/send'), -32602, 7],
    ['a member of the wrong type', rpc('tasks/get', { id: 7 }), -32602, 7],
    ['no id', { jsonrpc: '2.0', method: 'tasks/get', params: { id: 'nope' } }, -32001, null],
  ])(proves(['R3-RPC-2', 'RL-02-3'], 'answers %s'), async (_what, body, code, id) => {
    await using server = await testServer(echoAgent)
    for (const headers of [{}, named]) {
      const answer = await new OlderClient(server, { headers }).send('POST', '/', body)
      if ('A2A-Version' in headers) expect([readOldError(answer).code, answer.body.id]).toEqual([code, id])
      else expect([(answer.body.error as { code: number }).code, answer.body.id]).toEqual([code, id])
    }
  })
})
