import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { A2AError, errorCodes } from '../../model/errors.js'
import { type Operation, operations } from '../../model/operations.js'
import type { SendMessageRequest } from '../../model/service.js'
import { isInterrupted, isTerminal, taskStates } from '../../model/task.js'
import type { GrpcClientForm, JsonRpcClientForm, RestClientForm } from '../client-dialect.js'
import { facts, pairsOf, withoutLoweredFlags } from '../client-pair.fixture.js'
import type { GrpcForm, JsonRpcForm, RestForm } from '../dialect.js'
import { event, exact, filled, message, pushConfig, sendRequest, struct, task, time } from './arbitrary.fixture.js'
import { card } from './card.fixture.js'
import { v0_3Client } from './client.js'
import { v0_3 } from './index.js'

const jsonrpc = v0_3Client.jsonrpc as JsonRpcClientForm
const rest = v0_3Client.rest as RestClientForm
const grpc = v0_3Client.grpc as GrpcClientForm

const id = filled.filter((text) => !/^\.{1,2}$/.test(text) && text !== 'default')
const config = pushConfig.filter(({ taskId }) => !/^\.{1,2}$/.test(taskId ?? ''))

/** Requests that every form can express. */
const requests: Readonly<Partial<Record<Operation, fc.Arbitrary<object>>>> = {
  sendMessage: sendRequest,
  sendStreamingMessage: sendRequest,
  getTask: exact({ id, historyLength: fc.integer({ min: 1, max: 9 }) }, ['id']),
  cancelTask: exact({ id }, ['id']),
  subscribeToTask: exact({ id }, ['id']),
  createTaskPushNotificationConfig: config,
  getTaskPushNotificationConfig: exact({ taskId: id, id }, ['taskId', 'id']),
  listTaskPushNotificationConfigs: exact({ taskId: id }, ['taskId']),
  deleteTaskPushNotificationConfig: exact({ taskId: id, id }, ['taskId', 'id']),
  getExtendedAgentCard: fc.constant({}),
}

const results: Readonly<Partial<Record<Operation, fc.Arbitrary<unknown>>>> = {
  sendMessage: fc.oneof(exact({ task }, ['task']), exact({ message }, ['message'])),
  getTask: task,
  cancelTask: task,
  createTaskPushNotificationConfig: pushConfig,
  getTaskPushNotificationConfig: pushConfig,
  listTaskPushNotificationConfigs: exact({ configs: fc.array(pushConfig), nextPageToken: fc.constant('') }, [
    'configs',
    'nextPageToken',
  ]),
  deleteTaskPushNotificationConfig: fc.constant(undefined),
  getExtendedAgentCard: fc.constant(card),
}

/** Clients always send `blocking`, because peers differ in its default. */
function inFull(request: object): object {
  const { message: said, configuration, ...rest } = request as SendMessageRequest
  return said ? { message: said, configuration: { returnImmediately: false, ...configuration }, ...rest } : request
}

const pairs = pairsOf(v0_3Client, v0_3)

describe.each(pairs.map((pair) => [pair.name, pair] as const))('over %s', (name, pair) => {
  it('has the operations of this version', () => {
    const missing = Object.keys(operations).filter((operation) => !pair.operations.includes(operation as Operation))
    expect(missing).toEqual(name === 'gRPC' ? ['listTasks'] : [])
  })

  it.each(Object.entries(requests) as [Operation, fc.Arbitrary<object>][])(
    'the server decodes the request: %s',
    (operation, arbitrary) => {
      fc.assert(
        fc.property(arbitrary, (request) => {
          expect(pair.ask(operation, request)).toStrictEqual(inFull(request))
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
          const answer = pair.answer(operation, result, request)
          if (result === undefined) expect(answer).toBeUndefined()
          else expect(withoutLoweredFlags(answer)).toStrictEqual(withoutLoweredFlags(result))
        }),
        { numRuns: 40 },
      )
    },
  )

  it('events arrive unchanged, and the last one is marked (R3-STRM-5)', () => {
    fc.assert(
      fc.property(event, (item) => {
        const { read: readEvent, decoder } = pair.follow('subscribeToTask', { id: 'i' })
        expect(withoutLoweredFlags(readEvent(item))).toStrictEqual(withoutLoweredFlags([item]))
        const state =
          'statusUpdate' in item ? item.statusUpdate.status.state : 'task' in item ? item.task.status.state : undefined
        const isQuestion = 'statusUpdate' in item && isInterrupted(item.statusUpdate.status.state)
        expect(decoder.isOver).toBe('message' in item || isQuestion || (state !== undefined && isTerminal(state)))
      }),
      { numRuns: 60 },
    )
  })
})

