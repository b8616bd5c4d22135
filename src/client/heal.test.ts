import { describe, expect, it } from 'vitest'
import { A2AError } from '../model/errors.js'
import { TransportError } from '../transports/transport-error.js'
import { healing } from './heal.js'
import { all, chunk, context, noWaiting, numbered, peer, play, status, taskIn } from './scripted.fixture.js'

const message = { messageId: 'm1', role: 'ROLE_USER' as const, parts: [{ text: 'hi' }] }
const broken = new TransportError('broken-stream', 'The stream broke off')
const working = { task: taskIn('TASK_STATE_WORKING') }
const completed = status('TASK_STATE_COMPLETED')

describe('a stream that heals', () => {
  it('goes on behind the last event where events are numbered, without gap or repetition', async () => {
    const resumed: unknown[] = []
    const service = healing(
      peer({
        sendStreamingMessage: () => play(numbered(1, working, chunk('a'), chunk('b')), broken),
        subscribeToTask: (request, { resumeAfter }) => {
          resumed.push([request.id, resumeAfter])
          // A peer that repeats the last event does no harm.
          return play(numbered(3, chunk('b'), chunk('c'), completed))
        },
      }),
      {},
      noWaiting(),
    )
    const seen = await all(service.sendStreamingMessage({ message }, context))
    expect(resumed).toEqual([['t1', 3]])
    expect(seen.map(({ event }) => event)).toEqual([working, chunk('a'), chunk('b'), chunk('c'), completed])
  })

  it('goes on when the peer just hangs up in the middle', async () => {
    let opened = 0
    const service = healing(
      peer({
        subscribeToTask: () => {
          opened += 1
          return opened === 1 ? play(numbered(1, working, chunk('a'))) : play(numbered(3, completed))
        },
      }),
      {},
      noWaiting(),
    )
    expect(await all(service.subscribeToTask({ id: 't1' }, context))).toHaveLength(3)
  })

  it('begins anew with the task where events have no numbers', async () => {
    const now = { task: taskIn('TASK_STATE_WORKING', { artifacts: [{ artifactId: 'a1', parts: [{ text: 'ab' }] }] }) }
    const service = healing(
      peer({
        sendStreamingMessage: () => play([{ event: working }, { event: chunk('a') }], broken),
        subscribeToTask: () => play([{ event: now }, { event: chunk('c') }, { event: completed }]),
      }),
      {},
      noWaiting(),
    )
    const seen = await all(service.sendStreamingMessage({ message }, context))
    expect(seen.map(({ event }) => event)).toEqual([working, chunk('a'), now, chunk('c'), completed])
  })

  it('keeps what comes behind such a task, also under the number of the task', async () => {
    const service = healing(
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
      noWaiting(),
    )
    const seen = await all(service.sendStreamingMessage({ message }, context))
    expect(seen.map(({ event }) => event)).toEqual([working, working, chunk('a'), completed])
  })

  it('reads the task where nothing is left to subscribe to', async () => {
    const done = taskIn('TASK_STATE_COMPLETED')
    const service = healing(
      peer({
        sendStreamingMessage: () => play([{ event: working }], broken),
        subscribeToTask: () => play([], new A2AError('UNSUPPORTED_OPERATION', 'It has ended')),
        getTask: async () => done,
      }),
      {},
      noWaiting(),
    )
    const seen = await all(service.sendStreamingMessage({ message }, context))
    expect(seen.at(-1)?.event).toEqual({ task: done })
  })

  it('is not sent twice without a key, and attaches under one', async () => {
    let sends = 0
    const service = healing(
      peer({
        sendStreamingMessage: () => {
          sends += 1
          return sends % 2 === 1 ? play([], broken) : play(numbered(1, working, completed))
        },
      }),
      {},
      noWaiting(),
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

  it('gives up after several failures without an event in between, and waits longer each time', async () => {
    const waiting = noWaiting()
    const service = healing(
      peer({ subscribeToTask: () => play([], broken) }),
      { attempts: 4, firstDelayMs: 100 },
      waiting,
    )
    await expect(all(service.subscribeToTask({ id: 't1' }, context))).rejects.toBe(broken)
    expect(waiting.waits).toEqual([100, 200, 400])
  })

  it('passes on what the agent says', async () => {
    const refusal = new A2AError('TASK_NOT_FOUND', 'No task t1')
    const service = healing(peer({ subscribeToTask: () => play([], refusal) }), {}, noWaiting())
    await expect(all(service.subscribeToTask({ id: 't1' }, context))).rejects.toBe(refusal)
  })
})
