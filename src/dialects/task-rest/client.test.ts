import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { proves } from '../../../conformance/proves.js'
import { A2AError, errorCodes } from '../../model/errors.js'
import type { StreamResponse } from '../../model/event.js'
import type { Operation } from '../../model/operations.js'
import type { SendMessageRequest } from '../../model/service.js'
import type { Task } from '../../model/task.js'
import { TaskFold } from '../../model/task-fold.js'
import type { IncomingFrame, RestClientForm } from '../client-dialect.js'
import type { RestForm } from '../dialect.js'
import {
  exchangeOverRest,
  expectA2AErrors,
  folded,
  numberedFacts,
  refusalOf,
  sent,
  streamed,
  textsOf,
} from '../peer.fixture.js'
import { damaged, tasks } from '../v0_1/arbitrary.fixture.js'
import { taskRestClient } from './client.js'
import { taskRest } from './index.js'

const client = taskRestClient.rest as RestClientForm // its only form
const server = taskRest.rest as RestForm
const exchange = (operation: Operation, request: unknown) => exchangeOverRest(client, server, operation, request)

const ask: SendMessageRequest = {
  message: {
    messageId: 'm1',
    contextId: 'chain-1',
    role: 'ROLE_USER',
    parts: [{ text: 'Write it' }, { data: { sections: ['Intro'] } }],
  },
}
const about = { taskId: 'o-1', contextId: 'chain-1' }
const working: Task = { id: 'o-1', contextId: 'chain-1', status: { state: 'TASK_STATE_WORKING' } }

function read(frames: readonly unknown[], request: unknown = ask, operation: Operation = 'sendStreamingMessage') {
  const decoder = client.createStreamDecoder({ operation, request, sent: undefined, facts: numberedFacts() })
  return streamed(
    decoder,
    frames.map((data) => ({ data }) satisfies IncomingFrame),
  )
}

describe('calls', () => {
  it.each([
    ['sendMessage', ask, 'POST /tasks/send'],
    ['sendStreamingMessage', ask, 'POST /tasks/sendSubscribe'],
    ['getTask', { id: 'a/b c' }, 'GET /tasks/a%2Fb%20c'],
    ['cancelTask', { id: 'o-1', metadata: { why: 'late' } }, 'POST /tasks/o-1/cancel'],
    ['subscribeToTask', { id: 'o-1' }, 'POST /tasks/resubscribe'],
  ] as const)('%s goes to its route and arrives unchanged', (operation, request, call) => {
    const made = exchange(operation, request)
    expect([made.call, made.operation, made.request]).toEqual([call, operation, request])
  })

  it('send data beside text (RL-L0-3)', () => {
    expect(exchange('sendMessage', ask).params).toMatchObject({
      message: { parts: [{ type: 'text' }, { type: 'data', data: { sections: ['Intro'] } }] },
    })
  })

  it('refuse ids that would change the path', () => {
    for (const id of ['', '.', '..']) {
      expect(refusalOf(() => exchange('getTask', { id })).code).toBe('INVALID_PARAMS')
    }
  })

  it('set, get and delete the one webhook of a task', () => {
    const webhook = { taskId: 'o-1', id: 'o-1', url: 'https://hook.example', token: 'k' }
    const created = exchange('createTaskPushNotificationConfig', webhook)
    expect([created.call, created.request, created.answer(webhook)]).toEqual([
      'POST /tasks/pushNotification/set',
      webhook,
      webhook,
    ])
    expect(exchange('getTaskPushNotificationConfig', { taskId: 'o-1' }).answer(webhook)).toEqual(webhook)
    const deleted = exchange('deleteTaskPushNotificationConfig', { taskId: 'o-1', id: 'o-1' })
    expect([deleted.operation, deleted.answer(undefined)]).toEqual(['deleteTaskPushNotificationConfig', undefined])
  })

  it('decode any task', () => {
    fc.assert(
      fc.property(tasks, (model) => {
        const answered = exchange('getTask', { id: 'o-1' }).answer(model) as Task
        expect(answered.status.state).toBe(model.status.state)
        expect(answered.artifacts).toEqual(sent(model.artifacts))
        expect(answered.history?.map(({ parts }) => parts)).toEqual(sent(model.history?.map(({ parts }) => parts)))
      }),
    )
  })

  it('return the requested length of history', () => {
    const history = ['a', 'b', 'c'].map((messageId) => ({ messageId, role: 'ROLE_USER' as const, parts: [] }))
    const asked = (historyLength?: number) =>
      (
        exchange('getTask', { id: 'o-1', ...(historyLength !== undefined && { historyLength }) }).answer({
          ...working,
          history,
        }) as Task
      ).history?.map(({ messageId }) => messageId)
    expect([asked(), asked(0), asked(2), asked(9)]).toEqual([['a', 'b', 'c'], undefined, ['b', 'c'], ['a', 'b', 'c']])
  })
})

