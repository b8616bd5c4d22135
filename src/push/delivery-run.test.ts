import { describe, expect, it } from 'vitest'
import { dialectsByName } from '../dialects/servers.js'
import { append, chunk, creation, ending, key } from '../stores/contract-steps.js'
import { MemoryStore } from '../stores/memory.js'
import type { ClaimedCursor, NewDeadLetter } from '../stores/store.js'
import type { Delivery, DeliveryOutcome } from './delivery.js'
import { DeliveryRun } from './delivery-run.js'
import { defaultPushSettings, leaseOf, type PushSettings, retryDelay } from './push-settings.js'

const delivered: DeliveryOutcome = { result: 'delivered' }
const failed: DeliveryOutcome = { result: 'failed', error: 'no', isOverloaded: false }

interface Scene {
  readonly store: MemoryStore
  readonly clock: { ms: number }
  /** The monotonic clock that measures durations. */
  readonly watch: { ms: number }
  readonly sent: Delivery[]
  readonly deadLetters: NewDeadLetter[]
  readonly closing: AbortController
  claim(): Promise<ClaimedCursor | undefined>
  run(
    cursor: ClaimedCursor,
    answer?: (delivery: Delivery) => DeliveryOutcome | Promise<DeliveryOutcome>,
  ): Promise<unknown>
}

/** Task `t1` with a webhook from its beginning. */
async function scene(dialect = 'v1', more: Partial<PushSettings> = {}): Promise<Scene> {
  const clock = { ms: 1_000_000 }
  const watch = { ms: 0 }
  const store = new MemoryStore({ now: () => clock.ms })
  const config = { id: 'h', taskId: 't1', url: 'https://hook.example/' }
  await store.append({ ...creation('t1'), pushConfig: { config, dialect, maxConfigs: 9 } })
  const settings = { ...defaultPushSettings, giveUpAfterMs: Number.POSITIVE_INFINITY, ...more }
  const sent: Delivery[] = []
  const deadLetters: NewDeadLetter[] = []
  const closing = new AbortController()
  return {
    store,
    clock,
    watch,
    sent,
    deadLetters,
    closing,
    async claim() {
      const lease = { owner: 'p', ttlMs: leaseOf(settings) }
      return (await store.deliveries.claim({ agents: ['a'], lease, limit: 1 })).cursors[0]
    },
    async run(cursor, answer = () => delivered) {
      const send = async (delivery: Delivery) => {
        sent.push(delivery)
        return await answer(delivery)
      }
      const deps = {
        store,
        dialects: dialectsByName(),
        events: 'all' as const,
        settings,
        send,
        closing: closing.signal,
        now: () => clock.ms,
        monotonicMs: () => watch.ms,
        onDeadLetter: (_cursor: ClaimedCursor, each: NewDeadLetter) => void deadLetters.push(each),
        onRetry: () => undefined,
      }
      return await new DeliveryRun(deps, cursor, watch.ms).run()
    },
  }
}

async function claimed({ claim }: Scene): Promise<ClaimedCursor> {
  const cursor = await claim()
  if (!cursor) throw new Error('There is no cursor to claim')
  return cursor
}

/** A store that counts. */
function counting<Name extends string>(of: Readonly<Record<Name, unknown>>, name: Name) {
  const counted = { calls: 0 }
  const original = (of[name] as (...args: unknown[]) => unknown).bind(of)
  Object.assign(of, {
    [name]: (...args: unknown[]) => {
      counted.calls += 1
      return original(...args)
    },
  })
  return counted
}

