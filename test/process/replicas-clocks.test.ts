/**
 * Three replicas whose clocks are minutes apart: who may run what, and when somebody is given up, is for the database to
 * say. Also what is true of replicas whose clocks agree (`replicas.test.ts`): nothing is lost or repeated.
 */
import assert from 'node:assert/strict'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { proves } from '../../conformance/proves.js'
import { freshDatabase } from '../postgres/database.js'
import { type PostgresServer, startPostgres } from '../postgres/server.mjs'
import { type Hook, openHook } from '../push/hook.js'
import { startCluster } from './replicas/cluster.js'
import { beginningsOf, begun, takenOver, underLoad } from './replicas/load.js'

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

/** Long enough that no replica loses its lease on a busy machine. */
const longLeaseMs = 6_000
/** Short, so that the test waits briefly for its expiry. */
const shortLeaseMs = 1_500
const fiveMinutesMs = 300_000

/** A lease that a replica's clock decided about would be stolen at once, or kept for longer than this test may take. */
describe('three replicas whose clocks are minutes apart', { timeout: 240_000 }, () => {
  const start = async (leaseMs: number) =>
    await startCluster(await freshDatabase(postgres), { leaseMs, clockErrorsMs: [-fiveMinutesMs, 0, fiveMinutesMs] })

  it(proves('E-9', "do not take over each other's turns while all are alive"), async () => {
    await using cluster = await start(longLeaseMs)
    const busy = new Set<number>()
    for (let round = 0; round < 3; round++) {
      // Turns so long that each replica looks for work that nobody holds meanwhile, as it does three times in a lease.
      await underLoad({ cluster, hook }, `calm${round}`, async () => undefined, { chunkMs: longLeaseMs / 40 })
      for (const { attempt, message, port } of beginningsOf(cluster, `calm${round}`)) {
        assert.equal(attempt, 1, `${message} was taken from a replica that lives`)
        busy.add(port)
      }
    }
    assert.equal(busy.size, 3, 'every replica had work')
  })

  it(proves(['E-9', 'E-10'], 'take over only the turns of a dead replica'), async () => {
    await using cluster = await start(longLeaseMs)
    for (const [place, victim] of cluster.replicas.entries()) {
      const round = `dead${place}`
      await underLoad({ cluster, hook }, round, async () => {
        await begun(cluster, round, victim)
        await victim.end()
        await victim.start()
      })
      const beginnings = beginningsOf(cluster, round)
      for (const { task, message, attempt } of beginnings) {
        const first = beginnings.find((each) => each.task === task && each.attempt === 1)
        // Absent: it died between the commit and the first line of the agent.
        if (attempt > 1 && first)
          assert.equal(first.port, victim.port, `${message} was taken from a replica that lives`)
      }
    }
  })

  it(proves('E-9', 'take over from a replica that is paused for longer than its lease, and fence it'), async () => {
    await using cluster = await start(shortLeaseMs)
    for (const [place, sleeper] of cluster.replicas.entries()) {
      const round = `still${place}`
      const stop = async () => {
        await begun(cluster, round, sleeper)
        sleeper.signal('SIGSTOP')
        await takenOver(cluster, round, sleeper)
        sleeper.signal('SIGCONT')
      }
      // Turns so long that it is in the midst of one, however busy the machine.
      await underLoad({ cluster, hook }, round, stop, { chunkMs: 200 })
    }
  })
})
