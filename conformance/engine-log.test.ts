import { agent, artifact, ask, MemoryStore, type Task, text, working } from 'dragoman'
import { createEngine } from 'dragoman/engine'
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

type Step = Parameters<MemoryStore['append']>[0]

/** A store that reports its writes, and writes only while its gate is open. */
class WatchedStore extends MemoryStore {
  readonly steps: Step[] = []
  reads = 0
  gate: Promise<void> | undefined

  override async append(step: Step) {
    await this.gate
    const outcome = await super.append(step)
    if (outcome.result === 'ok') this.steps.push(step)
    return outcome
  }

  override async read(...args: Parameters<MemoryStore['read']>) {
    this.reads += 1
    return await super.read(...args)
  }
}

const begin = (client: Client, content: string) => client.send(content, { configuration: { returnImmediately: true } })

/** Lets everything happen that can happen without waiting for anything outside. */
async function settle(): Promise<void> {
  for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve))
}

describe.each(bindings)('the log of a task over %s', (binding) => {
  it(proves('E-2', 'commits an event before readers see it'), async () => {
    const store = new WatchedStore()
    const open = gate()
    const hasYielded = gate()
    const eager = agent('Eager', async function* () {
      yield 'result'
      hasYielded.open()
    })
    await using server = await testServer(eager, { store })
    const client = server.over(binding)
    store.gate = open.opened
    const answers: string[] = []
    const call = client.send('go').then(() => answers.push('answered'))
    const stream = client.stream('SendStreamingMessage', { message: userMessage('go') })
    const events = stream.then(async (each) => answers.push(...outline(await each.rest())))
    await hasYielded.opened
    await settle()
    expect(answers).toEqual([])
    expect(await client.call('ListTasks')).toMatchObject({ totalSize: 0 })
    open.open()
    await Promise.all([call, events])
    expect([...answers].sort()).toEqual(['answered', 'artifact:result', 'status:COMPLETED', 'task:WORKING'])
  })

  it.each(['hello', 'msg hello', 'chunks 20 1', 'ask'])(
    proves('E-2', 'is the same if the store notifies readers of a commit before it answers the writer: %j'),
    async (said) => {
      class LateStore extends MemoryStore {
        override async append(step: Step) {
          const outcome = await super.append(step)
          await new Promise((resolve) => setImmediate(resolve))
          return outcome
        }
      }
      await using server = await testServer(echoAgent, { store: new LateStore() })
      const client = server.over(binding)
      const params = { message: userMessage(said) }
      const key = { 'Idempotency-Key': 'k-1' }
      const answer = await client.call<{ task?: Task; message?: object }>('SendMessage', params, key)
      expect(await client.call('SendMessage', params, key)).toEqual(answer)
      const { task } = answer
      if (!task) return
      expect(await client.task(task.id)).toEqual(task)
      if (said !== 'ask') return
      const followUp = await client.stream('SendStreamingMessage', { message: userMessage({ taskId: task.id }) })
      expect(outline(await followUp.rest()).at(-1)).toBe('status:COMPLETED')
    },
  )

  it(proves('E-3', 'grows by one chunk at a time and ends with the merged task'), async () => {
    const store = new WatchedStore()
    const writer = agent('Writer', async function* () {
      for (let i = 0; i < 200; i++) {
        yield artifact('text', text('0123456789'), { id: 'text', append: i > 0 })
        await new Promise((resolve) => setImmediate(resolve))
      }
    })
    await using server = await testServer(writer, { store })
    const client = server.over(binding)
    const task = await client.send('go')
    expect(task.artifacts?.[0]?.parts).toEqual(Array.from({ length: 200 }, () => ({ text: '0123456789' })))
    const chunks = store.steps.flatMap(({ events }) => events.filter(({ body }) => 'artifactUpdate' in body))
    expect(chunks).toHaveLength(200)
    expect(Math.max(...chunks.map(({ body }) => JSON.stringify(body).length))).toBeLessThan(400)
    expect(store.steps.filter(({ snapshot }) => snapshot)).toHaveLength(1)
    expect(store.steps.at(-1)?.snapshot).toEqual(await client.task(task.id))
    const key = store.steps[0]?.key
    expect(await store.read(key ?? { agent: '', id: '' }, 0, 1000)).toHaveLength(
      store.steps.flatMap(({ events }) => events).length,
    )
  })

  it(proves('E-4', 'is one sequence: every event has its place as id, and only public ones are sent'), async () => {
    const store = new WatchedStore()
    await using server = await testServer(echoAgent, { store })
    const client = server.over(binding)
    const stream = await client.stream('SendStreamingMessage', { message: userMessage('chunks 3') })
    const events = await stream.rest()
    const stored = store.steps.flatMap((step) => step.events)
    expect(stored.map(({ seq }) => seq)).toEqual(stored.map((_, place) => place + 1))
    const isPublic = (body: object) =>
      ['task', 'statusUpdate', 'artifactUpdate', 'message'].some((kind) => kind in body)
    const expected = stored
      .filter(({ body }) => isPublic(body))
      .map(({ seq, body }) => [String(seq), Object.keys(body)])
    expect(events.map(({ id, data }) => [id, Object.keys(data)])).toEqual(expected)
    expect(stored.length).toBeGreaterThan(expected.length)
  })

  it(proves('E-4', 'is replayed behind Last-Event-ID, after the end of the task too'), async () => {
    await using server = await testServer(echoAgent)
    const client = server.over(binding)
    const events = await (await client.stream('SendStreamingMessage', { message: userMessage('chunks 5') })).rest()
    const { id } = taskIn(events[0])
    for (const [place, { id: seen = '' }] of events.slice(0, -1).entries()) {
      const rest = await (await client.stream('SubscribeToTask', { id }, { 'Last-Event-ID': seen })).rest()
      expect(rest).toEqual(events.slice(place + 1))
    }
    const last = await client.refusal('SubscribeToTask', { id }, { 'Last-Event-ID': events.at(-1)?.id ?? '' })
    expect(last.reason).toBe('UNSUPPORTED_OPERATION')
    for (const wrong of ['100000', 'abc', '-1']) {
      expect((await client.refusal('SubscribeToTask', { id }, { 'Last-Event-ID': wrong })).reason, wrong).toBe(
        'INVALID_PARAMS',
      )
    }
  })

  it(proves('E-4', 'goes on behind Last-Event-ID while the task runs, with no task first'), async () => {
    const finish = gate()
    const slow = agent('Slow', async function* () {
      yield 'one '
      await finish.opened
      yield 'two'
    })
    await using server = await testServer(slow)
    const client = server.over(binding)
    const stream = await client.stream('SendStreamingMessage', { message: userMessage('go') })
    const [first, chunk] = await stream.until((event) => 'artifactUpdate' in event)
    await stream.close()
    const { id } = taskIn(first)
    const resumed = client.stream('SubscribeToTask', { id }, { 'Last-Event-ID': chunk?.id })
    finish.open()
    expect(outline(await (await resumed).rest())).toEqual(['artifact:two', 'status:COMPLETED'])
  })

  it(proves(
    ['E-4', 'R-STRM-10'],
    'answers a reader that resumes at once, and shows that it lives, before anything new happens',
  ), { timeout: 1500 }, async () => {
    await using server = await testServer(echoAgent, { advanced: { heartbeatMs: 5 } })
    const client = server.over(binding)
    const { id } = await client.send('ask')
    const stream = await client.stream('SubscribeToTask', { id })
    const snapshot = await stream.next()
    await stream.close()
    const response = await client.response('SubscribeToTask', { id }, { 'Last-Event-ID': snapshot?.id })
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/event-stream'])
    for await (const chunk of response.body ?? []) {
      expect(Buffer.from(chunk as Uint8Array).toString()).toBe(':\n\n')
      break
    }
  })

  it(proves('E-4', 'has a place for every snapshot, behind which the rest is replayed'), async () => {
    await using server = await testServer(echoAgent)
    const client = server.over(binding)
    const { id } = await client.send('ask')
    const stream = await client.stream('SubscribeToTask', { id })
    const snapshot = await stream.next()
    await client.send({ taskId: id })
    const rest = await stream.rest()
    expect(Number(rest[0]?.id)).toBeGreaterThan(Number(snapshot?.id))
    expect(await (await client.stream('SubscribeToTask', { id }, { 'Last-Event-ID': snapshot?.id })).rest()).toEqual(
      rest,
    )
  })

  it(proves('E-4', 'begins anew with the task for a reader whose place is gone'), async () => {
    await using server = await testServer(echoAgent, { advanced: { retention: { endedEventsMs: 0, sweepMs: 5 } } })
    const client = server.over(binding)
    const task = await client.send('chunks 3')
    await client.send('ask') // some stores keep the newest events of all
    const resume = async () =>
      (await client.stream('SubscribeToTask', { id: task.id }, { 'Last-Event-ID': '1' })).rest()
    await expect.poll(async () => outline(await resume()), soon).toEqual(['task:COMPLETED'])
    expect((await resume())[0]?.data).toEqual({ task })
  })

  it(proves(['E-4', 'E-10'], 'is joined again by a streaming send that is repeated with its key'), async () => {
    const finish = gate()
    let turns = 0
    const slow = agent('Slow', async function* () {
      turns += 1
      yield 'one '
      await finish.opened
      yield 'two'
    })
    await using server = await testServer(slow)
    const client = server.over(binding)
    const params = { message: userMessage('go') }
    const key = { 'Idempotency-Key': 'k-1' }
    const lost = await client.stream('SendStreamingMessage', params, key)
    const seen = await lost.until((event) => 'artifactUpdate' in event)
    await lost.close()
    const again = client.stream('SendStreamingMessage', params, key)
    const resumed = client.stream('SendStreamingMessage', params, { ...key, 'Last-Event-ID': seen.at(-1)?.id })
    finish.open()
    expect(outline(await (await again).rest())).toEqual([
      'task:WORKING',
      'artifact:one ',
      'artifact:two',
      'status:COMPLETED',
    ])
    expect(outline(await (await resumed).rest())).toEqual(['artifact:two', 'status:COMPLETED'])
    expect(turns).toBe(1)
  })

  it(proves('E-5', 'is read by slow readers at their own pace, and the agent does not wait for them'), async () => {
    const store = new WatchedStore()
    await using server = await testServer(echoAgent, { store })
    const client = server.over(binding)
    const stream = await client.stream('SendStreamingMessage', { message: userMessage('chunks 5000') })
    const { id } = taskIn(await stream.next())
    await expect.poll(() => client.state(id), soon).toBe('TASK_STATE_COMPLETED')
    const readsBefore = store.reads
    const received = outline(await stream.rest())
    expect(received).toEqual([
      'status:WORKING',
      ...Array.from({ length: 5000 }, (_, place) => `artifact:chunk ${place + 1} `),
      'status:COMPLETED',
    ])
    expect(store.reads).toBeGreaterThan(readsBefore)
  })

  it(proves('E-11', 'is never written to once the task has ended'), async () => {
    const store = new WatchedStore()
    await using server = await testServer(echoAgent, { store })
    const client = server.over(binding)
    const { id } = await client.send('hello')
    const { length } = store.steps
    await client.refusal('SendMessage', { message: userMessage({ taskId: id }) })
    await client.refusal('CancelTask', { id })
    expect(store.steps).toHaveLength(length)
  })

  it(proves('E-11', 'goes with its task and its configs when their time is over'), async () => {
    await using server = await testServer(echoAgent, { advanced: { retention: { endedTasksMs: 0, sweepMs: 5 } } })
    const client = server.over(binding)
    const { id } = await client.send('hello', {
      configuration: { taskPushNotificationConfig: { id: 'one', url: 'https://client.example' } },
    })
    const waiting = await client.send('ask')
    const isGone = async () => JSON.stringify((await client.answer('GetTask', { id })).body).includes('TASK_NOT_FOUND')
    await expect.poll(isGone, soon).toBe(true)
    expect((await client.refusal('ListTaskPushNotificationConfigs', { taskId: id })).reason).toBe('TASK_NOT_FOUND')
    expect(await client.call('ListTasks')).toMatchObject({ tasks: [{ id: waiting.id }], totalSize: 1 })
  })
})

