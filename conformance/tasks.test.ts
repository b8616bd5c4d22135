import { agent, ask, completed, working } from 'dragoman'
import { describe, expect, it } from 'vitest'
import { echoAgent } from '../src/testing/echo-agent.js'
import { bindings, gate, soon, testServer, textIn, userMessage } from './fixture.js'
import { proves } from './proves.js'

describe.each(bindings)('contexts over %s', (binding) => {
  it(
    proves(['R-CTX-1', 'R-CTX-2'], 'are made for messages that name none, and appear in every kind of answer'),
    async () => {
      await using server = await testServer(echoAgent)
      const client = server.over(binding)
      const task = await client.send('hello')
      expect(task.contextId).toMatch(/^\S+$/)
      const { message } = await client.call<{ message: { contextId: string } }>('SendMessage', {
        message: userMessage('msg hi'),
      })
      expect(message.contextId).toMatch(/^\S+$/)
      expect(message.contextId).not.toBe(task.contextId)
      const stream = await client.stream('SendStreamingMessage', { message: userMessage('msg hi') })
      expect((await stream.next())?.data).toHaveProperty('message.contextId', expect.stringMatching(/^\S+$/))
    },
  )

  it(proves('R-CTX-3', 'that the client made are kept'), async () => {
    await using server = await testServer(echoAgent)
    const client = server.over(binding)
    const contextId = 'the client’s own / context'
    expect(await client.send({ contextId })).toMatchObject({ contextId, history: [{ contextId }] })
    const { message } = await client.call('SendMessage', {
      message: userMessage({ contextId, parts: [{ text: 'msg hi' }] }),
    })
    expect(message).toHaveProperty('contextId', contextId)
  })

  it(proves('R-CTX-4', 'are the task’s where only a task is named'), async () => {
    await using server = await testServer(echoAgent)
    const client = server.over(binding)
    const { id, contextId } = await client.send('ask')
    const task = await client.send({ taskId: id })
    expect(task.contextId).toBe(contextId)
    expect(task.history?.map((message) => message.contextId)).toEqual([contextId, contextId, contextId])
  })

  it(proves('R-CTX-5', 'must be the task’s if both are named'), async () => {
    await using server = await testServer(echoAgent)
    const client = server.over(binding)
    const task = await client.send('ask')
    const other = await client.send('hello')
    for (const operation of ['SendMessage', 'SendStreamingMessage'] as const) {
      for (const contextId of [other.contextId, 'no context at all']) {
        const refusal = await client.refusal(operation, { message: userMessage({ taskId: task.id, contextId }) })
        expect(refusal).toMatchObject({ reason: 'INVALID_PARAMS', violations: [{ field: 'message.contextId' }] })
      }
    }
    expect(await client.task(task.id)).toEqual(task)
    expect(await client.send({ taskId: task.id, contextId: task.contextId })).toMatchObject({
      status: { state: 'TASK_STATE_COMPLETED' },
    })
  })

  it(proves('R-CTX-7', 'hold any number of tasks, also at once'), async () => {
    const finish = gate()
    const slow = agent('Slow', async function* ({ text }) {
      yield working()
      await finish.opened
      yield text
    })
    await using server = await testServer(slow)
    const client = server.over(binding)
    const contextId = 'shared'
    const configuration = { returnImmediately: true }
    const tasks = await Promise.all(
      ['a', 'b', 'c'].map((text) => client.send({ contextId, parts: [{ text }] }, { configuration })),
    )
    expect(new Set(tasks.map(({ id }) => id)).size).toBe(3)
    expect(new Set(tasks.map((task) => task.contextId))).toEqual(new Set(['shared']))
    finish.open()
    for (const [place, { id }] of tasks.entries()) {
      await expect.poll(() => client.state(id), soon).toBe('TASK_STATE_COMPLETED')
      expect((await client.task(id)).artifacts?.map(textIn)).toEqual(['abc'[place]])
    }
    expect((await client.send({ contextId })).id).not.toBe(tasks[0]?.id)
  })
})

