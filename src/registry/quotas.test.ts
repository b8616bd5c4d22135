import { describe, expect, it } from 'vitest'
import type { AgentCard } from '../model/agent-card.js'
import { admin, ann, bob, cardFor, open, type TestRegistry, testRegistry } from './registry.fixture.js'
import { ResponseCache } from './routes/response-cache.js'

const KB = 1024
/** A card with an unknown member. */
const heavy = (name: string, bytes: number, more: Partial<AgentCard> = {}) =>
  ({ ...cardFor(name, more), 'x-ballast': 'x'.repeat(bytes) }) as AgentCard

const publish = (registry: TestRegistry, name: string, card: AgentCard, who = ann, instance = 'one') =>
  registry.publish({ namespace: 'public', name, card, instance }, who)

describe('quotas in bytes', () => {
  it('apply per owner, over all agents, versions and instances', async () => {
    await using registry = await testRegistry({ limits: { maxBytesPerOwner: 100 * KB } })
    const refused = { code: 'QUOTA', message: expect.stringContaining('102400 bytes') }
    await publish(registry, 'a', heavy('a', 40 * KB))
    await publish(registry, 'a', heavy('a', 40 * KB), ann, 'two')
    await expect(publish(registry, 'a', heavy('a', 20 * KB), ann, 'three')).rejects.toMatchObject(refused)
    await expect(publish(registry, 'a', heavy('a', 20 * KB, { version: '2' }))).rejects.toMatchObject(refused)
    await expect(publish(registry, 'b', heavy('b', 20 * KB))).rejects.toMatchObject(refused)
    await publish(registry, 'b', heavy('b', 20 * KB), bob)
  })

  it('do not count replaced and removed cards', async () => {
    await using registry = await testRegistry({ limits: { maxBytesPerOwner: 100 * KB } })
    for (let n = 0; n < 3; n++) await publish(registry, 'a', heavy('a', 80 * KB))
    await publish(registry, 'a', heavy('a', 10 * KB))
    await publish(registry, 'b', heavy('b', 70 * KB))
    await registry.withdraw({ namespace: 'public', name: 'b' }, ann)
    await publish(registry, 'c', heavy('c', 70 * KB))
  })

  it('apply in total, and still let smaller cards replace larger ones', async () => {
    await using registry = await testRegistry({ limits: { maxBytes: 100 * KB } })
    await publish(registry, 'a', heavy('a', 60 * KB))
    const refused = { code: 'QUOTA', message: 'The registry is full' }
    await expect(publish(registry, 'b', heavy('b', 60 * KB), bob)).rejects.toMatchObject(refused)
    await expect(publish(registry, 'b', heavy('b', 60 * KB), admin)).rejects.toMatchObject(refused)
    await publish(registry, 'a', heavy('a', 50 * KB))
  })

  it('are restored after a restart', async () => {
    await using first = await testRegistry()
    await publish(first, 'a', heavy('a', 60 * KB))
    await using second = await testRegistry({ store: first.store, limits: { maxBytesPerOwner: 100 * KB } })
    await expect(publish(second, 'b', heavy('b', 60 * KB))).rejects.toMatchObject({ code: 'QUOTA' })
  })

  it('count a minimum per card, and concurrent publications', async () => {
    await using registry = await testRegistry({ limits: { maxBytesPerOwner: 10 * KB, maxAgentsPerOwner: 2 } })
    const many = (one: (n: number) => Promise<unknown>) =>
      Promise.allSettled(Array.from({ length: 20 }, (_, n) => one(n)))
    await publish(registry, 'a', cardFor('a'))
    await many((n) => publish(registry, 'a', cardFor('a'), ann, `i${n}`))
    expect(registry.find({ namespace: 'public', name: 'a' }).instances.length).toBeLessThan(10)
    await many((n) => publish(registry, `b${n}`, cardFor('b'), bob))
    expect((await registry.list({ limit: 100 })).total).toBe(3)
    await registry.withdraw({ namespace: 'public', name: 'a' }, ann)
    await publish(registry, 'a', cardFor('a'))
  })
})

describe('an unknown member of a card', () => {
  it('is stored and returned, and not held in memory', async () => {
    await using registry = await testRegistry()
    const card = heavy('a', 10 * KB)
    const key = await publish(registry, 'a', card)
    const held = JSON.stringify(registry.find({ namespace: 'public', name: 'a' }))
    expect(held.length).toBeLessThan(2 * KB)
    expect(JSON.parse((await registry.read(key))?.published ?? '')).toEqual(card)
    expect(await registry.read({ ...key, instance: 'none' })).toBeUndefined()
  })

  it('is the same in all APIs', async () => {
    await using registry = await open()
    const card = heavy('a', 10 * KB)
    const { body } = await registry.call('PUT', '/v1/agents/public/a', { card })
    expect(body.instances[0].card).toEqual(card)
    expect((await registry.call('GET', '/v1/agents/public/a/card')).body).toEqual(card)
    expect((await registry.call('GET', '/v1/agents')).body.agents[0].instances[0].card).toEqual(card)
    expect((await registry.call('GET', '/nacos/v3/admin/ai/a2a?agentName=a')).body.data).toMatchObject(card)
  })
})

describe('responses', () => {
  it('of a list end at the size limit, and continue on the next page', async () => {
    await using registry = await testRegistry()
    for (const name of ['a', 'b', 'c', 'd']) await publish(registry, name, heavy(name, 40 * KB))
    for (const text of [undefined, 'work']) {
      const names: string[] = []
      let cursor: string | undefined
      do {
        const given = { ...(text !== undefined && { text }), ...(cursor !== undefined && { cursor }) }
        const page = await registry.list({ limit: 10, maxBytes: 100 * KB, ...given })
        expect(page.found).toHaveLength(2)
        expect(page.total).toBe(4)
        names.push(...page.found.map(({ agent }) => agent.key.name))
        cursor = page.cursor
      } while (cursor !== undefined)
      expect(names.sort()).toEqual(['a', 'b', 'c', 'd'])
    }
    expect((await registry.list({ limit: 10, maxBytes: 1 })).found).toHaveLength(1)
  })

  it('are built once, and cached while there is room', async () => {
    await using registry = await testRegistry()
    await publish(registry, 'a', cardFor('a'))
    const cache = new ResponseCache()
    const { agent } = registry.find({ namespace: 'public', name: 'a' })
    let made = 0
    const ask = (asked: string, length = 100 * KB) =>
      cache.get(agent, asked, async () => {
        made += 1
        return 'x'.repeat(length)
      })
    await ask('same')
    await ask('same')
    expect(made).toBe(1)
    for (let n = 0; n < 1000; n++) await ask(`q${n}`)
    expect(cache.length).toBeLessThanOrEqual(16 * KB * KB)
    await ask('same')
    expect(made).toBe(1002)
    const before = cache.length
    await ask('endless', 1000 * KB)
    expect(cache.length).toBe(before)
    await publish(registry, 'a', cardFor('a'))
    const changed = registry.find({ namespace: 'public', name: 'a' }).agent
    expect(await cache.get(changed, 'same', async () => 'new')).toBe('new')
  })
})
