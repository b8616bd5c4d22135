import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import type { LogEntry } from '../model/log.js'
import { callBy, send } from '../testing/messages.js'
import { gate, until } from '../testing/wait.js'
import { bound, openTestStore, storeKinds, taskIn, testEngine } from './engine.fixture.js'
import { attributeStrayErrors, stallsOutsideHandlers } from './execution/handler-watch.js'
import { working } from './yields.js'

const immediately = { returnImmediately: true }

describe.each(storeKinds)('stats on %s', (kind) => {
  it('contain the lag of the slowest reader', async () => {
    const all = gate()
    await using engine = await testEngine(async function* () {
      yield 'first'
      await all.opened
      for (let n = 0; n < 2000; n++) yield `${n} `
    }, kind)
    const stream = engine.sendStreamingMessage(send('go'), callBy())[Symbol.asyncIterator]()
    await stream.next()
    expect(engine.stats()).toMatchObject({ openStreams: 1, runningTasks: 1 })
    all.open()
    await until(() => engine.stats().runningTasks === 0)
    expect(engine.stats().streamLag).toBeGreaterThan(900)
    for (let next = await stream.next(); !next.done; next = await stream.next());
    expect(engine.stats()).toMatchObject({ openStreams: 0, streamLag: 0 })
  })

  it('count failures of the store, and tasks that retention removes', async () => {
    const store = await openTestStore(kind)
    let isAway = false
    const find: typeof store.find = (...given) => (isAway ? Promise.reject(new Error('away')) : store.find(...given))
    const retention = { maxEndedTasks: 0, sweepMs: 5 }
    await using engine = await testEngine(
      async function* () {
        yield 'done'
      },
      { ...bound(store), find },
      { retention },
    )
    await engine.sendMessage(send('go'), callBy())
    await until(() => engine.stats().expiredTasks === 1)
    isAway = true
    await expect(engine.getTask({ id: 'x' }, callBy())).rejects.toThrow()
    expect(engine.stats().storeFailures).toBe(1)
    await store.close()
  })

  it('E-9: a fenced run is counted, and logged once with its task', async () => {
    const store = await openTestStore(kind)
    const release = gate()
    const said: string[] = []
    await using engine = await testEngine(
      async function* () {
        yield working()
        await release.opened
        yield 'late'
      },
      // It receives no notification about its lease.
      { ...bound(store), changes: { ...bound(store).changes, watchRunnable: () => () => undefined } },
      { log: ({ level, message, taskId }) => void said.push(`${level} ${message} ${taskId}`) },
    )
    const { id } = taskIn(await engine.sendMessage(send('go', {}, immediately), callBy()))
    const key = { agent: 'Test', id }
    await until(async () => (await store.load(key))?.record.leaseOwner)
    const { leaseOwner = '' } = (await store.load(key))?.record ?? {}
    await store.leases.disown(leaseOwner)
    // Another process takes over the lease.
    await store.leases.claim({ agents: ['Test'], lease: { owner: 'other', ttlMs: 60_000 }, limit: 1 })
    release.open()
    await until(() => engine.stats().fencedRuns > 0)
    expect(engine.stats()).toMatchObject({ fencedRuns: 1, runningTasks: 0 })
    expect(said).toEqual([`warn Fenced out: another process runs this task now ${id}`])
    await store.close()
  })
})

