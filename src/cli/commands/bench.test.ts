import { describe, expect, it } from 'vitest'
import { A2AError, TransportError } from '../../client/index.js'
import { load, percentilesOf, Tally } from './bench.js'

const never = new AbortController().signal

describe('load', () => {
  it('makes the given number of calls at the given concurrency', async () => {
    const tally = new Tally()
    let running = 0
    let most = 0
    const call = async () => {
      most = Math.max(most, ++running)
      await new Promise((resolve) => setImmediate(resolve))
      running -= 1
      return { ms: 1 }
    }
    await load(call, tally, { concurrency: 4, requests: 50, signal: never })
    expect({ done: tally.done, most }).toEqual({ done: 50, most: 4 })
  })

  it('counts failures by kind, the most frequent first', async () => {
    const tally = new Tally()
    let calls = 0
    const call = async () => {
      calls += 1
      if (calls === 1) throw new TransportError('timeout', 'Too late')
      if (calls < 4) throw new A2AError('RATE_LIMITED', 'Slowly')
      return { ms: 1 }
    }
    await load(call, tally, { concurrency: 1, requests: 5, signal: never })
    const { errors, failed, succeeded } = tally.totals(1000)
    expect({ errors: Object.entries(errors), failed, succeeded }).toEqual({
      errors: [
        ['RATE_LIMITED', 2],
        ['timeout', 1],
      ],
      failed: 3,
      succeeded: 2,
    })
  })

  it('starts no call after its time, and finishes those that have started', async () => {
    const tally = new Tally()
    await load(async () => ({ ms: 1 }), tally, { concurrency: 3, durationMs: 0, signal: never })
    expect(tally.done).toBe(0)
  })

  it('stops when the signal fires, and does not count calls in progress', async () => {
    const tally = new Tally()
    const stop = new AbortController()
    let calls = 0
    const call = async (signal: AbortSignal) => {
      calls += 1
      if (calls > 2) stop.abort()
      signal.throwIfAborted()
      return { ms: 1 }
    }
    await load(call, tally, { concurrency: 1, signal: stop.signal })
    expect(tally.totals(1)).toMatchObject({ succeeded: 2, failed: 0 })
  })
})

describe('Tally', () => {
  it('computes rates and percentiles, also of events', () => {
    const tally = new Tally()
    for (const ms of [4, 1, 3, 2]) tally.success({ ms, firstMs: ms / 2, events: 5 })
    expect(tally.totals(2000)).toEqual({
      requests: 4,
      succeeded: 4,
      failed: 0,
      errors: {},
      seconds: 2,
      requestsPerSecond: 2,
      latencyMs: { min: 1, mean: 2.5, p50: 2, p90: 4, p99: 4, max: 4 },
      firstEventMs: { min: 0.5, mean: 1.25, p50: 1, p90: 2, p99: 2, max: 2 },
      events: 20,
      eventsPerSecond: 10,
    })
  })

  it('has no latency if no call succeeded', () => {
    const totals = new Tally().totals(0)
    expect(totals).toMatchObject({ requests: 0, requestsPerSecond: 0 })
    expect(totals).not.toHaveProperty('latencyMs')
  })
})

describe('percentilesOf', () => {
  it('uses the nearest rank', () => {
    const values = Array.from({ length: 100 }, (_, place) => 100 - place)
    expect(percentilesOf(values)).toEqual({ min: 1, mean: 50.5, p50: 50, p90: 90, p99: 99, max: 100 })
    expect(percentilesOf([7])).toEqual({ min: 7, mean: 7, p50: 7, p90: 7, p99: 7, max: 7 })
    expect(percentilesOf([])).toBeUndefined()
  })
})
