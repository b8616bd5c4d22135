import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { A2AError, errorCodes } from '../../model/errors.js'
import type { JsonValue } from '../../model/part.js'
import type { Task, TaskState } from '../../model/task.js'
import type { CallFacts, JsonRpcForm, RestForm } from '../dialect.js'
import { createInvoke } from './index.js'
import { decodeSendParams, encodeSendParams, jsonOf } from './messages.js'
import { decodeReply, decodeResponse } from './tasks.js'

const invoke = createInvoke()
const jsonrpc = invoke.jsonrpc as JsonRpcForm // invoke has both forms
const rest = invoke.rest as RestForm

function factsWith(headers: Record<string, string> = {}): CallFacts {
  return { newId: () => 'id-1', header: (name) => headers[name] ?? null }
}

function refusalOf(work: () => unknown): A2AError {
  try {
    work()
  } catch (error) {
    if (error instanceof A2AError) return error
    throw error
  }
  throw new Error('Nothing was refused')
}

const decode = (params: unknown, headers?: Record<string, string>) => decodeSendParams(params, factsWith(headers))

describe('a request', () => {
  it.each([[undefined], [null], [''], [{}], [[]]])('is refused when its input is %j (RL-L1-1)', (input) => {
    const { code, details } = refusalOf(() => decode({ input, chat_id: 'c' }))
    expect(code).toBe('INVALID_PARAMS')
    expect(details.violations?.map(({ field }) => field)).toEqual(['input'])
  })

  it('names every faulty member', () => {
    const deep = JSON.parse(`${'['.repeat(70)}${']'.repeat(70)}`) as unknown
    const refusal = refusalOf(() => decode({ chat_id: 7, task_id: {}, extra: deep }))
    const fields = refusal.details.violations?.map(({ field }) => field) ?? []
    expect(fields.slice(0, 3)).toEqual(['input', 'chat_id', 'task_id'])
    expect(fields[3]).toMatch(/^extra\[0\]/)
  })

  it('cannot set a prototype', () => {
    const params = JSON.parse('{"input":"x","__proto__":{"polluted":true}}') as unknown
    expect(refusalOf(() => decode(params)).details.violations?.[0]?.field).toBe('__proto__')
  })

  it('carries the agent’s name as metadata (RL-L1-7)', () => {
    expect(decode({ input: 'x', agentName: 'said' }, { 'X-Agent-Name': 'order_agent' }).metadata).toEqual({
      agentName: 'order_agent',
    })
  })

  it.each(['1.0', ' 1.0 ', ''])('may name version %j of this dialect (RL-L1-8)', (version) => {
    expect(decode({ input: 'x' }, { 'X-A2A-Version': version }).message.parts).toEqual([{ text: 'x' }])
  })

  it.each(['2.0', '0.3', '1', 'x'.repeat(9999)])('is refused in version %.20s (RL-L1-8)', (version) => {
    const { code, message, details } = refusalOf(() => decode({ input: 'x' }, { 'X-A2A-Version': version }))
    expect(code).toBe('INVALID_PARAMS')
    expect(details.violations?.[0]?.field).toBe('X-A2A-Version')
    expect(message.length).toBeLessThan(300)
  })

  it('is not read from A2A-Version', () => {
    expect(() => decode({ input: 'x' }, { 'A2A-Version': '99.0' })).not.toThrow()
  })

  it('cannot contain only files', () => {
    const message = { messageId: 'm', role: 'ROLE_USER' as const, parts: [{ raw: 'aGk=' }] }
    expect(refusalOf(() => encodeSendParams({ message })).code).toBe('CONTENT_TYPE_NOT_SUPPORTED')
  })

  it('keeps its own members when metadata has members of the same names', () => {
    const message = { messageId: 'm', role: 'ROLE_USER' as const, parts: [{ text: 'x' }] }
    expect(encodeSendParams({ message, metadata: { input: 'y', chat_id: 'other', locale: 'en' } })).toEqual({
      locale: 'en',
      input: 'x',
    })
  })
})

