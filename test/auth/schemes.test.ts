/** API keys, passwords, tokens that the operator configures, and combinations of schemes. */

import { agent, apiKey, basic, bearer, jwt, type ServeOptions, serve } from 'dragoman'
import type { Auth, AuthScheme } from 'dragoman/auth'
import { allOf, withFlows, withScopes } from 'dragoman/auth'
import { bearerCredential, connect } from 'dragoman/client'
import { createHandler, generateSigningKey, validateCard } from 'dragoman/server'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { proves } from '../../conformance/proves.js'
import { bearing, bindings, mirror, type Presented } from './call-with-credentials.js'

const audience = 'https://agent.example'
const secret = 'a secret of more than thirty-two bytes'
const keys = await generateKeyPair('ES256', { extractable: true })
const publicKey = { ...(await exportJWK(keys.publicKey)), kid: 'one' }
const sharedToken = await tokenOf({ scope: 'read' }).setProtectedHeader({ alg: 'HS256' }).sign(Buffer.from(secret))
const keyedToken = await tokenOf({ scp: ['read'] })
  .setProtectedHeader({ alg: 'ES256', kid: 'one' })
  .sign(keys.privateKey)
const unnamedToken = await tokenOf({}).setProtectedHeader({ alg: 'ES256' }).sign(keys.privateKey)

function tokenOf(claims: Record<string, unknown>): SignJWT {
  return new SignJWT(claims).setSubject('alice').setAudience(audience).setExpirationTime('10m')
}

function password(user: string, word: string): Presented {
  return { headers: { authorization: `Basic ${Buffer.from(`${user}:${word}`).toString('base64')}` } }
}

const key = (given: string): Presented => ({ headers: { 'x-api-key': given } })

const good: readonly (readonly [string, AuthScheme, Presented, object])[] = [
  ['an API key', apiKey({ k1: 'alice', k2: 'bob' }), key('k2'), { id: 'bob', scheme: 'apiKey' }],
  ['the only API key', apiKey('k1'), key('k1'), { id: 'api-key', scheme: 'apiKey' }],
  [
    'an API key with scopes',
    apiKey({ k1: { id: 'alice', scopes: ['read'] } }, { scheme: 'keys' }),
    key('k1'),
    { id: 'alice', scheme: 'keys', scopes: ['read'] },
  ],
  ['a password', basic({ alice: 'pass', bob: 'word' }), password('bob', 'word'), { id: 'bob', scheme: 'basic' }],
  [
    'a password with colons and non-ASCII letters',
    basic({ zoë: { password: 'pä:ß', id: 'z', scopes: ['read'] } }),
    password('zoë', 'pä:ß'),
    { id: 'z', scheme: 'basic', scopes: ['read'] },
  ],
  [
    'a password that a function checks',
    basic(async (user, word) => (word === 'x' ? `user-${user}` : undefined)),
    password('ann', 'x'),
    { id: 'user-ann', scheme: 'basic' },
  ],
  ['a token', bearer({ t1: 'alice', t2: 'bob' }), bearing('t2'), { id: 'bob', scheme: 'bearer' }],
  [
    'a token that a function checks',
    bearer((token) => (token === 't' ? { id: 'ann', scopes: ['s'] } : undefined)),
    bearing('t'),
    { id: 'ann', scheme: 'bearer', scopes: ['s'] },
  ],
  [
    'a token signed with a shared secret',
    jwt({ audience, secret }),
    bearing(sharedToken),
    { id: 'jwt:alice', scheme: 'jwt', scopes: ['read'] },
  ],
  [
    'a token signed with a key that is listed',
    jwt({ audience, keys: [publicKey] }),
    bearing(keyedToken),
    { id: 'jwt:alice', scheme: 'jwt', scopes: ['read'] },
  ],
  [
    'a token without a key id, where there are two keys',
    jwt({ audience, keys: [await otherKey(), publicKey] }),
    bearing(unnamedToken),
    { id: 'jwt:alice', scheme: 'jwt' },
  ],
]

async function otherKey() {
  return { ...(await exportJWK((await generateKeyPair('ES256', { extractable: true })).publicKey)), kid: 'two' }
}

