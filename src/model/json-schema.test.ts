import { describe, expect, it } from 'vitest'
import { SchemaTooComplex, violationsOf } from './json-schema.js'
import type { JsonValue } from './part.js'

const faults = (schema: JsonValue, value: JsonValue) =>
  violationsOf(schema, value).map(({ path, problem }) => `${path} ${problem}`.trim())

/** Assigns `then`, because the linter takes an object literal with it for a promise. */
const conditional = (condition: JsonValue, consequence: JsonValue, otherwise: JsonValue = true): JsonValue =>
  Object.fromEntries([
    ['if', condition],
    ['then', consequence],
    ['else', otherwise],
  ])

describe('violationsOf()', () => {
  it.each<[string, JsonValue, readonly JsonValue[], readonly JsonValue[]]>([
    ['type', { type: ['integer', 'null'] }, [1, 1.0, null], [1.5, '1', true, [], {}]],
    ['enum', { enum: ['a', { b: 1, c: [2] }] }, ['a', { c: [2], b: 1 }], ['b', { b: 1 }]],
    ['const', { const: 0 }, [0], [1, '0', false]],
    ['properties', { properties: { a: { type: 'string' } } }, [{}, { a: 'x' }, { b: 1 }, 7], [{ a: 1 }]],
    ['required', { required: ['a'] }, [{ a: null }], [{}, { b: 1 }]],
    ['required of a prototype', { required: ['constructor'] }, [{ constructor: 1 }], [{}]],
    ['additionalProperties', { properties: { a: {} }, additionalProperties: false }, [{ a: 1 }], [{ a: 1, b: 2 }]],
    ['propertyNames', { propertyNames: { maxLength: 2 } }, [{ ab: 1 }], [{ abc: 1 }]],
    ['member counts', { minProperties: 1, maxProperties: 2 }, [{ a: 1 }], [{}, { a: 1, b: 2, c: 3 }]],
    ['dependentRequired', { dependentRequired: { a: ['b'] } }, [{}, { a: 1, b: 2 }], [{ a: 1 }]],
    ['dependentSchemas', { dependentSchemas: { a: { required: ['b'] } } }, [{}, { a: 1, b: 2 }], [{ a: 1 }]],
    ['items', { prefixItems: [{ type: 'string' }], items: { type: 'number' } }, [[], ['a', 1]], [[1], ['a', 'b']]],
    ['items of older drafts', { items: [{ type: 'string' }], additionalItems: false }, [['a']], [[1], ['a', 'b']]],
    ['item counts', { minItems: 1, maxItems: 2 }, [[1]], [[], [1, 2, 3]]],
    [
      'uniqueItems',
      { uniqueItems: true },
      [[1, '1', [1]]],
      [
        [
          { a: 1, b: 2 },
          { b: 2, a: 1 },
        ],
      ],
    ],
    ['contains', { contains: { type: 'number' }, maxContains: 1 }, [['a', 1]], [['a'], [1, 2]]],
    ['lengths in characters', { minLength: 2, maxLength: 3 }, ['ab', '🐉🐉🐉'], ['🐉', 'abcd']],
    ['ranges', { minimum: 1, exclusiveMaximum: 3 }, [1, 2.9], [0.9, 3]],
    ['multipleOf', { multipleOf: 0.1 }, [0.3, 4], [0.25]],
    ['allOf', { allOf: [{ minimum: 1 }, { maximum: 2 }] }, [1], [0, 3]],
    ['anyOf', { anyOf: [{ type: 'string' }, { minimum: 2 }] }, ['a', 2], [1]],
    ['oneOf', { oneOf: [{ minimum: 1 }, { maximum: 2 }] }, [0, 3], [1]],
    ['not', { not: { type: 'string' } }, [1], ['a']],
    ['if', conditional({ type: 'string' }, { minLength: 2 }, { minimum: 2 }), ['ab', 2], ['a', 1]],
    ['boolean schemas', { properties: { a: true, b: false } }, [{ a: 1 }], [{ b: 1 }]],
    ['references', { $defs: { 'a/b': { type: 'string' } }, items: { $ref: '#/$defs/a~1b' } }, [['a']], [[1]]],
    [
      'references to itself',
      { properties: { next: { $ref: '#' } }, required: ['v'] },
      [{ v: 1, next: { v: 2 } }],
      [{ v: 1, next: {} }],
    ],
  ])('%s', (_, schema, fitting, others) => {
    for (const value of fitting) expect(faults(schema, value)).toEqual([])
    for (const value of others) expect(faults(schema, value)).not.toEqual([])
  })

  it('names the position of each violation', () => {
    const schema = {
      type: 'object',
      required: ['approve', 'size'],
      properties: { approve: { type: 'boolean' }, list: { items: { properties: { n: { minimum: 1 } } } } },
    }
    expect(faults(schema, { approve: 'yes', list: [{ n: 1 }, { n: 0 }] })).toEqual([
      '.size is required',
      '.approve must be a boolean',
      '.list[1].n must be 1 or more',
    ])
  })

  it('does not evaluate patterns, and rejects no value because of them', () => {
    const evil = '^(a+)+$'
    const text = `${'a'.repeat(40)}!`
    for (const schema of [
      { pattern: evil },
      { not: { pattern: evil } },
      { oneOf: [{ pattern: evil }, { type: 'string' }] },
      conditional({ pattern: evil }, false),
    ])
      expect(faults(schema, text)).toEqual([])
    expect(faults({ patternProperties: { [evil]: {} }, additionalProperties: false }, { [text]: 1 })).toEqual([])
    expect(faults({ $ref: 'https://elsewhere.example/schema' }, text)).toEqual([])
  })

  it('ends for schemas designed to take forever', () => {
    const doubling: Record<string, JsonValue> = { d0: { type: 'number' } }
    for (let level = 1; level < 60; level++)
      doubling[`d${level}`] = { anyOf: [{ $ref: `#/$defs/d${level - 1}` }, { $ref: `#/$defs/d${level - 1}` }] }
    for (const [schema, value] of [
      [{ $ref: '#' }, 1],
      [{ allOf: [{ $ref: '#' }, { $ref: '#' }] }, 1],
      [{ $defs: doubling, $ref: '#/$defs/d59' }, 'a'],
      [
        { items: { enum: Array.from({ length: 1_000 }, (_, place) => [place]) } },
        Array.from({ length: 1_000 }, () => [-1]),
      ],
    ] as const)
      expect(() => violationsOf(schema as JsonValue, value as JsonValue)).toThrow(SchemaTooComplex)
  })

  it('does not read a long text again for every alternative', () => {
    const text = 'x'.repeat(5_000_000)
    const choices = Array.from({ length: 1000 }, (_, place) => ({ const: `choice ${place}` }))
    expect(faults({ oneOf: choices }, text)).toEqual(['must fit one of the alternatives'])
    // Work in proportion to the length of the text counts as steps.
    const measured = Array.from({ length: 1000 }, () => ({ maxLength: 4_000_000 }))
    expect(() => faults({ anyOf: measured }, text)).toThrow(SchemaTooComplex)
    const inLists = Array.from({ length: 1000 }, () => ({ const: ['y'] }))
    expect(() => faults({ anyOf: inLists }, [text])).toThrow(SchemaTooComplex)
  })
})
