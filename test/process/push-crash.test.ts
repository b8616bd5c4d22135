/**
 * No event is lost between a task and its webhook: a server is killed at random moments while it delivers, and started
 * again on the same file. Every webhook receives every event in order; deliveries may repeat.
 */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { openSqliteStore } from 'dragoman/stores/sqlite'
import { describe, it } from 'vitest'
import { proves } from '../../conformance/proves.js'
import { openStream } from '../hostile/stream-client.js'
import { eventually } from '../hostile/waiting.js'
import { type Call, distinct, type Hook, openHook } from '../push/hook.js'
import { call, newMessage, result, type TaskView } from './calls.js'
import { seeded } from './seeded.js'
import { type ServerProcess, startServer, temporaryFolder } from './server-process.js'

/** The servers run concurrently, each on its own file, because each one spends most of its time on its start. */
const servers = 2
const rounds = 15

describe('a server that is killed while it calls webhooks', () => {
  it(proves(['E-2', 'R-PDEL-7'], 'delivers every event'), { timeout: 240_000 }, async () => {
    const seed = Number(process.env.DRAGOMAN_CRASH_SEED ?? Date.now() % 2 ** 31)
    await Promise.all(Array.from({ length: servers }, (_, index) => killRepeatedly(seed + index)))
  })
})

async function killRepeatedly(seed: number): Promise<void> {
  const random = seeded(seed)
  await using folder = await temporaryFolder()
  const path = join(folder.path, 'tasks.sqlite')
  const start = () => startServer(['--echo', '--store', `sqlite:${path}`, '--allow-webhook', '127.0.0.1'])
  // Some calls are slow and some fail, so that kills happen in every state of the delivery cursors.
  await using hook = await openHook(async (_call, response) => {
    await new Promise((resolve) => setTimeout(resolve, random() * 4))
    response.writeHead(random() < 0.02 ? 503 : 200).end()
  })
  try {
    for (let round = 0; round < rounds; round++) {
      await using server = await start()
      await loadAndKill(server, hook, random)
    }
    assert.ok(hook.calls.length > rounds * 10, `the kills came too early: only ${hook.calls.length} webhook calls`)
    await using server = await start()
    await assertAllDelivered(server, hook)
  } catch (error) {
    throw new Error(`With seed ${seed}`, { cause: error })
  }
  const store = await openSqliteStore(path)
  const dead = await store.deliveries.listDeadLetters({ agents: ['Echo'], limit: 1000 })
  await store.close()
  assert.deepEqual(dead, [])
}

async function loadAndKill(server: ServerProcess, hook: Hook, random: () => number): Promise<void> {
  const pick = (from: number, to: number) => from + Math.floor(random() * (to - from + 1))
  const sending = Array.from({ length: 5 }, async () => {
    const configuration = { taskPushNotificationConfig: { url: hook.url } }
    const message = newMessage(`chunks ${pick(1, 60)} ${pick(0, 6)}`)
    await new Promise((resolve) => setTimeout(resolve, pick(0, 150)))
    await call(server.url, 'SendMessage', { message, configuration }).catch(() => undefined)
  })
  // Some kills come before the first delivery, most during deliveries. Counting calls makes this independent of the speed.
  const callsBeforeKill = hook.calls.length + (random() < 0.2 ? 0 : pick(1, 60))
  let isSent = false
  void Promise.all(sending).then(() => {
    isSent = true
  })
  await new Promise((resolve) => setTimeout(resolve, pick(10, 60)))
  await eventually(20_000, 'webhooks to be called', () => isSent || hook.calls.length >= callsBeforeKill)
  await server.kill()
  await Promise.all(sending)
}

async function assertAllDelivered(server: ServerProcess, hook: Hook): Promise<void> {
  const tasks = await allTasks(server)
  assert.ok(tasks.length > rounds, `only ${tasks.length} tasks were created`)
  for (const { id } of tasks) {
    const log = await logOf(server, id)
    const delivered = () =>
      distinct(hook.calls.filter((each) => taskOf(each) === id)).map(({ text }) => JSON.parse(text))
    await eventually(60_000, `all events of task ${id} to be delivered`, () => delivered().length >= log.length)
    assert.deepEqual(delivered(), log)
  }
}

async function allTasks(server: ServerProcess): Promise<readonly TaskView[]> {
  const tasks: TaskView[] = []
  let pageToken = ''
  do {
    const params = { pageSize: 100, historyLength: 0, ...(pageToken && { pageToken }) }
    const page = await result<{ tasks: TaskView[]; nextPageToken: string }>(server.url, 'ListTasks', params)
    tasks.push(...page.tasks)
    pageToken = page.nextPageToken
  } while (pageToken)
  return tasks
}

/** All events of an ended task. */
async function logOf(server: ServerProcess, id: string): Promise<readonly object[]> {
  using stream = (await openStream(server.url, 'SubscribeToTask', { id }, { 'last-event-id': '0' })).read()
  return (await stream.ends(20_000)).map(({ body }) => body)
}

function taskOf({ text }: Call): string {
  const delivered = JSON.parse(text) as Record<string, { readonly id?: string; readonly taskId?: string }>
  const [event] = Object.values(delivered)
  return event?.taskId ?? event?.id ?? ''
}
