/**
 * Three replicas on one Postgres database under load. One replica is killed, paused or replaced, or the database
 * restarts. Each time, clients receive every event once and every task ends. No recorded turn runs again, a send with a
 * key runs once, and webhooks receive every event in order.
 */
import pg from 'pg'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { proves } from '../../conformance/proves.js'
import { eventually } from '../hostile/waiting.js'
import { freshDatabase } from '../postgres/database.js'
import { type PostgresServer, startPostgres } from '../postgres/server.mjs'
import { type Hook, openHook } from '../push/hook.js'
import { type Replica, startCluster } from './replicas/cluster.js'
import { underLoad, untilBegun, untilTakenOver } from './replicas/load.js'
import { seeded } from './seeded.js'

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

/** `DRAGOMAN_CRASH_SEED` repeats the choices of an earlier run. The position inside the replicas still varies. */
const seed = Number(process.env.DRAGOMAN_CRASH_SEED ?? Date.now() % 2 ** 31)
const random = seeded(seed)
console.log(`DRAGOMAN_CRASH_SEED=${seed}`)

function randomReplica(replicas: readonly Replica[]): Replica {
  return replicas[Math.floor(random() * replicas.length)] as Replica // a cluster has three replicas
}

describe('three replicas on one database', { timeout: 240_000 }, () => {
  it(proves(['E-2', 'E-4', 'E-9', 'E-10'], 'lose no event when one is killed, twenty times'), async () => {
    await using cluster = await startCluster(await freshDatabase(postgres), { leaseMs })
    for (let round = 0; round < 20; round++) {
      const before = hook.calls.length
      const deliveries = Math.floor(random() * 80)
      await underLoad({ cluster, hook }, `kill${round}`, async () => {
        await untilBegun(cluster, `kill${round}`)
        await eventually(30_000, `${deliveries} deliveries`, () => hook.calls.length >= before + deliveries)
        const victim = randomReplica(cluster.replicas)
        await victim.end()
        await victim.start()
      })
    }
  })

  it(
    proves('E-9', 'continue while one is paused for longer than its lease, and fence it when it resumes'),
    async () => {
      await using cluster = await startCluster(await freshDatabase(postgres), { leaseMs })
      for (let round = 0; round < 3; round++) {
        const paused = randomReplica(cluster.replicas)
        const stop = async () => {
          await untilBegun(cluster, `still${round}`, paused)
          paused.signal('SIGSTOP')
          await untilTakenOver(cluster, `still${round}`, paused)
          paused.signal('SIGCONT')
        }
        await underLoad({ cluster, hook }, `still${round}`, stop, { chunkMs: 200 })
      }
    },
  )

  it(proves('E-12', 'are replaced one after another without errors for clients'), async () => {
    await using cluster = await startCluster(await freshDatabase(postgres), { leaseMs })
    await underLoad({ cluster, hook }, 'rolling', async () => {
      for (const replica of cluster.replicas) {
        await replica.end('SIGTERM')
        await replica.start()
      }
    })
  })

  it(proves('E-2', 'survive a restart of the database and the loss of every connection'), async () => {
    const address = await freshDatabase(postgres)
    await using cluster = await startCluster(address, { leaseMs })
    await underLoad({ cluster, hook }, 'cut', async () => {
      await untilBegun(cluster, 'cut')
      const client = new pg.Client(address)
      await client.connect()
      await client.query(
        'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()',
      )
      await client.end()
    })
    await underLoad({ cluster, hook }, 'restart', async () => {
      await untilBegun(cluster, 'restart')
      await postgres.stop('immediate')
      await postgres.start()
    })
  })
})
