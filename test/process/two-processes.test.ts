/** Two servers with the same agent on one file or database: each can read, follow, cancel and continue tasks of the other. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { proves } from '../../conformance/proves.js'
import { openStream, type StreamEvent, taskIdOf } from '../hostile/stream-client.js'
import { eventually } from '../hostile/waiting.js'
import { freshDatabase } from '../postgres/database.js'
import { type PostgresServer, startPostgres } from '../postgres/server.mjs'
import { call, getTask, newMessage, result, sendTask, type TaskView, textsOf } from './calls.js'
import { type ServerProcess, startServer, temporaryFolder } from './server-process.js'

/** Processes notice the writes of others within milliseconds. Test machines are busy, so seconds are allowed. */
const soonMs = 5000

let postgres: PostgresServer
beforeAll(async () => {
  postgres = await startPostgres()
})
afterAll(async () => await postgres[Symbol.asyncDispose]())

/** Creates the address of an empty store. Both servers then create its schema concurrently. */
const storeFactories: Readonly<Record<string, () => Promise<TemporaryStore>>> = {
  file: async () => {
    const folder = await temporaryFolder()
    return {
      store: `sqlite:${join(folder.path, 'tasks.sqlite')}`,
      remove: async () => await folder[Symbol.asyncDispose](),
    }
  },
  database: async () => ({ store: await freshDatabase(postgres), remove: async () => undefined }),
}

interface TemporaryStore {
  readonly store: string
  remove(): Promise<void>
}

