import { describe, expect, it } from 'vitest'
import { callBy, gate, send, until } from '../testing/index.js'
import { mortalStore } from '../testing/mortal-store.js'
import { type AbandonedTask, agent, type Handler } from './agent.js'
import {
  bound,
  collect,
  openTestStore,
  outline,
  sharedFile,
  storeKinds,
  taskIn,
  testEngine,
  textIn,
} from './engine.fixture.js'
import { artifact, ask, working } from './yields.js'

const immediately = { returnImmediately: true } as const
const forever: Handler = async function* () {
  yield working()
  await new Promise(() => undefined)
}

describe.each(storeKinds)('durability on %s', (kind) => {
  it('E-9: a task of a dead process is failed at the next start', async () => {
    const store = await openTestStore(kind)
    const life = mortalStore(store)
    const dead = await testEngine(forever, life.store, { owner: 'dead' })
    const { id } = taskIn(await dead.sendMessage(send('go', {}, immediately), callBy()))
    await until(async () => (await store.load({ agent: 'Test', id }))?.record.seq === 4)
    life.kill()
    await using engine = await testEngine(forever, store, { isOwnerDead: (owner) => owner === 'dead' })
    const status = await until(async () => {
      const { status } = await engine.getTask({ id }, callBy())
      return status.state === 'TASK_STATE_FAILED' && status
    })
    expect(textIn(status.message?.parts ?? [])).toContain('interrupted')
    await store.close()
  })

  it('E-9: an agent with onCrash.attempts is run again, up to its attempts, and replaces its artifacts', async () => {
    const store = await openTestStore(kind)
    const attempts: number[] = []
    const retrying = agent({ name: 'Test', onCrash: { attempts: 3 } }, async function* ({ attempt, text }) {
      attempts.push(attempt)
      yield artifact('out', `${text} ${attempt}.1 `)
      if (attempt < 3) await new Promise(() => undefined)
      yield artifact('out', `${attempt}.2`, { append: true })
    })
    const [life1, life2] = [mortalStore(store), mortalStore(store)]
    const first = await testEngine(retrying, life1.store, { owner: 'p1' })
    const { id } = taskIn(await first.sendMessage(send('go', {}, immediately), callBy()))
    await until(async () => (await first.getTask({ id }, callBy())).artifacts?.length === 1)
    life1.kill()
    const second = await testEngine(retrying, life2.store, { owner: 'p2', isOwnerDead: (owner) => owner === 'p1' })
    await until(() => attempts.length === 2)
    await until(async () => textIn((await second.getTask({ id }, callBy())).artifacts?.[0]?.parts ?? []) === 'go 2.1 ')
    life2.kill()
    await using third = await testEngine(retrying, store, { owner: 'p3', isOwnerDead: (owner) => owner !== 'p3' })
    const task = await until(async () => {
      const now = await third.getTask({ id }, callBy())
      return now.status.state === 'TASK_STATE_COMPLETED' && now
    })
    expect(attempts).toEqual([1, 2, 3])
    expect(task.artifacts?.map(({ parts }) => textIn(parts))).toEqual(['go 3.1 3.2'])
    await store.close()
  })

  it('E-4: checkpoints are available in later attempts and turns, and never sent to callers', async () => {
    const store = await openTestStore(kind)
    const seen: unknown[] = []
    const careful = agent({ name: 'Test', onCrash: { attempts: 2 } }, async function* (turn) {
      seen.push([turn.number, turn.attempt, Object.fromEntries(turn.checkpoints)])
      const value = { at: turn.number }
      const written = turn.checkpoint(`step ${turn.number}`, value)
      value.at = 99
      await written
      yield working()
      if (turn.number === 1 && turn.attempt === 1) await new Promise(() => undefined)
      if (turn.number === 1) yield ask('More?')
    })
    const life = mortalStore(store)
    const first = await testEngine(careful, life.store, { owner: 'p1' })
    const { id } = taskIn(await first.sendMessage(send('go', {}, immediately), callBy()))
    await until(async () => (await first.getTask({ id }, callBy())).status.state === 'TASK_STATE_WORKING')
    life.kill()
    await using second = await testEngine(careful, store, { owner: 'p2', isOwnerDead: (owner) => owner === 'p1' })
    await until(async () => (await second.getTask({ id }, callBy())).status.state === 'TASK_STATE_INPUT_REQUIRED')
    await second.sendMessage(send('more', { taskId: id }), callBy())
    expect(seen).toEqual([
      [1, 1, {}],
      [1, 2, { 'step 1': { at: 1 } }],
      [2, 1, { 'step 1': { at: 1 } }],
    ])
    const replayed = await collect(second.subscribeToTask({ id }, callBy('ann', { resumeAfter: 0 })))
    expect(JSON.stringify(replayed)).not.toContain('checkpoint')
    await store.close()
  })

  it('E-4: a checkpoint that is too large, or not JSON, is rejected', async () => {
    const refusals: unknown[] = []
    await using engine = await testEngine(async function* (turn) {
      for (const [key, value] of [
        ['large', 'x'.repeat(1_000_001)],
        ['', 1],
        ['date', new Date() as never],
      ] as const)
        await turn.checkpoint(key, value).catch((error: unknown) => refusals.push((error as Error).message))
      yield `${turn.checkpoints.size} kept`
    }, kind)
    expect(taskIn(await engine.sendMessage(send('go'), callBy())).artifacts).toMatchObject([
      { parts: [{ text: '0 kept' }] },
    ])
    expect(refusals).toEqual([
      'The checkpoint large is longer than 1000000 characters of JSON',
      'The key of a checkpoint is a string of 1 to 255 characters',
      'The checkpoint date is no JSON value',
    ])
  })

  it('E-4: the checkpoints of a task have a common limit over all turns; replaced values do not count', async () => {
    const refusals: unknown[] = []
    const large = 'x'.repeat(999_998)
    await using engine = await testEngine(async function* (turn) {
      const write = (key: string, value: string) =>
        turn.checkpoint(key, value).catch((error: unknown) => refusals.push((error as Error).message))
      if (turn.number === 1) {
        for (let n = 1; n <= 16; n++) await write(`${n}`, large)
        yield ask('More?')
      }
      await write('17', 'too much')
      await write('1', '')
      await write('17', 'as much')
      yield Array.from(turn.checkpoints.keys()).length.toString()
    }, kind)
    const { id } = taskIn(await engine.sendMessage(send('go'), callBy()))
    const task = taskIn(await engine.sendMessage(send('yes', { taskId: id }), callBy()))
    expect(task.artifacts).toMatchObject([{ parts: [{ text: '17' }] }])
    expect(refusals).toEqual(['The checkpoints of a task are longer than 16000000 characters of JSON together'])
  })

  it('E-7: onAbandoned is called for tasks that are cancelled while they wait', async () => {
    const abandoned: unknown[] = []
    const waiting = {
      ...agent('Test', async function* (turn) {
        await turn.checkpoint('child', 'c-1')
        yield ask('More?')
      }),
      onAbandoned: async ({ task, checkpoints }: AbandonedTask) => {
        abandoned.push([task.status.state, checkpoints.get('child')])
      },
    }
    await using engine = await testEngine(waiting, kind)
    const { id } = taskIn(await engine.sendMessage(send('go'), callBy()))
    await engine.cancelTask({ id }, callBy())
    expect(abandoned).toEqual([['TASK_STATE_CANCELED', 'c-1']])
  })

  it('E-9: a task is given up after its last attempt', async () => {
    const store = await openTestStore(kind)
    const retrying = agent({ name: 'Test', onCrash: { attempts: 2 } }, forever)
    let id = ''
    for (const n of [1, 2, 3]) {
      const life = mortalStore(store)
      const engine = await testEngine(retrying, life.store, {
        owner: `p${n}`,
        isOwnerDead: (owner) => owner !== `p${n}`,
      })
      if (n === 1) id = taskIn(await engine.sendMessage(send('go', {}, immediately), callBy())).id
      await until(async () => (await engine.getTask({ id }, callBy())).status.state !== 'TASK_STATE_SUBMITTED')
      if (n === 3) expect((await engine.getTask({ id }, callBy())).status.state).toBe('TASK_STATE_FAILED')
      life.kill()
    }
    await store.close()
  })

  it('E-9: an expired lease is taken over, and the writer that slept is fenced', async () => {
    const store = await openTestStore(kind)
    const release = gate()
    const watched = mortalStore(store)
    const sleeper = await testEngine(
      async function* () {
        yield working()
        await release.opened
        yield 'late'
      },
      // It sleeps: it receives no notifications, but writes when it wakes.
      { ...bound(store), changes: watched.store.changes },
      { owner: 'sleeper', leaseMs: 60_000 },
    )
    const { id } = taskIn(await sleeper.sendMessage(send('go', {}, immediately), callBy()))
    await until(async () => (await store.load({ agent: 'Test', id }))?.record.seq === 4)
    watched.kill()
    await store.leases.disown('sleeper') // expires the lease
    await using engine = await testEngine(forever, store, { leaseMs: 300 })
    await until(async () => (await engine.getTask({ id }, callBy())).status.state === 'TASK_STATE_FAILED')
    release.open()
    await until(() => sleeper.logged.some((line) => line.includes('Fenced out')))
    expect((await engine.getTask({ id }, callBy())).artifacts).toBeUndefined()
    await store.close()
  })

  it('E-9: leases of running turns are renewed', async () => {
    const store = await openTestStore(kind)
    const renew = store.leases.renew.bind(store.leases)
    const renewed: string[] = []
    store.leases.renew = async (held, lease) => {
      const lost = await renew(held, lease)
      for (const { key } of held) if (!lost.some((each) => each.key.id === key.id)) renewed.push(key.id)
      return lost
    }
    await using engine = await testEngine(forever, store, { leaseMs: 300 })
    const { id } = taskIn(await engine.sendMessage(send('go', {}, immediately), callBy()))
    await until(() => renewed.filter((each) => each === id).length >= 2)
    await engine.cancelTask({ id }, callBy())
    await store.close()
  })

  it('E-9: a keyed send whose process died before the first yield becomes a visible, failed task', async () => {
    const store = await openTestStore(kind)
    const silent: Handler = async function* () {
      await new Promise(() => undefined)
      yield 'never'
    }
    const life = mortalStore(store)
    const dead = await testEngine(silent, life.store, { owner: 'dead' })
    const request = send('go')
    const context = callBy('ann', { idempotencyKey: 'k' })
    void dead.sendMessage(request, context).catch(() => undefined)
    await until(async () => await store.findKey({ agent: 'Test', tenant: '', owner: 'ann' }, 'key:k'))
    life.kill()
    await using engine = await testEngine(silent, store, { isOwnerDead: (owner) => owner === 'dead' })
    expect(taskIn(await engine.sendMessage(request, context)).status.state).toBe('TASK_STATE_FAILED')
    await store.close()
  })

  it('E-11: ended tasks are immutable, and retention removes them with their events, keys and webhooks', async () => {
    await using engine = await testEngine(
      async function* ({ text }) {
        if (text === 'wait') yield ask('?')
        yield 'x'
      },
      kind,
      { retention: { endedTasksMs: 0, sweepMs: 10 } },
    )
    const open = taskIn(await engine.sendMessage(send('wait'), callBy()))
    const { id } = taskIn(await engine.sendMessage(send('go'), callBy('ann', { idempotencyKey: 'k' })))
    await engine.sendMessage(send('newer'), callBy())
    await until(async () => (await engine.store.load({ agent: 'Test', id })) === undefined)
    await expect(engine.getTask({ id }, callBy())).rejects.toMatchObject({ code: 'TASK_NOT_FOUND' })
    expect((await engine.getTask({ id: open.id }, callBy())).status.state).toBe('TASK_STATE_INPUT_REQUIRED')
  })

  it('E-12: a drain refuses new messages, lets turns finish, and ends streams', async () => {
    const release = gate()
    const engine = await testEngine(async function* ({ text }) {
      yield working()
      await release.opened
      yield text
    }, kind)
    const stream = collect(engine.sendStreamingMessage(send('go'), callBy()))
    const id = await until(async () => (await engine.listTasks({}, callBy())).tasks[0]?.id)
    const drained = engine.drain(5000)
    await expect(engine.sendMessage(send('more'), callBy())).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    release.open()
    await drained
    expect(outline(await stream).at(-1)).toBe('status:COMPLETED')
    expect((await engine.getTask({ id }, callBy())).status.state).toBe('TASK_STATE_COMPLETED')
    await engine.store.close()
  })

  it('E-12: unfinished turns are handed over, and their readers resume elsewhere', async () => {
    const store = await openTestStore(kind)
    const patient = agent({ name: 'Test', onCrash: { attempts: 2 } }, async function* ({ attempt }) {
      yield working()
      if (attempt === 1) await new Promise(() => undefined)
      yield 'done elsewhere'
    })
    const leaving = await testEngine(patient, store, { owner: 'leaving', cancelGraceMs: 10 })
    const before = collect(leaving.sendStreamingMessage(send('go'), callBy()))
    const id = await until(
      async () => (await leaving.listTasks({ status: 'TASK_STATE_WORKING' }, callBy())).tasks[0]?.id,
    )
    await leaving.drain(0)
    const seen = await before
    expect(outline(seen)).toEqual(['task:SUBMITTED', 'status:WORKING'])
    await using staying = await testEngine(patient, store, { owner: 'staying' })
    const after = await collect(staying.subscribeToTask({ id }, callBy('ann', { resumeAfter: seen.at(-1)?.seq ?? 0 })))
    expect(outline(after).slice(-2)).toEqual(['artifact:done elsewhere', 'status:COMPLETED'])
    await store.close()
  })
})

