import { describe, expect, it } from 'vitest'
import type { Message } from '../model/message.js'
import type { Struct } from '../model/part.js'
import { schemaOf } from '../model/question-schema.js'
import { exampleAnswer, type Field, fieldsOf, formAnswer, readField } from './question-form.js'

const schema: Struct = {
  type: 'object',
  required: ['name', 'size'],
  properties: {
    name: { type: 'string', title: 'Your name', minLength: 2, maxLength: 5 },
    size: { type: 'integer', minimum: 1, maximum: 9, default: 3 },
    price: { type: ['number', 'null'] },
    colour: { enum: ['red', 'green'] },
    extras: { type: 'array', items: { enum: ['a', 'b'] } },
    words: { type: 'array', items: { type: 'string' } },
    gift: { type: 'boolean', description: 'Wrap it?' },
    place: { type: 'object' },
    kind: { oneOf: [{ const: 'x', title: 'X' }, { const: 'y' }] },
  },
}

function field(name: string): Field {
  const found = fieldsOf(schema).find((each) => each.name === name)
  if (!found) throw new Error(`No field ${name}`)
  return found
}

describe('fieldsOf', () => {
  it('returns a field for each property', () => {
    expect(fieldsOf(schema).map(({ name, kind, isRequired }) => [name, kind, isRequired])).toEqual([
      ['name', 'text', true],
      ['size', 'integer', true],
      ['price', 'number', false],
      ['colour', 'choice', false],
      ['extras', 'choices', false],
      ['words', 'list', false],
      ['gift', 'boolean', false],
      ['place', 'json', false],
      ['kind', 'choice', false],
    ])
    expect(field('kind').choices).toEqual(['x', 'y'])
    expect(field('size').initial).toBe(3)
    expect(field('name').title).toBe('Your name')
  })

  it('returns one field if the schema is not an object', () => {
    const fields = fieldsOf({ type: 'number' })
    expect(fields).toMatchObject([{ name: '', kind: 'number', isRequired: true }])
    expect(formAnswer(fields, new Map([['', 7]]))).toBe(7)
  })

  it('accepts any schema', () => {
    for (const odd of [{}, { properties: { a: true } }, { properties: { a: null } }, { enum: [] }])
      expect(fieldsOf(odd as Struct)).toHaveLength(1)
  })
})

describe('readField', () => {
  it.each<[string, string, unknown]>([
    ['name', ' Ada ', { value: 'Ada' }],
    ['name', 'A', { problem: 'must have at least 2 characters' }],
    ['name', 'Ada Lovelace', { problem: 'must have at most 5 characters' }],
    ['name', '  ', { problem: 'is required' }],
    ['size', '4', { value: 4 }],
    ['size', '4.5', { problem: 'must be an integer' }],
    ['size', '12', { problem: 'must be 9 or less' }],
    ['size', '0', { problem: 'must be 1 or more' }],
    ['size', 'four', { problem: 'must be an integer' }],
    ['price', '', { value: undefined }],
    ['price', '1.5', { value: 1.5 }],
    ['words', 'a, b,,c ', { value: ['a', 'b', 'c'] }],
    ['place', '{"x":1}', { value: { x: 1 } }],
    ['place', '{x', { problem: 'must be JSON' }],
  ])('%s: %j', (name, typed, answer) => {
    expect(readField(field(name), typed)).toEqual(answer)
  })
})

describe('exampleAnswer', () => {
  it('contains the required properties, or all if none is required', () => {
    expect(exampleAnswer({ type: 'object', properties: { approve: { type: 'boolean' } } })).toEqual({ approve: true })
    expect(exampleAnswer(schema)).toEqual({ name: '…', size: 3 })
    expect(exampleAnswer({ enum: ['red', 'green'] })).toBe('red')
  })
})

describe('schemaOf', () => {
  const question = (parts: Message['parts']): Message => ({ messageId: 'm', role: 'ROLE_AGENT', parts })

  it('returns the schema of a question', () => {
    const parts = [{ text: 'How large?' }, { data: schema, mediaType: 'application/schema+json' }]
    expect(schemaOf(question(parts))).toBe(schema)
  })

  it('ignores other data parts', () => {
    expect(schemaOf(undefined)).toBeUndefined()
    expect(schemaOf(question([{ text: 'x' }, { data: {}, mediaType: 'application/json' }]))).toBeUndefined()
    expect(schemaOf(question([{ data: 'x', mediaType: 'application/schema+json' }]))).toBeUndefined()
    const large = { title: 'x'.repeat(100_001) }
    expect(schemaOf(question([{ data: large, mediaType: 'application/schema+json' }]))).toBeUndefined()
    let deep: Struct = {}
    for (let level = 0; level < 65; level++) deep = { not: deep }
    expect(schemaOf(question([{ data: deep, mediaType: 'application/schema+json' }]))).toBeUndefined()
  })
})
