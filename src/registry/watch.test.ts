import { describe, expect, it } from 'vitest'
import { until } from '../testing/wait.js'
import { readSse } from '../transports/sse-reader.js'
import { ann, cardFor, type TestRegistry, testRegistry } from './registry.fixture.js'

/** Reads a watch event by event, and hangs up. */
function follow(registry: TestRegistry, options: { after?: number; namespace?: string; name?: string } = {}) {
  const response = registry.watch(options)
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
  it('tells what comes from now on', async () => {
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

  it('goes on where it was, without a gap and without anything twice', async () => {
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

  it('shows everything there is to who begins with nothing', async () => {
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

  it('tells leases that run out', async () => {
    await using registry = await testRegistry()
    await publish(registry, 'a', { ttlMs: 10_000 })
    const watch = follow(registry)
    await watch.next()
    registry.clock.ms += 10_000
    await registry.sweep()
    expect(await watch.next()).toMatchObject({ type: 'withdrawn', name: 'a' })
    await watch.close()
  })

  it('begins anew with who was away too long', async () => {
    await using registry = await testRegistry()
    await publish(registry, 'a')
    await publish(registry, 'b')
    await registry.withdraw({ namespace: 'public', name: 'a' }, ann)
    registry.clock.ms += 48 * 60 * 60_000
    await registry.sweep()
    const watch = follow(registry, { after: 2 })
    expect(await watch.next()).toMatchObject({ type: 'ready' })
    expect(await watch.next()).toEqual({ id: 0, type: 'reset' })
    expect(await watch.next()).toMatchObject({ type: 'agent', name: 'b' })
    await watch.close()
    const fromAnother = follow(registry, { after: 1_000_000 })
    await fromAnother.next()
    expect(await fromAnother.next()).toEqual({ id: 0, type: 'reset' })
    await fromAnother.close()
  })

  it('shows one namespace, or one name', async () => {
    await using registry = await testRegistry()
    const watch = follow(registry, { name: 'b' })
    await watch.next()
    await publish(registry, 'a')
    await publish(registry, 'b')
    expect(await watch.next()).toMatchObject({ type: 'agent', name: 'b' })
    await watch.close()
  })

  it('is silent but for comments, and each event is one line of data behind its id', async () => {
    await using registry = await testRegistry({ heartbeatMs: 5 })
    const response = registry.watch({})
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

  it('ends when the store is in trouble, leaves nothing behind, and can be taken up again', async () => {
    const troubles: unknown[] = []
    await using registry = await testRegistry({ onFailure: (error) => troubles.push(error) })
    const { records } = registry.store
    const [watchStore, readAfter] = [records.watch.bind(records), records.readAfter.bind(records)]
    let followers = 0
    Object.assign(records, {
      watch: (...args: Parameters<typeof watchStore>) => {
        const unwatch = watchStore(...args)
        followers += 1
        return () => {
          followers -= 1
          unwatch()
        }
      },
    })
    const watch = follow(registry)
    const ready = await watch.next()
    expect(followers).toBe(1)
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
    await until(() => followers === 0)
    expect(troubles).toContain(trouble)
    Object.assign(records, { readAfter })
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
