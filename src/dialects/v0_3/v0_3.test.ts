import { describe, expect, it } from 'vitest'
import { A2AError, errorCodes } from '../../model/errors.js'
import type { Task } from '../../model/task.js'
import type { GrpcForm, JsonRpcForm, PushForm, RestForm } from '../dialect.js'
import { v0_3 } from './index.js'
import { decodePart } from './parts.js'
import { jsonForm, protoForm } from './wire-form.js'

const jsonrpc = v0_3.jsonrpc as JsonRpcForm
const rest = v0_3.rest as RestForm
const grpc = v0_3.grpc as GrpcForm
const push = v0_3.push as PushForm
const facts = { newId: () => 'never', header: () => null }

function refusal(decode: () => unknown): unknown {
  try {
    return decode()
  } catch (caught) {
    const { code, details } = caught as A2AError
    return [code, ...(details.violations ?? []).map(({ field, description }) => `${field} ${description}`)]
  }
}

describe('requests in JSON-RPC', () => {
  const send = (params: unknown) => refusal(() => jsonrpc.operations.sendMessage?.decode(params, facts))
  const parts = [{ kind: 'text', text: 'hi' }]

  it.each([
    ['messageId', { role: 'user', parts }, 'message.messageId is required'],
    ['role', { messageId: 'm', parts }, 'message.role is required'],
    ['parts', { messageId: 'm', role: 'user' }, 'message.parts is required'],
    ['an element of parts', { messageId: 'm', role: 'user', parts: [] }, 'message.parts must not be empty'],
    ['an array of parts', { messageId: 'm', role: 'user', parts: {} }, 'message.parts must be an array'],
    ['a known role', { messageId: 'm', role: 'system', parts }, 'message.role must be user or agent'],
  ])('refuse a message without %s (R3-SEND-2)', (_what, message, violation) => {
    expect(send({ message })).toEqual(['INVALID_PARAMS', violation])
  })

  it('report all faults at once, with their paths', () => {
    const message = {
      messageId: 7,
      role: 'user',
      parts: [{ kind: 'text' }, { kind: 'video' }, { kind: 'data', data: [1] }],
    }
    expect(send({ message, configuration: { blocking: 'yes' } })).toEqual([
      'INVALID_PARAMS',
      'message.messageId must be a string',
      'message.parts[0].text is required',
      'message.parts[1].kind must be one of text, file, data',
      'message.parts[2].data must be an object',
      'configuration.blocking must be true or false',
    ])
  })

  it('refuse parts of two kinds at once (R3-DM-2)', () => {
    const part = (wire: unknown) => refusal(() => decodePart(wire, jsonForm))
    expect(part({ kind: 'file', file: { bytes: 'aGk=', uri: 'https://f.example' } })).toEqual([
      'INVALID_PARAMS',
      'file must have only one of bytes, uri',
    ])
    expect(part({ text: 'a', data: {} })).toEqual(['INVALID_PARAMS', ' must have only one of text, data'])
    expect(part({ kind: 'file', file: { name: 'n' } })).toEqual(['INVALID_PARAMS', 'file must have one of bytes, uri'])
    expect(part({ metadata: {} })).toEqual(['INVALID_PARAMS', ' must have one of text, file, data'])
  })

  it('refuse `__proto__` and too deep nesting inside data', () => {
    const part = (data: string) => refusal(() => decodePart(JSON.parse(`{"kind":"data","data":${data}}`), jsonForm))
    expect(part('{"a":{"__proto__":{"isAdmin":true}}}')).toEqual([
      'INVALID_PARAMS',
      'data.a.__proto__ is not an allowed name',
    ])
    expect(part(`${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}`)).toEqual([
      'INVALID_PARAMS',
      expect.stringContaining('is nested deeper than 64 levels'),
    ])
  })

  it('refuse a filter for a state that no task can have', () => {
    expect(refusal(() => jsonrpc.operations.listTasks?.decode({ status: 'unknown' }, facts))).toEqual([
      'INVALID_PARAMS',
      expect.stringMatching(/^status must be one of submitted, working/),
    ])
  })

  it('refuse webhook credentials without a scheme', () => {
    const params = {
      taskId: 't',
      pushNotificationConfig: { url: 'https://c.example', authentication: { credentials: 'x' } },
    }
    expect(refusal(() => jsonrpc.operations.createTaskPushNotificationConfig?.decode(params, facts))).toEqual([
      'INVALID_PARAMS',
      'pushNotificationConfig.authentication.schemes must not be empty',
    ])
  })

  it('must name the webhook to delete', () => {
    expect(refusal(() => jsonrpc.operations.deleteTaskPushNotificationConfig?.decode({ id: 't' }, facts))).toEqual([
      'INVALID_PARAMS',
      'pushNotificationConfigId is required',
    ])
  })
})

