import { canonicalizeAgentCard, generateAgentCardSignature } from 'a2a-sdk-v1'
import canonicalize from 'canonicalize'
import * as jose from 'jose'
import { beforeAll, describe, expect, it } from 'vitest'
import { payloadsOf } from '../signing/card-payload.js'
import { v0_3Card, v1Card } from './cards.fixture.js'
import { fetchWithNames, json, serveHttp } from './http-server.fixture.js'
import type { SignedCard } from './verification.js'
import { verifySignatures } from './verify-card.js'

const origin = 'https://agent.example'
let pair: jose.GenerateKeyPairResult
let key: jose.JWK & Record<string, unknown>

beforeAll(async () => {
  pair = await jose.generateKeyPair('ES256', { extractable: true })
  key = { ...(await jose.exportJWK(pair.publicKey)), kid: 'k1', alg: 'ES256' }
})

/** Signs the payload, and adds the signature to the card. */
async function signed(raw: object, options: { header?: object; payload?: unknown; text?: string } = {}) {
  const payload = options.text ?? canonicalize(options.payload ?? raw) ?? ''
  const jws = await new jose.FlattenedSign(new TextEncoder().encode(payload))
    .setProtectedHeader({ alg: 'ES256', kid: 'k1', typ: 'JOSE', ...options.header })
    .sign(pair.privateKey)
  return { ...raw, signatures: [{ protected: jws.protected ?? '', signature: jws.signature }] }
}

const verify = (raw: unknown, options: Parameters<typeof verifySignatures>[1] = {}, rest: Partial<SignedCard> = {}) =>
  verifySignatures({ raw, ...rest }, { keys: [key], ...options })

const full = v1Card(origin, {
  documentationUrl: '',
  capabilities: { streaming: false, extensions: [{ uri: 'u', required: true, params: { empty: '', list: [] } }] },
  securitySchemes: {
    tls: { mtlsSecurityScheme: {} },
    key: { apiKeySecurityScheme: { location: 'header', name: 'X' } },
  },
  securityRequirements: [{ schemes: { tls: {} } }],
})

