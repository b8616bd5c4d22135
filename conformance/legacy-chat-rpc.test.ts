import assert from 'node:assert/strict'
import { agent, apiKey, artifact, text } from 'dragoman'
import { until } from 'dragoman/testing'
import { describe, expect, it } from 'vitest'
import { echoAgent } from '../src/testing/echo-agent.js'
import { gate, type Json, testServer } from './fixture.js'
import { message03, OlderClient, type OldTask, readEvents, rpc } from './older-fixture.js'
import { proves } from './proves.js'

const dialects = ['v1', 'v0.3', 'chat-rpc'] as const
const paths = ['/api/v1/a2a', '/a2a/v1'] as const
const [path] = paths

interface Result {
  readonly task: { readonly id: string; readonly state: string; readonly contextId: string }
  readonly events: readonly (Json & { readonly type: string; readonly messageDelta?: Json; readonly message?: Json })[]
  readonly final: boolean
}

const plain = (said: string, more: Json = {}) => ({
  message: { role: 'user', parts: [{ kind: 'text', text: said }], ...more },
})

/** The results of a stream, after a check of its envelope and its end. */
async function results(response: Response): Promise<Result[]> {
  const sent = (await readEvents(response)).map(({ data }) => data)
  expect(sent.at(-1)).toBe('[DONE]')
  expect(sent.filter((data) => data === '[DONE]')).toHaveLength(1)
  return sent.slice(0, -1).map((data) => {
    const { jsonrpc, id, result } = data as Json
    expect([jsonrpc, id]).toEqual(['2.0', 7])
    expect(Object.keys(result as Json)).toEqual(['task', 'events', 'final'])
    return result as Result
  })
}

describe.each(paths)('chat-rpc at %s', (at) => {
  it(proves('RL-L2-1', 'streams in its own envelope and closes with [DONE]'), async () => {
    await using server = await testServer(echoAgent, { dialects })
    const response = await new OlderClient(server).request('POST', at, rpc('message/stream', plain('chunks 2')))
    const received = await results(response)
    const [
      {
        task: { id, contextId },
      } = assert.fail('An empty stream'),
    ] = received
    const event = { type: 'TaskStatusUpdateEvent', taskId: id }
    const delta = (said: string) => ({
      task: { id, state: 'working', contextId },
      events: [
        {
          ...event,
          state: 'working',
          final: false,
          messageDelta: { messageId: expect.any(String), contextId, parts: [{ kind: 'text', text: said }] },
        },
      ],
      final: false,
    })
    expect(received.filter(({ events }) => events.some(({ messageDelta }) => messageDelta))).toEqual([
      delta(''),
      delta('chunk 1 '),
      delta('chunk 2 '),
    ])
    expect(received.at(-1)).toEqual({
      task: { id, state: 'completed', contextId },
      events: [
        {
          ...event,
          state: 'completed',
          final: true,
          message: {
            kind: 'message',
            role: 'agent',
            messageId: expect.any(String),
            contextId,
            parts: [{ kind: 'text', text: 'chunk 1 chunk 2 ' }],
          },
        },
      ],
      final: true,
    })
    expect(received.filter(({ final }) => final)).toHaveLength(1)
  })

  it('answers sends with a message', async () => {
    await using server = await testServer(echoAgent, { dialects })
    const client = new OlderClient(server, { path: at })
    expect(await client.result('message/send', plain('hello', { contextId: 'c' }))).toMatchObject({
      kind: 'message',
      role: 'agent',
      messageId: expect.any(String),
      contextId: 'c',
      parts: [{ kind: 'text', text: 'hello' }],
    })
  })
})

