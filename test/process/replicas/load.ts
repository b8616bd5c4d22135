/** Streams that go on whatever happens to the replicas, and what must be true of them afterwards. */
import assert from 'node:assert/strict'
import { connect } from 'dragoman/client'
import { eventually } from '../../hostile/waiting.js'
import { eventsOf, type Hook } from '../../push/hook.js'
import type { Cluster, Replica } from './cluster.js'

interface Followed {
  readonly name: string
  /** The events, in short, as the stream told them. */
  readonly told: readonly string[]
  readonly taskId: string
  readonly seqs: readonly number[]
  readonly state: string
  readonly text: string
}

/** One send, streamed to its end over however many connections and replicas it takes. */
async function follow({ hook, cluster: { url } }: Scene, name: string, text: string): Promise<Followed> {
  await using agent = await connect(url, { retry: { attempts: 40, maxDelayMs: 2_000 }, breaker: { failures: 0 } })
  const seqs: number[] = []
  const chunks: string[] = []
  let taskId = ''
  let state = ''
  const told: string[] = []
  const message = { messageId: name, role: 'ROLE_USER' as const, parts: [{ text }] }
  const configuration = { taskPushNotificationConfig: { url: `${hook.url}?${name}` } }
  const options = { idempotencyKey: name }
  for await (const { event, seq } of agent.sendStreamingMessage({ message, configuration }, options)) {
    if (seq !== undefined) seqs.push(seq)
    told.push(eventsOf([{ text: JSON.stringify(event) }])[0] ?? '')
    if ('task' in event) {
      taskId = event.task.id
      state = event.task.status.state
    } else if ('statusUpdate' in event) state = event.statusUpdate.status.state
    else if ('artifactUpdate' in event) {
      // Another attempt begins its artifact anew.
      if (!event.artifactUpdate.append) chunks.length = 0
      for (const part of event.artifactUpdate.artifact.parts) if ('text' in part) chunks.push(part.text)
    }
  }
  return { name, told, taskId, seqs, state, text: chunks.join('') }
}

function assertWhole({ seqs, state, text, taskId }: Followed, count: number): void {
  assert.equal(state, 'TASK_STATE_COMPLETED', `task ${taskId}`)
  for (let place = 1; place < seqs.length; place++) {
    assert.ok((seqs[place] as number) > (seqs[place - 1] as number), `events of ${taskId} in order: ${seqs.join(' ')}`)
  }
  assert.equal(text, Array.from({ length: count }, (_, n) => `${n + 1} `).join(''), `the artifact of ${taskId}`)
}

export interface Scene {
  readonly cluster: Cluster
  /** Hears of every task. */
  readonly hook: Hook
}

const tasksOfRound = 8

/** Load, and something that happens in the midst of it. Each task takes fifteen times `chunkMs` when nothing happens. */
export async function underLoad(
  scene: Scene,
  round: string,
  happens: () => Promise<void>,
  { chunkMs = 40 }: { readonly chunkMs?: number } = {},
): Promise<void> {
  const { cluster, hook } = scene
  const count = 15
  const text = `count ${count} ${chunkMs}`
  const streams = Array.from({ length: tasksOfRound }, (_, n) => follow(scene, `${round}-${n}`, text))
  const [followed] = await Promise.all([Promise.all(streams), happens()])
  for (const each of followed) assertWhole(each, count)
  assert.equal(new Set(followed.map(({ taskId }) => taskId)).size, followed.length)
  for (const each of followed) await assertToldByWebhook(hook, each)
  await assertInStep(cluster, followed)
  assertOnce(cluster, round)
}

/** At least once, and in order: repetitions have the id of what they repeat. */
async function assertToldByWebhook(hook: Hook, { name, told }: Followed): Promise<void> {
  const deliveries = () => {
    const byId = new Map(
      hook.calls
        .filter(({ path }) => path.endsWith(`?${name}`))
        .map((call) => [call.headers['x-a2a-delivery-id'], call] as const),
    )
    return eventsOf([...byId.values()])
  }
  await eventually(60_000, `the webhook of ${name} to hear of the end`, () => deliveries().length >= told.length)
  assert.deepEqual(deliveries(), told, `deliveries of ${name}`)
}

/** Whatever replica is asked, the answer is the same. */
async function assertInStep({ replicas }: Cluster, followed: readonly Followed[]): Promise<void> {
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

/** A message belongs to one task, however often its turn had to begin. */
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

/** Every time that a turn of this round was begun. */
export function beginningsOf(cluster: Cluster, round: string): readonly Beginning[] {
  return cluster.work().flatMap((line) => {
    const [what, task = '', message = '', attempt, port] = line.split(' ')
    if (what !== 'begin' || !message.startsWith(`${round}-`)) return []
    return [{ task, message, attempt: Number(attempt), port: Number(port) }]
  })
}

/** Until a turn of this round is under way, here or anywhere. */
export async function begun(cluster: Cluster, round: string, replica?: Replica): Promise<void> {
  await eventually(30_000, `a turn of ${round} to begin`, () =>
    beginningsOf(cluster, round).some(({ port }) => replica === undefined || port === replica.port),
  )
}

/** Until another replica has begun anew what this one had begun. */
export async function takenOver(cluster: Cluster, round: string, from: Replica): Promise<void> {
  await eventually(60_000, `a turn of ${round} to be taken over`, () => {
    const beginnings = beginningsOf(cluster, round)
    const lost = new Set(beginnings.filter(({ port }) => port === from.port).map(({ task }) => task))
    return beginnings.some(({ task, port, attempt }) => attempt > 1 && port !== from.port && lost.has(task))
  })
}
