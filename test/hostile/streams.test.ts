/** Slow, paused and disconnected readers: the agent continues, no event is lost, and no subscription leaks. */
import assert from 'node:assert/strict'
import { type ClientHttp2Session, type ClientHttp2Stream, connect as connectHttp2 } from 'node:http2'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { type AgentService, agent, artifact, type Served, serve, text } from 'dragoman'
import { createHandler } from 'dragoman/server'
import { describe, expect, it } from 'vitest'
import { proves } from '../../conformance/proves.js'
import { echoAgent } from '../../src/testing/echo-agent.js'
import { readRpc } from './answers.js'
import { envelope, send } from './peer.js'
import { connect, post } from './raw-client.js'
import { openStream, type StreamClient, type StreamEvent, taskIdOf } from './stream-client.js'
import { eventually } from './waiting.js'
import { WatchedCalls } from './watched-service.js'

const stores = ['memory', 'sqlite::memory:']

describe.each(stores)('a reader that pauses, on %s', { timeout: 60_000 }, (store) => {
  it(proves('E-5', 'does not stop the agent, and then gets every event once and in order'), async () => {
    await using served = await serve(echoAgent, { store })
    using paused = await openStream(served.url, 'SendStreamingMessage', send('chunks 20000'))
    // The stream is unread when the task ends.
    await eventually(30_000, 'the task to end', async () => (await tasksIn(served, 'TASK_STATE_COMPLETED')) === 1)
    assertWhole(await paused.read().ends(10_000), 20_000)
  })

  it(proves('E-5', 'does not delay other readers'), async () => {
    await using served = await serve(echoAgent, { store })
    using quick = (await openStream(served.url, 'SendStreamingMessage', send('chunks 20000'))).read()
    await quick.sees(1)
    const id = taskIdOf(quick.events)
    // If the task has ended meanwhile, the log is read from the beginning.
    using paused = await openStream(served.url, 'SubscribeToTask', { id }, { 'last-event-id': '0' })
    assertWhole(await quick.ends(30_000), 20_000)
    assertWhole(await paused.read().ends(10_000), 20_000)
  })
})

describe.each(stores)('a log on %s', { timeout: 20_000 }, (store) => {
  it.each([1, 100, 507, 508, 1020, 5000])(
    proves('E-4', 'of %i chunks is replayed whole when its task has ended'),
    async (chunks) => {
      await using served = await serve(echoAgent, { store })
      const { task } = (await call(served, 'SendMessage', send(`chunks ${chunks}`))) as { task: { id: string } }
      using replay = (await openStream(served.url, 'SubscribeToTask', { id: task.id }, { 'last-event-id': '0' })).read()
      assertWhole(await replay.ends(), chunks)
    },
  )

  it(proves('E-4', 'of a hundred small commits is replayed whole when its task has ended'), async () => {
    await using served = await serve(echoAgent, { store })
    const { task } = (await call(served, 'SendMessage', send('chunks 100 1'))) as { task: { id: string } }
    using replay = (await openStream(served.url, 'SubscribeToTask', { id: task.id }, { 'last-event-id': '0' })).read()
    assertWhole(await replay.ends(), 100)
  })

  it(proves('E-4', 'of a running task is followed from its beginning'), async () => {
    await using served = await serve(echoAgent, { store })
    using first = (await openStream(served.url, 'SendStreamingMessage', send('chunks 1500 1'))).read()
    await first.sees(1100, 15_000)
    const id = taskIdOf(first.events)
    using second = (await openStream(served.url, 'SubscribeToTask', { id }, { 'last-event-id': '0' })).read()
    assertWhole(await first.ends(15_000), 1500)
    assertWhole(await second.ends(), 1500)
  })
})

describe('a reader that never reads', { timeout: 30_000 }, () => {
  const pieces = 4000
  const piece = 'x'.repeat(8 * 1024)

  /** 32 MB in small chunks, as from a model. */
  const talkative = agent('Talkative', async function* () {
    for (let i = 0; i < pieces; i++) {
      yield artifact('talk', text(piece), { append: i > 0 })
      if (i % 4 === 0) await new Promise((resolve) => setImmediate(resolve))
    }
  })

  it(proves('E-5', 'buffers only a small part of its stream in memory'), async () => {
    const calls = new WatchedCalls()
    const handler = await createHandler(talkative, { advanced: { wrap: calls.wrap } })
    const response = await handler.fetch(
      new Request('http://localhost/', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: envelope('SendStreamingMessage', send('talk')),
      }),
    )
    assert.equal(response.headers.get('content-type'), 'text/event-stream')
    const isOver = async () => {
      const listed = await handler.fetch(new Request('http://localhost/tasks?status=TASK_STATE_COMPLETED'))
      return ((await listed.json()) as { totalSize: number }).totalSize === 1
    }
    await eventually(20_000, 'the task to end', isOver)
    // The socket buffers 64 KB. A few times that is acceptable, the whole stream is not.
    const waiting = calls.pulled * piece.length
    assert.ok(waiting < 2 * 1024 * 1024, `${Math.round(waiting / 1024 / 1024)} MB wait for a reader that does not read`)
    await response.body?.cancel()
    await eventually(5000, 'the stream to be released', () => calls.open === 0)
    await handler.close({ deadlineMs: 0 })
  })
})

