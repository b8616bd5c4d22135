import { expect, it } from 'vitest'
import { ConcurrencyLimit } from './concurrency-limit.js'

it('limits concurrent work, keeps the order, and starts `runNow` work at once', async () => {
  const few = new ConcurrencyLimit(2)
  const begun: string[] = []
  const end = new Map<string, () => void>()
  const ends = ['a', 'b', 'c', 'd', 'e'].map((name) =>
    few.run(name, () => {
      begun.push(name)
      return new Promise<void>((resolve) => end.set(name, resolve))
    }),
  )
  await Promise.resolve()
  expect(begun).toEqual(['a', 'b'])
  few.runNow('d')
  few.runNow('d')
  await Promise.resolve()
  expect(begun).toEqual(['a', 'b', 'd'])
  end.get('a')?.()
  await ends[0]
  // Two still run, so the limit is reached.
  expect(begun).toEqual(['a', 'b', 'd'])
  for (const name of ['b', 'd']) end.get(name)?.()
  await Promise.all([ends[1], ends[3]])
  expect(begun).toEqual(['a', 'b', 'd', 'c', 'e'])
  for (const name of ['c', 'e']) end.get(name)?.()
  await Promise.all(ends)
})
