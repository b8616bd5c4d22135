import { describe, expect, expectTypeOf, it, vi } from 'vitest'
import { append, creation, ending, key, message } from './contract-steps.js'
import { MemoryStore } from './memory.js'
import { storeContract } from './store.contract.js'
import type { Append, Store } from './store.js'

describe('memory store', () => storeContract({ describe, it }, async ({ now }) => new MemoryStore({ now })))

it('has the members and options of a store only', () => {
  expectTypeOf<keyof MemoryStore>().toEqualTypeOf<keyof Store>()
  const options: object = { onRemove: () => undefined }
  expect(() => new MemoryStore(options)).toThrow('Unknown option of MemoryStore: onRemove')
})

describe('a memory store that is full', () => {
  const scope = { agent: 'a', tenant: '', owner: 'ann' }
  const idempotency = { key: 'k1', digest: 'd1', ttlMs: 5000 }
  const waiting = { state: 'TASK_STATE_INPUT_REQUIRED', timeMs: 1 } as const
  const push = { config: { id: 'p', taskId: 'notified', url: 'https://hook.example/' }, dialect: '1.0', maxConfigs: 10 }
  const ids = async (store: MemoryStore, all: readonly string[]) => {
    const found = await Promise.all(all.map((id) => store.find(key(id))))
    return all.filter((_, place) => found[place])
  }

  it('evicts ended tasks, then waiting ones, then those with pending webhooks, and no running ones', async () => {
    const store = new MemoryStore({ maxBytes: 400 })
    await store.append({ ...creation('notified', waiting), bytes: 100, pushConfig: push })
    await store.append({ ...creation('waiting', waiting), bytes: 100 })
    await store.append({ ...creation('running'), bytes: 100 })
    await store.append({ ...creation('ended'), bytes: 100 })
    await store.append(ending('ended', 3))
    const all = ['notified', 'waiting', 'running', 'ended']
    const more = (seq: number) =>
      store.append({ ...append('running', seq, [{ accepted: { turn: 2, message: message('x') } }]), bytes: 100 })
    expect((await store.append({ ...creation('large'), bytes: 301 })).result).toBe('full')
    expect(await ids(store, all)).toEqual(all)
    expect((await more(3)).result).toBe('ok')
    expect(await ids(store, all)).toEqual(['notified', 'waiting', 'running'])
    expect((await more(4)).result).toBe('ok')
    expect(await ids(store, all)).toEqual(['notified', 'running'])
    expect((await more(5)).result).toBe('ok')
    expect(await ids(store, all)).toEqual(['running'])
    expect((await more(6)).result).toBe('too-large')
  })

  const end = async (store: MemoryStore, id: string, owner: string, more: Partial<Append> = {}) => {
    expect((await store.append({ ...creation(id, undefined, owner), bytes: 100, ...more })).result).toBe('ok')
    await store.append(ending(id, 3))
  }

  it.each([
    ['bytes', { maxBytes: 1000 }],
    ['ended tasks', { maxEndedTasks: 10 }],
  ])('evicts from the owner that holds the most %s first', async (_, limits) => {
    const store = new MemoryStore(limits)
    const small = ['bob1', 'bob2', 'cat1']
    for (const id of small) await end(store, id, id.slice(0, 3))
    for (let n = 0; n < 100; n++) await end(store, `t${n}`, 'ann')
    expect(await ids(store, small)).toEqual(small)
    expect(await ids(store, ['t92', 't93', 't99'])).toEqual(['t93', 't99'])
    // The owner that holds the most cannot push its own use onto another owner either.
    for (let n = 0; n < 10; n++) await end(store, `dan${n}`, 'dan')
    expect(await ids(store, small)).toEqual(small)
  })

  it('counts the running tasks of an owner when it chooses whose tasks to evict', async () => {
    const store = new MemoryStore({ maxBytes: 1000 })
    await end(store, 'bob', 'bob', { bytes: 200 })
    for (let n = 0; n < 6; n++) await store.append({ ...creation(`busy${n}`), bytes: 100 })
    await end(store, 'ann', 'ann')
    await end(store, 'cat', 'cat', { bytes: 200 })
    expect(await ids(store, ['ann', 'bob', 'cat'])).toEqual(['bob', 'cat'])
  })

  it('does not evict tasks of an owner for another one that holds more, in running tasks', async () => {
    const store = new MemoryStore({ maxBytes: 1000 })
    for (const id of ['bob1', 'bob2', 'bob3']) await end(store, id, 'bob')
    const results = []
    for (let n = 0; n < 12; n++) results.push((await store.append({ ...creation(`busy${n}`), bytes: 100 })).result)
    expect(results).toEqual([...Array(7).fill('ok'), ...Array(5).fill('full')])
    expect(await ids(store, ['bob1', 'bob2', 'bob3'])).toEqual(['bob1', 'bob2', 'bob3'])
    // An owner that holds less gets its share.
    expect((await store.append({ ...creation('cat1', undefined, 'cat'), bytes: 100 })).result).toBe('ok')
  })

  it('evicts a waiting task of a large owner, but not the one that is being continued', async () => {
    const store = new MemoryStore({ maxBytes: 400 })
    for (const id of ['w1', 'w2']) await store.append({ ...creation(id, waiting), bytes: 150 })
    await end(store, 'bob', 'bob')
    const more = append('w1', 3, [{ accepted: { turn: 2, message: message('x') } }])
    expect((await store.append({ ...more, bytes: 100 })).result).toBe('ok')
    expect(await ids(store, ['w1', 'w2', 'bob'])).toEqual(['w1', 'bob'])
  })

  it('reports evicted tasks with pending webhooks to the operator, once a minute', async () => {
    let now = 0
    const notices: string[] = []
    const store = new MemoryStore({ maxBytes: 100, now: () => now, onNotice: (text) => notices.push(text) })
    let made = 0
    const evict = async (count: number) => {
      for (const until = made + count; made < until; made++) await end(store, `t${made}`, 'ann', { pushConfig: push })
    }
    await end(store, 'without', 'ann')
    await evict(1)
    expect(notices).toEqual([])
    await evict(3)
    now = 30_000
    await evict(2)
    expect(notices).toEqual(['The memory store is full: it evicted 1 task with pending webhooks'])
    now = 61_000
    await evict(1)
    expect(notices[1]).toBe('The memory store is full: it evicted 5 tasks with pending webhooks')
    await evict(1)
    await store.close()
    expect(notices[2]).toBe('The memory store is full: it evicted 1 task with pending webhooks')
  })

  it('chooses among many tasks with pending webhooks at a cost that does not depend on how many there are', async () => {
    const store = new MemoryStore({ maxBytes: 100 * 2_000 })
    for (let n = 0; n < 2_000; n++) await end(store, `t${n}`, 'ann', { pushConfig: push })
    const pending = vi.spyOn(Map.prototype, 'values')
    for (let n = 0; n < 10; n++) await end(store, `u${n}`, 'ann', { pushConfig: push })
    expect(pending.mock.calls.length).toBeLessThan(1000)
    pending.mockRestore()
  })

  it('returns `too-large` for a step that can never fit', async () => {
    const store = new MemoryStore({ maxBytes: 400 })
    expect((await store.append({ ...creation('t1'), bytes: 401 })).result).toBe('too-large')
    await store.append({ ...creation('t1'), bytes: 300 })
    const more = append('t1', 3, [{ accepted: { turn: 2, message: message('x') } }])
    expect((await store.append({ ...more, bytes: 101 })).result).toBe('too-large')
    expect((await store.append({ ...creation('t2'), bytes: 400 })).result).toBe('full')
  })

  it('E-10: keeps the idempotency keys of evicted tasks until they expire', async () => {
    let now = 0
    const store = new MemoryStore({ maxBytes: 100, now: () => now })
    await store.append({ ...creation('t1'), bytes: 100, idempotency })
    await store.append(ending('t1', 3))
    expect((await store.append({ ...creation('t2'), bytes: 100 })).result).toBe('ok')
    expect(await store.find(key('t1'))).toBeUndefined()
    expect(await store.findKey(scope, 'k1')).toEqual({ taskId: 't1', digest: 'd1', seq: 1 })
    now = 6000
    expect(await store.findKey(scope, 'k1')).toBeUndefined()
    expect((await store.expire('a', { limit: 10 })).keys).toBe(1)
  })

  it('keeps a key that expired and belongs to a newer task', async () => {
    let now = 0
    const store = new MemoryStore({ now: () => now })
    await store.append({ ...creation('t1'), idempotency })
    await store.append(ending('t1', 3))
    now = 6000
    await store.append({ ...creation('t2'), idempotency })
    await store.expire('a', { endedTasksMs: 1, limit: 0 })
    await store.expire('a', { maxEndedTasks: 0, limit: 10 })
    expect(await store.find(key('t1'))).toBeUndefined()
    expect((await store.findKey(scope, 'k1'))?.taskId).toBe('t2')
  })
})
