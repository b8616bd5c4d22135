/**
 * No stored event is lost when a server is killed at random moments under load and restarted on the same file.
 *
 * Each round starts the server, checks the state after the last kill, applies load and kills the server. A failure
 * reports its seed. `DRAGOMAN_CRASH_SEED` repeats the kills; the position inside the server still varies.
 */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { proves } from '../../conformance/proves.js'
import { openStream, type StreamClient, type StreamEvent, taskIdOf } from '../hostile/stream-client.js'
import { eventually } from '../hostile/waiting.js'
import { call, countIn, getTask, newMessage, result, sendTask, type TaskView } from './calls.js'
import { seeded } from './seeded.js'
import { type ServerProcess, startServer, temporaryFolder } from './server-process.js'

/** Stores of the servers. They run concurrently, because each one spends most of its time on its start. */
const servers = ['sqlite', 'sqlite', 'file'] as const
const rounds = 20

/** The events that one client received, over one or more connections. */
interface ReceivedStream {
  readonly params: object
  /** The number of chunks in the complete stream. */
  readonly chunkCount: number
  readonly key: string | undefined
  readonly events: StreamEvent[]
}

/** A send with an idempotency key, which must run exactly once. */
interface KeyedSend {
  readonly key: string
  readonly messageId: string
  readonly params: object
  /** The response that the client received before the kill, if any. */
  answer?: { readonly task?: TaskView; readonly message?: { readonly messageId: string } }
}

interface Round {
  readonly contextId: string
  readonly streams: readonly ReceivedStream[]
  readonly sends: readonly KeyedSend[]
}

const stores = ['sqlite', 'file'] as const

describe('a server that is killed', () => {
  it(proves(['E-2', 'E-4', 'E-9', 'E-10'], 'loses no event that a client received, at any time of the kill'), {
    timeout: 240_000,
  }, async () => {
    const seed = Number(process.env.DRAGOMAN_CRASH_SEED ?? Date.now() % 2 ** 31)
    const seen = await Promise.all(servers.map((kind, index) => killRepeatedly(seed + index, kind)))
    const total = seen.reduce((sum, each) => sum + each)
    assert.ok(
      total > servers.length * rounds * 20,
      `the kills came too early: clients received only ${total} events with seed ${seed}`,
    )
  })

  it.each(stores)(
    proves('E-4', 'stores long logs on %s, which can be read from the start and from the middle'),
    {
      timeout: 60_000,
    },
    async (kind) => {
      await using folder = await temporaryFolder()
      const store = ['--store', `${kind}:${join(folder.path, 'tasks')}`]
      let events: readonly StreamEvent[] = []
      {
        await using server = await startServer(['--echo', ...store])
        using stream = (
          await openStream(server.url, 'SendStreamingMessage', { message: newMessage('chunks 3000') })
        ).read()
        events = await stream.ends(20_000)
        await server.kill()
      }
      await using server = await startServer(['--echo', ...store])
      const id = taskIdOf(events)
      assert.deepEqual(await readAll(server, id, 0), events)
      assert.deepEqual(await readAll(server, id, 2000), events.slice(1998))
    },
  )

  it.each(stores)(
    proves(['E-6', 'E-10'], 'returns the stored Message of a key on %s'),
    {
      timeout: 60_000,
    },
    async (kind) => {
      await using folder = await temporaryFolder()
      const store = ['--store', `${kind}:${join(folder.path, 'tasks')}`]
      const params = { message: newMessage('msg hello') }
      const key = { 'idempotency-key': 'hello' }
      let first: unknown
      {
        await using server = await startServer(['--echo', ...store])
        first = await result(server.url, 'SendMessage', params, key)
        await server.kill()
      }
      await using server = await startServer(['--echo', ...store])
      assert.deepEqual(await result(server.url, 'SendMessage', params, key), first)
    },
  )

  it.each(stores)(
    proves(['R-TASK-5', 'E-9'], 'restores an open question on %s, and accepts the answer'),
    {
      timeout: 60_000,
    },
    async (kind) => {
      await using folder = await temporaryFolder()
      const store = ['--store', `${kind}:${join(folder.path, 'tasks')}`]
      let asked: TaskView
      {
        await using server = await startServer(['--echo', ...store])
        asked = await sendTask(server.url, 'ask')
        await server.kill()
      }
      await using server = await startServer(['--echo', ...store])
      assert.deepEqual(await getTask(server.url, asked.id), asked)
      const answered = await sendTask(server.url, 'here it is', { message: { taskId: asked.id } })
      expect(answered).toMatchObject({
        id: asked.id,
        status: { state: 'TASK_STATE_COMPLETED' },
        artifacts: [{ parts: [{ text: 'ask\nhere it is' }] }],
      })
    },
  )
})

