/**
 * Three replicas on one Postgres, under load, while one of them is killed, stands still, or is replaced, and while
 * the database restarts. Each time: no event that a client saw is lost or repeated, every task ends, no turn's
 * outcome is made twice once it is recorded, a send with a key ran once, and webhooks hear of everything, in order.
 */
import pg from 'pg'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { proves } from '../../conformance/proves.js'
import { eventually } from '../hostile/waiting.js'
import { freshDatabase } from '../postgres/database.js'
import { type PostgresServer, startPostgres } from '../postgres/server.mjs'
import { type Hook, openHook } from '../push/hook.js'
import { type Replica, startCluster } from './replicas/cluster.js'
import { begun, takenOver, underLoad } from './replicas/load.js'
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

/** `DRAGOMAN_CRASH_SEED` repeats the choices of an earlier run. The moments inside the replicas differ. */
const seed = Number(process.env.DRAGOMAN_CRASH_SEED ?? Date.now() % 2 ** 31)
const random = seeded(seed)
console.log(`DRAGOMAN_CRASH_SEED=${seed}`)

function any(replicas: readonly Replica[]): Replica {
  return replicas[Math.floor(random() * replicas.length)] as Replica // there are three
}

describe('three replicas on one database', { timeout: 240_000 }, () => {
  it(proves(['E-2', 'E-4', 'E-9', 'E-10'], 'lose no event when one is killed, twenty times'), async () => {
    await using cluster = await startCluster(await freshDatabase(postgres), { leaseMs })
    for (let round = 0; round < 20; round++) {
      const before = hook.calls.length
      const deliveries = Math.floor(random() * 80)
      await underLoad({ cluster, hook }, `kill${round}`, async () => {
        await begun(cluster, `kill${round}`)
        await eventually(30_000, `${deliveries} deliveries`, () => hook.calls.length >= before + deliveries)
        const victim = any(cluster.replicas)
        await victim.end()
        await victim.start()
      })
    }
  })

  it(
    proves('E-9', 'go on when one stands still for longer than its lease, and it is fenced out when it wakes'),
    async () => {
      await using cluster = await startCluster(await freshDatabase(postgres), { leaseMs })
      for (let round = 0; round < 3; round++) {
        const sleeper = any(cluster.replicas)
        const stop = async () => {
          await begun(cluster, `still${round}`, sleeper)
          sleeper.signal('SIGSTOP')
          await takenOver(cluster, `still${round}`, sleeper)
          sleeper.signal('SIGCONT')
        }
        await underLoad({ cluster, hook }, `still${round}`, stop, { chunkMs: 200 })
      }
    },
  )

  it(proves('E-12', 'are replaced one after the other without errors for clients'), async () => {
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
      await begun(cluster, 'cut')
      const client = new pg.Client(address)
      await client.connect()
      await client.query(
        'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()',
      )
      await client.end()
    })
    await underLoad({ cluster, hook }, 'restart', async () => {
      await begun(cluster, 'restart')
      await postgres.stop('immediate')
      await postgres.start()
    })
  })
})
