import { describe, expect, it } from 'vitest'
import { VerifiedCredentials } from './admit.js'
import { secretTable } from './static-schemes.js'

const refused = 'refused'

describe('secretTable', () => {
  it('finds the caller of a secret and rejects similar secrets', () => {
    const whose = secretTable('keys', Object.entries({ 'secret-1': 'ann', 'secret-2': 'bob', ключ: 'cyr' }))
    expect(whose('secret-2')).toMatchObject({ caller: { id: 'bob' } })
    expect(whose('ключ')).toMatchObject({ caller: { id: 'cyr' } })
    for (const given of ['', 'secret-', 'secret-1 ', 'secret-11', 'Secret-1', 'constructor', '__proto__'])
      expect(whose(given)).toBe(refused)
  })

  it('looks up secrets in constant time, however many there are', () => {
    // A linear search would make 4,000,000,000 comparisons.
    const whose = secretTable(
      'keys',
      Array.from({ length: 200_000 }, (_, n) => [`a-secret-of-some-length-${n}`, `caller-${n}`] as const),
    )
    for (let n = 0; n < 20_000; n++) expect(whose(`a-secret-of-some-length-${n}x`) === refused).toBe(true)
    expect(whose('a-secret-of-some-length-199999')).toMatchObject({ caller: { id: 'caller-199999' } })
  })
})

describe('VerifiedCredentials', () => {
  it('remembers credentials until they are deleted, and again after they are added again', () => {
    const verified = new VerifiedCredentials()
    const known = () => ['one', 'two', '', undefined].map((each) => verified.has(each))
    for (const each of ['one', 'two', 'two', '', undefined]) verified.add(each, 'ann')
    expect(known()).toEqual([true, true, false, false])
    verified.delete('two')
    expect(known()).toEqual([true, false, false, false])
    verified.add('two', 'ann')
    expect(known()).toEqual([true, true, false, false])
  })
  it('replaces other credentials of the same caller first', () => {
    const verified = new VerifiedCredentials()
    verified.add('of ann', 'ann')
    for (let number = 0; number < 20_000; number++) verified.add(`of bob ${number}`, 'bob')
    expect(['of ann', 'of bob 19899', 'of bob 19900', 'of bob 19999'].map((each) => verified.has(each))).toEqual([
      true,
      false,
      true,
      true,
    ])
    for (let number = 0; number < 10_000; number++) verified.add(`of ${number}`, `caller-${number}`)
    expect(verified.has('of ann')).toBe(false)
  })
})
