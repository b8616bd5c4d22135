import { describe, expect, it } from 'vitest'
import { A2AError } from '../model/errors.js'
import { TransportError } from '../model/transport-error.js'
import { AttemptPlan, RetryBudget } from './attempt-plan.js'

/** Delays take no time, and the test chooses the jitter. */
const waiting = (random = 1) => ({ random: () => random, wait: async () => undefined })
const isBusy = (retryAfterSeconds: number) => new A2AError('RATE_LIMITED', 'Slow down', { retryAfterSeconds })

describe('the attempts of a step', () => {
  const plan = new AttemptPlan({ agent: 'A', fallback: ['B', 'C'], retry: { attempts: 2, delayMs: 100 } })

  it('call each agent the given number of times, one agent after the other', () => {
    expect([1, 2, 3, 4, 5, 6].map((attempt) => plan.agentOf(attempt))).toEqual(['A', 'A', 'B', 'B', 'C', 'C'])
    expect([1, 2, 3, 4, 5, 6].map((attempt) => plan.after(attempt, true))).toEqual([2, 3, 4, 5, 6, undefined])
  })

  it('skip an agent whose error is permanent', () => {
    expect([1, 2, 3, 4, 5, 6].map((attempt) => plan.after(attempt, false))).toEqual([3, 3, 5, 5, undefined, undefined])
  })

  it('default to one for each agent', () => {
    const defaults = new AttemptPlan({ agent: 'A', fallback: 'B' })
    expect([defaults.after(1, true), defaults.agentOf(2), defaults.after(2, true)]).toEqual([2, 'B', undefined])
    expect(new AttemptPlan({ agent: 'A', retry: { attempts: 0 } }).after(1, true)).toBeUndefined()
  })

  it('use exponential backoff with jitter and a maximum; the fallback is called at once', () => {
    const backoff = new AttemptPlan({ agent: 'A', fallback: 'B', retry: { attempts: 10, delayMs: 100 } })
    const delays = [2, 3, 4, 10, 11].map((attempt) => backoff.delayBefore(attempt, undefined, waiting()))
    expect(delays).toEqual([100, 200, 400, 10_000, 0])
    expect(backoff.delayBefore(3, undefined, waiting(0))).toBe(100)
  })

  it('obey Retry-After', () => {
    expect(plan.delayBefore(2, isBusy(3), waiting())).toBe(3_000)
    expect(plan.delayBefore(3, isBusy(3), waiting())).toBe(0)
  })
})

describe('RetryBudget', () => {
  const clocked = () => {
    const clock = { ms: 1_000 }
    return { clock, budget: new RetryBudget(waiting(), () => clock.ms) }
  }
  const away = new TransportError('unreachable', 'No server listens')

  it('retries with increasing delays until its time is over', () => {
    const { clock, budget } = clocked()
    expect([1, 2, 3].map(() => budget.delayAfter(away, 5_000))).toEqual([100, 200, 400])
    for (let n = 0; n < 5; n++) budget.delayAfter(away, 5_000)
    clock.ms += 4_999
    expect(budget.delayAfter(away, 5_000)).toBe(2_000)
    clock.ms += 1
    expect(budget.delayAfter(away, 5_000)).toBeUndefined()
  })

  it('resets its time when the agent responds, but not the backoff after a brief reconnect', () => {
    const { clock, budget } = clocked()
    expect(budget.delayAfter(away, 5_000)).toBe(100)
    for (const expected of [200, 400, 800]) {
      clock.ms += 1_900
      budget.answered()
      expect(budget.delayAfter(away, 5_000)).toBe(expected)
    }
    clock.ms += 60_000
    budget.answered()
    expect(budget.delayAfter(away, 5_000)).toBe(100)
  })

  it('does not retry without time left, or before Retry-After', () => {
    expect(clocked().budget.delayAfter(away, 0)).toBeUndefined()
    expect(clocked().budget.delayAfter(isBusy(4), 5_000)).toBe(4_000)
    expect(clocked().budget.delayAfter(isBusy(6), 5_000)).toBeUndefined()
    const gateway = new TransportError('bad-answer', 'HTTP 503', { isRetryable: true, retryAfterMs: 700 })
    expect(clocked().budget.delayAfter(gateway, 5_000)).toBe(700)
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
  ])('returns whether %s is transient', (_, error, passes) => {
    expect(clocked().budget.delayAfter(error, 5_000) !== undefined).toBe(passes)
  })
})
