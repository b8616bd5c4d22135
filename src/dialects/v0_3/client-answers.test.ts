import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { A2AError } from '../../model/errors.js'
import type { Operation } from '../../model/operations.js'
import type { GrpcClientForm, JsonRpcClientForm, RestClientForm } from '../client-dialect.js'
import { facts } from '../client-pair.fixture.js'
import { damaged } from '../v0_1/arbitrary.fixture.js'
import { card } from './card.fixture.js'
import { v0_3Client } from './client.js'
import { v0_3 } from './index.js'

const jsonrpc = v0_3Client.jsonrpc as JsonRpcClientForm
const rest = v0_3Client.rest as RestClientForm
const grpc = v0_3Client.grpc as GrpcClientForm

describe('responses of other servers', () => {
  const asked = { message: { messageId: 'm' }, id: 't', taskId: 't' } as never // a request of every operation
  const overRpc = (operation: Operation, answer: unknown) => jsonrpc.operations[operation]?.decode(answer, asked, facts)
  const overRest = (operation: Operation, answer: unknown) =>
    rest.operations[operation]?.decode(answer, operation === 'sendMessage' ? asked : ({ taskId: 't' } as never), facts)

  it('of the official JavaScript SDK 0.2.5: no zones in times, no kinds in samples', () => {
    const answer = {
      id: 't',
      contextId: 'c',
      kind: 'task',
      status: {
        state: 'completed',
        timestamp: '2025-06-01T10:00:00.123456',
        message: {
          kind: 'message',
          role: 'agent',
          messageId: 'm2',
          parts: [{ kind: 'text', text: 'done' }],
          taskId: 't',
          contextId: 'c',
        },
      },
      artifacts: [
        {
          artifactId: 'a',
          name: 'out',
          parts: [{ type: 'text', text: 'x' }, { file: { uri: 'https://f.example', mimeType: 'image/png' } }],
        },
      ],
      history: [],
    }
    expect(overRpc('sendMessage', answer)).toEqual({
      task: {
        id: 't',
        contextId: 'c',
        status: {
          state: 'TASK_STATE_COMPLETED',
          timestamp: '2025-06-01T10:00:00.123Z',
          message: { messageId: 'm2', role: 'ROLE_AGENT', parts: [{ text: 'done' }], taskId: 't', contextId: 'c' },
        },
        artifacts: [
          {
            artifactId: 'a',
            name: 'out',
            parts: [{ text: 'x' }, { url: 'https://f.example', mediaType: 'image/png' }],
          },
        ],
      },
    })
  })

  it('of the official JavaScript SDK 0.3.14 over REST: every member is present, even if empty', () => {
    const answer = {
      task: {
        id: 't',
        contextId: 'c',
        status: { state: 'TASK_STATE_CANCELLED', message: undefined, timestamp: '2026-01-05T08:00:00.000Z' },
        artifacts: [
          {
            artifactId: 'a',
            name: '',
            description: '',
            parts: [{ data: { data: { k: [1] } } }],
            metadata: {},
            extensions: [],
          },
        ],
        history: [
          {
            messageId: 'm',
            contextId: '',
            taskId: '',
            role: 'ROLE_USER',
            content: [{ text: '' }, { file: { fileWithBytes: 'aGk=', mimeType: 'text/plain' } }],
            extensions: [],
          },
        ],
      },
    }
    expect(overRest('sendMessage', answer)).toEqual({
      task: {
        id: 't',
        contextId: 'c',
        status: { state: 'TASK_STATE_CANCELED', timestamp: '2026-01-05T08:00:00.000Z' },
        artifacts: [{ artifactId: 'a', parts: [{ data: { k: [1] } }], metadata: {} }],
        history: [
          { messageId: 'm', role: 'ROLE_USER', parts: [{ text: '' }, { raw: 'aGk=', mediaType: 'text/plain' }] },
        ],
      },
    })
  })

  it('of the Python SDK: `None` written out, times with an offset', () => {
    const answer = {
      kind: 'message',
      messageId: 'm2',
      role: 'agent',
      parts: [{ kind: 'data', data: { value: [1] }, metadata: { data_part_compat: true } }],
      contextId: null,
      taskId: null,
      metadata: null,
      extensions: null,
      referenceTaskIds: null,
    }
    expect(overRpc('sendMessage', answer)).toEqual({
      message: { messageId: 'm2', role: 'ROLE_AGENT', parts: [{ data: [1] }] },
    })
    const configured = {
      push_notification_config: { url: 'https://c.example', id: 't', authentication: null },
      task_id: 't',
    }
    expect(overRpc('createTaskPushNotificationConfig', configured)).toEqual({
      id: 't',
      taskId: 't',
      url: 'https://c.example',
    })
  })

  it('of the Go SDK over gRPC: protobuf messages with protobuf names', () => {
    const answer = {
      task: {
        id: 't',
        contextId: 'c',
        status: {
          state: 'TASK_STATE_INPUT_REQUIRED',
          update: { messageId: 'q', role: 'ROLE_AGENT', content: [{ text: '?' }] },
        },
      },
    }
    expect(grpc.operations.sendMessage?.decode(answer, asked, facts)).toEqual({
      task: {
        id: 't',
        contextId: 'c',
        status: {
          state: 'TASK_STATE_INPUT_REQUIRED',
          message: { messageId: 'q', role: 'ROLE_AGENT', parts: [{ text: '?' }] },
        },
      },
    })
    const said = { msg: { messageId: 'x', role: 'ROLE_AGENT', content: [{ text: 'hi' }] } }
    expect(grpc.operations.sendMessage?.decode(said, asked, facts)).toEqual({
      message: { messageId: 'x', role: 'ROLE_AGENT', parts: [{ text: 'hi' }] },
    })
  })

  it('over REST may be in the shape of JSON-RPC, and vice versa (R3-PB-2)', () => {
    const bare = { kind: 'task', id: 't', contextId: 'c', status: { state: 'failed' } }
    const read = { task: { id: 't', contextId: 'c', status: { state: 'TASK_STATE_FAILED' } } }
    expect(overRest('sendMessage', bare)).toEqual(read)
    expect(overRpc('sendMessage', { task: bare })).toEqual(read)
    expect(overRpc('getTask', { id: 't', context_id: 'c', status: { state: 'TASK_STATE_FAILED' } })).toEqual(read.task)
    const webhook = {
      taskId: 't',
      pushNotificationConfig: { id: 'h', url: 'u', authentication: { schemes: [], credentials: '***' } },
    }
    const config03 = { id: 'h', taskId: 't', url: 'u' }
    expect(overRest('getTaskPushNotificationConfig', webhook)).toEqual(config03)
    expect(
      overRpc('getTaskPushNotificationConfig', {
        name: 'tasks/t/pushNotificationConfigs/h',
        pushNotificationConfig: { url: 'u' },
      }),
    ).toEqual(config03)
    expect(overRest('createTaskPushNotificationConfig', { id: 'h', url: 'u' })).toEqual(config03)
    expect(overRpc('listTaskPushNotificationConfigs', { configs: [webhook] })).toEqual({
      configs: [config03],
      nextPageToken: '',
    })
  })

  it('about a webhook keep the peer’s id', () => {
    const answer = { taskId: 't', pushNotificationConfig: { id: 'default', url: 'u' } }
    expect(overRpc('getTaskPushNotificationConfig', answer)).toEqual({ id: 'default', taskId: 't', url: 'u' })
    expect(() => overRpc('getTaskPushNotificationConfig', { taskId: 't' })).toThrow(
      'pushNotificationConfig.url: is required',
    )
  })

  it('to a list of tasks may be an array', () => {
    const one = { id: 't', contextId: 'c', status: { state: 'TASK_STATE_WORKING' } }
    expect(overRest('listTasks', [one])).toEqual({ tasks: [one], nextPageToken: '', pageSize: 1, totalSize: 1 })
    expect(overRest('listTasks', { tasks: [one], totalSize: '3', nextPageToken: 'n' })).toEqual({
      tasks: [one],
      nextPageToken: 'n',
      pageSize: 1,
      totalSize: 3,
    })
    expect(overRest('listTasks', {})).toEqual({ tasks: [], nextPageToken: '', pageSize: 0, totalSize: 0 })
  })

  it('in the state `unknown` decode as working; states of no version are refused', () => {
    const inState = (state: unknown) => overRpc('getTask', { kind: 'task', id: 't', contextId: 'c', status: { state } })
    for (const state of ['unknown', 'UNKNOWN', 'TASK_STATE_UNSPECIFIED', '', null, 0])
      expect(inState(state)).toMatchObject({ status: { state: 'TASK_STATE_WORKING' } })
    expect(() => inState('archived')).toThrow(/^status\.state: must be one of/)
  })

  it('to a deletion are all accepted (R3-PUSH-3)', () => {
    for (const answer of [{}, null, undefined, '', 0])
      expect(overRpc('deleteTaskPushNotificationConfig', answer)).toBeUndefined()
  })

  it('that are malformed are refused with the path of the fault', () => {
    expect(() => overRpc('sendMessage', { kind: 'poem' })).toThrow('kind: must be one of task, message')
    expect(() => overRpc('sendMessage', { kind: 'status-update', taskId: 't', status: { state: 'working' } })).toThrow(
      'must be a task or a message',
    )
    expect(() => overRest('sendMessage', {})).toThrow('must have one of task, message')
    expect(() => overRpc('getTask', null)).toThrow('must be an object')
    expect(() => overRpc('getExtendedAgentCard', { name: 'A' })).toThrow('url: is required')
  })
})

