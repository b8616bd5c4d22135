import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { A2AError, errorCodes } from '../../model/errors.js'
import { type Operation, operations } from '../../model/operations.js'
import { taskStates } from '../../model/task.js'
import type { GrpcClientForm, JsonRpcClientForm, RestClientForm } from '../client-dialect.js'
import { facts, pairsOf, withoutLoweredFlags } from '../client-pair.fixture.js'
import type { GrpcForm, JsonRpcForm, RestForm } from '../dialect.js'
import {
  event,
  exact,
  filled,
  message,
  pushConfig,
  sendRequest,
  struct,
  task,
  time,
} from '../v0_3/arbitrary.fixture.js'
import { card } from './card.fixture.js'
import { v1Client } from './client.js'
import { createV1, v1 } from './index.js'

const jsonrpc = v1Client.jsonrpc as JsonRpcClientForm
const rest = v1Client.rest as RestClientForm
const grpc = v1Client.grpc as GrpcClientForm

const id = filled.filter((text) => !/^\.{1,2}$/.test(text))
const ofId = exact({ id }, ['id'])
const page = { pageSize: fc.integer({ min: 1, max: 100 }), pageToken: filled }

const requests: Readonly<Record<Operation, fc.Arbitrary<object>>> = {
  sendMessage: sendRequest,
  sendStreamingMessage: sendRequest,
  getTask: exact({ id, historyLength: fc.nat(9) }, ['id']),
  listTasks: exact(
    {
      contextId: filled,
      status: fc.constantFrom(...taskStates),
      ...page,
      historyLength: fc.nat(9),
      statusTimestampAfter: time,
      includeArtifacts: fc.boolean(),
    },
    [],
  ),
  cancelTask: exact({ id, metadata: struct }, ['id']),
  subscribeToTask: ofId,
  createTaskPushNotificationConfig: pushConfig.filter(({ taskId }) => !/^\.{1,2}$/.test(taskId ?? '')),
  getTaskPushNotificationConfig: exact({ taskId: id, id }, ['taskId', 'id']),
  listTaskPushNotificationConfigs: exact({ taskId: id, ...page }, ['taskId']),
  deleteTaskPushNotificationConfig: exact({ taskId: id, id }, ['taskId', 'id']),
  getExtendedAgentCard: fc.constant({}),
}

const sendAnswer = fc.oneof(exact({ task }, ['task']), exact({ message }, ['message']))

const results: Readonly<Partial<Record<Operation, fc.Arbitrary<unknown>>>> = {
  sendMessage: sendAnswer,
  getTask: task,
  listTasks: exact(
    {
      tasks: fc.array(task, { maxLength: 2 }),
      nextPageToken: fc.string(),
      pageSize: fc.integer({ min: 1, max: 100 }),
      totalSize: fc.integer({ min: 1 }),
    },
    ['tasks', 'nextPageToken', 'pageSize', 'totalSize'],
  ),
  cancelTask: task,
  createTaskPushNotificationConfig: pushConfig,
  getTaskPushNotificationConfig: pushConfig,
  listTaskPushNotificationConfigs: exact(
    { configs: fc.array(pushConfig, { maxLength: 2 }), nextPageToken: fc.string() },
    ['configs', 'nextPageToken'],
  ),
  deleteTaskPushNotificationConfig: fc.constant(undefined),
  getExtendedAgentCard: fc.constant(card),
}

describe.each(pairsOf(v1Client, v1).map((pair) => [pair.name, pair] as const))('over %s', (_name, pair) => {
  it('has every operation', () => {
    expect(pair.operations).toEqual(Object.keys(operations))
  })

  it.each(Object.entries(requests) as [Operation, fc.Arbitrary<object>][])(
    'the server decodes the request: %s',
    (operation, arbitrary) => {
      fc.assert(
        fc.property(arbitrary, (request) => {
          const read = pair.ask(operation, request)
          expect(withoutLoweredFlags(read)).toStrictEqual(withoutLoweredFlags(request))
        }),
        { numRuns: 40 },
      )
    },
  )

  it.each(Object.entries(results) as [Operation, fc.Arbitrary<unknown>][])(
    'the client decodes the result: %s',
    (operation, arbitrary) => {
      const request = {
        id: 'i',
        taskId: 't',
        message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: '' }] },
        url: 'u',
      }
      fc.assert(
        fc.property(arbitrary, (result) => {
          const read = pair.answer(operation, result, request)
          if (result === undefined) expect(read).toBeUndefined()
          else expect(withoutLoweredFlags(read)).toStrictEqual(withoutLoweredFlags(result))
        }),
        { numRuns: 40 },
      )
    },
  )

  it('events arrive unchanged, and only a message ends the stream (R-STRM-12)', () => {
    fc.assert(
      fc.property(event, (item) => {
        const { read, decoder } = pair.follow('subscribeToTask', { id: 'i' })
        expect(withoutLoweredFlags(read(item))).toStrictEqual(withoutLoweredFlags([item]))
        expect(decoder.isOver).toBe('message' in item)
      }),
      { numRuns: 60 },
    )
  })
})

