import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { AgentCard } from '../../model/agent-card.js'
import { A2AError, type ErrorCode, errorCodes } from '../../model/errors.js'
import type { StreamResponse } from '../../model/event.js'
import type { JsonValue, Part } from '../../model/part.js'
import type { TaskState } from '../../model/task.js'
import type { JsonRpcForm } from '../dialect.js'
import { validateCard } from '../validate-card/index.js'
import type { encodeError as encodeChatError } from './errors.js'
import { chatRpc } from './index.js'
import { decodeMessage, decodeSendParams, encodeMessage } from './messages.js'
import { createStreamEncoder, decodeStreamResult } from './stream.js'
import { decodeResponse, encodeResponse } from './tasks.js'

const encodeError = (chatRpc.jsonrpc as JsonRpcForm).encodeError as typeof encodeChatError // the dialect has that form
const facts = { newId: () => 'id-1', header: () => null }

function refusalOf(work: () => unknown): A2AError {
  try {
    work()
  } catch (error) {
    if (error instanceof A2AError) return error
    throw error
  }
  throw new Error('Nothing was refused')
}

/** All frames of a stream, as sent. */
function framesOf(events: readonly StreamResponse[], params: unknown = {}): unknown[] {
  const encoder = createStreamEncoder({ operation: 'sendStreamingMessage', params, newId: () => 'd1' })
  const frames = events.map((event) => encoder.encode({ event }))
  return [...frames, encoder.end?.() ?? []].flatMap((each) =>
    typeof each === 'string' ? [each] : each.map(({ data }) => data),
  )
}

describe('a request', () => {
  it.each<[unknown, string]>([
    ['text', ''],
    [undefined, ''],
    [{}, 'message'],
    [{ message: null }, 'message'],
    [{ message: 'hi' }, 'message'],
    [{ message: { parts: [{ kind: 'text', text: 'x' }] } }, 'message.role'],
    [{ message: { role: 'user' } }, 'message.parts'],
    [{ message: { role: 'user', parts: [] } }, 'message.parts'],
    [{ message: { role: 'user', parts: {} } }, 'message.parts'],
    [{ message: { role: 'user', parts: [{ kind: 'tune' }] } }, 'message.parts[0].kind'],
    [{ message: { role: 'user', messageId: 7, parts: [{ kind: 'text', text: 'x' }] } }, 'message.messageId'],
    [{ message: { role: 'user', parts: [{ kind: 'text', text: 'x' }] }, metadata: 'x' }, 'metadata'],
  ])('%j is refused for its %s', (params, field) => {
    const { code, details } = refusalOf(() => decodeSendParams(params, facts))
    expect(code).toBe('INVALID_PARAMS')
    expect(details.violations?.map((each) => each.field)).toEqual([field])
  })

  it('may omit its id, kind and context', () => {
    const params = { message: { role: 'user', parts: [{ kind: 'text', text: 'x' }] } }
    expect(decodeSendParams(params, facts).message.messageId).toBe('id-1')
    expect(params.message).not.toHaveProperty('messageId')
  })
})

describe('a failed task', () => {
  it.each<[TaskState, string]>([
    ['TASK_STATE_FAILED', 'The task failed'],
    ['TASK_STATE_CANCELED', 'The task was canceled'],
    ['TASK_STATE_REJECTED', 'The agent rejected the task'],
  ])('%s is -32603 and names the task', (state, sentence) => {
    const error = refusalOf(() => encodeResponse({ task: { id: 'k1', contextId: 'v1', status: { state } } }))
    expect(encodeError(error)).toMatchObject({
      code: -32603,
      message: 'Internal error',
      data: { detail: sentence, metadata: { taskId: 'k1' } },
    })
  })
})

/** The code, and the message if the documents of chat-rpc have one. */
function rowOf(code: ErrorCode): string {
  const { code: number, message, data } = encodeError(new A2AError(code, 'x'))
  expect(data).toMatchObject(message.endsWith('x') ? { reason: code } : { reason: code, detail: 'x' })
  return `${number} ${message}`
}

