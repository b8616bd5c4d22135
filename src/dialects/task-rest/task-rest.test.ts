import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { proves } from '../../../conformance/proves.js'
import type { AgentCard } from '../../model/agent-card.js'
import { A2AError, type ErrorCode, errorCodes } from '../../model/errors.js'
import type { StreamResponse } from '../../model/event.js'
import type { Operation } from '../../model/operations.js'
import type { Task } from '../../model/task.js'
import { decodeOrThrow } from '../decode.js'
import type { OperationCodec, RestForm } from '../dialect.js'
import { damaged, messages, sent, tasks } from '../v0_1/arbitrary.fixture.js'
import { decodeCard } from './card.js'
import { taskRest } from './index.js'
import { encodeMessage, readMessage, toMessage } from './messages.js'
import { encodeTask, readEvent, readTask, toTask } from './tasks.js'

const form = taskRest.rest as RestForm // its only form
const newId = () => 'new'
const facts = { newId, header: () => null }

function codec(operation: Operation): OperationCodec {
  return form.operations[operation] as OperationCodec // the tests use existing operations
}

describe('task-rest', () => {
  it('is selected by its paths', () => {
    expect([taskRest.name, taskRest.versions]).toEqual(['task-rest', []])
    expect(form.routes.map(({ method, path, operation }) => `${method} ${path} ${operation}`)).toEqual([
      'POST /tasks/send sendMessage',
      'POST /tasks/sendSubscribe sendStreamingMessage',
      'GET /tasks/{id} getTask',
      'POST /tasks/{id}/cancel cancelTask',
      'POST /tasks/cancel cancelTask',
      'POST /tasks/resubscribe subscribeToTask',
      'POST /tasks/pushNotification/set createTaskPushNotificationConfig',
      'POST /tasks/pushNotification/get getTaskPushNotificationConfig',
    ])
  })

  it('keeps messages, except extensions and references without metadata', () => {
    fc.assert(
      fc.property(messages, (model) => {
        const { extensions: _extensions, referenceTaskIds: _references, ...plain } = model
        const expected = model.metadata ? model : plain
        expect(toMessage(decodeOrThrow(readMessage, sent(encodeMessage(model))), newId)).toEqual(sent(expected))
      }),
    )
  })

  it('keeps tasks, artifact ids and actual states', () => {
    fc.assert(
      fc.property(tasks, (model) => {
        const plain = ({ extensions, referenceTaskIds, ...message }: Parameters<typeof encodeMessage>[0]) => ({
          ...message,
          ...(message.metadata && extensions && { extensions }),
          ...(message.metadata && referenceTaskIds && { referenceTaskIds }),
        })
        const expected: Task = {
          ...model,
          status: { ...model.status, ...(model.status.message && { message: plain(model.status.message) }) },
          ...(model.history && { history: model.history.map(plain) }),
        }
        expect(toTask(decodeOrThrow(readTask, sent(encodeTask(model))), newId)).toEqual(sent(expected))
      }),
    )
  })
})

describe('input of task-rest', () => {
  const message = { role: 'user', messageId: 'm', parts: [{ type: 'text', text: 'x', metadata: { a2aFilename: 'f' } }] }
  const push = { url: 'https://hook.example', authentication: { schemes: ['Bearer'] } }
  const samples: Partial<Record<Operation, object>> = {
    sendMessage: { message, pushNotification: push, metadata: { k: [1] } },
    getTask: { id: 'a' },
    cancelTask: { id: 'a', metadata: {} },
    createTaskPushNotificationConfig: { id: 'a', pushNotificationConfig: push },
    deleteTaskPushNotificationConfig: { id: 'a', pushNotificationConfig: null },
  }

  it.each(Object.entries(samples))('is decoded or refused with INVALID_PARAMS: %s', (operation, sample) => {
    const { decode } = codec(operation as Operation)
    expect(decode(sample, facts)).toBeDefined()
    fc.assert(
      fc.property(fc.oneof(fc.jsonValue(), damaged(sample)), (params) => expectRefusal(() => decode(params, facts))),
    )
  })

  it('is decoded or refused by clients too', () => {
    const task = {
      id: 't',
      contextId: 'c',
      status: { state: 'working', message },
      artifacts: [{ artifactId: 'a', parts: [] }],
    }
    for (const sample of [{ task }, { taskId: 't', artifact: task.artifacts[0] }]) {
      expect(decodeOrThrow(readEvent(newId), sample)).toBeDefined()
      fc.assert(
        fc.property(fc.oneof(fc.jsonValue(), damaged(sample)), (value) =>
          expectRefusal(() => decodeOrThrow(readEvent(newId), value)),
        ),
      )
    }
  })

  it(proves('RL-L0-2', 'is malformed without a message, or with one of the wrong types'), () => {
    for (const body of [
      {},
      { message: null },
      { message: 'x' },
      { message: { role: 'user' } },
      { message: { parts: [] } },
    ]) {
      const refused = refusalOf(() => codec('sendMessage').decode(body, facts))
      expect(form.encodeError(refused).status).toBe(422)
    }
  })

  it(proves('RL-L0-7', 'may carry a push config, which null deletes'), () => {
    expect(codec('sendMessage').decode({ message, pushNotification: push }, facts)).toMatchObject({
      configuration: {
        taskPushNotificationConfig: { url: 'https://hook.example', authentication: { scheme: 'Bearer' } },
      },
    })
    const instead = codec('createTaskPushNotificationConfig').instead?.({ id: 'a', pushNotificationConfig: null })
    expect(instead).toBe('deleteTaskPushNotificationConfig')
  })
})

