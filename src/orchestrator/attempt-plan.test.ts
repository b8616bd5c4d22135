import { describe, expect, it } from 'vitest'
import { A2AError } from '../model/errors.js'
import { TransportError } from '../model/transport-error.js'
import { AttemptPlan, RetryBudget } from './attempt-plan.js'

/** Waits are not waited for here; chance is what a test says. */
const waiting = (random = 1) => ({ random: () => random, wait: async () => undefined })
const isBusy = (retryAfterSeconds: number) => new A2AError('RATE_LIMITED', 'Slow down', { retryAfterSeconds })

describe('the attempts of a step', () => {
  const plan = new AttemptPlan({ agent: 'A', fallback: ['B', 'C'], retry: { attempts: 2, delayMs: 100 } })

  it('ask each agent as often as was said, one agent after the other', () => {
    expect([1, 2, 3, 4, 5, 6].map((attempt) => plan.agentOf(attempt))).toEqual(['A', 'A', 'B', 'B', 'C', 'C'])
    expect([1, 2, 3, 4, 5, 6].map((attempt) => plan.after(attempt, true))).toEqual([2, 3, 4, 5, 6, undefined])
  })

  it('leave out an agent that would say the same again', () => {
    expect([1, 2, 3, 4, 5, 6].map((attempt) => plan.after(attempt, false))).toEqual([3, 3, 5, 5, undefined, undefined])
  })

  it('are one for each agent when nothing was said', () => {
    const usual = new AttemptPlan({ agent: 'A', fallback: 'B' })
    expect([usual.after(1, true), usual.agentOf(2), usual.after(2, true)]).toEqual([2, 'B', undefined])
    expect(new AttemptPlan({ agent: 'A', retry: { attempts: 0 } }).after(1, true)).toBeUndefined()
  })

  it('wait longer each time, by chance and not for ever; another agent is asked at once', () => {
    const patient = new AttemptPlan({ agent: 'A', fallback: 'B', retry: { attempts: 10, delayMs: 100 } })
    const delays = [2, 3, 4, 10, 11].map((attempt) => patient.delayBefore(attempt, undefined, waiting()))
    expect(delays).toEqual([100, 200, 400, 10_000, 0])
    expect(patient.delayBefore(3, undefined, waiting(0))).toBe(100)
  })

  it('wait as long as the agent asked for', () => {
    expect(plan.delayBefore(2, isBusy(3), waiting())).toBe(3_000)
    expect(plan.delayBefore(3, isBusy(3), waiting())).toBe(0)
  })
})

describe('patience', () => {
  const clocked = () => {
    const clock = { ms: 1_000 }
    return { clock, patience: new RetryBudget(waiting(), () => clock.ms) }
  }
  const away = new TransportError('unreachable', 'Nobody listens')

  it('asks again, less and less often, until its time is over', () => {
    const { clock, patience } = clocked()
    expect([1, 2, 3].map(() => patience.delayAfter(away, 5_000))).toEqual([100, 200, 400])
    for (let n = 0; n < 5; n++) patience.delayAfter(away, 5_000)
    clock.ms += 4_999
    expect(patience.delayAfter(away, 5_000)).toBe(2_000)
    clock.ms += 1
    expect(patience.delayAfter(away, 5_000)).toBeUndefined()
  })

  it('begins anew when the agent was heard, but does not hurry a line that keeps breaking', () => {
    const { clock, patience } = clocked()
    expect(patience.delayAfter(away, 5_000)).toBe(100)
    for (const expected of [200, 400, 800]) {
      clock.ms += 1_900
      patience.heard()
      expect(patience.delayAfter(away, 5_000)).toBe(expected)
    }
    clock.ms += 60_000
    patience.heard()
    expect(patience.delayAfter(away, 5_000)).toBe(100)
  })

  it('asks nobody again without time, nor before the agent wants it', () => {
    expect(clocked().patience.delayAfter(away, 0)).toBeUndefined()
    expect(clocked().patience.delayAfter(isBusy(4), 5_000)).toBe(4_000)
    expect(clocked().patience.delayAfter(isBusy(6), 5_000)).toBeUndefined()
    const gateway = new TransportError('bad-answer', 'HTTP 503', { isRetryable: true, retryAfterMs: 700 })
    expect(clocked().patience.delayAfter(gateway, 5_000)).toBe(700)
  })

  it.each<[string, unknown, boolean]>([
    ['a time-out', new TransportError('timeout', 'Too late'), true],
    ['a breaker', new TransportError('circuit-open', 'Left alone', { isRetryable: false }), true],
    ['a broken stream', new TransportError('broken-stream', 'It broke'), true],
    ['what is no answer', new TransportError('bad-answer', 'HTML'), false],
    ['a rule of ours', new TransportError('refused', 'Private'), false],
    ['an abort', new TransportError('aborted', 'Left'), false],
    ['an answer', new A2AError('INVALID_PARAMS', 'No'), false],
    ['a bug', new Error('Oops'), false],
  ])('tells whether %s passes', (_, error, passes) => {
    expect(clocked().patience.delayAfter(error, 5_000) !== undefined).toBe(passes)
  })
})