describe('errors', () => {
  it('have the codes of 0.3, and one code for every failure', () => {
    expect(errorCodes.map((code) => `${code} ${rowOf(code)}`)).toMatchInlineSnapshot(`
      [
        "TASK_NOT_FOUND -32001 Task not found",
        "TASK_NOT_CANCELABLE -32002 Task cannot be canceled",
        "PUSH_NOTIFICATION_NOT_SUPPORTED -32003 Push Notification is not supported: x",
        "UNSUPPORTED_OPERATION -32004 x",
        "CONTENT_TYPE_NOT_SUPPORTED -32005 x",
        "INVALID_AGENT_RESPONSE -32603 Internal error",
        "EXTENDED_AGENT_CARD_NOT_CONFIGURED -32007 x",
        "EXTENSION_SUPPORT_REQUIRED -32008 x",
        "VERSION_NOT_SUPPORTED -32009 x",
        "PARSE_ERROR -32700 x",
        "INVALID_REQUEST -32600 Invalid Request",
        "METHOD_NOT_FOUND -32601 Method not found",
        "INVALID_PARAMS -32602 Invalid params",
        "INTERNAL_ERROR -32603 Internal error",
        "UNAUTHENTICATED -32000 x",
        "PERMISSION_DENIED -32000 x",
        "RATE_LIMITED -32000 x",
        "PAYLOAD_TOO_LARGE -32600 Invalid Request",
        "UNAVAILABLE -32603 Internal error",
      ]
    `)
  })

  it('end a stream with a failed task and [DONE] (RL-L2-4)', () => {
    const encoder = createStreamEncoder({ operation: 'sendStreamingMessage', params: {}, newId: () => 'd1' })
    encoder.encode({ event: { task: { id: 'k1', contextId: 'v1', status: { state: 'TASK_STATE_WORKING' } } } })
    const [failed, done, ...more] = encoder.encodeError?.(new A2AError('UNAVAILABLE', 'Shutting down')) ?? []
    expect(JSON.parse(failed?.data ?? '')).toEqual({
      task: { id: 'k1', state: 'failed', contextId: 'v1' },
      events: [
        {
          type: 'TaskStatusUpdateEvent',
          taskId: 'k1',
          state: 'failed',
          final: true,
          message: {
            kind: 'message',
            messageId: 'd1',
            contextId: 'v1',
            role: 'agent',
            parts: [{ kind: 'text', text: 'Shutting down' }],
            metadata: { error: { code: -32603, reason: 'UNAVAILABLE' } },
          },
        },
      ],
      final: true,
    })
    expect([failed?.isBare, done, more]).toEqual([undefined, { data: '[DONE]', isBare: true }, []])
  })

  it('end a stream without a task in the same form', () => {
    const encoder = createStreamEncoder({ operation: 'sendStreamingMessage', params: {}, newId: () => 'd1' })
    const frames = encoder.encodeError?.(new A2AError('INVALID_PARAMS', 'No')) ?? []
    expect(frames.map(({ data }) => data.slice(0, 52))).toEqual([
      '{"task":{"id":"","state":"failed","contextId":""},"e',
      '[DONE]',
    ])
  })
})

describe('a stream', () => {
  it('ends with exactly one [DONE] for any events (RL-L2-1)', () => {
    const ids = { taskId: 'k1', contextId: 'v1' }
    const events: fc.Arbitrary<StreamResponse> = fc.oneof(
      fc.string().map((text) => ({ artifactUpdate: { ...ids, artifact: { artifactId: 'a', parts: [{ text }] } } })),
      fc
        .constantFrom<TaskState>('TASK_STATE_WORKING', 'TASK_STATE_INPUT_REQUIRED', 'TASK_STATE_AUTH_REQUIRED')
        .map((state) => ({ statusUpdate: { ...ids, status: { state } } })),
      fc
        .constantFrom<TaskState>('TASK_STATE_COMPLETED', 'TASK_STATE_FAILED', 'TASK_STATE_SUBMITTED')
        .map((state) => ({ task: { id: 'k1', contextId: 'v1', status: { state } } })),
    )
    fc.assert(
      fc.property(fc.array(events), (items) => {
        const frames = framesOf(items)
        expect(frames.filter((frame) => frame === '[DONE]')).toHaveLength(1)
        expect(frames.at(-1)).toBe('[DONE]')
        const finals = frames.slice(0, -1).filter((frame) => (JSON.parse(frame as string) as { final: boolean }).final)
        expect(finals.length).toBeLessThanOrEqual(1)
        if (finals.length > 0) expect(frames.at(-2)).toBe(finals[0])
      }),
    )
  })

  it('is decoded by clients: chunks, files and the last message', () => {
    const ids = { taskId: 'k1', contextId: 'v1' }
    const frames = framesOf([
      { artifactUpdate: { ...ids, artifact: { artifactId: 'a1', parts: [{ text: 'one ' }, { data: { n: 1 } }] } } },
      { artifactUpdate: { ...ids, append: true, artifact: { artifactId: 'a1', parts: [{ text: 'two' }] } } },
      { statusUpdate: { ...ids, status: { state: 'TASK_STATE_COMPLETED' } } },
    ])
    const read = frames.slice(0, -1).flatMap((frame) => decodeStreamResult(JSON.parse(frame as string), facts))
    expect(read).toEqual([
      { artifactUpdate: { ...ids, append: true, artifact: { artifactId: 'd1', parts: [{ text: 'one ' }] } } },
      { artifactUpdate: { ...ids, artifact: { artifactId: 'a1', parts: [{ data: { n: 1 } }] } } },
      { artifactUpdate: { ...ids, append: true, artifact: { artifactId: 'd1', parts: [{ text: 'two' }] } } },
      {
        statusUpdate: {
          ...ids,
          status: {
            state: 'TASK_STATE_COMPLETED',
            message: {
              messageId: 'd1',
              contextId: 'v1',
              role: 'ROLE_AGENT',
              parts: [{ text: 'one ' }, { data: { n: 1 } }, { text: 'two' }],
            },
          },
        },
      },
    ])
  })

  it('of a message without a task is decoded as that message', () => {
    const message = { messageId: 'm1', contextId: 'v1', role: 'ROLE_AGENT' as const, parts: [{ text: 'hi' }] }
    const [frame] = framesOf([{ message }])
    expect(decodeStreamResult(JSON.parse(frame as string), facts)).toEqual([{ message: { ...message, metadata: {} } }])
  })
})