describe('requests', () => {
  const sent = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hi' }], referenceTaskIds: ['t0'] }
  const overRpc = (operation: Operation, request: object) =>
    jsonrpc.operations[operation]?.encode(request as never, facts)
  const overRest = (operation: Operation, request: object) =>
    rest.operations[operation]?.encode(request as never, facts)
  const overGrpc = (operation: Operation, request: object) =>
    grpc.operations[operation]?.encode(request as never, facts)

  it('always state whether to wait (R3-SEND-5)', () => {
    expect(overRpc('sendMessage', { message: sent, tenant: 'dropped' })).toEqual({
      message: {
        kind: 'message',
        messageId: 'm',
        role: 'user',
        parts: [{ kind: 'text', text: 'hi' }],
        referenceTaskIds: ['t0'],
      },
      configuration: { blocking: true },
    })
    expect(overRpc('sendMessage', { message: sent, configuration: { returnImmediately: true } })).toMatchObject({
      configuration: { blocking: false },
    })
  })

  it('carry values without a protobuf field in metadata', () => {
    const content = {
      messageId: 'm',
      role: 'ROLE_USER',
      content: [{ text: 'hi' }],
      metadata: { a2aReferenceTaskIds: ['t0'] },
    }
    expect(overRest('sendMessage', { message: sent })).toEqual({
      method: 'POST',
      path: '/v1/message:send',
      body: { message: content, configuration: { blocking: true } },
    })
    expect(overGrpc('sendMessage', { message: sent })).toEqual({ request: content, configuration: { blocking: true } })
  })

  it('encode a webhook in each form', () => {
    const hook = {
      taskId: 't/1',
      id: 'h',
      url: 'https://c.example',
      authentication: { scheme: 'Bearer', credentials: 'x' },
    }
    const pushNotificationConfig = {
      id: 'h',
      url: 'https://c.example',
      authentication: { schemes: ['Bearer'], credentials: 'x' },
    }
    const create = 'createTaskPushNotificationConfig'
    expect(overRpc(create, hook)).toEqual({ taskId: 't/1', pushNotificationConfig })
    const message03 = {
      parent: 'tasks/t%2F1',
      configId: 'h',
      config: { name: 'tasks/t%2F1/pushNotificationConfigs/h', pushNotificationConfig },
    }
    expect(overGrpc(create, hook)).toEqual(message03)
    expect(overRest(create, hook)).toEqual({
      method: 'POST',
      path: '/v1/tasks/t%2F1/pushNotificationConfigs',
      body: message03,
    })
    expect(overGrpc(create, { taskId: 't', url: 'u' })).toEqual({
      parent: 'tasks/t',
      config: { pushNotificationConfig: { url: 'u' } },
    })
  })

  it('for the only webhook use the task id where a name is required (R3-PUSH-2)', () => {
    const get = 'getTaskPushNotificationConfig'
    expect(overRpc(get, { taskId: 't' })).toEqual({ id: 't' })
    expect(overGrpc(get, { taskId: 't' })).toEqual({ name: 'tasks/t/pushNotificationConfigs/t' })
    expect(overRest(get, { taskId: 't' })).toEqual({ method: 'GET', path: '/v1/tasks/t/pushNotificationConfigs/t' })
  })

  it('for lists have the names of the protobuf', () => {
    const filter = { tenant: 'x', status: 'TASK_STATE_CANCELED', pageSize: 5, includeArtifacts: true }
    expect(overRest('listTasks', filter)).toEqual({
      method: 'GET',
      path: '/v1/tasks',
      query: { status: 'TASK_STATE_CANCELLED', pageSize: '5', includeArtifacts: 'true' },
    })
    expect(overRpc('listTasks', filter)).toEqual({ status: 'canceled', pageSize: 5, includeArtifacts: true })
    fc.assert(
      fc.property(
        exact(
          {
            contextId: filled,
            status: fc.constantFrom(...taskStates),
            pageSize: fc.integer({ min: 1, max: 99 }),
            pageToken: filled,
            historyLength: fc.nat(5),
            statusTimestampAfter: time,
            includeArtifacts: fc.boolean(),
          },
          ['historyLength'],
        ),
        (request) => {
          for (const pair of pairs.filter(({ name }) => name !== 'gRPC'))
            expect(pair.ask('listTasks', request)).toStrictEqual(request)
        },
      ),
      { numRuns: 40 },
    )
  })

  it('to cancel may have metadata, except over gRPC', () => {
    const asked = { id: 't', metadata: { why: 'late' } }
    expect(overRpc('cancelTask', asked)).toEqual(asked)
    expect(overRest('cancelTask', asked)).toEqual({
      method: 'POST',
      path: '/v1/tasks/t:cancel',
      body: { metadata: { why: 'late' } },
    })
    expect(overGrpc('cancelTask', asked)).toEqual({ name: 'tasks/t' })
    fc.assert(
      fc.property(struct, (metadata) => {
        for (const pair of pairs.filter(({ name }) => name !== 'gRPC'))
          expect(pair.ask('cancelTask', { id: 't', metadata })).toEqual({ id: 't', metadata })
      }),
      { numRuns: 20 },
    )
  })

  it.each(['', '.', '..', undefined])('are refused without a valid id: %j', (wanted) => {
    const asked = { id: wanted, taskId: wanted, url: 'u' }
    expect(() => overRest('getTask', asked)).toThrow(A2AError)
    expect(() => overRest('createTaskPushNotificationConfig', asked)).toThrow(A2AError)
    if (wanted) return
    for (const operation of Object.keys(grpc.operations) as Operation[]) {
      if (operation.startsWith('send') || operation === 'getExtendedAgentCard') continue
      expect(() => overRpc(operation, asked)).toThrow(/is required/)
      expect(() => overGrpc(operation, asked)).toThrow(/is required/)
    }
  })

  it('for a task without history work although the protobuf cannot express them (R3-GET-2)', () => {
    const received = {
      id: 't',
      contextId: 'c',
      status: { state: 'TASK_STATE_COMPLETED' },
      history: [{ messageId: 'm', role: 'ROLE_USER', content: [{ text: 'hi' }] }],
    }
    const bare = { id: 't', contextId: 'c', status: { state: 'TASK_STATE_COMPLETED' } }
    expect(overGrpc('getTask', { id: 't', historyLength: 0 })).toEqual({ name: 'tasks/t' })
    expect(grpc.operations.getTask?.decode(received, { id: 't', historyLength: 0 }, facts)).toEqual(bare)
    const asked = { message: sent, configuration: { historyLength: 0 } }
    expect(overRest('sendMessage', asked)).toMatchObject({ body: { configuration: { blocking: true } } })
    expect(rest.operations.sendMessage?.decode({ task: received }, asked as SendMessageRequest, facts)).toEqual({
      task: bare,
    })
  })
})

