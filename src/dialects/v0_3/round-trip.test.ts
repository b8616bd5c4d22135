/** What holds for every value: both ways are each other's reverse up to the losses, and bad input is always named as such. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Artifact } from '../../model/artifact.js'
import { A2AError } from '../../model/errors.js'
import type { StreamResponse } from '../../model/event.js'
import type { Message } from '../../model/message.js'
import type { JsonValue, Part, Struct } from '../../model/part.js'
import type { TaskPushNotificationConfig } from '../../model/push-config.js'
import type { SendMessageRequest } from '../../model/service.js'
import { isTerminal, type Task, type TaskStatus, taskStates } from '../../model/task.js'
import { decodeCard } from './card.js'
import { v0_3 } from './index.js'
import { decodeMessage, decodeSendRequest, encodeMessage, encodeSendRequest } from './messages.js'
import { decodePushConfig, encodePushConfig } from './push-configs.js'
import { jsonSpelling, protoJsonSpelling, protoSpelling, type Spelling } from './spelling.js'
import { decodeEvent, decodeTask, encodeEvent, encodeTask } from './tasks.js'

const spellings: [string, Spelling][] = [
  ['JSON-RPC', jsonSpelling],
  ['REST', protoJsonSpelling],
  ['gRPC', protoSpelling],
]

const filled = fc.string({ minLength: 1, maxLength: 12 })
const overTheWire = (value: unknown): unknown => JSON.parse(JSON.stringify(value))
/** JSON that decoders take: they refuse one name (and a generator's objects are not quite those of `JSON.parse`). */
const json = fc
  .jsonValue({ maxDepth: 3 })
  .filter((value) => !JSON.stringify(value).includes('__proto__'))
  .map((value) => overTheWire(value) as JsonValue)
const isFree = (key: string) => !key.startsWith('a2a') && key !== 'data_part_compat' && key !== '__proto__'
const key = fc.string({ maxLength: 8 }).filter(isFree)
const struct = fc.dictionary(key, json, { minKeys: 1, maxKeys: 3 }).map((value) => overTheWire(value) as Struct)
const base64 = fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes).toString('base64'))
const time = fc
  .date({ min: new Date(0), max: new Date('9999-01-01'), noInvalidDate: true })
  .map((date) => date.toISOString())

function exact<T>(model: { [K in keyof T]-?: fc.Arbitrary<T[K]> }, required: (keyof T & string)[]): fc.Arbitrary<T> {
  return fc.record(model, { requiredKeys: required, noNullPrototype: true }) as fc.Arbitrary<T>
}

