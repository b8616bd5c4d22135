import { describe, expect, it } from 'vitest'
import { proves } from '../../../conformance/proves.js'
import type { AgentCard } from '../../model/agent-card.js'
import { A2AError, errorCodes } from '../../model/errors.js'
import type { Task } from '../../model/task.js'
import type { Dialect, JsonRpcForm, OperationCodec } from '../dialect.js'
import { decodeCard } from './card.js'
import { meanings } from './errors.js'
import { createV0_1, v0_1, v0_1Go } from './index.js'

const form = v0_1.jsonrpc as JsonRpcForm // the only form of v0.1
const facts = { newId: () => 'new', header: () => null }

function codec(operation: keyof JsonRpcForm['operations']): OperationCodec {
  return form.operations[operation] as OperationCodec // the tests use existing operations
}

function violationsOf(act: () => unknown): unknown {
  try {
    return act()
  } catch (error) {
    return (error as A2AError).details.violations
  }
}

describe('v0.1', () => {
  it('has seven methods and is selected by its version; the Go form is not', () => {
    expect([...form.methods.keys()]).toEqual([
      'tasks/send',
      'tasks/sendSubscribe',
      'tasks/get',
      'tasks/cancel',
      'tasks/resubscribe',
      'tasks/pushNotification/set',
      'tasks/pushNotification/get',
    ])
    expect([v0_1.name, v0_1.versions]).toEqual(['v0.1', ['0.1']])
    expect([v0_1Go.name, v0_1Go.versions]).toEqual(['v0.1-go', []])
    expect(createV0_1().name).toBe('v0.1')
  })

  it(proves(['RL-01-11', 'RL-GO-5'], 'accepts a missing `jsonrpc`, and "0" in the Go form'), () => {
    expect(form.envelopeVersions).toEqual(['2.0', undefined])
    expect(v0_1Go.jsonrpc?.envelopeVersions).toEqual(['2.0', undefined, '0'])
  })
})

describe('a send in v0.1', () => {
  const message = { role: 'user', parts: [{ type: 'text', text: 'Hi' }] }

  it(proves('RL-01-1', 'keeps the id that the client chose'), () => {
    for (const operation of ['sendMessage', 'sendStreamingMessage'] as const) {
      expect(codec(operation).traits?.({ id: 'job-7', message })).toEqual({ wantedTaskId: 'job-7' })
    }
    expect(codec('sendMessage').traits?.(null)).toEqual({})
  })

  it.each(['x'.repeat(256), '任务-7', '😀', '../../etc', 'a:b/c'])(
    proves('RM-ID-1', 'accepts an id of visible characters: %s'),
    (id) => {
      expect(codec('sendMessage').decode({ id, message }, facts)).toMatchObject({ message: { messageId: 'new' } })
    },
  )

  it.each([undefined, null, '', 7, 'x'.repeat(257), 'a b', 'a\nb', 'a\u200bb', '\ud800', 'x'.repeat(1e6)])(
    proves('RM-ID-1', 'refuses any other id'),
    (id) => {
      const violations = violationsOf(() => codec('sendMessage').decode({ id, message }, facts))
      expect(violations).toEqual([{ field: 'id', description: expect.stringMatching(/required|visible/) }])
    },
  )

  it('names every faulty field', () => {
    const params = {
      id: 'a',
      message: {
        role: 'system',
        parts: [
          { type: 'picture' },
          { type: 'text' },
          { type: 'file', file: { bytes: 'AA==', uri: 'https://f.example' } },
          { type: 'file', file: { bytes: '?' } },
          { type: 'data' },
          'text',
        ],
      },
      historyLength: -1,
      pushNotification: { url: 7, authentication: { schemes: [] } },
    }
    expect(violationsOf(() => codec('sendMessage').decode(params, facts))).toEqual([
      { field: 'message.role', description: 'must be user or agent' },
      { field: 'message.parts[0].type', description: 'must be text, file or data' },
      { field: 'message.parts[1].text', description: 'is required' },
      { field: 'message.parts[2].file', description: 'must have only one of bytes, uri' },
      { field: 'message.parts[3].file.bytes', description: 'is not base64' },
      { field: 'message.parts[4].data', description: 'is required' },
      { field: 'message.parts[5]', description: 'must be an object' },
      { field: 'pushNotification.url', description: 'must be a string' },
      { field: 'pushNotification.authentication.schemes', description: 'must not be empty' },
      { field: 'historyLength', description: 'must not be negative' },
    ])
  })

  it('refuses a message without parts, and params that are not an object', () => {
    expect(
      violationsOf(() => codec('sendMessage').decode({ id: 'a', message: { role: 'user', parts: [] } }, facts)),
    ).toEqual([{ field: 'message.parts', description: 'must not be empty' }])
    expect(violationsOf(() => codec('sendMessage').decode(undefined, facts))).toEqual([
      { field: '', description: 'must be an object' },
    ])
  })
})