describe.each(stores)('paused readers of large events, on %s', { timeout: 60_000 }, (store) => {
  const events = 48
  const readers = 10
  /** Each event is a separate artifact of 256 KB. */
  const large = agent('Large', async function* () {
    for (let i = 0; i < events; i++) yield artifact(`part ${i}`, text(String(i % 10).repeat(256 * 1024)))
  })

  it.each(['HTTP', 'gRPC'])(proves('E-5', 'hold less than 1 MB each, over %s'), async (binding) => {
    await using served = await serve(large, { store })
    const now = { ...send('go'), configuration: { returnImmediately: true } }
    const { task } = (await call(served, 'SendMessage', now)) as { task: { id: string } }
    await eventually(20_000, 'the task to end', async () => (await tasksIn(served, 'TASK_STATE_COMPLETED')) === 1)
    const open = binding === 'HTTP' ? pausedSse : pausedGrpc
    // The first reader loads code, which must not be counted.
    await (await open(served.url, task.id)).rest()
    const before = heldBytes()
    const paused = await Promise.all(Array.from({ length: readers }, () => open(served.url, task.id)))
    // Every reader has received a first byte, so events that the server buffers for it are in memory.
    const perReader = () => (heldBytes() - before) / readers
    await eventually(20_000, 'less than 1 MB', () => perReader() < 1024 * 1024).catch((error: Error) => {
      assert.fail(`${error.message}: ${Math.round(perReader() / 1024)} KB a reader`)
    })
    for (const each of paused) assert.ok((await each.rest()) > events * 256 * 1024)
  })
})

describe('many unread streams on one HTTP/2 connection', { timeout: 60_000 }, () => {
  it(proves('E-5', 'hold no more than a few megabytes together'), async () => {
    const count = 100
    let started = 0
    const wrap = (service: AgentService): AgentService => ({
      ...service,
      subscribeToTask(request, context) {
        started += 1
        return service.subscribeToTask(request, context)
      },
    })
    const large = agent('Large', async function* () {
      for (let i = 0; i < 8; i++) {
        yield artifact(`part ${i}`, text(String(i).repeat(256 * 1024)))
        await new Promise((resolve) => setImmediate(resolve))
      }
    })
    await using served = await serve(large, { store: 'sqlite::memory:', advanced: { wrap } })
    const now = { ...send('go'), configuration: { returnImmediately: true } }
    const { task } = (await call(served, 'SendMessage', now)) as { task: { id: string } }
    await eventually(20_000, 'the task to end', async () => (await tasksIn(served, 'TASK_STATE_COMPLETED')) === 1)
    await (await pausedGrpc(served.url, task.id)).rest()
    const before = heldBytes()
    const session = connectHttp2(served.url)
    const streams = Array.from({ length: count }, () => subscribeOver(session, task.id))
    await eventually(20_000, 'all of them to start', () => started === count + 1)
    // Wait until the server stops sending.
    let [last, held] = [0, -1]
    await eventually(20_000, 'them to settle', () => {
      ;[last, held] = [held, heldBytes() - before]
      return Math.abs(held - last) < 64 * 1024
    })
    assert.ok(held < 16 * 1024 * 1024, `${Math.round(held / 1024 / 1024)} MB are held for ${count} streams`)
    // All of them continue when they are read.
    const sizes = await Promise.all(streams.map(bytesOf))
    for (const size of sizes) assert.ok(size > 8 * 256 * 1024)
    session.close()
  })
})

