import { describe, expect, it } from 'vitest'
import { validateCard } from '../dialects/validate-card/index.js'
import { gate } from '../testing/wait.js'
import { admin, ann, at, bob, cardFor, type TestRegistry, testRegistry } from './registry.fixture.js'

const key = { namespace: 'public', name: 'shout' }

describe('publishing', () => {
  it('returns the published card in v1.0, and in its original form', async () => {
    await using registry = await testRegistry()
    const old = {
      protocolVersion: '0.3.0',
      name: 'Shout',
      description: 'Shouts',
      url: 'http://127.0.0.1:9/rpc',
      preferredTransport: 'JSONRPC',
      version: '2.1.0',
      capabilities: {},
      defaultInputModes: ['text/plain'],
      defaultOutputModes: ['text/plain'],
      skills: [{ id: 's', name: 'S', description: 'S', tags: ['t'] }],
    }
    await registry.publish({ ...key, card: old, tags: ['loud'] }, ann)
    const { instances, version } = registry.find(key)
    expect(version).toBe('2.1.0')
    const stored = instances[0] && (await registry.read(instances[0].key))
    expect(JSON.parse(stored?.published ?? '')).toEqual(old)
    expect(JSON.parse(stored?.card ?? '').supportedInterfaces).toEqual([
      { url: 'http://127.0.0.1:9/rpc', protocolBinding: 'JSONRPC', protocolVersion: '0.3' },
    ])
    expect(instances[0]?.document.signature).toEqual({ state: 'absent' })
  })

  it('converts 0.3 cards without `preferredTransport` and with several OAuth 2 flows to v1.0', async () => {
    await using registry = await testRegistry()
    const flows = {
      clientCredentials: { tokenUrl: 'https://id.example/token', scopes: {} },
      password: { tokenUrl: 'https://id.example/token', scopes: {} },
    }
    const old = {
      protocolVersion: '0.3.0',
      name: 'Shout',
      description: 'Shouts',
      url: 'http://127.0.0.1:9/rpc',
      version: '2.2.0',
      capabilities: { stateTransitionHistory: true },
      securitySchemes: { oauth2: { type: 'oauth2', flows } },
      security: [{ oauth2: [] }],
      defaultInputModes: ['text/plain'],
      defaultOutputModes: ['text/plain'],
      skills: [{ id: 's', name: 'S', description: 'S', tags: ['t'] }],
    }
    await registry.publish({ ...key, card: old }, ann)
    const [instance] = registry.find(key).instances
    const stored = instance && (await registry.read(instance.key))
    const card = JSON.parse(stored?.card ?? '') as object
    expect(card).toMatchObject({
      capabilities: {},
      securitySchemes: {
        oauth2: { oauth2SecurityScheme: { flows: { clientCredentials: flows.clientCredentials } } },
        'oauth2-password': { oauth2SecurityScheme: { flows: { password: flows.password } } },
      },
      securityRequirements: [{ schemes: { oauth2: {} } }, { schemes: { 'oauth2-password': {} } }],
    })
    expect(validateCard(card).problems.filter(({ severity }) => severity === 'error')).toEqual([])
  })

  it('keeps several versions; the newest is the latest unless the owner chooses another', async () => {
    await using registry = await testRegistry()
    const publish = (version: string, latest?: boolean) =>
      registry.publish({ ...key, card: cardFor('Shout', { version }), ...(latest !== undefined && { latest }) }, ann)
    await publish('1')
    registry.clock.ms += 1
    await publish('2')
    expect(registry.find(key).version).toBe('2')
    expect(registry.find(key, { version: '1' }).version).toBe('1')
    await publish('1')
    expect(registry.find(key).version).toBe('2')
    registry.clock.ms += 1
    await publish('3', false)
    expect(registry.find(key).version).toBe('2')
    await publish('1', true)
    expect(registry.find(key).version).toBe('1')
    await registry.withdraw({ ...key, version: '1' }, ann)
    expect(registry.find(key).version).toBe('3')
    expect(() => registry.find(key, { version: '1' })).toThrow('Agent not found: shout')
  })

  it('keeps several instances of a version; the same instance is replaced', async () => {
    await using registry = await testRegistry()
    for (const port of [1, 2, 1]) {
      registry.clock.ms += 1
      await registry.publish({ ...key, card: cardFor('Shout', at(`http://127.0.0.1:${port}/`)) }, ann)
    }
    expect(registry.find(key).instances.map(({ document }) => document.url)).toEqual([
      'http://127.0.0.1:2/',
      'http://127.0.0.1:1/',
    ])
    expect(await registry.withdraw({ ...key, instance: 'http://127.0.0.1:2/' }, ann)).toBe(1)
    expect(registry.find(key).instances).toHaveLength(1)
  })

  it('separates namespaces', async () => {
    await using registry = await testRegistry()
    await registry.publish({ namespace: 'a', name: 'x', card: cardFor('X in a') }, ann)
    await registry.publish({ namespace: 'b', name: 'x', card: cardFor('X in b') }, bob)
    expect(registry.find({ namespace: 'b', name: 'x' }).instances[0]?.document.card.name).toBe('X in b')
  })

  it('lets only the owner and administrators change an agent', async () => {
    await using registry = await testRegistry()
    await registry.publish({ ...key, card: cardFor('Shout') }, ann)
    const mine = { ...key, card: cardFor('Mine now'), instance: 'other' }
    await expect(registry.publish(mine, bob)).rejects.toMatchObject({ code: 'FORBIDDEN' })
    await expect(registry.withdraw(key, bob)).rejects.toMatchObject({ code: 'FORBIDDEN' })
    expect(registry.find(key).instances).toHaveLength(1)
    await registry.publish(mine, admin)
    expect(registry.find(key).agent.document.owner).toBe('ann')
    await registry.withdraw(key, admin)
    await registry.publish({ ...key, card: cardFor('Bob’s') }, bob)
    expect(registry.find(key).agent.document.owner).toBe('bob')
  })

  it('gives a new name to exactly one of many concurrent publishers', async () => {
    await using registry = await testRegistry()
    const outcomes = await Promise.allSettled(
      Array.from({ length: 10 }, (_, n) =>
        registry.publish({ ...key, card: cardFor('Shout') }, { id: `p${n}`, isAdmin: false, isKnown: true }),
      ),
    )
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  })

  it('enforces quotas', async () => {
    const limits = { maxAgentsPerOwner: 2, maxVersions: 2, maxInstances: 2, maxAgents: 3 }
    await using registry = await testRegistry({ limits })
    const quota = { code: 'QUOTA' }
    const publish = (name: string, more: object = {}, who = ann) =>
      registry.publish({ namespace: 'public', name, card: cardFor(name), ...more }, who)
    await publish('a')
    await publish('b')
    await expect(publish('c')).rejects.toMatchObject(quota)
    await publish('c', {}, bob)
    await expect(publish('d', {}, bob)).rejects.toMatchObject(quota)
    await publish('a', { card: cardFor('a', { version: '2' }) })
    await expect(publish('a', { card: cardFor('a', { version: '3' }) })).rejects.toMatchObject(quota)
    await publish('b', { instance: 'two' })
    await expect(publish('b', { instance: 'three' })).rejects.toMatchObject(quota)
    await publish('b', { instance: 'two' })
  })
})

