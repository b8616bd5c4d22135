import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import { createLocalJWKSet, exportJWK, exportPKCS8, flattenedVerify, generateKeyPair, jwtVerify } from 'jose'
import { describe, expect, it } from 'vitest'
import type { AgentCard } from '../model/agent-card.js'
import { canonicalBytes, payloadsOf, type SignedForm } from './card-payload.js'
import { createSigner, type Signer, type SigningOptions } from './signer.js'
import { generateSigningKey, type SigningKey, signingAlgorithms } from './signing-key.js'

const jku = 'https://agent.example/.well-known/jwks.json'
const card: AgentCard = {
  name: 'Zoë',
  description: '',
  version: '1',
  supportedInterfaces: [{ url: 'https://agent.example/', protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
  capabilities: { streaming: false },
  securitySchemes: { key: { apiKeySecurityScheme: { location: 'header', name: 'X-API-Key' } } },
  securityRequirements: [{ schemes: { key: {} } }],
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [{ id: 'a', name: 'A', description: 'a', tags: ['a'], examples: [] }],
}

const signerOf = (keys: readonly SigningKey[], rest: Partial<SigningOptions> = {}) => createSigner({ keys, ...rest })

/** The forms in which each signature is valid, verified with the published keys only. */
async function formsOf(signer: Signer, signed: object): Promise<readonly (readonly SignedForm[])[]> {
  const { signatures } = signed as { readonly signatures: readonly { protected: string; signature: string }[] }
  const keys = createLocalJWKSet({ keys: [...signer.jwks().keys] })
  const formsOfOne = async (signature: (typeof signatures)[number]) => {
    const good = new Set<SignedForm>()
    for (const payload of payloadsOf(signed as Record<string, unknown>)) {
      const jws = { ...signature, payload: Buffer.from(canonicalBytes(payload)).toString('base64url') }
      await flattenedVerify(jws, keys).then(
        () => good.add(payload.form),
        () => undefined,
      )
    }
    return [...good]
  }
  return await Promise.all(signatures.map(formsOfOne))
}

describe('a signer', () => {
  it.each(signingAlgorithms)('signs cards and tokens with %s', async (alg) => {
    const signer = await signerOf([await generateSigningKey({ alg })])
    const [key] = signer.jwks().keys
    const signed = await signer.signCard(card, jku)
    expect(await formsOf(signer, signed)).toEqual([['strict']])
    const token = await signer.signJwt({ iss: 'us', taskId: 't1' })
    const { payload, protectedHeader } = await jwtVerify(token, createLocalJWKSet({ keys: [...signer.jwks().keys] }))
    expect([payload, protectedHeader]).toEqual([
      { iss: 'us', taskId: 't1' },
      { alg, kid: key?.kid, typ: 'JWT' },
    ])
  })

  it('puts the algorithm, key id, type and address of the keys in the protected header (R-SIGN-4)', async () => {
    const signer = await signerOf([{ key: await generateSigningKey(), kid: 'mine' }])
    const [signature] = (await signer.signCard(card, jku)).signatures
    expect(JSON.parse(Buffer.from(signature?.protected ?? '', 'base64url').toString())).toEqual({
      alg: 'ES256',
      kid: 'mine',
      typ: 'JOSE',
      jku,
    })
    expect(Object.keys(signature ?? {})).toEqual(['protected', 'signature'])
  })

  it('signs the members that v1.0 defines and no others (R-SIGN-2, R-SIGN-3)', async () => {
    const signer = await signerOf([await generateSigningKey()])
    const { skills, ...rest } = await signer.signCard({ ...card, unknown: 1, iconUrl: undefined }, jku)
    const withoutDefaults = skills.map(({ examples: _examples, ...skill }) => skill)
    expect(await formsOf(signer, { ...rest, unknown: 2, skills: withoutDefaults })).toEqual([['strict']])
    expect(await formsOf(signer, { ...rest, skills, capabilities: {} })).toEqual([[]])
    expect(await formsOf(signer, { ...rest, skills, securityRequirements: [] })).toEqual([[]])
  })

  it('signs 0.3 cards as they are sent (R3-CARD-7), and several forms at once', async () => {
    const signer = await signerOf([await generateSigningKey()])
    expect(await formsOf(signer, await signer.signCard({ ...card, unknown: 1 }, jku, ['as-received']))).toEqual([
      ['as-received'],
    ])
    const both = await signer.signCard({ ...card, unknown: 1 }, jku, ['strict', 'as-received'])
    expect(await formsOf(signer, both)).toEqual([['strict'], ['as-received']])
  })

  it('adds the signatures that SDKs expect if configured, and only where they differ (R-SIGN-7)', async () => {
    const signer = await signerOf([await generateSigningKey()], { profiles: ['spec', 'sdk'] })
    // One each for JavaScript, Python, and JavaScript with a card that it parsed itself.
    const three = [['stripped'], ['stripped'], ['stripped']]
    expect(await formsOf(signer, await signer.signCard(card, jku))).toEqual([['strict'], ...three])
    const { securityRequirements: _requirements, securitySchemes: _schemes, skills: _skills, ...without } = card
    const full = {
      ...without,
      name: 'Zoe',
      description: 'd',
      skills: [{ id: 'a', name: 'A', description: 'a', tags: ['a'] }],
    }
    expect(await formsOf(signer, await signer.signCard(full, jku))).toEqual([['strict', 'as-received', 'stripped']])
  })

  it('publishes all keys and signs with the first, or with all private keys (R-SIGN-1)', async () => {
    const [a, b] = [await generateSigningKey(), await generateSigningKey({ alg: 'EdDSA' })]
    const { d: _d, ...onlyPublic } = await generateSigningKey()
    const first = await signerOf([a, b, onlyPublic])
    const names = [a.kid, b.kid, onlyPublic.kid]
    expect(first.jwks().keys.map(({ kid }) => kid)).toEqual(names)
    const kids = async (signer: Signer) =>
      (await signer.signCard(card, jku)).signatures.map(
        (each) => JSON.parse(Buffer.from(each.protected, 'base64url').toString()).kid,
      )
    expect(await kids(first)).toEqual([a.kid])
    const all = await signerOf([a, b, onlyPublic], { signWith: 'all' })
    expect(await kids(all)).toEqual([a.kid, b.kid])
    expect(await formsOf(all, await all.signCard(card, jku))).toEqual([['strict'], ['strict']])
  })

  it('keeps existing signatures of a card', async () => {
    const signer = await signerOf([await generateSigningKey()])
    const once = await signer.signCard(card, jku)
    const twice = await signer.signCard(once, jku)
    expect(twice.signatures).toHaveLength(2)
    expect(twice.signatures[0]).toEqual(once.signatures[0])
    expect(await formsOf(signer, twice)).toEqual([['strict'], ['strict']])
  })

  it('rejects a card without a canonical form', async () => {
    const signer = await signerOf([await generateSigningKey()])
    await expect(signer.signCard({ ...card, name: '\ud800' }, jku)).rejects.toThrow('cannot be signed')
  })
})

describe('signing keys', () => {
  it('accept JWKs, PEMs and Web Crypto keys, and publish the public half only', async () => {
    const pair = await generateKeyPair('ES256')
    const loose = await generateKeyPair('RS256', { extractable: true })
    const edwards = generateKeyPairSync('ed25519')
    const keys: SigningKey[] = [
      await generateSigningKey({ alg: 'RS256' }),
      await exportPKCS8((await generateKeyPair('ES256', { extractable: true })).privateKey),
      edwards.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
      generateKeyPairSync('rsa', { modulusLength: 2048 })
        .privateKey.export({ type: 'pkcs8', format: 'pem' })
        .toString(),
      pair,
      loose.privateKey,
      createPublicKey(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey)
        .export({ type: 'spki', format: 'pem' })
        .toString(),
    ]
    const signer = await signerOf(keys, { signWith: 'all' })
    const published = signer.jwks().keys
    expect(published.map(({ alg }) => alg)).toEqual(['RS256', 'ES256', 'EdDSA', 'RS256', 'ES256', 'RS256', 'ES256'])
    for (const key of published) {
      const rsa = ['alg', 'e', 'kid', 'kty', 'n', 'use']
      const curve = key.kty === 'EC' ? ['x', 'y'] : ['x']
      expect(Object.keys(key).sort()).toEqual(
        key.kty === 'RSA' ? rsa : ['alg', 'crv', 'kid', 'kty', 'use', ...curve].sort(),
      )
    }
    expect(await formsOf(signer, await signer.signCard(card, jku))).toEqual(Array(6).fill(['strict']))
  })

  it('have their thumbprint as the default name', async () => {
    // The example of RFC 7638, 3.1, which is a public key.
    const n =
      '0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw'
    const signer = await signerOf([await generateSigningKey(), { kty: 'RSA', n, e: 'AQAB' }])
    expect(signer.jwks().keys[1]?.kid).toBe('NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs')
  })

  it.each([
    ['no key', async () => [], 'needs a key'],
    ['a secret that both sides share', async () => [{ kty: 'oct', k: 'c2VjcmV0' }], 'is for oct'],
    [
      'another curve',
      async () => [await exportJWK((await generateKeyPair('ES384', { extractable: true })).privateKey)],
      'is for P-384',
    ],
    [
      'another algorithm',
      async () => [{ ...(await generateSigningKey({ alg: 'RS256' })), alg: 'PS256' }],
      'is for PS256',
    ],
    ['a public key first', async () => [(await generateKeyPair('ES256')).publicKey], 'must be private'],
    ['half of a pair', async () => [(await generateKeyPair('ES256')).privateKey], 'give the pair'],
    ['a text that is no PEM', async () => ['secret'], '-----BEGIN PRIVATE KEY-----'],
    [
      'a PEM that is none',
      async () => ['-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----'],
      'cannot be read',
    ],
    ['a number', async () => [7 as never], 'is a JWK, a PEM or a CryptoKey'],
    [
      'halves of two pairs',
      async () => {
        const [one, other] = [await generateKeyPair('ES256'), await generateKeyPair('ES256')]
        return [{ privateKey: one.privateKey, publicKey: other.publicKey }]
      },
      'do not match',
    ],
    [
      'a weak key',
      async () => [
        generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey.export({ format: 'jwk' }) as SigningKey,
      ],
      'too weak',
    ],
    [
      'one name twice',
      async () => [
        { key: await generateSigningKey(), kid: 'k' },
        { key: await generateSigningKey(), kid: 'k' },
      ],
      'Two signing keys are called k',
    ],
  ] as const)('are refused: %s', async (_, keys, words) => {
    await expect(signerOf((await keys()) as readonly SigningKey[])).rejects.toThrow(words)
  })
})