const common = { metadata: struct, filename: filled, mediaType: filled }
const part = fc.oneof(
  exact({ text: fc.string(), ...common }, ['text']),
  exact({ raw: base64, ...common }, ['raw']),
  exact({ url: fc.webUrl(), ...common }, ['url']),
  exact({ data: json, ...common }, ['data']),
) as fc.Arbitrary<Part>
const parts = fc.array(part, { minLength: 1, maxLength: 4 })
const message: fc.Arbitrary<Message> = exact<Required<Message>>(
  {
    messageId: filled,
    contextId: filled,
    taskId: filled,
    role: fc.constantFrom('ROLE_USER', 'ROLE_AGENT'),
    parts,
    metadata: struct,
    extensions: fc.array(filled, { minLength: 1, maxLength: 2 }),
    referenceTaskIds: fc.array(filled, { minLength: 1, maxLength: 2 }),
  },
  ['messageId', 'role', 'parts'],
)
const artifact: fc.Arbitrary<Artifact> = exact<Required<Artifact>>(
  {
    artifactId: filled,
    name: filled,
    description: filled,
    parts: fc.array(part, { maxLength: 3 }),
    metadata: struct,
    extensions: fc.array(filled, { minLength: 1, maxLength: 2 }),
  },
  ['artifactId', 'parts'],
)
const status: fc.Arbitrary<TaskStatus> = exact<Required<TaskStatus>>(
  { state: fc.constantFrom(...taskStates), message, timestamp: time },
  ['state'],
)
const task: fc.Arbitrary<Task> = exact<Required<Task>>(
  {
    id: filled,
    contextId: filled,
    status,
    artifacts: fc.array(artifact, { minLength: 1, maxLength: 2 }),
    history: fc.array(message, { minLength: 1, maxLength: 2 }),
    metadata: struct,
  },
  ['id', 'contextId', 'status'],
)
const ofTask = { taskId: filled, contextId: filled, metadata: struct }
const statusUpdate = exact({ ...ofTask, status }, ['taskId', 'contextId', 'status'])
const artifactUpdate = exact({ ...ofTask, artifact, append: fc.boolean(), lastChunk: fc.boolean() }, [
  'taskId',
  'contextId',
  'artifact',
])
const event = fc.oneof(
  exact({ task }, ['task']),
  exact({ message }, ['message']),
  exact({ statusUpdate }, ['statusUpdate']),
  exact({ artifactUpdate }, ['artifactUpdate']),
) as fc.Arbitrary<StreamResponse>
const webhook = {
  id: filled.filter((id) => id !== 'default'),
  url: fc.webUrl(),
  token: filled,
  authentication: exact({ scheme: filled, credentials: filled }, ['scheme']),
}
const pushConfig = exact({ ...webhook, taskId: filled }, [
  'id',
  'taskId',
  'url',
]) as fc.Arbitrary<TaskPushNotificationConfig>
const sendRequest = exact(
  {
    message,
    configuration: exact(
      {
        acceptedOutputModes: fc.array(filled, { minLength: 1, maxLength: 2 }),
        historyLength: fc.integer({ min: 1, max: 99 }),
        returnImmediately: fc.boolean(),
        taskPushNotificationConfig: exact(webhook, ['url']),
      },
      ['returnImmediately'],
    ),
    metadata: struct,
  },
  ['message'],
) as fc.Arbitrary<SendMessageRequest>

describe.each(spellings)('v1 → v0.3 → v1 over %s', (_name, as) => {
  function returns<T>(
    arbitrary: fc.Arbitrary<T>,
    encode: (value: T, as: Spelling) => unknown,
    decode: (wire: unknown, as: Spelling) => T,
  ): void {
    fc.assert(
      fc.property(arbitrary, (value) => {
        const wire = encode(value, as)
        expect(decode(overTheWire(wire), as)).toStrictEqual(value)
        // The gRPC transport walks these objects: what is not set is not there.
        expect(overTheWire(wire)).toStrictEqual(wire)
      }),
    )
  }

  it('keeps messages with every kind of part', () => returns(message, encodeMessage, decodeMessage))
  it('keeps tasks', () => returns(task, encodeTask, decodeTask))
  it('keeps stream events', () => returns(event, encodeEvent, decodeEvent))
  it('keeps push configs', () => returns(pushConfig, encodePushConfig, decodePushConfig))
  it('keeps requests to send', () => returns(sendRequest, encodeSendRequest, decodeSendRequest))
})

