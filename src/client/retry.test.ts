import { describe, expect, it } from 'vitest'
import { A2AError } from '../model/errors.js'
import { TransportError } from '../model/transport-error.js'
import { CircuitBreaker, withCircuitBreaker } from './circuit-breaker.js'
import { withPolling } from './poll.js'
import { withRetries } from './retry.js'
import { all, context, fakeTiming, peer, taskIn } from './scripted.fixture.js'

const message = { messageId: 'm1', role: 'ROLE_USER' as const, parts: [{ text: 'hi' }] }
const task = taskIn('TASK_STATE_COMPLETED')
const unreachable = new TransportError('unreachable', 'No server listens there')

/** Fails a given number of times, then answers. */
function failing(times: number, error: unknown) {
  let calls = 0
  return {
    count: () => calls,
    async call<T>(result: T): Promise<T> {
      calls += 1
      if (calls <= times) throw error
      return result
    },
  }
}

describe('withRetries', () => {
  it('retries idempotent calls with exponential backoff', async () => {
    const timing = fakeTiming()
    const script = failing(3, unreachable)
    const service = withRetries(peer({ getTask: () => script.call(task) }), { firstDelayMs: 100 }, timing)
    expect(await service.getTask({ id: 't1' }, context)).toBe(task)
    expect(timing.waits).toEqual([100, 200, 400])
  })

  it('obeys Retry-After up to the maximum delay', async () => {
    const timing = fakeTiming()
    const limited = failing(1, new A2AError('RATE_LIMITED', 'Slow down', { retryAfterSeconds: 2 }))
    await withRetries(peer({ getTask: () => limited.call(task) }), {}, timing).getTask({ id: 't1' }, context)
    expect(timing.waits).toEqual([2000])
    const forever = failing(1, new A2AError('UNAVAILABLE', 'Come back tomorrow', { retryAfterSeconds: 86_400 }))
    const service = withRetries(peer({ getTask: () => forever.call(task) }), {}, timing)
    await expect(service.getTask({ id: 't1' }, context)).rejects.toMatchObject({ code: 'UNAVAILABLE' })
  })

  it('does not retry answers, aborted calls, or after the last attempt', async () => {
    const answered = failing(9, new A2AError('TASK_NOT_FOUND', 'No task'))
    const service = withRetries(peer({ getTask: () => answered.call(task) }), {}, fakeTiming())
    await expect(service.getTask({ id: 't1' }, context)).rejects.toMatchObject({ code: 'TASK_NOT_FOUND' })
    expect(answered.count()).toBe(1)
    const silent = failing(9, unreachable)
    const exhausted = withRetries(peer({ getTask: () => silent.call(task) }), { attempts: 3 }, fakeTiming())
    await expect(exhausted.getTask({ id: 't1' }, context)).rejects.toBe(unreachable)
    expect(silent.count()).toBe(3)
    await expect(exhausted.getTask({ id: 't1' }, { ...context, attempts: 1 })).rejects.toBe(unreachable)
    expect(silent.count()).toBe(4)
  })

  it('retries a send that was not sent', async () => {
    const unsent = failing(2, new TransportError('unreachable', 'Nothing listens there', { wasSent: false }))
    const service = withRetries(peer({ sendMessage: () => unsent.call({ task }) }), {}, fakeTiming())
    expect(await service.sendMessage({ message }, context)).toEqual({ task })
  })

  it('retries other sends only with an idempotency key', async () => {
    const plain = failing(1, unreachable)
    const service = (script: ReturnType<typeof failing>) =>
      withRetries(peer({ sendMessage: () => script.call({ task }) }), {}, fakeTiming())
    await expect(service(plain).sendMessage({ message }, context)).rejects.toBe(unreachable)
    const keyed = failing(1, unreachable)
    expect(await service(keyed).sendMessage({ message }, { ...context, idempotencyKey: 'k' })).toEqual({ task })
  })
})

describe('the circuit breaker', () => {
  it('rejects calls to an agent that does not answer, then tries once', async () => {
    let now = 0
    let isDown = true
    let calls = 0
    const breaker = new CircuitBreaker({ failures: 2, openMs: 1000 }, () => now)
    const service = withCircuitBreaker(
      peer({
        getTask: async () => {
          calls += 1
          if (isDown) throw unreachable
          return task
        },
      }),
      breaker,
    )
    const call = () => service.getTask({ id: 't1' }, context)
    await expect(call()).rejects.toBe(unreachable)
    await expect(call()).rejects.toBe(unreachable)
    await expect(call()).rejects.toMatchObject({ failure: 'circuit-open' })
    expect(calls).toBe(2)
    now = 1000
    await expect(call()).rejects.toBe(unreachable)
    await expect(call()).rejects.toMatchObject({ failure: 'circuit-open' })
    now = 2000
    isDown = false
    expect(await call()).toBe(task)
    expect(await call()).toBe(task)
  })

  it('counts an error of the agent as an answer', async () => {
    const breaker = new CircuitBreaker({ failures: 1 }, () => 0)
    const service = withCircuitBreaker(
      peer({ getTask: () => Promise.reject(new A2AError('TASK_NOT_FOUND', 'No task')) }),
      breaker,
    )
    for (let call = 0; call < 3; call++) {
      await expect(service.getTask({ id: 't1' }, context)).rejects.toMatchObject({ code: 'TASK_NOT_FOUND' })
    }
  })
})

describe('withPolling', () => {
  it('polls until the task ends and yields the changes', async () => {
    const states = [
      taskIn('TASK_STATE_WORKING'),
      taskIn('TASK_STATE_WORKING', { artifacts: [{ artifactId: 'a1', parts: [{ text: 'x' }] }] }),
      taskIn('TASK_STATE_COMPLETED', { artifacts: [{ artifactId: 'a1', parts: [{ text: 'x' }] }] }),
    ]
    const asked: unknown[] = []
    const service = withPolling(
      peer({
        sendMessage: async ({ configuration }) => {
          asked.push(configuration)
          return { task: taskIn('TASK_STATE_SUBMITTED') }
        },
        getTask: async () => states.shift() ?? task,
      }),
      fakeTiming(),
    )
    const seen = await all(service.sendStreamingMessage({ message }, context))
    expect(asked).toEqual([{ returnImmediately: true }])
    expect(seen.map(({ event }) => Object.keys(event)[0])).toEqual([
      'task',
      'statusUpdate',
      'artifactUpdate',
      'statusUpdate',
    ])
  })
})
