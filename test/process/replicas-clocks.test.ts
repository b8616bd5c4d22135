/**
 * Three replicas whose clocks differ by minutes. Leases use the clock of the database only, so no turn is taken over
 * early or late. As in `replicas.test.ts`, no event is lost or repeated.
 */
import assert from 'node:assert/strict'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { proves } from '../../conformance/proves.js'
import { freshDatabase } from '../postgres/database.js'
import { type PostgresServer, startPostgres } from '../postgres/server.mjs'
import { type Hook, openHook } from '../push/hook.js'
import { startCluster } from './replicas/cluster.js'
import { beginningsOf, underLoad, untilBegun, untilTakenOver } from './replicas/load.js'

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

/** If replicas used their own clocks, leases would expire at once or never during this test. */
describe('three replicas whose clocks are minutes apart', { timeout: 240_000 }, () => {
  const start = async (leaseMs: number) =>
    await startCluster(await freshDatabase(postgres), { leaseMs, clockErrorsMs: [-fiveMinutesMs, 0, fiveMinutesMs] })

  it(proves('E-9', "do not take over each other's turns while all are alive"), async () => {
    await using cluster = await start(longLeaseMs)
    const busy = new Set<number>()
    for (let round = 0; round < 3; round++) {
      // Turns are long enough that every replica looks for expired leases meanwhile, which it does three times per lease.
      await underLoad({ cluster, hook }, `calm${round}`, async () => undefined, { chunkMs: longLeaseMs / 40 })
      for (const { attempt, message, port } of beginningsOf(cluster, `calm${round}`)) {
        assert.equal(attempt, 1, `${message} was taken over from a live replica`)
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
        await untilBegun(cluster, round, victim)
        await victim.end()
        await victim.start()
      })
      const beginnings = beginningsOf(cluster, round)
      for (const { task, message, attempt } of beginnings) {
        const first = beginnings.find((each) => each.task === task && each.attempt === 1)
        // Undefined if the replica was killed between the commit and the first line of the handler.
        if (attempt > 1 && first) assert.equal(first.port, victim.port, `${message} was taken over from a live replica`)
      }
    }
  })

  it(proves('E-9', 'take over from a replica that is paused for longer than its lease, and fence it'), async () => {
    await using cluster = await start(shortLeaseMs)
    for (const [place, paused] of cluster.replicas.entries()) {
      const round = `still${place}`
      const stop = async () => {
        await untilBegun(cluster, round, paused)
        paused.signal('SIGSTOP')
        await untilTakenOver(cluster, round, paused)
        paused.signal('SIGCONT')
      }
      // Turns are long enough that the replica is paused during one, even on a busy machine.
      await underLoad({ cluster, hook }, round, stop, { chunkMs: 200 })
    }
  })
})