describe('two engines on one file', () => {
  it('share tasks: read, follow, continue and cancel from either side', async () => {
    using file = sharedFile()
    const [storeA, storeB] = [await file.open(), await file.open()]
    const release = gate()
    const handler: Handler = async function* ({ text, signal }) {
      if (text === 'hang') {
        yield working()
        await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
      }
      if (text === 'ask') yield ask('?')
      yield working()
      await release.opened
      yield `${text} `
    }
    {
      await using a = await testEngine(handler, storeA, { owner: 'a' })
      await using b = await testEngine(handler, storeB, { owner: 'b' })
      const { id } = taskIn(await a.sendMessage(send('one', {}, immediately), callBy()))
      const followed = collect(b.subscribeToTask({ id }, callBy()))
      const queued = b.sendMessage(send('two', { taskId: id }), callBy())
      await until(async () => (await b.getTask({ id }, callBy())).history?.length === 2)
      release.open()
      const { artifacts } = taskIn(await queued)
      expect(artifacts?.map(({ parts }) => textIn(parts))).toEqual(['one ', 'two '])
      expect(outline(await followed).at(-1)).toBe('status:COMPLETED')

      const hanging = taskIn(await a.sendMessage(send('hang', {}, immediately), callBy()))
      expect((await b.cancelTask({ id: hanging.id }, callBy())).status.state).toBe('TASK_STATE_CANCELED')

      const asked = taskIn(await a.sendMessage(send('ask'), callBy()))
      expect(taskIn(await b.sendMessage(send('answer', { taskId: asked.id }), callBy())).status.state).toBe(
        'TASK_STATE_COMPLETED',
      )
    }
    await storeA.close()
    await storeB.close()
  })

  it('E-4, E-5: a follower misses nothing when turns alternate between the two', async () => {
    using file = sharedFile()
    const [storeA, storeB] = [await file.open(), await file.open()]
    const handler: Handler = async function* ({ text }) {
      for (let n = 0; n < Number(text); n++) yield artifact('out', `${n} `)
      yield ask('more?')
    }
    {
      await using a = await testEngine(handler, storeA, { owner: 'a' })
      await using b = await testEngine(handler, storeB, { owner: 'b' })
      const { id } = taskIn(await a.sendMessage(send('1'), callBy()))
      const seen: number[] = []
      const reading = (async () => {
        for await (const { seq } of a.subscribeToTask({ id }, callBy())) if (seq !== undefined) seen.push(seq)
      })()
      for (const [engine, count] of [
        [a, '10'],
        [b, '40'],
        [a, '200'],
        [b, '5'],
      ] as const) {
        await engine.sendMessage(send(count, { taskId: id }), callBy())
      }
      await b.cancelTask({ id }, callBy())
      await reading
      const all = (await collect(b.subscribeToTask({ id }, callBy('ann', { resumeAfter: seen[0] ?? 0 })))).map(
        ({ seq }) => seq,
      )
      expect(seen.slice(1)).toEqual(all)
    }
    await storeA.close()
    await storeB.close()
  })

  it('E-7: a cancel from one side takes effect when the agent asks at the same moment on the other', async () => {
    using file = sharedFile()
    const [storeA, storeB] = [await file.open(), await file.open()]
    const release = gate()
    const handler: Handler = async function* () {
      yield working()
      await release.opened
      yield ask('What now?')
    }
    {
      await using a = await testEngine(handler, storeA, { owner: 'a', leaseMs: 1000 })
      await using b = await testEngine(handler, storeB, { owner: 'b', leaseMs: 1000 })
      const { id } = taskIn(await a.sendMessage(send('go', {}, immediately), callBy()))
      await until(async () => (await b.getTask({ id }, callBy())).status.state === 'TASK_STATE_WORKING')
      const cancelled = b.cancelTask({ id }, callBy())
      release.open()
      expect((await cancelled).status.state).toBe('TASK_STATE_CANCELED')
    }
    await storeA.close()
    await storeB.close()
  })
})