describe('a push config in v0.1', () => {
  it('is deleted by setting it to null', () => {
    const { instead } = codec('createTaskPushNotificationConfig')
    expect(instead?.({ id: 'a', pushNotificationConfig: null })).toBe('deleteTaskPushNotificationConfig')
    expect(instead?.({ id: 'a', push_notification_config: null })).toBe('deleteTaskPushNotificationConfig')
    expect(instead?.({ id: 'a', pushNotificationConfig: { url: 'https://x.example' } })).toBeUndefined()
    expect(instead?.({ id: 'a' })).toBeUndefined()
    const params = { id: 'a', pushNotificationConfig: null }
    expect(codec('deleteTaskPushNotificationConfig').decode(params, facts)).toEqual({ taskId: 'a', id: 'a' })
  })
})

describe('errors in v0.1', () => {
  it('have v0.1 codes, and details as one object', () => {
    const numbers = Object.fromEntries(errorCodes.map((code) => [code, form.encodeError(new A2AError(code, 'x')).code]))
    expect(numbers).toEqual({
      TASK_NOT_FOUND: -32001,
      TASK_NOT_CANCELABLE: -32002,
      PUSH_NOTIFICATION_NOT_SUPPORTED: -32003,
      UNSUPPORTED_OPERATION: -32004,
      CONTENT_TYPE_NOT_SUPPORTED: -32005,
      INVALID_AGENT_RESPONSE: -32603,
      EXTENDED_AGENT_CARD_NOT_CONFIGURED: -32004,
      EXTENSION_SUPPORT_REQUIRED: -32004,
      VERSION_NOT_SUPPORTED: -32600,
      PARSE_ERROR: -32700,
      INVALID_REQUEST: -32600,
      METHOD_NOT_FOUND: -32601,
      INVALID_PARAMS: -32602,
      INTERNAL_ERROR: -32603,
      UNAUTHENTICATED: -32007,
      PERMISSION_DENIED: -32008,
      RATE_LIMITED: -32010,
      PAYLOAD_TOO_LARGE: -32600,
      UNAVAILABLE: -32011,
    })
    const violations = [{ field: 'id', description: 'is required' }]
    expect(form.encodeError(new A2AError('INVALID_PARAMS', 'id: is required', { violations })).data).toEqual({
      reason: 'INVALID_PARAMS',
      domain: 'a2a-protocol.org',
      metadata: {},
      fieldViolations: violations,
    })
  })

  it(proves(['RL-01-2', 'RM-STR-6'], 'distinguish missing streaming support from an ended task'), () => {
    const unsupported = (metadata: Record<string, string>) =>
      form.encodeError(new A2AError('UNSUPPORTED_OPERATION', 'x', { metadata })).code
    expect(unsupported({ capability: 'streaming' })).toBe(-32006)
    expect(unsupported({ taskId: 'a', state: 'TASK_STATE_FAILED' })).toBe(-32009)
    expect(unsupported({ capability: 'extendedAgentCard' })).toBe(-32004)
  })

  it(proves('RM-ERR-1', 'are decoded with the meanings of v0.1'), () => {
    expect([-32006, -32007, -32008, -32009, -32010, -32011].map((code) => meanings.get(code))).toEqual([
      'UNSUPPORTED_OPERATION',
      'UNAUTHENTICATED',
      'PERMISSION_DENIED',
      'UNSUPPORTED_OPERATION',
      'RATE_LIMITED',
      'UNAVAILABLE',
    ])
  })

  it('keep the HTTP statuses of errors before a call', () => {
    const statuses = (
      ['UNAUTHENTICATED', 'PERMISSION_DENIED', 'RATE_LIMITED', 'UNAVAILABLE', 'PAYLOAD_TOO_LARGE'] as const
    ).map((code) => form.httpStatus(new A2AError(code, 'x')))
    expect(statuses).toEqual([401, 403, 429, 503, 413])
  })
})

describe('webhooks of v0.1', () => {
  const payloadOf = ({ push }: Dialect) => push && 'encodeTask' in push && JSON.parse(push.encodeTask(task))
  const task: Task = {
    id: 't',
    contextId: 'c',
    status: { state: 'TASK_STATE_INPUT_REQUIRED' },
    history: [{ messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'x' }] }],
  }

  it(proves('RL-01-8', 'contain the task, with its id under both names'), () => {
    const expected = { taskId: 't', id: 't', sessionId: 'c', status: { state: 'input-required' } }
    expect(v0_1.push?.contentType).toBe('application/json')
    expect(payloadOf(v0_1)).toEqual(expected)
    expect(payloadOf(v0_1Go)).toEqual({
      ...expected,
      status: { state: 'processing' },
      metadata: { a2aState: 'TASK_STATE_INPUT_REQUIRED' },
    })
  })
})

