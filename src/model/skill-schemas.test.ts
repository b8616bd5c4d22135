import { describe, expect, it } from 'vitest'
import type { AgentCard } from './agent-card.js'
import type { JsonValue } from './part.js'
import { inputSchemaOf, skillSchemasUri } from './skill-schemas.js'

describe('inputSchemaOf', () => {
  it('reads the schema of a skill', () => {
    const schema = { type: 'object', properties: { size: { type: 'number' } } }
    expect(inputSchemaOf(cardWith({ suit: { input: schema } }), 'suit')).toEqual(schema)
  })

  it('returns undefined for an unknown skill, a skill without a schema and a card without schemas', () => {
    const card = cardWith({ suit: { output: { type: 'object' } } })
    for (const id of ['suit', 'hat', 'constructor', '__proto__']) expect(inputSchemaOf(card, id)).toBeUndefined()
    expect(inputSchemaOf({ ...card, capabilities: {} }, 'suit')).toBeUndefined()
  })

  it('ignores values that are not schemas, and schemas that are too large or too deep', () => {
    let deep: JsonValue = {}
    for (let level = 0; level < 100; level++) deep = { items: deep }
    for (const input of [1, null, [], 'x'.repeat(10), { title: 'x'.repeat(200_000) }, deep])
      expect(inputSchemaOf(cardWith({ suit: { input } }), 'suit')).toBeUndefined()
    expect(inputSchemaOf(cardWith([]), 'suit')).toBeUndefined()
  })
})

function cardWith(skills: JsonValue): AgentCard {
  return {
    name: 'Tailor',
    description: 'Sews',
    version: '1.0.0',
    supportedInterfaces: [],
    capabilities: { extensions: [{ uri: skillSchemasUri, params: { skills } }] },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [],
  }
}
