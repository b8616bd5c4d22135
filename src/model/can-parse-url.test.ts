import { expect, it } from 'vitest'
import { canParseUrl } from './can-parse-url.js'

it.each(['https://münchen.example/', 'https://host.example/café', 'https://例え.example/'])(
  'accepts %s in repeated calls',
  (url) => {
    const answers = new Set(Array.from({ length: 50_000 }, () => canParseUrl(url)))
    expect([...answers]).toEqual([true])
  },
)

it.each([
  ['nonsense', undefined, false],
  ['/path', undefined, false],
  ['/path', 'https://host.example', true],
  ['https://[', undefined, false],
])('checks whether %j is a URL relative to %j', (text, base, expected) => {
  expect(canParseUrl(text, base)).toBe(expected)
})