describe.each(bindings)('over %s', (_way, callWith) => {
  it.each(good)(
    proves('R-SEC-2', '%s authenticates its owner with any case of the scheme name'),
    async (_what, scheme, presented, caller) => {
      await using served = await serve(mirror, { auth: [scheme] })
      expect(await callWith(served.url, presented)).toEqual({ caller })
      const { authorization } = presented.headers ?? {}
      if (authorization === undefined) return
      const [name = '', rest] = authorization.split(' ')
      for (const spelled of [name.toUpperCase(), name.toLowerCase()])
        expect(await callWith(served.url, { headers: { authorization: `${spelled} ${rest}` } })).toEqual({ caller })
    },
  )

  it.each<[string, AuthScheme, Presented, string]>([
    ['no key', apiKey('k1'), {}, 'ApiKey name="X-API-Key"'],
    ['another key', apiKey('k1'), key('k2'), 'ApiKey name="X-API-Key"'],
    ['a key in another case', apiKey('k1'), key('K1'), 'ApiKey name="X-API-Key"'],
    ['a prefix of a key', apiKey('k1'), key('k'), 'ApiKey name="X-API-Key"'],
    ['a key with a suffix', apiKey('k1'), key('k11'), 'ApiKey name="X-API-Key"'],
    ['a key as a token', apiKey('k1'), bearing('k1'), 'ApiKey name="X-API-Key"'],
    ['no password', basic({ a: 'b' }), {}, 'Basic realm="agent", charset="UTF-8"'],
    ['another password', basic({ a: 'b' }), password('a', 'c'), 'Basic realm="agent", charset="UTF-8"'],
    ['another user', basic({ a: 'b' }), password('b', 'b'), 'Basic realm="agent", charset="UTF-8"'],
    [
      'no base64',
      basic({ a: 'b' }),
      { headers: { authorization: 'Basic %%%' } },
      'Basic realm="agent", charset="UTF-8"',
    ],
    ['no token', bearer('t', { realm: 'x "y"' }), {}, 'Bearer realm="x y"'],
    ['another token', bearer('t'), bearing('u'), 'Bearer realm="agent", error="invalid_token"'],
    ['two tokens', bearer('t'), bearing('t, Bearer t'), 'Bearer realm="agent", error="invalid_token"'],
    ['a token as a password', bearer('t'), password('t', 't'), 'Bearer realm="agent"'],
    [
      'a token of another secret',
      jwt({ audience, secret: `${secret}!` }),
      bearing(sharedToken),
      'Bearer realm="agent", error="invalid_token"',
    ],
    [
      'a token signed with a secret, where keys are configured',
      jwt({ audience, keys: [publicKey] }),
      bearing(sharedToken),
      'Bearer realm="agent", error="invalid_token"',
    ],
    [
      'a token signed with a key, where a secret is configured',
      jwt({ audience, secret }),
      bearing(keyedToken),
      'Bearer realm="agent", error="invalid_token"',
    ],
    [
      'a token without an issuer',
      jwt({ audience, secret, issuer: 'me' }),
      bearing(sharedToken),
      'Bearer realm="agent", error="invalid_token"',
    ],
    [
      'a token without a type',
      jwt({ audience, secret, type: 'at+jwt' }),
      bearing(sharedToken),
      'Bearer realm="agent", error="invalid_token"',
    ],
    [
      'a token for another algorithm',
      jwt({ audience, secret, algorithms: ['HS512'] }),
      bearing(sharedToken),
      'Bearer realm="agent", error="invalid_token"',
    ],
  ])(proves('R-SEC-2', '%s is rejected'), async (_what, scheme, presented, challenge) => {
    await using served = await serve(mirror, { auth: [scheme] })
    expect(await callWith(served.url, presented)).toEqual({ refused: 'UNAUTHENTICATED', challenge })
  })

  it('any one of several schemes is enough, and the challenge names all of them', async () => {
    await using served = await serve(mirror, {
      auth: [apiKey({ k: 'ann' }), basic({ bob: 'b' }), bearer({ t: 'cid' })],
    })
    expect((await callWith(served.url, key('k'))).caller?.id).toBe('ann')
    expect((await callWith(served.url, password('bob', 'b'))).caller?.id).toBe('bob')
    expect((await callWith(served.url, bearing('t'))).caller?.id).toBe('cid')
    expect(await callWith(served.url)).toEqual({
      refused: 'UNAUTHENTICATED',
      challenge: 'ApiKey name="X-API-Key", Basic realm="agent", charset="UTF-8", Bearer realm="agent"',
    })
  })

  it('combined schemes are required together; the first one identifies the caller', async () => {
    await using served = await serve(mirror, {
      auth: [allOf(bearer({ t: 'ann' }), apiKey({ k: 'app' })), basic({ bob: 'b' })],
    })
    const both = { headers: { ...key('k').headers, ...bearing('t').headers } }
    expect((await callWith(served.url, both)).caller?.id).toBe('ann')
    for (const half of [key('k'), bearing('t'), { headers: { ...key('k').headers, ...bearing('u').headers } }])
      expect((await callWith(served.url, half)).refused).toBe('UNAUTHENTICATED')
    expect((await callWith(served.url, password('bob', 'b'))).caller?.id).toBe('bob')
  })

  it('scopes are checked for each alternative', async () => {
    const callers = { r: { id: 'ann', scopes: ['read'] }, rw: { id: 'bob', scopes: ['read', 'write'] } }
    const tokens = bearer(callers)
    await using served = await serve(mirror, {
      auth: [withScopes(tokens, ['read', 'write']), allOf(withScopes(tokens, ['read']), apiKey('k'))],
    })
    expect((await callWith(served.url, bearing('rw'))).caller?.id).toBe('bob')
    expect(await callWith(served.url, bearing('r'))).toEqual({
      refused: 'PERMISSION_DENIED',
      challenge: 'Bearer realm="agent", error="insufficient_scope", scope="write"',
    })
    expect((await callWith(served.url, { headers: { ...bearing('r').headers, 'x-api-key': 'k' } })).caller?.id).toBe(
      'ann',
    )
  })

  it('callers of different schemes are different, although their names are equal', async () => {
    await using served = await serve(mirror, { auth: [apiKey({ k: 'alice' }), jwt({ audience, secret })] })
    expect((await callWith(served.url, key('k'))).caller?.id).toBe('alice')
    expect((await callWith(served.url, bearing(sharedToken))).caller?.id).toBe('jwt:alice')
  })

  const admin = bearer({ a: { id: 'ann', scopes: ['admin'] }, b: { id: 'bob' } })
  const workshop = agent(
    {
      name: 'Workshop',
      skills: [
        { id: 'look', input: z.object({ look: z.string() }) },
        {
          id: 'repair',
          input: z.object({ repair: z.string() }),
          securityRequirements: [{ schemes: { bearer: { list: ['admin'] } } }],
        },
        { id: 'chat' },
      ],
    },
    async function* ({ caller }) {
      yield JSON.stringify(caller)
    },
  )

  it(proves('R-SEC-2', 'a skill may require more than its agent'), async () => {
    await using served = await serve(workshop, { auth: [admin] })
    const ask = async (token: string, skillId?: string) => {
      const { caller, refused } = await callWith(served.url, {
        ...bearing(token),
        ...(skillId !== undefined && { metadata: { skillId } }),
      })
      return caller?.id ?? refused
    }
    expect(await ask('a', 'repair')).toBe('ann')
    expect(await ask('b', 'repair')).toBe('PERMISSION_DENIED')
    expect(await ask('b', 'chat')).toBe('bob')
    // A message without a known skill can be for any skill.
    expect(await ask('a')).toBe('ann')
    expect(await ask('b')).toBe('PERMISSION_DENIED')
    expect(await ask('b', 'nothing')).toBe('PERMISSION_DENIED')
  })

  it('authenticates once for each call', async () => {
    let asked = 0
    const counting = bearer(() => {
      asked += 1
      return 'ann'
    })
    await using served = await serve(mirror, { auth: [counting] })
    await callWith(served.url, bearing('t'))
    expect(asked).toBe(1)
  })
})