describe('a failed task', () => {
  const ended = (state: TaskState, text?: string): Task => ({
    id: 't1',
    contextId: 'c1',
    status: {
      state,
      ...(text !== undefined && {
        message: { messageId: 'm', role: 'ROLE_AGENT' as const, parts: [{ text }] },
      }),
    },
  })

  it.each<[TaskState, string | undefined, string]>([
    ['TASK_STATE_FAILED', 'No such order', 'No such order'],
    ['TASK_STATE_FAILED', undefined, 'The task failed'],
    ['TASK_STATE_CANCELED', undefined, 'The task was canceled'],
    ['TASK_STATE_REJECTED', '', 'The agent rejected the task'],
  ])('%s is a response over HTTP and a JSON-RPC error (RL-L1-5, RL-L1-6)', (state, text, sentence) => {
    const task = ended(state, text)
    const encode = ({ operations }: JsonRpcForm | RestForm) => operations.sendMessage?.encode({ task }, {})
    expect(JSON.parse(encode(rest) ?? '')).toEqual({ error: sentence, status: 'error' })
    expect(jsonrpc.encodeError(refusalOf(() => encode(jsonrpc)))).toMatchObject({ code: -32603, message: sentence })
  })
})

describe('errors', () => {
  it('have an HTTP status and a JSON-RPC code each', () => {
    const table = errorCodes.map((code) => {
      const error = new A2AError(code, 'x')
      return [code, rest.encodeError(error).status, jsonrpc.encodeError(error).code, jsonrpc.httpStatus(error)]
    })
    expect(table.filter(([, status, , same]) => status !== same)).toEqual([])
    expect(table.map(([code, status, number]) => `${code} ${status} ${number}`)).toMatchInlineSnapshot(`
      [
        "TASK_NOT_FOUND 404 -32001",
        "TASK_NOT_CANCELABLE 400 -32002",
        "PUSH_NOTIFICATION_NOT_SUPPORTED 400 -32003",
        "UNSUPPORTED_OPERATION 400 -32004",
        "CONTENT_TYPE_NOT_SUPPORTED 400 -32005",
        "INVALID_AGENT_RESPONSE 500 -32603",
        "EXTENDED_AGENT_CARD_NOT_CONFIGURED 400 -32007",
        "EXTENSION_SUPPORT_REQUIRED 400 -32008",
        "VERSION_NOT_SUPPORTED 400 -32009",
        "PARSE_ERROR 400 -32700",
        "INVALID_REQUEST 400 -32600",
        "METHOD_NOT_FOUND 404 -32601",
        "INVALID_PARAMS 400 -32602",
        "INTERNAL_ERROR 500 -32603",
        "UNAUTHENTICATED 401 -32000",
        "PERMISSION_DENIED 403 -32000",
        "RATE_LIMITED 429 -32000",
        "PAYLOAD_TOO_LARGE 413 -32600",
        "UNAVAILABLE 503 -32603",
      ]
    `)
  })

  it('name the faulty field in the JSON-RPC form (RL-L1-6)', () => {
    expect(jsonrpc.encodeError(refusalOf(() => decode({})))).toEqual({
      code: -32602,
      message: 'input: is required',
      data: {
        reason: 'INVALID_PARAMS',
        domain: 'a2a-protocol.org',
        metadata: {},
        fieldViolations: [{ field: 'input', description: 'is required' }],
      },
    })
  })
})

