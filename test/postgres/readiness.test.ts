/** `/readyz` fails within the timeout of a load balancer if the database cannot be used. */
import { serve } from 'dragoman'
import { openPostgresStore } from 'dragoman/stores/postgres'
import { until } from 'dragoman/testing'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { echoAgent } from '../../src/testing/echo-agent.js'
import { freshDatabase } from './database.js'
import { filteringProxy } from './filtering-proxy.js'
import { type PostgresServer, startPostgres } from './server.mjs'

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
}, 60_000)
afterAll(async () => await server[Symbol.asyncDispose](), 60_000)

/** Fails after the timeout of a load balancer. */
async function readiness(url: string): Promise<number> {
  const { status } = await fetch(new URL('/readyz', url), { signal: AbortSignal.timeout(4_000) })
  return status
}

describe('/readyz', () => {
  it('fails while the database is stopped, and succeeds when it is back', async () => {
    await using served = await serve(echoAgent, { store: await freshDatabase(server) })
    expect(await readiness(served.url)).toBe(200)
    await server.stop('immediate')
    expect(await readiness(served.url)).toBe(503)
    expect((await fetch(new URL('/healthz', served.url))).status).toBe(200)
    await server.start()
    await until(async () => (await readiness(served.url)) === 200)
  }, 60_000)

  it('fails while the database is read-only, and succeeds when it is writable again', async () => {
    const address = await freshDatabase(server)
    const name = new URL(address).pathname.slice(1)
    await using served = await serve(echoAgent, { store: address })
    const client = new pg.Client(await server.database('postgres'))
    await client.connect()
    const setReadOnly = async (value: 'on' | 'off') => {
      await client.query(`ALTER DATABASE ${name} SET default_transaction_read_only = ${value}`)
      // Applies to new sessions.
      await client.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1', [name])
    }
    expect(await readiness(served.url)).toBe(200)
    await setReadOnly('on')
    await until(async () => (await readiness(served.url)) === 503)
    // It stays so after the lost connections are replaced.
    for (let n = 0; n < 20; n++) expect(await readiness(served.url)).toBe(503)
    await setReadOnly('off')
    await until(async () => (await readiness(served.url)) === 200)
    await client.end()
  }, 60_000)

  it('fails when the database accepts queries and never responds', async () => {
    let isSilent = false
    await using proxy = await filteringProxy(await freshDatabase(server), () => (isSilent ? 'drop' : 'pass'))
    const store = await openPostgresStore(proxy.address, { statementMs: 300 })
    const served = await serve(echoAgent, { store })
    expect(await readiness(served.url)).toBe(200)
    isSilent = true
    // No concurrent request hangs.
    const answers = await Promise.all(Array.from({ length: 30 }, () => readiness(served.url)))
    expect(new Set(answers)).toEqual(new Set([503]))
    // A drain does not hang either.
    await served.close({ deadlineMs: 0 })
    await store.close()
  }, 60_000)
})
