import { describe, expect, it } from 'vitest'
import { toResponse } from '../server/fetch.js'
import { readSse } from '../transports/sse-reader.js'
import { ann, cardFor, type TestRegistry, testRegistry } from './registry.fixture.js'

/** Reads a watch event by event, and disconnects. */
function follow(
  registry: TestRegistry,
  options: { after?: number; namespace?: string; name?: string; callerKey?: string } = {},
) {
  const response = toResponse(registry.watch(options))
  const batches = readSse(response.body as ReadableStream<Uint8Array>, { maxEventBytes: 10_000 })
  const ready: { id: number; type: string; name?: string }[] = []
  return {
    async next() {
      while (ready.length === 0) {
        const { value, done } = await batches.next()
        if (done) return undefined
        for (const { id, data } of value) ready.push({ id: Number(id), ...(JSON.parse(data) as { type: string }) })
      }
      return ready.shift()
    },
    close: () => batches.return(),
  }
}

const publish = (registry: TestRegistry, name: string, more: object = {}) =>
  registry.publish({ namespace: 'public', name, card: cardFor(name), instance: 'one', ...more }, ann)

describe('watching', () => {
  it('sends changes from now on', async () => {
    await using registry = await testRegistry()
    await publish(registry, 'before')
    const watch = follow(registry)
    expect(await watch.next()).toEqual({ id: 2, type: 'ready' })
    await publish(registry, 'a')
    expect(await watch.next()).toMatchObject({ id: 3, type: 'agent', name: 'a', latest: '1.0.0' })
    expect(await watch.next()).toMatchObject({ id: 4, type: 'published', name: 'a', url: 'http://127.0.0.1:9/' })
    await registry.withdraw({ namespace: 'public', name: 'a' }, ann)
    expect(await watch.next()).toMatchObject({ type: 'withdrawn', name: 'a', version: '1.0.0', instance: 'one' })
    expect(await watch.next()).toMatchObject({ type: 'removed', name: 'a' })
    await watch.close()
  })

  it('resumes at its cursor, without gaps or duplicates', async () => {
    await using registry = await testRegistry()
    const held = new Map<string, string>()
    const apply = (event: { type: string; name?: string }) => {
      if (event.type === 'published') held.set(event.name ?? '', event.type)
      if (event.type === 'withdrawn') held.delete(event.name ?? '')
    }
    const first = follow(registry, { after: 0 })
    expect(await first.next()).toEqual({ id: 0, type: 'ready' })
    await publish(registry, 'a')
    await publish(registry, 'b')
    let last = 0
    while (held.size < 2) {
      const event = await first.next()
      last = event?.id ?? 0
      if (event) apply(event)
    }
    await first.close()
    await registry.withdraw({ namespace: 'public', name: 'a' }, ann)
    await publish(registry, 'c')
    const second = follow(registry, { after: last })
    const ids: number[] = []
    while (!(held.has('c') && !held.has('a'))) {
      const event = await second.next()
      if (event?.type !== 'ready') ids.push(event?.id ?? 0)
      if (event) apply(event)
    }
    await second.close()
    expect([...held.keys()]).toEqual(['b', 'c'])
    expect(ids.every((id) => id > last)).toBe(true)
    expect(new Set(ids).size).toBe(ids.length)
  })

  it('sends the whole catalog to a new subscriber', async () => {
    await using registry = await testRegistry()
    for (let n = 0; n < 130; n++) await publish(registry, `a${n}`)
    const watch = follow(registry, { after: 0 })
    const seen = new Set<string>()
    while (seen.size < 130) {
      const event = await watch.next()
      if (event?.type === 'published') seen.add(event.name ?? '')
    }
    await watch.close()
  })

  it('reports expired leases', async () => {
    await using registry = await testRegistry()
    await publish(registry, 'a', { ttlMs: 10_000 })
    const watch = follow(registry)
    await watch.next()
    registry.clock.ms += 10_000
    await registry.sweep()
    expect(await watch.next()).toMatchObject({ type: 'withdrawn', name: 'a' })
    await watch.close()
  })

  it('resets a subscriber whose cursor is too old', async () => {
    await using registry = await testRegistry()
    await publish(registry, 'a')
    await publish(registry, 'b')
    await registry.withdraw({ namespace: 'public', name: 'a' }, ann)
    registry.clock.ms += 48 * 60 * 60_000
    await registry.sweep()
    await using restarted = await testRegistry({ store: registry.store })
    const watch = follow(restarted, { after: 2 })
    expect(await watch.next()).toMatchObject({ type: 'ready' })
    expect(await watch.next()).toEqual({ id: 0, type: 'reset' })
    expect(await watch.next()).toMatchObject({ type: 'agent', name: 'b' })
    await watch.close()
    const fromAnother = follow(restarted, { after: 1_000_000 })
    await fromAnother.next()
    expect(await fromAnother.next()).toEqual({ id: 0, type: 'reset' })
    await fromAnother.close()
  })

  it('filters by namespace or name', async () => {
    await using registry = await testRegistry()
    const watch = follow(registry, { name: 'b' })
    await watch.next()
    await publish(registry, 'a')
    await publish(registry, 'b')
    expect(await watch.next()).toMatchObject({ type: 'agent', name: 'b' })
    await watch.close()
  })

  it('sends comments while idle, and each event as an id and one data line', async () => {
    await using registry = await testRegistry({ heartbeatMs: 5 })
    const response = toResponse(registry.watch({}))
    expect(response.headers.get('content-type')).toBe('text/event-stream')
    const reader = (response.body as ReadableStream<Uint8Array>).getReader()
    const read = async () => new TextDecoder().decode((await reader.read()).value)
    expect(await read()).toBe('id: 0\ndata: {"type":"ready"}\n\n')
    expect(await read()).toBe(':\n\n')
    await publish(registry, 'a')
    let text = ''
    while (!text.includes('published')) text += await read()
    expect(text.replaceAll(':\n\n', '')).toMatch(/^(id: \d+\ndata: \{[^\n]*\}\n\n)+$/)
    await reader.cancel()
  })

  it('ends when the store fails, releases its resources, and can be resumed', async () => {
    const troubles: unknown[] = []
    const limits = { maxWatches: 1 }
    await using registry = await testRegistry({ limits, onFailure: (error) => troubles.push(error) })
    const { records } = registry.store
    const readAfter = records.readAfter.bind(records)
    const watch = follow(registry)
    const ready = await watch.next()
    const trouble = new Error('the disk is full')
    Object.assign(records, { readAfter: () => Promise.reject(trouble) })
    await records.put('registry', 'a/public/a', {
      owner: 'ann',
      latest: '1',
      versions: {},
      createdMs: 0,
      isLeased: false,
    })
    expect(await watch.next()).toBeUndefined()
    expect(troubles).toContain(trouble)
    Object.assign(records, { readAfter })
    await registry.sweep()
    const again = follow(registry, { after: ready?.id ?? 0 })
    await again.next()
    expect(await again.next()).toMatchObject({ type: 'agent', name: 'a' })
    await again.close()
  })

  it('ends when the registry closes', async () => {
    const registry = await testRegistry()
    const watch = follow(registry)
    await watch.next()
    await registry.close()
    expect(await watch.next()).toBeUndefined()
  })
})

