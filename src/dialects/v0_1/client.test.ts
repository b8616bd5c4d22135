import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { proves } from '../../../conformance/proves.js'
import { A2AError } from '../../model/errors.js'
import type { StreamResponse } from '../../model/event.js'
import type { Operation } from '../../model/operations.js'
import type { SendMessageRequest } from '../../model/service.js'
import type { Task } from '../../model/task.js'
import { TaskFold } from '../../model/task-fold.js'
import type { IncomingFrame, JsonRpcClientForm } from '../client-dialect.js'
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
import { damaged, tasks } from './arbitrary.fixture.js'
import { v0_1Client, v0_1GoClient } from './client.js'
import { v0_1, v0_1Go } from './index.js'

const profiles = [
  ['v0.1', v0_1Client.jsonrpc as JsonRpcClientForm, v0_1.jsonrpc as JsonRpcForm],
  ['v0.1-go', v0_1GoClient.jsonrpc as JsonRpcClientForm, v0_1Go.jsonrpc as JsonRpcForm],
] as const
const [[, client], [, goClient]] = profiles

const ask: SendMessageRequest = {
  message: { messageId: 'm1', contextId: 's-1', role: 'ROLE_USER', parts: [{ text: 'Two lines please' }] },
}
const task: Task = {
  id: 't1',
  contextId: 's-1',
  status: { state: 'TASK_STATE_COMPLETED', timestamp: '2026-01-05T08:00:00.000Z' },
  artifacts: [{ artifactId: 'artifact-0', name: 'lines', parts: [{ text: 'a' }, { data: [1] }] }],
}
const webhook = {
  taskId: 't1',
  id: 't1',
  url: 'https://hook.example',
  token: 'k',
  authentication: { scheme: 'Bearer', credentials: 'c' },
}

function read(form: JsonRpcClientForm, frames: readonly (IncomingFrame | object)[], request: SendMessageRequest = ask) {
  const facts = numberedFacts()
  const sentParams = sent(form.operations.sendStreamingMessage?.encode(request, facts))
  const stream = { operation: 'sendStreamingMessage', request, sent: sentParams, facts } as const
  return streamed(
    form.createStreamDecoder(stream),
    frames.map((frame) => ('data' in frame ? frame : { data: frame })),
  )
}

