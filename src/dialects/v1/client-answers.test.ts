import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { A2AError, errorCodes } from '../../model/errors.js'
import type { GrpcClientForm, JsonRpcClientForm, RestClientForm } from '../client-dialect.js'
import { facts } from '../client-pair.fixture.js'
import { damaged } from '../v0_1/arbitrary.fixture.js'
import { card } from './card.fixture.js'
import { v1Client } from './client.js'

const jsonrpc = v1Client.jsonrpc as JsonRpcClientForm
const rest = v1Client.rest as RestClientForm
const grpc = v1Client.grpc as GrpcClientForm

describe('responses of other servers', () => {
  const send = (answer: unknown, contextId?: string) =>
    jsonrpc.operations.sendMessage?.decode(
      answer,
      { message: { messageId: 'm', role: 'ROLE_USER', parts: [], ...(contextId && { contextId }) } },
      facts,
    )
  const fails = (answer: unknown) => {
    try {
      return send(answer)
    } catch (caught) {
      return (caught as A2AError).details.violations?.map(({ field, description }) => `${field} ${description}`)
    }
  }

  it('of the official JavaScript SDK 1.3.0: every member is present, even if empty', () => {
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

  it('of the Python SDK: protobuf names, nanoseconds, numbers as floats', () => {
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

  it('of drafts between 0.3 and 1.0: a bare task, other names of states and roles', () => {
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

  it('without a context get the context of the request', () => {
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
  ])('without a state decode as working: %j', (status) => {
    expect(send({ task: { id: 't', contextId: 'c', status } })).toMatchObject({
      task: { status: { state: 'TASK_STATE_WORKING' } },
    })
  })

  it('in a state that no version has are refused: it may be terminal', () => {
    expect(fails({ task: { id: 't', contextId: 'c', status: { state: 'TASK_STATE_PAUSED' } } })).toEqual([
      expect.stringMatching(/^task\.status\.state must be one of submitted, working/),
    ])
    expect(fails({ task: { id: 't', status: { state: 9 } } })).toHaveLength(1)
  })

  it('that are malformed are refused with the path of the fault', () => {
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
    expect(fails({ message: {} })).toEqual(['message must have a messageId, a role or parts'])
    expect(fails({ statusUpdate: { taskId: 't', contextId: 'c', status: { state: 1 } } })).toEqual([
      ' must be a task or a message',
    ])
  })

  it('to a deletion are all accepted (R-PUSH-6)', () => {
    for (const answer of [{}, null, undefined, 'ok', [1]])
      expect(
        jsonrpc.operations.deleteTaskPushNotificationConfig?.decode(answer, { taskId: 't', id: 'c' }, facts),
      ).toBeUndefined()
  })

  it('with lists may be bare arrays, or pages without sizes', () => {
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

  it('are decoded to new values without unknown members and `__proto__`', () => {
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

  it('fill in ids that updates omit from earlier events', () => {
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

  it('take the task id from the request', () => {
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

  it('remember the ids of an update if there was no task', () => {
    const decoder = open({})
    decoder.decode({ data: { statusUpdate: { taskId: 't', contextId: 'c', status: { state: 2 } } } })
    expect(decoder.decode({ data: { artifactUpdate: { artifact: { artifactId: 'a' } } } })).toEqual([
      { artifactUpdate: { taskId: 't', contextId: 'c', artifact: { artifactId: 'a', parts: [] } } },
    ])
  })

  it('skip empty frames, and end at [DONE]', () => {
    const decoder = open({})
    for (const data of ['', null, undefined]) expect(decoder.decode({ data })).toEqual([])
    expect(decoder.isOver).toBe(false)
    expect(decoder.decode({ data: '[DONE]' })).toEqual([])
    expect(decoder.isOver).toBe(true)
  })

  it('decode a response that is not a stream as the only element', () => {
    const answer = { message: { messageId: 'm', role: 'ROLE_AGENT', parts: [{ text: 'hi' }] } }
    const whole = rest.operations.sendStreamingMessage?.decode(answer, {} as never, facts)
    expect(open({}).decode({ data: whole })).toEqual([answer])
  })
})

describe('cards', () => {
  const read = (wire: unknown) => v1Client.card?.decode(wire)

  it('are decoded completely', () => {
    expect(read(card)).toStrictEqual(card)
  })

  it('require only a name and an address', () => {
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

  it('may have the wrappers of the official JavaScript SDK, protobuf names, and unknown schemes', () => {
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

describe('hostile responses', () => {
  const codecs = [jsonrpc, rest].flatMap((form) =>
    Object.values(form.operations as Record<string, { decode: typeof decodeAny }>),
  )
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
    (wire) => v1Client.card?.decode(wire),
  ]
  const task0 = {
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

  it('are decoded or refused with a named fault, for any JSON', () => {
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

  it('that are nested too deeply are refused', () => {
    const deep = JSON.parse(`${'{"a":'.repeat(20000)}1${'}'.repeat(20000)}`)
    for (const decode of read) onlyNamedRefusals(() => decode({ task: { id: 't', status: {}, metadata: deep } }))
    expect(jsonrpc.decodeError({ code: 1, message: 'x', data: [deep] }).code).toBe('INTERNAL_ERROR')
  })

  it('that are errors always become an A2AError', () => {
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
