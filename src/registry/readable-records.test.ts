import { describe, expect, it } from 'vitest'
import { MemoryStore } from '../stores/memory.js'
import { agentId, collection, instanceId, probeCollection } from './documents.js'
import { ann, cardFor, testRegistry } from './registry.fixture.js'

const at = Date.UTC(2026, 0, 5, 8)
const named = (name: string) => ({ namespace: 'public', name })
const instanceOf = (name: string) => ({ ...named(name), version: '1.0.0', instance: 'http://127.0.0.1:9/' })
const agent = { owner: 'ann', latest: '1.0.0', createdMs: at, isLeased: false }
const versions = { '1.0.0': { createdMs: at, updatedMs: at } }
const place = { url: 'http://127.0.0.1:9/', tags: [], publishedMs: at, signature: { state: 'absent' } }

/** A store with one instance of that name, as another version wrote it. */
async function storeWith(name: string, instance: unknown): Promise<MemoryStore> {
  const store = new MemoryStore({ now: () => at })
  await store.records.put(collection, agentId(named(name)), { ...agent, versions })
  await store.records.put(collection, instanceId(instanceOf(name)), instance)
  return store
}

describe('records that another version of the registry has written', () => {
  it('are read if cards are objects instead of strings', async () => {
    const card = cardFor('Old')
    const published = { ...card, protocolVersion: '0.3.0' }
    const failures: unknown[] = []
    const store = await storeWith('old', { ...place, card, published })
    await using registry = await testRegistry({ store, onFailure: (error) => failures.push(error) })
    expect(registry.find(named('old')).instances[0]?.document.card.name).toBe('Old')
    const read = await registry.read(instanceOf('old'))
    expect(JSON.parse(read?.published ?? '')).toEqual(published)
    expect(JSON.parse(read?.card ?? '')).toEqual(card)
    expect(failures).toEqual([])
  })

  it.each<[string, unknown]>([
    ['nothing', null],
    ['a text', 'card'],
    ['an object of another kind', { form: 7 }],
    ['no card', { ...place }],
    ['a card that is no JSON', { ...place, published: '{"name":' }],
    ['a card of another kind', { ...place, published: '{"skills":{}}' }],
    ['a skill without tags', { ...place, published: '{"name":"x","skills":[{}]}' }],
  ])('are skipped, and logged once, if they contain %s', async (_, instance) => {
    const failures: unknown[] = []
    const store = await storeWith('strange', instance)
    await store.records.put(collection, agentId(named('other')), 'what is this')
    await store.records.put(collection, instanceId(instanceOf('strange'), 'health'), [])
    await store.records.put(probeCollection, instanceId(instanceOf('strange')), {})
    await using registry = await testRegistry({ store, onFailure: (error) => failures.push(error) })
    expect((await registry.list({ limit: 10 })).found.flatMap(({ instances }) => instances)).toEqual([])
    expect(failures).toEqual([expect.objectContaining({ message: expect.stringContaining('are ignored') })])
    // The names remain usable.
    for (const name of ['strange', 'other'])
      await registry.publish({ ...named(name), card: cardFor('New'), instance: 'new' }, ann)
    expect(registry.find(named('strange')).instances.map(({ key }) => key.instance)).toEqual(['new'])
    expect(registry.find(named('other')).instances).toHaveLength(1)
    expect(await registry.history(instanceOf('strange'))).toEqual([])
  })
})
