import { A2AError, agent, apiKey, ask, failed, MemoryStore, rejected, reply, type Task, working } from 'dragoman'
import { describe, expect, it } from 'vitest'
import { echoAgent } from '../src/testing/echo-agent.js'
import { bindings, type Client, gate, outline, soon, testServer, textIn, userMessage } from './fixture.js'
import { proves } from './proves.js'

const historyOf = async (client: Client, id: string) => (await client.task(id)).history?.map(textIn)
const begin = (client: Client, text: string) => client.send(text, { configuration: { returnImmediately: true } })
const totalOf = async (client: Client) => (await client.call<{ totalSize: number }>('ListTasks')).totalSize

describe.each(bindings)('the turns of a task over %s', (binding) => {
  it(
    proves('E-1', 'run one after the other, in the order of their messages, before the task is completed'),
    async () => {
      const steps: string[] = []
      const gates = new Map(['one', 'two', 'three'].map((name) => [name, gate()]))
      const busy = agent('Busy', async function* ({ text }) {
        steps.push(`begin ${text}`)
        yield `${text} `
        await gates.get(text)?.opened
        steps.push(`end ${text}`)
      })
      await using server = await testServer(busy)
      const client = server.over(binding)
      const { id } = await begin(client, 'one')
      const two = client.send({ taskId: id, parts: [{ text: 'two' }] })
      await expect.poll(() => historyOf(client, id), soon).toEqual(['one', 'two'])
      const three = client.send({ taskId: id, parts: [{ text: 'three' }] })
      await expect.poll(() => historyOf(client, id), soon).toEqual(['one', 'two', 'three'])
      expect(steps).toEqual(['begin one'])
      for (const name of ['one', 'two', 'three']) {
        await expect.poll(() => client.state(id), soon).toBe('TASK_STATE_WORKING')
        gates.get(name)?.open()
        await expect.poll(() => steps.includes(`end ${name}`), soon).toBe(true)
      }
      for (const task of [await two, await three]) {
        expect(task).toMatchObject({ id, status: { state: 'TASK_STATE_COMPLETED' } })
        expect(task.artifacts?.map(textIn)).toEqual(['one ', 'two ', 'three '])
      }
      expect(steps).toEqual(['begin one', 'end one', 'begin two', 'end two', 'begin three', 'end three'])
    },
  )

  it.each([
    ['fails', failed('No'), 'TASK_STATE_FAILED'],
    ['rejects', rejected('No'), 'TASK_STATE_REJECTED'],
  ])(proves('E-1', 'do not go on when one of them %s, and who waits gets that task'), async (_what, last, state) => {
    const finish = gate()
    const turns: string[] = []
    const moody = agent('Moody', async function* ({ text }) {
      turns.push(text)
      yield working()
      await finish.opened
      yield last
    })
    await using server = await testServer(moody)
    const client = server.over(binding)
    const { id } = await begin(client, 'one')
    const waiting = client.send({ taskId: id, parts: [{ text: 'two' }] })
    await expect.poll(() => historyOf(client, id), soon).toEqual(['one', 'two'])
    finish.open()
    expect(await waiting).toMatchObject({ id, status: { state } })
    expect(turns).toEqual(['one'])
  })

  it(proves('E-1', 'do not go on after a cancel, and who waits gets that task'), async () => {
    const turns: string[] = []
    const endless = agent('Endless', async function* ({ text, signal }) {
      turns.push(text)
      yield working()
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
    })
    await using server = await testServer(endless)
    const client = server.over(binding)
    const { id } = await begin(client, 'one')
    const waiting = client.send({ taskId: id, parts: [{ text: 'two' }] })
    await expect.poll(() => historyOf(client, id), soon).toEqual(['one', 'two'])
    await client.call('CancelTask', { id })
    expect(await waiting).toMatchObject({ id, status: { state: 'TASK_STATE_CANCELED' } })
    expect(turns).toEqual(['one'])
  })

  it(
    proves('E-1', 'answer their own senders: a question of an earlier turn is not the answer to a later message'),
    async () => {
      const finish = gate()
      const curious = agent('Curious', async function* ({ text }) {
        yield working()
        if (text === 'one') {
          await finish.opened
          yield ask('Really?')
        }
        yield `heard ${text}`
      })
      await using server = await testServer(curious)
      const client = server.over(binding)
      const { id } = await begin(client, 'one')
      const call = client.send({ taskId: id, parts: [{ text: 'two' }] })
      await expect.poll(() => historyOf(client, id), soon).toEqual(['one', 'two'])
      const stream = await client.stream('SendStreamingMessage', {
        message: userMessage({ taskId: id, parts: [{ text: 'three' }] }),
      })
      finish.open()
      expect(await call).toMatchObject({ status: { state: 'TASK_STATE_COMPLETED' } })
      const events = outline(await stream.rest())
      expect(events).toContain('status:INPUT_REQUIRED')
      expect(events.at(-1)).toBe('status:COMPLETED')
      expect((await client.task(id)).artifacts?.map(textIn)).toEqual(['heard two', 'heard three'])
    },
  )
})

