/** The card of a route planner: two skills, three bindings, OpenID Connect, a signature; written for 0.2.9. */
import { readFileSync } from 'node:fs'
import { validateCard } from 'dragoman/server'
import { describe, expect, it } from 'vitest'
import { readCard } from '../../src/client/read-card.js'

const card = JSON.parse(readFileSync(new URL('../fixtures/cards/georoute.json', import.meta.url), 'utf8')) as {
  readonly name: string
}

describe('the card of a route planner', () => {
  it('is valid', () => {
    expect(validateCard(card)).toEqual({ version: 'v0.2', problems: [], isValid: true })
  })

  it('is not, when its address has another transport than it says', () => {
    const interfaces = [{ url: 'https://georoute-agent.example.com/a2a/v1', transport: 'GRPC' }]
    expect(validateCard({ ...card, additionalInterfaces: interfaces }).problems).not.toEqual([])
    expect(validateCard({ ...card, url: 'georoute' }).isValid).toBe(false)
  })

  it('is read with everything that counts', () => {
    const { card: read, family } = readCard(card)
    expect(family).toBe('v0.2')
    expect(read).toMatchObject({
      name: card.name,
      provider: { organization: 'Example Geo Services Inc.' },
      capabilities: { streaming: true, pushNotifications: true, extendedAgentCard: true },
      securitySchemes: { google: { openIdConnectSecurityScheme: {} } },
      securityRequirements: [{ schemes: { google: { list: ['openid', 'profile', 'email'] } } }],
      skills: [{ id: 'route-optimizer-traffic' }, { id: 'custom-map-generator' }],
    })
    expect(read.supportedInterfaces.map(({ protocolBinding, url }) => [protocolBinding, url])).toEqual([
      ['JSONRPC', 'https://georoute-agent.example.com/a2a/v1'],
      ['GRPC', 'https://georoute-agent.example.com/a2a/grpc'],
      ['HTTP+JSON', 'https://georoute-agent.example.com/a2a/json'],
    ])
  })
})