describe('errors in task-rest', () => {
  it(proves('RL-L0-2', 'have HTTP statuses, a detail and a code'), () => {
    const answers = Object.fromEntries(
      errorCodes.map((code) => [code, form.encodeError(new A2AError(code, 'x')).status]),
    )
    const expected: Record<ErrorCode, number> = {
      TASK_NOT_FOUND: 404,
      TASK_NOT_CANCELABLE: 409,
      PUSH_NOTIFICATION_NOT_SUPPORTED: 400,
      UNSUPPORTED_OPERATION: 400,
      CONTENT_TYPE_NOT_SUPPORTED: 415,
      INVALID_AGENT_RESPONSE: 500,
      EXTENDED_AGENT_CARD_NOT_CONFIGURED: 404,
      EXTENSION_SUPPORT_REQUIRED: 400,
      VERSION_NOT_SUPPORTED: 400,
      PARSE_ERROR: 400,
      INVALID_REQUEST: 400,
      METHOD_NOT_FOUND: 404,
      INVALID_PARAMS: 422,
      INTERNAL_ERROR: 500,
      UNAUTHENTICATED: 401,
      PERMISSION_DENIED: 403,
      RATE_LIMITED: 429,
      PAYLOAD_TOO_LARGE: 413,
      UNAVAILABLE: 503,
    }
    expect(answers).toEqual(expected)
    expect(form.encodeError(new A2AError('TASK_NOT_FOUND', 'No task a')).body).toEqual({
      detail: 'No task a',
      error: { code: -32001, message: 'No task a' },
    })
  })

  it(proves('RL-L0-6', 'are conflicts for an ended task'), () => {
    const ended = { metadata: { taskId: 'a', state: 'TASK_STATE_COMPLETED' } }
    expect(form.encodeError(new A2AError('TASK_NOT_CANCELABLE', 'x', ended))).toMatchObject({
      status: 409,
      body: { error: { code: -32002 } },
    })
    expect(form.encodeError(new A2AError('UNSUPPORTED_OPERATION', 'x', ended)).status).toBe(409)
  })

  it('end a stream with a separate frame', () => {
    const encoder = form.createStreamEncoder({ operation: 'sendStreamingMessage', params: {}, newId })
    expect(encoder.encodeError?.(new A2AError('UNAVAILABLE', 'Gone'))).toEqual([
      { data: '{"error":{"code":-32011,"message":"Gone"}}' },
    ])
  })
})

describe('a stream of task-rest', () => {
  it('encodes its ten thousandth chunk at the cost of its second', () => {
    const encoder = form.createStreamEncoder({ operation: 'sendStreamingMessage', params: {}, newId })
    const chunk: StreamResponse = {
      artifactUpdate: {
        taskId: 't',
        contextId: 'c',
        artifact: { artifactId: 'x', parts: [{ text: 'a' }] },
        append: true,
      },
    }
    const sizes = Array.from({ length: 10_000 }, () => encoder.encode({ event: chunk }).length)
    // The chunk's index has one to four digits.
    expect(Math.max(...sizes) - Math.min(...sizes)).toBe(3)
    const end = { statusUpdate: { taskId: 't', contextId: 'c', status: { state: 'TASK_STATE_COMPLETED' as const } } }
    const { task } = JSON.parse(encoder.encode({ event: end }) as string) as {
      task: { artifacts: { parts: unknown[] }[] }
    }
    expect(task.artifacts[0]?.parts).toHaveLength(10_000)
  })
})

