import { describe, expect, it } from 'vitest'
import { readRetryAfter } from './retry-after.js'

const now = 'Sun, 06 Nov 1994 08:49:37 GMT'

describe('readRetryAfter()', () => {
  it.each([
    ['0', 0],
    [' 120 ', 120],
    ['9'.repeat(400), 1_000_000_000],
    ['Sun, 06 Nov 1994 08:50:37 GMT', 60],
    ['Sunday, 06-Nov-94 08:49:38 GMT', 1],
    ['Sun, 06 Nov 1994 08:00:00 GMT', 0],
  ])('reads %j', (text, seconds) => expect(readRetryAfter(text, now)).toBe(seconds))

  it.each([null, undefined, '', '-1', '1.5', '1e3', '2030-01-01', 'soon', 'Sun, 99 Nov 1994 08:49:37 GMT'])(
    'ignores %j',
    (text) => expect(readRetryAfter(text, now)).toBeUndefined(),
  )

  it('ignores a date if the peer sends no `Date`', () => {
    expect(readRetryAfter('Sun, 06 Nov 1994 08:50:37 GMT', null)).toBeUndefined()
    expect(readRetryAfter('Sun, 06 Nov 1994 08:50:37 GMT', 'now')).toBeUndefined()
  })
})