describe('verifyCard', () => {
  it('accepts a valid signature (R-SIGN-5, R-SIGN-6)', async () => {
    expect(await verify(await signed(full))).toEqual({ state: 'valid', keyId: 'k1', form: 'strict' })
    expect((await verify(await signed(full), { policy: 'require' })).state).toBe('valid')
  })

  it('leaves defaults and unknown members out, and nothing else (R-SIGN-2, R-SIGN-3)', async () => {
    const sent = {
      ...full,
      unknown: 'x',
      skills: [{ ...full.skills[0], examples: [], securityRequirements: [] }],
      supportedInterfaces: [{ ...full.supportedInterfaces[0], tenant: '' }],
    }
    const card = { ...(await signed(full)), ...sent }
    expect(await verify(card)).toMatchObject({ state: 'valid', form: 'strict' })
    expect(payloadsOf(sent)[0]?.content).toEqual(full)
  })

  it('rejects every change', async () => {
    const card = await signed(full)
    for (const change of [
      { name: 'Other' },
      { supportedInterfaces: [{ url: 'https://evil.example', protocolBinding: 'JSONRPC', protocolVersion: '1.0' }] },
      { capabilities: { ...full.capabilities, streaming: true } },
      { securityRequirements: [] },
      { iconUrl: 'https://evil.example/i.png' },
    ]) {
      const verdict = await verify({ ...card, ...change })
      expect(verdict).toMatchObject({
        state: 'invalid',
        keyId: 'k1',
        warning: 'The signature by "k1" does not match the card',
      })
    }
  })

  it('rejects fields under other names that are not signed', async () => {
    const plain = v1Card(origin, { securitySchemes: { key: { mtlsSecurityScheme: {} } } })
    const card = await signed(plain)
    expect((await verify(card)).state).toBe('valid')
    const changes = [
      { security: [{ key: [] }] },
      { security_requirements: [{ schemes: { key: {} } }] },
      { icon_url: 'https://evil.example' },
    ]
    for (const change of changes)
      expect(await verify({ ...card, ...change })).toMatchObject({
        state: 'invalid',
        reason: 'The signature does not cover every field of the card',
      })
  })

  it('reports a missing signature', async () => {
    for (const raw of [full, { ...full, signatures: [] }, { ...full, signatures: 'x' }, { ...full, signatures: [{}] }])
      expect(await verify(raw)).toMatchObject({ state: 'absent', warning: 'The card is not signed' })
  })

  it('reports an unknown key', async () => {
    const card = await signed(full, { header: { kid: 'k2' } })
    expect(await verify(card)).toMatchObject({ state: 'unknown-key', keyId: 'k2' })
    const other = await jose.exportJWK((await jose.generateKeyPair('ES256')).publicKey)
    expect(await verify(await signed(full), { keys: { ...other, kid: 'k1' } })).toMatchObject({ state: 'invalid' })
  })

  it('accepts one valid signature among several (R-SIGN-1)', async () => {
    const [good] = (await signed(full)).signatures
    const [foreign] = (await signed(full, { header: { kid: 'k2' } })).signatures
    expect(await verify({ ...full, signatures: [foreign, { protected: '!', signature: '!' }, good] })).toMatchObject({
      state: 'valid',
    })
  })

  it.each([
    ['none', { alg: 'none' }, 'The algorithm "none"'],
    ['a shared secret', { alg: 'HS256' }, 'The algorithm "HS256"'],
    ['no key', { kid: undefined }, 'does not name its algorithm and key'],
  ])('rejects signatures with %s (R-SIGN-4, R-SIGN-6)', async (_, header, words) => {
    const [good] = (await signed(full)).signatures
    const encoded = jose.base64url.encode(JSON.stringify({ alg: 'ES256', kid: 'k1', ...header }))
    const card = { ...full, signatures: [{ protected: encoded, signature: good?.signature }] }
    expect(await verify(card)).toMatchObject({ state: 'invalid', reason: expect.stringContaining(words) })
  })

  it('rejects expired keys', async () => {
    const old = { ...key, exp: 1000 }
    expect((await verify(await signed(full), { keys: { keys: [old] } })).state).toBe('unknown-key')
  })

  it('verifies the signature of a 0.3 card over the original card (R3-CARD-7)', async () => {
    const card = await signed(v0_3Card(origin, { 'x-own': { empty: '' } }))
    expect(await verify(card)).toEqual({
      state: 'valid',
      keyId: 'k1',
      form: 'as-received',
      warning: 'The card is signed in the form as-received',
    })
    expect((await verify({ ...card, url: 'https://evil.example' })).state).toBe('invalid')
  })

  describe('signatures of official SDKs (R-SIGN-7)', () => {
    it('of JavaScript', async () => {
      // The types of the SDK require every member.
      const sign = generateAgentCardSignature(pair.privateKey, { alg: 'ES256', kid: 'k1', typ: 'JOSE' })
      const own = full as unknown as Parameters<typeof sign>[0]
      const { signatures } = await sign(own)
      expect(canonicalizeAgentCard(own)).not.toContain('documentationUrl')
      const verdict = await verify({ ...full, signatures: JSON.parse(JSON.stringify(signatures)) })
      expect(verdict).toMatchObject({ state: 'valid', form: 'stripped', warning: expect.stringContaining('stripped') })
    })

    it('of Python, which escapes non-ASCII characters', async () => {
      const raw = v1Card(origin, { name: 'Zoë', description: '' })
      const { description: _description, ...left } = raw
      const text = (canonicalize(left) ?? '').replace('ë', '\\u00eb')
      expect(await verify(await signed(raw, { text }))).toMatchObject({ state: 'valid', form: 'stripped' })
    })
  })

  describe('policies', () => {
    it('require a valid signature', async () => {
      await expect(verify(full, { policy: 'require' })).rejects.toThrow(
        'A signed card is required: The card is not signed',
      )
      const card = { ...(await signed(full)), name: 'Other' }
      await expect(verify(card, { policy: 'require' })).rejects.toMatchObject({
        name: 'TransportError',
        failure: 'refused',
      })
    })

    it('ignore signatures', async () => {
      const card = { ...(await signed(full)), name: 'Other' }
      expect(await verify(card, { policy: 'ignore' })).toEqual({
        state: 'unknown-key',
        reason: 'Signatures were not checked',
      })
    })
  })

  describe('published keys', () => {
    it('are fetched from the origin of the card', async () => {
      await using server = await serveHttp(({ path }, response) =>
        path === '/keys.json' || path === '/.well-known/jwks.json'
          ? json(response, { keys: [key] })
          : json(response, '{}', {}, 404),
      )
      const at = { origin: server.origin }
      const given = (header: object) => signed(full, { header })
      expect(await verify(await given({ jku: `${server.origin}/keys.json` }), { keys: [] }, at)).toMatchObject({
        state: 'valid',
      })
      expect(await verify(await given({}), { keys: [] }, at)).toMatchObject({ state: 'valid' })
      expect(await verify(await given({ jku: `${server.origin}/none.json` }), { keys: [] }, at)).toMatchObject({
        state: 'unknown-key',
        reason: expect.stringContaining('HTTP 404'),
      })
    })

    it('are limited to a few attempts per key id', async () => {
      const others = await Promise.all(
        Array.from({ length: 4 }, async () => jose.exportJWK((await jose.generateKeyPair('ES256')).publicKey)),
      )
      const named = others.map((other) => ({ ...other, kid: 'k1' }))
      const among = async (keys: readonly object[]) => {
        await using server = await serveHttp((_, response) => json(response, { keys }))
        return (await verify(await signed(full), { keys: [] }, { origin: server.origin })).state
      }
      expect(await among([...named.slice(1), key])).toBe('valid')
      expect(await among([...named, key])).toBe('invalid')
    })

    it('are not fetched from other origins, unless they are allowed', async () => {
      await using server = await serveHttp((_, response) => json(response, { keys: [key] }))
      const options = { keys: [], fetch: fetchWithNames('keys.example'), lookup: async () => ['8.8.8.8'] }
      for (const jku of [
        `${server.origin}/k`,
        `https://keys.example:${server.port}/k`,
        'http://169.254.169.254/k',
        'file:///etc/passwd',
        'k',
      ])
        expect((await verify(await signed(full, { header: { jku } }), options, { origin })).state).toBe('unknown-key')
      expect(server.seen).toEqual([])
      const jku = `https://keys.example:${server.port}/k`
      const card = await signed(full, { header: { jku } })
      expect((await verify(card, { ...options, keyOrigins: [new URL(jku).origin] }, { origin })).state).toBe('valid')
    })

    it('are not fetched over http for a card that came over https', async () => {
      const card = await signed(full, { header: { jku: 'http://agent.example/k' } })
      expect((await verify(card, { keys: [] }, { origin })).reason).toContain('does not use https')
    })

    it('are not accepted after a redirect to another origin', async () => {
      await using server = await serveHttp(({ path }, response) =>
        path === '/evil'
          ? json(response, { keys: [key] })
          : response.writeHead(302, { location: `http://evil.example:${server.port}/evil` }).end(),
      )
      const home = `http://agent.example:${server.port}`
      const card = await signed(full, { header: { jku: `${home}/go?to=evil` } })
      const fetch = fetchWithNames('agent.example', 'evil.example')
      const verdict = await verify(card, { keys: [], fetch, lookup: async () => ['8.8.8.8'] }, { origin: home })
      expect(verdict).toMatchObject({ state: 'unknown-key', reason: expect.stringContaining('which is not trusted') })
    })

    it('are not fetched from a redirect to a private network', async () => {
      await using server = await serveHttp((_, response) =>
        response.writeHead(302, { location: 'http://169.254.169.254/' }).end(),
      )
      const card = await signed(full, { header: { jku: `${server.origin}/k` } })
      expect((await verify(card, { keys: [] }, { origin: server.origin })).reason).toContain('link-local')
    })
  })
})
