import { describe, expect, it } from 'vitest'
import {
  array,
  bytes,
  converted,
  decodeOrThrow,
  object,
  optional,
  refuse,
  required,
  string,
  utcTimestamp,
} from './decode.js'

describe('utcTimestamp', () => {
  it.each([
    ['2025-04-02T16:59:35', '2025-04-02T16:59:35.000Z'],
    ['2025-04-02T16:59:35.331844', '2025-04-02T16:59:35.331Z'],
    ['2025-04-02T16:59:35Z', '2025-04-02T16:59:35.000Z'],
    ['2025-04-02t16:59:35-02:00', '2025-04-02T18:59:35.000Z'],
  ])('reads %s', (wire, time) => {
    expect(decodeOrThrow(utcTimestamp, wire)).toBe(time)
  })

  it.each(['2025-04-02', '2025-02-30T00:00:00', 'T12:00:00', 'now', 5])('refuses %s', (wire) => {
    expect(() => decodeOrThrow(utcTimestamp, wire)).toThrow('must be a timestamp')
  })
})

describe('bytes', () => {
  it('accepts raw bytes of any length', () => {
    expect(decodeOrThrow(bytes, new Uint8Array([0xfb, 0xff]))).toBe('+/8=')
    const many = new Uint8Array(100_000).fill(7)
    expect(decodeOrThrow(bytes, many)).toBe(Buffer.from(many).toString('base64'))
  })
})

describe('aliases', () => {
  const decode = object<{ readonly parts: readonly string[]; readonly note?: string }>(
    { parts: required(array(string)), note: optional(string) },
    { aliases: { parts: ['content', 'oldParts'] } },
  )

  it('are read if the member’s own name is absent', () => {
    expect(decodeOrThrow(decode, { content: ['a'] })).toEqual({ parts: ['a'] })
    expect(decodeOrThrow(decode, { parts: null, old_parts: ['b'] })).toEqual({ parts: ['b'] })
    expect(decodeOrThrow(decode, { parts: [], content: ['c'] })).toEqual({ parts: ['c'] })
  })

  it('are ignored if the name itself is present', () => {
    expect(decodeOrThrow(decode, { parts: ['a'], content: ['b'] })).toEqual({ parts: ['a'] })
  })

  it('leave a missing member missing', () => {
    expect(() => decodeOrThrow(decode, { content: [] })).toThrow('parts: is required')
  })
})

describe('converted', () => {
  const even = converted(object<{ readonly n: string }>({ n: required(string) }), ({ n }, faults) =>
    n.length % 2 === 0 ? n.length : refuse(faults, 'must be even', 'n'),
  )

  it('converts the decoded value', () => {
    expect(decodeOrThrow(even, { n: 'four' })).toBe(4)
  })

  it('may add faults, but none after a failed decode', () => {
    expect(() => decodeOrThrow(array(even), [{ n: 'odd' }])).toThrow('[0].n: must be even')
    expect(() => decodeOrThrow(even, { n: 5 })).toThrow(/^n: must be a string$/)
  })
})