describe('stalls', () => {
  const block = () => {
    const end = performance.now() + 400
    while (performance.now() < end);
  }

  it.each(['before the first wait', 'after a wait', 'in its own callback'])(
    'are named with the task of the handler that blocks the event loop %s',
    async (when) => {
      const logged: LogEntry[] = []
      await using engine = await testEngine(
        async function* () {
          if (when === 'before the first wait') block()
          await new Promise((resolve) => setImmediate(resolve))
          if (when === 'after a wait') block()
          if (when === 'in its own callback')
            await new Promise<void>((resolve) => setTimeout(() => resolve(block()), 1))
        },
        'memory',
        { stallMs: 200, log: (entry) => void logged.push(entry) },
      )
      const { id } = taskIn(await engine.sendMessage(send('go'), callBy()))
      expect(engine.stats()).toMatchObject({ stalls: expect.any(Number), stalledMs: expect.any(Number) })
      expect(engine.stats().stalls).toBeGreaterThan(0)
      expect(engine.stats().stalledMs).toBeGreaterThan(200)
      expect(logged.find(({ taskId }) => taskId === id)).toMatchObject({
        level: 'warn',
        agent: 'Test',
        message: expect.stringMatching(
          when === 'before the first wait'
            ? /was blocked for \d+\.\d s while the agent ran/
            : /s by the agent or by code/,
        ),
      })
    },
  )

  it('of the store do not count for the agent', async () => {
    const said: string[] = []
    const store = await openTestStore('memory')
    const append: typeof store.append = (step) => {
      if (step.events.some(({ body }) => 'artifactUpdate' in body)) block()
      return store.append(step)
    }
    await using engine = await testEngine(
      async function* () {
        yield 'a chunk'
        await new Promise((resolve) => setImmediate(resolve))
        yield 'another'
      },
      { ...bound(store), append },
      { stallMs: 200, log: ({ message }) => void said.push(message) },
    )
    await engine.sendMessage(send('go'), callBy())
    await until(() => said.some((message) => message.includes('was blocked')))
    expect(said.filter((message) => message.includes('while the agent ran'))).toEqual([])
  })

  it('of a run that has ended do not keep it in memory', async () => {
    const stopAttributing = attributeStrayErrors()
    const timers: NodeJS.Timeout[] = []
    let signal: WeakRef<AbortSignal> | undefined
    await using engine = await testEngine(async function* (turn) {
      signal = new WeakRef(turn.signal)
      // A pool that is created on first use outlives the turn, and keeps its asynchronous context.
      timers.push(setInterval(() => undefined, 60_000))
    }, 'memory')
    await engine.sendMessage(send('go'), callBy())
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc') as () => void
    await until(() => {
      collect()
      return signal?.deref() === undefined
    })
    for (const timer of timers) clearInterval(timer)
    stopAttributing()
  })

  it('outside of handlers are logged with the tasks that run, and count for no agent', async () => {
    // On a busy machine another stall may be logged first. The test then repeats with a new engine.
    for (let isOurs = false; !isOurs; ) {
      const release = gate()
      const logged: LogEntry[] = []
      await using engine = await testEngine(
        async function* () {
          yield working()
          await release.opened
        },
        'memory',
        { stallMs: 200, log: (entry) => void logged.push(entry) },
      )
      const { id } = taskIn(await engine.sendMessage(send('go', {}, immediately), callBy()))
      await until(async () => (await engine.getTask({ id }, callBy())).status.state === 'TASK_STATE_WORKING')
      isOurs = logged.length === 0
      const before = { own: engine.stats().stalls, outside: stallsOutsideHandlers().stalls }
      block()
      await until(() => logged.length > 0)
      release.open()
      if (!isOurs) continue
      const message = expect.stringMatching(`outside of the steps of an agent; running: Test ${id}`)
      expect(logged).toEqual([{ level: 'warn', message }])
      expect(stallsOutsideHandlers().stalls).toBeGreaterThan(before.outside)
      expect(engine.stats().stalls).toBe(before.own)
    }
  })

  it('outside of handlers are logged by each server, also after another one has logged them', async () => {
    for (const _server of ['first', 'second']) {
      const logged: LogEntry[] = []
      const options = { stallMs: 200, log: (entry: LogEntry) => void logged.push(entry) }
      await using _engine = await testEngine(async function* () {}, 'memory', options)
      block()
      await until(() => logged.some(({ message }) => message.includes('outside of the steps of an agent')))
    }
  })

  it('are found with the smallest threshold of all engines of the process', async () => {
    const logged: LogEntry[] = []
    await using strict = await testEngine(async function* () {}, 'memory', { stallMs: 200 })
    await using engine = await testEngine(
      async function* () {
        block()
      },
      'memory',
      { stallMs: 60_000, log: (entry) => void logged.push(entry) },
    )
    const { id } = taskIn(await engine.sendMessage(send('go'), callBy()))
    expect(logged).toContainEqual(expect.objectContaining({ agent: 'Test', taskId: id }))
    expect(engine.stats().stalls).toBeGreaterThan(0)
    expect(strict.stats().stalls).toBe(0)
  })
})
