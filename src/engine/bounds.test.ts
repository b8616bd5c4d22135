/** Bounds on the cost of reading and storing tasks of any size. */

import { afterEach, describe, expect, it, vi } from 'vitest'
import { A2AError } from '../model/errors.js'
import { MemoryStore } from '../stores/memory.js'
import { callBy, gate, send, until } from '../testing/index.js'
import { mortalStore } from '../testing/mortal-store.js'
import { type AbandonedTask, agent } from './agent.js'
import { openTestStore, storeKinds, taskIn, testEngine, textIn } from './engine.fixture.js'
import { artifact, ask, completed, working } from './yields.js'

/** Counts the characters of JSON that are parsed during a call. */
async function parsedDuring(work: () => Promise<unknown>): Promise<number> {
  const parse = vi.spyOn(JSON, 'parse')
  try {
    await work()
    return parse.mock.calls.reduce((sum, [text]) => sum + text.length, 0)
  } finally {
    parse.mockRestore()
  }
}

/** Resolves at the end of this event loop turn, so that earlier yields form a separate batch. */
const committed = () => new Promise((resolve) => setImmediate(resolve))

afterEach(() => vi.restoreAllMocks())

describe('reading on sqlite', () => {
  const long = 'x'.repeat(200_000)

  it.each(['waits', 'has ended'])('parses the messages that are shown, of a task that %s', async (how) => {
    await using engine = await testEngine(async function* ({ number }) {
      if (number < 5) yield ask('More?')
      else if (how === 'waits') yield ask('Even more?')
    }, 'sqlite')
    const { id } = taskIn(await engine.sendMessage(send(long), callBy()))
    for (let n = 0; n < 4; n++) await engine.sendMessage(send(long, { taskId: id }), callBy())
    const read = async (historyLength: number) => await engine.getTask({ id, historyLength }, callBy())
    const list = async () => await engine.listTasks({ historyLength: 0 }, callBy())
    expect((await read(20)).history).toHaveLength(how === 'waits' ? 10 : 9)
    expect(await parsedDuring(() => read(0))).toBeLessThan(10_000)
    expect(await parsedDuring(() => read(2))).toBeLessThan(250_000)
    expect(await parsedDuring(list)).toBeLessThan(10_000)
  })

  it('lists a running task at a cost that does not depend on its events', async () => {
    const [small, large] = [gate(), gate()]
    await using engine = await testEngine(async function* () {
      yield working('0')
      await small.opened
      for (let n = 1; n < 5000; n++) yield working(`${n}`)
      await large.opened
    }, 'sqlite')
    const stream = engine.sendStreamingMessage(send('go'), callBy())[Symbol.asyncIterator]()
    await stream.next()
    for (const includeArtifacts of [false, true]) {
      const list = async () => await engine.listTasks({ includeArtifacts }, callBy())
      expect(await parsedDuring(list)).toBeLessThan(10_000)
    }
    small.open()
    await until(async () => {
      const { tasks } = await engine.listTasks({}, callBy())
      const [part] = tasks[0]?.status.message?.parts ?? []
      return part && 'text' in part && part.text === '4999'
    })
    for (const includeArtifacts of [false, true]) {
      const list = async () => await engine.listTasks({ includeArtifacts }, callBy())
      // The newest batch of progress is read, and no other.
      expect(await parsedDuring(list)).toBeLessThan(100_000)
    }
    large.open()
    await stream.return?.()
  })

  it("R-ERR-7: reads as much of another caller's task as of one that does not exist", async () => {
    await using engine = await testEngine(async function* () {
      yield ask('More?')
    }, 'sqlite')
    const { id } = taskIn(await engine.sendMessage(send(long), callBy('ann')))
    const refused = async (call: Promise<unknown>) => await expect(call).rejects.toThrow(/No task|not found/i)
    const calls = (taskId: string) => [
      () => refused(engine.getTask({ id: taskId }, callBy('bob'))),
      () => refused(engine.cancelTask({ id: taskId }, callBy('bob'))),
      () => refused(engine.sendMessage(send('hi', { taskId }), callBy('bob'))),
      () => refused(engine.subscribeToTask({ id: taskId }, callBy('bob'))[Symbol.asyncIterator]().next()),
    ]
    for (const taskId of [id, 'unknown']) for (const call of calls(taskId)) expect(await parsedDuring(call)).toBe(0)
  })
})