describe('chat-rpc', () => {
  it(proves('RL-L2-1', 'leaves ordinary endpoints alone'), async () => {
    await using server = await testServer(echoAgent, { dialects })
    const sent = await readEvents(
      await new OlderClient(server).request('POST', '/', rpc('message/stream', { message: message03('chunks 2') })),
    )
    expect(JSON.stringify(sent)).not.toMatch(/\[DONE\]|messageDelta|TaskStatusUpdateEvent/)
    expect(sent.at(-1)?.data).toMatchObject({ result: { kind: 'status-update', final: true } })
  })

  it(proves('RL-L2-2', 'gives all deltas of an answer one id, and metadata back'), async () => {
    await using server = await testServer(echoAgent, { dialects })
    const client = new OlderClient(server, { path })
    const params = { ...plain('chunks 3'), metadata: { trace_id: 'x1' } }
    const received = await results(await client.request('POST', path, rpc('message/stream', params)))
    const messages = received.flatMap(({ events }) =>
      events.map(({ messageDelta, message }) => messageDelta ?? message),
    )
    const said = messages.filter((each) => each !== undefined)
    expect(said).toHaveLength(5) // the first delta is empty
    expect(new Set(said.map(({ messageId }) => messageId)).size).toBe(1)
    expect(said.at(-1)).toMatchObject({ metadata: { trace_id: 'x1' } })
    const answer = await client.result('message/send', { ...plain('hello'), metadata: { trace_id: 'x2' } })
    expect(answer).toMatchObject({ metadata: { trace_id: 'x2' } })
  })

  it(proves('RL-L2-2', 'goes on with a conversation by its context'), async () => {
    await using server = await testServer(echoAgent, { dialects })
    const client = new OlderClient(server, { path })
    const asked = await client.result('message/send', plain('ask', { contextId: 'c' }))
    expect(asked).toMatchObject({
      contextId: 'c',
      parts: [{ text: 'What is the second text?' }],
      metadata: { state: 'input-required' },
    })
    const answered = await client.result('message/send', plain('second', { contextId: 'c' }))
    expect(answered).toMatchObject({ contextId: 'c', parts: [{ text: 'ask\nsecond' }] })
    expect(answered.taskId).toBe(asked.taskId)
    // With two open questions the answer is ambiguous.
    await client.result('message/send', plain('ask', { contextId: 'd' }))
    await server.over('JSON-RPC').send({ contextId: 'd', parts: [{ text: 'ask' }] })
    expect(await client.result('message/send', plain('new', { contextId: 'd' }))).toMatchObject({
      parts: [{ text: 'new' }],
    })
  })

  it(proves('RM-STR-4', 'ends with the whole text, of artifacts before status messages'), async () => {
    await using server = await testServer(echoAgent, { dialects })
    for (const [said, whole] of [
      ['chunks 2', 'chunk 1 chunk 2 '],
      ['msg only this', 'only this'],
    ] as const) {
      const received = await results(
        await new OlderClient(server).request('POST', path, rpc('message/stream', plain(said))),
      )
      expect(received.at(-1)?.events[0]?.message).toMatchObject({ parts: [{ kind: 'text', text: whole }] })
    }
  })

  it(proves('RL-L2-3', 'reads and cancels real tasks'), async () => {
    const pending = gate()
    const slow = agent('Slow', async function* ({ signal }) {
      yield 'begun'
      pending.open()
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
    })
    await using server = await testServer(slow, { dialects })
    const client = new OlderClient(server, { path })
    const stream = client.request('POST', path, rpc('message/stream', plain('go')))
    await pending.opened
    const list = () => server.over('JSON-RPC').call<{ tasks: { id: string }[] }>('ListTasks')
    const id = await until(async () => (await list()).tasks[0]?.id)
    expect(await client.result<OldTask>('tasks/get', { id })).toMatchObject({
      kind: 'task',
      id,
      status: { state: 'working' },
    })
    expect(await client.result<OldTask>('tasks/cancel', { id })).toMatchObject({
      kind: 'task',
      id,
      status: { state: 'canceled' },
    })
    const received = await results(await stream)
    expect(received.at(-1)).toMatchObject({ task: { state: 'canceled' }, final: true })
  })

  it(proves('RL-L2-3', 'says -32001 and -32002 when they are true'), async () => {
    await using server = await testServer(echoAgent, { dialects })
    const client = new OlderClient(server, { path })
    expect((await client.error('tasks/get', { id: 'nope' })).code).toBe(-32001)
    expect((await client.error('tasks/cancel', { id: 'nope' })).code).toBe(-32001)
    const { id } = await server.over('JSON-RPC').send('hello')
    expect(await client.result('tasks/get', { id })).toMatchObject({ kind: 'task', status: { state: 'completed' } })
    expect((await client.error('tasks/cancel', { id })).code).toBe(-32002)
  })

  it.each([
    ['fail', 'failed', 'Failed as asked'],
    ['reject', 'rejected', 'Rejected as asked'],
    ['ask', 'input-required', 'What is the second text?'],
  ])(proves('RL-L2-4', 'ends a stream after %s'), async (word, state, said) => {
    await using server = await testServer(echoAgent, { dialects })
    const received = await results(
      await new OlderClient(server).request('POST', path, rpc('message/stream', plain(word))),
    )
    expect(received.at(-1)).toMatchObject({
      task: { state },
      events: [{ type: 'TaskStatusUpdateEvent', state, final: true, message: { parts: [{ text: said }] } }],
      final: true,
    })
  })

  it(proves('RL-L2-4', 'shows artifacts that are no text as events of their own'), async () => {
    const filed = agent('Filed', async function* () {
      yield artifact('both', [text('words'), { data: { n: 1 } }])
    })
    await using server = await testServer(filed, { dialects })
    const received = await results(
      await new OlderClient(server).request('POST', path, rpc('message/stream', plain('go'))),
    )
    const events = received.flatMap((each) => each.events)
    expect(events.find(({ type }) => type === 'TaskArtifactUpdateEvent')).toMatchObject({
      taskId: received[0]?.task.id,
      artifact: { parts: [{ kind: 'data', data: { n: 1 } }] },
      final: false,
    })
  })

  it.each([
    ['another envelope', { ...rpc('message/send', plain('x')), jsonrpc: '1.0' }, -32600],
    ['an unknown method', rpc('tasks/send', {}), -32601],
    ['parameters that are no object', rpc('message/send', []), -32602],
    ['no message', rpc('message/send', {}), -32602],
    ['a member of the wrong type', rpc('message/send', { message: { role: 'user', parts: 'x' } }), -32602],
    ['an agent that fails', rpc('message/send', plain('fail')), -32603],
  ])('refuses %s', async (_what, body, code) => {
    await using server = await testServer(echoAgent, { dialects })
    const answer = await new OlderClient(server).send('POST', path, body)
    expect([answer.status, answer.body]).toMatchObject([200, { id: 7, error: { code } }])
  })

  it(proves('RL-ALL-2', 'rejects calls without a key on either path'), async () => {
    await using server = await testServer(echoAgent, { dialects, auth: [apiKey('k')] })
    for (const at of paths) {
      for (const method of ['message/send', 'message/stream', 'tasks/get', 'tasks/cancel']) {
        const { status, headers, body } = await new OlderClient(server).send('POST', at, rpc(method, plain('x')))
        expect([status, headers.get('www-authenticate')]).toEqual([401, 'ApiKey name="X-API-Key"'])
        expect(body).toMatchObject({
          jsonrpc: '2.0',
          id: 7,
          error: { code: -32000, data: { reason: 'UNAUTHENTICATED' } },
        })
      }
    }
  })
})