/** Counts the reads from the log of a registry. */
function countReads(registry: TestRegistry): { count: number } {
  const { records } = registry.store
  const readAfter = records.readAfter.bind(records)
  const reads = { count: 0 }
  Object.assign(records, {
    readAfter: (...args: Parameters<typeof readAfter>) => {
      reads.count += 1
      return readAfter(...args)
    },
  })
  return reads
}

describe('many subscribers', () => {
  it('share the reads of the log', async () => {
    await using registry = await testRegistry()
    await publish(registry, 'before')
    const watches = Array.from({ length: 50 }, () => follow(registry))
    for (const each of watches) await each.next()
    const reads = countReads(registry)
    await publish(registry, 'b')
    for (const each of watches) {
      expect(await each.next()).toMatchObject({ type: 'agent', name: 'b' })
      expect(await each.next()).toMatchObject({ type: 'published', name: 'b' })
    }
    expect(reads.count).toBeLessThan(10)
    await Promise.all(watches.map((each) => each.close()))
  })

  it('read the store one at a time while they are behind, and then share reads', async () => {
    await using first = await testRegistry()
    for (let n = 0; n < 30; n++) await publish(first, `a${n}`)
    await using registry = await testRegistry({ store: first.store })
    const { records } = registry.store
    const readAfter = records.readAfter.bind(records)
    let [reading, most] = [0, 0]
    Object.assign(records, {
      readAfter: async (...args: Parameters<typeof readAfter>) => {
        reading += 1
        most = Math.max(most, reading)
        await new Promise((resolve) => setImmediate(resolve))
        reading -= 1
        return await readAfter(...args)
      },
    })
    const watches = Array.from({ length: 20 }, () => follow(registry, { after: 0 }))
    for (const each of watches) for (let seen = 0; seen < 30; ) if ((await each.next())?.type === 'published') seen += 1
    expect(most).toBeLessThanOrEqual(4)
    await publish(registry, 'new')
    for (const each of watches) expect(await each.next()).toMatchObject({ type: 'agent', name: 'new' })
    await Promise.all(watches.map((each) => each.close()))
  })

  it('are limited per caller and in total, and free their slot when they leave', async () => {
    await using registry = await testRegistry({ limits: { maxWatches: 3, maxWatchesPerCaller: 2 } })
    const quota = expect.objectContaining({ code: 'QUOTA' })
    const [one, two] = [follow(registry, { callerKey: 'ann' }), follow(registry, { callerKey: 'ann' })]
    await Promise.all([one.next(), two.next()])
    expect(() => follow(registry, { callerKey: 'ann' })).toThrow(quota)
    const three = follow(registry, { callerKey: 'bob' })
    await three.next()
    expect(() => follow(registry, { callerKey: 'bob' })).toThrow(quota)
    await one.close()
    const four = follow(registry, { callerKey: 'ann' })
    await four.next()
    await Promise.all([two.close(), three.close(), four.close()])
  })
})

describe('a log whose newest deletion was removed', () => {
  it('is not read from its beginning repeatedly', async () => {
    await using first = await testRegistry()
    await publish(first, 'a')
    await publish(first, 'b')
    await first.withdraw({ namespace: 'public', name: 'b' }, ann)
    first.clock.ms += 48 * 60 * 60_000
    await first.sweep()
    await using registry = await testRegistry({ store: first.store })
    const watch = follow(registry, { after: 0 })
    for (const type of ['ready', 'agent', 'published']) expect(await watch.next()).toMatchObject({ type })
    const reads = countReads(registry)
    await registry.sweep()
    expect(reads.count).toBeLessThanOrEqual(2)
    await publish(registry, 'c')
    expect(await watch.next()).toMatchObject({ type: 'agent', name: 'c' })
    await watch.close()
  })
})