describe('requests over HTTP+JSON', () => {
  const request = (operation: Operation, asked: object) => rest.operations[operation]?.encode(asked as never, facts)

  it('name the tenant in the path, not in the body (R-TEN-1)', () => {
    const sent = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hi' }] }
    expect(request('sendMessage', { tenant: 'a/b', message: sent })).toEqual({
      method: 'POST',
      path: '/a%2Fb/message:send',
      body: { message: sent },
    })
    expect(request('getExtendedAgentCard', { tenant: 't' })).toEqual({ method: 'GET', path: '/t/extendedAgentCard' })
    expect(request('listTasks', { tenant: 't', pageSize: 5, includeArtifacts: false })).toEqual({
      method: 'GET',
      path: '/t/tasks',
      query: { pageSize: '5', includeArtifacts: 'false' },
    })
    expect(request('createTaskPushNotificationConfig', { tenant: 't', taskId: 'x', id: 'h', url: 'u' })).toEqual({
      method: 'POST',
      path: '/t/tasks/x/pushNotificationConfigs',
      body: { id: 'h', url: 'u' },
    })
  })

  it('name the tenant in the request over other bindings', () => {
    expect(jsonrpc.operations.getTask?.encode({ tenant: 't', id: 'x' }, facts)).toEqual({ tenant: 't', id: 'x' })
    expect(grpc.operations.getExtendedAgentCard?.encode(undefined as never, facts)).toEqual({})
  })

  it.each(['', '.', '..'])('cannot change the path: id %j', (wanted) => {
    expect(() => request('getTask', { id: wanted })).toThrow(A2AError)
    expect(() => request('deleteTaskPushNotificationConfig', { taskId: 't', id: wanted })).toThrow(A2AError)
    expect(() => request('cancelTask', { id: wanted })).toThrow(/^id: /)
  })

  it('encode slashes, question marks and lone surrogates inside a segment', () => {
    expect(request('getTask', { id: 'a/../b?c#d\ud800', historyLength: 0 })).toEqual({
      method: 'GET',
      path: '/tasks/a%2F..%2Fb%3Fc%23d%EF%BF%BD',
      query: { historyLength: '0' },
    })
  })
})