describe('many streams that wait for each other on one connection', () => {
  it(proves('E-5', 'begin one after the other'), async () => {
    const calls = new WatchedCalls()
    await using served = await serve(echoAgent, { advanced: { wrap: calls.wrap } })
    const { task } = (await call(served, 'SendMessage', send('chunks 2000'))) as { task: { id: string } }
    const subscribe = post('/', envelope('SubscribeToTask', { id: task.id }), { 'Last-Event-ID': '0' })
    using client = await connect(served.url)
    let most = 0
    const watching = setInterval(() => {
      most = Math.max(most, calls.open)
    }, 1)
    await client.write(subscribe.repeat(100))
    for (let i = 0; i < 100; i++) assert.equal(readRpc(await client.answer(20_000)).events.length, 2003)
    clearInterval(watching)
    assert.equal(most, 1)
  })

  it('are limited: the connection is closed', async () => {
    await using served = await serve(echoAgent)
    using client = await connect(served.url)
    const first = post('/', envelope('SendStreamingMessage', send('sleep 60000')))
    await client.write(first + post('/', envelope('ListTasks', {})).repeat(200))
    await client.closes(10_000)
  })
})

interface PausedReader {
  /** Reads to the end of the stream and returns the number of bytes. */
  rest(): Promise<number>
}

async function pausedSse(url: string, id: string): Promise<PausedReader> {
  const client = await openStream(url, 'SubscribeToTask', { id }, { 'last-event-id': '0' })
  return {
    async rest() {
      return await bytesOf(client.response)
    },
  }
}

/** A plain HTTP/2 client, because the gRPC client buffers without a limit. */
async function pausedGrpc(url: string, id: string): Promise<PausedReader> {
  const session = connectHttp2(url)
  const stream = subscribeOver(session, id)
  await new Promise((resolve) => stream.once('response', resolve))
  return {
    async rest() {
      const bytes = await bytesOf(stream)
      session.close()
      return bytes
    },
  }
}

async function bytesOf(stream: AsyncIterable<unknown>): Promise<number> {
  let bytes = 0
  for await (const chunk of stream) bytes += (chunk as Buffer).length
  return bytes
}

function subscribeOver(session: ClientHttp2Session, id: string): ClientHttp2Stream {
  const stream = session.request({
    ':method': 'POST',
    ':path': '/lf.a2a.v1.A2AService/SubscribeToTask',
    'content-type': 'application/grpc',
    'last-event-id': '0',
  })
  // SubscribeToTaskRequest: field 2 is the id.
  const body = Buffer.concat([Buffer.from([18, id.length]), Buffer.from(id)])
  const head = Buffer.from([0, 0, 0, 0, body.length])
  stream.end(Buffer.concat([head, body]))
  return stream
}

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