/** The code, the limit and the retry delay of an error. */
async function refusalOf(call: Promise<unknown>): Promise<unknown> {
  const error = await call.then(
    () => undefined,
    (caught: unknown) => caught,
  )
  if (!(error instanceof A2AError)) return error
  return [error.code, error.details.metadata?.limit, error.details.retryAfterSeconds]
}

describe.each(storeKinds)('the size of a task on %s', (kind) => {
  const limits = { bytesPerTask: 100_000 }
  const large = 'x'.repeat(60_000)

  it.each([
    ['chunks', () => [large, large]],
    ['an artifact', () => [artifact('a', { text: large }), artifact('b', { text: large })]],
    ['data', () => [large, artifact('b', { data: Array.from({ length: 30_000 }, () => ({})) })]],
    ['metadata', () => [large, artifact('b', 'x', { metadata: { large } })]],
    ['progress', () => [working(large), working(large)]],
    ['last words', () => [large, completed(large)]],
  ])('ends it FAILED when the output passes the limit: %s', async (_what, yields) => {
    let isClosed = false
    await using engine = await testEngine(
      async function* () {
        try {
          yield* yields()
          yield 'never'
        } finally {
          isClosed = true
        }
      },
      kind,
      { limits },
    )
    const { id, status } = taskIn(await engine.sendMessage(send('go'), callBy()))
    expect(status.state).toBe('TASK_STATE_FAILED')
    expect(textIn(status.message?.parts ?? [])).toBe('The task is too large (limit bytesPerTask: 100000 bytes)')
    expect(isClosed).toBe(true)
    const { artifacts = [] } = await engine.getTask({ id }, callBy())
    expect(artifacts.length).toBeLessThan(2)
  })

  it('refuses messages beyond it without Retry-After', async () => {
    const release = gate()
    await using engine = await testEngine(
      async function* ({ text }) {
        yield ask('More?')
        if (text === 'wait') await release.opened
      },
      kind,
      { limits },
    )
    const refusal = ['RATE_LIMITED', 'bytesPerTask', undefined]
    expect(await refusalOf(engine.sendMessage(send(large + large), callBy()))).toEqual(refusal)
    const { id } = taskIn(await engine.sendMessage(send(large), callBy()))
    expect(await refusalOf(engine.sendMessage(send(large, { taskId: id }), callBy()))).toEqual(refusal)
    expect(taskIn(await engine.sendMessage(send('small', { taskId: id }), callBy())).history).toHaveLength(4)
  })

  it('refuses messages to a busy task beyond it', async () => {
    const release = gate()
    await using engine = await testEngine(
      async function* () {
        yield working()
        await release.opened
      },
      kind,
      { limits },
    )
    const { id } = taskIn(await engine.sendMessage(send(large, {}, { returnImmediately: true }), callBy()))
    expect(await refusalOf(engine.sendMessage(send(large, { taskId: id }), callBy()))).toEqual([
      'RATE_LIMITED',
      'bytesPerTask',
      undefined,
    ])
    release.open()
  })

  it('includes the metadata of cancel requests, which are stored once', async () => {
    const store = await openTestStore(kind)
    await using first = await testEngine(
      async function* () {
        yield working()
        await new Promise(() => undefined)
      },
      store,
      { limits, cancelGraceMs: 200 },
    )
    await using second = await testEngine(async function* () {}, store, { limits })
    const { id } = taskIn(await first.sendMessage(send('go', {}, { returnImmediately: true }), callBy()))
    const metadata = { reason: large + large }
    for (const engine of [first, second])
      expect(await refusalOf(engine.cancelTask({ id, metadata }, callBy()))).toEqual([
        'RATE_LIMITED',
        'bytesPerTask',
        undefined,
      ])
    const cancel = () => first.cancelTask({ id, metadata: { reason: large } }, callBy())
    await Promise.all([cancel(), cancel(), cancel()])
    const bytes = (await store.find({ agent: 'Test', id }))?.bytes ?? 0
    expect(bytes).toBeGreaterThan(large.length)
    expect(bytes).toBeLessThan(2 * large.length)
  })

  it('ends a task of a dead process that is larger than it, without reading its artifacts', async () => {
    const store = await openTestStore(kind)
    const dying = mortalStore(store)
    const first = await testEngine(
      async function* () {
        yield working()
        await committed()
        for (let n = 0; n < 5; n++) yield large
        await committed()
        yield working('Busy')
        await new Promise(() => undefined)
      },
      dying.store,
      { owner: 'dead', limits: { bytesPerTask: 1_000_000 } },
    )
    const stream = first.sendStreamingMessage(send('go'), callBy())[Symbol.asyncIterator]()
    for (let n = 0; n < 8; n++) await stream.next()
    dying.kill()
    const options = { limits, isOwnerDead: (owner: string) => owner === 'dead' }
    let second: Awaited<ReturnType<typeof testEngine>> | undefined
    const handler = async function* () {
      yield 'again'
    }
    const parsed = await parsedDuring(async () => {
      second = await testEngine(handler, store, options)
    })
    expect(parsed).toBeLessThan(10_000)
    const { tasks } = (await second?.listTasks({ includeArtifacts: true }, callBy())) ?? { tasks: [] }
    expect(tasks.map(({ status }) => status.state)).toEqual(['TASK_STATE_FAILED'])
    expect(textIn(tasks[0]?.artifacts?.[0]?.parts ?? []).length).toBe(5 * large.length)
    await second?.drain(0)
    await store.close()
  })

  it('beyond the longest string does not keep the task of a dead process from ending', async () => {
    const store = await openTestStore(kind)
    const dying = mortalStore(store)
    const chunk = 'x'.repeat(1_000_000)
    const first = await testEngine(
      async function* () {
        for (let n = 0; n < 24; n++) {
          yield chunk
          await committed()
        }
        yield working('Busy')
        await new Promise(() => undefined)
      },
      dying.store,
      { owner: 'dead' },
    )
    for await (const { event } of first.sendStreamingMessage(send('go'), callBy()))
      if ('statusUpdate' in event && textIn(event.statusUpdate.status.message?.parts ?? []) === 'Busy') break
    dying.kill()
    const { stringify } = JSON
    vi.spyOn(JSON, 'stringify').mockImplementation(((...given: Parameters<typeof stringify>) => {
      const text = stringify(...given)
      // As V8 does from about 512 MB on.
      if (text?.length > 20_000_000) throw new RangeError('Invalid string length')
      return text
    }) as typeof stringify)
    const second = await testEngine(async function* () {}, store, { isOwnerDead: (owner) => owner === 'dead' })
    const { tasks } = await second.listTasks({}, callBy())
    expect(tasks.map(({ status }) => status.state)).toEqual(['TASK_STATE_FAILED'])
    expect((await store.stats(['Test']))[0]).toMatchObject({ unheldTasks: 0 })
    await second.drain(0)
    await store.close()
  })

  it('of a caller is bounded too, until its tasks are removed', async () => {
    await using engine = await testEngine(
      async function* () {
        yield large
      },
      kind,
      { limits: { bytesPerCaller: 200_000 } },
    )
    const sendAs = (caller: string) => engine.sendMessage(send(large), callBy(caller))
    await sendAs('ann')
    await sendAs('ann')
    expect(await refusalOf(sendAs('ann'))).toEqual(['RATE_LIMITED', 'bytesPerCaller', undefined])
    await expect(sendAs('ann')).rejects.toMatchObject({
      message: expect.stringContaining('(limit bytesPerCaller: 200000 bytes)'),
      details: { metadata: { limit: 'bytesPerCaller', max: '200000' } },
    })
    expect(taskIn(await sendAs('bob')).status.state).toBe('TASK_STATE_COMPLETED')
    for (let n = 0; n < 4; n++) await sendAs('anonymous')
    await engine.store.expire('Test', { maxEndedTasks: 0, limit: 100 })
    expect(taskIn(await sendAs('ann')).status.state).toBe('TASK_STATE_COMPLETED')
  })

  it.each([
    ['the first sends of a caller', {}],
    ['sends after others', { isKnown: true }],
    ['sends with keys', { isKeyed: true }],
    ['sends with keys after others', { isKnown: true, isKeyed: true }],
    ['sends that return immediately', { isKnown: true, returnImmediately: true }],
  ])('of a caller bounds a burst: %s', async (_what, given) => {
    const { isKnown, isKeyed, returnImmediately } = {
      isKnown: false,
      isKeyed: false,
      returnImmediately: false,
      ...given,
    }
    const decided = gate()
    const all = 10
    let [started, refused] = [0, 0]
    const decide = () => {
      if (started + refused === all) decided.open()
    }
    await using engine = await testEngine(
      async function* ({ text }) {
        if (text === 'first') return
        started += 1
        decide()
        await decided.opened
      },
      kind,
      { limits: { bytesPerCaller: 200_000 } },
    )
    if (isKnown) await engine.sendMessage(send('first'), callBy('ann'))
    const sends = Array.from({ length: all }, async (_, n) => {
      const context = { ...callBy('ann'), ...(isKeyed && { idempotencyKey: `k${n}` }) }
      await engine.sendMessage(send(large, {}, { returnImmediately }), context).catch((error: unknown) => {
        expect(error).toMatchObject({ code: 'RATE_LIMITED', details: { metadata: { limit: 'bytesPerCaller' } } })
        refused += 1
        decide()
      })
    })
    await Promise.all([decided.opened, ...sends])
    expect(started).toBe(Math.floor(200_000 / large.length))
    // Sends that were refused or have been stored are not counted twice.
    await engine.store.expire('Test', { maxEndedTasks: 0, limit: 100 })
    expect(taskIn(await engine.sendMessage(send('first'), callBy('ann'))).status.state).toBe('TASK_STATE_COMPLETED')
  })

  it('of running tasks is bounded before anything of them is stored', async () => {
    const release = gate()
    await using engine = await testEngine(
      async function* () {
        await release.opened
        yield large
      },
      kind,
      { limits: { runBytes: 2.5 * large.length } },
    )
    const running = [1, 2].map(() => engine.sendMessage(send(large), callBy('anonymous')))
    expect(await refusalOf(engine.sendMessage(send(large), callBy('anonymous')))).toEqual([
      'UNAVAILABLE',
      'runBytes',
      1,
    ])
    await expect(engine.sendMessage(send(large), callBy('anonymous'))).rejects.toThrow(
      /^The running tasks are too large together \(limit runBytes: \d+ bytes\)$/,
    )
    release.open()
    await Promise.all(running)
    const { id } = taskIn(await engine.sendMessage(send(large), callBy('anonymous')))
    // Ended tasks and refused messages do not count, nor does a task twice.
    for (let n = 0; n < 5; n++) await engine.sendMessage(send(large), callBy('anonymous'))
    expect(taskIn({ task: await engine.getTask({ id }, callBy('anonymous')) }).status.state).toBe(
      'TASK_STATE_COMPLETED',
    )
  })

  it('of a caller counts what an earlier process stored', async () => {
    const store = await openTestStore(kind)
    const handler = async function* () {
      yield large
    }
    const options = { limits: { bytesPerCaller: 100_000 } }
    const first = await testEngine(handler, store)
    await first.sendMessage(send('go'), callBy('ann'))
    await first.sendMessage(send('go'), callBy('ann'))
    await first.drain(0)
    const second = await testEngine(handler, store, options)
    expect(await refusalOf(second.sendMessage(send('go'), callBy('ann')))).toEqual([
      'RATE_LIMITED',
      'bytesPerCaller',
      undefined,
    ])
    await second.drain(0)
    await store.close()
  })
})