describe('errors', () => {
  const details = {
    violations: [{ field: 'message.parts', description: 'is required' }],
    metadata: { taskId: 't' },
    retryAfterSeconds: 3,
  }

  it.each(errorCodes)('of our servers decode to the thrown error: %s', (code) => {
    for (const error of [new A2AError(code, 'why', details), new A2AError(code, 'why')]) {
      const { status, body } = (v0_3.rest as RestForm).encodeError(error)
      const { status: grpcStatus, statusMessage, errorDetails } = v0_3.grpc as GrpcForm
      const read = [
        rest.decodeError(status, body),
        grpc.decodeError(grpcStatus(error), statusMessage?.(error) ?? '', errorDetails(error)),
      ]
      for (const each of read) {
        expect([each.code, each.details]).toEqual([code, error.details])
        expect(each.message).toMatch(/^(Push Notification is not supported: )?why$/)
      }
      // JSON-RPC has no details (R3-ERR-1): HTTP's status distinguishes errors that share a code.
      const { encodeError, httpStatus } = v0_3.jsonrpc as JsonRpcForm
      expect(jsonrpc.decodeError(encodeError(error), httpStatus(error)).code).toBe(code)
    }
  })

  it('may have data of any kind (RM-ERR-2)', () => {
    const read = (data: unknown) => {
      const { code, details: received } = jsonrpc.decodeError({ code: -32001, message: 'Task not found', data })
      return [code, received]
    }
    expect(read({ taskId: 'zz' })).toEqual(['TASK_NOT_FOUND', { metadata: { taskId: 'zz' } }])
    expect(read([{ '@type': 'x/google.rpc.ErrorInfo', reason: 'TASK_NOT_FOUND', metadata: { a: 'b' } }])).toEqual([
      'TASK_NOT_FOUND',
      { metadata: { a: 'b' } },
    ])
    expect(read('stack trace')).toEqual(['TASK_NOT_FOUND', { metadata: { peerData: 'stack trace' } }])
    expect(read(null)).toEqual(['TASK_NOT_FOUND', {}])
  })

  it.each([
    [404, { code: -32001, message: 'Task not found', data: {} }, 'TASK_NOT_FOUND', 'Task not found'],
    [
      501,
      { code: -32004, message: 'Streaming is not supported' },
      'UNSUPPORTED_OPERATION',
      'Streaming is not supported',
    ],
    [400, { error: { code: 400, status: 'INVALID_ARGUMENT', message: 'bad' } }, 'INVALID_PARAMS', 'bad'],
    [404, { type: 'task-not-found-error', title: 'Gone' }, 'TASK_NOT_FOUND', 'Gone'],
    [
      400,
      { type: 'https://a2a-protocol.org/errors/authenticated-extended-card-not-configured' },
      'EXTENDED_AGENT_CARD_NOT_CONFIGURED',
      'The agent answered HTTP 400',
    ],
    [401, { detail: 'Not authenticated' }, 'UNAUTHENTICATED', 'Not authenticated'],
    [400, { detail: { code: -32602, message: 'No parts' } }, 'INVALID_PARAMS', 'No parts'],
  ])('over REST: %i %j is %s (RM-ERR-3)', (status, body, code, text) => {
    const read = rest.decodeError(status, body)
    expect([read.code, read.message]).toEqual([code, text])
  })

  it('of the Python SDK over gRPC are recognised by their leading name', () => {
    const read = grpc.decodeError('UNIMPLEMENTED', 'TaskNotCancelableError: Task cannot be canceled', [])
    expect(read.code).toBe('TASK_NOT_CANCELABLE')
    expect(grpc.decodeError('UNIMPLEMENTED', 'JSONParseError: bad', []).code).toBe('PARSE_ERROR')
    expect(grpc.decodeError('UNKNOWN', 'NoSuchError: x', []).details.metadata).toEqual({ peerCode: 'UNKNOWN' })
  })
})

describe('the dialect', () => {
  it('sends no version header, and extensions in the old header', () => {
    expect(v0_3Client).not.toHaveProperty('version')
    expect(v0_3Client.extensionsHeader).toBe('X-A2A-Extensions')
  })

  it('reads cards of 0.3 and 0.2', () => {
    expect(v0_3Client.card?.decode(v0_3.card?.encode(card))).toEqual(card)
  })
})