/** Runs a function just before the first write of a kind, during the operation that writes. */
function inBetween(
  registry: TestRegistry,
  method: 'put' | 'delete',
  kind: string,
  meanwhile: () => Promise<unknown>,
): void {
  const { records } = registry.store
  const original = records[method].bind(records) as (...args: unknown[]) => Promise<never>
  let isDone = false
  Object.assign(records, {
    [method]: async (...args: readonly string[]) => {
      if (!isDone && args[1]?.startsWith(kind)) {
        isDone = true
        await meanwhile()
      }
      return await original(...args)
    },
  })
}

describe('publishing while the agent is withdrawn', () => {
  const publish = (registry: TestRegistry, who = ann) => registry.publish({ ...key, card: cardFor('Shout') }, who)

  it('keeps the name if it was first', async () => {
    await using registry = await testRegistry()
    await publish(registry)
    inBetween(registry, 'delete', 'a/', async () => {
      registry.clock.ms += 1
      await publish(registry)
    })
    await registry.withdraw(key, ann)
    expect(registry.find(key).instances).toHaveLength(1)
  })

  it('claims the name again if it was last', async () => {
    await using registry = await testRegistry()
    await publish(registry)
    inBetween(registry, 'put', 'i/', () => registry.withdraw(key, ann))
    await publish(registry)
    expect(registry.find(key).instances).toHaveLength(1)
  })

  it('leaves no record under a name that another owner has claimed', async () => {
    await using registry = await testRegistry()
    await publish(registry)
    inBetween(registry, 'put', 'i/', async () => {
      await registry.withdraw(key, ann)
      await registry.publish({ ...key, card: cardFor('Shout'), instance: 'of bob' }, bob)
    })
    await expect(publish(registry)).rejects.toMatchObject({ code: 'FORBIDDEN' })
    expect(registry.find(key).instances.map((each) => each.key.instance)).toEqual(['of bob'])
  })

  it('is withdrawn with the agent if the order is unknown', async () => {
    await using registry = await testRegistry()
    await publish(registry)
    await registry.withdraw({ ...key, instance: 'http://127.0.0.1:9/' }, ann)
    const [reached, release] = [gate(), gate()]
    inBetween(registry, 'put', 'i/', async () => {
      reached.open()
      await release.opened
    })
    const publishing = publish(registry)
    await reached.opened
    inBetween(registry, 'delete', 'a/', async () => {
      release.open()
      await publishing
    })
    await registry.withdraw(key, ann)
    expect(() => registry.find(key)).toThrow('Agent not found')
    await registry.publish({ ...key, card: cardFor('Shout'), instance: 'of bob' }, bob)
    expect(registry.find(key).instances.map((each) => each.key.instance)).toEqual(['of bob'])
  })
})

