import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { proves } from '../../../conformance/proves.js'
import { A2AError } from '../../model/errors.js'
import type { StreamResponse } from '../../model/event.js'
import type { Operation } from '../../model/operations.js'
import type { Part } from '../../model/part.js'
import type { Task } from '../../model/task.js'
import { TaskFold } from '../../model/task-fold.js'
import { decodeOrThrow } from '../decode.js'
import type { StreamEncoder } from '../dialect.js'
import { damaged, messages, parts, sent, tasks } from './arbitrary.fixture.js'
import { decodeCard } from './card.js'
import { v0_1, v0_1Go } from './index.js'
import { encodeMessage, readMessage, toMessage } from './messages.js'
import { encodePart, part } from './parts.js'
import { createStreamEncoder, readEvent } from './stream.js'
import { encodeTask, readTask, toTask } from './tasks.js'
import { go, standard } from './wire-form.js'

const wireForms = [
  ['v0.1', standard],
  ['v0.1-go', go],
] as const
const newId = () => 'new'

describe.each(wireForms)('a round trip through %s', (_name, wireForm) => {
  it(proves(['RM-PART-1', 'RM-PART-4'], 'keeps every part, in messages and in artifacts'), () => {
    fc.assert(
      fc.property(parts, (model) => {
        for (const style of [wireForm.messageParts, wireForm.artifactParts]) {
          expect(decodeOrThrow(part, sent(encodePart(model, style)))).toEqual(sent(model))
        }
      }),
    )
  })

  it('keeps messages that have metadata; others lose ids, extensions and references', () => {
    fc.assert(
      fc.property(messages, (model) => {
        const { role, parts, metadata } = model
        const expected = metadata ? model : { messageId: 'new', role, parts }
        expect(toMessage(decodeOrThrow(readMessage, sent(encodeMessage(model, wireForm))), newId)).toEqual(
          sent(expected),
        )
      }),
    )
  })

  it('keeps tasks and their actual states; artifacts are identified by index', () => {
    fc.assert(
      fc.property(tasks, (model) => {
        const plain = (message: Parameters<typeof encodeMessage>[0]) =>
          message.metadata ? message : { messageId: 'new', role: message.role, parts: message.parts }
        const expected: Task = {
          ...model,
          status: { ...model.status, ...(model.status.message && { message: plain(model.status.message) }) },
          ...(model.artifacts && {
            artifacts: model.artifacts.map((each, place) => ({ ...each, artifactId: `artifact-${place}` })),
          }),
          ...(model.history && { history: model.history.map(plain) }),
        }
        expect(toTask(decodeOrThrow(readTask, sent(encodeTask(model, wireForm, true))), newId)).toEqual(sent(expected))
      }),
    )
  })
})

describe.each([v0_1, v0_1Go])('$name with any input', ({ jsonrpc }) => {
  const message = { role: 'user', parts: [{ type: 'file', file: { bytes: 'AA==' }, metadata: { a2aMediaType: 'x' } }] }
  const push = { url: 'https://hook.example', authentication: { schemes: ['Bearer'], credentials: 'c' } }
  const samples: Partial<Record<Operation, object>> = {
    sendMessage: { id: 'a', sessionId: 's', message, pushNotification: push, historyLength: 1, metadata: { a: [{}] } },
    getTask: { id: 'a', historyLength: 1 },
    cancelTask: { id: 'a', metadata: {} },
    subscribeToTask: { id: 'a' },
    createTaskPushNotificationConfig: { id: 'a', pushNotificationConfig: push },
    getTaskPushNotificationConfig: { id: 'a' },
    deleteTaskPushNotificationConfig: { id: 'a', pushNotificationConfig: null },
  }

  it.each(Object.entries(samples))('decodes %s or refuses it with INVALID_PARAMS', (operation, sample) => {
    const codec = jsonrpc?.operations[operation as Operation]
    expect(codec?.decode(sample, { newId, header: () => null })).toBeDefined()
    fc.assert(
      fc.property(fc.oneof(fc.jsonValue(), damaged(sample)), (params) => {
        codec?.traits?.(params)
        codec?.instead?.(params)
        expectRefusal(() => codec?.decode(params, { newId, header: () => null }))
      }),
    )
  })
})

