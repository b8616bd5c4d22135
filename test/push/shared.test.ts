/** Several servers on one database share the work, and none of it is done twice. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openSqliteStore } from 'dragoman/stores/sqlite'
import { until } from 'dragoman/testing'
import { expect, it } from 'vitest'
import { distinct, openHook, toldBy } from './hook.js'
import { pushServer } from './served.js'

it('two servers on one file tell each webhook everything, in order', { timeout: 60_000 }, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'dragoman-test-'))
  const stores = await Promise.all([1, 2].map(() => openSqliteStore(join(folder, 'tasks.sqlite'))))
  try {
    await using hook = await openHook()
    const servers = await Promise.all(stores.map((store) => pushServer({ store })))
    const tasks = await Promise.all(
      Array.from({ length: 40 }, (_, n) => servers[n % 2]?.send('chunks 20', { url: `${hook.url}/${n}` })),
    )
    await until(() => distinct(hook.calls).length === 40 * 23, { deadlineMs: 30_000 })
    for (const server of servers) await server.handler.close({ deadlineMs: 5000 })
    // A call whose answer came too late is made again: that is all there may be of repetitions.
    expect(hook.calls.length).toBeLessThan(40 * 23 * 1.1)
    const calls = distinct(hook.calls)
    expect(calls).toHaveLength(40 * 23)
    for (const n of tasks.keys()) {
      const told = toldBy(calls.filter(({ path }) => path === `/hook/${n}`))
      expect(told.slice(2, -1)).toEqual(Array.from({ length: 20 }, (_, chunk) => `artifact chunk ${chunk + 1} `))
    }
  } finally {
    for (const store of stores) await store.close()
    rmSync(folder, { recursive: true })
  }
})

it('what a dead server held is taken over by the next one at once', async () => {
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
    await store.putPushConfig(key, { config: { ...config, taskId: key.id }, dialect: 'v1', most: 9 })
    // Claimed for an hour by a process of this machine that is not there any more.
    const { processIdentity } = await import('../../src/server/process-identity.js')
    const owner = processIdentity().replace(/^([^/]+)\/\d+\//, '$1/4194305/')
    const claim = { agents: ['Echo'], lease: { owner, ttlMs: 3_600_000 }, limit: 1 }
    expect((await store.claimLanes(claim)).lanes).toHaveLength(1)
    await using _second = await pushServer({ store })
    expect(toldBy(await hook.received(3))).toEqual(['task WORKING', 'artifact hello', 'status COMPLETED'])
    await until(async () => (await store.leaseOwners()).length === 0)
  } finally {
    await store.close()
    rmSync(folder, { recursive: true })
  }
})
