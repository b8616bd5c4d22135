import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { agent, ask, bearer, textOf, working } from 'dragoman'
import { A2AError, bearerCredential, collect } from 'dragoman/client'
import { fakeClock, gate, testAgent, until } from 'dragoman/testing'
import { describe, expect, it } from 'vitest'

const shout = agent('Shout', async function* (turn) {
  yield turn.text.toUpperCase()
})

const order = agent('Order', async function* ({ text, history: [first] }) {
  if (first && textOf(first) !== text) yield `${textOf(first)}, ${text}`
  else yield ask('Which size?')
})

describe('testAgent', () => {
  it('answers, streams and continues after a question', async () => {
    await using t = await testAgent(order)
    const conversation = t.client.conversation()
    expect(await conversation.ask('pizza')).toMatchObject({ state: 'TASK_STATE_INPUT_REQUIRED' })
    expect((await conversation.ask('large')).text).toBe('pizza, large')
    expect((await collect(t.client.stream('again'))).state).toBe('TASK_STATE_INPUT_REQUIRED')
  })

  it('shows the log of a task, and the errors that the agent threw', async () => {
    const broken = agent('Broken', async function* () {
      yield working()
      throw new Error('secret reason')
    })
    await using t = await testAgent(broken)
    const { task } = await t.client.ask('hello')
    expect(JSON.stringify(task)).not.toContain('secret reason')
    expect(t.log).toContainEqual(expect.objectContaining({ level: 'error', taskId: task?.id }))
    const events = await t.events(task?.id ?? '')
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1))
    expect(events.at(-1)?.body).toMatchObject({ statusUpdate: { status: { state: 'TASK_STATE_FAILED' } } })
    await expect(t.events('none')).rejects.toThrow('Task not found: none; pass the `id` of a task')
  })

  it('removes ended tasks when the clock passes their retention', async () => {
    await using t = await testAgent(shout, { advanced: { retention: { endedTasksMs: 60_000 } } })
    const { task } = await t.client.ask('hello')
    await t.clock.advance('30s')
    expect((await t.client.task(task?.id ?? '').get()).id).toBe(task?.id)
    await t.clock.advance('2h')
    await expect(t.client.task(task?.id ?? '').get()).rejects.toThrow(A2AError)
  })

  it('cancels a task whose handler does not stop when the clock passes the grace period', async () => {
    const [begun, over] = [gate(), gate()]
    const stubborn = agent('Stubborn', async function* () {
      yield working()
      begun.open()
      await over.opened
    })
    await using t = await testAgent(stubborn)
    const stream = t.client.stream('hello')[Symbol.asyncIterator]()
    const { value } = await stream.next()
    const id = 'task' in value ? value.task.id : ''
    await begun.opened
    const canceled = t.client.task(id).cancel()
    await until(async () => (await t.events(id)).some(({ body }) => 'cancelAsked' in body))
    await t.clock.advance('5s')
    expect((await canceled).status.state).toBe('TASK_STATE_CANCELED')
    over.open()
  })

  it('starts the agent again, which goes on at its checkpoint', async () => {
    const isAt = gate()
    const durable = agent({ name: 'Durable', onCrash: { attempts: 2 } }, async function* (turn) {
      if (!turn.checkpoints.has('half')) {
        yield working('first half')
        await turn.checkpoint('half', 'first half')
        isAt.open()
        await new Promise((resolve) => turn.signal.addEventListener('abort', resolve))
        throw new Error('The process should be dead')
      }
      yield `${turn.checkpoints.get('half')}, second half`
    })
    await using t = await testAgent(durable)
    const stream = t.client.stream('hello')[Symbol.asyncIterator]()
    const first = (await stream.next()).value
    const asked = t.client.ask('hello').catch((error: unknown) => error)
    await isAt.opened
    await t.restart()
    const { state, text } = await collect(together([first], { [Symbol.asyncIterator]: () => stream }))
    expect(state).toBe('TASK_STATE_COMPLETED')
    expect(text).toBe('first half, second half')
    expect(await asked).toMatchObject({ failure: 'unreachable' })
    expect((await t.client.ask('hello', { taskId: 'none' }).catch((error: unknown) => error)) instanceof A2AError).toBe(
      true,
    )
  })

  it('connects other callers, other dialects and other agents', async () => {
    const options = { auth: [bearer('secret')], connect: { credentials: bearerCredential('secret') } }
    await using t = await testAgent([shout, order], options)
    expect((await t.client.ask('hello')).text).toBe('HELLO')
    await using unauthenticated = await t.connect({ credentials: bearerCredential('wrong') })
    await expect(unauthenticated.ask('hello')).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
    await using older = await t.connect({ agent: 'Order', dialect: 'v0.3', credentials: bearerCredential('secret') })
    expect((await older.ask('pizza')).state).toBe('TASK_STATE_INPUT_REQUIRED')
    expect(() => t.connect({ agent: 'Sing' })).toThrow(
      'Agent not found: Sing; the agents of this test are Shout, Order',
    )
  })

  it('names options that do not exist', async () => {
    await expect(testAgent(shout, { colck: fakeClock() } as never)).rejects.toThrow(/colck/)
  })

  it('releases the store if its client cannot connect', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'test-agent-'))
    const store = `file:${folder}` as const
    await expect(testAgent(shout, { store, connect: { binding: 'GRPC' } })).rejects.toThrow('GRPC')
    const t = await testAgent(shout, { store })
    expect((await t.client.ask('hello')).text).toBe('HELLO')
    await t.close()
    await rm(folder, { recursive: true })
  })

  it('runs restarts and the close in order, and refuses restarts after the close', async () => {
    const t = await testAgent(shout)
    await Promise.all([t.restart(), t.restart()])
    expect((await t.client.ask('hello')).text).toBe('HELLO')
    const restarted = t.restart()
    await Promise.all([restarted, t.close()])
    await expect(t.connect().then((client) => client.ask('hello'))).rejects.toThrow()
    await expect(t.restart()).rejects.toThrow('The test agent is closed')
    await t.close()
  })
})