describe('a stream', () => {
  const outline = {
    artifactId: 'a1',
    name: 'outline',
    index: 0,
    lastChunk: true,
    parts: [{ type: 'data', data: { sections: ['Intro', 'Cells'] } }],
  }
  const whole = (state: string, more: object = {}) => ({
    task: { id: 'o-1', contextId: 'chain-1', status: { state }, artifacts: [], history: [], ...more },
  })

  it(proves('RM-STR-2', 'has the task once, then updates'), () => {
    const { events, isOver } = read([
      whole('submitted'),
      whole('working'),
      { ...about, artifact: outline },
      whole('completed', { artifacts: [outline] }),
    ])
    const artifact = { artifactId: 'a1', name: 'outline', parts: [{ data: { sections: ['Intro', 'Cells'] } }] }
    expect(isOver).toBe(true)
    expect(events).toEqual([
      { task: { ...working, status: { state: 'TASK_STATE_SUBMITTED' } } },
      { statusUpdate: { ...about, status: { state: 'TASK_STATE_WORKING' } } },
      { artifactUpdate: { ...about, artifact, lastChunk: true } },
      { statusUpdate: { ...about, status: { state: 'TASK_STATE_COMPLETED' } } },
    ])
  })

  it('includes artifacts that came only inside a task', () => {
    const { events } = read([whole('working'), whole('completed', { artifacts: [outline] })])
    expect(folded(events)?.artifacts).toHaveLength(1)
  })

  it('takes missing content from a whole task', () => {
    const text = (value: string) => ({ artifactId: 'a', index: 0, parts: [{ type: 'text', text: value }] })
    const { events } = read([
      whole('working'),
      { ...about, artifact: text('one ') },
      whole('working', { artifacts: [text('one two ')] }),
      { ...about, artifact: { ...text('three'), append: true } },
      whole('completed', { artifacts: [text('one two three')] }),
    ])
    expect(textsOf(folded(events) as Task)).toEqual(['one two three'])
    expect(events.filter((event) => 'artifactUpdate' in event)).toHaveLength(3)
  })

  it('ends at a new question, not at the one it answers', () => {
    const answering = { message: { ...ask.message, taskId: 'o-1' } }
    expect(read([whole('working'), whole('input-required')]).isOver).toBe(true)
    expect(read([whole('input-required')], answering).isOver).toBe(false)
    expect(read([whole('input-required'), whole('working'), whole('input-required')], answering).isOver).toBe(true)
    expect(read([whole('input-required')], { id: 'o-1' }, 'subscribeToTask').isOver).toBe(true)
    const waiting = whole('input-required', { metadata: { a2aState: 'TASK_STATE_AUTH_REQUIRED' } })
    expect(read([whole('working'), waiting])).toMatchObject({ isOver: false, events: { length: 2 } })
  })

  it('may be a single task that was not streamed, and may end with [DONE] (RL-L2-1)', () => {
    expect(read([whole('completed').task])).toMatchObject({ isOver: true, events: [{ task: { id: 'o-1' } }] })
    expect(read(['[DONE]'])).toEqual({ isOver: true, events: [] })
  })

  it('that fails throws the error', () => {
    const broken = exchange('sendStreamingMessage', ask)
    const failure = refusalOf(() => broken.breakWith(new A2AError('UNAVAILABLE', 'Shutting down'), [{ task: working }]))
    expect(failure).toMatchObject({ code: 'UNAVAILABLE', message: 'Shutting down' })
  })

  it('folds to the server’s task', () => {
    const updates = fc.array(
      fc.oneof(
        fc.record({ id: fc.constantFrom('x', 'y'), text: fc.string({ minLength: 1 }), append: fc.boolean() }),
        fc.constant('status' as const),
      ),
    )
    fc.assert(
      fc.property(updates, (all) => {
        const fold = TaskFold.from(working, 0)
        const events: StreamResponse[] = [{ task: working }]
        const apply = (body: StreamResponse) => {
          fold.apply({ seq: fold.seq + 1, time: 0, body })
          events.push(body)
        }
        for (const each of all) {
          if (each === 'status') apply({ statusUpdate: { ...about, status: working.status } })
          else {
            const artifact = { artifactId: each.id, parts: [{ text: each.text }] }
            apply({ artifactUpdate: { ...about, artifact, append: each.append } })
          }
        }
        apply({ statusUpdate: { ...about, status: { state: 'TASK_STATE_CANCELED' } } })
        const { events: decoded, isOver } = exchange('sendStreamingMessage', ask).stream(events)
        expect(isOver).toBe(true)
        expect(folded(decoded)).toEqual(fold.snapshot())
      }),
    )
  })

  it('throws only A2AError for any input', () => {
    const sample = whole('working', { artifacts: [outline] })
    const frame = fc.oneof(fc.jsonValue(), damaged(sample), damaged({ ...about, artifact: outline }))
    fc.assert(
      fc.property(fc.array(frame, { minLength: 1 }), (frames) => {
        expectA2AErrors(() => read(frames))
        for (const each of frames)
          expectA2AErrors(() => client.operations.getTask?.decode(each, { id: '' }, numberedFacts()))
        for (const each of frames) expect(client.decodeError(418, each)).toBeInstanceOf(A2AError)
      }),
    )
  })
})

