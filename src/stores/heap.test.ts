import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Heap, type HeapEntry } from './heap.js'

interface Named extends HeapEntry {
  readonly name: number
}

describe('Heap', () => {
  it('has the lowest rank first, and within a rank the entry that was set first, after any moves and removals', () => {
    const step = fc.record({ name: fc.nat(12), rank: fc.nat(6), isDelete: fc.boolean() })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
        const heap = new Heap<Named>()
        const entries = Array.from({ length: 13 }, (_, name): Named => ({ name, rank: 0, order: 0, place: undefined }))
        let plain: { readonly name: number; readonly rank: number }[] = []
        for (const { name, rank, isDelete } of steps) {
          const entry = entries[name] as Named // there are thirteen
          plain = plain.filter((each) => each.name !== name)
          if (isDelete) heap.delete(entry)
          else {
            heap.set(entry, rank)
            plain.push({ name, rank })
          }
          expect(heap.size).toBe(plain.length)
        }
        const left: number[] = []
        for (let { first } = heap; first; { first } = heap) {
          left.push(first.name)
          heap.delete(first)
        }
        expect(left).toEqual([...plain].sort((a, b) => a.rank - b.rank).map(({ name }) => name))
      }),
    )
  })
})