describe('ending a large task on sqlite', () => {
  it('writes nothing of it again, and its artifacts are read from the log', async () => {
    const chunk = 'x'.repeat(1_000_000)
    const written: number[] = []
    await using engine = await testEngine(async function* () {
      for (let n = 0; n < 17; n++) {
        yield chunk
        await new Promise((resolve) => setImmediate(resolve))
      }
      const { stringify } = JSON
      vi.spyOn(JSON, 'stringify').mockImplementation(((...given: Parameters<typeof stringify>) => {
        const text = stringify(...given)
        written.push(text?.length ?? 0)
        return text
      }) as typeof stringify)
    }, 'sqlite')
    const { id } = taskIn(await engine.sendMessage(send('go'), callBy()))
    vi.restoreAllMocks()
    expect(Math.max(...written)).toBeLessThan(1_100_000)
    const { status, artifacts } = await engine.getTask({ id }, callBy())
    expect(status.state).toBe('TASK_STATE_COMPLETED')
    expect(textIn(artifacts?.[0]?.parts ?? []).length).toBe(17_000_000)
  })
})

describe('a memory store that is full', () => {
  const large = 'x'.repeat(40_000)

  it('evicts the oldest ended tasks first', async () => {
    const store = new MemoryStore({ maxBytes: 200_000 })
    await using engine = await testEngine(async function* ({ text }) {
      if (text === 'open') yield ask('More?')
    }, store)
    const open = taskIn(await engine.sendMessage(send('open'), callBy()))
    const ids: string[] = []
    for (let n = 0; n < 10; n++) ids.push(taskIn(await engine.sendMessage(send(large), callBy())).id)
    const { tasks } = await engine.listTasks({}, callBy())
    expect(tasks.map(({ id }) => id)).toEqual([...ids.slice(-4).reverse(), open.id])
  })

  it('refuses messages when nothing can be evicted, and fails the tasks that it has no room for', async () => {
    const store = new MemoryStore({ maxBytes: 200_000 })
    const release = gate()
    await using engine = await testEngine(async function* ({ text, signal }) {
      yield working()
      if (text === 'busy') await release.opened
      else await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
      yield large
      await committed()
      yield 'never'
    }, store)
    const busy = engine.sendMessage(send('busy'), callBy())
    const ids: string[] = []
    for (let n = 0; n < 4; n++)
      ids.push(taskIn(await engine.sendMessage(send(large, {}, { returnImmediately: true }), callBy())).id)
    const failed = taskIn(await engine.sendMessage(send(large), callBy()))
    expect(failed.status.state).toBe('TASK_STATE_FAILED')
    expect(textIn(failed.status.message?.parts ?? [])).toMatch(/^The task store is full/)
    release.open()
    const { status, artifacts } = taskIn(await busy)
    expect([status.state, artifacts]).toEqual(['TASK_STATE_FAILED', undefined])
    const refusal = ['RATE_LIMITED', 'maxBytes', 5]
    const taskId = ids[0] ?? ''
    expect(await refusalOf(engine.sendMessage(send(large, { taskId }), callBy()))).toEqual(refusal)
    const keyed = { ...callBy(), idempotencyKey: 'k' }
    expect(await refusalOf(engine.sendMessage(send(large), keyed))).toEqual(refusal)
    // Waiting does not make room for a task that is larger than the whole store.
    const tooLarge = ['RATE_LIMITED', 'maxBytes', undefined]
    const larger = send('x'.repeat(200_000), {}, { returnImmediately: true })
    expect(await refusalOf(engine.sendMessage(larger, callBy()))).toEqual(tooLarge)
    const continued = send('x'.repeat(180_000), { taskId })
    expect(await refusalOf(engine.sendMessage(continued, callBy()))).toEqual(tooLarge)
    expect((await engine.cancelTask({ id: taskId }, callBy())).status.state).toBe('TASK_STATE_CANCELED')
  })

  it('calls onAbandoned for a task that it ends', async () => {
    const abandoned: unknown[] = []
    const filling = {
      ...agent('Test', async function* () {
        yield large
        await committed()
        yield 'never'
      }),
      onAbandoned: async ({ task }: AbandonedTask) => {
        abandoned.push(task.status.state)
      },
    }
    await using engine = await testEngine(filling, new MemoryStore({ maxBytes: 20_000 }))
    expect(taskIn(await engine.sendMessage(send('go'), callBy())).status.state).toBe('TASK_STATE_FAILED')
    await until(async () => abandoned.length > 0)
    expect(abandoned).toEqual(['TASK_STATE_FAILED'])
  })

  it('subtracts dropped output from the size of its caller', async () => {
    const store = new MemoryStore({ maxBytes: 20_000 })
    const read = vi.spyOn(store, 'bytesOf')
    await using engine = await testEngine(
      async function* () {
        yield large
        await committed()
        yield 'never'
      },
      store,
      { limits: { bytesPerCaller: 100_000 } },
    )
    for (let n = 0; n < 5; n++)
      expect(taskIn(await engine.sendMessage(send('go'), callBy('ann'))).status.state).toBe('TASK_STATE_FAILED')
    // The store is read again only when the counted size passes the limit.
    expect(read).toHaveBeenCalledTimes(1)
  })

  it('accepts messages after many callers left questions open', async () => {
    await using engine = await testEngine(
      async function* () {
        yield ask('More?')
      },
      new MemoryStore({ maxBytes: 200_000 }),
    )
    const ids: string[] = []
    for (let n = 0; n < 10; n++) {
      const { id, status } = taskIn(await engine.sendMessage(send(large), callBy()))
      expect(status.state).toBe('TASK_STATE_INPUT_REQUIRED')
      ids.push(id)
    }
    // The store made room: it has the newest task, and the oldest one is gone.
    const [oldest = '', newest = ''] = [ids[0], ids.at(-1)]
    expect((await engine.getTask({ id: newest }, callBy())).id).toBe(newest)
    await expect(engine.getTask({ id: oldest }, callBy())).rejects.toMatchObject({ code: 'TASK_NOT_FOUND' })
  })

  it('E-7: cancels a running task, and a task of another process', async () => {
    const store = new MemoryStore({ maxBytes: 200_000 })
    await using first = await testEngine(async function* ({ signal }) {
      yield working()
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    }, store)
    await using second = await testEngine(async function* () {}, store)
    const begin = async (text: string) =>
      taskIn(await first.sendMessage(send(text, {}, { returnImmediately: true }), callBy())).id
    const [here, elsewhere] = [await begin('go'), await begin('go')]
    for (let length = large.length; length >= 100; length /= 2)
      for (let n = 0; n < 10; n++) await begin('x'.repeat(length)).catch(() => undefined)
    expect(await refusalOf(begin('x'.repeat(1000)))).toEqual(['RATE_LIMITED', 'maxBytes', 5])
    expect((await first.cancelTask({ id: here }, callBy())).status.state).toBe('TASK_STATE_CANCELED')
    for (let n = 0; n < 10; n++) await begin('x'.repeat(100)).catch(() => undefined)
    expect((await second.cancelTask({ id: elsewhere }, callBy())).status.state).toBe('TASK_STATE_CANCELED')
  })

  it('refuses a cancel with metadata that it has no room for', async () => {
    const store = new MemoryStore({ maxBytes: 50_000 })
    await using first = await testEngine(async function* ({ signal }) {
      yield working()
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    }, store)
    await using second = await testEngine(async function* () {}, store)
    const { id } = taskIn(await first.sendMessage(send('go', {}, { returnImmediately: true }), callBy()))
    const metadata = { reason: large + large }
    for (const engine of [first, second])
      expect(await refusalOf(engine.cancelTask({ id, metadata }, callBy()))).toEqual([
        'RATE_LIMITED',
        'maxBytes',
        undefined,
      ])
    expect((await first.cancelTask({ id }, callBy())).status.state).toBe('TASK_STATE_CANCELED')
  })
})
