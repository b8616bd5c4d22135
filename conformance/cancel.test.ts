import { agent, type Task, working } from 'dragoman'
import { describe, expect, it } from 'vitest'
import { echoAgent } from '../src/testing/echo-agent.js'
import { bindings, type Client, gate, outline, soon, taskIn, testServer, textIn, userMessage } from './fixture.js'
import { proves } from './proves.js'

async function begin(client: Client, text: string): Promise<Task> {
  return await client.send(text, { configuration: { returnImmediately: true } })
}

describe.each(bindings)('CancelTask over %s', (binding) => {
  it(proves('R-CANCEL-1', 'cancels a task at work and gives it back'), async () => {
    await using server = await testServer(echoAgent)
    const client = server.over(binding)
    const { id } = await begin(client, 'sleep 60000')
    const task = await client.call<Task>('CancelTask', { id })
    expect(task).toMatchObject({ id, status: { state: 'TASK_STATE_CANCELED' } })
    expect(await client.task(id)).toEqual(task)
  })

  it.each(['ask', 'auth'])(proves('R-CANCEL-1', 'cancels a task that waits after %j'), async (text) => {
    await using server = await testServer(echoAgent)
    const client = server.over(binding)
    const { id } = await client.send(text)
    const task = await client.call<Task>('CancelTask', { id })
    expect(task).toMatchObject({ id, status: { state: 'TASK_STATE_CANCELED' } })
    expect(await client.task(id)).toEqual(task)
  })

  it.each([
    ['hello', 'TASK_STATE_COMPLETED'],
    ['fail', 'TASK_STATE_FAILED'],
    ['reject', 'TASK_STATE_REJECTED'],
  ])(proves('R-CANCEL-2', 'is refused on a task that ended with %j: %s'), async (text, state) => {
    await using server = await testServer(echoAgent)
    const client = server.over(binding)
    const task = await client.send(text)
    expect(await client.refusal('CancelTask', { id: task.id })).toMatchObject({
      reason: 'TASK_NOT_CANCELABLE',
      metadata: { state },
    })
    expect(await client.task(task.id)).toEqual(task)
  })

  it(proves('R-CANCEL-3', 'is refused on a task that does not exist'), async () => {
    await using server = await testServer(echoAgent)
    expect((await server.over(binding).refusal('CancelTask', { id: 'nope' })).reason).toBe('TASK_NOT_FOUND')
  })

  it(proves('R-CANCEL-4', 'gives a cancelled task back once more, unless configured otherwise'), async () => {
    await using server = await testServer(echoAgent)
    const client = server.over(binding)
    const { id } = await client.send('ask')
    const task = await client.call<Task>('CancelTask', { id })
    expect(await client.call('CancelTask', { id })).toEqual(task)

    await using strict = await testServer(echoAgent, { advanced: { engine: { cancelTwice: 'error' } } })
    const other = await strict.over(binding).send('ask')
    await strict.over(binding).call('CancelTask', { id: other.id })
    expect((await strict.over(binding).refusal('CancelTask', { id: other.id })).reason).toBe('TASK_NOT_CANCELABLE')
  })

  it(proves('R-CANCEL-5', 'is seen by every stream of the task'), async () => {
    await using server = await testServer(echoAgent)
    const client = server.over(binding)
    const sending = await client.stream('SendStreamingMessage', { message: userMessage('sleep 60000') })
    const { id } = taskIn(await sending.next())
    const subscribed = await client.stream('SubscribeToTask', { id })
    await client.call('CancelTask', { id })
    expect(outline(await sending.rest()).at(-1)).toBe('status:CANCELED')
    expect(outline(await subscribed.rest()).at(-1)).toBe('status:CANCELED')
  })

  it(proves('R-CANCEL-5', 'ends the blocking call that waits for the task'), async () => {
    await using server = await testServer(echoAgent)
    const client = server.over(binding)
    const call = client.send('sleep 60000')
    const tasks = async () => (await client.call<{ tasks: Task[] }>('ListTasks')).tasks
    await expect.poll(async () => (await tasks()).length, soon).toBe(1)
    await client.call('CancelTask', { id: (await tasks())[0]?.id })
    expect((await call).status.state).toBe('TASK_STATE_CANCELED')
  })

  it(proves('R-CANCEL-5', 'comes too late when the task ends first'), async () => {
    const finish = gate()
    const stubborn = agent('Stubborn', async function* () {
      yield working()
      await finish.opened
      yield 'done anyway'
    })
    await using server = await testServer(stubborn)
    const client = server.over(binding)
    const { id } = await begin(client, 'go')
    finish.open()
    await expect.poll(() => client.state(id), soon).toBe('TASK_STATE_COMPLETED')
    expect((await client.refusal('CancelTask', { id })).reason).toBe('TASK_NOT_CANCELABLE')
  })

  it(proves('E-7', 'fires the signal of the turn, and what comes afterwards is dropped'), async () => {
    const reasons: unknown[] = []
    const tidy = agent('Tidy', async function* ({ signal }) {
      yield 'before'
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      reasons.push(signal.reason)
      yield 'after'
    })
    await using server = await testServer(tidy)
    const client = server.over(binding)
    const { id } = await begin(client, 'go')
    await expect.poll(async () => (await client.task(id)).artifacts?.map(textIn), soon).toEqual(['before'])
    const task = await client.call<Task>('CancelTask', { id })
    expect(task.status.state).toBe('TASK_STATE_CANCELED')
    expect(task.artifacts?.map(textIn)).toEqual(['before'])
    expect(reasons).toEqual([expect.objectContaining({ name: 'AbortError' })])
  })

  it(proves('E-7', 'makes of a normal return a cancelled task'), async () => {
    const polite = agent('Polite', async function* ({ signal }) {
      yield working()
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
    })
    await using server = await testServer(polite)
    const client = server.over(binding)
    const { id } = await begin(client, 'go')
    expect(await client.call('CancelTask', { id })).toMatchObject({ status: { state: 'TASK_STATE_CANCELED' } })
  })

  it(proves('E-7', 'does not wait for an agent that ignores it'), async () => {
    const finish = gate()
    const deaf = agent('Deaf', async function* () {
      yield working()
      await finish.opened
      yield 'who called?'
    })
    await using server = await testServer(deaf, { advanced: { engine: { cancelGraceMs: 20 } } })
    const client = server.over(binding)
    const { id } = await begin(client, 'go')
    const task = await client.call<Task>('CancelTask', { id })
    expect(task.status.state).toBe('TASK_STATE_CANCELED')
    finish.open()
    await new Promise((resolve) => setImmediate(resolve))
    expect(await client.task(id)).toEqual(task)
  })
})

describe('the body of a cancel over HTTP+JSON', () => {
  it.each([undefined, '', {}, { metadata: { reason: 'changed my mind' } }])(
    proves('R-CANCEL-6', 'may be %j'),
    async (body) => {
      await using server = await testServer(echoAgent)
      const { id } = await server.over('HTTP+JSON').send('ask')
      const answer = await server.rest('POST', `/tasks/${id}:cancel`, body, { 'Content-Type': 'application/json' })
      expect(answer.body).toMatchObject({ id, status: { state: 'TASK_STATE_CANCELED' } })
    },
  )
})
