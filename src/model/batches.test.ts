import { describe, expect, it } from 'vitest'
import { batchesOf, items } from './batches.js'

async function* source(batches: readonly (readonly number[])[], end: { error?: unknown; left?: number } = {}) {
  try {
    for (const batch of batches) yield batch
    if (end.error) throw end.error
  } finally {
    end.left = (end.left ?? 0) + 1
  }
}

async function gathered<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const seen: T[] = []
  for await (const each of stream) seen.push(each)
  return seen
}

describe('items', () => {
  it('yields every element and skips empty batches', async () => {
    expect(await gathered(items(source([[1, 2], [], [3]])))).toEqual([1, 2, 3])
  })

  it('yields the elements that were read before a failure', async () => {
    const stream = items(source([[1, 2]], { error: new Error('broken') }))
    expect(await stream.next()).toEqual({ done: false, value: 1 })
    expect(stream.takeReady?.()).toBe(2)
    await expect(stream.next()).rejects.toThrow('broken')
  })

  it('gives concurrent calls different elements, in order', async () => {
    const stream = items(source([[1, 2, 3], [4]]))
    const answers = await Promise.all(Array.from({ length: 6 }, () => stream.next()))
    expect(answers.flatMap(({ done, value }) => (done ? [] : [value]))).toEqual([1, 2, 3, 4])
  })

  it('closes its source when the reader stops', async () => {
    const end = { left: 0 }
    for await (const _ of items(source([[1, 2], [3]], end))) break
    expect(end.left).toBe(1)
  })
})

describe('batchesOf', () => {
  it('preserves batches through any number of layers', async () => {
    const layers = items(batchesOf(items(batchesOf(items(source([[1, 2, 3], [4]]))))))
    expect(await gathered(batchesOf(layers))).toEqual([[1, 2, 3], [4]])
  })

  it('accepts streams that do not read ahead', async () => {
    async function* single() {
      yield 1
      yield 2
    }
    expect(await gathered(batchesOf(single()))).toEqual([[1], [2]])
  })

  it('yields the elements before a failure, and closes no source twice', async () => {
    let returns = 0
    let asked = 0
    const failing = {
      [Symbol.asyncIterator]: () => ({
        next: async () => ({ done: false as const, value: 1 }),
        takeReady: () => {
          asked += 1
          if (asked === 2) throw new Error('broken')
          return 2
        },
        return: async () => {
          returns += 1
          return { done: true as const, value: undefined }
        },
      }),
    }
    const seen: (readonly number[])[] = []
    const reading = async () => {
      for await (const batch of batchesOf<number>(failing)) seen.push(batch)
    }
    await expect(reading()).rejects.toThrow('broken')
    expect(seen).toEqual([[1, 2]])
    expect(returns).toBe(0)
  })

  it('closes the source when the reader stops early', async () => {
    const end = { left: 0 }
    for await (const _ of batchesOf(items(source([[1], [2]], end)))) break
    expect(end.left).toBe(1)
  })
})