describe('a run whose process has died', () => {
  const context = { caller: { id: 'anonymous' }, dialect: '1.0' }
  const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'go' }] } as const

  /** A process that begins a task and then hangs; its handler is let go by the gate. */
  async function dying(store: MemoryStore, onCrash: 'fail' | { readonly attempts: number }) {
    const hang = gate()
    const attempts: number[] = []
    const fragile = agent({ name: 'Fragile', onCrash }, async function* ({ attempt }) {
      attempts.push(attempt)
      yield artifact('draft', text(`attempt ${attempt} `), { id: 'draft', append: true })
      if (attempt === 1) await hang.opened
      yield artifact('draft', text('finished'), { id: 'draft', append: true })
    })
    const engine = createEngine(fragile, { store, owner: 'dead', cancelGraceMs: 10 })
    await engine.start()
    const answer = await engine.sendMessage({ message, configuration: { returnImmediately: true } }, context)
    const { id } = (answer as { task: Task }).task
    await expect
      .poll(async () => (await engine.getTask({ id }, context)).artifacts?.map(textIn), soon)
      .toEqual(['attempt 1 '])
    const survivor = createEngine(fragile, {
      store,
      owner: 'alive',
      isOwnerDead: (owner) => owner === 'dead',
      cancelGraceMs: 10,
    })
    return {
      id,
      attempts,
      survivor,
      wakeUp: hang.open,
      async [Symbol.asyncDispose]() {
        hang.open()
        await Promise.all([engine.drain(0), survivor.drain(0)])
      },
    }
  }

  it(proves('E-9', 'fails its task when another process takes over'), async () => {
    const store = new MemoryStore()
    await using run = await dying(store, 'fail')
    await run.survivor.start()
    await expect
      .poll(async () => (await run.survivor.getTask({ id: run.id }, context)).status.state, soon)
      .toBe('TASK_STATE_FAILED')
    expect(run.attempts).toEqual([1])
  })

  it(proves('E-9', 'runs again if the agent declares `onCrash`, and replaces its artifacts'), async () => {
    const store = new MemoryStore()
    await using run = await dying(store, { attempts: 2 })
    await run.survivor.start()
    const task = () => run.survivor.getTask({ id: run.id }, context)
    await expect.poll(async () => (await task()).status.state, soon).toBe('TASK_STATE_COMPLETED')
    expect(run.attempts).toEqual([1, 2])
    expect((await task()).artifacts?.map(textIn)).toEqual(['attempt 2 finished'])
  })

  it(proves('E-9', 'writes nothing more when it turns out to live'), async () => {
    const store = new MemoryStore()
    await using run = await dying(store, { attempts: 2 })
    await run.survivor.start()
    const task = () => run.survivor.getTask({ id: run.id }, context)
    await expect.poll(async () => (await task()).status.state, soon).toBe('TASK_STATE_COMPLETED')
    const before = await task()
    run.wakeUp()
    await settle()
    expect(await task()).toEqual(before)
  })

  it(proves('E-9', 'is taken over when its lease has run out, and not before'), async () => {
    let now = Date.now()
    const store = new MemoryStore({ now: () => now })
    const hang = gate()
    const waiting = agent('Waiting', async function* () {
      yield working()
      await hang.opened
    })
    const first = createEngine(waiting, { store, owner: 'first', cancelGraceMs: 10 })
    const answer = await first.sendMessage({ message, configuration: { returnImmediately: true } }, context)
    const { id } = (answer as { task: Task }).task
    const second = createEngine(waiting, { store, owner: 'second', cancelGraceMs: 10 })
    await second.start()
    expect((await second.getTask({ id }, context)).status.state).toMatch(/SUBMITTED|WORKING/)
    await second.drain(0)
    now += 15_001
    const third = createEngine(waiting, { store, owner: 'third', cancelGraceMs: 10 })
    await third.start()
    await expect.poll(async () => (await third.getTask({ id }, context)).status.state, soon).toBe('TASK_STATE_FAILED')
    hang.open()
    await Promise.all([first.drain(0), third.drain(0)])
  })
})

