import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ClientDialect } from '../dialects/client-dialect.js'
import { withClientDialects } from '../dialects/client-dialects.js'
import { A2AError } from '../model/errors.js'
import { taskRestCard, v0_1Card, v0_3Card, v1Card } from './cards.fixture.js'
import { readCard } from './read-card.js'

const url = 'https://agent.example/rpc'

describe('readCard', () => {
  it.each([
    ['v1', v1Card(url)],
    ['v1', { ...v0_3Card(url), ...v1Card(url) }],
    ['v0.3', v0_3Card(url)],
    ['v0.3', { ...v0_3Card(url), supportedInterfaces: [] }],
    ['v0.3', v0_3Card(url, { protocolVersion: '1.0' })],
    ['v0.3', v0_3Card(url, { protocolVersion: '0.2.9' })],
    ['v0.3', v0_1Card(url, { securitySchemes: {} })],
    ['v0.3', v0_1Card(url, { preferredTransport: 'JSONRPC' })],
    ['v0.1', v0_1Card(url, { authentication: { schemes: ['Bearer'] } })],
    ['v0.1', v0_1Card(url)],
    ['v0.1', v0_1Card(url, { protocolVersion: '0.1.0' })],
    ['v0.1-go', v0_1Card(url, { iconUri: 'https://x.example/i.png', authentication: { schemes: [] } })],
    ['task-rest', taskRestCard(url)],
    ['task-rest', taskRestCard(url, { authentication: { schemes: ['apiKey'] } })],
    ['v0.1', taskRestCard(url, { defaultInputModes: ['text'] })],
  ])('detects the dialect of a card: %s (RM-CARD-3, RM-CARD-5)', async (dialect, raw) => {
    const read = await readCard(raw)
    expect(read.dialect).toBe(dialect)
    expect(read.card).toMatchObject({ name: 'Agent', supportedInterfaces: [{ url }] })
  })

  it('reads v1.0 cards without optional members', async () => {
    const raw = { name: 'A', supportedInterfaces: [{ url, protocolBinding: 'GRPC' }], unknown: 1 }
    expect((await readCard(raw)).card).toMatchObject({
      description: '',
      supportedInterfaces: [{ url, protocolBinding: 'GRPC', protocolVersion: '1.0' }],
      capabilities: {},
      skills: [],
    })
  })

  it('names invalid members', async () => {
    const read = () => readCard(v1Card(url, { name: 5 }))
    await expect(read()).rejects.toThrow(/The card cannot be read: name: must be a string/)
    await expect(read()).rejects.toThrow(A2AError)
  })

  it('throws only INVALID_AGENT_RESPONSE for any invalid card', async () => {
    const keys = fc.constantFrom(
      'name',
      'url',
      'supportedInterfaces',
      'protocolVersion',
      'skills',
      'securitySchemes',
      '__proto__',
    )
    const cards = fc.oneof(fc.jsonValue(), fc.dictionary(keys, fc.jsonValue()))
    await fc.assert(
      fc.asyncProperty(cards, async (raw) => {
        try {
          await readCard(raw)
        } catch (caught) {
          expect(caught).toMatchObject({ name: 'A2AError', code: 'INVALID_AGENT_RESPONSE' })
        }
      }),
    )
  })

  it('reports errors of a dialect as INVALID_AGENT_RESPONSE, and skips one that fails to recognise', async () => {
    const cause = new RangeError('bug')
    const fail = () => {
      throw cause
    }
    const v1 = await withClientDialects().load('v1')
    const dialectWith = (recognise: () => 'certain', name = 'own') =>
      withClientDialects([{ ...v1, name, card: { ...v1.card, recognise, decode: fail } } as ClientDialect])
    expect((await readCard(v1Card(url), dialectWith(fail))).dialect).toBe('v1')
    await expect(
      readCard(
        v1Card(url),
        dialectWith(() => 'certain'),
      ),
    ).rejects.toThrow(expect.objectContaining({ name: 'A2AError', code: 'INVALID_AGENT_RESPONSE', cause }))
  })

  it('rejects URLs longer than 4,096 characters', async () => {
    const long = `https://agent.example/${'/'.repeat(4096)}`
    await expect(readCard(v1Card(long))).rejects.toThrow('supportedInterfaces[0].url is longer')
    await expect(readCard(v0_3Card(long))).rejects.toThrow('is longer than 4096 characters')
    const flows = { clientCredentials: { tokenUrl: long, scopes: {} } }
    const securitySchemes = { someUrl: { oauth2SecurityScheme: { flows } } }
    await expect(readCard(v1Card(url, { securitySchemes }))).rejects.toThrow('clientCredentials.tokenUrl is longer')
    expect((await readCard(v1Card(url, { iconUrl: `data:,${'x'.repeat(5000)}` }))).dialect).toBe('v1')
  })
})
