import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { AgentCard } from '../../model/agent-card.js'
import { A2AError, errorCodes } from '../../model/errors.js'
import type { StreamResponse } from '../../model/event.js'
import { type Operation, operations } from '../../model/operations.js'
import { taskStates } from '../../model/task.js'
import type { GrpcClientForm, JsonRpcClientForm, RestClientForm } from '../client-dialect.js'
import { facts, pairsOf, withoutLoweredFlags } from '../client-pair.fixture.js'
import type { GrpcForm, JsonRpcForm, RestForm } from '../dialect.js'
import { damaged } from '../v0_1/arbitrary.fixture.js'
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

const card: AgentCard = {
  name: 'Adder',
  description: 'Adds numbers',
  supportedInterfaces: [
    { url: 'https://a.example/rpc', protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
    { url: 'a.example:443', protocolBinding: 'GRPC', tenant: 'acme', protocolVersion: '0.3' },
  ],
  provider: { url: 'https://p.example', organization: 'P' },
  version: '1.2.3',
  documentationUrl: 'https://a.example/docs',
  capabilities: {
    streaming: true,
    pushNotifications: false,
    extensions: [{ uri: 'https://e.example/v1', description: 'e', required: true, params: { deep: [1, { a: null }] } }],
    extendedAgentCard: true,
  },
  securitySchemes: {
    key: { apiKeySecurityScheme: { description: 'k', location: 'header', name: 'X-API-Key' } },
    http: { httpAuthSecurityScheme: { scheme: 'Bearer', bearerFormat: 'JWT' } },
    code: {
      oauth2SecurityScheme: {
        flows: {
          authorizationCode: {
            authorizationUrl: 'https://o.example/a',
            tokenUrl: 'https://o.example/t',
            refreshUrl: 'https://o.example/r',
            scopes: { read: 'Reads' },
            pkceRequired: true,
          },
        },
        oauth2MetadataUrl: 'https://o.example/m',
      },
    },
    device: {
      oauth2SecurityScheme: {
        flows: {
          deviceCode: { deviceAuthorizationUrl: 'https://o.example/d', tokenUrl: 'https://o.example/t', scopes: {} },
        },
      },
    },
    oidc: { openIdConnectSecurityScheme: { openIdConnectUrl: 'https://o.example/.well-known' } },
    mtls: { mtlsSecurityScheme: {} },
  },
  securityRequirements: [{ schemes: { key: {}, code: { list: ['read'] } } }, { schemes: { mtls: {} } }],
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain', 'application/json'],
  skills: [
    {
      id: 'add',
      name: 'Add',
      description: 'Sum',
      tags: ['math'],
      examples: ['1+1'],
      inputModes: ['text/plain'],
      outputModes: ['text/plain'],
      securityRequirements: [{ schemes: { http: {} } }],
    },
  ],
  signatures: [{ protected: 'e30', signature: 'c2ln', header: { kid: 'k' } }],
  iconUrl: 'https://a.example/i.png',
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
  it('every operation is offered', () => {
    expect(pair.operations).toEqual(Object.keys(operations))
  })

  it.each(Object.entries(requests) as [Operation, fc.Arbitrary<object>][])(
    'a server reads what was asked: %s',
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
    'the answer arrives as it was given: %s',
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

  it('events arrive as they happened, and only a message is surely the last (R-STRM-12)', () => {
    fc.assert(
      fc.property(event, (happened) => {
        const { read, decoder } = pair.follow('subscribeToTask', { id: 'i' })
        expect(withoutLoweredFlags(read(happened))).toStrictEqual(withoutLoweredFlags([happened]))
        expect(decoder.isOver).toBe('message' in happened)
      }),
      { numRuns: 60 },
    )
  })
})

describe('requests over HTTP+JSON', () => {
  const request = (operation: Operation, asked: object) => rest.operations[operation]?.encode(asked, facts)

  it('name the tenant in the path, and the body does not repeat it (R-TEN-1)', () => {
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

  it('name it in the request elsewhere', () => {
    expect(jsonrpc.operations.getTask?.encode({ tenant: 't', id: 'x' }, facts)).toEqual({ tenant: 't', id: 'x' })
    expect(grpc.operations.getExtendedAgentCard?.encode(undefined, facts)).toEqual({})
  })

  it.each(['', '.', '..'])('never leave their place in the address: id %j', (wanted) => {
    expect(() => request('getTask', { id: wanted })).toThrow(A2AError)
    expect(() => request('deleteTaskPushNotificationConfig', { taskId: 't', id: wanted })).toThrow(A2AError)
    expect(() => request('cancelTask', { id: wanted })).toThrow(/^id: /)
  })

  it('keep slashes, questions and halves of characters inside a segment', () => {
    expect(request('getTask', { id: 'a/../b?c#d\ud800', historyLength: 0 })).toEqual({
      method: 'GET',
      path: '/tasks/a%2F..%2Fb%3Fc%23d%EF%BF%BD',
      query: { historyLength: '0' },
    })
  })
})

describe('answers of other servers', () => {
  const send = (answer: unknown, contextId?: string) =>
    jsonrpc.operations.sendMessage?.decode(
      answer,
      { message: { messageId: 'm', ...(contextId && { contextId }) } },
      facts,
    )
  const fails = (answer: unknown) => {
    try {
      return send(answer)
    } catch (caught) {
      return (caught as A2AError).details.violations?.map(({ field, description }) => `${field} ${description}`)
    }
  }

  it('of the official JavaScript SDK 1.3.0: every member is written, empty or not', () => {
    const answer = {
      task: {
        id: 't-1',
        contextId: 'c-1',
        status: {
          state: 'TASK_STATE_COMPLETED',
          message: {
            messageId: 'm-2',
            contextId: 'c-1',
            taskId: 't-1',
            role: 'ROLE_AGENT',
            parts: [{ text: 'done', metadata: null, filename: '', mediaType: '' }],
            metadata: null,
            extensions: [],
            referenceTaskIds: [],
          },
          timestamp: '2026-01-05T08:00:00.120Z',
        },
        artifacts: [
          {
            artifactId: 'a-1',
            name: '',
            description: '',
            parts: [{ raw: 'aGk', filename: 'f.txt', mediaType: 'text/plain' }],
            metadata: undefined,
            extensions: [],
          },
        ],
        history: [],
        metadata: {},
      },
      message: null,
    }
    expect(send(answer)).toEqual({
      task: {
        id: 't-1',
        contextId: 'c-1',
        status: {
          state: 'TASK_STATE_COMPLETED',
          message: {
            messageId: 'm-2',
            contextId: 'c-1',
            taskId: 't-1',
            role: 'ROLE_AGENT',
            parts: [{ text: 'done' }],
          },
          timestamp: '2026-01-05T08:00:00.120Z',
        },
        artifacts: [{ artifactId: 'a-1', parts: [{ raw: 'aGk=', filename: 'f.txt', mediaType: 'text/plain' }] }],
        metadata: {},
      },
    })
  })

  it('of the Python SDK: names of the protobuf, nanoseconds, numbers as floats', () => {
    const answer = {
      task: {
        id: 't',
        context_id: 'c',
        status: { state: 'TASK_STATE_INPUT_REQUIRED', timestamp: '2026-01-05T10:00:00.123456789+02:00' },
        artifacts: [{ artifact_id: 'a', parts: [{ data: { n: 1.0 }, media_type: 'application/json' }] }],
        history: [{ message_id: 'm', role: 'ROLE_USER', parts: [{ text: 'hi' }], reference_task_ids: ['t0'] }],
      },
    }
    expect(send(answer)).toEqual({
      task: {
        id: 't',
        contextId: 'c',
        status: { state: 'TASK_STATE_INPUT_REQUIRED', timestamp: '2026-01-05T08:00:00.123Z' },
        artifacts: [{ artifactId: 'a', parts: [{ data: { n: 1 }, mediaType: 'application/json' }] }],
        history: [{ messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hi' }], referenceTaskIds: ['t0'] }],
      },
    })
  })

  it('of drafts between 0.3 and 1.0: a bare task, words for states and roles', () => {
    const answer = {
      id: 't',
      contextId: 'c',
      status: { state: 'input-required', message: { role: 'agent', parts: [], messageId: 'q' } },
    }
    expect(send(answer)).toEqual({
      task: {
        id: 't',
        contextId: 'c',
        status: { state: 'TASK_STATE_INPUT_REQUIRED', message: { messageId: 'q', role: 'ROLE_AGENT', parts: [] } },
      },
    })
    expect(send({ message: { parts: [{ text: 'hi', url: '', data: null }] } })).toEqual({
      message: { messageId: 'made', role: 'ROLE_AGENT', parts: [{ text: 'hi' }] },
    })
  })

  it('without a context are of the one that was asked in', () => {
    const bare = { task: { id: 't', status: { state: 2 } } }
    expect(send(bare, 'c')).toEqual({ task: { id: 't', contextId: 'c', status: { state: 'TASK_STATE_WORKING' } } })
    expect(send(bare)).toEqual({ task: { id: 't', contextId: '', status: { state: 'TASK_STATE_WORKING' } } })
  })

  it.each([
    {},
    { state: 0 },
    { state: '' },
    { state: 'TASK_STATE_UNSPECIFIED' },
    { state: 'unknown' },
    { state: null },
  ])('in no state are looked at again: %j reads as working', (status) => {
    expect(send({ task: { id: 't', contextId: 'c', status } })).toMatchObject({
      task: { status: { state: 'TASK_STATE_WORKING' } },
    })
  })

  it('in a state that no version has are refused: it may be an end', () => {
    expect(fails({ task: { id: 't', contextId: 'c', status: { state: 'TASK_STATE_PAUSED' } } })).toEqual([
      expect.stringMatching(/^task\.status\.state must be one of submitted, working/),
    ])
    expect(fails({ task: { id: 't', status: { state: 9 } } })).toHaveLength(1)
  })

  it('that are none are refused with the path of what is wrong', () => {
    expect(fails({})).toEqual([' must have one of task, message, statusUpdate, artifactUpdate'])
    expect(fails(null)).toEqual([' must be an object'])
    expect(fails({ task: { id: 't' } })).toEqual(['task.status is required'])
    expect(fails({ task: { status: {} } })).toEqual(['task.id is required'])
    expect(fails({ task: { id: 't', status: {} }, message: { messageId: 'm' } })).toEqual([
      ' must have only one of task, message',
    ])
    expect(fails({ message: { messageId: 'm', parts: [{ text: 'a', url: 'b' }] } })).toEqual([
      'message.parts[0] must have only one of text, url',
    ])
    expect(fails({ message: {} })).toEqual(['message must have a messageId or parts'])
    expect(fails({ statusUpdate: { taskId: 't', contextId: 'c', status: { state: 1 } } })).toEqual([
      ' must be a task or a message',
    ])
  })

  it('to a deletion are all the same (R-PUSH-6)', () => {
    for (const answer of [{}, null, undefined, 'ok', [1]])
      expect(jsonrpc.operations.deleteTaskPushNotificationConfig?.decode(answer, {}, facts)).toBeUndefined()
  })

  it('lists may be bare, and pages without their numbers', () => {
    const { listTasks, listTaskPushNotificationConfigs: listConfigs } = rest.operations
    const one = { id: 't', contextId: 'c', status: { state: 'TASK_STATE_FAILED' } }
    expect(listTasks?.decode([one], {}, facts)).toEqual({ tasks: [one], nextPageToken: '', pageSize: 1, totalSize: 1 })
    expect(
      listTasks?.decode({ tasks: [one], page_size: '50', totalSize: '7', next_page_token: 'n' }, {}, facts),
    ).toEqual({ tasks: [one], nextPageToken: 'n', pageSize: 50, totalSize: 7 })
    expect(listConfigs?.decode([{ url: 'u', authentication: { scheme: '' } }], { taskId: 't' }, facts)).toEqual({
      configs: [{ taskId: 't', url: 'u' }],
      nextPageToken: '',
    })
    expect(listConfigs?.decode(undefined, { taskId: 't' }, facts)).toEqual({ configs: [], nextPageToken: '' })
  })

  it('are new values: no member that the protocol does not know comes along, nor does `__proto__`', () => {
    const answer = JSON.parse(
      '{"task":{"id":"t","contextId":"c","status":{"state":1},"kind":"x","__proto__":{"id":"u"}}}',
    )
    const read = send(answer) as { task: object }
    expect(read.task).toStrictEqual({ id: 't', contextId: 'c', status: { state: 'TASK_STATE_SUBMITTED' } })
    expect(fails(JSON.parse('{"task":{"id":"t","status":{},"metadata":{"__proto__":1}}}'))).toEqual([
      'task.metadata.__proto__ is not an allowed name',
    ])
  })
})

describe('streams', () => {
  const open = (request: object) =>
    rest.createStreamDecoder({ operation: 'sendStreamingMessage', request, sent: undefined, facts })

  it('fill in what updates leave out from what was told before', () => {
    const decoder = open({ message: { messageId: 'm' } })
    const read = (data: unknown) => decoder.decode({ data })
    read({ task: { id: 't', contextId: 'c', status: { state: 1 } } })
    expect(read({ statusUpdate: { status: { state: 2, message: { parts: [{ text: 'hm' }] } } } })).toEqual([
      {
        statusUpdate: {
          taskId: 't',
          contextId: 'c',
          status: {
            state: 'TASK_STATE_WORKING',
            message: { messageId: 'made', role: 'ROLE_AGENT', parts: [{ text: 'hm' }] },
          },
        },
      },
    ])
    expect(read({ artifactUpdate: { artifact: { artifactId: 'a' }, lastChunk: true } })).toEqual([
      { artifactUpdate: { taskId: 't', contextId: 'c', artifact: { artifactId: 'a', parts: [] }, lastChunk: true } },
    ])
    expect(decoder.isOver).toBe(false)
  })

  it('know the task that was asked for', () => {
    const decoder = rest.createStreamDecoder({
      operation: 'subscribeToTask',
      request: { id: 't' },
      sent: undefined,
      facts,
    })
    expect(decoder.decode({ data: { statusUpdate: { status: { state: 3 } } } })).toEqual([
      { statusUpdate: { taskId: 't', contextId: '', status: { state: 'TASK_STATE_COMPLETED' } } },
    ])
    expect(() => open({}).decode({ data: { statusUpdate: { status: { state: 3 } } } })).toThrow(/^taskId: is required/)
  })

  it('pass over frames that say nothing, and end at the word of those who have one', () => {
    const decoder = open({})
    for (const data of ['', null, undefined]) expect(decoder.decode({ data })).toEqual([])
    expect(decoder.isOver).toBe(false)
    expect(decoder.decode({ data: '[DONE]' })).toEqual([])
    expect(decoder.isOver).toBe(true)
  })

  it('read an answer that is no stream as its only element', () => {
    const answer = { message: { messageId: 'm', role: 'ROLE_AGENT', parts: [{ text: 'hi' }] } }
    const whole = rest.operations.sendStreamingMessage?.decode(answer, {}, facts)
    expect(open({}).decode({ data: whole })).toEqual([answer])
  })
})

describe('cards', () => {
  const read = (wire: unknown) => v1Client.decodeCard?.(wire)

  it('are read whole', () => {
    expect(read(card)).toStrictEqual(card)
  })

  it('need a name and a way to reach the agent, and nothing else', () => {
    const url = 'https://a.example'
    expect(read({ name: 'A', supportedInterfaces: [{ url, protocolBinding: 'JSONRPC' }], kind: 'card' })).toEqual({
      name: 'A',
      description: '',
      version: '',
      supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
      capabilities: {},
      defaultInputModes: [],
      defaultOutputModes: [],
      skills: [],
    })
    expect(() => read({ name: 'A', supportedInterfaces: [{ url }] })).toThrow(
      'supportedInterfaces[0].protocolBinding: is required',
    )
    expect(() => read({ name: '' })).toThrow('name: must not be empty; supportedInterfaces: is required')
  })

  it('may have the wrappers of the official JavaScript SDK, names of the protobuf, and unknown schemes', () => {
    const wire = {
      name: 'A',
      supported_interfaces: [{ url: 'u', protocol_binding: 'GRPC', protocol_version: '1.0', tenant: '' }],
      default_input_modes: ['text/plain'],
      security_schemes: {
        key: { scheme: { $case: 'apiKeySecurityScheme', value: { description: '', location: 'header', name: 'X' } } },
        oauth: {
          oauth2_security_scheme: {
            flows: { flow: { $case: 'clientCredentials', value: { tokenUrl: 't', refreshUrl: '', scopes: {} } } },
          },
        },
        future: { quantumSecurityScheme: {} },
      },
      security: [{ key: [] }],
      capabilities: { extended_agent_card: true },
    }
    expect(read(wire)).toMatchObject({
      supportedInterfaces: [{ url: 'u', protocolBinding: 'GRPC', protocolVersion: '1.0' }],
      defaultInputModes: ['text/plain'],
      securitySchemes: {
        key: { apiKeySecurityScheme: { location: 'header', name: 'X' } },
        oauth: { oauth2SecurityScheme: { flows: { clientCredentials: { tokenUrl: 't', scopes: {} } } } },
      },
      securityRequirements: [{ schemes: { key: {} } }],
      capabilities: { extendedAgentCard: true },
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

    it.each(errorCodes)('arrive as they were thrown: %s', (code) => {
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

  it('without a reason are known by their number', () => {
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

  it('of an unknown number keep it, their message and their data (RM-ERR-4)', () => {
    const read = (code: number, data?: unknown) => {
      const { code: known, message: text, details: told } = jsonrpc.decodeError({ code, message: 'Odd', data })
      return [known, text, told.metadata]
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

  it('with details of a stranger are read as far as they go', () => {
    const { details: told } = rest.decodeError(429, {
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
    expect(told).toEqual({ retryAfterSeconds: 3.5, violations: [{ field: 'a', description: 'is not valid' }] })
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

  it('keep a status that means nothing, and echo no more than a line', () => {
    const { code, message: text, details: told } = rest.decodeError(418, 'x'.repeat(1e6))
    expect([code, text.length, told.metadata]).toEqual(['INTERNAL_ERROR', 201, { peerCode: '418' }])
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

describe('hostile answers', () => {
  const codecs = [jsonrpc, rest].flatMap((form) => Object.values<{ decode: typeof decodeAny }>(form.operations))
  function decodeAny(answer: unknown, request: unknown, given: typeof facts): unknown {
    return [answer, request, given]
  }
  const read: ((value: unknown) => unknown)[] = [
    ...codecs.map(
      ({ decode }) =>
        (value: unknown) =>
          decode(value, value, facts),
    ),
    (data) => rest.createStreamDecoder({ operation: 'sendMessage', request: data, sent: data, facts }).decode({ data }),
    (wire) => v1Client.decodeCard?.(wire),
  ]
  const task0: StreamResponse = {
    task: {
      id: 't',
      contextId: 'c',
      status: { state: 'TASK_STATE_WORKING', message: { messageId: 'm', role: 'ROLE_AGENT', parts: [{ data: [1] }] } },
      history: [{ messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'a' }, { raw: '' }, { url: 'u' }] }],
      artifacts: [{ artifactId: 'a', parts: [{ text: '' }], extensions: ['e'] }],
    },
  }

  function onlyNamedRefusals(decode: () => unknown): void {
    try {
      decode()
    } catch (caught) {
      expect(caught).toBeInstanceOf(A2AError)
      expect((caught as A2AError).code).toBe('INVALID_PARAMS')
    }
  }

  it('are refused by name or read, whatever JSON comes', () => {
    const any = fc.oneof(
      fc.jsonValue(),
      damaged(task0),
      damaged(task0.task),
      damaged(card),
      damaged({ configs: [{ url: 'u' }] }),
    )
    fc.assert(
      fc.property(any, fc.constantFrom(...read), (value, decode) => onlyNamedRefusals(() => decode(value))),
      { numRuns: 1500 },
    )
  })

  it('are bottomless in vain', () => {
    const deep = JSON.parse(`${'{"a":'.repeat(20000)}1${'}'.repeat(20000)}`)
    for (const decode of read) onlyNamedRefusals(() => decode({ task: { id: 't', status: {}, metadata: deep } }))
    expect(jsonrpc.decodeError({ code: 1, message: 'x', data: [deep] }).code).toBe('INTERNAL_ERROR')
  })

  it('that are errors become one of ours, always', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.integer({ min: -40000, max: 700 }), fc.string(), (body, code, text) => {
        const errors = [
          jsonrpc.decodeError({ code, message: text, data: body }),
          rest.decodeError(code, body),
          rest.decodeError(code, { error: body }),
          rest.decodeError(code, { error: { details: body, code: body } }),
          grpc.decodeError(text, text, [{ reason: body, fieldViolations: body, retryDelay: body, metadata: body }]),
        ]
        for (const error of errors) expect(errorCodes).toContain(error.code)
      }),
      { numRuns: 300 },
    )
  })
})
