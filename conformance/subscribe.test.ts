import { agent, artifact, ask, failed, rejected, type StreamResponse, type Task, text, working } from 'dragoman'
import { describe, expect, it } from 'vitest'
import { echoAgent } from '../src/testing/echo-agent.js'
import {
  bindings,
  type Client,
  gate,
  isState,
  outline,
  soon,
  taskIn,
  testServer,
  textIn,
  userMessage,
} from './fixture.js'
import { proves } from './proves.js'

/** Counts to `count` in chunks, one per step; `step` lets it go on. */
function stepping(count: number) {
  let wake: (() => void) | undefined
  let steps = 0
  const counting = agent('Counting', async function* () {
    yield working()
    for (let i = 1; i <= count; i++) {
      while (steps < i) {
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
      yield artifact('numbers', text(`${i} `), { id: 'numbers', append: i > 1, lastChunk: i === count })
    }
  })
  const step = (by = 1) => {
    steps += by
    wake?.()
  }
  return { counting, step }
}

async function begin(client: Client, content = 'go'): Promise<Task> {
  return await client.send(content, { configuration: { returnImmediately: true } })
}

/** The text of the numbers as a subscriber knows it: the snapshot's, then what was added. */
function numbersIn(events: readonly StreamResponse[]): string {
  let numbers = ''
  for (const event of events) {
    if ('task' in event) numbers = event.task.artifacts?.map(textIn).join('') ?? ''
    if ('artifactUpdate' in event)
      numbers = (event.artifactUpdate.append ? numbers : '') + textIn(event.artifactUpdate.artifact)
  }
  return numbers
}

describe.each(bindings)('SubscribeToTask over %s', (binding) => {
  it(proves('R-SUB-1', 'begins with the task as it is'), async () => {
    const { counting, step } = stepping(3)
    await using server = await testServer(counting)
    const client = server.over(binding)
    const { id } = await begin(client)
    step(2)
    await expect.poll(async () => (await client.task(id)).artifacts?.map(textIn), soon).toEqual(['1 2 '])
    const stream = await client.stream('SubscribeToTask', { id })
    expect((await stream.next())?.data).toEqual({ task: await client.task(id) })
    step()
    expect(outline(await stream.rest())).toEqual(['artifact:3 ', 'status:COMPLETED'])
  })

  it.each(['hello', 'fail', 'reject'])(proves('R-SUB-2', 'is refused on a task that ended with %j'), async (said) => {
    await using server = await testServer(echoAgent)
    const client = server.over(binding)
    const { id } = await client.send(said)
    expect(await client.refusal('SubscribeToTask', { id })).toMatchObject({
      reason: 'UNSUPPORTED_OPERATION',
      metadata: { taskId: id },
    })
  })

  it(proves('R-SUB-3', 'is refused on a task that does not exist'), async () => {
    await using server = await testServer(echoAgent)
    const refusal = await server.over(binding).refusal('SubscribeToTask', { id: 'nope' })
    expect(refusal).toMatchObject({ reason: 'TASK_NOT_FOUND', metadata: { taskId: 'nope' } })
  })

  it.each([
    ['answered', 'COMPLETED'],
    ['failed', 'FAILED'],
    ['rejected', 'REJECTED'],
  ])(proves('R-SUB-4', 'ends with a task that was %s, and its last event has the state: %s'), async (said, state) => {
    const moody = agent('Moody', async function* ({ text: mood, history }) {
      if (history.length === 1) yield ask('How is it?')
      else if (mood === 'failed') yield failed('Badly')
      else if (mood === 'rejected') yield rejected('Not again')
    })
    await using server = await testServer(moody)
    const client = server.over(binding)
    const { id } = await client.send('go')
    const stream = await client.stream('SubscribeToTask', { id })
    await client.send({ taskId: id, parts: [{ text: said }] })
    expect(outline(await stream.rest())).toEqual(['task:INPUT_REQUIRED', 'status:WORKING', `status:${state}`])
  })

  it(proves('R-STRM-5', 'sends every stream the same events; a lost stream does not affect the others'), async () => {
    const { counting, step } = stepping(4)
    await using server = await testServer(counting)
    const client = server.over(binding)
    const { id } = await begin(client)
    await expect.poll(() => client.state(id), soon).toBe('TASK_STATE_WORKING')
    const [first, second, third] = await Promise.all([1, 2, 3].map(() => client.stream('SubscribeToTask', { id })))
    step(2)
    await third?.until((event) => 'artifactUpdate' in event)
    await third?.close()
    step(2)
    const [one, two] = [await first?.rest(), await second?.rest()]
    expect(one?.map(({ id: seq, raw }) => [seq, raw])).toEqual(two?.map(({ id: seq, raw }) => [seq, raw]))
    expect(outline(one ?? [])).toEqual([
      'task:WORKING',
      'artifact:1 ',
      'artifact:2 ',
      'artifact:3 ',
      'artifact:4 ',
      'status:COMPLETED',
    ])
    expect(await client.state(id)).toBe('TASK_STATE_COMPLETED')
  })

  it(proves('R-STRM-5', 'lets the task live when its last stream is closed'), async () => {
    const finish = gate()
    const waiting = agent('Waiting', async function* () {
      yield working()
      await finish.opened
      yield 'done'
    })
    await using server = await testServer(waiting)
    const client = server.over(binding)
    const stream = await client.stream('SendStreamingMessage', { message: userMessage('go') })
    const [first] = await stream.until(isState('TASK_STATE_WORKING'))
    await stream.close()
    finish.open()
    const { id } = taskIn(first)
    await expect.poll(() => client.state(id), soon).toBe('TASK_STATE_COMPLETED')
  })

  it(proves('R-STRM-7', 'stays open through questions'), async () => {
    const inquisitive = agent('Inquisitive', async function* ({ history }) {
      yield history.length < 5 ? ask('And?') : 'done'
    })
    await using server = await testServer(inquisitive)
    const client = server.over(binding)
    const { id } = await client.send('one')
    const stream = await client.stream('SubscribeToTask', { id })
    await client.send({ taskId: id })
    await client.send({ taskId: id })
    const received = outline(await stream.rest())
    expect(received).toEqual([
      'task:INPUT_REQUIRED',
      'status:WORKING',
      'status:INPUT_REQUIRED',
      'status:WORKING',
      'artifact:done',
      'status:COMPLETED',
    ])
  })
})

describe('subscribers that begin at any moment', () => {
  it(proves('R-SUB-5', 'know every number exactly once in the end'), async () => {
    const count = 60
    const { counting, step } = stepping(count)
    await using server = await testServer(counting)
    const task = await begin(server.over('JSON-RPC'))
    const readers: Promise<StreamResponse[]>[] = []
    for (let i = 0; i < count; i++) {
      // The chunk is under way while the subscription is made: neither waits for the other.
      const stream = server.over(bindings[i % 2] ?? 'JSON-RPC').stream('SubscribeToTask', { id: task.id })
      step()
      readers.push(stream.then(async (each) => (await each.rest()).map(({ data }) => data)))
      if (i % 7 === 0) await new Promise((resolve) => setImmediate(resolve))
    }
    const expected = Array.from({ length: count }, (_, place) => `${place + 1} `).join('')
    for (const events of await Promise.all(readers)) {
      expect(events[0]).toHaveProperty('task')
      expect(numbersIn(events)).toBe(expected)
    }
  })
})