describe('streams', () => {
  const open = (form: Pick<JsonRpcClientForm, 'createStreamDecoder'>, request: object = {}) =>
    form.createStreamDecoder({ operation: 'sendStreamingMessage', request, sent: undefined, facts })
  const update = { kind: 'status-update', taskId: 't', contextId: 'c', status: { state: 'working' } }

  it('end only at `final`, in every state of an update (R3-STRM-4, R3-STRM-5)', () => {
    const decoder = open(jsonrpc)
    decoder.decode({ data: { ...update, final: false } })
    decoder.decode({ data: { ...update, status: { state: 'completed' } } })
    expect(decoder.isOver).toBe(false)
    decoder.decode({ data: { ...update, status: { state: 'auth-required' }, final: true } })
    expect(decoder.isOver).toBe(true)
  })

  it('end at `final` in the shapes of the protobuf', () => {
    const status = { state: 'TASK_STATE_INPUT_REQUIRED' }
    const overRest = open(rest)
    overRest.decode({ data: { statusUpdate: { taskId: 't', contextId: 'c', status, final: true } } })
    const overGrpc = open(grpc)
    overGrpc.decode({ data: { status_update: { task_id: 't', context_id: 'c', status, final: true } } })
    expect([overRest.isOver, overGrpc.isOver]).toEqual([true, true])
  })

  it('end at a task that has ended (RM-STR-6), not at a running one', () => {
    const decoder = open(jsonrpc)
    decoder.decode({ data: { kind: 'task', id: 't', contextId: 'c', status: { state: 'submitted' } } })
    expect(decoder.isOver).toBe(false)
    decoder.decode({ data: { kind: 'task', id: 't', contextId: 'c', status: { state: 'completed' } } })
    expect(decoder.isOver).toBe(true)
  })

  it('are decoded without `kind` if the shape is unambiguous (R3-DM-1)', () => {
    const decoder = open(jsonrpc)
    const kinds = [
      { id: 't', contextId: 'c', status: { state: 'working' } },
      { taskId: 't', contextId: 'c', status: { state: 'working' } },
      { taskId: 't', contextId: 'c', artifact: { artifactId: 'a', parts: [] } },
      { messageId: 'm', role: 'agent', parts: [] },
    ].flatMap((data) => decoder.decode({ data }).flatMap((read) => Object.keys(read)))
    expect(kinds).toEqual(['task', 'statusUpdate', 'artifactUpdate', 'message'])
    expect(decoder.isOver).toBe(true)
  })

  it('fill in members that 0.2 may omit: the context and message ids', () => {
    const decoder = open(jsonrpc, { message: { messageId: 'm', contextId: 'c' } })
    const { contextId: _contextId, ...bare } = update
    const status = { state: 'working', message: { role: 'agent', parts: [] } }
    expect(decoder.decode({ data: { ...bare, status } })).toEqual([
      {
        statusUpdate: {
          taskId: 't',
          contextId: 'c',
          status: { state: 'TASK_STATE_WORKING', message: { messageId: 'made', role: 'ROLE_AGENT', parts: [] } },
        },
      },
    ])
  })

  it('end at `[DONE]`', () => {
    const decoder = open(rest)
    expect([decoder.decode({ data: '[DONE]' }), decoder.isOver]).toEqual([[], true])
  })
})