describe.each(bindings)('a shutdown over %s', (binding) => {
  it(proves('E-12', 'rejects new calls, waits for turns, and closes the remaining streams'), async () => {
    const finish = gate()
    const worker = agent('Worker', async function* ({ text: said }) {
      if (said === 'ask') yield ask('What?')
      yield working()
      await finish.opened
      yield 'done in time'
    })
    await using server = await testServer(worker)
    const client = server.over(binding)
    const asking = await client.send('ask')
    const idle = await client.stream('SubscribeToTask', { id: asking.id })
    const stream = await client.stream('SendStreamingMessage', { message: userMessage('go') })
    await stream.until(isState('TASK_STATE_WORKING'))
    const closed = server.handler.close({ deadlineMs: 3000 })
    expect((await client.refusal('SendMessage', { message: userMessage('late') })).reason).toBe('UNAVAILABLE')
    expect((await server.fetch('/readyz')).status).toBe(503)
    finish.open()
    expect(outline(await stream.rest()).at(-1)).toBe('status:COMPLETED')
    await closed
    expect(outline(await idle.rest())).toEqual(['task:INPUT_REQUIRED'])
  })

  it(proves('E-12', 'hands over what does not end in time, and the next process goes on with it'), async () => {
    const store = new MemoryStore()
    const attempts: number[] = []
    const endless = agent({ name: 'Endless', onCrash: { attempts: 2 } }, async function* ({ attempt, signal }) {
      attempts.push(attempt)
      yield working()
      if (attempt === 1) await new Promise((resolve) => signal.addEventListener('abort', resolve))
      yield `finished in attempt ${attempt}`
    })
    const first = await testServer(endless, { store })
    const { id } = await begin(first.over(binding), 'go')
    const stream = await first.over(binding).stream('SubscribeToTask', { id })
    await first.handler.close({ deadlineMs: 0 })
    expect(outline(await stream.rest()).filter((each) => /COMPLETED|FAILED|CANCELED/.test(each))).toEqual([])
    await using second = await testServer(endless, { store })
    await expect.poll(() => second.over(binding).state(id), soon).toBe('TASK_STATE_COMPLETED')
    expect((await second.over(binding).task(id)).artifacts?.map(textIn)).toEqual(['finished in attempt 2'])
    expect(attempts).toEqual([1, 2])
  })
})
