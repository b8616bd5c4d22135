/** Property tests: encoding and decoding are inverse except for the losses, and invalid input is always reported. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { A2AError } from '../../model/errors.js'
import type { StreamResponse } from '../../model/event.js'
import { isInterrupted, isTerminal } from '../../model/task.js'
import {
  base64,
  event,
  exact,
  filled,
  message,
  ofTask,
  overTheWire,
  pushConfig,
  sendRequest,
  struct,
  task,
  time,
} from './arbitrary.fixture.js'
import { v0_3 } from './index.js'
import { decodeMessage, decodeSendRequest, encodeMessage, encodeSendRequest } from './messages.js'
import { decodePushConfig, encodePushConfig } from './push-config.js'
import { decodeCard } from './read-card.js'
import { decodeEvent, decodeTask, encodeEvent, encodeTask } from './tasks.js'
import { jsonForm, protoForm, protoJsonForm, type WireForm } from './wire-form.js'

const wireForms: [string, WireForm][] = [
  ['JSON-RPC', jsonForm],
  ['REST', protoJsonForm],
  ['gRPC', protoForm],
]

describe.each(wireForms)('v1 → v0.3 → v1 over %s', (_name, as) => {
  function returns<T>(
    arbitrary: fc.Arbitrary<T>,
    encode: (value: T, as: WireForm) => unknown,
    decode: (wire: unknown, as: WireForm) => T,
  ): void {
    fc.assert(
      fc.property(arbitrary, (value) => {
        const wire = encode(value, as)
        expect(decode(overTheWire(wire), as)).toStrictEqual(value)
        // The gRPC transport walks these objects: unset members must be absent.
        expect(overTheWire(wire)).toStrictEqual(wire)
      }),
    )
  }

  it('keeps messages with every kind of part', () => returns(message, encodeMessage, decodeMessage))
  it('keeps tasks', () => returns(task, encodeTask, decodeTask))
  it('keeps stream events', () => returns(event, encodeEvent, decodeEvent))
  it('keeps push configs', () => returns(pushConfig, encodePushConfig, decodePushConfig))
  it('keeps send requests', () => returns(sendRequest, encodeSendRequest, decodeSendRequest))
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
        expect(encodeTask(decodeTask(wire, jsonForm), jsonForm)).toStrictEqual(wire)
      }),
    )
  })

  it('keeps status updates except `final`, which follows from the state (R3-STRM-4)', () => {
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
        const decoded = decodeEvent(wire, jsonForm) as Extract<StreamResponse, { statusUpdate: unknown }>
        const { state } = decoded.statusUpdate.status
        const final = isTerminal(state) || isInterrupted(state)
        expect(encodeEvent(decoded, jsonForm)).toStrictEqual({ ...wire, final })
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

  it('gives INVALID_PARAMS and no other error for any JSON', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.constantFrom(...decoders, decodeCard), (value, decode) => {
        expectNamedRefusal(() => decode(value, facts))
      }),
      { numRuns: 500 },
    )
  })

  it('gives INVALID_PARAMS and no other error when one member of a valid request is replaced', () => {
    const good = fc.oneof(
      sendRequest.map((request) => encodeSendRequest(request, jsonForm)),
      sendRequest.map((request) => encodeSendRequest(request, protoJsonForm)),
      pushConfig.map((config) => encodePushConfig(config, protoForm)),
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

/** `wire` with the member at `path` replaced by another value. */
function replaced(wire: unknown, path: readonly number[], value: unknown): unknown {
  const [step, ...rest] = path
  if (step === undefined || typeof wire !== 'object' || wire === null) return value
  const keys = Object.keys(wire)
  const key = keys[step % Math.max(keys.length, 1)]
  if (key === undefined) return value
  const copy = Array.isArray(wire) ? [...wire] : { ...wire }
  return Object.assign(copy, { [key]: replaced(Reflect.get(wire, key), rest, value) })
}