describe('leases', () => {
  const leased = { ...key, card: cardFor('Shout'), instance: 'one', ttlMs: 10_000 }
  const instance = { ...key, version: '1.0.0', instance: 'one' }

  it('expire unless they are renewed', async () => {
    await using registry = await testRegistry()
    await registry.publish(leased, ann)
    registry.clock.ms += 9000
    expect(await registry.renew(instance, ann)).toEqual({ ttlMs: 10_000 })
    registry.clock.ms += 9000
    await registry.sweep()
    expect(registry.find(key).instances).toHaveLength(1)
    registry.clock.ms += 1000
    await registry.sweep()
    expect(() => registry.find(key)).toThrow('Agent not found')
    expect(await registry.renew(instance, ann)).toBeUndefined()
  })

  it('can be renewed by the owner only', async () => {
    await using registry = await testRegistry()
    await registry.publish(leased, ann)
    await expect(registry.renew(instance, bob)).rejects.toMatchObject({ code: 'FORBIDDEN' })
  })

  it('that expire leave the name with its owner for a grace period', async () => {
    await using registry = await testRegistry({ limits: { nameKeptMs: 60_000 } })
    await registry.publish(leased, ann)
    registry.clock.ms += 20_000
    await registry.sweep()
    await expect(registry.publish(leased, bob)).rejects.toMatchObject({ code: 'FORBIDDEN' })
    expect((await registry.list({ limit: 10 })).total).toBe(0)
    expect((await registry.list({ limit: 10, includeUnhealthy: true })).total).toBe(1)
    registry.clock.ms += 60_000
    await registry.sweep()
    await registry.publish(leased, bob)
  })

  it('have a minimum and a maximum duration', async () => {
    await using registry = await testRegistry()
    for (const ttlMs of [0, -1, 4999, Number.NaN, 1e12])
      await expect(registry.publish({ ...leased, ttlMs }, ann)).rejects.toMatchObject({ code: 'INVALID' })
  })

  it('of an instance that withdraws itself keep its version', async () => {
    await using registry = await testRegistry()
    await registry.publish({ ...leased, card: cardFor('Shout', { version: '2' }) }, ann)
    registry.clock.ms += 1
    await registry.publish(leased, ann)
    await registry.withdraw({ ...key, version: '1.0.0', instance: 'one' }, ann)
    expect(registry.find(key).version).toBe('2')
    await registry.publish(leased, ann)
    expect(registry.find(key).version).toBe('1.0.0')
  })
})