describe('a cursor', () => {
  it('is released at the end of the log, and due again with the next event', async () => {
    const each = await scene()
    await each.run(await claimed(each))
    expect(each.sent).toHaveLength(1)
    expect(await each.claim()).toBeUndefined()
    await each.store.append(append('t1', 3, [chunk('t1', 'x')]))
    expect((await claimed(each)).seq).toBe(3)
  })

  it('waits as long as Retry-After says, up to maxRetryMs', async () => {
    const each = await scene()
    const asked = (retryAfterMs: number) => () => ({ ...failed, retryAfterMs }) as DeliveryOutcome
    await each.run(await claimed(each), asked(60_000))
    each.clock.ms += 59_999
    expect(await each.claim()).toBeUndefined()
    each.clock.ms += 1
    const cursor = await claimed(each)
    expect(cursor).toMatchObject({ seq: 2, attempts: 1 })
    await each.run(cursor, asked(Number.MAX_SAFE_INTEGER))
    each.clock.ms += defaultPushSettings.maxRetryMs
    expect(await claimed(each)).toMatchObject({ attempts: 2 })
  })

  it('counts the attempts of each event separately', async () => {
    const refused: DeliveryOutcome = { result: 'refused', error: 'The webhook answered 410' }
    const each = await scene()
    await each.store.append(append('t1', 3, [chunk('t1', 'a'), chunk('t1', 'b')]))
    await each.run(await claimed(each), () => (each.sent.length < 3 ? refused : failed))
    expect(
      (await each.store.deliveries.listDeadLetters({ agents: ['a'], limit: 9 })).map(({ attempts }) => attempts),
    ).toEqual([1, 1])
    each.clock.ms += defaultPushSettings.maxRetryMs
    expect(await claimed(each)).toMatchObject({ attempts: 1 })
  })

  it('makes dead letters of expired events without an attempt after two failures in a row, and tries newer ones', async () => {
    const each = await scene('v1', { giveUpAfterMs: 500_000 })
    const bodies = ['a', 'b', 'c'].map((text) => chunk('t1', text))
    await each.store.append(append('t1', 3, bodies))
    const young = { seq: 7, time: each.clock.ms, body: chunk('t1', 'd') }
    await each.store.append({ key: key('t1'), expect: 6, events: [young] })
    await each.run(await claimed(each), () => failed)
    expect(each.deadLetters).toEqual([
      { seq: 3, attempts: 1, error: 'no' },
      { seq: 4, attempts: 1, error: 'no' },
      { seq: 5, attempts: 0, error: 'no' },
      { seq: 6, attempts: 0, error: 'no' },
    ])
    expect(each.sent).toHaveLength(3)
    each.clock.ms += defaultPushSettings.maxRetryMs
    expect(await claimed(each)).toMatchObject({ seq: 6, attempts: 1 })
  })

  it('reports dead letters when they are stored, and not when another process has the cursor', async () => {
    const refused: DeliveryOutcome = { result: 'refused', error: 'The webhook answered 410' }
    const each = await scene()
    const cursor = await claimed(each)
    each.clock.ms += leaseOf(defaultPushSettings)
    const rival = await claimed(each)
    await each.run(cursor, () => refused)
    expect(each.deadLetters).toEqual([])
    await each.run(rival, () => refused)
    expect(each.deadLetters).toMatchObject([{ seq: 3, attempts: 1 }])
  })

  it('reports nothing about an origin that was not called', async () => {
    const unsigned: DeliveryOutcome = { result: 'failed', error: 'The delivery could not be signed' }
    const each = await scene()
    expect(await each.run(await claimed(each), () => unsigned)).toEqual({ hasDelivered: false })
    each.clock.ms += defaultPushSettings.maxRetryMs
    expect(await each.run(await claimed(each), () => failed)).toEqual({ hasDelivered: false, isOverloaded: false })
  })

  it('sends each delivery with the same id in every attempt', async () => {
    const each = await scene()
    await each.run(await claimed(each), () => failed)
    each.clock.ms += 60_000
    await each.run(await claimed(each))
    expect(each.sent.map(({ id }) => id)).toEqual([each.sent[0]?.id, each.sent[0]?.id])
  })

  it('is stored now and then, not after every event', async () => {
    const each = await scene()
    const bodies = Array.from({ length: 2000 }, (_, n) => chunk('t1', String(n)))
    await each.store.append(append('t1', 3, bodies))
    const settled = counting(each.store.deliveries, 'settle')
    await each.run(await claimed(each))
    expect(each.sent).toHaveLength(2001)
    expect(settled.calls).toBeLessThan(50)
  })

  it('stops when it was lost, and does not move the cursor of the new holder', async () => {
    const each = await scene()
    await each.store.append(
      append(
        't1',
        3,
        Array.from({ length: 10 }, (_, n) => chunk('t1', String(n))),
      ),
    )
    const cursor = await claimed(each)
    each.clock.ms += leaseOf(defaultPushSettings)
    const rival = await claimed(each)
    // Each attempt takes so long that the lease is asked for anew.
    await each.run(cursor, () => {
      each.watch.ms += defaultPushSettings.timeoutMs
      return delivered
    })
    expect(each.sent).toHaveLength(1)
    await each.run(rival)
    expect(await each.claim()).toBeUndefined()
  })

  it('stops when this process shuts down, and stores its position', async () => {
    const each = await scene()
    await each.store.append(
      append(
        't1',
        3,
        Array.from({ length: 10 }, (_, n) => chunk('t1', String(n))),
      ),
    )
    await each.run(await claimed(each), () => {
      if (each.sent.length === 4) each.closing.abort()
      return each.sent.length === 4 ? { result: 'aborted' } : delivered
    })
    expect(await claimed(each)).toMatchObject({ seq: 5, attempts: 0 })
  })

  it('of a dialect with whole tasks folds the log once, and shows the task as each status left it', async () => {
    const each = await scene('v0.3')
    for (let seq = 3; seq < 103; seq++) await each.store.append(append('t1', seq, [chunk('t1', String(seq))]))
    await each.store.append(ending('t1', 103))
    const reads = counting(each.store, 'read')
    await each.run(await claimed(each))
    const parts = each.sent.map(({ body }) => {
      const { artifacts = [] } = JSON.parse(body) as { artifacts?: { parts: unknown[] }[] }
      return artifacts.flatMap((artifact) => artifact.parts).length
    })
    expect(parts).toEqual([0, 101])
    expect(reads.calls).toBeLessThan(5)
  })

  it('whose events were removed delivers the ended task', async () => {
    const each = await scene()
    await each.store.append(ending('t1', 3, each.clock.ms))
    each.clock.ms += 10_000
    await each.store.expire('a', { endedEventsMs: 5000, limit: 9 })
    await each.run(await claimed(each))
    expect(each.sent.map(({ body }) => JSON.parse(body))).toMatchObject([
      { task: { id: 't1', status: { state: 'TASK_STATE_COMPLETED' }, artifacts: [{}] } },
    ])
    expect(await each.claim()).toBeUndefined()
  })

  it('of an unknown dialect is left to other processes', async () => {
    const each = await scene('v9')
    await each.run(await claimed(each))
    expect(each.sent).toEqual([])
    expect(await each.claim()).toBeUndefined()
    each.clock.ms += defaultPushSettings.maxRetryMs
    expect(await claimed(each)).toMatchObject({ seq: 0, attempts: 0 })
  })

  it('is gone with its task', async () => {
    const each = await scene()
    await each.store.append(ending('t1', 3, each.clock.ms))
    const cursor = await claimed(each)
    each.clock.ms += 10_000
    await each.store.expire('a', { endedTasksMs: 5000, limit: 9 })
    await each.run(cursor)
    expect(each.sent).toEqual([])
    expect(await each.store.load(key('t1'))).toBeUndefined()
  })
})

describe('retryDelay', () => {
  it('doubles up to a limit, with jitter, and respects Retry-After', () => {
    for (let attempts = 1; attempts < 40; attempts++) {
      const full = Math.min(1000 * 2 ** (attempts - 1), defaultPushSettings.maxRetryMs)
      const delay = retryDelay(defaultPushSettings, attempts)
      expect(delay).toBeGreaterThanOrEqual(Math.floor(full / 2))
      expect(delay).toBeLessThanOrEqual(full)
    }
    expect(retryDelay(defaultPushSettings, 1, 30_000)).toBe(30_000)
    expect(retryDelay(defaultPushSettings, 1, 10 ** 12)).toBe(defaultPushSettings.maxRetryMs)
  })
})
