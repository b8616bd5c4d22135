import { McpServer } from '@modelcontextprotocol/server'
import { asSchema as asSchema7, tool as tool7 } from 'ai'
import { asSchema as asSchema6, tool as tool6 } from 'ai-v6'
import { describe, expect, expectTypeOf, it } from 'vitest'
import { agent } from '../engine/agent.js'
import { testEngine } from '../engine/engine.fixture.js'
import { createHandler } from '../server/handler.js'
import { callBy } from '../testing/index.js'
import { fromJsonSchema } from './from-json-schema.js'
import type { Struct } from './part.js'

interface Order {
  readonly size: number
}

const schema = {
  type: 'object',
  required: ['size'],
  properties: { size: { type: 'integer', minimum: 30 }, notes: { type: 'array', items: { type: 'string' } } },
}
const order = fromJsonSchema<Order>(schema)

describe('fromJsonSchema', () => {
  it('is a Standard Schema: valid values pass, others get issues with their place', () => {
    const { validate, version, vendor } = order['~standard']
    expect({ version, vendor }).toEqual({ version: 1, vendor: 'dragoman' })
    expect(validate({ size: 48 })).toEqual({ value: { size: 48 } })
    expect(validate({ size: 12, notes: ['a', 1] })).toEqual({
      issues: [
        { message: 'must be 30 or more', path: ['size'] },
        { message: 'must be a string', path: ['notes', 1] },
      ],
    })
    expect(validate(undefined)).toEqual({ issues: [{ message: 'must be an object' }] })
  })

  it('names members that are no identifiers in the message', () => {
    const odd = fromJsonSchema({ type: 'object', properties: { 'a "b': { type: 'number' } } })
    expect(odd['~standard'].validate({ 'a "b': 'x' })).toEqual({ issues: [{ message: '["a \\"b"] must be a number' }] })
  })

  it('refuses a value that takes too long to check', () => {
    const wide = { $defs: { all: { anyOf: Array.from({ length: 500 }, () => ({ type: 'null' })) } } }
    const { validate } = fromJsonSchema({ ...wide, items: { $ref: '#/$defs/all' } })['~standard']
    expect(validate(Array.from({ length: 1000 }, () => 1))).toEqual({
      issues: [{ message: 'is too large to be checked' }],
    })
  })

  it('is a Standard JSON Schema, of which every reader gets a copy', () => {
    const { input, output } = order['~standard'].jsonSchema
    expect(input({ target: 'draft-2020-12' })).toEqual(schema)
    expect(output({ target: 'draft-07' })).toEqual(schema)
    Object.assign(input({ target: 'draft-07' }), { type: 'null' })
    expect(input({ target: 'draft-07' })).toEqual(schema)
    expect(() => input({ target: 'openapi-3.0' })).toThrow('openapi-3.0 is not supported')
  })

  it('refuses what is no JSON Schema', () => {
    expect(() => fromJsonSchema([] as unknown as Struct)).toThrow('A JSON Schema must be an object')
    expect(() => fromJsonSchema({ properties: { size: { type: 'int' } } })).toThrow(
      'The JSON Schema is not valid: .properties.size.type',
    )
  })

  it('types the data of a skill, and the engine checks it', async () => {
    const tailor = agent({ name: 'Test', skills: [{ id: 'suit', input: order }] }, async function* (turn) {
      expectTypeOf(turn.data()).toEqualTypeOf<Order>()
      yield `size ${turn.data().size}`
    })
    await using engine = await testEngine(tailor, 'memory')
    const send = (data: Struct) => {
      const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ data }] } as const
      return engine.sendMessage({ message }, callBy())
    }
    expect(await send({ size: 48 })).toMatchObject({ task: { artifacts: [{ parts: [{ text: 'size 48' }] }] } })
    await expect(send({ size: 'large' })).rejects.toThrow('message.parts[0].data.size')
  })

  it('is published in the card of the agent', async () => {
    const tailor = agent({ name: 'Tailor', skills: [{ id: 'suit', input: order }] }, async function* () {})
    const handler = await createHandler(tailor, { publicUrl: 'https://tailor.example', log: false })
    const card = await (await handler.fetch(new Request('https://tailor.example/.well-known/agent-card.json'))).text()
    await handler.close({ deadlineMs: 0 })
    expect(card).toContain(JSON.stringify(schema))
  })

  const execute = async ({ size }: Order) => size
  it.each([
    ['7', asSchema7(tool7({ inputSchema: order, execute }).inputSchema)],
    ['6', asSchema6(tool6({ inputSchema: order, execute }).inputSchema)],
  ])('is the schema of a tool of the AI SDK %s', async (_version, taken) => {
    expect(await taken.jsonSchema).toMatchObject(schema)
    expect(await taken.validate?.({ size: 48 })).toEqual({ success: true, value: { size: 48 } })
    expect(await taken.validate?.({})).toMatchObject({ success: false })
    // The AI SDK changes the JSON Schema that it gets.
    expect(order['~standard'].validate({ size: 48, more: true })).toMatchObject({ value: { more: true } })
  })

  it('is the schema of a tool of an MCP server', () => {
    const server = new McpServer({ name: 'Test', version: '1' })
    const tool = server.registerTool('suit', { inputSchema: order, outputSchema: order }, ({ size }) => {
      expectTypeOf(size).toEqualTypeOf<number>()
      return { content: [], structuredContent: { size } }
    })
    expect(tool.inputSchema).toBe(order)
  })
})
