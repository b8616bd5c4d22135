import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { proves } from '../../../conformance/proves.js'
import { A2AError } from '../../model/errors.js'
import type { StreamResponse } from '../../model/event.js'
import type { Operation } from '../../model/operations.js'
import type { SendMessageRequest } from '../../model/service.js'
import type { Task } from '../../model/task.js'
import type { JsonRpcClientForm, RestClientForm } from '../client-dialect.js'
import type { JsonRpcForm, RestForm } from '../dialect.js'
import {
  exchangeOverJsonRpc,
  exchangeOverRest,
  expectA2AErrors,
  folded,
  numberedFacts,
  refusalOf,
  sent,
  streamed,
  textsOf,
} from '../peer.fixture.js'
import { invokeClient } from './client.js'
import { createInvoke } from './index.js'

const invoke = createInvoke()
const rest = invokeClient.rest as RestClientForm // it has both forms
const jsonrpc = invokeClient.jsonrpc as JsonRpcClientForm

const forms = [
  [
    'HTTP',
    (operation: Operation, request: unknown) => exchangeOverRest(rest, invoke.rest as RestForm, operation, request),
  ],
  [
    'JSON-RPC',
    (operation: Operation, request: unknown) =>
      exchangeOverJsonRpc(jsonrpc, invoke.jsonrpc as JsonRpcForm, operation, request),
  ],
] as const

const ask: SendMessageRequest = {
  message: { messageId: 'm', contextId: 'c1', role: 'ROLE_USER', parts: [{ text: 'status of order 42' }] },
}
const about = { taskId: 't1', contextId: 'c1' }
const working: Task = { id: 't1', contextId: 'c1', status: { state: 'TASK_STATE_WORKING' } }
const says = (text: string) => ({ messageId: 'a', role: 'ROLE_AGENT' as const, parts: [{ text }] })
const chunk = (text: string, append = true): StreamResponse => ({
  artifactUpdate: { ...about, artifact: { artifactId: 'x', parts: [{ text }] }, append },
})
const completed: StreamResponse = { statusUpdate: { ...about, status: { state: 'TASK_STATE_COMPLETED' } } }

function read(frames: readonly unknown[], body: object = { chat_id: 'c1' }) {
  const stream = { operation: 'sendStreamingMessage', request: ask, sent: body, facts: numberedFacts() } as const
  return streamed(
    rest.createStreamDecoder(stream),
    frames.map((data) => ({ data })),
  )
}

