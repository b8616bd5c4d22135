/** Several servers on one database share the deliveries, and repeat none. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openPostgresStore } from 'dragoman/stores/postgres'
import { openSqliteStore } from 'dragoman/stores/sqlite'
import { until } from 'dragoman/testing'
import { expect, it } from 'vitest'
import type { CompleteStore } from '../../src/stores/store.js'
import { freshDatabase } from '../postgres/database.js'
import { startPostgres } from '../postgres/server.mjs'
import { distinct, eventsOf, openHook } from './hook.js'
import { pushServer } from './served.js'

interface SharedPlace extends AsyncDisposable {
  readonly stores: readonly CompleteStore[]
}

const places: Readonly<Record<string, () => Promise<SharedPlace>>> = {
  file: async () => {
    const folder = mkdtempSync(join(tmpdir(), 'dragoman-test-'))
    const stores = await Promise.all([1, 2].map(() => openSqliteStore(join(folder, 'tasks.sqlite'))))
    return {
      stores,
      async [Symbol.asyncDispose]() {
        for (const store of stores) await store.close()
        rmSync(folder, { recursive: true })
      },
    }
  },
  database: async () => {
    const postgres = await startPostgres()
    const address = await freshDatabase(postgres)
    const stores = await Promise.all([1, 2].map(() => openPostgresStore(address)))
    return {
      stores,
      async [Symbol.asyncDispose]() {
        for (const store of stores) await store.close()
        await postgres[Symbol.asyncDispose]()
      },
    }
  },
}

it.each(Object.entries(places))(
  'two servers on one %s deliver every event once and in order',
  { timeout: 60_000 },
  async (_name, makePlace) => {
    await using place = await makePlace()
    await using hook = await openHook()
    // Only a call that times out is repeated, and here none does.
    const push = { timeoutMs: 30_000 }
    const servers = await Promise.all(place.stores.map((store) => pushServer({ store, push })))
    const tasks = await Promise.all(
      Array.from({ length: 40 }, (_, n) => servers[n % 2]?.send('chunks 20', { url: `${hook.url}/${n}` })),
    )
    await until(() => distinct(hook.calls).length === 40 * 23, { deadlineMs: 30_000 })
    for (const server of servers) await server.handler.close({ deadlineMs: 5000 })
    expect(hook.calls).toHaveLength(40 * 23)
    for (const n of tasks.keys()) {
      const events = eventsOf(hook.calls.filter(({ path }) => path === `/hook/${n}`))
      expect(events.slice(2, -1)).toEqual(Array.from({ length: 20 }, (_, chunk) => `artifact chunk ${chunk + 1} `))
    }
  },
)

it('cursors of a dead server are taken over by the next one at once', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'dragoman-test-'))
  const path = join(folder, 'tasks.sqlite')
  const store = await openSqliteStore(path)
  try {
    await using hook = await openHook()
    const first = await pushServer({ store, push: { allowHosts: [], lookup: async () => [] } })
    await first.send('hello', { url: 'https://hook.example/', id: 'mine' })
    await first.handler.close({ deadlineMs: 0 })
    const config = { id: 'mine', taskId: '', url: hook.url }
    const { tasks } = await first.call<{ tasks: { id: string }[] }>('ListTasks', {})
    const key = { agent: 'Echo', id: tasks[0]?.id ?? '' }
    await store.deliveries.putConfig(key, { config: { ...config, taskId: key.id }, dialect: 'v1', maxConfigs: 9 })
    // Claimed for an hour by a dead process of this machine.
    const { processIdentity } = await import('../../src/server/process-identity.js')
    const owner = processIdentity().replace(/^([^/]+)\/\d+\//, '$1/4194305/')
    const claim = { agents: ['Echo'], lease: { owner, ttlMs: 3_600_000 }, limit: 1 }
    expect((await store.deliveries.claim(claim)).cursors).toHaveLength(1)
    await using _second = await pushServer({ store })
    expect(eventsOf(await hook.received(3))).toEqual(['task WORKING', 'artifact hello', 'status COMPLETED'])
    await until(async () => (await store.leases.owners()).length === 0)
  } finally {
    await store.close()
    rmSync(folder, { recursive: true })
  }
})