describe.each(profiles)('%s calls', (name, form, server) => {
  const exchange = (operation: Operation, request: unknown) => exchangeOverJsonRpc(form, server, operation, request)

  it(proves('RM-ID-1', 'generate the id of a new task, and of a missing session'), () => {
    const message = { messageId: 'm1', role: 'ROLE_USER' as const, parts: [{ text: 'x' }] }
    expect(exchange('sendMessage', { message }).params).toMatchObject({ id: 'id-2', sessionId: 'id-1' })
    expect(exchange('sendMessage', ask).params).toMatchObject({ id: 'id-1', sessionId: 's-1' })
  })

  it('continue a known task under its id and in its session', () => {
    const message = { messageId: 'm1', taskId: 't1', role: 'ROLE_USER' as const, parts: [{ text: 'x' }] }
    const { params } = exchange('sendMessage', { message })
    expect(params).toMatchObject({ id: 't1' })
    expect(params).not.toHaveProperty('sessionId')
  })

  it('send every member of a message that v0.1 can express', () => {
    const { id: _id, taskId: _taskId, ...config } = webhook
    const message = { ...ask.message, metadata: { k: 1 }, referenceTaskIds: ['t0'] }
    const configuration = { historyLength: 2, taskPushNotificationConfig: config }
    const { request, call } = exchange('sendMessage', { message, configuration, metadata: { trace: 'x' } })
    expect(call).toBe('tasks/send')
    expect(request).toEqual({
      message,
      configuration: {
        historyLength: name === 'v0.1' ? 2 : 0,
        taskPushNotificationConfig: { id: 'id-1', ...config },
      },
      metadata: { trace: 'x' },
    })
  })

  it('decode the response as a task', () => {
    expect(exchange('sendMessage', ask).answer({ task })).toEqual({ task })
    expect(exchange('getTask', { id: 't1', historyLength: 3 }).answer(task)).toEqual(task)
    expect(exchange('cancelTask', { id: 't1', metadata: { why: 'late' } }).answer(task)).toEqual(task)
  })

  it('take the session from the request if the response has none', () => {
    const answer = { id: 't1', status: { state: 'completed' } }
    const decode = form.operations.sendMessage?.decode
    expect(decode?.(answer, ask, numberedFacts())).toMatchObject({ task: { id: 't1', contextId: 's-1' } })
  })

  it('name tasks by their ids', () => {
    expect(exchange('getTask', { id: 't1' }).params).toEqual({ id: 't1' })
    expect(exchange('cancelTask', { id: 't1' }).request).toEqual({ id: 't1' })
    expect(exchange('subscribeToTask', { id: 't1' })).toMatchObject({
      call: 'tasks/resubscribe',
      request: { id: 't1' },
    })
  })

  it(proves('RL-GO-4', 'decode webhooks with or without their task, and delete them with null'), () => {
    const created = exchange('createTaskPushNotificationConfig', webhook)
    expect([created.request, created.answer(webhook)]).toEqual([webhook, webhook])
    expect(exchange('getTaskPushNotificationConfig', { taskId: 't1', id: 't1' }).answer(webhook)).toEqual(webhook)
    const deleted = exchange('deleteTaskPushNotificationConfig', { taskId: 't1', id: 't1' })
    expect(deleted.operation).toBe('deleteTaskPushNotificationConfig')
    expect(deleted.answer(undefined)).toBeUndefined()
  })

  it('find no webhook in an empty response', () => {
    const decode = form.operations.getTaskPushNotificationConfig?.decode
    for (const answer of [null, { id: 't1', pushNotificationConfig: null }]) {
      expect(refusalOf(() => decode?.(answer, { taskId: 't1' }, numberedFacts())).code).toBe('TASK_NOT_FOUND')
    }
  })

  it('do not exist for operations that v0.1 lacks', () => {
    for (const operation of ['listTasks', 'listTaskPushNotificationConfigs', 'getExtendedAgentCard'] as const) {
      expect([form.operations[operation], form.methods[operation]]).toEqual([undefined, undefined])
    }
  })

  it('decode any task of the server, except for the documented losses', () => {
    fc.assert(
      fc.property(tasks, (model) => {
        const answered = exchange('getTask', { id: model.id }).answer(model) as Task
        expect({ id: answered.id, state: answered.status.state }).toEqual({ id: model.id, state: model.status.state })
        expect(answered.artifacts?.map(({ parts }) => parts)).toEqual(sent(model.artifacts?.map(({ parts }) => parts)))
      }),
    )
  })
})