/** Returns the number of events that the clients received. */
async function killRepeatedly(seed: number, kind: string): Promise<number> {
  const random = seeded(seed)
  await using folder = await temporaryFolder()
  const store = ['--store', `${kind}:${join(folder.path, 'tasks')}`]
  let last: Round | undefined
  let seen = 0
  for (let round = 0; round <= rounds; round++) {
    try {
      await using server = await startServer(['--echo', ...store])
      if (last) await assertNothingLost(server, last)
      if (round === rounds) break
      last = await loadAndKill(server, round, random)
      for (const { events } of last.streams) seen += events.length
    } catch (error) {
      throw new Error(`In round ${round} of seed ${seed} on ${kind}`, { cause: error })
    }
  }
  return seen
}

async function loadAndKill(server: ServerProcess, round: number, random: () => number): Promise<Round> {
  const contextId = `round-${round}`
  const pick = (from: number, to: number) => from + Math.floor(random() * (to - from + 1))
  const streams = Array.from({ length: 4 }, (_, index): ReceivedStream => {
    const chunkCount = pick(1, 80)
    const message = newMessage(`chunks ${chunkCount} ${pick(0, 12)}`, { contextId })
    return {
      params: { message },
      chunkCount,
      key: index % 2 === 0 ? undefined : `stream-${round}-${index}`,
      events: [],
    }
  })
  const texts = ['hello', `chunks ${pick(1, 20)} ${pick(0, 10)}`, `sleep ${pick(0, 300)}`, 'msg hello', 'fail', 'ask']
  const sends = texts.map((text, index): KeyedSend => {
    const message = newMessage(text, { contextId })
    return { key: `send-${round}-${index}`, messageId: message.messageId, params: { message } }
  })
  // Early kills hit the first commits, late ones the last.
  const killAfterMs = random() < 0.3 ? pick(5, 60) : pick(60, 700)
  const resumeAt = streams.map(() => (random() < 0.5 ? pick(1, 30) : Number.POSITIVE_INFINITY))
  const reading = streams.map((stream, index) =>
    readUntilKilled(server, stream, resumeAt[index] ?? Number.POSITIVE_INFINITY),
  )
  const sending = sends.map(async (each) => {
    // Random delays, so that the kill interrupts sends at every stage.
    await new Promise((resolve) => setTimeout(resolve, pick(0, 400)))
    const outcome = await call(server.url, 'SendMessage', each.params, { 'idempotency-key': each.key }).catch(
      () => undefined,
    )
    if (outcome?.result) each.answer = outcome.result as NonNullable<KeyedSend['answer']>
  })
  await new Promise((resolve) => setTimeout(resolve, killAfterMs))
  await server.kill()
  await Promise.all([...reading, ...sending])
  return { contextId, streams, sends }
}

/** Reads a stream until it or the server ends. Disconnects once and resumes after the last event. */
async function readUntilKilled(server: ServerProcess, stream: ReceivedStream, resumeAt: number): Promise<void> {
  const headers = stream.key === undefined ? {} : { 'idempotency-key': stream.key }
  const first = await openStream(server.url, 'SendStreamingMessage', stream.params, headers).catch(() => undefined)
  if (!first) return
  await follow(server, first, resumeAt)
  stream.events.push(...first.events)
  const lastId = stream.events.at(-1)?.id
  if (lastId === undefined || server.hasExited || isOver(stream.events)) return
  const second = await openStream(
    server.url,
    'SubscribeToTask',
    { id: taskIdOf(stream.events) },
    { 'last-event-id': String(lastId) },
  ).catch(() => undefined)
  if (!second) return
  await follow(server, second, Number.POSITIVE_INFINITY)
  stream.events.push(...second.events)
}

async function follow(server: ServerProcess, client: StreamClient, upTo: number): Promise<void> {
  using reading = client.read()
  await eventually(
    20_000,
    'the end of a stream',
    () => reading.isEnded || reading.events.length >= upTo || (server.hasExited && reading.response.closed),
  )
}