describe('the skill of a message', () => {
  const auth = [bearer({ a: { id: 'ann', scopes: ['admin'] }, b: 'bob' })]
  const guarded = agent(
    {
      name: 'Guarded',
      skills: [
        { id: 'open', input: z.object({ open: z.string() }) },
        {
          id: 'shut',
          input: z.object({ shut: z.string() }),
          securityRequirements: [{ schemes: { bearer: { list: ['admin'] } } }],
        },
        { id: 'talk' },
      ],
    },
    async function* () {
      yield 'done'
    },
  )
  const statusOf = async (
    data: object | undefined,
    more: object = {},
    request: object = {},
    path = '/message:send',
  ) => {
    const handler = await createHandler(guarded, { auth })
    const parts = data ? (Array.isArray(data) ? data : [data]).map((each) => ({ data: each })) : [{ text: 'hi' }]
    const message = { messageId: 'm', role: 'ROLE_USER', parts, ...more }
    const response = await handler.fetch(
      new Request(`http://localhost${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: 'Bearer b' },
        body: JSON.stringify({ message, ...request }),
      }),
    )
    await response.text()
    await handler.close({ deadlineMs: 0 })
    return response.status
  }

  it('is derived from its data, if only one skill accepts it', async () => {
    expect(await statusOf({ open: 'x' })).toBe(200)
    expect(await statusOf({ shut: 'x' })).toBe(403)
  })

  it('is ignored if its data fits another skill only', async () => {
    expect(await statusOf({ shut: 'x' }, { metadata: { skillId: 'open' } })).toBe(403)
    expect(await statusOf({ shut: 'x' }, { metadata: { skillId: 'talk' } })).toBe(403)
    expect(await statusOf({ open: 'x' }, { metadata: { skillId: 'open' } })).toBe(200)
  })

  it('is every skill that accepts a data part, at any position', async () => {
    for (const skillId of [undefined, 'open', 'talk']) {
      const metadata = skillId === undefined ? {} : { metadata: { skillId } }
      expect(await statusOf([{ open: 'x' }, { shut: 'x' }], metadata)).toBe(403)
      expect(await statusOf([{ shut: 'x' }, { open: 'x' }], metadata)).toBe(403)
      expect(await statusOf([{ open: 'x' }, { open: 'y' }, { shut: 'x' }], metadata)).toBe(403)
    }
    expect(await statusOf([{ open: 'x' }, { open: 'y' }])).toBe(200)
    // Data that no skill accepts can be for any skill.
    expect(await statusOf([{ open: 'x' }, { other: 'x' }])).toBe(403)
    expect(await statusOf([{ open: 'x' }, { other: 'x' }], { metadata: { skillId: 'open' } })).toBe(400)
  })

  it('is every skill named in the message or in the request', async () => {
    expect(await statusOf(undefined, { metadata: { skillId: 'talk' } }, { metadata: { skillId: 'shut' } })).toBe(403)
    expect(await statusOf(undefined, {}, { metadata: { skillId: 'talk' } })).toBe(200)
    expect(await statusOf(undefined, { metadata: { skillId: 7 } })).toBe(403)
  })

  it('is checked for streams, too', async () => {
    expect(await statusOf({ shut: 'x' }, {}, {}, '/message:stream')).toBe(403)
    expect(await statusOf({ open: 'x' }, {}, {}, '/message:stream')).toBe(200)
  })

  it('is in the cards with its requirements', async () => {
    const handler = await createHandler(guarded, { auth })
    const card = await (await handler.fetch(new Request('http://localhost/.well-known/agent-card.json'))).json()
    expect(card).toMatchObject({
      skills: [
        { id: 'open' },
        {
          id: 'shut',
          securityRequirements: [{ schemes: { bearer: { list: ['admin'] } } }],
          security: [{ bearer: ['admin'] }],
        },
        { id: 'talk' },
      ],
    })
    await handler.close()
  })

  it('cannot require an unknown scheme', async () => {
    await expect(createHandler(guarded, { auth: [apiKey('k')] })).rejects.toThrow(/shut needs the scheme bearer/)
    await expect(createHandler(guarded)).rejects.toThrow(/shut needs the scheme bearer/)
  })
})

describe('the card', () => {
  it('declares the requirements, in every form', async () => {
    const auth: Auth = [
      allOf(withScopes(jwt({ audience, secret }), ['read']), apiKey('k')),
      basic({ a: 'b' }),
      bearer('t', { description: 'Ask the operator' }),
    ]
    const cardFor = async (path: string, version?: string) => {
      const handler = await createHandler(mirror, { auth })
      const headers = version === undefined ? {} : { 'A2A-Version': version }
      const response = await handler.fetch(new Request(`http://localhost${path}`, { headers }))
      await handler.close()
      return (await response.json()) as object
    }
    const v1 = {
      securitySchemes: {
        jwt: { httpAuthSecurityScheme: { scheme: 'Bearer', bearerFormat: 'JWT' } },
        apiKey: { apiKeySecurityScheme: { location: 'header', name: 'X-API-Key' } },
        basic: { httpAuthSecurityScheme: { scheme: 'Basic' } },
        bearer: { httpAuthSecurityScheme: { scheme: 'Bearer', description: 'Ask the operator' } },
      },
      securityRequirements: [
        { schemes: { jwt: { list: ['read'] }, apiKey: {} } },
        { schemes: { basic: {} } },
        { schemes: { bearer: {} } },
      ],
    }
    const v03 = {
      securitySchemes: {
        jwt: { type: 'http', scheme: 'Bearer', bearerFormat: 'JWT' },
        apiKey: { type: 'apiKey', in: 'header', name: 'X-API-Key' },
        basic: { type: 'http', scheme: 'Basic' },
        bearer: { type: 'http', scheme: 'Bearer', description: 'Ask the operator' },
      },
      security: [{ jwt: ['read'], apiKey: [] }, { basic: [] }, { bearer: [] }],
    }
    expect(await cardFor('/.well-known/agent-card.json', '1.0')).toMatchObject(v1)
    expect(await cardFor('/.well-known/agent-card.json', '0.3')).toMatchObject(v03)
    expect(await cardFor('/.well-known/agent-card.json')).toMatchObject(v1)
    expect(await cardFor('/.well-known/agent-card.json')).toMatchObject(v03)
    expect(await cardFor('/.well-known/agent.json')).toMatchObject({
      ...v03,
      authentication: { schemes: ['Bearer', 'apiKey', 'Basic'] },
    })
  })
})