describe.each(Object.entries(storeFactories))('two servers on one %s', { timeout: 60_000 }, (_name, createStore) => {
  const startPair = async (): Promise<Pair> => await startPairOn(await createStore())

  it(proves('E-2', 'each reads and lists the tasks of the other'), async () => {
    await using pair = await startPair()
    const { a, b } = pair
    const task = await sendTask(a.url, 'chunks 3')
    assert.deepEqual(await getTask(b.url, task.id), task)
    const { tasks, totalSize } = await result<{ tasks: readonly TaskView[]; totalSize: number }>(b.url, 'ListTasks', {
      includeArtifacts: true,
    })
    assert.deepEqual(tasks, [task])
    assert.equal(totalSize, 1)
  })

  it(
    proves(
      ['R-STRM-5', 'R-SUB-5'],
      'each streams the running tasks of the other, from a snapshot and from the first event',
    ),
    async () => {
      await using pair = await startPair()
      const { a, b } = pair
      using own = (await openStream(a.url, 'SendStreamingMessage', { message: newMessage('chunks 60 20') })).read()
      await own.sees(5)
      const id = taskIdOf(own.events)
      using fromSnapshot = (await openStream(b.url, 'SubscribeToTask', { id })).read()
      using fromStart = (await openStream(b.url, 'SubscribeToTask', { id }, { 'last-event-id': '0' })).read()
      await fromSnapshot.sees(2)
      assert.equal(own.isEnded, false, 'the other server streams while the task runs')
      const events = await own.ends(20_000)
      const [snapshot, ...rest] = await fromSnapshot.ends(soonMs)
      assert.deepEqual(await fromStart.ends(soonMs), events)
      assert.ok(snapshot)
      assert.deepEqual(
        rest,
        events.filter((event) => event.id > snapshot.id),
      )
      assert.equal(
        textsOf(snapshot.body.task as TaskView),
        textsOfUpdates(events.filter((event) => event.id <= snapshot.id)),
      )
    },
  )

  it(proves('E-7', 'each cancels running tasks of the other'), async () => {
    await using pair = await startPair()
    const { a, b } = pair
    using own = (await openStream(a.url, 'SendStreamingMessage', { message: newMessage('sleep 60000') })).read()
    await own.sees(2)
    const started = Date.now()
    const canceled = await result<TaskView>(b.url, 'CancelTask', { id: taskIdOf(own.events) })
    assert.equal(canceled.status.state, 'TASK_STATE_CANCELED')
    assert.ok(Date.now() - started < soonMs, `a cancel took ${Date.now() - started} ms`)
    const events = await own.ends(soonMs)
    expect(events.at(-1)?.body).toHaveProperty('statusUpdate.status', canceled.status)
    assert.deepEqual(await getTask(a.url, canceled.id), await getTask(b.url, canceled.id))
  })

  it(proves('R-TASK-5', 'each accepts answers to questions of the other'), async () => {
    await using pair = await startPair()
    const { a, b } = pair
    const asked = await sendTask(a.url, 'ask')
    assert.equal(asked.status.state, 'TASK_STATE_INPUT_REQUIRED')
    const answered = await sendTask(b.url, 'second', { message: { taskId: asked.id } })
    assert.equal(answered.status.state, 'TASK_STATE_COMPLETED')
    assert.equal(textsOf(answered), 'ask\nsecond')
    assert.deepEqual(await getTask(a.url, asked.id), answered)
  })

  it(proves('E-1', 'each accepts messages to running tasks of the other, which run as the next turn'), async () => {
    await using pair = await startPair()
    const { a, b } = pair
    const started = await sendTask(a.url, 'sleep 800', { configuration: { returnImmediately: true } })
    const ended = await sendTask(b.url, 'and more', { message: { taskId: started.id } })
    assert.equal(ended.status.state, 'TASK_STATE_COMPLETED')
    assert.equal(textsOf(ended), 'slept 800sleep 800\nand more')
    assert.deepEqual(await getTask(a.url, started.id), ended)
  })

  it(proves('E-10', 'concurrent sends with one key to both create one task'), async () => {
    await using pair = await startPair()
    const { a, b } = pair
    for (let i = 0; i < 10; i++) {
      const params = { message: newMessage('chunks 3 5') }
      const key = { 'idempotency-key': `key-${i}` }
      const answers = await Promise.all(
        [a, b, a, b].map(({ url }) => result<{ task: TaskView }>(url, 'SendMessage', params, key)),
      )
      assert.equal(new Set(answers.map(({ task }) => task.id)).size, 1)
    }
    assert.equal((await result<{ totalSize: number }>(a.url, 'ListTasks', {})).totalSize, 10)
  })

  it(proves('E-2', 'both write concurrently, and each reads all writes'), async () => {
    await using pair = await startPair()
    const { a, b } = pair
    const sent = await Promise.all(
      Array.from({ length: 40 }, (_, i) => sendTask(i % 2 === 0 ? a.url : b.url, `chunks ${(i % 5) + 1} 2`)),
    )
    for (const { url } of [a, b]) {
      const { tasks } = await result<{ tasks: readonly TaskView[] }>(url, 'ListTasks', {
        pageSize: 100,
        status: 'TASK_STATE_COMPLETED',
      })
      assert.deepEqual(new Set(tasks.map(({ id }) => id)), new Set(sent.map(({ id }) => id)))
    }
  })

  it(
    proves('E-9', 'after a kill of one, the other fails its tasks soon, and reports this to subscribers'),
    async () => {
      await using pair = await startPair()
      const { a, b } = pair
      using own = (await openStream(a.url, 'SendStreamingMessage', { message: newMessage('sleep 60000') })).read()
      await own.sees(2)
      const id = taskIdOf(own.events)
      using other = (await openStream(b.url, 'SubscribeToTask', { id })).read()
      await other.sees(1)
      await a.kill()
      // A process looks for dead processes every third of the 15 s lease.
      const events = await other.ends(5000 + soonMs)
      expect(events.at(-1)?.body).toHaveProperty('statusUpdate.status.state', 'TASK_STATE_FAILED')
      assert.equal((await getTask(b.url, id)).status.state, 'TASK_STATE_FAILED')
      const { error } = await call(b.url, 'SendMessage', { message: newMessage('too late', { taskId: id }) })
      assert.equal(error?.reason, 'UNSUPPORTED_OPERATION')
    },
  )

  it(proves('E-9', 'after a kill and restart of one, the tasks of the other continue'), async () => {
    await using pair = await startPair()
    const { a, b } = pair
    using own = (await openStream(b.url, 'SendStreamingMessage', { message: newMessage('chunks 60 20') })).read()
    await own.sees(3)
    await a.kill()
    await using again = await startServer(pair.args)
    using other = (
      await openStream(again.url, 'SubscribeToTask', { id: taskIdOf(own.events) }, { 'last-event-id': '0' })
    ).read()
    const events = await own.ends(20_000)
    expect(events.at(-1)?.body).toHaveProperty('statusUpdate.status.state', 'TASK_STATE_COMPLETED')
    assert.deepEqual(await other.ends(soonMs), events)
  })

  it(proves('E-12', 'while one shuts down, clients can subscribe to its tasks at the other'), async () => {
    await using pair = await startPair()
    const { a, b } = pair
    using own = (await openStream(a.url, 'SendStreamingMessage', { message: newMessage('chunks 30 20') })).read()
    await own.sees(3)
    a.signal('SIGTERM')
    using other = (
      await openStream(b.url, 'SubscribeToTask', { id: taskIdOf(own.events) }, { 'last-event-id': '0' })
    ).read()
    const events = await own.ends(20_000)
    expect(events.at(-1)?.body).toHaveProperty('statusUpdate.status.state', 'TASK_STATE_COMPLETED')
    assert.deepEqual(await other.ends(soonMs), events)
    await eventually(soonMs, 'the first server to exit', () => a.hasExited)
  })
})

