import { describe, expect, it } from 'vitest'
import type { AgentCard } from '../../client/index.js'
import type { SecurityScheme } from '../../model/index.js'
import { authHint } from './auth-hint.js'

function cardWith(
  securitySchemes: { readonly [name: string]: SecurityScheme },
  ...alternatives: string[][]
): AgentCard {
  return {
    name: 'A',
    description: '',
    version: '1',
    supportedInterfaces: [],
    capabilities: {},
    defaultInputModes: [],
    defaultOutputModes: [],
    skills: [],
    securitySchemes,
    securityRequirements: alternatives.map((names) => ({
      schemes: Object.fromEntries(names.map((name) => [name, { list: [] }])),
    })),
  }
}

describe('authHint', () => {
  it.each<[string, SecurityScheme, string]>([
    [
      'a key in a header',
      { apiKeySecurityScheme: { location: 'header', name: 'X-Key' } },
      "It asks for s (API key in header X-Key); give it with `dragoman auth login REF --api-key KEY` or --header 'X-Key: KEY'",
    ],
    ['a key elsewhere', { apiKeySecurityScheme: { location: 'query', name: 'k' } }, '--api-key KEY`'],
    ['a token', { httpAuthSecurityScheme: { scheme: 'Bearer' } }, '--bearer TOKEN`'],
    ['a password', { httpAuthSecurityScheme: { scheme: 'basic' } }, '--basic USER:PASSWORD`'],
    ['a certificate', { mtlsSecurityScheme: {} }, '--client-cert PATH --client-key PATH'],
    ['OpenID Connect', { openIdConnectSecurityScheme: { openIdConnectUrl: 'https://x' } }, '--client-id ID`'],
    ['what nobody knows', { httpAuthSecurityScheme: { scheme: 'Odd' } }, 'It asks for s (HTTP Odd)'],
  ])('tells how to give %s', (_, scheme, words) => {
    const hint = authHint(cardWith({ s: scheme }, ['s']), 'REF') ?? ''
    expect(hint.startsWith('It asks for s (')).toBe(true)
    expect(hint.endsWith(words)).toBe(true)
  })

  it('tells of several, and of other ways', () => {
    const schemes = {
      a: { httpAuthSecurityScheme: { scheme: 'Bearer' } },
      b: { mtlsSecurityScheme: {} },
    }
    expect(authHint(cardWith(schemes, ['a', 'b'], ['b']), 'REF')).toBe(
      'It asks for a (HTTP Bearer) and b (client certificate), or something else: `dragoman card get` tells; ' +
        'give it with `dragoman auth login REF --bearer TOKEN` and --client-cert PATH --client-key PATH',
    )
  })

  it('has nothing to say where the card says nothing', () => {
    expect(authHint(cardWith({}), 'REF')).toBeUndefined()
    expect(authHint(cardWith({}, []), 'REF')).toBeUndefined()
    expect(authHint(cardWith({}, ['constructor']), 'REF')).toBe('It asks for constructor (not described)')
  })
})
