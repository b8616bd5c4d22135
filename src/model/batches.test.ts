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
  it('hands out every element, and passes over batches that are empty', async () => {
    expect(await gathered(items(source([[1, 2], [], [3]])))).toEqual([1, 2, 3])
  })

  it('hands out what was read before it fails', async () => {
    const stream = items(source([[1, 2]], { error: new Error('broken') }))
    expect(await stream.next()).toEqual({ done: false, value: 1 })
    expect(stream.takeReady?.()).toBe(2)
    await expect(stream.next()).rejects.toThrow('broken')
  })

  it('gives each of several askers an element of its own, in order', async () => {
    const stream = items(source([[1, 2, 3], [4]]))
    const answers = await Promise.all(Array.from({ length: 6 }, () => stream.next()))
    expect(answers.flatMap(({ done, value }) => (done ? [] : [value]))).toEqual([1, 2, 3, 4])
  })

  it('lets go of its source when it is left', async () => {
    const end = { left: 0 }
    for await (const _ of items(source([[1, 2], [3]], end))) break
    expect(end.left).toBe(1)
  })
})

describe('batchesOf', () => {
  it('keeps together what came together, through any number of layers', async () => {
    const layers = items(batchesOf(items(batchesOf(items(source([[1, 2, 3], [4]]))))))
    expect(await gathered(batchesOf(layers))).toEqual([[1, 2, 3], [4]])
  })

  it('takes streams that read nothing ahead', async () => {
    async function* single() {
      yield 1
      yield 2
    }
    expect(await gathered(batchesOf(single()))).toEqual([[1], [2]])
  })

  it('gives what came before a failure, and closes no source twice', async () => {
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

  it('lets go of a source that is left early', async () => {
    const end = { left: 0 }
    for await (const _ of batchesOf(items(source([[1], [2]], end)))) break
    expect(end.left).toBe(1)
  })
})
