/** Valid and invalid tokens of a real OpenID provider, over HTTP and gRPC. */

import { oidc, type Served, serve } from 'dragoman'
import { withScopes } from 'dragoman/auth'
import { exportSPKI, importJWK, SignJWT } from 'jose'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { proves } from '../../conformance/proves.js'
import { eventually } from '../hostile/waiting.js'
import { bearing, bindings, mirror } from './call-with-credentials.js'
import { audience, type OpenIdProvider, openIdProvider } from './openid-provider.js'

/** No cooldown between two fetches of the keys, so that tests need not wait. */
const times = { cooldownMs: 0 }
const inSeconds = (seconds: number) => Math.floor(Date.now() / 1000) + seconds

let provider: OpenIdProvider
let other: OpenIdProvider
beforeAll(async () => {
  // The provider logs that it is not meant for production.
  for (const level of ['info', 'warn'] as const) vi.spyOn(console, level).mockImplementation(() => undefined)
  provider = await openIdProvider()
  other = await openIdProvider()
})
afterAll(async () => {
  await provider[Symbol.asyncDispose]()
  await other[Symbol.asyncDispose]()
})

describe.each(bindings)('a token over %s', (_name, callWith) => {
  let served: Served
  beforeAll(async () => {
    served = await serve(mirror, {
      auth: [withScopes(oidc(provider.issuer, { audience, times, clockToleranceSeconds: 5 }), ['agent:call'])],
    })
  })
  afterAll(() => served.close({ deadlineMs: 0 }))

  it(proves('R-SEC-2', 'of the provider authenticates its subject'), async () => {
    const token = await provider.token()
    const expected = { id: 'oidc:alice', scheme: 'oidc', scopes: ['agent:call'] }
    expect(await callWith(served.url, bearing(token))).toEqual({ caller: expected })
    // The second call uses the cached keys.
    expect(await callWith(served.url, bearing(token))).toEqual({ caller: expected })
    expect((await callWith(served.url, bearing(await provider.token({ client: 'bob' })))).caller?.id).toBe('oidc:bob')
  })

  it(proves('R-SEC-2', 'that lacks a scope is forbidden, and the scope is named'), async () => {
    expect(await callWith(served.url, bearing(await provider.token({ scope: 'agent:admin' })))).toEqual({
      refused: 'PERMISSION_DENIED',
      challenge: 'Bearer realm="agent", error="insufficient_scope", scope="agent:call"',
    })
  })

  const invalid = { refused: 'UNAUTHENTICATED', challenge: 'Bearer realm="agent", error="invalid_token"' }

  it(proves('R-SEC-2', 'that is absent causes a challenge'), async () => {
    expect(await callWith(served.url)).toEqual({ refused: 'UNAUTHENTICATED', challenge: 'Bearer realm="agent"' })
  })

  it.each<[string, () => Promise<string>]>([
    ['has expired', () => provider.sign({ exp: inSeconds(-60) })],
    ['never expires', () => provider.sign({ exp: undefined })],
    ['is not valid yet', () => provider.sign({ nbf: inSeconds(600) })],
    ['is for another audience', () => provider.token({ resource: 'https://other.example' })],
    ['has no audience', () => provider.sign({ aud: undefined })],
    ['is from another issuer', () => other.token()],
    ['names another issuer', () => provider.sign({ iss: other.issuer })],
    ['names this issuer, but has a signature of another', () => other.sign({ iss: provider.issuer })],
    [
      'names this issuer and its key id, but has a signature of another',
      () => other.sign({ iss: provider.issuer }, { kid: String(provider.key.kid) }),
    ],
    ['has no subject', () => provider.sign({ sub: undefined })],
    ['has a subject that is no text', () => provider.sign({ sub: 17 })],
    ['has an empty subject', () => provider.sign({ sub: '' })],
    ['has a subject with a line break', () => provider.sign({ sub: 'alice\nroot' })],
    ['is not signed (alg none)', async () => unsigned(await provider.sign(), 'none')],
    ['is not signed (alg NONE)', async () => unsigned(await provider.sign(), 'NONE')],
    ['has no signature', async () => (await provider.sign()).replace(/[^.]+$/, '')],
    ['was changed', async () => withPayload(await provider.sign(), { sub: 'root' })],
    ['is signed with the public key as a secret (HS256)', confused],
    ['contains its own key', withOwnKey],
    ['is not a token', async () => 'nonsense'],
    ['has too many parts', async () => `${await provider.sign()}.x`],
    ['is too long', async () => 'a.b.'.concat('c'.repeat(7000))],
  ])(proves('R-SEC-2', 'is rejected if it %s'), async (_what, make) => {
    expect(await callWith(served.url, bearing(await make()))).toEqual(invalid)
  })

  it('is rejected after it has expired, although it was accepted before', async () => {
    await using brief = await openIdProvider({ ttlSeconds: 2 })
    await using short = await serve(mirror, {
      auth: [oidc(brief.issuer, { audience, times, clockToleranceSeconds: 0 })],
    })
    const token = await brief.token()
    expect((await callWith(short.url, bearing(token))).caller?.id).toBe('oidc:alice')
    await eventually(10_000, 'the token to expire', async () => {
      const { refused } = await callWith(short.url, bearing(token))
      return refused === 'UNAUTHENTICATED'
    })
  })
})