describe('the card of v0.1', () => {
  const card: AgentCard = {
    name: 'Lines',
    description: 'Writes lines',
    supportedInterfaces: [
      { url: 'https://a.example/v1', protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
      { url: 'https://a.example/t', protocolBinding: 'JSONRPC', protocolVersion: '0.3', tenant: 't' },
      { url: 'https://a.example/rest', protocolBinding: 'HTTP+JSON', protocolVersion: '0.3' },
      { url: 'https://a.example/rpc', protocolBinding: 'JSONRPC', protocolVersion: '0.3.0' },
    ],
    provider: { organization: 'Example', url: 'https://example.com' },
    version: '2.1',
    documentationUrl: 'https://example.com/docs',
    iconUrl: 'https://example.com/i.png',
    capabilities: { streaming: true, extendedAgentCard: true },
    securitySchemes: {
      key: { apiKeySecurityScheme: { location: 'header', name: 'X-API-Key' } },
      token: { httpAuthSecurityScheme: { scheme: 'bearer' } },
      sso: { openIdConnectSecurityScheme: { openIdConnectUrl: 'https://id.example/.well-known' } },
      odd: { httpAuthSecurityScheme: { scheme: 'constructor' } },
      tls: { mtlsSecurityScheme: {} },
    },
    securityRequirements: [{ schemes: { key: {} } }],
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain', 'application/json'],
    skills: [
      { id: 's', name: 'Skill', description: 'Does it', tags: ['x'], examples: ['e'], inputModes: ['image/png'] },
    ],
    signatures: [{ protected: 'p', signature: 's' }],
  }
  const written = (dialect: typeof v0_1, from = card) => JSON.parse(JSON.stringify(dialect.card?.encode(from) ?? null))

  it('has one address and scheme names', () => {
    expect(written(v0_1)).toEqual({
      name: 'Lines',
      description: 'Writes lines',
      url: 'https://a.example/rpc',
      version: '2.1',
      provider: { organization: 'Example', url: 'https://example.com' },
      documentationUrl: 'https://example.com/docs',
      capabilities: { streaming: true, pushNotifications: false, stateTransitionHistory: false },
      authentication: {
        schemes: ['apiKey', 'Bearer', 'OAuth2', 'constructor'],
        credentials: '{"OAuth2":{"openIdConnectUrl":"https://id.example/.well-known"}}',
      },
      defaultInputModes: ['text/plain'],
      defaultOutputModes: ['text/plain', 'application/json'],
      skills: [
        { id: 's', name: 'Skill', description: 'Does it', tags: ['x'], examples: ['e'], inputModes: ['image/png'] },
      ],
    })
  })

  it('prefers an interface of v0.1, accepts one of v1.0, and is absent without either', () => {
    const own = { url: 'https://a.example/old', protocolBinding: 'JSONRPC', protocolVersion: '0.1' }
    const urlOf = (supportedInterfaces: AgentCard['supportedInterfaces']) =>
      (written(v0_1, { ...card, supportedInterfaces }) as { url?: string } | null)?.url
    expect(urlOf([...card.supportedInterfaces, own])).toBe('https://a.example/old')
    expect(urlOf(card.supportedInterfaces.slice(0, 3))).toBe('https://a.example/v1')
    expect(urlOf(card.supportedInterfaces.slice(1, 3))).toBeUndefined()
  })

  it(proves('RL-GO-6', 'has `iconUri` and always `authentication` in the Go form'), () => {
    const { securitySchemes: _schemes, ...open } = card
    expect(written(v0_1, open)).not.toHaveProperty('authentication')
    const wire = written(v0_1Go, open) as Record<string, unknown>
    expect(wire).toMatchObject({ iconUri: 'https://example.com/i.png', authentication: { schemes: [] } })
    expect(wire).not.toHaveProperty('documentationUrl')
  })

  it('decodes to a card of v1.0', () => {
    expect(decodeCard(written(v0_1))).toMatchObject({
      supportedInterfaces: [{ url: 'https://a.example/rpc', protocolBinding: 'JSONRPC', protocolVersion: '0.1' }],
      capabilities: { streaming: true, pushNotifications: false },
      securitySchemes: {
        apiKey: { apiKeySecurityScheme: { location: 'header', name: 'X-API-Key' } },
        Bearer: { httpAuthSecurityScheme: { scheme: 'Bearer' } },
        OAuth2: { httpAuthSecurityScheme: { scheme: 'Bearer' } },
      },
      skills: [{ id: 's', tags: ['x'], inputModes: ['image/png'] }],
    })
    const least = {
      name: 'Go',
      url: 'http://g.example',
      version: '0',
      iconUri: 'i',
      authentication: { schemes: ['None'] },
    }
    expect(decodeCard({ ...least, defaultOutputModes: ['text', 'data', 'image/png'], skills: null })).toEqual({
      name: 'Go',
      description: '',
      supportedInterfaces: [{ url: 'http://g.example', protocolBinding: 'JSONRPC', protocolVersion: '0.1' }],
      version: '0',
      iconUrl: 'i',
      capabilities: { streaming: false, pushNotifications: false },
      defaultInputModes: ['text/plain'],
      defaultOutputModes: ['text/plain', 'application/json', 'image/png'],
      skills: [],
    })
  })
})