describe('withFlows', () => {
  const flows = {
    authorizationCode: {
      authorizationUrl: 'https://id.example/authorize',
      tokenUrl: 'https://id.example/token',
      scopes: { read: 'Reads' },
    },
    clientCredentials: { tokenUrl: 'https://id.example/token', scopes: { read: 'Reads' } },
  }
  const { authorizationCode, clientCredentials } = flows
  const tokens = withFlows(jwt({ scheme: 'oauth2', audience, secret, description: 'Ask us' }), flows, {
    metadataUrl: 'https://id.example/.well-known/oauth-authorization-server',
  })
  const common = {
    description: 'Ask us',
    oauth2MetadataUrl: 'https://id.example/.well-known/oauth-authorization-server',
  }
  const skills = [{ id: 's', securityRequirements: [{ schemes: { oauth2: { list: ['read'] } } }] }]
  const guarded = agent({ name: 'Guarded', skills }, async function* ({ caller }) {
    yield caller.id
  })

  it('declares a scheme with several flows: one scheme in 0.3, one for each flow in v1.0', async () => {
    const auth: Auth = [allOf(withScopes(tokens, ['read']), apiKey('k'))]
    const handler = await createHandler(guarded, { auth })
    const cardOf = async (headers = {}) => {
      const request = new Request('http://localhost/.well-known/agent-card.json', { headers })
      const card = (await (await handler.fetch(request)).json()) as object
      expect(validateCard(card).problems).toEqual([])
      return card
    }
    const list = ['read']
    const v03 = {
      securitySchemes: { oauth2: { type: 'oauth2', flows, ...common } },
      security: [{ oauth2: list, apiKey: [] }],
      skills: [{ security: [{ oauth2: list }] }],
    }
    const v1 = {
      securitySchemes: {
        oauth2: { oauth2SecurityScheme: { flows: { authorizationCode }, ...common } },
        'oauth2-clientCredentials': { oauth2SecurityScheme: { flows: { clientCredentials }, ...common } },
      },
      securityRequirements: [
        { schemes: { oauth2: { list }, apiKey: {} } },
        { schemes: { 'oauth2-clientCredentials': { list }, apiKey: {} } },
      ],
      skills: [
        {
          securityRequirements: [
            { schemes: { oauth2: { list } } },
            { schemes: { 'oauth2-clientCredentials': { list } } },
          ],
        },
      ],
    }
    expect(await cardOf({ 'A2A-Version': '0.3' })).toMatchObject(v03)
    expect(await cardOf({ 'A2A-Version': '1.0' })).toMatchObject(v1)
    expect(await cardOf()).toMatchObject(v03)
    expect(await cardOf()).toMatchObject({
      ...v1,
      securitySchemes: { 'oauth2-clientCredentials': { type: 'oauth2', flows: { clientCredentials } } },
    })
    await handler.close()
  })

  it('declares the first flow of each scheme where the combinations of flows are too many', async () => {
    const schemes = Array.from({ length: 30 }, (_, place) =>
      withFlows(jwt({ scheme: `s${place}`, audience, secret }), flows),
    )
    const handler = await createHandler(mirror, { auth: [allOf(...schemes)] })
    for (const version of ['1.0', '0.3']) {
      const headers = { 'A2A-Version': version }
      const response = await handler.fetch(new Request('http://localhost/.well-known/agent-card.json', { headers }))
      const { securityRequirements, security } = (await response.json()) as Record<string, unknown[]>
      expect((securityRequirements ?? security)?.length).toBe(1)
    }
    await handler.close()
  })

  it('keeps schemes that are instances of classes with private fields', async () => {
    class Tokens implements AuthScheme {
      readonly #tokens = jwt({ scheme: 'oauth2', audience, secret })
      readonly name = 'oauth2'
      readonly card = this.#tokens.card
      readonly headers = ['authorization']
      challenge(shortfall: Parameters<AuthScheme['challenge']>[0]) {
        return this.#tokens.challenge(shortfall)
      }
      authenticate(credentials: Parameters<AuthScheme['authenticate']>[0]) {
        return this.#tokens.authenticate(credentials)
      }
    }
    await using served = await serve(guarded, { auth: [withFlows(new Tokens(), flows)] })
    await using client = await connect(served.url, { credentials: bearerCredential(sharedToken) })
    expect((await client.ask('hi')).text).toBe('oauth2:alice')
    await using unauthenticated = await connect(served.url, { credentials: bearerCredential('x') })
    await expect(unauthenticated.ask('hi')).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
  })

  it.each<[unknown, string]>([
    [null, 'bearer: `flows` must be an object of flows: authorizationCode, '],
    [{ clientCredentials: null }, 'bearer: clientCredentials must be an object with the addresses of the flow'],
    [{ magic: {} }, 'bearer: Unknown flow: magic; choose from authorizationCode, '],
    [{ password: { tokenUrl: 'https://t', scopes: null } }, 'bearer: password needs `scopes`'],
    [
      { clientCredentials: { tokenUrl: 'https://t', refreshUrl: 'http://id.example/', scopes: {} } },
      'bearer: clientCredentials: `refreshUrl` must be an https address',
    ],
  ])('rejects the flows %j', (wrong, message) => {
    const declare = () => withFlows(bearer('t'), wrong as never)
    expect(declare).toThrow(TypeError)
    expect(declare).toThrow(message)
  })

  it('authenticates by the scheme that it describes, and checks the requirements of skills', async () => {
    await using served = await serve(guarded, { auth: [tokens] })
    for (const dialect of ['v1', 'v0.3'] as const) {
      await using client = await connect(served.url, { dialect, pin: true, credentials: bearerCredential(sharedToken) })
      expect((await client.ask('hi')).text).toBe('oauth2:alice')
    }
    await using unauthenticated = await connect(served.url, { credentials: bearerCredential('x') })
    await expect(unauthenticated.ask('hi')).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
  })
})

