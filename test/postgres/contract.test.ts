import { readFileSync } from 'node:fs'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { creation } from '../../src/stores/contract-steps.js'
import { openPostgresStore } from '../../src/stores/postgres/index.js'
import { storeContract } from '../../src/stores/store.contract.js'
import type { Commit } from '../../src/stores/store.js'
import { assertUpgraded } from '../../src/stores/upgrade.contract.js'
import { freshDatabase, storeWithClock } from './database.js'
import { type PostgresServer, startPostgres } from './server.mjs'

let server: PostgresServer

beforeAll(async () => {
  server = await startPostgres()
}, 60_000)
afterAll(async () => await server[Symbol.asyncDispose](), 60_000)

describe('postgres store', () => storeContract({ describe, it }, ({ now }) => storeWithClock(server, now)))

describe('a database of the first schema', () => {
  it('keeps its tasks, leases, webhooks, keys and records when it is opened', async () => {
    const address = await freshDatabase(server)
    const old = new pg.Client(address)
    await old.connect()
    await old.query(readFileSync(new URL('../fixtures/stores/postgres-schema-1.sql', import.meta.url), 'utf8'))
    await old.end()
    const store = await openPostgresStore(address)
    await assertUpgraded(store, { keepsLeases: true })
    await store.close()
  })
})

describe('commits in postgres', () => {
  it('are reported in groups, with their duration', async () => {
    const store = await storeWithClock(server, () => 1_000_000)
    const commits: Commit[] = []
    store.watchCommits((commit) => commits.push(commit))
    await Promise.all(Array.from({ length: 50 }, (_, n) => store.append(creation(`t${n}`))))
    expect(commits.reduce((sum, { steps }) => sum + steps, 0)).toBe(50)
    expect(commits.length).toBeLessThan(50)
    expect(commits.every(({ durationMs }) => durationMs > 0)).toBe(true)
    await store.close()
  })
})
