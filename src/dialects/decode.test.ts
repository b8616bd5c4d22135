import { describe, expect, it } from 'vitest'
import {
  array,
  bytes,
  converted,
  decodeOrThrow,
  object,
  optional,
  presentString,
  refuse,
  required,
  string,
  struct,
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

describe('object', () => {
  const inner = object<{ readonly text?: string; readonly raw?: string; readonly metadata?: object }>(
    { text: optional(presentString), raw: optional(bytes), metadata: optional(struct) },
    { oneof: ['text', 'raw'] },
  )
  const decode = object<{ readonly messageId: string; readonly taskId?: string; readonly parts: readonly object[] }>(
    { messageId: required(string), taskId: optional(string), parts: required(array(inner)) },
    { aliases: { parts: ['content'] } },
  )
  const parsed = (json: string): unknown => JSON.parse(json)
  const decoded = { messageId: 'm', taskId: 't', parts: [{ text: '' }, { raw: 'AA==' }] }

  it('returns a value that decodes to itself', () => {
    const value = { ...decoded, taskId: 'u' }
    expect(decodeOrThrow(decode, value)).toBe(value)
  })

  it.each([
    ['in another order', '{"parts":[{"text":""},{"raw":"AA=="}],"taskId":"t","messageId":"m"}'],
    ['in snake case', '{"message_id":"m","task_id":"t","parts":[{"text":""},{"raw":"AA=="}]}'],
    ['under another name', '{"messageId":"m","taskId":"t","content":[{"text":""},{"raw":"AA=="}]}'],
    ['beside its other name', '{"messageId":"m","message_id":"n","taskId":"t","parts":[{"text":""},{"raw":"AA=="}]}'],
    ['beside null', '{"messageId":"m","taskId":"t","parts":[{"text":"","raw":null},{"text":null,"raw":"AA=="}]}'],
    ['that change', '{"messageId":"m","taskId":"t","parts":[{"text":""},{"raw":"AA"}]}'],
    [
      'beside unknown ones',
      '{"messageId":"m","a":1,"taskId":"t","__proto__":{"b":2},"parts":[{"text":"","toString":3},{"c":4,"raw":"AA=="}]}',
    ],
  ])('reads members %s', (_, json) => {
    const read = decodeOrThrow(decode, parsed(json))
    expect(JSON.stringify(read)).toBe(JSON.stringify(decoded))
    expect(Object.getPrototypeOf(read)).toBe(Object.prototype)
  })

  it.each([
    ['{"messageId":"m","taskId":5,"parts":[{"text":6}]}', 'taskId: must be a string; parts[0].text: must be a string'],
    ['{"parts":[{"text":6}],"taskId":5}', 'messageId: is required; taskId: must be a string; parts[0].text: must be'],
    ['{"messageId":"","parts":[]}', 'messageId: must not be empty; parts: must not be empty'],
    ['{"messageId":"m","parts":[{"text":"a","raw":"AA=="}]}', 'parts[0]: must have only one of text, raw'],
    ['{"messageId":"m","parts":[{}]}', 'parts[0]: must have one of text, raw'],
    [
      '{"messageId":"m","parts":[{"text":5,"raw":"AA"},{"text":"a"},7]}',
      'parts[0].text: must be a string; parts[2]: m',
    ],
    ['{"messageId":"m","parts":[{"text":"a","metadata":{"__proto__":1}}]}', 'parts[0].metadata.__proto__: is not an'],
  ])('names the faults of %s', (json, message) => {
    expect(() => decodeOrThrow(decode, parsed(json))).toThrow(message)
  })

  it('stops after twenty faults', () => {
    const parts = Array.from({ length: 50 }, () => ({ text: 5 }))
    expect(() => decodeOrThrow(decode, { messageId: 'm', parts })).toThrow(
      expect.objectContaining({
        details: {
          violations: parts.slice(0, 20).map((_, n) => expect.objectContaining({ field: `parts[${n}].text` })),
        },
      }),
    )
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
