import { describe, expect, it } from 'vitest'
import { apiKey } from '../auth/static-schemes.js'
import { serveHttp } from '../client/http-server.fixture.js'
import { agent } from '../engine/agent.js'
import { failed } from '../engine/yields.js'
import type { AgentCard } from '../model/agent-card.js'
import { serve } from '../server/serve.js'
import { MemoryStore } from '../stores/memory.js'
import { ann, at, cardFor, type TestRegistry, testRegistry } from './registry.fixture.js'

const key = { namespace: 'public', name: 'echo' }
const probes = { intervalMs: 30_000, retryMs: 5000, timeoutMs: 2000 }

const echo = agent('Echo', async function* ({ text }) {
  if (text === 'fail') yield failed('no')
  else yield text
})

async function cardAt(url: string, headers = {}): Promise<AgentCard> {
  return (await (
    await fetch(`${url}.well-known/agent-card.json`, { headers: { 'a2a-version': '1.0', ...headers } })
  ).json()) as AgentCard
}

const healthOf = (registry: TestRegistry) =>
  registry.find(key, { includeUnhealthy: true }).instances.map(({ health }) => health?.state ?? 'unknown')

describe('health probes', () => {
  it('report an agent that answers as healthy, with the reason', async () => {
    await using served = await serve(echo)
    await using registry = await testRegistry({ probes })
    await registry.publish({ ...key, card: await cardAt(served.url) }, ann)
    expect(healthOf(registry)).toEqual(['unknown'])
    expect(registry.find(key).instances).toHaveLength(1)
    await registry.probeDue()
    expect(healthOf(registry)).toEqual(['healthy'])
    const [instance] = registry.find(key).instances
    expect(instance?.health?.levels).toEqual({ card: 'ok', binding: 'ok' })
    expect(
      await registry.history({ ...key, version: instance?.key.version ?? '', instance: instance?.key.instance ?? '' }),
    ).toMatchObject([{ isHealthy: true, card: 'ok', binding: 'ok' }])
  })

  it.each([false, true])(
    'takes a refusal for want of credentials for an answer; protected card: %s',
    async (protectCard) => {
      await using served = await serve(echo, { auth: [apiKey('secret')], advanced: { protectCard } })
      await using registry = await testRegistry({ probes })
      await registry.publish({ ...key, card: await cardAt(served.url, { 'x-api-key': 'secret' }) }, ann)
      await registry.probeDue()
      expect(healthOf(registry)).toEqual(['healthy'])
      expect(registry.find(key).instances[0]?.health?.levels).toEqual({ card: 'ok', binding: 'ok' })
    },
  )

  it('call only agents that opted in, and use the result', async () => {
    const seen: string[] = []
    const listening = agent('Echo', async function* ({ text }) {
      seen.push(text)
      if (text === 'fail') yield failed('no')
      else yield text
    })
    await using served = await serve(listening)
    await using registry = await testRegistry({ probes: { ...probes, failures: 1 } })
    const card = await cardAt(served.url)
    await registry.publish({ ...key, card }, ann)
    await registry.probeDue()
    expect(seen).toEqual([])
    await registry.publish({ ...key, card, probe: { text: 'ping' } }, ann)
    await registry.probeDue()
    expect(seen).toEqual(['ping'])
    expect(registry.find(key).instances[0]?.health?.state).toBe('healthy')
    await registry.publish({ ...key, card, probe: { text: 'fail' } }, ann)
    await registry.probeDue()
    expect(healthOf(registry)).toEqual(['unhealthy'])
  })

  it('hide an agent after two failures, show it again after a success, and notify subscribers', async () => {
    const store = new MemoryStore()
    await using registry = await testRegistry({ probes, store })
    const first = await serve(echo)
    const port = Number(new URL(first.url).port)
    await registry.publish({ ...key, card: await cardAt(first.url) }, ann)
    await registry.probeDue()
    await first.close()
    registry.clock.ms += 60_000
    await registry.probeDue()
    expect(healthOf(registry)).toEqual(['healthy'])
    registry.clock.ms += 10_000
    await registry.probeDue()
    expect(healthOf(registry)).toEqual(['unhealthy'])
    expect(() => registry.find(key)).toThrow('Agent not found')
    expect((await registry.list({ limit: 10 })).total).toBe(0)
    expect((await registry.list({ limit: 10, includeUnhealthy: true })).total).toBe(1)
    await using _second = await serve(echo, { port })
    registry.clock.ms += 60_000
    await registry.probeDue()
    expect(registry.find(key).instances).toHaveLength(1)
    const log = (await store.records.readAfter('registry', 0, 100)).changes.filter(({ id }) => id.startsWith('h/'))
    expect(log).toMatchObject([{ value: { state: 'healthy' } }])
  })

  it('back off from an agent that keeps failing', async () => {
    await using server = await serveHttp((_, response) => response.writeHead(500).end())
    await using registry = await testRegistry({ probes: { ...probes, maxRetryMs: 40_000 } })
    await registry.publish({ ...key, card: cardFor('Echo', at(`${server.origin}/`)) }, ann)
    const probesUntil = async (ms: number) => {
      let count = 0
      for (let waited = 0; waited < ms; waited += 1000) {
        const before = server.seen.length
        await registry.probeDue()
        if (server.seen.length > before) count += 1
        registry.clock.ms += 1000
      }
      return count
    }
    const early = await probesUntil(60_000)
    const late = await probesUntil(60_000)
    expect(early).toBeGreaterThan(late)
    expect(late).toBeGreaterThanOrEqual(1)
  })

  it('distinguish a web page from an agent', async () => {
    await using server = await serveHttp((_, response) =>
      response.writeHead(200, { 'content-type': 'text/html' }).end('<html>'),
    )
    await using registry = await testRegistry({ probes: { ...probes, failures: 1 } })
    await registry.publish({ ...key, card: cardFor('Echo', at(`${server.origin}/`)) }, ann)
    await registry.probeDue()
    expect(healthOf(registry)).toEqual(['unhealthy'])
  })

  it('keep a limited history', async () => {
    await using server = await serveHttp((_, response) => response.writeHead(500).end())
    await using registry = await testRegistry({ probes: { ...probes, history: 3 } })
    const instance = await registry.publish({ ...key, card: cardFor('Echo', at(`${server.origin}/`)) }, ann)
    for (let n = 0; n < 5; n++) {
      await registry.probeDue()
      registry.clock.ms += 600_000
    }
    expect(await registry.history(instance)).toHaveLength(3)
  })

  it('do not call a URL that resolves to a private network since it was published', async () => {
    await using inside = await serveHttp((_, response) => response.end('{}'))
    const store = new MemoryStore()
    await using open = await testRegistry({ store })
    await open.publish({ ...key, card: cardFor('Echo', at(`${inside.origin}/`)) }, ann)
    await using closed = await testRegistry({ store, allowPrivate: false, probes: { ...probes, failures: 1 } })
    await closed.probeDue()
    expect(inside.seen).toEqual([])
    expect(closed.find(key, { includeUnhealthy: true }).instances[0]?.health).toMatchObject({
      state: 'unhealthy',
      levels: { binding: expect.stringContaining('must not be reached') },
    })
  })

  it('run in one of the processes that share a store', async () => {
    await using server = await serveHttp((_, response) => response.writeHead(500).end())
    const store = new MemoryStore()
    await using first = await testRegistry({ store, probes })
    await using second = await testRegistry({ store, probes })
    await first.publish({ ...key, card: cardFor('Echo', at(`${server.origin}/`)) }, ann)
    await first.probeDue()
    const seen = server.seen.length
    expect(seen).toBeGreaterThan(0)
    await second.probeDue()
    expect(server.seen).toHaveLength(seen)
  })
})
