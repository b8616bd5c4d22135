/** A registry on Postgres: processes share one catalog, which survives restarts of a process and of the database. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { registryClient, type ServedRegistry, serveRegistry } from '../../src/registry/index.js'
import { cardFor } from '../../src/registry/registry.fixture.js'
import { eventually } from '../hostile/waiting.js'
import { freshDatabase } from './database.js'
import { type PostgresServer, startPostgres } from './server.mjs'

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
}, 60_000)
afterAll(async () => await server[Symbol.asyncDispose](), 60_000)

const open = (store: string): Promise<ServedRegistry> => serveRegistry({ store, allowPrivate: true, probes: false })

describe('a registry on Postgres', () => {
  it('publishes, finds, notifies, and has everything after a restart', async () => {
    const address = await freshDatabase(server)
    await using here = await open(address)
    const there = await open(address)
    const [one, other] = [registryClient(here.url), registryClient(there.url)]

    const watch = other.watch({ after: 0 })
    expect((await watch.next()).value).toMatchObject({ event: { type: 'ready' } })
    const card = {
      ...cardFor('Wetter', { description: 'Sagt 天气预报 an: \u0000 and \ud83d' }),
      'x-own': { deep: [1] },
    }
    await one.publish('weather', { card, tags: ['forecast'], ttlSeconds: 60, instance: 'one' })
    expect((await watch.next()).value).toMatchObject({ event: { type: 'agent', name: 'weather', latest: '1.0.0' } })
    const published = (await watch.next()).value
    expect(published).toMatchObject({ event: { type: 'published', instance: 'one', tags: ['forecast'] } })

    for (const client of [one, other]) {
      await eventually(10_000, 'the agent', async () => (await client.list({ text: '天气' })).total === 1)
      expect((await client.get('weather'))?.instances[0]?.card).toEqual(card)
    }
    await there.close()

    await one.publish('weather', { card: { ...card, version: '2' }, instance: 'two' })
    await one.withdraw('weather', { version: '1.0.0' })
    await using again = await open(address)
    const back = registryClient(again.url)
    expect(await back.get('weather')).toMatchObject({ latest: '2', instances: [{ instance: 'two' }] })
    expect((await back.list({ tag: 'forecast' })).total).toBe(0)
    const missed: string[] = []
    for await (const { event } of back.watch({ after: published?.revision ?? 0 })) {
      missed.push(event.type)
      if (missed.length === 4) break
    }
    expect(missed[0]).toBe('ready')
    expect(missed.slice(1).sort()).toEqual(['agent', 'published', 'withdrawn'])
  })

  it('continues after an outage of the database', async () => {
    await using own = await startPostgres()
    const address = await freshDatabase(own)
    await using served = await open(address)
    const client = registryClient(served.url)
    await client.publish('a', { card: cardFor('a') })
    await own.stop('immediate')
    // Recent queries are cached. Other calls fail as unavailable, not as internal errors.
    expect((await client.list()).agents.map(({ name }) => name)).toEqual(['a'])
    const body = JSON.stringify({ card: cardFor('b') })
    const refusals = await Promise.all([
      fetch(`${served.url}/v1/agents/public/a/card`),
      fetch(`${served.url}/v1/agents/public/b`, {
        method: 'PUT',
        body,
        headers: { 'content-type': 'application/json' },
      }),
    ])
    for (const { status, headers } of refusals) expect([status, headers.get('retry-after')]).toEqual([503, '1'])
    await own.start()
    await eventually(10_000, 'the database', async () => {
      return await client.publish('b', { card: cardFor('b') }).catch(() => undefined)
    })
    expect((await client.list()).agents.map(({ name }) => name).sort()).toEqual(['a', 'b'])
  })
})