describe('the card', () => {
  const card: AgentCard = {
    name: 'Orders',
    description: 'Knows where orders are',
    version: '1.0.0',
    supportedInterfaces: [
      { url: 'https://a.example/orders/', protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
      { url: 'https://a.example/t', protocolBinding: 'HTTP+JSON', protocolVersion: '1.0', tenant: 't' },
      { url: 'https://a.example/orders/', protocolBinding: 'HTTP+JSON', protocolVersion: '1.0' },
    ],
    capabilities: { pushNotifications: true, extendedAgentCard: true },
    securitySchemes: { key: { apiKeySecurityScheme: { location: 'header', name: 'X-API-Key' } } },
    securityRequirements: [{ schemes: { key: {} } }],
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['application/json'],
    skills: [{ id: 'find', name: 'Find', description: 'Finds', tags: ['orders'] }],
  }

  it('has the paths of chat-rpc and is a valid 0.3 card', () => {
    const encoded = chatRpc.card?.encode(card)
    expect(encoded).toMatchObject({
      url: 'https://a.example/orders/api/v1/a2a',
      preferredTransport: 'JSONRPC',
      capabilities: { streaming: true, pushNotifications: false },
      defaultInputModes: ['text/plain', 'application/json'],
      defaultOutputModes: ['application/json'],
    })
    expect(validateCard(encoded)).toEqual({ version: 'v0.3', problems: [], isValid: true })
  })

  it('does not exist without a base address', () => {
    expect(chatRpc.card?.encode({ ...card, supportedInterfaces: card.supportedInterfaces.slice(0, 2) })).toBeUndefined()
  })
})

describe('properties', () => {
  const json = fc.jsonValue() as fc.Arbitrary<JsonValue>

  it('decoders throw only A2AError', () => {
    const message = fc.record({ role: json, parts: fc.oneof(json, fc.array(json)), messageId: json, metadata: json })
    const result = fc.record({ task: fc.oneof(json, fc.record({ id: fc.string() })), events: fc.array(json) })
    fc.assert(
      fc.property(fc.oneof(json, fc.record({ message }), message, result), (wire) => {
        for (const read of [decodeSendParams, decodeMessage, decodeResponse, decodeStreamResult]) {
          try {
            read(wire, facts)
          } catch (error) {
            expect(error).toBeInstanceOf(A2AError)
          }
        }
      }),
    )
  })

  it('messages survive a round trip', () => {
    const part: fc.Arbitrary<Part> = fc.oneof(
      fc.record({ text: fc.string() }),
      fc.record({ data: json.filter((value) => !JSON.stringify(value).includes('__proto__')) }), // refused
      fc.record({ url: fc.webUrl() }),
    )
    fc.assert(
      fc.property(fc.array(part, { minLength: 1 }), fc.string({ minLength: 1 }), (parts, contextId) => {
        const message = { messageId: 'm', contextId, role: 'ROLE_AGENT' as const, parts, metadata: {} }
        const sent = JSON.parse(JSON.stringify(message)) as unknown // JSON has no -0
        expect(decodeMessage(JSON.parse(JSON.stringify(encodeMessage(message, {}))), facts)).toEqual(sent)
      }),
    )
  })
})
