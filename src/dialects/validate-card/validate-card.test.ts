import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type CardReport, validateCard } from './index.js'

type Json = Record<string, unknown>

const header = btoa('{"alg":"ES256","kid":"k1","typ":"JOSE"}').replaceAll('=', '')

const v1Card: Json = {
  name: 'Orders',
  description: 'Knows where orders are',
  version: '2.1.0',
  supportedInterfaces: [
    { url: 'https://orders.example/rpc', protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
    { url: 'https://orders.example', protocolBinding: 'HTTP+JSON', protocolVersion: '1.0', tenant: 'eu' },
    { url: 'orders.example:443', protocolBinding: 'GRPC', protocolVersion: '1.0' },
  ],
  provider: { organization: 'Example', url: 'https://example.com' },
  documentationUrl: 'https://orders.example/docs',
  capabilities: {
    streaming: true,
    pushNotifications: false,
    extendedAgentCard: true,
    extensions: [{ uri: 'urn:example:receipts:v1', required: false, params: { depth: 3 } }],
  },
  securitySchemes: {
    key: { apiKeySecurityScheme: { location: 'header', name: 'X-API-Key' } },
    bearer: { httpAuthSecurityScheme: { scheme: 'Bearer', bearerFormat: 'JWT' } },
    sso: { openIdConnectSecurityScheme: { openIdConnectUrl: 'https://id.example/.well-known/openid-configuration' } },
    oauth: {
      oauth2SecurityScheme: {
        flows: {
          deviceCode: {
            deviceAuthorizationUrl: 'https://id.example/device',
            tokenUrl: 'https://id.example/token',
            scopes: { 'orders:read': 'Read orders' },
          },
        },
      },
    },
    mtls: { mtlsSecurityScheme: {} },
  },
  securityRequirements: [{ schemes: { key: {} } }, { schemes: { oauth: { list: ['orders:read'] }, mtls: {} } }],
  defaultInputModes: ['text/plain', 'application/json; charset=utf-8', '*/*'],
  defaultOutputModes: ['text/plain'],
  skills: [
    { id: 'find', name: 'Find', description: 'Finds an order', tags: ['orders'], examples: ['Where is 42?'] },
    {
      id: 'cancel',
      name: 'Cancel',
      description: 'Cancels an order',
      tags: ['orders'],
      inputModes: ['application/json'],
      securityRequirements: [{ schemes: { bearer: { list: [] } } }],
    },
  ],
  signatures: [{ protected: header, signature: 'c2lnbmF0dXJl', header: { note: 'x' } }],
}

const v03Card: Json = {
  protocolVersion: '0.3.0',
  name: 'Orders',
  description: 'Knows where orders are',
  url: 'https://orders.example/rpc',
  preferredTransport: 'JSONRPC',
  additionalInterfaces: [
    { url: 'https://orders.example/rpc', transport: 'JSONRPC' },
    { url: 'https://orders.example', transport: 'HTTP+JSON' },
    { url: 'https://orders.example', transport: 'GRPC' },
  ],
  version: '2.1.0',
  capabilities: { streaming: true, stateTransitionHistory: false },
  securitySchemes: {
    key: { type: 'apiKey', in: 'header', name: 'X-API-Key' },
    bearer: { type: 'http', scheme: 'Bearer' },
    oauth: {
      type: 'oauth2',
      flows: {
        clientCredentials: { tokenUrl: 'https://id.example/token', scopes: {} },
        implicit: { authorizationUrl: 'https://id.example/authorize', scopes: { a: 'A' } },
      },
    },
    sso: { type: 'openIdConnect', openIdConnectUrl: 'https://id.example/.well-known/openid-configuration' },
    mtls: { type: 'mutualTLS' },
  },
  security: [{ key: [] }, { oauth: ['a'] }],
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [{ id: 'find', name: 'Find', description: 'Finds an order', tags: [], security: [{ bearer: [] }] }],
  supportsAuthenticatedExtendedCard: false,
}

const v02Card: Json = {
  name: 'Orders',
  description: 'Knows where orders are',
  url: 'http://localhost:8000/',
  version: '1.0.0',
  preferredTransport: 'JSONRPC',
  capabilities: {},
  defaultInputModes: ['text'],
  defaultOutputModes: ['text'],
  skills: [{ id: 'find', name: 'Find', description: 'Finds an order', tags: ['orders'] }],
}

const v01Card: Json = {
  name: 'Orders',
  url: 'http://localhost:8000/',
  version: '1.0.0',
  capabilities: { streaming: true, pushNotifications: false, stateTransitionHistory: false },
  authentication: { schemes: ['Bearer'], credentials: '{"tokenUrl":"https://id.example/token"}' },
  defaultInputModes: ['text', 'data'],
  skills: [{ id: 'find', name: 'Find' }],
}

const hybridCard: Json = {
  ...v03Card,
  ...v1Card,
  securitySchemes: {
    key: {
      type: 'apiKey',
      in: 'header',
      name: 'X-API-Key',
      apiKeySecurityScheme: { location: 'header', name: 'X-API-Key' },
    },
  },
  security: [{ key: [] }],
  securityRequirements: [{ schemes: { key: {} } }],
  skills: [{ id: 'find', name: 'Find', description: 'Finds an order', tags: ['orders'], security: [{ key: [] }] }],
}

/** The card with the value at `path` replaced; `undefined` removes it. */
function changed(card: Json, path: string, value: unknown): unknown {
  const copy = structuredClone(card)
  const steps = path.split('.')
  const last = steps.pop() as string // a path has at least one step
  const target = steps.reduce<Json>((at, step) => at[step] as Json, copy)
  if (value === undefined) delete target[last]
  else target[last] = value
  return copy
}

const summaryOf = ({ problems }: CardReport) =>
  problems.map(({ severity, path, requirement }) => `${severity} ${path} ${requirement}`)

describe('validateCard', () => {
  it.each<[string, Json]>([
    ['v1', v1Card],
    ['v0.3', v03Card],
    ['v0.2', v02Card],
    ['v0.1', v01Card],
    ['hybrid', hybridCard],
  ])('finds no problem in a valid card of %s', (version, card) => {
    expect(validateCard(card)).toEqual({ version, problems: [], isValid: true })
  })

  it.each<[string, unknown, string[]]>([
    ['name', undefined, ['error name R-CARD-2']],
    ['name', null, ['error name R-CARD-2']],
    ['name', 7, ['error name R-CARD-2']],
    ['name', '', ['warning name R-CARD-2']],
    ['capabilities', undefined, ['error capabilities R-CARD-2']],
    ['capabilities.streaming', 'yes', ['error capabilities.streaming R-CARD-2']],
    ['capabilities.stateTransitionHistory', false, ['error capabilities.stateTransitionHistory R-JSON-13']],
    ['capabilities.extensions', [{}], ['error capabilities.extensions[0].uri R-EXT-1']],
    ['capabilities.extensions', [{ uri: 'receipts' }], ['warning capabilities.extensions[0].uri R-EXT-1']],
    ['defaultInputModes', [], ['error defaultInputModes R-CARD-2']],
    ['defaultOutputModes', ['text'], ['warning defaultOutputModes[0] R-CARD-2']],
    ['skills', [], ['error skills R-CARD-2']],
    ['skills', { find: {} }, ['error skills R-CARD-2']],
    ['skills.0.tags', [], ['error skills[0].tags R-CARD-2']],
    ['skills.1.id', 'find', ['error skills[1].id R-CARD-2']],
    ['skills.0.description', undefined, ['error skills[0].description R-CARD-2']],
    ['skills.0.security', [], ['error skills[0].security R-JSON-13']],
    [
      'skills.1.securityRequirements.0.schemes',
      { none: {} },
      ['error skills[1].securityRequirements[0].schemes.none R-SEC-2'],
    ],
    ['supportedInterfaces', [], ['error supportedInterfaces R-CARD-2']],
    ['supportedInterfaces.0.url', '/rpc', ['error supportedInterfaces[0].url R-CARD-3']],
    ['supportedInterfaces.0.url', '', ['error supportedInterfaces[0].url R-CARD-3']],
    ['supportedInterfaces.0.url', 'javascript:alert(1)', ['error supportedInterfaces[0].url R-CARD-3']],
    ['supportedInterfaces.0.url', `https://${'x'.repeat(5000)}`, ['error supportedInterfaces[0].url R-CARD-3']],
    ['supportedInterfaces.0.url', 'http://orders.example/rpc', ['warning supportedInterfaces[0].url R-SEC-1']],
    ['supportedInterfaces.2.url', 'https://orders.example', ['warning supportedInterfaces[2].url R-CARD-3']],
    ['supportedInterfaces.2.url', 'orders.example:70000', ['error supportedInterfaces[2].url R-CARD-3']],
    ['supportedInterfaces.2.url', 'orders', ['error supportedInterfaces[2].url R-CARD-3']],
    ['supportedInterfaces.0.protocolBinding', 'jsonrpc', ['warning supportedInterfaces[0].protocolBinding R-CARD-3']],
    [
      'supportedInterfaces.0.protocolBinding',
      'carrier pigeon',
      ['warning supportedInterfaces[0].protocolBinding R-CARD-3'],
    ],
    ['supportedInterfaces.0.protocolBinding', 'https://pigeon.example/v1', []],
    ['supportedInterfaces.0.protocolVersion', '1.0.1', ['warning supportedInterfaces[0].protocolVersion R-VER-5']],
    ['supportedInterfaces.0.protocolVersion', 'latest', ['error supportedInterfaces[0].protocolVersion R-CARD-3']],
    ['supportedInterfaces.0.protocolVersion', 1, ['error supportedInterfaces[0].protocolVersion R-CARD-2']],
    ['supportedInterfaces.0.tenant', 1, ['error supportedInterfaces[0].tenant R-TEN-1']],
    ['supportedInterfaces.0', 'https://orders.example', ['error supportedInterfaces[0] R-CARD-2']],
    ['provider.url', undefined, ['error provider.url R-CARD-2']],
    ['iconUrl', 'icon.png', ['error iconUrl R-CARD-2']],
    ['securitySchemes.key', {}, ['error securitySchemes.key R-JSON-7']],
    ['securitySchemes.key', { type: 'apiKey', in: 'header', name: 'X' }, ['error securitySchemes.key R-JSON-7']],
    ['securitySchemes.key.mtlsSecurityScheme', {}, ['error securitySchemes.key R-JSON-7']],
    [
      'securitySchemes.key.apiKeySecurityScheme.location',
      'body',
      ['error securitySchemes.key.apiKeySecurityScheme.location R-CARD-2'],
    ],
    [
      'securitySchemes.bearer.httpAuthSecurityScheme',
      { type: 'x' },
      ['error securitySchemes.bearer.httpAuthSecurityScheme.scheme R-CARD-2'],
    ],
    [
      'securitySchemes.oauth.oauth2SecurityScheme.flows',
      {},
      ['error securitySchemes.oauth.oauth2SecurityScheme.flows R-CARD-2'],
    ],
    [
      'securitySchemes.oauth.oauth2SecurityScheme.flows',
      { authorizationCode: { tokenUrl: 'nowhere' } },
      [
        'error securitySchemes.oauth.oauth2SecurityScheme.flows.authorizationCode.authorizationUrl R-CARD-2',
        'error securitySchemes.oauth.oauth2SecurityScheme.flows.authorizationCode.tokenUrl R-CARD-2',
        'error securitySchemes.oauth.oauth2SecurityScheme.flows.authorizationCode.scopes R-CARD-2',
      ],
    ],
    [
      'securitySchemes.oauth.oauth2SecurityScheme.flows',
      { implicit: {}, password: {} },
      [
        'error securitySchemes.oauth.oauth2SecurityScheme.flows R-JSON-7',
        'warning securitySchemes.oauth.oauth2SecurityScheme.flows.implicit R-CARD-2',
        'warning securitySchemes.oauth.oauth2SecurityScheme.flows.password R-CARD-2',
      ],
    ],
    [
      'securitySchemes',
      undefined,
      [
        'warning capabilities.extendedAgentCard R-XCARD-3',
        'error securityRequirements[0].schemes.key R-SEC-2',
        'error securityRequirements[1].schemes.oauth R-SEC-2',
        'error securityRequirements[1].schemes.mtls R-SEC-2',
        'error skills[1].securityRequirements[0].schemes.bearer R-SEC-2',
      ],
    ],
    [
      'securityRequirements',
      [{ schemes: { toString: {} } }],
      ['error securityRequirements[0].schemes.toString R-SEC-2'],
    ],
    ['securityRequirements', [{ schemes: { key: [] } }], ['error securityRequirements[0].schemes.key R-SEC-2']],
    ['securityRequirements', [{ key: [] }], ['error securityRequirements[0] R-SEC-2']],
    ['security', [{ key: [] }], ['error security R-JSON-13']],
    ['supported_interfaces', [], ['error supported_interfaces R-JSON-1']],
    ['signatures.0.signature', undefined, ['error signatures[0].signature R-SIGN-1']],
    ['signatures.0.protected', 'not base64!', ['error signatures[0].protected R-SIGN-1']],
    ['signatures.0.protected', 'bm90IGpzb24', ['error signatures[0].protected R-SIGN-4']],
    ['signatures.0.protected', btoa('{"alg":"ES256"}').replaceAll('=', ''), ['error signatures[0].protected R-SIGN-4']],
    [
      'signatures.0.protected',
      btoa('{"alg":"none","kid":"k"}').replaceAll('=', ''),
      ['error signatures[0].protected R-SIGN-6'],
    ],
  ])('v1: with %s as %j (R-CARD-2, R-CARD-3)', (path, value, problems) => {
    expect(summaryOf(validateCard(changed(v1Card, path, value)))).toEqual(problems)
  })

  it.each<[string, unknown, string[]]>([
    ['url', undefined, ['error url R3-CARD-1', 'warning additionalInterfaces R3-CARD-3']],
    ['description', null, ['error description R3-CARD-1']],
    ['protocolVersion', '0.4', ['error protocolVersion R3-CARD-1']],
    ['preferredTransport', undefined, ['error preferredTransport R3-CARD-2']],
    [
      'preferredTransport',
      'PIGEON',
      ['warning preferredTransport R3-CARD-2', 'warning additionalInterfaces R3-CARD-3'],
    ],
    [
      'additionalInterfaces.0',
      { url: 'https://orders.example/rpc' },
      ['error additionalInterfaces[0].transport R3-CARD-9', 'warning additionalInterfaces R3-CARD-3'],
    ],
    ['additionalInterfaces.2.url', 'https://orders.example/rpc', ['error additionalInterfaces[2] R3-CARD-4']],
    ['additionalInterfaces.2.url', 'orders.example:443', []],
    ['skills', [], ['error skills R3-CARD-1']],
    ['skills.0.tags', undefined, ['error skills[0].tags R3-CARD-1']],
    ['skills.0.security', [{ none: [] }], ['error skills[0].security[0].none R3-SEC-1']],
    ['security', [{ none: [] }], ['error security[0].none R3-SEC-1']],
    ['security', { key: [] }, ['error security R3-SEC-1']],
    ['securitySchemes.key.in', 'body', ['error securitySchemes.key.in R3-CARD-1']],
    ['securitySchemes.key.type', 'constructor', ['error securitySchemes.key.type R3-CARD-1']],
    ['securitySchemes.oauth.flows', { deviceCode: {} }, ['error securitySchemes.oauth.flows R3-CARD-1']],
    ['signatures', [{ protected: 'x' }], ['error signatures[0].signature R3-CARD-7']],
    ['supportsAuthenticatedExtendedCard', 'no', ['error supportsAuthenticatedExtendedCard R3-CARD-6']],
  ])('0.3: with %s as %j (R3-CARD)', (path, value, problems) => {
    const report = validateCard(changed(v03Card, path, value))
    expect(report.version).toBe('v0.3')
    expect(summaryOf(report)).toEqual(problems)
  })

  it.each<[string, unknown, string[]]>([
    ['url', 'localhost', ['error url RL-02-1']],
    ['skills.0.name', undefined, ['error skills[0].name RL-02-1']],
    ['capabilities', [], ['error capabilities RL-02-1']],
    ['authentication.schemes', 'Bearer', ['error authentication.schemes RL-02-1']],
    ['authentication.credentials', 'c2VjcmV0LXRva2Vu', ['warning authentication.credentials R3-CARD-8']],
  ])('0.1: with %s as %j', (path, value, problems) => {
    const report = validateCard(changed(v01Card, path, value))
    expect(report.version).toBe('v0.1')
    expect(summaryOf(report)).toEqual(problems)
  })

  it('explains why an address is invalid for gRPC (R3-CARD-4)', () => {
    const messages = (card: unknown) => validateCard(card).problems.map(({ message }) => message)
    expect(messages(changed(v03Card, 'additionalInterfaces.2.url', 'https://orders.example/rpc'))).toEqual([
      expect.stringMatching(/fixed paths of the host.*: write https:\/\/host:port or host:port for GRPC$/),
    ])
    expect(messages(changed(v03Card, 'additionalInterfaces.2.url', 'orders.example'))).toEqual([
      'must be host:port: gRPC clients dial a host and a port, and call fixed paths there',
    ])
  })

  it('checks a hybrid card by both sets of rules (R-CARD-8)', () => {
    expect(summaryOf(validateCard(changed(hybridCard, 'securitySchemes.key.in', 'body')))).toEqual([
      'error securitySchemes.key.in R3-CARD-1',
    ])
    expect(summaryOf(validateCard(changed(hybridCard, 'securitySchemes.key.apiKeySecurityScheme', undefined)))).toEqual(
      ['error securitySchemes.key R-JSON-7'],
    )
    expect(summaryOf(validateCard(changed(hybridCard, 'version', undefined)))).toEqual([
      'error version R-CARD-2',
      'error version R3-CARD-1',
    ])
  })

  it.each<[string, string, Json]>([
    ['v1', 'a protocolVersion of 1.0 alone', { protocolVersion: '1.0', url: 'https://a.example' }],
    ['v1', 'a list of interfaces in snake_case', { supported_interfaces: [] }],
    ['v0.2', 'a protocolVersion of 0.2.6', { protocolVersion: '0.2.6', url: 'https://a.example' }],
    ['v0.2', 'security schemes without a version', { securitySchemes: {}, url: 'https://a.example' }],
    ['v0.1', 'nothing but a url', { url: 'https://a.example' }],
    ['v0.1', 'an iconUri', { iconUri: 'https://a.example/i.png' }],
    ['v0.3', 'an unknown version', { protocolVersion: '0.9', url: 'https://a.example' }],
    ['unknown', 'no address at all', { name: 'x' }],
  ])('recognises a card of %s by %s (RM-CARD-3)', (version, _by, card) => {
    expect(validateCard(card)).toMatchObject({ version, isValid: false })
  })

  it.each([[null], [undefined], [7], ['{}'], [[v1Card]], [true]])('reports that %j is not a card', (card) => {
    expect(validateCard(card)).toMatchObject({ version: 'unknown', isValid: false, problems: [{ path: '' }] })
  })
})

describe('credentials in a card', () => {
  const secrets = [
    '-----BEGIN RSA PRIVATE KEY-----\nMIIE',
    'Authorization: Bearer abcdefghij0123456789',
    'AKIAABCDEFGHIJKLMNOP',
    `ghp_${'a1'.repeat(18)}`,
    'sk-abcdefghijklmnopqrstuvwx',
    'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N',
  ]

  it.each(secrets)('cause a warning that does not repeat them: %.12s… (R-CARD-7)', (secret) => {
    const report = validateCard(changed(v1Card, 'skills.0.examples', ['Try this', secret]))
    expect(summaryOf(report)).toEqual(['warning skills[0].examples[1] R-CARD-7'])
    expect(JSON.stringify(report)).not.toContain(secret.slice(0, 16))
    expect(report.isValid).toBe(true)
  })

  it('are recognised by member names too', () => {
    const params = { apiKey: 'q8f7a6s5d4', nested: [{ client_secret: 'q8f7a6s5d4' }], tokenUrl: 'https://id.example/t' }
    const card = changed(v1Card, 'capabilities.extensions', [{ uri: 'urn:x', params }])
    expect(summaryOf(validateCard(card))).toEqual([
      'warning capabilities.extensions[0].params.apiKey R-CARD-7',
      'warning capabilities.extensions[0].params.nested[0].client_secret R-CARD-7',
    ])
  })

  it('are found in URLs', () => {
    const card = changed(v1Card, 'supportedInterfaces.0.url', 'https://me:hunter2@orders.example/rpc')
    expect(summaryOf(validateCard(card))).toEqual(['warning supportedInterfaces[0].url R-CARD-7'])
  })
})

describe('a hostile card', () => {
  it('gets a report of bounded length that still has an error', () => {
    const skills = Array.from({ length: 3000 }, (_, place) => ({
      id: `s${place}`,
      name: '',
      description: '',
      tags: ['x'],
      inputModes: ['no'],
    }))
    const report = validateCard({ ...v1Card, skills, signatures: 'x' })
    expect(report.isValid).toBe(false)
    expect(report.problems.length).toBe(100)
    expect(summaryOf(report)).toContain('error signatures R-SIGN-1')
    expect(new Set(summaryOf(report)).size).toBe(100)
    expect(JSON.stringify(report).length).toBeLessThan(30_000)
  })

  it('cannot lengthen the report or break its lines', () => {
    const name = `${'x'.repeat(5000)}\n\u001b[31m\u202e`
    const card = { ...v1Card, securityRequirements: [{ schemes: { [name]: {}, 'a\u2028b\u202e': {} } }] }
    const report = validateCard(card)
    expect(report.problems).toHaveLength(2)
    for (const { path, message } of report.problems) {
      expect(path.length + message.length).toBeLessThan(500)
      // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
      expect(path + message).not.toMatch(/[\u0000-\u001f\u2028\u202e]/)
    }
  })

  it('may be nested to any depth', () => {
    const deep = JSON.parse(`${'{"a":'.repeat(4000)}1${'}'.repeat(4000)}`) as unknown
    expect(validateCard(changed(v1Card, 'capabilities.extensions', [{ uri: 'urn:x', params: deep }])).isValid).toBe(
      true,
    )
    expect(validateCard(deep).version).toBe('unknown')
  })

  it('cannot inherit members from prototypes', () => {
    const card = JSON.parse('{"__proto__":{"url":"https://a.example"},"constructor":1}') as unknown
    expect(validateCard(card).version).toBe('unknown')
  })

  it('of any size is checked quickly', () => {
    const many = Array.from({ length: 50_000 }, () => 'a'.repeat(50))
    const started = performance.now()
    validateCard({ ...v1Card, defaultInputModes: many, skills: many, extra: many })
    validateCard({ ...v1Card, iconUrl: 'a:'.repeat(500_000), description: 'sk-'.repeat(500_000) })
    expect(performance.now() - started).toBeLessThan(5000)
  })

  it('never causes an exception', () => {
    const json = fc.jsonValue({ maxDepth: 4 })
    const names = [...Object.keys(v1Card), ...Object.keys(v03Card), 'authentication', 'iconUri']
    const cards = fc.dictionary(fc.constantFrom(...names), json)
    fc.assert(
      fc.property(fc.oneof(json, cards, fc.anything()), (card) => {
        const { problems, isValid } = validateCard(card)
        expect(isValid).toBe(!problems.some(({ severity }) => severity === 'error'))
        expect(problems.length).toBeLessThanOrEqual(100)
      }),
      { numRuns: 500 },
    )
  })

  it('never causes an exception, with one wrong value anywhere in a valid card', () => {
    const paths = (value: unknown, at: string[]): string[][] =>
      typeof value === 'object' && value !== null
        ? [at, ...Object.entries(value).flatMap(([name, each]) => paths(each, [...at, name]))]
        : [at]
    const everywhere = [v1Card, v03Card, v01Card, hybridCard].flatMap((card) =>
      paths(card, [])
        .slice(1)
        .map((path) => ({ card, path })),
    )
    fc.assert(
      fc.property(fc.constantFrom(...everywhere), fc.anything(), ({ card, path }, value) => {
        const copy = { ...structuredClone(card) }
        const target = path.slice(0, -1).reduce<Json>((at, step) => at[step] as Json, copy)
        target[path.at(-1) as string] = value // paths have at least one step
        expect(validateCard(copy).problems.length).toBeLessThanOrEqual(100)
      }),
      { numRuns: 500 },
    )
  })
})
