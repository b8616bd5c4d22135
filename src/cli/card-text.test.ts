import { describe, expect, it } from 'vitest'
import type { AgentCard } from '../client/index.js'
import type { SecurityScheme } from '../model/index.js'
import { authHint } from './card-text.js'

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
      "The agent requires s (API key in header X-Key); pass it with `dragoman auth login REF --api-key KEY` or --header 'X-Key: KEY'",
    ],
    ['a key in the query', { apiKeySecurityScheme: { location: 'query', name: 'k' } }, '--api-key KEY`'],
    ['a token', { httpAuthSecurityScheme: { scheme: 'Bearer' } }, '--bearer TOKEN`'],
    ['a password', { httpAuthSecurityScheme: { scheme: 'basic' } }, '--basic USER:PASSWORD`'],
    ['a certificate', { mtlsSecurityScheme: {} }, '--client-cert PATH --client-key PATH'],
    ['OpenID Connect', { openIdConnectSecurityScheme: { openIdConnectUrl: 'https://x' } }, '--client-id ID`'],
    ['an unknown scheme', { httpAuthSecurityScheme: { scheme: 'Odd' } }, 'The agent requires s (HTTP Odd)'],
  ])('names the option for %s', (_, scheme, words) => {
    const hint = authHint(cardWith({ s: scheme }, ['s']), 'REF') ?? ''
    expect(hint.startsWith('The agent requires s (')).toBe(true)
    expect(hint.endsWith(words)).toBe(true)
  })

  it('names all schemes of the first requirement, and that there are alternatives', () => {
    const schemes = {
      a: { httpAuthSecurityScheme: { scheme: 'Bearer' } },
      b: { mtlsSecurityScheme: {} },
    }
    expect(authHint(cardWith(schemes, ['a', 'b'], ['b']), 'REF')).toBe(
      'The agent requires a (HTTP Bearer) and b (client certificate), or one of the alternatives that `dragoman card get` prints; ' +
        'pass it with `dragoman auth login REF --bearer TOKEN` and --client-cert PATH --client-key PATH',
    )
  })

  it('returns undefined if the card requires nothing', () => {
    expect(authHint(cardWith({}), 'REF')).toBeUndefined()
    expect(authHint(cardWith({}, []), 'REF')).toBeUndefined()
    expect(authHint(cardWith({}, ['constructor']), 'REF')).toBe('The agent requires constructor (not described)')
  })
})