describe('v0.3 → v1 → v0.3 over JSON-RPC', () => {
  const kinds = [
    'submitted',
    'working',
    'completed',
    'failed',
    'canceled',
    'input-required',
    'rejected',
    'auth-required',
  ]
  const wirePart = fc.oneof(
    exact({ kind: fc.constant('text'), text: fc.string(), metadata: struct }, ['kind', 'text']),
    exact(
      {
        kind: fc.constant('file'),
        file: fc.oneof(
          exact({ bytes: base64, name: filled, mimeType: filled }, ['bytes']),
          exact({ uri: fc.webUrl(), name: filled, mimeType: filled }, ['uri']),
        ),
        metadata: struct,
      },
      ['kind', 'file'],
    ),
    exact({ kind: fc.constant('data'), data: struct, metadata: struct }, ['kind', 'data']),
  )
  const wireMessage = exact(
    {
      kind: fc.constant('message'),
      messageId: filled,
      role: fc.constantFrom('user', 'agent'),
      parts: fc.array(wirePart, { minLength: 1, maxLength: 3 }),
      taskId: filled,
      contextId: filled,
      referenceTaskIds: fc.array(filled, { minLength: 1, maxLength: 2 }),
      metadata: struct,
    },
    ['kind', 'messageId', 'role', 'parts'],
  )
  const wireStatus = exact({ state: fc.constantFrom(...kinds), message: wireMessage, timestamp: time }, ['state'])

  it('keeps tasks', () => {
    const wireTask = exact(
      {
        kind: fc.constant('task'),
        id: filled,
        contextId: filled,
        status: wireStatus,
        history: fc.array(wireMessage, { minLength: 1, maxLength: 2 }),
        artifacts: fc.array(exact({ artifactId: filled, parts: fc.array(wirePart) }, ['artifactId', 'parts']), {
          minLength: 1,
          maxLength: 2,
        }),
        metadata: struct,
      },
      ['kind', 'id', 'contextId', 'status'],
    )
    fc.assert(
      fc.property(wireTask, (wire) => {
        expect(encodeTask(decodeTask(wire, jsonSpelling), jsonSpelling)).toStrictEqual(wire)
      }),
    )
  })

  it('keeps status updates but for `final`, which follows from the state (R3-STRM-4)', () => {
    const kind = fc.constant('status-update')
    const update = exact({ kind, ...ofTask, status: wireStatus, final: fc.boolean() }, [
      'kind',
      'taskId',
      'contextId',
      'status',
      'final',
    ])
    fc.assert(
      fc.property(update, (wire) => {
        const decoded = decodeEvent(wire, jsonSpelling) as Extract<StreamResponse, { statusUpdate: unknown }>
        const { state } = decoded.statusUpdate.status
        const final = isTerminal(state) || state === 'TASK_STATE_INPUT_REQUIRED'
        expect(encodeEvent(decoded, jsonSpelling)).toStrictEqual({ ...wire, final })
      }),
    )
  })
})

describe('hostile input', () => {
  const forms = [v0_3.jsonrpc, v0_3.rest, v0_3.grpc].map((form) => form as NonNullable<typeof form>)
  const decoders = forms.flatMap(({ operations }) => Object.values(operations).map(({ decode }) => decode))
  const facts = { newId: () => 'id', header: () => null }

  function expectNamedRefusal(decode: () => unknown): void {
    try {
      decode()
    } catch (caught) {
      expect(caught).toBeInstanceOf(A2AError)
      expect((caught as A2AError).code).toBe('INVALID_PARAMS')
    }
  }

  it('gives INVALID_PARAMS and nothing else, whatever JSON comes', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.constantFrom(...decoders, decodeCard), (value, decode) => {
        expectNamedRefusal(() => decode(value, facts))
      }),
      { numRuns: 500 },
    )
  })

  it('gives INVALID_PARAMS and nothing else when one member of a good request is replaced', () => {
    const good = fc.oneof(
      sendRequest.map((request) => encodeSendRequest(request, jsonSpelling)),
      sendRequest.map((request) => encodeSendRequest(request, protoJsonSpelling)),
      pushConfig.map((config) => encodePushConfig(config, protoSpelling)),
    )
    fc.assert(
      fc.property(
        good,
        fc.array(fc.nat(9)),
        fc.jsonValue(),
        fc.constantFrom(...decoders),
        (wire, path, value, decode) => {
          expectNamedRefusal(() => decode(replaced(wire, path, value), facts))
        },
      ),
      { numRuns: 500 },
    )
  })
})

/** `wire` with another value in place of the member that `path` leads to. */
function replaced(wire: unknown, path: readonly number[], value: unknown): unknown {
  const [step, ...rest] = path
  if (step === undefined || typeof wire !== 'object' || wire === null) return value
  const keys = Object.keys(wire)
  const key = keys[step % Math.max(keys.length, 1)]
  if (key === undefined) return value
  const copy = Array.isArray(wire) ? [...wire] : { ...wire }
  return Object.assign(copy, { [key]: replaced(Reflect.get(wire, key), rest, value) })
}