describe('a protected card', () => {
  const cardPaths = ['', '/go', '/old'].flatMap((prefix) => [
    `${prefix}/.well-known/agent-card.json`,
    `${prefix}/.well-known/agent.json`,
  ])

  it('requires credentials on every path, in every version, and is not for shared caches', async () => {
    const dialects = ['v1', 'v0.3', 'v0.1', 'v0.1-go', { dialect: 'task-rest', path: '/old' }] as const
    const signing = { keys: [await generateSigningKey()] }
    const handler = await createHandler(mirror, {
      auth: [bearer('t'), apiKey('k')],
      dialects,
      advanced: { protectCard: true, signing },
    })
    const get = async (path: string, headers: Record<string, string> = {}, method = 'GET') =>
      await handler.fetch(new Request(`http://localhost${path}`, { method, headers }))
    for (const path of cardPaths) {
      for (const version of ['1.0', '0.3', '0.1', undefined]) {
        const named = version === undefined ? {} : { 'A2A-Version': version }
        const refused = await get(path, named)
        expect([path, version, refused.status]).toEqual([path, version, 401])
        expect(refused.headers.get('www-authenticate')).toContain('Bearer realm="agent"')
        expect(await refused.text()).not.toContain('Mirror')
        expect((await get(path, { ...named, authorization: 'Bearer wrong' })).status).toBe(401)
        const card = await get(path, { ...named, 'x-api-key': 'k' })
        expect([path, version, card.status]).toEqual([path, version, 200])
        expect(card.headers.get('cache-control')).toMatch(/^private, /)
        expect(card.headers.get('vary')).toMatch(/Authorization, X-API-Key, A2A-Version/i)
        expect(await card.json()).toMatchObject({ name: 'Mirror' })
      }
      expect((await get(path, {}, 'HEAD')).status).toBe(401)
    }
    const etag = (await get('/.well-known/agent-card.json', { 'x-api-key': 'k' })).headers.get('etag') ?? ''
    expect((await get('/.well-known/agent-card.json', { 'if-none-match': etag })).status).toBe(401)
    expect((await get('/.well-known/jwks.json')).status).toBe(200)
    await handler.close()
  })

  it('is open by default', async () => {
    const handler = await createHandler(mirror, { auth: [apiKey('k')] })
    const response = await handler.fetch(new Request('http://localhost/.well-known/agent-card.json'))
    expect([response.status, response.headers.get('cache-control')]).toEqual([200, 'public, max-age=300'])
    await handler.close()
  })
})