describe.each(forms)('calls over %s', (_name, exchange) => {
  it('carry the text, the conversation, the task and further members', () => {
    const message = { ...ask.message, taskId: 't1', parts: [{ text: 'a' }, { text: 'b' }] }
    const { params } = exchange('sendMessage', { message, metadata: { user_id: 'u1', locale: 'en' } })
    expect(params).toEqual({ input: 'ab', chat_id: 'c1', task_id: 't1', user_id: 'u1', locale: 'en' })
  })

  it('carry data as a JSON value', () => {
    const message = { ...ask.message, parts: [{ data: { n: 1 } }] }
    expect(exchange('sendMessage', { message }).request).toMatchObject({ message: { parts: [{ data: { n: 1 } }] } })
  })

  it('generate a conversation id if none is given, except for a known task', () => {
    const { contextId: _contextId, ...message } = ask.message
    expect(exchange('sendStreamingMessage', { message }).params).toMatchObject({ chat_id: 'id-1' })
    const known = exchange('sendStreamingMessage', { message: { ...message, taskId: 't1' } })
    expect(known.params).toEqual({ input: 'status of order 42', task_id: 't1' })
  })

  it('get a message', () => {
    expect(exchange('sendMessage', ask).answer({ message: says('Order 42 shipped') })).toEqual({
      message: { ...says('Order 42 shipped'), messageId: 'id-2', contextId: 'c1' },
    })
  })

  it('get a question as an interrupted task', () => {
    const status = { state: 'TASK_STATE_INPUT_REQUIRED' as const, message: says('Which order?') }
    expect(exchange('sendMessage', ask).answer({ task: { ...working, status } })).toEqual({
      task: { ...working, status: { ...status, message: { ...says('Which order?'), messageId: 'id-2', ...about } } },
    })
  })

  it(proves('RM-STR-2', 'stream the chunks of one artifact and a final status'), () => {
    const { events, isOver } = exchange('sendStreamingMessage', ask).stream([
      { task: working },
      chunk('Looking ', false),
      chunk('up'),
      completed,
    ])
    expect(isOver).toBe(true)
    const ids = { taskId: 'id-2', contextId: 'c1' }
    expect(events).toEqual([
      { task: { id: 'id-2', contextId: 'c1', status: { state: 'TASK_STATE_WORKING' } } },
      { artifactUpdate: { ...ids, artifact: { artifactId: 'id-3', parts: [{ text: 'Looking ' }] } } },
      { artifactUpdate: { ...ids, artifact: { artifactId: 'id-3', parts: [{ text: 'up' }] }, append: true } },
      { statusUpdate: { ...ids, status: { state: 'TASK_STATE_COMPLETED' } } },
    ])
  })

  it(proves('RM-STR-4', 'have the response at the end of a stream, without the progress messages'), () => {
    const { events } = exchange('sendStreamingMessage', ask).stream([
      { task: working },
      { statusUpdate: { ...about, status: { state: 'TASK_STATE_WORKING', message: says('Looking up ') } } },
      chunk('Order 42 shipped'),
      completed,
    ])
    expect(textsOf(folded(events) as Task)).toEqual(['Order 42 shipped'])
  })

  it('stream a response without increments as a message', () => {
    const { events } = exchange('sendStreamingMessage', ask).stream([{ message: says('Hello') }])
    expect(events).toEqual([{ message: { ...says('Hello'), messageId: 'id-2', contextId: 'c1' } }])
  })

  it('take the task id from a question, and keep earlier content', () => {
    const status = { state: 'TASK_STATE_INPUT_REQUIRED' as const, message: says('Which?') }
    const { events, isOver } = exchange('sendStreamingMessage', ask).stream([
      { task: working },
      chunk('Two orders. '),
      { statusUpdate: { ...about, status } },
    ])
    expect(isOver).toBe(true)
    expect(folded(events)).toMatchObject({
      id: 't1',
      contextId: 'c1',
      status: { state: 'TASK_STATE_INPUT_REQUIRED', message: { parts: [{ text: 'Which?' }] } },
      artifacts: [{ parts: [{ text: 'Two orders. ' }] }],
    })
  })

  it('stream failures as failed tasks', () => {
    const failed: StreamResponse = {
      statusUpdate: { ...about, status: { state: 'TASK_STATE_FAILED', message: says('No such order') } },
    }
    for (const items of [
      [{ task: working }, failed],
      [{ task: working }, chunk('Hm. '), failed],
    ]) {
      const { events, isOver } = exchange('sendStreamingMessage', ask).stream(items)
      expect(isOver).toBe(true)
      expect(folded(events)?.status).toMatchObject({
        state: 'TASK_STATE_FAILED',
        message: { parts: [{ text: 'No such order' }] },
      })
    }
  })

  it('fold a streamed text to the text', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ minLength: 1 }), { minLength: 1 }), (texts) => {
        const items = [{ task: working }, ...texts.map((text) => chunk(text)), completed]
        const task = folded(exchange('sendStreamingMessage', ask).stream(items).events)
        expect([task?.status.state, textsOf(task as Task)]).toEqual(['TASK_STATE_COMPLETED', [texts.join('')]])
      }),
    )
  })
})

describe('requests', () => {
  it('go to the two paths, or are the two methods', () => {
    const addresses = (['sendMessage', 'sendStreamingMessage'] as const).map(
      (operation) => rest.operations[operation]?.encode(ask, numberedFacts()).path,
    )
    expect(addresses).toEqual(['/a2a/invoke', '/a2a/stream'])
    expect(jsonrpc.methods).toEqual({ sendMessage: 'invoke', sendStreamingMessage: 'stream' })
    expect(Object.keys(rest.operations)).toEqual(['sendMessage', 'sendStreamingMessage'])
  })

  it.each([
    [[{ text: 'x' }, { raw: 'aGk=' }], 'CONTENT_TYPE_NOT_SUPPORTED'],
    [[{ url: 'https://f.example' }], 'CONTENT_TYPE_NOT_SUPPORTED'],
    [[{ text: 'x' }, { data: { n: 1 } }], 'CONTENT_TYPE_NOT_SUPPORTED'],
    [[{ text: '' }], 'INVALID_PARAMS'],
  ])('of %j are refused instead of losing content', (parts, code) => {
    const request = { message: { ...ask.message, parts } }
    expect(refusalOf(() => rest.operations.sendMessage?.encode(request, numberedFacts())).code).toBe(code)
  })
})

