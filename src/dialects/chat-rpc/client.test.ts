import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { proves } from '../../../conformance/proves.js'
import { A2AError } from '../../model/errors.js'
import type { StreamResponse } from '../../model/event.js'
import type { Operation } from '../../model/operations.js'
import type { SendMessageRequest } from '../../model/service.js'
import type { Task, TaskState } from '../../model/task.js'
import type { JsonRpcClientForm } from '../client-dialect.js'
import type { JsonRpcForm } from '../dialect.js'
import {
  exchangeOverJsonRpc,
  expectA2AErrors,
  folded,
  numberedFacts,
  refusalOf,
  sent,
  streamed,
  textsOf,
} from '../peer.fixture.js'
import { damaged } from '../v0_1/arbitrary.fixture.js'
import { chatRpcClient } from './client.js'
import { chatRpc } from './index.js'

const client = chatRpcClient.jsonrpc as JsonRpcClientForm // its only form
const server = chatRpc.jsonrpc as JsonRpcForm
const exchange = (operation: Operation, request: unknown) => exchangeOverJsonRpc(client, server, operation, request)

const ask: SendMessageRequest = {
  message: { messageId: 'm1', contextId: 'v1', role: 'ROLE_USER', parts: [{ text: 'Count to two' }] },
}
const about = { taskId: 'k1', contextId: 'v1' }
const working: Task = { id: 'k1', contextId: 'v1', status: { state: 'TASK_STATE_WORKING' } }
const says = (text: string) => ({
  messageId: 'a',
  contextId: 'v1',
  role: 'ROLE_AGENT' as const,
  parts: [{ text }],
})
const status = (state: TaskState, text?: string): StreamResponse => ({
  statusUpdate: { ...about, status: { state, ...(text !== undefined && { message: says(text) }) } },
})
const chunk = (text: string, append = true): StreamResponse => ({
  artifactUpdate: { ...about, artifact: { artifactId: 'x', parts: [{ text }] }, append },
})

function read(frames: readonly unknown[], request: SendMessageRequest = ask) {
  const stream = { operation: 'sendStreamingMessage', request, sent: {}, facts: numberedFacts() } as const
  return streamed(
    client.createStreamDecoder(stream),
    frames.map((data) => ({ data })),
  )
}

describe('calls', () => {
  it('arrive unchanged', () => {
    const request = { ...ask, metadata: { trace_id: 'x1' } }
    expect(exchange('sendMessage', request)).toMatchObject({ call: 'message/send', request })
    expect(exchange('getTask', { id: 'k1', historyLength: 1 }).request).toEqual({ id: 'k1', historyLength: 1 })
    expect(exchange('cancelTask', { id: 'k1', metadata: { a: 1 } }).request).toEqual({ id: 'k1', metadata: { a: 1 } })
  })

  it('get messages, or tasks for operations on tasks', () => {
    expect(exchange('sendMessage', ask).answer({ message: says('Hi') })).toEqual({
      message: { ...says('Hi'), metadata: {} },
    })
    expect(exchange('getTask', { id: 'k1' }).answer(working)).toEqual(working)
    expect(exchange('cancelTask', { id: 'k1' }).answer(working)).toEqual(working)
  })

  it('get a question as an interrupted task', () => {
    const task: Task = { ...working, status: { state: 'TASK_STATE_INPUT_REQUIRED', message: says('Which?') } }
    expect(exchange('sendMessage', ask).answer({ task })).toEqual({
      task: { ...task, status: { ...task.status, message: { ...says('Which?'), taskId: 'k1' } } },
    })
  })

  it('may get a task from servers of 0.3', () => {
    const answer = { kind: 'task', id: 'k1', contextId: 'v1', status: { state: 'completed' } }
    expect(client.operations.sendMessage?.decode(answer, ask, numberedFacts())).toMatchObject({ task: { id: 'k1' } })
  })

  it('do not exist for operations that chat-rpc lacks', () => {
    expect(Object.keys(client.operations)).toEqual(['sendMessage', 'sendStreamingMessage', 'getTask', 'cancelTask'])
  })
})

