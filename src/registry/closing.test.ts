/** Background work of a registry that closes. */
import { describe, expect, it } from 'vitest'
import { serveHttp } from '../client/http-server.fixture.js'
import { gate, until } from '../testing/wait.js'
import { ann, at, cardFor, testRegistry } from './registry.fixture.js'

describe('a registry that closes', () => {
  it('does not wait for an agent that never answers its probe', async () => {
    await using silent = await serveHttp(() => undefined)
    const registry = await testRegistry({ probes: { timeoutMs: 10 * 60_000 } })
    const card = cardFor('Silent', at(`${silent.origin}/`))
    await registry.publish({ namespace: 'public', name: 'silent', card }, ann)
    await until(() => silent.seen.length > 0)
    await registry.close()
  })

  it('waits for the running sweep, and never runs two at once', async () => {
    const registry = await testRegistry({ sweepMs: 1 })
    const { records } = registry.store
    const expire = records.expire.bind(records)
    const { opened, open } = gate()
    let sweeps = 0
    Object.assign(records, {
      async expire(...args: Parameters<typeof expire>) {
        sweeps += 1
        await opened
        return await expire(...args)
      },
    })
    await until(() => sweeps > 0)
    const joined = registry.sweep()
    let isClosed = false
    const closing = registry.close().then(() => {
      isClosed = true
    })
    for (let turns = 0; turns < 20; turns++) await new Promise((resolve) => setImmediate(resolve))
    expect([sweeps, isClosed]).toEqual([1, false])
    open()
    await Promise.all([closing, joined])
  })
})
