import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Due, DueQueue } from './due-queue.js'

interface Named extends Due {
  readonly name: number
}

describe('DueQueue', () => {
  it('has the earliest first, and of those the one that was set first, whatever is set anew and taken out', () => {
    const step = fc.record({ name: fc.nat(12), dueMs: fc.nat(6), isDelete: fc.boolean() })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
        const queue = new DueQueue<Named>()
        const entries = Array.from({ length: 13 }, (_, name): Named => ({ name, dueMs: 0, order: 0, place: undefined }))
        let plain: { readonly name: number; readonly dueMs: number }[] = []
        for (const { name, dueMs, isDelete } of steps) {
          const entry = entries[name] as Named // there are thirteen
          plain = plain.filter((each) => each.name !== name)
          if (isDelete) queue.delete(entry)
          else {
            queue.set(entry, dueMs)
            plain.push({ name, dueMs })
          }
          expect(queue.size).toBe(plain.length)
        }
        const left: number[] = []
        for (let { first } = queue; first; { first } = queue) {
          left.push(first.name)
          queue.delete(first)
        }
        expect(left).toEqual([...plain].sort((a, b) => a.dueMs - b.dueMs).map(({ name }) => name))
      }),
    )
  })
})