describe('errors', () => {
  it('of our servers keep their codes if task-rest has a code or a status for them', () => {
    const lost = errorCodes.filter((code) => {
      const { status, body } = server.encodeError(new A2AError(code, 'No'))
      return client.decodeError(status, sent(body)).code !== code
    })
    expect(lost).toEqual([
      'INVALID_AGENT_RESPONSE',
      'EXTENDED_AGENT_CARD_NOT_CONFIGURED',
      'EXTENSION_SUPPORT_REQUIRED',
      'VERSION_NOT_SUPPORTED',
    ])
  })

  it.each([
    [404, { detail: 'Not Found' }, 'METHOD_NOT_FOUND'],
    [404, { detail: 'No such job' }, 'TASK_NOT_FOUND'],
    [409, { detail: 'It is done' }, 'TASK_NOT_CANCELABLE'],
    [409, { detail: 'It is done', error: { code: -32009, message: 'It is done' } }, 'UNSUPPORTED_OPERATION'],
    [503, 'Bad gateway', 'UNAVAILABLE'],
    [400, {}, 'INVALID_REQUEST'],
    [500, null, 'INTERNAL_ERROR'],
  ])('%i with %j is %s (RM-ERR-3)', (status, body, code) => {
    expect(client.decodeError(status, body).code).toBe(code)
  })

  it('of FastAPI name the faulty fields (RM-ERR-3)', () => {
    const detail = [{ loc: ['body', 'message', 'parts', 0], msg: 'Field required', type: 'missing' }]
    const { code, details } = client.decodeError(422, { detail })
    expect(code).toBe('INVALID_PARAMS')
    expect(details.violations).toEqual([{ field: 'message.parts[0]', description: 'Field required' }])
  })
})

it('decodes its card as that of an HTTP+JSON agent', () => {
  const card = { name: 'n', url: 'https://a.example', version: '1', capabilities: { streaming: true }, skills: [] }
  expect(taskRestClient.card?.decode(card)).toMatchObject({ supportedInterfaces: [{ protocolBinding: 'HTTP+JSON' }] })
})