describe.each(bindings)('the keys of a provider, for calls over %s', (_name, callWith) => {
  let own: OpenIdProvider
  let served: Served
  beforeAll(async () => {
    own = await openIdProvider()
    served = await serve(mirror, { auth: [oidc(own.issuer, { audience, times })] })
  })
  afterAll(async () => {
    await served.close({ deadlineMs: 0 })
    await own[Symbol.asyncDispose]()
  })
  afterEach(() => {
    own.isDown = false
  })

  it('are fetched for the first token, and not again for the next', async () => {
    expect((await callWith(served.url, bearing(await own.token()))).caller?.id).toBe('oidc:alice')
    own.requests.length = 0
    expect((await callWith(served.url, bearing(await own.sign({ sub: 'carol' })))).caller?.id).toBe('oidc:carol')
    expect(own.requests).toEqual([])
  })

  it('are fetched again when a token names a new key; then tokens of the old key are rejected', async () => {
    const before = await own.sign({ sub: 'before' })
    await own.rotate()
    expect((await callWith(served.url, bearing(await own.token()))).caller?.id).toBe('oidc:alice')
    expect((await callWith(served.url, bearing(before))).refused).toBe('UNAUTHENTICATED')
  })

  it('stay valid while the provider is down', async () => {
    expect((await callWith(served.url, bearing(await own.token()))).caller?.id).toBe('oidc:alice')
    const unknown = await own.sign({ sub: 'dave' })
    own.isDown = true
    expect((await callWith(served.url, bearing(unknown))).caller?.id).toBe('oidc:dave')
    expect((await callWith(served.url, bearing(await own.sign({}, { kid: 'new' })))).refused).toBe('UNAUTHENTICATED')
  })

  it('are unavailable until the provider has answered once: calls fail with UNAVAILABLE', async () => {
    own.isDown = true
    await using early = await serve(mirror, { auth: [oidc(own.issuer, { audience, times })] })
    const token = await own.sign()
    expect((await callWith(early.url, bearing(token))).refused).toBe('UNAVAILABLE')
    // A call without a token gets a challenge nevertheless.
    expect((await callWith(early.url)).refused).toBe('UNAUTHENTICATED')
    own.isDown = false
    expect((await callWith(early.url, bearing(token))).caller?.id).toBe('oidc:alice')
  })

  it('are not fetched for tokens that cannot be from this provider', async () => {
    await using idle = await serve(mirror, { auth: [oidc(own.issuer, { audience, times })] })
    own.requests.length = 0
    for (const token of [await other.token(), 'nonsense', unsigned(await own.sign(), 'none')])
      expect((await callWith(idle.url, bearing(token))).refused).toBe('UNAUTHENTICATED')
    expect(own.requests).toEqual([])
  })

  it('are fetched no more often than the cooldown allows', async () => {
    await using calm = await serve(mirror, { auth: [oidc(own.issuer, { audience, times: { cooldownMs: 60_000 } })] })
    await callWith(calm.url, bearing(await own.sign()))
    own.requests.length = 0
    for (const kid of ['a', 'b', 'c'])
      expect((await callWith(calm.url, bearing(await own.sign({}, { kid })))).refused).toBe('UNAUTHENTICATED')
    expect(own.requests).toEqual([])
  })
})

