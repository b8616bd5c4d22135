import { describe, expect, it } from 'vitest'
import { TransportError } from '../model/transport-error.js'
import { CircuitBreaker, withCircuitBreaker } from './circuit-breaker.js'
import { all, context, peer, play, taskIn } from './scripted.fixture.js'

const silence = new TransportError('unreachable', 'Nothing listens there')
const working = { task: taskIn('TASK_STATE_WORKING') }

describe('CircuitBreaker', () => {
  it('rejects calls after several failures, and lets one call try after openMs', async () => {
    let now = 0
    let isThere = false
    const service = withCircuitBreaker(
      peer({ getTask: () => (isThere ? Promise.resolve(working.task) : Promise.reject(silence)) }),
      new CircuitBreaker({ failures: 2, openMs: 1000 }, () => now),
    )
    const call = () => service.getTask({ id: 't1' }, context)
    await expect(call()).rejects.toBe(silence)
    await expect(call()).rejects.toBe(silence)
    await expect(call()).rejects.toMatchObject({
      failure: 'circuit-open',
      message: 'Nothing listens there. The agent failed 2 times; trying again in 1 s',
      cause: silence,
    })
    now = 1000
    isThere = true
    expect(await call()).toBe(working.task)
    expect(await call()).toBe(working.task)
  })

  it('lets another call try after a stream without events', async () => {
    let now = 0
    const answers = [() => Promise.reject(silence), () => Promise.resolve(working.task)]
    const service = withCircuitBreaker(
      peer({ getTask: () => answers.shift()?.() ?? Promise.reject(silence), subscribeToTask: () => play([]) }),
      new CircuitBreaker({ failures: 1, openMs: 1000 }, () => now),
    )
    await expect(service.getTask({ id: 't1' }, context)).rejects.toBe(silence)
    now = 1000
    expect(await all(service.subscribeToTask({ id: 't1' }, context))).toEqual([])
    expect(await service.getTask({ id: 't1' }, context)).toBe(working.task)
  })
})