describe.each(profiles)('%s streams', (_name, form, server) => {
  const about = { taskId: 'id-1', contextId: 's-1' }
  const chunk = (text: string, more: object = {}): StreamResponse => ({
    artifactUpdate: { ...about, artifact: { artifactId: 'x', parts: [{ text }] }, ...more },
  })
  const working: Task = { id: 'id-1', contextId: 's-1', status: { state: 'TASK_STATE_WORKING' } }

  it(proves(['RM-STR-2', 'RL-01-6'], 'begin with the task and merge artifacts by index'), () => {
    const { events, isOver } = exchangeOverJsonRpc(form, server, 'sendStreamingMessage', ask).stream([
      { task: working },
      chunk('a'),
      chunk('b', { append: true, lastChunk: true }),
      { statusUpdate: { ...about, status: { state: 'TASK_STATE_COMPLETED' } } },
    ])
    expect(events[0]).toEqual({ task: working })
    expect(isOver).toBe(true)
    expect(folded(events)).toEqual({
      ...working,
      status: { state: 'TASK_STATE_COMPLETED' },
      artifacts: [{ artifactId: 'artifact-0', parts: [{ text: 'a' }, { text: 'b' }] }],
    })
  })

  it('have the actual states of tasks', () => {
    for (const state of ['TASK_STATE_AUTH_REQUIRED', 'TASK_STATE_REJECTED', 'TASK_STATE_INPUT_REQUIRED'] as const) {
      const message = { messageId: 'q', role: 'ROLE_AGENT' as const, parts: [{ text: 'Which?' }], metadata: { k: 1 } }
      const { events } = exchangeOverJsonRpc(form, server, 'sendStreamingMessage', ask).stream([
        { task: working },
        { statusUpdate: { ...about, status: { state, message } } },
      ])
      expect(events.at(-1)).toEqual({ statusUpdate: { ...about, status: { state, message } } })
    }
  })

  it('that are joined include earlier artifacts', () => {
    const joined = { ...working, artifacts: [{ artifactId: 'x', parts: [{ text: 'a' }] }] }
    const exchange = exchangeOverJsonRpc(form, server, 'subscribeToTask', { id: 'id-1' })
    const { events } = exchange.stream([
      { task: joined },
      chunk('b', { append: true }),
      { statusUpdate: { ...about, status: { state: 'TASK_STATE_FAILED' } } },
    ])
    const result = folded(events)
    // Stream events do not name the session of a joined task.
    expect([result?.contextId, result?.status.state, textsOf(result as Task)]).toEqual([
      'id-1',
      'TASK_STATE_FAILED',
      ['ab'],
    ])
  })

  it('of an ended task have its artifacts before its final status', () => {
    const ended: Task = { ...working, status: { state: 'TASK_STATE_COMPLETED' }, artifacts: task.artifacts ?? [] }
    for (const items of [[{ task: ended }], [{ task: working }, { task: ended }]]) {
      const streams = exchangeOverJsonRpc(form, server, 'sendStreamingMessage', ask).stream(items)
      expect(folded(streams.events)).toEqual(ended)
      expect(streams.isOver).toBe(true)
    }
  })

  it('fold to the artifacts of the task for any events', () => {
    const updates = fc.array(
      fc.record({ id: fc.constantFrom('x', 'y', 'z'), text: fc.string({ minLength: 1 }), append: fc.boolean() }),
    )
    fc.assert(
      fc.property(updates, fc.constantFrom('sendStreamingMessage' as const, 'subscribeToTask' as const), (all, how) => {
        const fold = TaskFold.from(working, 0)
        const events: StreamResponse[] = [{ task: working }]
        for (const { id, text, append } of all) {
          const body = { artifactUpdate: { ...about, artifact: { artifactId: id, parts: [{ text }] }, append } }
          fold.apply({ seq: fold.seq + 1, time: 0, body })
          events.push(body)
        }
        const request = how === 'subscribeToTask' ? { id: 'id-1' } : ask
        const result = folded(exchangeOverJsonRpc(form, server, how, request).stream(events).events)
        expect(result?.artifacts?.map(({ parts }) => parts)).toEqual(
          fold.snapshot()?.artifacts?.map(({ parts }) => parts),
        )
      }),
    )
  })

  it('throw only A2AError for any input', () => {
    const status = { id: 't', status: { state: 'working', message: { role: 'agent', parts: [{}] } }, final: false }
    const artifact = { id: 't', artifact: { index: 1, parts: [{ type: 'text', text: 'x' }], append: true } }
    const whole = { id: 't', sessionId: 's', status: { state: 'working' }, artifacts: [artifact.artifact], history: [] }
    const frame = fc.oneof(fc.jsonValue(), damaged(status), damaged(artifact), damaged(whole))
    const names = fc.constantFrom(undefined, 'rpc_result', 'task_status_update', 'message')
    fc.assert(
      fc.property(fc.array(fc.tuple(frame, names), { minLength: 1 }), (frames) => {
        const decoder = form.createStreamDecoder({
          operation: 'sendStreamingMessage',
          request: ask,
          sent: { id: 't' },
          facts: numberedFacts(),
        })
        for (const [data, event] of frames) {
          expectA2AErrors(() => decoder.decode(event === undefined ? { data } : { event, data }))
        }
      }),
    )
  })
})