describe('errors', () => {
  const details = {
    violations: [{ field: 'message.parts', description: 'is required' }],
    metadata: { taskId: 't' },
    retryAfterSeconds: 1.5,
  }

  describe.each(['1.0.0', '1.0.1'] as const)('of servers with the statuses of %s', (profile) => {
    const server = createV1({ errors: profile })

    it.each(errorCodes)('decode to the thrown error: %s', (code) => {
      for (const error of [new A2AError(code, 'why', details), new A2AError(code, 'why')]) {
        const overRpc = (server.jsonrpc as JsonRpcForm).encodeError(error)
        const { status, body } = (server.rest as RestForm).encodeError(error)
        const { status: grpcStatus, errorDetails } = server.grpc as GrpcForm
        const read = [
          jsonrpc.decodeError(overRpc),
          rest.decodeError(status, body),
          grpc.decodeError(grpcStatus(error), error.message, errorDetails(error)),
        ]
        for (const each of read) expect([each.code, each.message, each.details]).toEqual([code, 'why', error.details])
      }
    })
  })

  it('without a reason are recognised by their code', () => {
    const codeOf = (code: number) => jsonrpc.decodeError({ code, message: 'x' }).code
    expect([-32001, -32002, -32009, -32700, -32600, -32603, -31401, -31403].map(codeOf)).toEqual([
      'TASK_NOT_FOUND',
      'TASK_NOT_CANCELABLE',
      'VERSION_NOT_SUPPORTED',
      'PARSE_ERROR',
      'INVALID_REQUEST',
      'INTERNAL_ERROR',
      'UNAUTHENTICATED',
      'PERMISSION_DENIED',
    ])
  })

  it('with an unknown code keep code, message and data (RM-ERR-4)', () => {
    const read = (code: number, data?: unknown) => {
      const { code: known, message: text, details } = jsonrpc.decodeError({ code, message: 'Odd', data })
      return [known, text, details.metadata]
    }
    expect(read(-32000)).toEqual(['INTERNAL_ERROR', 'Odd', { peerCode: '-32000' }])
    expect(read(-32050, { shard: 7, deep: {} })).toEqual(['INTERNAL_ERROR', 'Odd', { peerCode: '-32050', shard: '7' }])
    expect(read(42, 'text')).toEqual(['INTERNAL_ERROR', 'Odd', { peerCode: '42', peerData: 'text' }])
    expect(read(42, [1, 2])).toEqual(['INTERNAL_ERROR', 'Odd', { peerCode: '42', peerData: '[1,2]' }])
    expect(read(42, [{ reason: 'QUOTA', metadata: { left: 0 } }])).toEqual([
      'INTERNAL_ERROR',
      'Odd',
      { peerCode: '42', peerReason: 'QUOTA', left: '0' },
    ])
  })

  it('with unknown details are decoded as far as possible', () => {
    const { details } = rest.decodeError(429, {
      error: {
        code: 429,
        message: 'Slow down',
        details: [
          { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: { seconds: '3', nanos: 500000000 } },
          { '@type': 'type.googleapis.com/google.rpc.BadRequest', field_violations: [{ field: 'a' }, 7] },
          'text',
        ],
      },
    })
    expect(details).toEqual({ retryAfterSeconds: 3.5, violations: [{ field: 'a', description: 'is not valid' }] })
  })

  it.each([
    [404, { error: { code: 404, status: 'NOT_FOUND', message: 'No such task' } }, 'TASK_NOT_FOUND', 'No such task'],
    [400, { error: { code: 400, status: 'FAILED_PRECONDITION', message: 'No' } }, 'UNSUPPORTED_OPERATION', 'No'],
    [400, { error: { code: -32005, message: 'No video' } }, 'CONTENT_TYPE_NOT_SUPPORTED', 'No video'],
    [
      400,
      { type: 'https://a2a-protocol.org/errors/task-not-cancelable', title: 'Task Not Cancelable', status: 400 },
      'TASK_NOT_CANCELABLE',
      'Task Not Cancelable',
    ],
    [
      409,
      { type: 'https://x.example/errors/version-not-supported', detail: 'Only 0.3' },
      'VERSION_NOT_SUPPORTED',
      'Only 0.3',
    ],
    [404, { detail: 'Not Found' }, 'METHOD_NOT_FOUND', 'Not Found'],
    [404, { detail: 'Task t-1 not found' }, 'TASK_NOT_FOUND', 'Task t-1 not found'],
    [
      422,
      { detail: [{ loc: ['body', 'message', 'parts', 0], msg: 'Field required' }] },
      'INVALID_PARAMS',
      'message.parts[0]: Field required',
    ],
    [401, { error: 'invalid_token', error_description: 'Expired' }, 'UNAUTHENTICATED', 'Expired'],
    [403, 'Forbidden\nby policy 7', 'PERMISSION_DENIED', 'Forbidden'],
    [413, undefined, 'PAYLOAD_TOO_LARGE', 'The agent answered HTTP 413'],
    [429, '', 'RATE_LIMITED', 'The agent answered HTTP 429'],
    [503, '<!doctype html><title>Down</title>', 'UNAVAILABLE', 'The agent answered HTTP 503'],
    [502, '<html><h1>Bad Gateway</h1></html>', 'UNAVAILABLE', 'The agent answered HTTP 502'],
    [503, { code: -32603, message: 'Restarting' }, 'UNAVAILABLE', 'Restarting'],
    [405, {}, 'METHOD_NOT_FOUND', 'The agent answered HTTP 405'],
    [400, { message: 'Bad' }, 'INVALID_REQUEST', 'Bad'],
    [500, [{ error: { message: 'Boom' } }], 'INTERNAL_ERROR', 'Boom'],
  ])('over HTTP: %i %j is %s', (status, body, code, text) => {
    const read = rest.decodeError(status, body)
    expect([read.code, read.message]).toEqual([code, text])
  })

  it('keep an unknown status, and repeat only the first line of a body', () => {
    const { code, message: text, details } = rest.decodeError(418, 'x'.repeat(1e6))
    expect([code, text.length, details.metadata]).toEqual(['INTERNAL_ERROR', 201, { peerCode: '418' }])
  })

  it.each([
    ['NOT_FOUND', 'gone', 'TASK_NOT_FOUND'],
    ['INVALID_ARGUMENT', 'bad', 'INVALID_PARAMS'],
    ['FAILED_PRECONDITION', 'no', 'UNSUPPORTED_OPERATION'],
    ['UNIMPLEMENTED', 'The server does not implement this method', 'METHOD_NOT_FOUND'],
    ['UNIMPLEMENTED', 'PushNotificationNotSupportedError: no', 'PUSH_NOTIFICATION_NOT_SUPPORTED'],
    ['UNAUTHENTICATED', '', 'UNAUTHENTICATED'],
    ['PERMISSION_DENIED', 'x', 'PERMISSION_DENIED'],
    ['RESOURCE_EXHAUSTED', 'quota', 'RATE_LIMITED'],
    ['RESOURCE_EXHAUSTED', 'Received message larger than max (5 vs. 4)', 'PAYLOAD_TOO_LARGE'],
    ['UNAVAILABLE', 'x', 'UNAVAILABLE'],
    ['INTERNAL', 'x', 'INTERNAL_ERROR'],
    ['DATA_LOSS', 'x', 'INTERNAL_ERROR'],
  ])('over gRPC: %s "%s" is %s', (status, text, code) => {
    expect(grpc.decodeError(status, text, []).code).toBe(code)
  })
})