describe('a stream of another server', () => {
  it('may end with another text, which is the response (RL-L1-4)', () => {
    const { events, isOver } = read([
      { output: 'Looking up ', status: 'processing' },
      { output: 'Order 42 shipped', status: 'success' },
    ])
    expect(isOver).toBe(true)
    expect(textsOf(folded(events) as Task)).toEqual(['Order 42 shipped'])
  })

  it('may end without a text: the increments are the response', () => {
    const { events } = read([{ output: 'All of it', status: 'processing' }, { status: 'success' }])
    expect([textsOf(folded(events) as Task), folded(events)?.status.state]).toEqual([
      ['All of it'],
      'TASK_STATE_COMPLETED',
    ])
  })

  it('may contain JSON', () => {
    const { events } = read([
      { output: { step: 1 }, status: 'processing' },
      { output: { total: 2 }, status: 'success' },
    ])
    expect(folded(events)?.artifacts?.map(({ parts }) => parts)).toEqual([[{ data: { total: 2 } }]])
  })

  it('may name the task in its chunks', () => {
    const { events } = read([
      { output: 'a', status: 'processing', task_id: 'k', chat_id: 'z' },
      { output: 'Which?', status: 'input_required', task_id: 'k' },
    ])
    expect(events.map((event) => Object.keys(event)[0])).toEqual(['task', 'artifactUpdate', 'statusUpdate'])
    expect(folded(events)).toMatchObject({ id: 'k', contextId: 'z' })
  })

  it('ends after [DONE], and its questions need no ids (RL-L2-1)', () => {
    expect(read([{ output: 'a', status: 'processing' }, '[DONE]', { output: 'b', status: 'success' }]).isOver).toBe(
      true,
    )
    expect(read([{ output: 'Which?', status: 'input_required' }]).events).toMatchObject([
      { task: { id: 'id-2', contextId: 'c1', status: { state: 'TASK_STATE_INPUT_REQUIRED' } } },
    ])
  })

  it('throws only A2AError for any input', () => {
    const chunks = fc.record(
      {
        output: fc.jsonValue(),
        error: fc.jsonValue(),
        status: fc.oneof(fc.constantFrom('processing', 'success', 'error', 'input_required'), fc.jsonValue()),
        task_id: fc.jsonValue(),
        chat_id: fc.jsonValue(),
      },
      { requiredKeys: [] },
    )
    fc.assert(
      fc.property(fc.array(fc.oneof(chunks, fc.jsonValue()), { minLength: 1 }), (frames) => {
        expectA2AErrors(() => read(frames))
        for (const each of frames)
          expectA2AErrors(() => jsonrpc.operations.sendMessage?.decode(each, ask, numberedFacts()))
        for (const each of frames) expect(rest.decodeError(500, each)).toBeInstanceOf(A2AError)
      }),
    )
  })
})

describe('errors', () => {
  it.each([
    [500, { error: 'No such order', status: 'error' }, 'INVALID_AGENT_RESPONSE', 'No such order'],
    [400, { error: 'input: is required', status: 'error' }, 'INVALID_PARAMS', 'input: is required'],
    [401, { error: 'Who are you?', status: 'error' }, 'UNAUTHENTICATED', 'Who are you?'],
    [503, { error: 'Shutting down', status: 'error' }, 'UNAVAILABLE', 'Shutting down'],
    [404, { detail: 'Not Found' }, 'METHOD_NOT_FOUND', 'Not Found'],
    [500, undefined, 'INTERNAL_ERROR', 'The agent answered HTTP 500'],
  ])('%i with %j is %s', (status, body, code, message) => {
    expect(rest.decodeError(status, body)).toMatchObject({ code, message })
  })

  it.each([
    [-32602, 'INVALID_PARAMS'],
    [-32603, 'INVALID_AGENT_RESPONSE'],
    [-32001, 'TASK_NOT_FOUND'],
    [-32000, 'INTERNAL_ERROR'],
  ])('%i is %s (RL-L1-6)', (code, meaning) => {
    expect(jsonrpc.decodeError({ code, message: 'x' }).code).toBe(meaning)
  })

  it('of our servers keep their codes', () => {
    const form = invoke.jsonrpc as JsonRpcForm
    for (const code of ['UNAUTHENTICATED', 'UNAVAILABLE', 'INTERNAL_ERROR', 'PAYLOAD_TOO_LARGE'] as const) {
      expect(jsonrpc.decodeError(sent(form.encodeError(new A2AError(code, 'x')))).code).toBe(code)
    }
  })
})
