import { agent, apiKey, ask, completed, type Message, type Task, working } from 'dragoman'
import { describe, expect, it } from 'vitest'
import { echoAgent } from '../src/testing/echo-agent.js'
import { bindings, type Client, taskIn, testServer, textIn, userMessage } from './fixture.js'
import { proves } from './proves.js'

/** Asks twice, then says good-bye: a conversation of six messages. */
const host = agent('Host', async function* ({ history }) {
  yield working('never in the history')
  if (history.length === 1) yield ask('What is your name?')
  else if (history.length === 3) yield ask('What is your quest?')
  else yield completed('Good-bye')
})

const whole = ['hello', 'What is your name?', 'Tim', 'What is your quest?', 'the grail', 'Good-bye']

async function converse(client: Client, configuration: object = {}): Promise<Task> {
  const { id } = await client.send('hello')
  await client.send({ taskId: id, parts: [{ text: 'Tim' }] })
  return await client.send({ taskId: id, parts: [{ text: 'the grail' }] }, { configuration })
}

function said(history: readonly Message[] | undefined): string[] | undefined {
  return history?.map(textIn)
}

describe.each(bindings)('GetTask over %s', (binding) => {
  it.each(['hello', 'ask', 'fail', 'chunks 3', 'data'])(
    proves('R-GET-1', 'gives the task as it is: %j'),
    async (text) => {
      await using server = await testServer(echoAgent)
      const client = server.over(binding)
      const task = await client.send(text)
      expect(await client.call('GetTask', { id: task.id })).toEqual(task)
    },
  )

  it(proves('R-GET-1', 'follows the task as it goes on'), async () => {
    await using server = await testServer(echoAgent)
    const client = server.over(binding)
    const { id } = await client.send('ask')
    expect(await client.state(id)).toBe('TASK_STATE_INPUT_REQUIRED')
    const later = await client.send({ taskId: id })
    expect(await client.task(id)).toEqual(later)
    expect(later.status.state).toBe('TASK_STATE_COMPLETED')
  })

  it.each(['nope', '00000000-0000-0000-0000-000000000000', 'with blank', '../etc'])(
    proves('R-GET-1', 'knows no task %j'),
    async (id) => {
      await using server = await testServer(echoAgent)
      expect(await server.over(binding).refusal('GetTask', { id })).toMatchObject({
        reason: 'TASK_NOT_FOUND',
        metadata: { taskId: id },
      })
    },
  )

  it(proves('R-GET-2', 'shows a task to its owner only'), async () => {
    await using server = await testServer(echoAgent, { auth: [apiKey({ a: 'alice', b: 'bob' })] })
    const alice = server.over(binding, { 'X-API-Key': 'a' })
    const task = await alice.send('hello')
    expect(await alice.task(task.id)).toEqual(task)
    expect((await server.over(binding, { 'X-API-Key': 'b' }).refusal('GetTask', { id: task.id })).reason).toBe(
      'TASK_NOT_FOUND',
    )
  })
})

describe.each(bindings)('history over %s', (binding) => {
  it(
    proves(['R-HIST-1', 'R-HIST-6'], 'is the whole conversation, without progress, unless less was asked for'),
    async () => {
      await using server = await testServer(host)
      const client = server.over(binding)
      const task = await converse(client)
      expect(said(task.history)).toEqual(whole)
      expect(said((await client.task(task.id)).history)).toEqual(whole)
    },
  )

  it(proves('R-HIST-6', 'holds the messages as they were sent, with task and context filled in'), async () => {
    await using server = await testServer(echoAgent)
    const client = server.over(binding)
    const sent = userMessage({
      messageId: 'm-1',
      parts: [
        { text: 'ask' },
        { data: { a: [1, null] }, mediaType: 'application/json' },
        { url: 'https://a.example/x', filename: 'x' },
      ],
      metadata: { key: 'value' },
      extensions: ['urn:test:x'],
      referenceTaskIds: ['t-0'],
    })
    const { task } = await client.call<{ task: Task }>('SendMessage', { message: sent })
    const { id: taskId, contextId } = task
    expect(task.history).toEqual([
      { ...sent, taskId, contextId },
      {
        messageId: expect.any(String),
        taskId,
        contextId,
        role: 'ROLE_AGENT',
        parts: [{ text: 'What is the second text?' }],
      },
    ])
    expect(task.history?.[1]).toEqual(task.status.message)
  })

  it.each([
    [1, whole.slice(-1)],
    [2, whole.slice(-2)],
    [5, whole.slice(-5)],
    [6, whole],
    [100, whole],
  ])(
    proves(['R-HIST-3', 'R-HIST-5'], 'of length %i is the newest messages, oldest first, in every operation'),
    async (historyLength, expected) => {
      await using server = await testServer(host)
      const client = server.over(binding)
      const task = await converse(client, { historyLength })
      expect(said(task.history)).toEqual(expected)
      expect(said((await client.call<Task>('GetTask', { id: task.id, historyLength })).history)).toEqual(expected)
      const { tasks } = await client.call<{ tasks: Task[] }>('ListTasks', { historyLength })
      expect(tasks.map(({ history }) => said(history))).toEqual([expected])
    },
  )

  it(proves(['R-HIST-2', 'R-HIST-5'], 'of length 0 is omitted in every operation'), async () => {
    await using server = await testServer(host)
    const client = server.over(binding)
    const task = await converse(client, { historyLength: 0 })
    expect(task).not.toHaveProperty('history')
    expect(await client.call('GetTask', { id: task.id, historyLength: 0 })).toEqual(task)
    expect(await client.call('ListTasks', { historyLength: 0 })).toMatchObject({ tasks: [task] })
  })

  it(proves('R-HIST-5', 'is cut in the tasks that streams begin with, too'), async () => {
    await using server = await testServer(host)
    const client = server.over(binding)
    const begin = async (message: object, historyLength: number) => {
      const stream = await client.stream('SendStreamingMessage', { message, configuration: { historyLength } })
      const task = taskIn(await stream.next())
      await stream.rest()
      return task
    }
    const fresh = await begin(userMessage('hello'), 0)
    expect(fresh).not.toHaveProperty('history')
    expect(said((await begin(userMessage('hello'), 1)).history)).toEqual(['hello'])
    expect(said((await begin(userMessage({ taskId: fresh.id, parts: [{ text: 'Tim' }] }), 2)).history)).toEqual([
      'What is your name?',
      'Tim',
    ])
  })

  it(proves('R-HIST-4', 'cannot have a negative length'), async () => {
    await using server = await testServer(echoAgent)
    const client = server.over(binding)
    const { id } = await client.send('ask')
    const params = { message: userMessage('hi'), configuration: { historyLength: -1 } }
    for (const [refusal, field] of [
      [await client.refusal('GetTask', { id, historyLength: -1 }), 'historyLength'],
      [await client.refusal('ListTasks', { historyLength: -1 }), 'historyLength'],
      [await client.refusal('SendMessage', params), 'configuration.historyLength'],
      [await client.refusal('SendStreamingMessage', params), 'configuration.historyLength'],
    ] as const) {
      expect(refusal).toMatchObject({ reason: 'INVALID_PARAMS', violations: [{ field }] })
    }
  })
})