describe('a configuration', () => {
  it.each<[string, () => unknown]>([
    ['two schemes of one name', () => createHandler(mirror, { auth: [bearer('a'), bearer('b')] })],
    ['a protected card and no scheme', () => createHandler(mirror, { advanced: { protectCard: true } })],
    [
      'a protected card without credentials',
      () => createHandler(mirror, { auth: 'none', advanced: { protectCard: true } }),
    ],
    ['flows of an API key', () => withFlows(apiKey('k'), { clientCredentials: { tokenUrl: 'https://t', scopes: {} } })],
    ['no flow', () => withFlows(bearer('t'), {})],
    ['a flow over plain HTTP', () => withFlows(bearer('t'), { password: { tokenUrl: 'http://id.example/token' } })],
    ['a flow without addresses', () => withFlows(bearer('t'), { clientCredentials: { scopes: {} } } as never)],
    ['a flow without scopes', () => withFlows(bearer('t'), { clientCredentials: { tokenUrl: 'https://t' } } as never)],
    ['an unknown flow', () => withFlows(bearer('t'), { magic: { scopes: {} } } as never)],
    ['no key', () => apiKey({})],
    ['an empty key', () => apiKey({ '': 'ann' })],
    ['a caller without an id', () => apiKey({ k: '' })],
    ['a user with a colon', () => basic({ 'a:b': 'c' })],
    ['an empty password', () => basic({ a: '' })],
    ['an empty token', () => bearer('')],
    ['no audience', () => jwt({ secret } as never)],
    ['a short secret', () => jwt({ audience, secret: 'short' })],
    ['no keys', () => jwt({ audience, keys: [] })],
    ['secrets in a list of public keys', () => jwt({ audience, keys: [{ kty: 'oct', k: 'AAAA' }] })],
    ['no keys', () => jwt({ audience } as never)],
    ['keys over plain HTTP', () => jwt({ audience, jwksUrl: 'http://keys.example/jwks' })],
    ['a public-key algorithm with a secret', () => jwt({ audience, secret, algorithms: ['RS256'] })],
    ['no scheme', () => allOf()],
  ])('with %s is rejected', async (_what, make) => {
    await expect((async () => await make())()).rejects.toThrow(TypeError)
  })

  it('allows the headers of its credentials in CORS responses', async () => {
    const allowed = async (auth: ServeOptions['auth']) => {
      const handler = await createHandler(mirror, { ...(auth && { auth }), cors: ['https://page.example'] })
      const response = await handler.fetch(
        new Request('http://localhost/', {
          method: 'OPTIONS',
          headers: { origin: 'https://page.example', 'access-control-request-method': 'POST' },
        }),
      )
      await handler.close()
      expect(response.status).toBe(204)
      return (response.headers.get('access-control-allow-headers') ?? '').toLowerCase().split(',')
    }
    expect(await allowed([apiKey('k', { name: 'X-Pass' }), basic({ a: 'b' })])).toEqual(
      expect.arrayContaining(['x-pass', 'authorization', 'content-type']),
    )
    expect(await allowed([apiKey('k')])).not.toContain('authorization')
    expect(await allowed(undefined)).not.toContain('x-api-key')
  })
})