describe('a failed stream', () => {
  it('sends the error in a last chunk, in both envelopes', () => {
    const error = new A2AError('UNAVAILABLE', 'Shutting down')
    const frames = [rest, jsonrpc].map((form) =>
      form
        .createStreamEncoder({ operation: 'sendStreamingMessage', params: {}, newId: () => 'x' })
        .encodeError?.(error),
    )
    const chunk = { data: '{"error":"Shutting down","status":"error"}' }
    expect(frames).toEqual([[chunk], [chunk]])
  })

  it('that ends without a result has no last chunk', () => {
    const encoder = rest.createStreamEncoder({ operation: 'sendStreamingMessage', params: {}, newId: () => 'x' })
    encoder.encode({ event: { task: { id: 't', contextId: 'c', status: { state: 'TASK_STATE_WORKING' } } } })
    expect(encoder.end?.()).toEqual([])
  })
})

describe('a result', () => {
  it.each([
    [{ error: 'No', status: 'error' }, 'No'],
    [{ error: 'No' }, 'No'],
    [{ status: 'error' }, 'The task failed'],
  ])('with %j decodes to a failed task', (wire, text) => {
    const response = decodeResponse(wire, factsWith())
    expect(response).toMatchObject({ task: { status: { state: 'TASK_STATE_FAILED', message: { parts: [{ text }] } } } })
  })

  it('without an output or an error is refused', () => {
    expect(refusalOf(() => decodeReply({ answer: 'x' })).code).toBe('INVALID_AGENT_RESPONSE')
  })
})

/** The one name that decoders refuse. */
function hasPrototype(value: JsonValue): boolean {
  return JSON.stringify(value).includes('__proto__')
}

describe('properties', () => {
  const json = fc.jsonValue() as fc.Arbitrary<JsonValue>

  it('decoders throw only A2AError', () => {
    fc.assert(
      fc.property(fc.oneof(json, fc.record({ input: json, chat_id: json, task_id: json })), (wire) => {
        for (const read of [decode, decodeReply, (each: unknown) => decodeResponse(each, factsWith())]) {
          try {
            read(wire)
          } catch (error) {
            expect(error).toBeInstanceOf(A2AError)
          }
        }
      }),
    )
  })

  it('text and data survive a round trip', () => {
    const isSendable = (value: JsonValue) =>
      typeof value === 'object' && value !== null && Object.keys(value).length > 0 && !hasPrototype(value)
    const part = fc.oneof(
      fc.record({ text: fc.string({ minLength: 1 }) }),
      fc.record({ data: json.filter(isSendable) }),
    )
    const id = fc.option(fc.string({ minLength: 1 }), { nil: undefined })
    fc.assert(
      fc.property(part, id, id, (content, contextId, taskId) => {
        const message = {
          messageId: 'id-1',
          ...(contextId !== undefined && { contextId }),
          ...(taskId !== undefined && { taskId }),
          role: 'ROLE_USER' as const,
          parts: [content],
        }
        const wire = JSON.parse(JSON.stringify(encodeSendParams({ message }))) as unknown
        const expected = JSON.parse(JSON.stringify({ message })) as unknown // JSON has no -0
        expect(decode(wire)).toEqual(expected)
      }),
    )
  })

  it('the increments of a text join to the text (RL-L1-4)', () => {
    fc.assert(
      fc.property(fc.array(fc.string(), { minLength: 1 }), (chunks) => {
        const encoder = rest.createStreamEncoder({ operation: 'sendStreamingMessage', params: {}, newId: () => 'x' })
        const ids = { taskId: 't', contextId: 'c' }
        const frames = chunks.map((text) =>
          encoder.encode({
            event: { artifactUpdate: { ...ids, append: true, artifact: { artifactId: 'a', parts: [{ text }] } } },
          }),
        )
        const last = encoder.encode({ event: { statusUpdate: { ...ids, status: { state: 'TASK_STATE_COMPLETED' } } } })
        const outputs = frames
          .filter((frame) => typeof frame === 'string')
          .map((frame) => (JSON.parse(frame) as { output: string }).output)
        expect(JSON.parse(last as string)).toEqual({ output: outputs.join(''), status: 'success' })
        expect(outputs.join('')).toBe(jsonOf(chunks.map((text) => ({ text }))) ?? '')
      }),
    )
  })
})