describe('two servers on one file whose wall clocks differ', { timeout: 60_000 }, () => {
  const wrongClock = new URL('replicas/wrong-clock.mjs', import.meta.url).href

  it.each([3_600_000, -3_600_000])(
    proves('E-9', "by %d ms do not take over each other's running tasks, but those of a killed server"),
    async (errorMs) => {
      await using folder = await temporaryFolder()
      const args = ['--echo', '--store', `sqlite:${join(folder.path, 'tasks.sqlite')}`]
      await using a = await startServer(args)
      using own = (await openStream(a.url, 'SendStreamingMessage', { message: newMessage('sleep 60000') })).read()
      await own.sees(2)
      const id = taskIdOf(own.events)
      // At its start a server takes over abandoned tasks before it is ready.
      await using b = await startServer(args, {
        env: { NODE_OPTIONS: `--import ${wrongClock}`, CLOCK_ERROR_MS: String(errorMs) },
      })
      assert.equal((await getTask(b.url, id)).status.state, 'TASK_STATE_WORKING')
      assert.equal(own.isEnded, false)
      await a.kill()
      await eventually(5_000 + soonMs, 'the task to fail', async () => {
        return (await getTask(b.url, id)).status.state === 'TASK_STATE_FAILED'
      })
    },
  )
})

interface Pair extends AsyncDisposable {
  readonly a: ServerProcess
  readonly b: ServerProcess
  readonly args: readonly string[]
}

async function startPairOn({ store, remove }: TemporaryStore): Promise<Pair> {
  const args = ['--echo', '--store', store]
  const started = await Promise.allSettled([startServer(args), startServer(args)])
  const servers = started.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
  const end = async () => {
    await Promise.all(servers.map((server) => server[Symbol.asyncDispose]()))
    await remove()
  }
  const [a, b] = servers
  if (a && b) return { a, b, args, [Symbol.asyncDispose]: end }
  await end()
  throw started.find((each) => each.status === 'rejected')?.reason
}

function textsOfUpdates(events: readonly StreamEvent[]): string {
  return events
    .map(({ body }) =>
      textsOf({
        artifacts: [body.artifactUpdate ?? {}].map(
          (update) => (update as { artifact?: object }).artifact ?? { parts: [] },
        ),
      } as unknown as TaskView),
    )
    .join('')
}
