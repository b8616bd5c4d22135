/** The suite that the records of every store pass. Use it like `store.contract.ts`. */
import assert from 'node:assert/strict'
import type { OpenStore, TestRunner } from './contract-steps.js'
import type { RecordChange, RecordStore } from './records.js'

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
  const summaryOf = (changes: readonly RecordChange[]) =>
    changes.map(({ id, revision, value }) => [id, revision, value])

  describe('writing', () => {
    check('returns what was put, with revisions of the collection', async (records) => {
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

    check('accepts ids that no text column can hold', async (records) => {
      for (const id of ['a\0b', '\ud800', '\u001f"x"', '']) {
        await records.put('c', id, id.length)
        assert.deepEqual((await records.get('c', id))?.value, id.length)
      }
      assert.equal((await records.readAfter('c', 0, 10)).changes[0]?.id, 'a\0b')
    })

    check('writes only if the record has the expected revision', async (records) => {
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
    check('has the last write of each record, in the order of the writes', async (records) => {
      for (const id of ['a', 'b', 'c']) await records.put('l', id, 1)
      await records.put('l', 'a', 2)
      await records.delete('l', 'b')
      const { changes, head, floor } = await records.readAfter('l', 0, 10)
      assert.deepEqual(summaryOf(changes), [
        ['c', 3, 1],
        ['a', 4, 2],
        ['b', 5, undefined],
      ])
      assert.deepEqual([head, floor], [5, 0])
      assert.deepEqual(summaryOf((await records.readAfter('l', 4, 10)).changes), [['b', 5, undefined]])
      assert.deepEqual(summaryOf((await records.readAfter('l', 0, 2)).changes).length, 2)
      assert.deepEqual((await records.readAfter('l', 5, 10)).changes, [])
    })

    check('is empty before the first write', async (records) => {
      assert.deepEqual(await records.readAfter('none', 0, 10), { changes: [], head: 0, floor: 0 })
    })

    check('distinguishes a deletion from a null record', async (records) => {
      await records.put('l', 'a', null)
      assert.deepEqual((await records.readAfter('l', 0, 10)).changes, [{ id: 'a', revision: 1, value: null }])
      await records.delete('l', 'a')
      assert.deepEqual((await records.readAfter('l', 0, 10)).changes, [{ id: 'a', revision: 2 }])
      assert.deepEqual(await records.delete('l', 'a'), { result: 'ok', revision: 0 })
    })

    check('gives a reader the state of the store, with pages of any size', async (records) => {
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

    check('removes old tombstones, and reports up to which revision', async (records, clock) => {
      await records.put('l', 'a', 1)
      await records.put('l', 'b', 1)
      await records.delete('l', 'a')
      clock.ms += 1000
      await records.delete('l', 'b')
      assert.equal(await records.expire('l', { limit: 10, tombstonesMs: 500 }), 1)
      const page = await records.readAfter('l', 0, 10)
      assert.deepEqual(summaryOf(page.changes), [['b', 4, undefined]])
      assert.deepEqual([page.head, page.floor], [4, 3])
      assert.deepEqual(await records.put('l', 'a', 2), { result: 'ok', revision: 5 })
    })
  })

  describe('expiry', () => {
    check('makes records absent at once, and `expire` writes their tombstones', async (records, clock) => {
      await records.put('c', 'a', 1, { ttlMs: 1000 })
      await records.put('c', 'b', 1)
      clock.ms += 999
      assert.equal(await records.expire('c', { limit: 10 }), 0)
      assert.equal((await records.get('c', 'a'))?.value, 1)
      clock.ms += 1
      assert.equal(await records.get('c', 'a'), undefined)
      assert.equal(await records.renew('c', 'a', 1000), false)
      assert.equal(await records.expire('c', { limit: 10 }), 1)
      assert.deepEqual(summaryOf((await records.readAfter('c', 0, 10)).changes), [
        ['b', 2, 1],
        ['a', 3, undefined],
      ])
    })

    check('is postponed by renewing, without a new revision', async (records, clock) => {
      await records.put('c', 'a', 1, { ttlMs: 1000 })
      clock.ms += 900
      assert.equal(await records.renew('c', 'a', 1000), true)
      clock.ms += 900
      assert.deepEqual(await records.get('c', 'a'), { id: 'a', revision: 1, value: 1 })
      assert.equal((await records.readAfter('c', 0, 10)).head, 1)
      assert.equal(await records.renew('c', 'none', 1000), false)
    })

    check('allows a new record in place of an expired one', async (records, clock) => {
      await records.put('c', 'a', 1, { ttlMs: 1000 })
      clock.ms += 1000
      assert.deepEqual(await records.put('c', 'a', 2, { expect: 1 }), { result: 'conflict', revision: 0 })
      assert.deepEqual(await records.put('c', 'a', 2, { expect: 0 }), { result: 'ok', revision: 2 })
      clock.ms += 1_000_000
      assert.equal((await records.get('c', 'a'))?.value, 2)
    })

    check('processes at most `limit` records', async (records, clock) => {
      for (let n = 0; n < 5; n++) await records.put('c', `a${n}`, n, { ttlMs: 1 })
      clock.ms += 1
      assert.equal(await records.expire('c', { limit: 2 }), 2)
      assert.equal(await records.expire('c', { limit: 10 }), 3)
      assert.equal(await records.expire('c', { limit: 10 }), 0)
    })
  })

  describe('watching', () => {
    check('reports puts, deletions and expiries until unwatched', async (records, clock) => {
      let calls = 0
      let wake: () => void = () => undefined
      const stop = records.watch('c', () => {
        calls += 1
        wake()
      })
      const isReported = async (write: () => Promise<unknown>) => {
        const before = calls
        await write()
        // The hint may come after the write. Without a hint the test times out.
        if (calls === before) await new Promise<void>((resolve) => (wake = resolve))
      }
      await isReported(() => records.put('c', 'a', 1, { ttlMs: 10 }))
      clock.ms += 10
      await isReported(() => records.expire('c', { limit: 10 }))
      await isReported(() => records.put('c', 'b', 1))
      await isReported(() => records.delete('c', 'b'))
      stop()
      const before = calls
      await records.put('c', 'a', 1)
      assert.equal(calls, before)
    })
  })
}