describe('webhooks of task-rest', () => {
  it(proves('RL-L0-7', 'contain the whole task'), () => {
    const task: Task = {
      id: 't',
      contextId: 'c',
      status: { state: 'TASK_STATE_COMPLETED' },
      artifacts: [{ artifactId: 'a', parts: [{ text: 'x' }] }],
    }
    const { push } = taskRest
    expect(push && 'encodeTask' in push && JSON.parse(push.encodeTask(task))).toEqual({
      id: 't',
      contextId: 'c',
      status: { state: 'completed' },
      artifacts: [{ artifactId: 'a', index: 0, lastChunk: true, parts: [{ type: 'text', text: 'x' }] }],
      history: [],
    })
  })
})

describe('the card of task-rest', () => {
  const card: AgentCard = {
    name: 'OutlineAgent',
    description: 'Outlines',
    supportedInterfaces: [
      { url: 'http://127.0.0.1:8001/rpc', protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
      { url: 'http://127.0.0.1:8001/t', protocolBinding: 'HTTP+JSON', protocolVersion: '1.0', tenant: 't' },
      { url: 'http://127.0.0.1:8001', protocolBinding: 'HTTP+JSON', protocolVersion: '1.0' },
    ],
    version: '1',
    capabilities: { streaming: true },
    securitySchemes: { key: { apiKeySecurityScheme: { location: 'header', name: 'X-API-Key' } } },
    defaultInputModes: ['text/plain', 'text/markdown'],
    defaultOutputModes: ['application/vnd.x+json; v=1', 'image/png', 'application/json-seq2'],
    skills: [
      { id: 'generate_outline', name: 'Outline', description: 'd', tags: ['t'] },
      {
        id: 'any',
        name: 'Any',
        description: 'd',
        tags: [],
        inputModes: ['*/*'],
        outputModes: ['application/json'],
        examples: ['e'],
      },
    ],
  }
  const written = (from: AgentCard) => JSON.parse(JSON.stringify(taskRest.card?.encode(from) ?? null)) as unknown

  it('has the modes text, data and file, and the API key', () => {
    expect(written(card)).toEqual({
      name: 'OutlineAgent',
      description: 'Outlines',
      url: 'http://127.0.0.1:8001',
      version: '1',
      skills: [
        {
          id: 'generate_outline',
          name: 'Outline',
          description: 'd',
          inputModes: ['text'],
          outputModes: ['data', 'file'],
        },
        {
          id: 'any',
          name: 'Any',
          description: 'd',
          inputModes: ['text', 'data', 'file'],
          outputModes: ['data'],
          examples: ['e'],
        },
      ],
      capabilities: { streaming: true, pushNotifications: false },
      authentication: { schemes: ['apiKey'] },
    })
  })

  it('is absent without an HTTP+JSON interface, and omits other schemes', () => {
    expect(written({ ...card, supportedInterfaces: card.supportedInterfaces.slice(0, 2) })).toBeNull()
    const securitySchemes = { token: { httpAuthSecurityScheme: { scheme: 'Bearer' } } }
    expect(written({ ...card, securitySchemes })).not.toHaveProperty('authentication')
  })

  it('decodes to a card of v1.0', () => {
    expect(decodeCard(written(card))).toMatchObject({
      supportedInterfaces: [{ url: 'http://127.0.0.1:8001', protocolBinding: 'HTTP+JSON', protocolVersion: '0.1' }],
      skills: [
        { inputModes: ['text/plain'], outputModes: ['application/json', 'application/octet-stream'], tags: [] },
        { id: 'any' },
      ],
      securityRequirements: [{ schemes: { apiKey: {} } }],
    })
  })
})

function refusalOf(act: () => unknown): A2AError {
  try {
    act()
  } catch (error) {
    return A2AError.from(error)
  }
  throw new Error('Was not refused')
}

function expectRefusal(act: () => unknown): void {
  try {
    act()
  } catch (error) {
    expect(error).toBeInstanceOf(A2AError)
    expect((error as A2AError).code).toBe('INVALID_PARAMS')
  }
}