describe('hostile responses', () => {
  const asked = { id: 't', taskId: 't', message: {} }
  const read: ((value: unknown) => unknown)[] = [jsonrpc, rest, grpc].flatMap((form) => [
    ...Object.values(form.operations as Record<string, { decode: JsonDecode }>).map(
      ({ decode }) =>
        (value: unknown) =>
          decode(value, asked, facts),
    ),
    (data: unknown) =>
      form.createStreamDecoder({ operation: 'sendMessage', request: data, sent: data, facts }).decode({ data }),
  ])
  type JsonDecode = (answer: unknown, request: unknown, given: typeof facts) => unknown
  const samples = [
    {
      kind: 'task',
      id: 't',
      contextId: 'c',
      status: {
        state: 'working',
        message: { kind: 'message', messageId: 'm', role: 'agent', parts: [{ kind: 'data', data: {} }] },
      },
      artifacts: [{ artifactId: 'a', parts: [{ kind: 'file', file: { bytes: '', name: 'n' } }] }],
      history: [
        { messageId: 'm', role: 'user', parts: [{ kind: 'text', text: '' }], metadata: { data_part_compat: true } },
      ],
    },
    {
      statusUpdate: {
        taskId: 't',
        contextId: 'c',
        status: { state: 1, update: { content: [{ data: { data: {} } }] } },
        final: true,
      },
    },
    {
      name: 'tasks/t/pushNotificationConfigs/c',
      pushNotificationConfig: { url: 'u', authentication: { schemes: ['a'] } },
    },
    { configs: [{ taskId: 't', pushNotificationConfig: { url: 'u' } }] },
    v0_3.card?.encode(card),
  ]

  it('are decoded or refused with a named fault, for any JSON', () => {
    const any = fc.oneof(fc.jsonValue(), ...samples.map((sample) => damaged(sample)))
    fc.assert(
      fc.property(any, fc.constantFrom(...read), (value, decode) => {
        try {
          decode(value)
        } catch (caught) {
          expect(caught).toBeInstanceOf(A2AError)
          expect((caught as A2AError).code).toBe('INVALID_PARAMS')
        }
      }),
      { numRuns: 2000 },
    )
  })
})
