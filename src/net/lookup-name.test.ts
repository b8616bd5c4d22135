import { describe, expect, it } from 'vitest'
import { limitLookups } from './lookup-name.js'

interface Pending {
  readonly name: string
  answer(): void
}

function slowNameService() {
  const pending: Pending[] = []
  const lookup = (name: string) =>
    new Promise<readonly string[]>((resolve) => {
      pending.push({ name, answer: () => resolve([`address of ${name}`]) })
    })
  const answer = async () => {
    pending.shift()?.answer()
    await new Promise(setImmediate)
  }
  return { pending, lookup, answer }
}

describe('lookups of host names', () => {
  it('run a few at a time, in their order', async () => {
    const { pending, lookup, answer } = slowNameService()
    const limited = limitLookups(lookup, { maxAtOnce: 2, maxWaitMs: 60_000 })
    const found = ['a', 'b', 'c', 'd'].map((name) => limited(name))
    expect(pending.map(({ name }) => name)).toEqual(['a', 'b'])
    await answer()
    expect(pending.map(({ name }) => name)).toEqual(['b', 'c'])
    for (const _ of ['b', 'c', 'd']) await answer()
    expect(await Promise.all(found)).toEqual(['a', 'b', 'c', 'd'].map((name) => [`address of ${name}`]))
  })

  it('of one name share one lookup while it runs', async () => {
    const { pending, lookup, answer } = slowNameService()
    const limited = limitLookups(lookup, { maxAtOnce: 2, maxWaitMs: 60_000 })
    const found = [limited('a'), limited('a'), limited('a')]
    expect(pending).toHaveLength(1)
    await answer()
    expect(await Promise.all(found)).toHaveLength(3)
    void limited('a')
    expect(pending).toHaveLength(1)
  })

  it('fail when they could not begin in time, and let later ones begin', async () => {
    const { pending, lookup, answer } = slowNameService()
    const limited = limitLookups(lookup, { maxAtOnce: 1, maxWaitMs: -1 })
    void limited('a')
    const late = [limited('b'), limited('c')].map((each) => expect(each).rejects.toThrow('has not answered'))
    await answer()
    await Promise.all(late)
    void limited('d')
    expect(pending.map(({ name }) => name)).toEqual(['d'])
  })

  it('that fail make room for others', async () => {
    let asked = 0
    const limited = limitLookups(async () => Promise.reject(new Error(`no ${++asked}`)), {
      maxAtOnce: 1,
      maxWaitMs: 9_999,
    })
    const found = await Promise.allSettled([limited('a'), limited('b'), limited('c')])
    expect(found.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
    expect(asked).toBe(3)
  })
})
