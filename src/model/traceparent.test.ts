import { describe, expect, it } from 'vitest'
import { readTraceparent } from './traceparent.js'

const good = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'

describe('readTraceparent()', () => {
  it('takes what is one, and the known part of what a later version has made of it', () => {
    expect(readTraceparent(good)).toBe(good)
    const later = good.replace(/^00/, '01')
    expect(readTraceparent(`${later}-what-it-adds`)).toBe(later)
    expect(readTraceparent(later)).toBe(later)
  })

  it.each([
    undefined,
    null,
    '',
    'x',
    good.toUpperCase(),
    `${good}-more`,
    `${good}x`,
    good.replace(/^00/, 'ff'),
    good.replace('0af7651916cd43dd8448eb211c80319c', '0'.repeat(32)),
    good.replace('b7ad6b7169203331', '0'.repeat(16)),
    `${good}\r\nx-injected: 1`,
    'a'.repeat(10_000),
  ])('drops %j', (given) => expect(readTraceparent(given)).toBeUndefined())
})
