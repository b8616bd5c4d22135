import { describe, expect, it } from 'vitest'
import type { AgentCard } from '../../model/agent-card.js'
import { A2AError } from '../../model/errors.js'
import { encodeCard, encodeProtoCard, hybridCard } from './card.js'
import { jsonOperations } from './operations.js'
import { decodeCard } from './read-card.js'

const card: AgentCard = {
  name: 'Planner',
  description: 'Plans',
  version: '1.0.0',
  supportedInterfaces: [
    { url: 'https://a.example/', protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
    { url: 'https://a.example/', protocolBinding: 'JSONRPC', tenant: 'acme', protocolVersion: '0.3' },
    { url: 'https://a.example/old', protocolBinding: 'JSONRPC', protocolVersion: '0.3' },
    { url: 'https://a.example', protocolBinding: 'HTTP+JSON', protocolVersion: '0.3' },
  ],
  capabilities: { streaming: true, extendedAgentCard: false },
  securitySchemes: {
    key: { apiKeySecurityScheme: { location: 'header', name: 'X-API-Key' } },
    device: {
      oauth2SecurityScheme: {
        flows: {
          deviceCode: { deviceAuthorizationUrl: 'https://id.example/d', tokenUrl: 'https://id.example/t', scopes: {} },
        },
      },
    },
  },
  securityRequirements: [{ schemes: { key: {} } }],
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [
    {
      id: 'a',
      name: 'A',
      description: 'a',
      tags: ['t'],
      securityRequirements: [{ schemes: { key: { list: ['s'] } } }],
    },
    { id: 'b', name: 'B', description: 'b', tags: [] },
  ],
  signatures: [{ protected: 'e30', signature: 'eA' }],
}

describe('encodeCard', () => {
  it('lists the 0.3 interfaces without a tenant, in order (RM-CARD-1, R3-CARD-2, R3-CARD-3)', () => {
    expect(encodeCard(card)).toMatchObject({
      protocolVersion: '0.3.0',
      url: 'https://a.example/old',
      preferredTransport: 'JSONRPC',
      additionalInterfaces: [
        { url: 'https://a.example/old', transport: 'JSONRPC' },
        { url: 'https://a.example', transport: 'HTTP+JSON' },
      ],
    })
  })

  it('returns no card for an agent that cannot be reached in 0.3 (RM-CARD-1)', () => {
    const newer = { ...card, supportedInterfaces: card.supportedInterfaces.slice(0, 2) }
    expect(encodeCard(newer)).toBeUndefined()
    expect(() => jsonOperations.getExtendedAgentCard.encode(newer, undefined)).toThrow(A2AError)
  })

  it('drops signatures, which cover the v1.0 form, and flows that 0.3 does not have', () => {
    const wire = encodeCard(card)
    expect(wire).not.toHaveProperty('signatures')
    expect(wire).toHaveProperty('securitySchemes.device', { type: 'oauth2', flows: {} })
    expect(wire).toHaveProperty('supportsAuthenticatedExtendedCard', false)
  })

  it('fills in members of the old flows that 0.3 requires and v1.0 does not', () => {
    const flowsOf = (flows: object) =>
      encodeCard({ ...card, securitySchemes: { o: { oauth2SecurityScheme: { flows } } } } as unknown as AgentCard)
    expect(flowsOf({ implicit: {} })).toHaveProperty('securitySchemes.o.flows.implicit', {
      authorizationUrl: '',
      scopes: {},
    })
    expect(flowsOf({ password: { tokenUrl: 'https://t' } })).toHaveProperty('securitySchemes.o.flows.password', {
      tokenUrl: 'https://t',
      scopes: {},
    })
    const code = { authorizationUrl: 'https://a', tokenUrl: 'https://t', scopes: {} }
    expect(flowsOf({ authorizationCode: { ...code, pkceRequired: true } })).toHaveProperty(
      'securitySchemes.o.flows.authorizationCode',
      code,
    )
  })
})

describe('decodeCard', () => {
  it('reads both shapes of a card alike', () => {
    expect(decodeCard(encodeProtoCard(card))).toEqual({ ...decodeCard(encodeCard(card)) })
  })

  it('reads a card without a version as 0.2’s (RM-CARD-3)', () => {
    const { supportedInterfaces } = decodeCard({ name: 'n', url: 'https://a.example', preferredTransport: 'GRPC' })
    expect(supportedInterfaces).toEqual([{ url: 'https://a.example', protocolBinding: 'GRPC', protocolVersion: '0.2' }])
    const { supportedInterfaces: patched } = decodeCard({
      name: 'n',
      url: 'https://a.example',
      protocolVersion: '0.2.5',
    })
    expect(patched[0]?.protocolVersion).toBe('0.2')
  })

  it('requires a name and an address', () => {
    expect(() => decodeCard({ name: '' })).toThrow('name: must not be empty; url: is required')
  })

  it('drops a scheme named `__proto__`', () => {
    const wire = JSON.parse('{"name":"n","url":"u","securitySchemes":{"__proto__":{"type":"mutualTLS"}}}') as unknown
    expect(Object.keys(decodeCard(wire).securitySchemes ?? {})).toEqual([])
  })
})

describe('hybridCard', () => {
  const hybrid = hybridCard(card, encodeCard(card) as object)

  it('is the v1.0 card to v1.0 readers (RM-CARD-2)', () => {
    expect(hybrid).toMatchObject(card)
  })

  it('is the 0.3 card to 0.3 readers (RM-CARD-2)', () => {
    expect(hybrid).toMatchObject(encodeCard(card) as object)
  })

  it('has security schemes in both forms', () => {
    expect(hybrid).toHaveProperty('securitySchemes.key', {
      type: 'apiKey',
      in: 'header',
      name: 'X-API-Key',
      apiKeySecurityScheme: { location: 'header', name: 'X-API-Key' },
    })
    expect(hybrid).toHaveProperty('skills.0.security', [{ key: ['s'] }])
    expect(hybrid).toHaveProperty('skills.0.securityRequirements', [{ schemes: { key: { list: ['s'] } } }])
  })
})
