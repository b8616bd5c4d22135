import { describe, expect, it } from 'vitest'
import { A2AError } from '../model/errors.js'
import { TransportError } from '../model/transport-error.js'
import { withReconnect } from './reconnect-stream.js'
import { all, chunk, context, fakeTiming, numbered, peer, play, status, taskIn } from './scripted.fixture.js'

const message = { messageId: 'm1', role: 'ROLE_USER' as const, parts: [{ text: 'hi' }] }
const broken = new TransportError('broken-stream', 'The stream broke off')
const working = { task: taskIn('TASK_STATE_WORKING') }
const completed = status('TASK_STATE_COMPLETED')

describe('a reconnecting stream', () => {
  it('resumes after the last numbered event, without gaps or duplicates', async () => {
    const resumed: unknown[] = []
    const service = withReconnect(
      peer({
        sendStreamingMessage: () => play(numbered(1, working, chunk('a'), chunk('b')), broken),
        subscribeToTask: (request, { resumeAfter }) => {
          resumed.push([request.id, resumeAfter])
          // The stream ignores a repeated last event.
          return play(numbered(3, chunk('b'), chunk('c'), completed))
        },
      }),
      {},
      fakeTiming(),
    )
    const seen = await all(service.sendStreamingMessage({ message }, context))
    expect(resumed).toEqual([['t1', 3]])
    expect(seen.map(({ event }) => event)).toEqual([working, chunk('a'), chunk('b'), chunk('c'), completed])
  })

  it('resumes when the peer closes the connection early', async () => {
    let opened = 0
    const service = withReconnect(
      peer({
        subscribeToTask: () => {
          opened += 1
          return opened === 1 ? play(numbered(1, working, chunk('a'))) : play(numbered(3, completed))
        },
      }),
      {},
      fakeTiming(),
    )
    expect(await all(service.subscribeToTask({ id: 't1' }, context))).toHaveLength(3)
  })

  it('restarts with the task if events have no numbers', async () => {
    const now = { task: taskIn('TASK_STATE_WORKING', { artifacts: [{ artifactId: 'a1', parts: [{ text: 'ab' }] }] }) }
    const service = withReconnect(
      peer({
        sendStreamingMessage: () => play([{ event: working }, { event: chunk('a') }], broken),
        subscribeToTask: () => play([{ event: now }, { event: chunk('c') }, { event: completed }]),
      }),
      {},
      fakeTiming(),
    )
    const seen = await all(service.sendStreamingMessage({ message }, context))
    expect(seen.map(({ event }) => event)).toEqual([working, chunk('a'), now, chunk('c'), completed])
  })

  it('yields the events after such a task, also those with the number of the task', async () => {
    const service = withReconnect(
      peer({
        sendStreamingMessage: () => play(numbered(4, working), broken),
        subscribeToTask: () =>
          play([
            { event: working, seq: 4 },
            { event: chunk('a'), seq: 4 },
            { event: completed, seq: 5 },
          ]),
      }),
      {},
      fakeTiming(),
    )
    const seen = await all(service.sendStreamingMessage({ message }, context))
    expect(seen.map(({ event }) => event)).toEqual([working, working, chunk('a'), completed])
  })

  it('reads the task if it has ended before the subscription', async () => {
    const done = taskIn('TASK_STATE_COMPLETED')
    const service = withReconnect(
      peer({
        sendStreamingMessage: () => play([{ event: working }], broken),
        subscribeToTask: () => play([], new A2AError('UNSUPPORTED_OPERATION', 'It has ended')),
        getTask: async () => done,
      }),
      {},
      fakeTiming(),
    )
    const seen = await all(service.sendStreamingMessage({ message }, context))
    expect(seen.at(-1)?.event).toEqual({ task: done })
  })

  it.each(['INVALID_PARAMS', 'TASK_NOT_FOUND', 'INTERNAL_ERROR'] as const)(
    'reads the task when the stream ended early and the peer refuses to resubscribe with %s',
    async (code) => {
      const done = taskIn('TASK_STATE_COMPLETED')
      const refusal = new A2AError(code, 'Task t1 is in terminal state: completed')
      let now = done
      const service = withReconnect(
        peer({
          sendStreamingMessage: () => play([{ event: working }, { event: chunk('a') }]),
          subscribeToTask: () => play([], refusal),
          getTask: async () => now,
        }),
        {},
        fakeTiming(),
      )
      const seen = await all(service.sendStreamingMessage({ message }, context))
      expect(seen.at(-1)?.event).toEqual({ task: done })
      now = taskIn('TASK_STATE_WORKING')
      await expect(all(service.sendStreamingMessage({ message }, context))).rejects.toBe(refusal)
    },
  )

  it('does not repeat a send without a key, and attaches to a send with one', async () => {
    let sends = 0
    const service = withReconnect(
      peer({
        sendStreamingMessage: () => {
          sends += 1
          return sends % 2 === 1 ? play([], broken) : play(numbered(1, working, completed))
        },
      }),
      {},
      fakeTiming(),
    )
    await expect(all(service.sendStreamingMessage({ message }, context))).rejects.toMatchObject({
      failure: 'broken-stream',
      isRetryable: false,
    })
    expect(sends).toBe(1)
    sends = 0
    const keyed = { ...context, idempotencyKey: 'k' }
    expect(await all(service.sendStreamingMessage({ message }, keyed))).toHaveLength(2)
    expect(sends).toBe(2)
  })

  it('fails after several failures without an event, with increasing delays', async () => {
    const timing = fakeTiming()
    const service = withReconnect(
      peer({ subscribeToTask: () => play([], broken) }),
      { attempts: 4, firstDelayMs: 100 },
      timing,
    )
    await expect(all(service.subscribeToTask({ id: 't1' }, context))).rejects.toBe(broken)
    expect(timing.waits).toEqual([100, 200, 400])
    await expect(all(service.subscribeToTask({ id: 't1' }, { ...context, attempts: 1 }))).rejects.toBe(broken)
    expect(timing.waits).toHaveLength(3)
  })

  it('ends with the task, regardless of how the connection ends', async () => {
    const service = withReconnect(
      peer({ sendStreamingMessage: () => play(numbered(1, working, completed), broken) }),
      {},
      fakeTiming(),
    )
    expect(await all(service.sendStreamingMessage({ message }, context))).toHaveLength(2)
  })

  it('ends at a question for a send, and continues after it for a subscription', async () => {
    const asking = status('TASK_STATE_INPUT_REQUIRED')
    const events = numbered(1, working, asking)
    const sent = withReconnect(peer({ sendStreamingMessage: () => play(events, broken) }), {}, fakeTiming())
    expect(await all(sent.sendStreamingMessage({ message }, context))).toEqual(events)
    const watched = withReconnect(
      peer({
        subscribeToTask: (_request, { resumeAfter }) =>
          resumeAfter === undefined ? play(events, broken) : play(numbered(3, completed)),
      }),
      {},
      fakeTiming(),
    )
    expect(await all(watched.subscribeToTask({ id: 't1' }, context))).toHaveLength(3)
  })

  it('reports the cause of a send that failed', async () => {
    const refused = new TransportError('unreachable', 'Nothing listens there')
    const timing = fakeTiming()
    const service = withReconnect(peer({ sendStreamingMessage: () => play([], refused) }), {}, timing)
    await expect(all(service.sendStreamingMessage({ message }, context))).rejects.toBe(refused)
    expect(timing.waits).toEqual([])
  })

  it('waits for Retry-After when it is rate limited', async () => {
    const timing = fakeTiming()
    let opened = 0
    const service = withReconnect(
      peer({
        sendStreamingMessage: () => play(numbered(1, working), broken),
        subscribeToTask: () => {
          opened += 1
          return opened === 1
            ? play([], new A2AError('RATE_LIMITED', 'Slowly', { retryAfterSeconds: 2 }))
            : play(numbered(2, completed))
        },
      }),
      { firstDelayMs: 100 },
      timing,
    )
    expect(await all(service.sendStreamingMessage({ message }, context))).toHaveLength(2)
    expect(timing.waits).toEqual([100, 2000])
  })

  it.each([
    ['begins with an update', context, () => play([{ event: chunk('b') }])],
    ['shows the task and ends', context, () => play([{ event: working }])],
    ['is one of a version that never shows the task', { ...context, dialect: 'v0.1' }, () => play([])],
    ['does not exist', context, () => play([], new A2AError('METHOD_NOT_FOUND', 'No such method'))],
  ])('polls the task to its end when a subscription %s', async (_what, called, subscribeToTask) => {
    const artifacts = [{ artifactId: 'a1', parts: [{ text: 'ab' }] }]
    const answers = [taskIn('TASK_STATE_WORKING'), taskIn('TASK_STATE_COMPLETED', { artifacts })]
    const service = withReconnect(
      peer({
        sendStreamingMessage: () => play([{ event: working }, { event: chunk('a') }], broken),
        subscribeToTask,
        getTask: async () => answers.shift() ?? taskIn('TASK_STATE_FAILED'),
      }),
      {},
      fakeTiming(),
    )
    const seen = await all(service.sendStreamingMessage({ message }, called))
    expect(seen.map(({ event }) => event)).toEqual([
      working,
      chunk('a'),
      working,
      { artifactUpdate: { taskId: 't1', contextId: 'c1', artifact: artifacts[0] } },
      completed,
    ])
  })

  it('fails when the peer repeats the same task without progress', async () => {
    let shown = 0
    const service = withReconnect(
      peer({
        subscribeToTask: () => {
          shown += 1
          return play([{ event: working }], broken)
        },
      }),
      { attempts: 4 },
      fakeTiming(),
    )
    await expect(all(service.subscribeToTask({ id: 't1' }, context))).rejects.toBe(broken)
    expect(shown).toBe(5)
  })

  it('rethrows errors of the agent', async () => {
    const refusal = new A2AError('TASK_NOT_FOUND', 'No task t1')
    const service = withReconnect(peer({ subscribeToTask: () => play([], refusal) }), {}, fakeTiming())
    await expect(all(service.subscribeToTask({ id: 't1' }, context))).rejects.toBe(refusal)
  })
})
