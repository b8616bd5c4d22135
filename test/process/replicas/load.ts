/** Streams to a cluster whose replicas fail, and the checks after their end. */
import assert from 'node:assert/strict'
import { connect } from 'dragoman/client'
import { eventually } from '../../hostile/waiting.js'
import { eventsOf, type Hook } from '../../push/hook.js'
import type { Cluster, Replica } from './cluster.js'

interface Followed {
  readonly name: string
  /** The events of the stream in short form, as from `eventsOf`. */
  readonly events: readonly string[]
  readonly taskId: string
  readonly seqs: readonly number[]
  readonly state: string
  readonly text: string
}

/** Sends one message and reads its stream to the end, over as many connections and replicas as necessary. */
async function follow({ hook, cluster: { url } }: LoadTarget, name: string, text: string): Promise<Followed> {
  await using agent = await connect(url, { retry: { attempts: 40, maxDelayMs: 2_000 }, breaker: { failures: 0 } })
  const seqs: number[] = []
  const chunks: string[] = []
  let taskId = ''
  let state = ''
  const events: string[] = []
  const message = { messageId: name, role: 'ROLE_USER' as const, parts: [{ text }] }
  const configuration = { taskPushNotificationConfig: { url: `${hook.url}?${name}` } }
  const options = { idempotencyKey: name }
  for await (const { event, seq } of agent.sendStreamingMessage({ message, configuration }, options)) {
    if (seq !== undefined) seqs.push(seq)
    events.push(eventsOf([{ text: JSON.stringify(event) }])[0] ?? '')
    if ('task' in event) {
      taskId = event.task.id
      state = event.task.status.state
    } else if ('statusUpdate' in event) state = event.statusUpdate.status.state
    else if ('artifactUpdate' in event) {
      // A new attempt starts its artifact from the beginning.
      if (!event.artifactUpdate.append) chunks.length = 0
      for (const part of event.artifactUpdate.artifact.parts) if ('text' in part) chunks.push(part.text)
    }
  }
  return { name, events, taskId, seqs, state, text: chunks.join('') }
}

function assertWhole({ seqs, state, text, taskId }: Followed, count: number): void {
  assert.equal(state, 'TASK_STATE_COMPLETED', `task ${taskId}`)
  for (let index = 1; index < seqs.length; index++) {
    assert.ok((seqs[index] as number) > (seqs[index - 1] as number), `events of ${taskId} in order: ${seqs.join(' ')}`)
  }
  assert.equal(text, Array.from({ length: count }, (_, n) => `${n + 1} `).join(''), `the artifact of ${taskId}`)
}

export interface LoadTarget {
  readonly cluster: Cluster
  /** Receives the events of every task. */
  readonly hook: Hook
}

const tasksOfRound = 8

/** Applies load while `disrupt` runs. Without a disruption, each task takes fifteen times `chunkMs`. */
export async function underLoad(
  target: LoadTarget,
  round: string,
  disrupt: () => Promise<void>,
  { chunkMs = 40 }: { readonly chunkMs?: number } = {},
): Promise<void> {
  const { cluster, hook } = target
  const count = 15
  const text = `count ${count} ${chunkMs}`
  const streams = Array.from({ length: tasksOfRound }, (_, n) => follow(target, `${round}-${n}`, text))
  const [followed] = await Promise.all([Promise.all(streams), disrupt()])
  for (const each of followed) assertWhole(each, count)
  assert.equal(new Set(followed.map(({ taskId }) => taskId)).size, followed.length)
  for (const each of followed) await assertDelivered(hook, each)
  await assertSameTask(cluster, followed)
  assertOnce(cluster, round)
}

/** Webhooks are called at least once and in order. A repeated delivery has the id of the first one. */
async function assertDelivered(hook: Hook, { name, events }: Followed): Promise<void> {
  const deliveries = () => {
    const byId = new Map(
      hook.calls
        .filter(({ path }) => path.endsWith(`?${name}`))
        .map((call) => [call.headers['x-a2a-delivery-id'], call] as const),
    )
    return eventsOf([...byId.values()])
  }
  await eventually(
    60_000,
    `the webhook of ${name} to receive the last event`,
    () => deliveries().length >= events.length,
  )
  assert.deepEqual(deliveries(), events, `deliveries of ${name}`)
}

/** All replicas return the same task. */
async function assertSameTask({ replicas }: Cluster, followed: readonly Followed[]): Promise<void> {
  const [first] = followed
  assert.ok(first)
  const answers = await Promise.all(
    replicas.map(async ({ url }) => {
      await using agent = await connect(url)
      return JSON.stringify(await agent.task(first.taskId).get())
    }),
  )
  assert.equal(new Set(answers).size, 1)
}

/** A message belongs to one task, however many attempts its turn needed. */
function assertOnce(cluster: Cluster, round: string): void {
  const tasks = new Map<string, string>()
  for (const { task, message } of beginningsOf(cluster, round)) {
    assert.equal(tasks.get(message) ?? task, task, `${message} became two tasks`)
    tasks.set(message, task)
  }
  assert.equal(tasks.size, tasksOfRound)
}

export interface Beginning {
  readonly task: string
  readonly message: string
  readonly attempt: number
  /** The port of the replica. */
  readonly port: number
}

/** All attempts of turns of this round. */
export function beginningsOf(cluster: Cluster, round: string): readonly Beginning[] {
  return cluster.workLines().flatMap((line) => {
    const [action, task = '', message = '', attempt, port] = line.split(' ')
    if (action !== 'begin' || !message.startsWith(`${round}-`)) return []
    return [{ task, message, attempt: Number(attempt), port: Number(port) }]
  })
}

/** Waits until a turn of this round has begun, on `replica` if given. */
export async function untilBegun(cluster: Cluster, round: string, replica?: Replica): Promise<void> {
  await eventually(30_000, `a turn of ${round} to begin`, () =>
    beginningsOf(cluster, round).some(({ port }) => replica === undefined || port === replica.port),
  )
}

/** Waits until another replica has begun an attempt of a turn that `from` had begun. */
export async function untilTakenOver(cluster: Cluster, round: string, from: Replica): Promise<void> {
  await eventually(60_000, `a turn of ${round} to be taken over`, () => {
    const beginnings = beginningsOf(cluster, round)
    const lost = new Set(beginnings.filter(({ port }) => port === from.port).map(({ task }) => task))
    return beginnings.some(({ task, port, attempt }) => attempt > 1 && port !== from.port && lost.has(task))
  })
}