describe.each(bindings)('tasks over %s', (binding) => {
  it(proves('R-TASK-1', 'have an id of their own that the server made'), async () => {
    await using server = await testServer(echoAgent)
    const client = server.over(binding)
    const message = { messageId: 'm-1', contextId: 'c-1' }
    const tasks = await Promise.all(Array.from({ length: 20 }, () => client.send(message)))
    const ids = new Set(tasks.map(({ id }) => id))
    expect(ids.size).toBe(20)
    for (const id of ids) expect(id).toMatch(/^[^\s/]+$/)
    expect([...ids]).not.toContain('m-1')
  })

  it.each(['hello', 'fail', 'reject', 'crash'])(
    proves('R-TASK-2', 'that ended with %j never change again'),
    async (text) => {
      await using server = await testServer(echoAgent)
      const client = server.over(binding)
      const task = await client.send(text)
      await client.refusal('SendMessage', { message: userMessage({ taskId: task.id }) })
      await client.refusal('CancelTask', { id: task.id })
      await client.refusal('SubscribeToTask', { id: task.id })
      expect(await client.task(task.id)).toEqual(task)
      const followUp = await client.send({ contextId: task.contextId, referenceTaskIds: [task.id] })
      expect(followUp.id).not.toBe(task.id)
    },
  )

  it(proves('R-TASK-2', 'that ended ignore further yields of their agent'), async () => {
    const closed = gate()
    const talkative = agent('Talkative', async function* () {
      try {
        yield completed('That is it')
        yield 'unheard'
      } finally {
        closed.open()
      }
    })
    await using server = await testServer(talkative)
    const client = server.over(binding)
    const task = await client.send('go')
    await closed.opened
    expect(task.status.state).toBe('TASK_STATE_COMPLETED')
    expect(task).not.toHaveProperty('artifacts')
    expect(await client.task(task.id)).toEqual(task)
  })

  it(proves('R-TASK-3', 'that a message refers to are not continued by it, known or not'), async () => {
    await using server = await testServer(echoAgent)
    const client = server.over(binding)
    const waiting = await client.send('ask')
    const task = await client.send({ referenceTaskIds: [waiting.id, 'unknown'] })
    expect(task.id).not.toBe(waiting.id)
    expect(task.history?.[0]).toMatchObject({ referenceTaskIds: [waiting.id, 'unknown'] })
    expect(await client.task(waiting.id)).toEqual(waiting)
  })

  it.each([
    ['ask', 'TASK_STATE_INPUT_REQUIRED'],
    ['auth', 'TASK_STATE_AUTH_REQUIRED'],
  ])(proves('R-TASK-5', 'that wait after %j in %s take further messages'), async (text, state) => {
    await using server = await testServer(echoAgent)
    const client = server.over(binding)
    const { id, status } = await client.send(text)
    expect(status.state).toBe(state)
    const task = await client.send({ taskId: id, parts: [{ text: 'more' }] })
    expect(task).toMatchObject({ id, status: { state: 'TASK_STATE_COMPLETED' } })
    expect(task.artifacts?.map(textIn)).toEqual([`${text}\nmore`])
  })

  it(proves('R-TASK-6', 'go from working to a question and back until they end, and time with them'), async () => {
    const inquisitive = agent('Inquisitive', async function* ({ history }) {
      yield working('thinking')
      if (history.length < 5) yield ask(`Question ${history.length}`)
      else yield 'done'
    })
    await using server = await testServer(inquisitive)
    const client = server.over(binding)
    const { id } = await client.send('one')
    const stream = await client.stream('SubscribeToTask', { id })
    await client.send({ taskId: id })
    await client.send({ taskId: id })
    const events = await stream.rest()
    const statuses = events.flatMap(({ data: event }) => {
      if ('task' in event) return [event.task.status]
      return 'statusUpdate' in event ? [event.statusUpdate.status] : []
    })
    const states = statuses.map(({ state }) => state).filter((state, place, all) => state !== all[place - 1])
    expect(states).toEqual([
      'TASK_STATE_INPUT_REQUIRED',
      'TASK_STATE_WORKING',
      'TASK_STATE_INPUT_REQUIRED',
      'TASK_STATE_WORKING',
      'TASK_STATE_COMPLETED',
    ])
    const times = statuses.map(({ timestamp }) => Date.parse(timestamp ?? ''))
    expect(times).toEqual([...times].sort((a, b) => a - b))
    expect(times.every((time) => Math.abs(time - Date.now()) < 60_000)).toBe(true)
  })
})