describe('a stream of v0.1', () => {
  it(proves(['RL-01-4', 'RL-01-6'], 'is decoded as v0.1 servers send it'), () => {
    const lines = (parts: object[], more: object = {}) => ({
      id: 'job-7',
      artifact: { name: 'lines', index: 0, parts, ...more },
    })
    const { events, isOver } = read(client, [
      { event: 'message', data: { id: 'job-7', status: { state: 'working', timestamp: '2026-01-05T08:00:00Z' } } },
      lines([{ type: 'text', text: 'a' }]),
      lines([{ type: 'text', text: 'b' }], { append: true, lastChunk: true }),
      { id: 'job-7', status: { state: 'completed', timestamp: '2026-01-05T08:00:02Z' }, final: true },
    ])
    const about = { taskId: 'job-7', contextId: 's-1' }
    const artifact = { artifactId: 'artifact-0', name: 'lines' }
    expect(isOver).toBe(true)
    expect(events).toEqual([
      {
        task: {
          id: 'job-7',
          contextId: 's-1',
          status: { state: 'TASK_STATE_WORKING', timestamp: '2026-01-05T08:00:00.000Z' },
        },
      },
      { artifactUpdate: { ...about, artifact: { ...artifact, parts: [{ text: 'a' }] } } },
      {
        artifactUpdate: { ...about, artifact: { ...artifact, parts: [{ text: 'b' }] }, append: true, lastChunk: true },
      },
      {
        statusUpdate: { ...about, status: { state: 'TASK_STATE_COMPLETED', timestamp: '2026-01-05T08:00:02.000Z' } },
      },
    ])
  })

  it('is about the requested task if its events name none', () => {
    const { events } = read(client, [{ artifact: { parts: [{ type: 'text', text: 'x' }] } }])
    expect(events).toMatchObject([
      { task: { id: 'id-1', contextId: 's-1', status: { state: 'TASK_STATE_WORKING' } } },
      { artifactUpdate: { taskId: 'id-1', artifact: { artifactId: 'artifact-0' } } },
    ])
  })

  it('may have whole tasks, of which only new artifact content counts', () => {
    const artifacts = [{ index: 0, parts: [{ type: 'text', text: 'ab' }] }]
    const { events, isOver } = read(client, [
      { id: 't', sessionId: 's-9', status: { state: 'submitted' } },
      { id: 't', artifact: { index: 0, parts: [{ type: 'text', text: 'a' }] } },
      { id: 't', artifact: { index: 0, parts: [{ type: 'text', text: 'b' }], append: true } },
      {
        id: 't',
        sessionId: 's-9',
        status: { state: 'completed' },
        artifacts: [...artifacts, { index: 1, parts: [{ type: 'text', text: 'c' }] }],
      },
    ])
    expect(isOver).toBe(true)
    expect(events.map((event) => Object.keys(event)[0])).toEqual([
      'task',
      'artifactUpdate',
      'artifactUpdate',
      'artifactUpdate',
      'statusUpdate',
    ])
    expect(textsOf(folded(events) as Task)).toEqual(['ab', 'c'])
  })

  it.each([
    ['an end that is marked as final', { state: 'completed' }, true, true],
    ['an end that is not marked at all', { state: 'canceled' }, undefined, true],
    ['an end that is marked as not final', { state: 'failed' }, false, false],
    ['a question that is marked as final', { state: 'input-required' }, true, true],
    ['a question that is not', { state: 'input-required' }, undefined, false],
  ])('ends after %s: %#', (_what, status, final, isOver) => {
    expect(read(client, [{ id: 't', status, final }]).isOver).toBe(isOver)
  })

  it(proves('RL-L2-1', 'ends after [DONE] and ignores later frames'), () => {
    const decoder = client.createStreamDecoder({
      operation: 'sendStreamingMessage',
      request: ask,
      sent: { id: 't' },
      facts: numberedFacts(),
    })
    expect(decoder.decode({ data: '[DONE]' })).toEqual([])
    expect(decoder.isOver).toBe(true)
    expect(decoder.decode({ data: { id: 't', status: { state: 'working' } } })).toEqual([])
  })
})