async function* together<T>(...sources: readonly (readonly T[] | AsyncIterable<T>)[]) {
  for (const source of sources) yield* source
}

describe('fakeClock', () => {
  it('fires timers in order, repeating ones once, at their last due time', async () => {
    const clock = fakeClock(0)
    const fired: string[] = []
    const note = (name: string) => () => void fired.push(`${name} ${clock.now()}`)
    clock.startTimer(note('late'), 90_000)
    clock.startTimer(note('every 7 s'), 7000, { repeats: true })
    const stop = clock.startTimer(note('never'), 1000)
    clock.startTimer(note('never'), 100_000)
    stop()
    await clock.advance('95s')
    expect(fired).toEqual(['late 90000', 'every 7 s 91000'])
    expect(clock.now()).toBe(95_000)
  })

  it('adds up concurrent calls', async () => {
    const clock = fakeClock(0)
    clock.startTimer(() => undefined, 5)
    await Promise.all([clock.advance(10), clock.advance(10)])
    expect(clock.now()).toBe(20)
  })

  it('rejects when a timer restarts itself with 0 ms', async () => {
    const clock = fakeClock(0)
    let stop = () => {}
    const again = () => {
      stop = clock.startTimer(again, 0)
    }
    again()
    await expect(clock.advance(1)).rejects.toThrow('More than 10000 timers fired at the same time')
    stop()
    await clock.advance(1)
    expect(clock.now()).toBe(1)
  })

  it('refuses durations that it cannot read', async () => {
    await expect(fakeClock().advance('1 hour' as never)).rejects.toThrow(
      `Invalid duration: "1 hour"; write milliseconds or a number with a unit, such as '90s', '5m', '1h' or '7d'`,
    )
  })
})
