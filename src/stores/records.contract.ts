/** The suite the records of every store pass; taken and run as `store.contract.ts` is. */
import assert from 'node:assert/strict'
import type { RecordChange, RecordStore } from './records.js'
import type { OpenStore, TestRunner } from './store.contract.js'

export function recordsContract({ describe, it }: TestRunner, open: OpenStore): void {
  const check = (name: string, body: (records: RecordStore, clock: { ms: number }) => Promise<void>) =>
    it(name, async () => {
      const clock = { ms: 1_000_000 }
      const store = await open({ now: () => clock.ms })
      try {
        assert.ok(store.records, 'the store has `records`')
        await body(store.records, clock)
      } finally {
        await store.close()
      }
    })
  const spelled = (changes: readonly RecordChange[]) => changes.map(({ id, revision, value }) => [id, revision, value])

  describe('writing', () => {
    check('gives back what was put, with one revision for the whole collection', async (records) => {
      assert.deepEqual(await records.put('c', 'a', { n: 1 }), { result: 'ok', revision: 1 })
      assert.deepEqual(await records.put('c', 'b', ['x', null, '汉字']), { result: 'ok', revision: 2 })
      assert.deepEqual(await records.put('c', 'a', { n: 2 }), { result: 'ok', revision: 3 })
      assert.deepEqual(await records.get('c', 'a'), { id: 'a', revision: 3, value: { n: 2 } })
      assert.deepEqual(await records.get('c', 'b'), { id: 'b', revision: 2, value: ['x', null, '汉字'] })
      assert.equal(await records.get('c', 'none'), undefined)
    })

    check('keeps collections apart', async (records) => {
      await records.put('c', 'a', 1)
      assert.deepEqual(await records.put('d', 'a', 2), { result: 'ok', revision: 1 })
      assert.equal((await records.get('c', 'a'))?.value, 1)
    })

    check('takes ids that no text column can hold', async (records) => {
      for (const id of ['a\0b', '\ud800', '\u001f"x"', '']) {
        await records.put('c', id, id.length)
        assert.deepEqual((await records.get('c', id))?.value, id.length)
      }
      assert.equal((await records.readAfter('c', 0, 10)).changes[0]?.id, 'a\0b')
    })

    check('writes only if nobody was faster', async (records) => {
      assert.deepEqual(await records.put('c', 'a', 1, { expect: 0 }), { result: 'ok', revision: 1 })
      assert.deepEqual(await records.put('c', 'a', 2, { expect: 0 }), { result: 'conflict', revision: 1 })
      assert.deepEqual(await records.put('c', 'a', 3, { expect: 1 }), { result: 'ok', revision: 2 })
      assert.deepEqual(await records.delete('c', 'a', { expect: 1 }), { result: 'conflict', revision: 2 })
      assert.equal((await records.get('c', 'a'))?.value, 3)
    })

    check('lets exactly one of many win', async (records) => {
      const outcomes = await Promise.all(Array.from({ length: 20 }, (_, n) => records.put('c', 'a', n, { expect: 0 })))
      assert.equal(outcomes.filter(({ result }) => result === 'ok').length, 1)
      assert.equal((await records.readAfter('c', 0, 10)).head, 1)
    })
  })

  describe('the log', () => {
    check('holds the last write of each document, in the order of the writes', async (records) => {
      for (const id of ['a', 'b', 'c']) await records.put('l', id, 1)
      await records.put('l', 'a', 2)
      await records.delete('l', 'b')
      const { changes, head, floor } = await records.readAfter('l', 0, 10)
      assert.deepEqual(spelled(changes), [
        ['c', 3, 1],
        ['a', 4, 2],
        ['b', 5, undefined],
      ])
      assert.deepEqual([head, floor], [5, 0])
      assert.deepEqual(spelled((await records.readAfter('l', 4, 10)).changes), [['b', 5, undefined]])
      assert.deepEqual(spelled((await records.readAfter('l', 0, 2)).changes).length, 2)
      assert.deepEqual((await records.readAfter('l', 5, 10)).changes, [])
    })

    check('is empty where nothing was written', async (records) => {
      assert.deepEqual(await records.readAfter('none', 0, 10), { changes: [], head: 0, floor: 0 })
    })

    check('tells a deletion from a document that is null', async (records) => {
      await records.put('l', 'a', null)
      assert.deepEqual((await records.readAfter('l', 0, 10)).changes, [{ id: 'a', revision: 1, value: null }])
      await records.delete('l', 'a')
      assert.deepEqual((await records.readAfter('l', 0, 10)).changes, [{ id: 'a', revision: 2 }])
      assert.deepEqual(await records.delete('l', 'a'), { result: 'ok', revision: 0 })
    })

    check('leads a reader to what the store holds, however it is cut into pages', async (records) => {
      const held = new Map<string, unknown>()
      let seen = 0
      const catchUp = async (limit: number) => {
        for (;;) {
          const { changes } = await records.readAfter('l', seen, limit)
          for (const change of changes) {
            if ('value' in change) held.set(change.id, change.value)
            else held.delete(change.id)
            seen = change.revision
          }
          if (changes.length < limit) return
        }
      }
      for (let n = 0; n < 300; n++) {
        if (n % 7 === 3) await records.delete('l', `d${n % 11}`)
        else await records.put('l', `d${n % 13}`, n)
        if (n % 50 === 0) await catchUp(3)
      }
      await catchUp(2)
      for (let n = 0; n < 13; n++) assert.equal(held.get(`d${n}`), (await records.get('l', `d${n}`))?.value)
    })

    check('forgets old tombstones, and says from where on', async (records, clock) => {
      await records.put('l', 'a', 1)
      await records.put('l', 'b', 1)
      await records.delete('l', 'a')
      clock.ms += 1000
      await records.delete('l', 'b')
      assert.equal(await records.expire('l', { limit: 10, tombstonesMs: 500 }), 1)
      const page = await records.readAfter('l', 0, 10)
      assert.deepEqual(spelled(page.changes), [['b', 4, undefined]])
      assert.deepEqual([page.head, page.floor], [4, 3])
      assert.deepEqual(await records.put('l', 'a', 2), { result: 'ok', revision: 5 })
    })
  })

  describe('expiry', () => {
    check('makes documents absent at once, and tombstones of them when asked', async (records, clock) => {
      await records.put('c', 'a', 1, { ttlMs: 1000 })
      await records.put('c', 'b', 1)
      clock.ms += 999
      assert.equal(await records.expire('c', { limit: 10 }), 0)
      assert.equal((await records.get('c', 'a'))?.value, 1)
      clock.ms += 1
      assert.equal(await records.get('c', 'a'), undefined)
      assert.equal(await records.renew('c', 'a', 1000), false)
      assert.equal(await records.expire('c', { limit: 10 }), 1)
      assert.deepEqual(spelled((await records.readAfter('c', 0, 10)).changes), [
        ['b', 2, 1],
        ['a', 3, undefined],
      ])
    })

    check('is moved by renewing, without a new revision', async (records, clock) => {
      await records.put('c', 'a', 1, { ttlMs: 1000 })
      clock.ms += 900
      assert.equal(await records.renew('c', 'a', 1000), true)
      clock.ms += 900
      assert.deepEqual(await records.get('c', 'a'), { id: 'a', revision: 1, value: 1 })
      assert.equal((await records.readAfter('c', 0, 10)).head, 1)
      assert.equal(await records.renew('c', 'none', 1000), false)
    })

    check('lets a new document take the place of one that has expired', async (records, clock) => {
      await records.put('c', 'a', 1, { ttlMs: 1000 })
      clock.ms += 1000
      assert.deepEqual(await records.put('c', 'a', 2, { expect: 1 }), { result: 'conflict', revision: 0 })
      assert.deepEqual(await records.put('c', 'a', 2, { expect: 0 }), { result: 'ok', revision: 2 })
      clock.ms += 1_000_000
      assert.equal((await records.get('c', 'a'))?.value, 2)
    })

    check('takes no more at once than it may', async (records, clock) => {
      for (let n = 0; n < 5; n++) await records.put('c', `a${n}`, n, { ttlMs: 1 })
      clock.ms += 1
      assert.equal(await records.expire('c', { limit: 2 }), 2)
      assert.equal(await records.expire('c', { limit: 10 }), 3)
      assert.equal(await records.expire('c', { limit: 10 }), 0)
    })
  })

  describe('watching', () => {
    check('is told of puts, deletions and expiries until it stops', async (records, clock) => {
      let told = 0
      let wake: () => void = () => undefined
      const stop = records.watch('c', () => {
        told += 1
        wake()
      })
      const tells = async (write: () => Promise<unknown>) => {
        const before = told
        await write()
        // The hint may come after the write is done. It does come: else the test does not end.
        if (told === before) await new Promise<void>((resolve) => (wake = resolve))
      }
      await tells(() => records.put('c', 'a', 1, { ttlMs: 10 }))
      clock.ms += 10
      await tells(() => records.expire('c', { limit: 10 }))
      await tells(() => records.put('c', 'b', 1))
      await tells(() => records.delete('c', 'b'))
      stop()
      const before = told
      await records.put('c', 'a', 1)
      assert.equal(told, before)
    })
  })
}
