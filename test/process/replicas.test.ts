/**
 * Three replicas on one Postgres, under load, while one of them is killed, stands still, or is replaced, and while
 * the database restarts. Each time: no event that a client saw is lost or repeated, every task ends, no turn's
 * outcome is made twice once it is recorded, a send with a key ran once, and webhooks hear of everything, in order.
 */
import assert from 'node:assert/strict'
import { connect } from 'dragoman/client'
import pg from 'pg'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { proves } from '../../conformance/proves.js'
import { eventually } from '../hostile/waiting.js'
import { freshDatabase } from '../postgres/database.js'
import { type PostgresServer, startPostgres } from '../postgres/server.mjs'
import { type Hook, openHook, toldBy } from '../push/hook.js'
import { type Cluster, type Replica, startCluster } from './replicas/cluster.js'

let postgres: PostgresServer
let hook: Hook
beforeAll(async () => {
  postgres = await startPostgres()
  hook = await openHook()
})
afterAll(async () => {
  await hook[Symbol.asyncDispose]()
  await postgres[Symbol.asyncDispose]()
})

const leaseMs = 1_500

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
async function follow(url: string, name: string, text: string): Promise<Followed> {
  await using agent = await connect(url, { retry: { attempts: 40, longestDelayMs: 2_000 }, breaker: { failures: 0 } })
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
    told.push(toldBy([{ text: JSON.stringify(event) }])[0] ?? '')
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

/** Load, and something that happens in the midst of it. */
async function underLoad(cluster: Cluster, round: string, happens: () => Promise<void>): Promise<void> {
  const count = 15
  const streams = Array.from({ length: 8 }, (_, n) => follow(cluster.url, `${round}-${n}`, `count ${count} 40`))
  const [followed] = await Promise.all([Promise.all(streams), happens()])
  for (const each of followed) assertWhole(each, count)
  assert.equal(new Set(followed.map(({ taskId }) => taskId)).size, followed.length)
  for (const each of followed) await assertToldByWebhook(each)
  await assertInStep(cluster, followed)
  assertOnce(cluster, round)
}

/** At least once, and in order: repetitions have the id of what they repeat. */
async function assertToldByWebhook({ name, told }: Followed): Promise<void> {
  const deliveries = () => {
    const byId = new Map(
      hook.calls
        .filter(({ path }) => path.endsWith(`?${name}`))
        .map((call) => [call.headers['x-a2a-delivery-id'], call] as const),
    )
    return toldBy([...byId.values()])
  }
  await eventually(20_000, `the webhook of ${name} to hear of the end`, () => deliveries().length >= told.length)
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
  for (const line of cluster.work()) {
    const [, task = '', message = ''] = line.split(' ')
    if (!message.startsWith(`${round}-`)) continue
    assert.equal(tasks.get(message) ?? task, task, `${message} became two tasks`)
    tasks.set(message, task)
  }
  assert.equal(tasks.size, 8)
}

const soon = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

function any(replicas: readonly Replica[]): Replica {
  return replicas[Math.floor(Math.random() * replicas.length)] as Replica // there are three
}

describe('three replicas on one database', { timeout: 240_000 }, () => {
  it(proves(['E-2', 'E-4', 'E-9', 'E-10'], 'lose nothing when one is killed, twenty times over'), async () => {
    await using cluster = await startCluster(await freshDatabase(postgres), 3, leaseMs)
    for (let round = 0; round < 20; round++) {
      await underLoad(cluster, `kill${round}`, async () => {
        await soon(50 + Math.random() * 500)
        const victim = any(cluster.replicas)
        await victim.end()
        await victim.start()
      })
    }
  })

  it(
    proves('E-9', 'go on when one stands still for longer than its lease, and it is fenced out when it wakes'),
    async () => {
      await using cluster = await startCluster(await freshDatabase(postgres), 3, leaseMs)
      for (let round = 0; round < 3; round++) {
        const sleeper = any(cluster.replicas)
        await underLoad(cluster, `still${round}`, async () => {
          await soon(200)
          sleeper.signal('SIGSTOP')
          await soon(leaseMs * 2)
          sleeper.signal('SIGCONT')
        })
      }
    },
  )

  it(proves('E-12', 'are replaced one after the other, and nobody notices'), async () => {
    await using cluster = await startCluster(await freshDatabase(postgres), 3, leaseMs)
    await underLoad(cluster, 'rolling', async () => {
      for (const replica of cluster.replicas) {
        await replica.end('SIGTERM')
        await replica.start()
      }
    })
  })

  it(proves('E-2', 'outlive a restart of the database and the loss of every connection'), async () => {
    const address = await freshDatabase(postgres)
    await using cluster = await startCluster(address, 3, leaseMs)
    await underLoad(cluster, 'cut', async () => {
      await soon(200)
      const client = new pg.Client(address)
      await client.connect()
      await client.query(
        'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()',
      )
      await client.end()
    })
    await underLoad(cluster, 'restart', async () => {
      await soon(200)
      await postgres.stop('immediate')
      await postgres.start()
    })
  })
})