describe('a stream', () => {
  it(proves(['RM-STR-2', 'RL-L2-1'], 'begins with the task, adds chunks, and does not repeat the response'), () => {
    const { events, isOver } = exchange('sendStreamingMessage', ask).stream([
      { task: working },
      chunk('one ', false),
      chunk('two'),
      status('TASK_STATE_COMPLETED'),
    ])
    expect(isOver).toBe(true)
    expect(events).toEqual([
      { task: working },
      { artifactUpdate: { ...about, artifact: { artifactId: 'made', parts: [{ text: 'one ' }] } } },
      { artifactUpdate: { ...about, artifact: { artifactId: 'made', parts: [{ text: 'two' }] }, append: true } },
      status('TASK_STATE_COMPLETED'),
    ])
  })

  it('has the response at the end, without the progress messages (RM-STR-4)', () => {
    const { events } = exchange('sendStreamingMessage', ask).stream([
      { task: working },
      status('TASK_STATE_WORKING', 'Counting… '),
      chunk('one two'),
      status('TASK_STATE_COMPLETED'),
    ])
    expect(textsOf(folded(events) as Task)).toEqual(['one two'])
  })

  it('has files and data as separate artifacts, once', () => {
    const { events } = exchange('sendStreamingMessage', ask).stream([
      { task: working },
      {
        artifactUpdate: { ...about, artifact: { artifactId: 'a1', parts: [{ text: 'See: ' }, { data: { n: 1 } }] } },
      },
      status('TASK_STATE_COMPLETED'),
    ])
    expect(folded(events)?.artifacts?.map(({ parts }) => parts)).toEqual([[{ text: 'See: ' }], [{ data: { n: 1 } }]])
  })

  it('with only a final status keeps its message in the status', () => {
    const { events } = exchange('sendStreamingMessage', ask).stream([
      { task: working },
      status('TASK_STATE_COMPLETED', 'Done'),
    ])
    expect(folded(events)?.status.message?.parts).toEqual([{ text: 'Done' }])
  })

  it.each<[TaskState]>([['TASK_STATE_FAILED'], ['TASK_STATE_REJECTED'], ['TASK_STATE_INPUT_REQUIRED']])(
    'that ends with %s includes the reason',
    (state) => {
      const { events, isOver } = exchange('sendStreamingMessage', ask).stream([
        { task: working },
        chunk('Hm. '),
        status(state, 'Because'),
      ])
      expect(isOver).toBe(true)
      expect(folded(events)?.status).toMatchObject({ state, message: { parts: [{ text: 'Because' }] } })
    },
  )

  it('stays open while credentials are missing', () => {
    const frame = {
      task: { id: 'k1', state: 'auth-required', contextId: 'v1' },
      events: [
        {
          type: 'TaskStatusUpdateEvent',
          taskId: 'k1',
          state: 'auth-required',
          final: false,
          message: { messageId: 'q', parts: [{ kind: 'text', text: 'Log in' }] },
        },
      ],
      final: false,
    }
    expect(read([frame])).toMatchObject({
      isOver: false,
      events: [{ task: { status: { state: 'TASK_STATE_AUTH_REQUIRED', message: { role: 'ROLE_AGENT' } } } }],
    })
  })

  it('of a message without a task is that message', () => {
    const { events, isOver } = exchange('sendStreamingMessage', ask).stream([{ message: says('Hi') }])
    expect(isOver).toBe(true)
    expect(events).toEqual([{ message: { ...says('Hi'), metadata: {} } }])
  })

  it('that fails throws the error, with or without a task', () => {
    const broken = exchange('sendStreamingMessage', ask)
    const error = new A2AError('UNAVAILABLE', 'Shutting down')
    for (const events of [[], [{ task: working }]]) {
      expect(refusalOf(() => broken.breakWith(error, events))).toMatchObject({
        code: 'UNAVAILABLE',
        message: 'Shutting down',
      })
    }
  })

  it('of other servers is decoded', () => {
    const delta = (messageId: string, text: string) => ({
      task: { id: 'k1', state: 'working' },
      events: [
        {
          type: 'TaskStatusUpdateEvent',
          state: 'working',
          final: false,
          messageDelta: { messageId, parts: [{ kind: 'text', text }] },
        },
      ],
      final: false,
    })
    const last = {
      task: { id: 'k1', state: 'completed' },
      events: [
        {
          type: 'TaskStatusUpdateEvent',
          state: 'completed',
          final: true,
          message: { kind: 'message', messageId: 'd9', parts: [{ kind: 'text', text: 'one two' }], metadata: { t: 1 } },
        },
      ],
      final: true,
    }
    const { events, isOver } = read([delta('d1', 'one '), delta('d2', 'two'), last, '[DONE]'])
    expect(isOver).toBe(true)
    expect(events.at(-1)).toEqual({
      statusUpdate: { ...about, status: { state: 'TASK_STATE_COMPLETED' }, metadata: { t: 1 } },
    })
    expect(folded(events)).toMatchObject({
      id: 'k1',
      contextId: 'v1',
      artifacts: [{ artifactId: 'd1', parts: [{ text: 'one ' }, { text: 'two' }] }],
    })
  })

  it('ends after [DONE] alone, and may be one response that was not streamed (RL-L2-1)', () => {
    expect(read(['[DONE]'])).toEqual({ isOver: true, events: [] })
    expect(read([{ kind: 'message', messageId: 'a', parts: [{ kind: 'text', text: 'Hi' }] }])).toMatchObject({
      isOver: true,
      events: [{ message: { messageId: 'a', role: 'ROLE_AGENT' } }],
    })
  })

  it('folds a streamed text to the text', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ minLength: 1 }), { minLength: 1 }), (texts) => {
        const items = [{ task: working }, ...texts.map((text) => chunk(text)), status('TASK_STATE_COMPLETED')]
        const result = folded(exchange('sendStreamingMessage', ask).stream(items).events)
        expect([result?.status.state, textsOf(result as Task)]).toEqual(['TASK_STATE_COMPLETED', [texts.join('')]])
      }),
    )
  })

  it('throws only A2AError for any input', () => {
    const sample = {
      task: { id: 'k1', state: 'working', contextId: 'v1' },
      events: [
        { state: 'working', messageDelta: { messageId: 'd1', parts: [{ kind: 'text', text: 'x' }] } },
        { artifact: { artifactId: 'a', parts: [{ kind: 'data', data: {} }] }, append: true },
        { state: 'failed', final: true, message: { parts: [], metadata: { error: { reason: 'UNAVAILABLE' } } } },
      ],
      final: false,
    }
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.jsonValue(), damaged(sample)), { minLength: 1 }), (frames) => {
        expectA2AErrors(() => read(frames))
        for (const each of frames)
          expectA2AErrors(() => client.operations.sendMessage?.decode(each, ask, numberedFacts()))
        for (const data of frames) expect(client.decodeError({ code: 1, message: 'x', data })).toBeInstanceOf(A2AError)
      }),
    )
  })
})

describe('errors', () => {
  it('have 0.3 meanings; a failed task states its final state', () => {
    expect(client.decodeError({ code: -32001, message: 'x' }).code).toBe('TASK_NOT_FOUND')
    expect(client.decodeError({ code: -32603, message: 'x' }).code).toBe('INTERNAL_ERROR')
    const task: Task = { ...working, status: { state: 'TASK_STATE_CANCELED' } }
    const failure = refusalOf(() => exchange('sendMessage', ask).answer({ task }))
    expect(client.decodeError(sent(server.encodeError(failure)))).toMatchObject({
      code: 'INVALID_AGENT_RESPONSE',
      details: { metadata: { taskId: 'k1', state: 'canceled' } },
    })
  })
})
