import { describe, expect, it } from 'vitest'
import { append, creation, ending, key, message } from './contract-steps.js'
import { MemoryStore } from './memory.js'
import { recordsContract } from './records.contract.js'
import { storeContract } from './store.contract.js'

describe('memory store', () => storeContract({ describe, it }, async ({ now }) => new MemoryStore({ now })))

describe('records in memory', () => recordsContract({ describe, it }, async ({ now }) => new MemoryStore({ now })))

describe('a memory store that is full', () => {
  const scope = { agent: 'a', tenant: '', owner: 'ann' }
  const idempotency = { key: 'k1', digest: 'd1', ttlMs: 5000 }
  const waiting = { state: 'TASK_STATE_INPUT_REQUIRED', timeMs: 1 } as const
  const push = { config: { id: 'p', taskId: 'told', url: 'https://hook.example/' }, dialect: '1.0', most: 10 }
  const ids = async (store: MemoryStore, all: readonly string[]) => {
    const found = await Promise.all(all.map((id) => store.find(key(id))))
    return all.filter((_, place) => found[place])
  }

  it('evicts ended tasks, then waiting ones, then those with pending webhooks, and no running ones', async () => {
    const store = new MemoryStore({ maxBytes: 400 })
    await store.append({ ...creation('told', waiting), bytes: 100, pushConfig: push })
    await store.append({ ...creation('waiting', waiting), bytes: 100 })
    await store.append({ ...creation('running'), bytes: 100 })
    await store.append({ ...creation('ended'), bytes: 100 })
    await store.append(ending('ended', 3))
    const all = ['told', 'waiting', 'running', 'ended']
    const more = (seq: number) =>
      store.append({ ...append('running', seq, [{ accepted: { turn: 2, message: message('x') } }]), bytes: 100 })
    expect((await store.append({ ...creation('large'), bytes: 301 })).result).toBe('full')
    expect(await ids(store, all)).toEqual(all)
    expect((await more(3)).result).toBe('ok')
    expect(await ids(store, all)).toEqual(['told', 'waiting', 'running'])
    expect((await more(4)).result).toBe('ok')
    expect(await ids(store, all)).toEqual(['told', 'running'])
    expect((await more(5)).result).toBe('ok')
    expect(await ids(store, all)).toEqual(['running'])
    expect((await more(6)).result).toBe('full')
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