describe('oidc', () => {
  it('is in the card, with the address of the discovery document', async () => {
    await using served = await serve(mirror, {
      auth: [withScopes(oidc(provider.issuer, { audience }), ['agent:call'])],
    })
    const card = await (await fetch(`${served.url}.well-known/agent-card.json`)).json()
    expect(card).toMatchObject({
      securitySchemes: {
        oidc: {
          openIdConnectSecurityScheme: { openIdConnectUrl: `${provider.issuer}/.well-known/openid-configuration` },
          type: 'openIdConnect',
        },
      },
      securityRequirements: [{ schemes: { oidc: { list: ['agent:call'] } } }],
      security: [{ oidc: ['agent:call'] }],
    })
  })

  it('rejects a discovery document of another issuer', async () => {
    const elsewhere = (url: string, init: RequestInit) => fetch(url.replace(provider.issuer, other.issuer), init)
    await using served = await serve(mirror, { auth: [oidc(provider.issuer, { audience, times, fetch: elsewhere })] })
    const [, callWith] = bindings[0] ?? []
    expect((await callWith?.(served.url, bearing(await provider.token())))?.refused).toBe('UNAVAILABLE')
  })

  it.each<[string, () => unknown]>([
    ['an audience', () => oidc('https://id.example', {} as never)],
    ['an audience that is not empty', () => oidc('https://id.example', { audience: '' })],
    ['an issuer behind TLS', () => oidc('http://id.example', { audience })],
    ['algorithms with public keys', () => oidc('https://id.example', { audience, algorithms: ['HS256'] })],
    ['algorithms that sign', () => oidc('https://id.example', { audience, algorithms: ['none'] })],
    ['an algorithm', () => oidc('https://id.example', { audience, algorithms: [] })],
  ])('needs %s', (_what, make) => {
    expect(make).toThrow(TypeError)
  })

  it('takes the caller from another claim, or from a function', async () => {
    const token = await provider.sign({ email: 'a@example', tier: 'gold', scp: ['x', 'y'] })
    const presented = { headers: new Headers(bearing(token).headers), url: 'http://localhost/' }
    const verdict = (caller: Parameters<typeof oidc>[1]['caller']) =>
      oidc(provider.issuer, { audience, ...(caller && { caller }) }).authenticate(presented)
    expect(await verdict('email')).toMatchObject({
      caller: { id: 'oidc:a@example', scopes: ['x', 'y'], claims: { tier: 'gold' } },
    })
    expect(await verdict(({ tier }) => ({ id: 'someone', scopes: [String(tier)] }))).toMatchObject({
      caller: { id: 'someone', scopes: ['gold'] },
    })
    expect(await verdict(() => undefined)).toBe('refused')
  })
})

function decoded(part: string | undefined): Record<string, unknown> {
  return JSON.parse(Buffer.from(part ?? '', 'base64url').toString()) as Record<string, unknown>
}

function encoded(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

function unsigned(token: string, alg: string): string {
  const [header, payload] = token.split('.')
  return `${encoded({ ...decoded(header), alg })}.${payload}.${token.split('.')[2]}`
}

function withPayload(token: string, claims: object): string {
  const [header, payload, signature] = token.split('.')
  return `${header}.${encoded({ ...decoded(payload), ...claims })}.${signature}`
}

/** Algorithm confusion: the public key is used as an HMAC secret. */
async function confused(): Promise<string> {
  const { d: _d, p: _p, q: _q, dp: _dp, dq: _dq, qi: _qi, ...open } = provider.key
  const pem = await exportSPKI(
    (await importJWK(open, 'RS256', { extractable: true })) as Parameters<typeof exportSPKI>[0],
  )
  return await new SignJWT({ iss: provider.issuer, sub: 'alice', aud: audience, exp: inSeconds(600) })
    .setProtectedHeader({ alg: 'HS256', kid: String(provider.key.kid) })
    .sign(new TextEncoder().encode(pem))
}

/** Signed with a key that the token itself contains. */
async function withOwnKey(): Promise<string> {
  const { d: _d, p: _p, q: _q, dp: _dp, dq: _dq, qi: _qi, kid: _kid, ...jwk } = other.key
  return await new SignJWT({ iss: provider.issuer, sub: 'alice', aud: audience, exp: inSeconds(600) })
    .setProtectedHeader({ alg: 'RS256', jwk, jku: `${other.issuer}/jwks` } as never)
    .sign(await importJWK(other.key, 'RS256'))
}