describe('requests in the protobuf’s shape', () => {
  it('may carry raw bytes', () => {
    const file = { fileWithBytes: new Uint8Array([0xfb, 0xff]), fileWithUri: '', mimeType: '', name: '' }
    expect(decodePart({ text: '', file }, protoForm)).toEqual({ raw: '+/8=' })
  })

  it('must name a task', () => {
    const get = (params: unknown) => refusal(() => grpc.operations.getTask?.decode(params, facts))
    expect(get({ name: '' })).toEqual(['INVALID_PARAMS', 'name is required'])
    expect(get({ name: 'agents/1' })).toEqual([
      'INVALID_PARAMS',
      'name must be the name of a resource, such as tasks/{id}',
    ])
  })

  it('must name the URL and the task of a webhook', () => {
    const create = (params: unknown) =>
      refusal(() => rest.operations.createTaskPushNotificationConfig?.decode(params, facts))
    expect(create({ taskId: 't' })).toEqual(['INVALID_PARAMS', 'config.pushNotificationConfig is required'])
    expect(create({ url: 'https://c.example' })).toEqual(['INVALID_PARAMS', 'parent is required'])
    expect(create({ taskId: 't', config: { pushNotificationConfig: {} } })).toEqual([
      'INVALID_PARAMS',
      'config.pushNotificationConfig.url is required',
    ])
  })

  it('has every operation over gRPC, some under draft names', () => {
    expect(grpc.service).toBe('a2a.v1.A2AService')
    expect(new Set(grpc.rpcs.values())).toEqual(new Set(Object.keys(grpc.operations)))
  })
})