async function assertNothingLost(server: ServerProcess, { contextId, streams, sends }: Round): Promise<void> {
  const { url } = server
  await eventually(8000, 'tasks without a running turn to fail', async () => {
    return (await countIn(url, 'TASK_STATE_SUBMITTED')) + (await countIn(url, 'TASK_STATE_WORKING')) === 0
  })
  for (const stream of streams) await assertStreamStored(server, stream)
  for (const each of sends) {
    const again = await call(url, 'SendMessage', each.params, { 'idempotency-key': each.key })
    assert.equal(again.error, undefined, again.text)
    const repeated = again.result as NonNullable<KeyedSend['answer']>
    // Responses that clients received are unchanged; a question is still open.
    if (each.answer) assert.deepEqual(repeated, each.answer)
    const found = (await tasksOf(url, contextId)).filter(({ history = [] }) =>
      history.some(({ messageId }) => messageId === each.messageId),
    )
    assert.deepEqual(
      found.map(({ id }) => id),
      repeated.task ? [repeated.task.id] : [],
      `the tasks of ${JSON.stringify(each.params)}`,
    )
  }
}

async function assertStreamStored(
  server: ServerProcess,
  { events, chunkCount, params, key }: ReceivedStream,
): Promise<void> {
  const lastId = events.at(-1)?.id
  if (lastId === undefined) return
  assertIncreasing(events)
  const id = taskIdOf(events)
  const log = await readAll(server, id, 0)
  assertIncreasing(log)
  assert.deepEqual(log.slice(0, events.length), events, 'the log begins with the events that the client received')
  assert.ok(isOver(log))
  const { status } = await getTask(server.url, id)
  expect(log.at(-1)?.body).toHaveProperty('statusUpdate.status', status)
  if (isOver(events)) {
    assert.equal(
      (await call(server.url, 'SubscribeToTask', { id }, { 'last-event-id': String(lastId) })).error?.reason,
      'UNSUPPORTED_OPERATION',
    )
  } else {
    // The task may have ended just before the kill, before the client received the end. Then no chunk is missing.
    if (status.state === 'TASK_STATE_COMPLETED') assert.equal(chunksIn(log).length, chunkCount)
    else assert.equal(status.state, 'TASK_STATE_FAILED')
    assert.deepEqual([...events, ...(await readAll(server, id, lastId))], log, 'a resumed stream equals the log')
  }
  if (key !== undefined) {
    using again = (await openStream(server.url, 'SendStreamingMessage', params, { 'idempotency-key': key })).read()
    assert.deepEqual(await again.ends(), log, 'a repeated send with the same key returns the same stream')
  }
}

async function readAll(server: ServerProcess, id: string, after: number): Promise<readonly StreamEvent[]> {
  using stream = (await openStream(server.url, 'SubscribeToTask', { id }, { 'last-event-id': String(after) })).read()
  return await stream.ends(10_000)
}

async function tasksOf(url: string, contextId: string): Promise<readonly TaskView[]> {
  const { tasks, nextPageToken } = await result<{ tasks: readonly TaskView[]; nextPageToken: string }>(
    url,
    'ListTasks',
    { contextId, pageSize: 100 },
  )
  assert.equal(nextPageToken, '')
  return tasks
}

/** Public events without duplicates, in log order. */
function assertIncreasing(events: readonly StreamEvent[]): void {
  let before = 2
  for (const { id, body } of events) {
    assert.ok(id > before, `${id} follows ${before}`)
    assert.equal(['task', 'statusUpdate', 'artifactUpdate'].filter((kind) => kind in body).length, 1)
    before = id
  }
  const chunks = chunksIn(events)
  assert.deepEqual(
    chunks,
    chunks.map((_, index) => `chunk ${index + 1} `),
  )
}

function chunksIn(events: readonly StreamEvent[]): readonly string[] {
  return events.flatMap(({ body }) => {
    const { artifact } = (body.artifactUpdate ?? {}) as { artifact?: { parts: readonly { text: string }[] } }
    return artifact ? artifact.parts.map(({ text }) => text) : []
  })
}

function isOver(events: readonly StreamEvent[]): boolean {
  const { status } = (events.at(-1)?.body.statusUpdate ?? {}) as { status?: { state: string } }
  return status !== undefined && /COMPLETED|FAILED|CANCELED|REJECTED/.test(status.state)
}