/** Heap and buffers, in bytes. */
function heldBytes(): number {
  collectGarbage()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

describe('a disconnected reader', { timeout: 30_000 }, () => {
  it(proves('R-STRM-5', 'leaks nothing: 200 abandoned streams, then a cancel and a new stream'), async () => {
    const calls = new WatchedCalls()
    await using served = await serve(echoAgent, { advanced: { wrap: calls.wrap } })
    using first = (await openStream(served.url, 'SendStreamingMessage', send('sleep 60000'))).read()
    await first.sees(2)
    const id = taskIdOf(first.events)
    const abandoned = await inGroups(200, async () => {
      const client = (await openStream(served.url, 'SubscribeToTask', { id })).read()
      await client.sees(1)
      return client
    })
    assert.equal(calls.open, 201)
    for (const client of abandoned) client.hangUp()
    first.hangUp()
    await eventually(5000, 'every stream to be released', () => calls.open === 0)
    using last = (await openStream(served.url, 'SubscribeToTask', { id })).read()
    await last.sees(1)
    expect(await call(served, 'CancelTask', { id })).toHaveProperty('status.state', 'TASK_STATE_CANCELED')
    const events = await last.ends()
    expect(events.at(-1)?.body).toHaveProperty('statusUpdate.status.state', 'TASK_STATE_CANCELED')
    await eventually(5000, 'the last stream to be released', () => calls.open === 0)
  })

  it.each([0, 1, 50, 5000])(
    proves('R-STRM-5', 'is released in the middle of a long stream, after %i events'),
    async (count) => {
      const calls = new WatchedCalls()
      await using served = await serve(echoAgent, { advanced: { wrap: calls.wrap } })
      for (let i = 0; i < 5; i++) {
        using client = await openStream(served.url, 'SendStreamingMessage', send('chunks 20000'))
        if (count > 0) await client.read().sees(count)
        client.hangUp()
      }
      await eventually(20_000, 'the tasks to end', async () => (await tasksIn(served, 'TASK_STATE_COMPLETED')) === 5)
      await eventually(5000, `every stream to be released, ${calls.open} are not`, () => calls.open === 0)
    },
  )

  it(proves('R-STRM-5', 'is released if it disconnects before the first output of the agent'), async () => {
    const calls = new WatchedCalls()
    let speak: () => void = () => undefined
    const silent = agent('Silent', async function* () {
      await new Promise<void>((resolve) => {
        speak = resolve
      })
      yield 'at last'
    })
    await using served = await serve(silent, { advanced: { wrap: calls.wrap } })
    using client = await connect(served.url)
    await client.write(post('/', envelope('SendStreamingMessage', send('hello'))))
    await eventually(5000, 'the stream to begin', () => calls.open === 1)
    client.socket.destroy()
    await client.closes(5000)
    speak()
    await eventually(5000, 'the task to end', async () => (await tasksIn(served, 'TASK_STATE_COMPLETED')) === 1)
    await eventually(5000, 'the stream to be released', () => calls.open === 0)
  })

  it(proves('R-SEND-11', 'does not stop the task of a blocking send'), async () => {
    const calls = new WatchedCalls()
    await using served = await serve(echoAgent, { advanced: { wrap: calls.wrap } })
    using client = await connect(served.url)
    await client.write(post('/', envelope('SendMessage', send('sleep 700'))))
    await eventually(5000, 'the task to begin', async () => (await tasksIn(served, 'TASK_STATE_WORKING')) === 1)
    client.socket.destroy()
    await eventually(5000, 'the task to end', async () => (await tasksIn(served, 'TASK_STATE_COMPLETED')) === 1)
    await eventually(5000, 'the send to be released', () => calls.open === 0)
  })

  it(
    proves(['R-SEND-11', 'E-10'], 'leaks nothing after a hundred blocking sends, whose task is then cancelled'),
    async () => {
      const calls = new WatchedCalls()
      await using served = await serve(echoAgent, { advanced: { wrap: calls.wrap } })
      const body = envelope('SendMessage', send('sleep 60000'))
      await inGroups(100, async () => {
        using client = await connect(served.url)
        await client.write(post('/', body, { 'Idempotency-Key': 'key' }))
      })
      const id = await eventually(5000, 'the task to begin', async () => {
        const { tasks } = (await call(served, 'ListTasks', {})) as { tasks: readonly { id: string }[] }
        assert.ok(tasks.length <= 1)
        return tasks[0]?.id
      })
      expect(await call(served, 'CancelTask', { id })).toHaveProperty('status.state', 'TASK_STATE_CANCELED')
      await eventually(5000, 'every send to be released', () => calls.open === 0)
    },
  )

  it(proves('E-4', 'resumes after its last event, and misses nothing'), async () => {
    await using served = await serve(echoAgent)
    const seen: StreamEvent[] = []
    using first = (await openStream(served.url, 'SendStreamingMessage', send('chunks 300 2'))).read()
    await first.sees(10)
    first.hangUp()
    seen.push(...first.events)
    const id = taskIdOf(first.events)
    for (;;) {
      using next: StreamClient = (
        await openStream(served.url, 'SubscribeToTask', { id }, { 'last-event-id': String(seen.at(-1)?.id) })
      ).read()
      await eventually(5000, 'more events', () => next.events.length >= 40 || next.isEnded)
      next.hangUp()
      seen.push(...next.events)
      if (next.isEnded) break
    }
    assertWhole(seen, 300)
  })
})

/** Expects task, WORKING, every chunk and COMPLETED, once and in order, with rising event ids. */
function assertWhole(events: readonly StreamEvent[], chunks: number): void {
  assert.deepEqual(
    events.map(({ id }) => id),
    Array.from({ length: chunks + 3 }, (_, i) => i + 3),
  )
  const texts = events.flatMap(({ body }) => {
    const update = body.artifactUpdate as { artifact: { parts: readonly { text: string }[] } } | undefined
    return update ? update.artifact.parts.map((part) => part.text) : []
  })
  assert.deepEqual(
    texts,
    Array.from({ length: chunks }, (_, i) => `chunk ${i + 1} `),
  )
  assert.ok(events[0] && 'task' in events[0].body)
  expect(events.at(-1)?.body).toHaveProperty('statusUpdate.status.state', 'TASK_STATE_COMPLETED')
}

async function call(served: Served, method: string, params: object): Promise<unknown> {
  using client = await connect(served.url)
  await client.write(post('/', envelope(method, params)))
  return readRpc(await client.answer()).result
}

async function tasksIn(served: Served, status: string): Promise<number> {
  return ((await call(served, 'ListTasks', { status, historyLength: 0 })) as { totalSize: number }).totalSize
}

/** Connects a few at a time, because the listen queue of a small machine is short. */
async function inGroups<T>(count: number, make: () => Promise<T>): Promise<readonly T[]> {
  const made: T[] = []
  while (made.length < count)
    made.push(...(await Promise.all(Array.from({ length: Math.min(20, count - made.length) }, make))))
  return made
}
