import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { byteSize, oneLine, printable, printableJson, shellWord, table, withoutSecrets } from './printable.js'

describe('printable', () => {
  it('removes control characters and keeps line ends', () => {
    expect(printable('a\u001b[31mb\u0007\r\nc\td\u009b2J\u202ee')).toBe('a[31mb\nc\td2Je')
  })

  it('does not change ordinary text of any script', () => {
    for (const text of ['héllo – “world”', '你好，世界', '👩‍👩‍👧', 'مرحبا']) expect(printable(text)).toBe(text)
  })

  it('never lets a control character through', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(oneLine(text)).not.toMatch(/\p{Cc}/u)
      }),
    )
  })
})

describe('printableJson', () => {
  it('escapes control characters and keeps the value', () => {
    const value = { '\u009b2J': 'a\u001b]52;c;eA==\u0007\u202eb\u2066\u007f\r', list: ['é', '你好', '\u009d'] }
    for (const text of [printableJson(value), printableJson(value, 2)]) {
      expect(JSON.parse(text)).toEqual(value)
      expect(text.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/u)
      expect(text).toContain('你好')
    }
  })

  it('never lets a control character through', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(printableJson({ [text]: text })).not.toMatch(/\p{Cc}/u)
        expect(JSON.parse(printableJson(text))).toBe(text)
      }),
    )
  })
})

describe('shellWord', () => {
  it.each([
    ['localhost:8001', 'localhost:8001'],
    ['https://a.example/x?y=1', "'https://a.example/x?y=1'"],
    ["it's; rm -rf /", "'it'\\''s; rm -rf /'"],
    ['', "''"],
  ])('spells %j as %s', (word, spelled) => {
    expect(shellWord(word)).toBe(spelled)
  })
})

describe('byteSize', () => {
  it.each([
    [0, '0 B'],
    [999, '999 B'],
    [1000, '1.0 kB'],
    [23_400, '23 kB'],
    [5_600_000, '5.6 MB'],
  ])('%d is %s', (bytes, said) => {
    expect(byteSize(bytes)).toBe(said)
  })
})

describe('table', () => {
  it('aligns columns', () => {
    expect(
      table([
        ['a', 'bb', 'c'],
        ['aaa', 'b', 'cc'],
      ]),
    ).toBe('a    bb  c\naaa  b   cc')
  })
})

describe('withoutSecrets', () => {
  it.each([
    ['http://user:secret@host:8001/path', 'http://…@host:8001/path'],
    ['https://host/?key=secret#part', 'https://host/?…#part'],
    ['https://a:secret@host?key=secret', 'https://…@host?…'],
    ['localhost:8001', 'localhost:8001'],
    ['OrderAgent', 'OrderAgent'],
    ['https://host/@name', 'https://host/@name'],
  ])('shows %s as %s', (url, shown) => {
    expect(withoutSecrets(url)).toBe(shown)
  })
})