describe.each(bindings)('what becomes of a message over %s', (binding) => {
  it(proves('E-6', 'is a Message, and no task, when the agent first replies'), async () => {
    const finish = gate()
    const slow = agent('Slow', async function* ({ text }) {
      await finish.opened
      yield reply(`re: ${text}`)
    })
    await using server = await testServer(slow)
    const client = server.over(binding)
    const call = client.call<{ message: { parts: object[] } }>('SendMessage', { message: userMessage('hi') })
    expect(await totalOf(client)).toBe(0) // nothing was decided while the agent thought
    finish.open()
    expect((await call).message.parts).toEqual([{ text: 're: hi' }])
    expect(await totalOf(client)).toBe(0)
  })

  it(proves('E-6', 'is a task when the agent does anything else first'), async () => {
    const various = agent('Various', async function* ({ text }) {
      if (text === 'throws') throw new Error('oops')
      if (text === 'yields text') yield 'text'
      if (text === 'works') yield working()
      if (text === 'asks') yield ask('what?')
      if (text === 'works and replies') {
        yield working()
        yield reply('late')
      }
    })
    await using server = await testServer(various)
    const client = server.over(binding)
    for (const [text, state] of [
      ['returns', 'COMPLETED'],
      ['throws', 'FAILED'],
      ['yields text', 'COMPLETED'],
      ['works', 'COMPLETED'],
      ['asks', 'INPUT_REQUIRED'],
      ['works and replies', 'COMPLETED'],
    ] as const) {
      const task = await client.send(text)
      expect(task.status.state, text).toBe(`TASK_STATE_${state}`)
      expect(await client.task(task.id), text).toEqual(task)
    }
    expect(await totalOf(client)).toBe(6)
  })

  it(proves('E-6', 'is a task at once if the caller does not wait, and a reply its last word'), async () => {
    await using server = await testServer(echoAgent)
    const client = server.over(binding)
    const { id } = await begin(client, 'msg hello')
    await expect.poll(() => client.state(id), soon).toBe('TASK_STATE_COMPLETED')
    expect((await client.task(id)).status.message?.parts).toEqual([{ text: 'hello' }])
    const stream = await client.stream('SendStreamingMessage', {
      message: userMessage('msg hi'),
      configuration: { returnImmediately: true },
    })
    expect(outline(await stream.rest())).toEqual(['message:hi'])
  })

  it(proves('E-6', 'is in the store before the agent’s first line runs, if it has a key'), async () => {
    const steps: string[] = []
    class WatchedStore extends MemoryStore {
      override async append(step: Parameters<MemoryStore['append']>[0]) {
        const outcome = await super.append(step)
        steps.push(`stored ${step.idempotency?.key === undefined ? 'more' : 'with key'}`)
        return outcome
      }
    }
    const noting = agent('Noting', async function* () {
      steps.push('first line')
      yield reply('done')
    })
    await using server = await testServer(noting, { store: new WatchedStore() })
    await server.over(binding).call('SendMessage', { message: userMessage('hi') }, { 'Idempotency-Key': 'k-1' })
    expect(steps.slice(0, 2)).toEqual(['stored with key', 'first line'])
  })

  it(proves('E-8', 'is the error that the agent throws before anything else, and no task'), async () => {
    const strict = agent('Strict', async function* ({ text }) {
      if (text !== 'work')
        throw new A2AError('INVALID_PARAMS', 'Say "work"', {
          violations: [{ field: 'message', description: 'is not "work"' }],
        })
      yield 'worked'
      throw new A2AError('UNAVAILABLE', 'The tools are blunt')
    })
    await using server = await testServer(strict)
    const client = server.over(binding)
    for (const operation of ['SendMessage', 'SendStreamingMessage'] as const) {
      expect(await client.refusal(operation, { message: userMessage('play') })).toEqual({
        reason: 'INVALID_PARAMS',
        message: 'Say "work"',
        metadata: {},
        violations: [{ field: 'message', description: 'is not "work"' }],
      })
    }
    expect(await totalOf(client)).toBe(0)
    const task = await client.send('work')
    expect(task.status).toMatchObject({
      state: 'TASK_STATE_FAILED',
      message: { parts: [{ text: 'The tools are blunt' }] },
    })
  })

  it(proves('E-8', 'is a failed task with neutral words when the agent crashes, and the log knows why'), async () => {
    const logged: unknown[] = []
    await using server = await testServer(echoAgent, {
      log: ({ level, error }) => {
        if (level === 'error') logged.push(error)
      },
    })
    const task = await server.over(binding).send('crash')
    expect(task.status.state).toBe('TASK_STATE_FAILED')
    expect(JSON.stringify(task)).not.toContain('Crashed as asked')
    expect(logged).toEqual([new Error('Crashed as asked')])
  })

  it.each([
    ['fail', 'TASK_STATE_FAILED', 'Failed as asked'],
    ['reject', 'TASK_STATE_REJECTED', 'Rejected as asked'],
  ])(proves('E-8', 'is what the agent says about it: %s, %s'), async (text, state, words) => {
    await using server = await testServer(echoAgent)
    expect((await server.over(binding).send(text)).status).toMatchObject({
      state,
      message: { parts: [{ text: words }] },
    })
  })
})