describe('any response of a server', () => {
  const task = {
    id: 't',
    sessionId: 's',
    status: { state: 'working', message: { role: 'agent', parts: [{ text: 'x' }] }, timestamp: '2026-01-05T08:00:00' },
    artifacts: [{ index: 0, parts: [{ type: 'data', data: { value: 1 }, metadata: { data_part_compat: true } }] }],
    metadata: { a2aState: 'TASK_STATE_REJECTED' },
  }
  const card = {
    name: 'n',
    url: 'https://a.example',
    version: '1',
    capabilities: { streaming: true },
    authentication: { schemes: ['apiKey', '__proto__'] },
    skills: [{ id: 's', name: 's', inputModes: ['text'] }],
  }
  const readers: readonly (readonly [string, object, (value: unknown) => unknown])[] = [
    ['tasks', task, (value) => toTask(decodeOrThrow(readTask, value), newId)],
    ['status events', { ...task, final: true }, (value) => decodeOrThrow(readEvent({ newId }), value)],
    [
      'artifact events',
      { id: 't', artifact: task.artifacts[0] },
      (value) => decodeOrThrow(readEvent({ newId }), value),
    ],
    ['cards', card, decodeCard],
  ]

  it.each(readers)('decodes %s or refuses them with INVALID_PARAMS', (_name, sample, read) => {
    expect(read(sample)).toBeDefined()
    fc.assert(fc.property(fc.oneof(fc.jsonValue(), damaged(sample)), (value) => expectRefusal(() => read(value))))
  })

  it('refuses values nested too deeply and the name __proto__', () => {
    let deep: unknown = 1
    for (let level = 0; level < 5000; level++) deep = [deep]
    for (const data of [deep, JSON.parse('{"__proto__":{"x":1}}')]) {
      expect(() => decodeOrThrow(part, { type: 'data', data })).toThrow(/^data/)
      expect(() => decodeOrThrow(part, { type: 'text', text: '', metadata: { data } })).toThrow(/^metadata\.data/)
    }
  })
})

describe.each(wireForms)('a stream of %s', (_name, wireForm) => {
  const updates = fc.array(
    fc.record({ artifactId: fc.constantFrom('x', 'y', 'z'), text: fc.string({ minLength: 1 }), append: fc.boolean() }),
    { maxLength: 12 },
  )

  it(proves(['RL-01-6', 'RM-STR-1'], 'merges by index into the artifacts of the task'), () => {
    fc.assert(
      fc.property(updates, updates, (before, after) => {
        const fold = TaskFold.from({ id: 't', contextId: 'c', status: { state: 'TASK_STATE_WORKING' } }, 0)
        const apply = (update: (typeof before)[number]): StreamResponse => {
          const artifact = { artifactId: update.artifactId, parts: [{ text: update.text }] }
          const body = { artifactUpdate: { taskId: 't', contextId: 'c', artifact, append: update.append } }
          fold.apply({ seq: fold.seq + 1, time: 0, body })
          return body
        }
        for (const update of before) apply(update)
        const encoder = createStreamEncoder({ operation: 'subscribeToTask', params: { id: 't' }, newId }, wireForm)
        const frames = dataOf(encoder, { task: fold.snapshot() as Task })
        for (const update of after) frames.push(...dataOf(encoder, apply(update)))
        const expected = (fold.snapshot()?.artifacts ?? []).map((each) => each.parts)
        expect(merged(frames)).toEqual(expected)
      }),
    )
  })

  it('encodes its ten thousandth chunk at the cost of its second', () => {
    const encoder = createStreamEncoder({ operation: 'sendStreamingMessage', params: { id: 't' }, newId }, wireForm)
    const chunk: StreamResponse = {
      artifactUpdate: {
        taskId: 't',
        contextId: 'c',
        artifact: { artifactId: 'x', parts: [{ text: 'a' }] },
        append: true,
      },
    }
    const sizes = new Set(Array.from({ length: 10_000 }, () => JSON.stringify(encoder.encode({ event: chunk })).length))
    expect(sizes.size).toBe(1)
  })
})

function dataOf(encoder: StreamEncoder, event: StreamResponse): unknown[] {
  const frames = encoder.encode({ event })
  return typeof frames === 'string' ? [JSON.parse(frames)] : frames.map(({ data }) => JSON.parse(data) as unknown)
}

/** Merges the artifact events of a stream as a v0.1 client does. */
function merged(frames: readonly unknown[]): readonly (readonly Part[])[] {
  const found: Part[][] = []
  for (const frame of frames) {
    const { artifact } = frame as { artifact?: { index: number; append?: boolean; parts: unknown[] } }
    if (!artifact) continue
    const read = artifact.parts.map((each) => decodeOrThrow(part, each))
    found[artifact.index] = artifact.append ? [...(found[artifact.index] ?? []), ...read] : read
  }
  return found
}

function expectRefusal(act: () => unknown): void {
  try {
    act()
  } catch (error) {
    expect(error).toBeInstanceOf(A2AError)
    expect((error as A2AError).code).toBe('INVALID_PARAMS')
  }
}