describe('a stream of the Go library', () => {
  it(
    proves(['RL-GO-1', 'RL-GO-2', 'RL-GO-3'], 'is decoded as its servers send it, and ends at the final status'),
    () => {
      const { events, isOver } = read(goClient, [
        { event: 'rpc_result', data: { id: 'g-1', status: { state: 'pending', timestamp: '2026-01-05T08:00:00Z' } } },
        { event: 'task_status_update', data: { id: 'g-1', status: { state: 'processing' } } },
        {
          event: 'task_artifact_update',
          data: {
            id: 'g-1',
            artifact: {
              parts: [{ text: 'hello' }, { file: { uri: 'https://f.example/a' }, mimeType: 'image/png' }],
              lastChunk: true,
            },
            final: true,
          },
        },
        { event: 'task_status_update', data: { id: 'g-1', status: { state: 'completed' }, final: true } },
      ])
      expect(isOver).toBe(true)
      expect(folded(events)).toEqual({
        id: 'g-1',
        contextId: 's-1',
        status: { state: 'TASK_STATE_COMPLETED' },
        artifacts: [
          {
            artifactId: 'artifact-0',
            parts: [{ text: 'hello' }, { url: 'https://f.example/a', mediaType: 'image/png' }],
          },
        ],
      })
    },
  )

  it(proves('RL-GO-2', 'that is joined begins with a response without content'), () => {
    const { events, isOver } = read(goClient, [
      { event: 'rpc_result', data: { status: 'resubscription initiated' } },
      { event: 'task_artifact_update', data: { id: 'g-1', artifact: { parts: [{ text: 'a' }] }, final: true } },
    ])
    expect(events.map((event) => Object.keys(event)[0])).toEqual(['task', 'artifactUpdate'])
    expect(isOver).toBe(false)
  })
})

describe('errors of v0.1', () => {
  it.each([
    [-32001, 'TASK_NOT_FOUND'],
    [-32006, 'UNSUPPORTED_OPERATION'],
    [-32007, 'UNAUTHENTICATED'],
    [-32008, 'PERMISSION_DENIED'],
    [-32009, 'UNSUPPORTED_OPERATION'],
    [-32010, 'RATE_LIMITED'],
    [-32011, 'UNAVAILABLE'],
  ])('%i means %s (RM-ERR-1)', (code, meaning) => {
    expect(client.decodeError({ code, message: 'No' })).toMatchObject({ code: meaning, message: 'No' })
  })

  it('state that the peer does not stream', () => {
    expect(client.decodeError({ code: -32006, message: 'No' }).details.metadata).toEqual({ capability: 'streaming' })
  })

  it(proves('RM-ERR-2', 'of our servers decode to the original error'), () => {
    const metadata = { taskId: 't', state: 'TASK_STATE_COMPLETED' }
    const violations = [{ field: 'a.b', description: 'is bad' }]
    for (const error of [
      new A2AError('INVALID_AGENT_RESPONSE', 'a'),
      new A2AError('UNSUPPORTED_OPERATION', 'b', { metadata }),
      new A2AError('INVALID_PARAMS', 'c', { violations }),
      new A2AError('RATE_LIMITED', 'd', { retryAfterSeconds: 3 }),
    ]) {
      const encoded = (v0_1.jsonrpc as JsonRpcForm).encodeError(error)
      const { code, message, details } = client.decodeError(sent(encoded))
      expect({ code, message, details }).toEqual({ code: error.code, message: error.message, details: error.details })
    }
  })

  it(proves('RM-ERR-4', 'with an unknown code keep code, message and data'), () => {
    const error = client.decodeError({ code: -32099, message: 'Odd', data: { why: 'x' } })
    expect(error).toMatchObject({ code: 'INTERNAL_ERROR', message: 'Odd' })
    expect(Object.values(error.details.metadata ?? {})).toEqual(expect.arrayContaining(['-32099', 'x']))
  })
})

describe('cards', () => {
  it('of both profiles are decoded', () => {
    const card = { name: 'n', url: 'https://a.example', version: '1', capabilities: {}, skills: [] }
    expect(v0_1Client.card?.decode(card)).toMatchObject({ supportedInterfaces: [{ protocolBinding: 'JSONRPC' }] })
    expect(v0_1GoClient.card?.decode({ ...card, iconUri: 'https://i.example' })).toMatchObject({
      iconUrl: 'https://i.example',
    })
  })
})