describe.each(bindings)('an idempotency key over %s', (binding) => {
  const key = { 'Idempotency-Key': 'k-1' }

  function counted() {
    const counts = { turns: 0 }
    const counting = agent('Counting', async function* ({ text }) {
      counts.turns += 1
      if (text === 'refuse') throw new A2AError('RATE_LIMITED', 'Not now')
      yield text === 'reply' ? reply('short') : `turn ${counts.turns}`
    })
    return { counting, counts }
  }

  it.each(['task', 'reply'])(proves('E-10', 'makes a send happen once: %s'), async (text) => {
    const { counting, counts } = counted()
    await using server = await testServer(counting)
    const client = server.over(binding)
    const params = { message: userMessage(text) }
    const first = await client.call('SendMessage', params, key)
    expect(await client.call('SendMessage', params, key)).toEqual(first)
    expect(counts.turns).toBe(1)
    expect(await totalOf(client)).toBe(text === 'task' ? 1 : 0)
    await client.call('SendMessage', params)
    expect(counts.turns).toBe(2)
  })

  it(proves('E-10', 'remembers a refusal, too'), async () => {
    const { counting, counts } = counted()
    await using server = await testServer(counting)
    const params = { message: userMessage('refuse') }
    const first = await server.over(binding).refusal('SendMessage', params, key)
    expect(await server.over(binding).refusal('SendMessage', params, key)).toEqual(first)
    expect(counts.turns).toBe(1)
  })

  it(proves('E-10', 'must not be used again for another message'), async () => {
    const { counting, counts } = counted()
    await using server = await testServer(counting)
    const client = server.over(binding)
    const task = await client.send('one', {}, key)
    expect((await client.refusal('SendMessage', { message: userMessage('two') }, key)).reason).toBe('INVALID_REQUEST')
    expect(counts.turns).toBe(1)
    expect(await client.task(task.id)).toEqual(task)
  })

  it(proves('E-10', 'lets a repeated send wait for the first one'), async () => {
    const finish = gate()
    let turns = 0
    const slow = agent('Slow', async function* () {
      turns += 1
      await finish.opened
      yield 'done'
    })
    await using server = await testServer(slow)
    const client = server.over(binding)
    const params = { message: userMessage('go') }
    const calls = [1, 2, 3].map(() => client.call<{ task: Task }>('SendMessage', params, key))
    await expect.poll(() => turns, soon).toBe(1)
    finish.open()
    const [first, ...others] = await Promise.all(calls)
    expect(others).toEqual([first, first])
    expect(turns).toBe(1)
  })

  it(proves('E-10', 'holds for one caller and one agent'), async () => {
    const { counting } = counted()
    const auth = [apiKey({ a: 'alice', b: 'bob' })]
    await using server = await testServer(counting, { auth })
    const message = { messageId: 'm', parts: [{ text: 'task' }] }
    const hers = await server.over(binding, { 'X-API-Key': 'a' }).send(message, {}, key)
    const his = await server.over(binding, { 'X-API-Key': 'b' }).send(message, {}, key)
    expect(his.id).not.toBe(hers.id)

    const store = new MemoryStore()
    await using first = await testServer({ ...counting, card: { name: 'First' } }, { store })
    await using second = await testServer({ ...counting, card: { name: 'Second' } }, { store })
    const one = await first.over(binding).send(message, {}, key)
    expect((await second.over(binding).send(message, {}, key)).id).not.toBe(one.id)
  })

  it(proves('E-10', 'expires after a day'), async () => {
    let now = Date.now()
    const { counting } = counted()
    await using server = await testServer(counting, {
      store: new MemoryStore({ now: () => now }),
      advanced: { retention: {} },
    })
    const client = server.over(binding)
    const message = { messageId: 'm', parts: [{ text: 'task' }] }
    const first = await client.send(message, {}, key)
    now += 24 * 60 * 60_000 - 1
    expect((await client.send(message, {}, key)).id).toBe(first.id)
    now += 2
    expect((await client.send(message, {}, key)).id).not.toBe(first.id)
  })
})
