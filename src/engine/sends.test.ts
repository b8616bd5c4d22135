import { describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { A2AError } from '../model/errors.js'
import type { CompleteStore, TaskKey } from '../stores/store.js'
import { callBy, gate, send, until } from '../testing/index.js'
import { agent, type Turn } from './agent.js'
import { bound, collect, openTestStore, outline, storeKinds, taskIn, testEngine, textIn } from './engine.fixture.js'
import { artifact, ask, reply, working } from './yields.js'

describe.each(storeKinds)('sends on %s', (kind) => {
  it('E-6: reply() as the first yield is a Message, and no task is ever listed', async () => {
    await using engine = await testEngine(async function* ({ text }) {
      yield reply(`re: ${text}`)
    }, kind)
    const answer = await engine.sendMessage(send('hi', { contextId: 'c1' }), callBy())
    expect(answer).toMatchObject({ message: { role: 'ROLE_AGENT', contextId: 'c1', parts: [{ text: 're: hi' }] } })
    expect(outline(await collect(engine.sendStreamingMessage(send('ho'), callBy())))).toEqual(['message:re: ho'])
    expect((await engine.listTasks({}, callBy())).totalSize).toBe(0)
  })

  it('E-6: with a key the record is committed before the agent runs, and the Message is kept with the key', async () => {
    const store = await openTestStore(kind)
    const seen: (string | undefined)[] = []
    await using engine = await testEngine(async function* ({ task }) {
      seen.push((await store.load({ agent: 'Test', id: task.id }))?.record.visibility)
      yield reply('once')
    }, store)
    const context = callBy('ann', { idempotencyKey: 'k1' })
    const request = send('hi')
    const first = await engine.sendMessage(request, context)
    expect(await engine.sendMessage(request, context)).toEqual(first)
    expect(outline(await collect(engine.sendStreamingMessage(request, context)))).toEqual(['message:once'])
    expect(seen).toEqual(['provisional'])
    expect((await engine.listTasks({}, callBy())).totalSize).toBe(0)
    await store.close()
  })

  it('E-6: returnImmediately makes the task visible at once, and a later reply() is its final message', async () => {
    const release = gate()
    await using engine = await testEngine(async function* () {
      await release.opened
      yield reply('late')
    }, kind)
    const task = taskIn(await engine.sendMessage(send('hi', {}, { returnImmediately: true }), callBy()))
    expect(task.status.state).toBe('TASK_STATE_SUBMITTED')
    release.open()
    const ended = await until(async () => {
      const now = await engine.getTask({ id: task.id }, callBy())
      return now.status.state === 'TASK_STATE_COMPLETED' && now
    })
    expect(textIn(ended.status.message?.parts ?? [])).toBe('late')
  })

  it('E-6: a dialect without Messages gets a task', async () => {
    await using engine = await testEngine(async function* () {
      yield reply('word')
    }, kind)
    const { status } = taskIn(await engine.sendMessage(send('hi'), callBy('ann', { mustBeTask: true })))
    expect(status).toMatchObject({ state: 'TASK_STATE_COMPLETED', message: { parts: [{ text: 'word' }] } })
  })

  describe('with a task id that the caller chose', () => {
    const chosen = (wantedTaskId: string, caller = 'ann') => callBy(caller, { wantedTaskId, mustBeTask: true })

    /** A store whose first look-up misses the task: another process creates it just afterwards. */
    function late(store: CompleteStore): CompleteStore {
      const find = vi.fn((key: TaskKey) => store.find(key)).mockResolvedValueOnce(undefined)
      return { ...bound(store), find }
    }

    it('commits once when the agent ends at once, in sends and in streams', async () => {
      const store = await openTestStore(kind)
      const append = vi.spyOn(store, 'append')
      await using engine = await testEngine(async function* ({ text }) {
        yield `re: ${text}`
      }, store)
      const task = taskIn(await engine.sendMessage(send('hi'), chosen('t1')))
      expect(task).toMatchObject({ id: 't1', status: { state: 'TASK_STATE_COMPLETED' } })
      expect(append).toHaveBeenCalledTimes(1)
      expect(await engine.getTask({ id: 't1' }, callBy())).toEqual(task)
      expect(outline(await collect(engine.sendStreamingMessage(send('ho'), chosen('t2'))))).toEqual([
        'task:SUBMITTED',
        'status:WORKING',
        'artifact:re: ho',
        'status:COMPLETED',
      ])
      expect(append).toHaveBeenCalledTimes(2)
      await store.close()
    })

    it('E-6: shows a longer task at once, and callers may cancel it', async () => {
      const store = await openTestStore(kind)
      const append = vi.spyOn(store, 'append')
      await using engine = await testEngine(async function* ({ signal }) {
        await new Promise((resolve) => signal.addEventListener('abort', resolve))
      }, store)
      const sending = engine.sendMessage(send('hi'), chosen('t1'))
      // The handler yields nothing: only the first commit can make the task visible.
      const seen = await until(() => engine.getTask({ id: 't1' }, callBy()).catch(() => undefined))
      expect(seen.status.state).toBe('TASK_STATE_SUBMITTED')
      expect(append).toHaveBeenCalledTimes(1)
      expect((await engine.cancelTask({ id: 't1' }, callBy())).status.state).toBe('TASK_STATE_CANCELED')
      expect(taskIn(await sending).status.state).toBe('TASK_STATE_CANCELED')
      await store.close()
    })

    it('runs sends with the same id as turns of one task, however close together', async () => {
      const turns: string[] = []
      await using engine = await testEngine(async function* ({ text, number }) {
        turns.push(`${number} ${text}`)
        yield ask('more?')
      }, kind)
      const sends = ['a', 'b', 'c'].map((text) => engine.sendMessage(send(text), chosen('t1')))
      for (const answer of await Promise.all(sends)) expect(taskIn(answer).id).toBe('t1')
      // Sends that are under way together have no order.
      expect(turns.map((turn) => turn.slice(0, 1))).toEqual(['1', '2', '3'])
      expect(turns.map((turn) => turn.slice(2)).sort()).toEqual(['a', 'b', 'c'])
    })

    it('E-9: sends the message to the task of another process that took the id after the look-up', async () => {
      const store = await openTestStore(kind)
      const turns: string[] = []
      const handler = (name: string) =>
        async function* ({ text, number }: Turn) {
          turns.push(`${name} ${number} ${text}`)
          yield ask('more?')
        }
      await using first = await testEngine(handler('first'), store)
      await using second = await testEngine(handler('second'), late(store))
      await using third = await testEngine(handler('third'), late(store))
      await first.sendMessage(send('a'), chosen('t1'))
      const task = taskIn(await second.sendMessage(send('b'), chosen('t1')))
      // The first run of b was for a new task, which the store refused.
      expect(turns).toEqual(['first 1 a', 'second 1 b', 'second 2 b'])
      expect(task.history?.map(({ parts }) => textIn(parts))).toEqual(['a', 'more?', 'b', 'more?'])
      expect(second.stats().fencedRuns).toBe(1)
      const ofAnother = third.sendMessage(send('c'), chosen('t1', 'eve'))
      await expect(ofAnother).rejects.toMatchObject({ code: 'INVALID_PARAMS' })
      await store.close()
    })

    it('shows the task of another process while a send here finds its id taken', async () => {
      const store = await openTestStore(kind)
      await using first = await testEngine(async function* () {
        yield ask('more?')
      }, store)
      const release = gate()
      const asked = gate()
      const append: CompleteStore['append'] = async (step) => {
        asked.open()
        await release.opened
        return await store.append(step)
      }
      await using second = await testEngine(
        async function* () {
          yield 'done'
        },
        { ...late(store), append },
      )
      await first.sendMessage(send('a'), chosen('t1'))
      const sending = second.sendMessage(send('b'), chosen('t1'))
      await asked.opened
      expect((await second.getTask({ id: 't1' }, callBy())).status.state).toBe('TASK_STATE_INPUT_REQUIRED')
      release.open()
      expect(taskIn(await sending).status.state).toBe('TASK_STATE_COMPLETED')
      await store.close()
    })
  })

  it('adds progress to the history for dialects that show it, and reads the log only if there is some', async () => {
    const store = await openTestStore(kind)
    const read = vi.spyOn(store, 'read')
    await using engine = await testEngine(async function* ({ text }) {
      if (text === 'slow') yield working('nearly')
      yield reply('done')
    }, store)
    const historyOf = async (text: string) =>
      taskIn(await engine.sendMessage(send(text), callBy('ann', { mustBeTask: true, showsProgress: true }))).history
    expect((await historyOf('fast'))?.map(({ parts }) => textIn(parts))).toEqual(['fast', 'done'])
    expect(read).not.toHaveBeenCalled()
    expect((await historyOf('slow'))?.map(({ parts }) => textIn(parts))).toEqual(['slow', 'nearly', 'done'])
    await store.close()
  })

  it('E-8: a throw fails the task with a neutral message; its text goes to the log', async () => {
    await using engine = await testEngine(async function* () {
      yield working()
      throw new Error('password is hunter2')
    }, kind)
    const task = taskIn(await engine.sendMessage(send('hi'), callBy()))
    expect(task.status.state).toBe('TASK_STATE_FAILED')
    expect(JSON.stringify(task)).not.toContain('hunter2')
    expect(engine.logged.join()).toContain('hunter2')
  })

  it('E-8: an A2AError before the first yield is the error of the call, and there is no task', async () => {
    await using engine = await testEngine(async function* () {
      throw new A2AError('CONTENT_TYPE_NOT_SUPPORTED', 'Only poems')
    }, kind)
    const refused = { code: 'CONTENT_TYPE_NOT_SUPPORTED', message: 'Only poems' }
    await expect(engine.sendMessage(send('hi'), callBy())).rejects.toMatchObject(refused)
    await expect(collect(engine.sendStreamingMessage(send('hi'), callBy()))).rejects.toMatchObject(refused)
    const keyed = callBy('ann', { idempotencyKey: 'k' })
    const request = send('again')
    await expect(engine.sendMessage(request, keyed)).rejects.toMatchObject(refused)
    await expect(engine.sendMessage(request, keyed)).rejects.toMatchObject(refused)
    expect((await engine.listTasks({}, callBy())).totalSize).toBe(0)
  })

  it('E-8: an A2AError after the first yield fails the task with its message', async () => {
    await using engine = await testEngine(async function* () {
      yield working()
      throw new A2AError('INVALID_PARAMS', 'That poem is too long')
    }, kind)
    const { status } = taskIn(await engine.sendMessage(send('hi'), callBy()))
    expect(status).toMatchObject({
      state: 'TASK_STATE_FAILED',
      message: { parts: [{ text: 'That poem is too long' }] },
    })
  })

  it('fails the task when a handler yields a value that cannot be sent', async () => {
    await using engine = await testEngine(async function* () {
      yield working()
      yield { kind: 'nonsense' } as never
    }, kind)
    expect(taskIn(await engine.sendMessage(send('hi'), callBy())).status.state).toBe('TASK_STATE_FAILED')
    expect(engine.logged).toHaveLength(1)
  })

  it('E-10: a send with a key happens once, however often and at once it is sent', async () => {
    let runs = 0
    await using engine = await testEngine(async function* ({ text }) {
      runs += 1
      yield `${text} ${runs}`
    }, kind)
    const request = send('go')
    const context = callBy('ann', { idempotencyKey: 'k1' })
    const answers = await Promise.all(Array.from({ length: 8 }, () => engine.sendMessage(request, context)))
    expect(runs).toBe(1)
    expect(new Set(answers.map((answer) => taskIn(answer).id)).size).toBe(1)
    const replay = await collect(engine.sendStreamingMessage(request, context))
    expect(outline(replay)).toEqual(['task:WORKING', 'artifact:go 1', 'status:COMPLETED'])
    await engine.sendMessage(request, callBy('bob', { idempotencyKey: 'k1' }))
    expect(runs).toBe(2)
  })

  it('E-10: the same key with another body is an error', async () => {
    await using engine = await testEngine(async function* () {
      yield 'x'
    }, kind)
    const context = callBy('ann', { idempotencyKey: 'k1' })
    await engine.sendMessage(send('one'), context)
    await expect(engine.sendMessage(send('two'), context)).rejects.toMatchObject({ code: 'INVALID_REQUEST' })
  })

  it('E-10: a key attaches to a send in flight, and covers follow-ups too', async () => {
    const release = gate()
    let runs = 0
    await using engine = await testEngine(async function* ({ text }) {
      runs += 1
      yield working()
      await release.opened
      yield text
    }, kind)
    const first = collect(engine.sendStreamingMessage(send('first'), callBy()))
    const id = await until(async () => (await engine.listTasks({}, callBy())).tasks[0]?.id)
    const request = send('second', { taskId: id })
    const context = callBy('ann', { idempotencyKey: 'k2' })
    const pending = [engine.sendMessage(request, context), engine.sendMessage(request, context)]
    await until(async () => (await engine.getTask({ id }, callBy())).history?.length === 2)
    release.open()
    const answers = await Promise.all(pending)
    await first
    expect(runs).toBe(2)
    expect(answers.map((answer) => taskIn(answer).status.state)).toEqual([
      'TASK_STATE_COMPLETED',
      'TASK_STATE_COMPLETED',
    ])
  })

  it('E-10: messages are de-duplicated by their id only if enabled', async () => {
    let runs = 0
    const count = async function* () {
      runs += 1
      yield 'x'
    }
    const request = send('same')
    {
      await using engine = await testEngine(count, kind)
      await engine.sendMessage(request, callBy())
      await engine.sendMessage(request, callBy())
      expect(runs).toBe(2)
    }
    await using engine = await testEngine(count, kind, { dedupeByMessageId: true })
    await engine.sendMessage(request, callBy())
    await engine.sendMessage(request, callBy())
    expect(runs).toBe(3)
  })

  it('checks data against the schema of a skill, with paths, and hands it over typed', async () => {
    const adder = agent(
      {
        name: 'Adder',
        skills: [
          { id: 'add', input: z.object({ numbers: z.array(z.number()) }), output: z.object({ sum: z.number() }) },
        ],
      },
      async function* (turn) {
        const { numbers } = turn.data()
        const sum = numbers.reduce((a, b) => a + b, 0)
        yield artifact('sum', { data: sum === 0 ? { wrong: true } : { sum } })
      },
    )
    await using engine = await testEngine(adder, kind)
    const add = (data: unknown) =>
      engine.sendMessage({ message: { ...send('').message, parts: [{ data: data as never }] } }, callBy())
    expect(taskIn(await add({ numbers: [1, 2] })).artifacts?.[0]?.parts).toEqual([{ data: { sum: 3 } }])
    await expect(add({ numbers: [1, 'two'] })).rejects.toMatchObject({
      code: 'INVALID_PARAMS',
      details: { violations: [{ field: 'message.parts[0].data.numbers[1]' }] },
    })
    await expect(engine.sendMessage(send('no data'), callBy())).rejects.toMatchObject({ code: 'INVALID_PARAMS' })
    expect(taskIn(await add({ numbers: [] })).status.state).toBe('TASK_STATE_FAILED')
  })
})

it('rejects a send to a task whose log has ended although its record has not', async () => {
  await using engine = await testEngine(async function* ({ number }) {
    if (number === 1) yield ask('Which?')
    else yield 'done'
  }, 'memory')
  for (const isStream of [false, true]) {
    const task = taskIn(await engine.sendMessage(send('hi'), callBy()))
    // The store in memory shares its objects with direct callers, so this damages the log.
    Object.assign(task.status, { state: 'TASK_STATE_COMPLETED' })
    const answer = send('this', { taskId: task.id })
    const sent = isStream
      ? collect(engine.sendStreamingMessage(answer, callBy()))
      : engine.sendMessage(answer, callBy())
    await expect(sent).rejects.toMatchObject({ code: 'UNSUPPORTED_OPERATION' })
  }
})