describe('errors', () => {
  const error = new A2AError('INVALID_PARAMS', 'message: is required', {
    violations: [{ field: 'message', description: 'is required' }],
    metadata: { hint: 'x' },
  })
  const data = {
    reason: 'INVALID_PARAMS',
    domain: 'a2a-protocol.org',
    metadata: { hint: 'x' },
    fieldViolations: [{ field: 'message', description: 'is required' }],
  }

  it('have no data over JSON-RPC (R3-ERR-1)', () => {
    expect(jsonrpc.encodeError(error)).toEqual({ code: -32602, message: 'message: is required' })
  })

  it('are bare objects over REST, with the members that other SDKs read (R3-PB-8, R3-ERR-4)', () => {
    const message = 'message: is required'
    const { reason, domain, metadata, fieldViolations } = data
    const details = [
      { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason, domain, metadata },
      { '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations },
    ]
    expect(rest.encodeError(error)).toEqual({
      status: 400,
      body: {
        code: -32602,
        message,
        data,
        type: 'InvalidParamsError',
        error: { code: 400, status: 'INVALID_ARGUMENT', message, details },
      },
    })
    expect(rest.encodeError(new A2AError('RATE_LIMITED', 'x')).body).not.toHaveProperty('type')
  })

  it('begin with the name of their class over gRPC (R3-ERR-4)', () => {
    expect(grpc.statusMessage?.(error)).toBe('InvalidParamsError: message: is required')
    expect(grpc.statusMessage?.(new A2AError('RATE_LIMITED', 'x'))).toBe('x')
  })

  it.each([
    ['TASK_NOT_FOUND', -32001, 404],
    ['TASK_NOT_CANCELABLE', -32002, 400],
    ['PUSH_NOTIFICATION_NOT_SUPPORTED', -32003, 400],
    ['UNSUPPORTED_OPERATION', -32004, 400],
    ['CONTENT_TYPE_NOT_SUPPORTED', -32005, 400],
    ['INVALID_AGENT_RESPONSE', -32006, 500],
    ['EXTENDED_AGENT_CARD_NOT_CONFIGURED', -32007, 400],
    ['INVALID_REQUEST', -32600, 400],
    ['METHOD_NOT_FOUND', -32601, 404],
    ['INVALID_PARAMS', -32602, 400],
    ['INTERNAL_ERROR', -32603, 500],
    ['PARSE_ERROR', -32700, 400],
    ['UNAUTHENTICATED', -32000, 401],
    ['PERMISSION_DENIED', -32000, 403],
    ['PAYLOAD_TOO_LARGE', -32600, 413],
    ['RATE_LIMITED', -32000, 429],
    ['UNAVAILABLE', -32603, 503],
  ] as const)('%s is %i, and %i over HTTP (R3-ERR-1, R3-ERR-2)', (code, number, status) => {
    const thrown = new A2AError(code, 'x')
    expect([jsonrpc.encodeError(thrown).code, rest.encodeError(thrown).status]).toEqual([number, status])
    expect(jsonrpc.httpStatus(thrown)).toBe(status)
  })

  it('about push notifications have the text of the specification (R3-PUSH-1)', () => {
    const thrown = new A2AError('PUSH_NOTIFICATION_NOT_SUPPORTED', 'This agent sends none')
    expect(jsonrpc.encodeError(thrown).message).toBe('Push Notification is not supported: This agent sends none')
  })

  it('each have a gRPC status (R3-PB-9)', () => {
    for (const code of errorCodes) expect(grpc.status(new A2AError(code, 'x'))).toMatch(/^[A-Z_]+$/)
  })
})

describe('push notifications', () => {
  const task: Task = { id: 't', contextId: 'c', status: { state: 'TASK_STATE_COMPLETED' } }

  it('are the bare task, with its kind', () => {
    expect(push.contentType).toBe('application/json')
    const body = 'encodeTask' in push ? push.encodeTask(task) : ''
    expect(JSON.parse(body)).toEqual({ kind: 'task', id: 't', contextId: 'c', status: { state: 'completed' } })
  })
})

describe('routes', () => {
  it('serve every operation under paths of their own', () => {
    expect(new Set(rest.routes.map(({ operation }) => operation))).toEqual(new Set(Object.keys(rest.operations)))
    for (const { path } of rest.routes) expect(path).toMatch(/^\/(v1|agent)\//)
  })

  it('answer 0.2’s plain GET for the extended card in JSON-RPC’s shape, or 404 (RL-02-4)', () => {
    const route = rest.routes.find(({ path }) => path === '/agent/authenticatedExtendedCard')
    const card = {
      name: 'n',
      description: 'd',
      version: '1',
      supportedInterfaces: [{ url: 'https://a.example/', protocolBinding: 'JSONRPC', protocolVersion: '0.3' }],
      capabilities: {},
      securitySchemes: { key: { apiKeySecurityScheme: { location: 'query', name: 'k' } } },
      defaultInputModes: [],
      defaultOutputModes: [],
      skills: [],
    }
    const answer = JSON.parse(route?.codec?.encode(card, {}) ?? '') as { securitySchemes: unknown }
    expect(answer.securitySchemes).toEqual({ key: { type: 'apiKey', in: 'query', name: 'k' } })
    const status = (code: 'UNSUPPORTED_OPERATION' | 'EXTENDED_AGENT_CARD_NOT_CONFIGURED' | 'UNAUTHENTICATED') =>
      route?.httpStatus?.(new A2AError(code, 'x'))
    expect(status('UNSUPPORTED_OPERATION')).toBe(404)
    expect(status('EXTENDED_AGENT_CARD_NOT_CONFIGURED')).toBe(404)
    expect(status('UNAUTHENTICATED')).toBeUndefined()
  })
})

describe('the dialect', () => {
  it('serves 0.2 as well (RL-02-3)', () => {
    expect(v0_3.versions).toEqual(['0.3', '0.2'])
    expect(v0_3.extensionsHeader).toBe('X-A2A-Extensions')
    expect(v0_3.traits).toEqual({
      showsEndedTasks: true,
      endsAtQuestions: true,
      cancelsOnce: true,
      hasOnePushConfig: true,
    })
  })

  it('accepts method names of later drafts (R3-MTH-3)', () => {
    expect([jsonrpc.methods.get('tasks/list'), jsonrpc.methods.get('tasks/subscribe')]).toEqual([
      'listTasks',
      'subscribeToTask',
    ])
  })

  it('lists losses with their direction', () => {
    expect(v0_3.limitations.length).toBeGreaterThan(10)
    expect(new Set(v0_3.limitations.map(({ what }) => what)).size).toBe(v0_3.limitations.length)
  })
})
