/** Cards signed by the server and verified by the client, over real HTTP. */
import { type AgentCard, agent, apiKey, type Caller, type ServeOptions, serve } from 'dragoman'
import { connect } from 'dragoman/client'
import { type Audit, createHandler, createSigner, generateSigningKey, type Signer } from 'dragoman/server'
import { gate, until } from 'dragoman/testing'
import fc from 'fast-check'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import type { Verification, VerifyOptions } from '../../src/client/verification.js'
import { verifyCard } from '../../src/client/verify-card.js'

const echo = (rest: object = {}) =>
  agent({ name: 'Echo', description: 'Repeats', ...rest }, async function* ({ text }) {
    yield text
  })

interface Got {
  readonly raw: Record<string, unknown>
  readonly response: Response
  readonly origin: string
}

async function get(url: string, headers: Record<string, string> = {}): Promise<Got> {
  const response = await fetch(url, { headers })
  return { raw: (await response.json()) as Record<string, unknown>, response, origin: new URL(url).origin }
}

const cardAt = (url: string, version?: string) =>
  get(`${url}.well-known/agent-card.json`, version === undefined ? {} : { 'a2a-version': version })

const verify = ({ raw, origin }: Pick<Got, 'raw' | 'origin'>, options: VerifyOptions = {}): Promise<Verification> =>
  verifyCard({ raw, origin }, options)

const signing = async () => ({ keys: [await generateSigningKey()] })

describe('a server with keys', () => {
  it('signs the card of every version that has signatures (R-SIGN-1, R3-CARD-7)', async () => {
    await using served = await serve(echo(), { dialects: 'all', advanced: { signing: await signing() } })
    const forms = async (version?: string) => (await verify(await cardAt(served.url, version))).form
    expect([await forms('1.0'), await forms(), await forms('0.3')]).toEqual(['strict', 'strict', 'as-received'])
    // The hybrid card has a signature for each version.
    const { raw, origin } = await cardAt(served.url)
    const [first, second] = raw.signatures as readonly object[]
    expect((await verify({ raw: { ...raw, signatures: [first] }, origin })).form).toBe('strict')
    expect((await verify({ raw: { ...raw, signatures: [second] }, origin })).form).toBe('as-received')
    // Older versions have no signatures.
    const old = await get(`${served.url}.well-known/agent.json`)
    expect(old.raw).not.toHaveProperty('signatures')
    expect((await cardAt(served.url, '0.1')).raw).not.toHaveProperty('signatures')
  })

  it('signs the cards of pinned dialects in the form of their version', async () => {
    await using served = await serve(echo(), {
      dialects: ['v1', { dialect: 'v0.3', path: '/old' }, { dialect: 'task-rest', path: '/rest' }],
      advanced: { signing: await signing() },
    })
    expect((await verify(await cardAt(`${served.url}old/`))).form).toBe('as-received')
    expect((await cardAt(`${served.url}rest/`)).raw).not.toHaveProperty('signatures')
  })

  it('is accepted by a client that requires signatures', async () => {
    await using served = await serve(echo(), { auth: [apiKey('k')], advanced: { signing: await signing() } })
    await using client = await connect(served.url, { signatures: 'require' })
    expect(client.signature).toMatchObject({ state: 'valid', form: 'strict' })
    await using unsigned = await serve(echo())
    await expect(connect(unsigned.url, { signatures: 'require' })).rejects.toThrow('A signed card is required')
  })

  it('is rejected by the client if the card was changed in transit', async () => {
    await using served = await serve(echo(), { advanced: { signing: await signing() } })
    const { raw, origin } = await cardAt(served.url)
    const elsewhere = [{ url: 'https://evil.example/', protocolBinding: 'JSONRPC', protocolVersion: '1.0' }]
    expect((await verify({ raw: { ...raw, supportedInterfaces: elsewhere }, origin })).state).toBe('invalid')
    const old = await cardAt(served.url, '0.3')
    expect((await verify({ raw: { ...old.raw, url: 'https://evil.example/' }, origin })).state).toBe('invalid')
  })

  it('signs a card once, and its ETag covers the signatures (R-CARD-5)', async () => {
    const plain = await createSigner(await signing())
    let signatures = 0
    const signer: Signer = {
      ...plain,
      signCard: (...args) => {
        signatures += 1
        return plain.signCard(...args)
      },
    }
    await using served = await serve(echo(), { advanced: { signing: signer, card: 'v1' } })
    const before = signatures
    const [one, two] = [await cardAt(served.url, '1.0'), await cardAt(served.url, '1.0')]
    expect(one.raw).toEqual(two.raw)
    expect(signatures).toBe(before)
    const etag = one.response.headers.get('etag') ?? ''
    const again = await fetch(`${served.url}.well-known/agent-card.json`, { headers: { 'if-none-match': etag } })
    expect(again.status).toBe(304)
  })

  it('changes the ETag of the card when the key changes', async () => {
    const etag = async () => {
      const handler = await createHandler(echo(), {
        publicUrl: 'https://agents.example',
        advanced: { signing: await signing() },
      })
      const response = await handler.fetch(new Request('https://agents.example/.well-known/agent-card.json'))
      await handler.close()
      return response.headers.get('etag')
    }
    expect(await etag()).not.toBe(await etag())
  })

  it('signs with old and new keys during a key change (R-SIGN-1)', async () => {
    const [newer, older] = [await generateSigningKey({ alg: 'EdDSA' }), await generateSigningKey({ alg: 'RS256' })]
    await using served = await serve(echo(), { advanced: { signing: { keys: [newer, older], signWith: 'all' } } })
    const got = await cardAt(served.url, '1.0')
    const { d: _d, p: _p, q: _q, dp: _dp, dq: _dq, qi: _qi, ...known } = older
    expect(await verify(got, { keys: [known as never] })).toMatchObject({ state: 'valid', keyId: newer.kid })
    const alone = { ...got, raw: { ...got.raw, signatures: (got.raw.signatures as object[]).slice(1) } }
    expect(await verify(alone, { keys: [known as never] })).toMatchObject({ state: 'valid', keyId: older.kid })
  })
})

describe('/.well-known/jwks.json', () => {
  it('publishes the public keys of all agents of a port, without authentication, with validators', async () => {
    const keys = [await generateSigningKey(), await generateSigningKey({ alg: 'RS256' })]
    const signing = { keys }
    await using served = await serve([echo(), agent('Other', async function* () {})], {
      auth: [apiKey('k')],
      advanced: { signing },
    })
    const { origin } = new URL(served.url)
    const { raw, response } = await get(`${origin}/.well-known/jwks.json`)
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'application/jwk-set+json',
      'cache-control': 'public, max-age=300',
      etag: expect.stringMatching(/^".+"$/),
    })
    const published = raw.keys as readonly Record<string, unknown>[]
    expect(published.map(({ kid }) => kid)).toEqual(keys.map(({ kid }) => kid))
    for (const key of published)
      for (const secret of ['d', 'p', 'q', 'dp', 'dq', 'qi', 'k']) expect(key).not.toHaveProperty(secret)
    const etag = response.headers.get('etag') ?? ''
    const again = await fetch(`${origin}/.well-known/jwks.json`, { headers: { 'if-none-match': etag } })
    expect(again.status).toBe(304)
    expect((await fetch(`${origin}/.well-known/jwks.json`, { method: 'POST' })).status).toBe(405)
    for (const { url } of served.agents)
      expect(await verify(await cardAt(url, '1.0'), { policy: 'require' })).toMatchObject({ state: 'valid' })
  })

  it('publishes the current keys of a custom signer, and extended cards are signed with them', async () => {
    const [older, newer] = [await createSigner(await signing()), await createSigner(await signing())]
    let current = older
    const rotating: Signer = {
      signCard: (...args) => current.signCard(...args),
      signJwt: (claims) => current.signJwt(claims),
      jwks: () => ({ keys: [...current.jwks().keys, ...older.jwks().keys] }),
    }
    await using served = await serve(
      echo({ capabilities: { extendedAgentCard: true }, extendedCard: (card: AgentCard) => card }),
      { advanced: { signing: rotating } },
    )
    const jwks = () => get(`${served.url}.well-known/jwks.json`)
    const kidOf = async () => {
      const { raw } = await get(`${served.url}extendedAgentCard`, { 'a2a-version': '1.0' })
      const [{ protected: head }] = raw.signatures as [{ protected: string }]
      return (JSON.parse(Buffer.from(head, 'base64url').toString()) as { kid: string }).kid
    }
    const before = await jwks()
    expect(await kidOf()).toBe(older.jwks().keys[0]?.kid)
    current = newer
    const after = await jwks()
    expect(after.raw.keys).toEqual([...newer.jwks().keys, ...older.jwks().keys])
    expect(after.response.headers.get('etag')).not.toBe(before.response.headers.get('etag'))
    expect(await kidOf()).toBe(newer.jwks().keys[0]?.kid)
  })

  it('signs public cards again when the keys change, and keeps the previous cards if that fails', async () => {
    const [older, newer] = [await createSigner(await signing()), await createSigner(await signing())]
    let current = older
    let isDown = false
    const rotating: Signer = {
      signCard: async (...args) => {
        attempts += 1
        if (isDown) throw new Error('No connection to the key')
        return await current.signCard(...args)
      },
      signJwt: (claims) => current.signJwt(claims),
      jwks: () => current.jwks(),
    }
    let attempts = 0
    const log: string[] = []
    await using served = await serve(echo(), {
      log: ({ message }) => log.push(message),
      advanced: { signing: rotating },
    })
    const states = async () => {
      const all = [await cardAt(served.url), await cardAt(served.url, '1.0'), await cardAt(served.url, '0.3')]
      return await Promise.all(all.map(async (got) => (await verify(got)).state))
    }
    const { response } = await cardAt(served.url)
    expect(await states()).toEqual(['valid', 'valid', 'valid'])
    const etag = async () => (await cardAt(served.url)).response.headers.get('etag')
    const before = response.headers.get('etag')
    current = newer
    isDown = true
    attempts = 0
    for (let read = 0; read < 10; read++) expect(await etag()).toBe(before)
    await until(() => log.includes('A card could not be signed again'))
    // Requests for cards do not cause further attempts.
    const once = attempts
    isDown = false
    for (let read = 0; read < 10; read++) expect(await etag()).toBe(before)
    expect([attempts, log.length]).toEqual([once, 1])
    const later = performance.now() + 5001
    const now = vi.spyOn(performance, 'now').mockImplementation(() => later)
    onTestFinished(() => now.mockRestore())
    await until(async () => (await etag()) !== before)
    expect(await states()).toEqual(['valid', 'valid', 'valid'])
  })

  it('keeps the previous cards while a signer does not answer', async () => {
    const [older, newer] = [await createSigner(await signing()), await createSigner(await signing())]
    const ready = gate()
    let current = older
    const slow: Signer = {
      signCard: async (...args) => {
        if (current === newer) await ready.opened
        return await current.signCard(...args)
      },
      signJwt: (claims) => current.signJwt(claims),
      jwks: () => current.jwks(),
    }
    await using served = await serve(echo(), { advanced: { signing: slow } })
    const etag = async () => (await cardAt(served.url)).response.headers.get('etag')
    const before = await etag()
    current = newer
    for (let read = 0; read < 3; read++) expect(await etag()).toBe(before)
    ready.open()
    await until(async () => (await etag()) !== before)
  })

  it('is below the public address', async () => {
    const handler = await createHandler(echo(), {
      publicUrl: 'https://agents.example/echo/',
      advanced: { signing: await signing() },
    })
    const response = await handler.fetch(new Request('http://localhost/.well-known/agent-card.json'))
    const raw = (await response.json()) as { readonly signatures: readonly { protected: string }[] }
    await handler.close()
    const [{ protected: header } = { protected: '' }] = raw.signatures
    expect(JSON.parse(Buffer.from(header, 'base64url').toString())).toMatchObject({
      jku: 'https://agents.example/echo/.well-known/jwks.json',
    })
  })

  it('is not served without keys', async () => {
    await using served = await serve(echo())
    expect((await fetch(`${served.url}.well-known/jwks.json`)).status).toBe(404)
  })
})

describe('an extended card', () => {
  const known = echo({
    capabilities: { extendedAgentCard: true },
    extendedCard: (card: AgentCard, { id }: Caller) => ({ ...card, description: `For ${id}` }),
  })

  it.each(['JSONRPC', 'HTTP+JSON', 'GRPC'] as const)('is signed over %s for each caller', async (binding) => {
    await using served = await serve(known, {
      auth: [apiKey({ k1: 'ann', k2: 'bob' })],
      advanced: { signing: await signing() },
    })
    const { origin } = new URL(served.url)
    for (const [key, name] of [
      ['k1', 'ann'],
      ['k2', 'bob'],
    ]) {
      await using client = await connect(served.url, { binding, pin: true, headers: { 'x-api-key': key ?? '' } })
      const card = await client.getExtendedAgentCard({})
      expect(card.description).toBe(`For ${name}`)
      expect(await verify({ raw: { ...card }, origin })).toMatchObject({ state: 'valid', form: 'strict' })
      expect((await verify({ raw: { ...card, description: 'For eve' }, origin })).state).toBe('invalid')
    }
  })

  it('is signed in 0.3 too, over the text that is sent (R3-CARD-7)', async () => {
    await using served = await serve(known, { auth: [apiKey({ k1: 'ann' })], advanced: { signing: await signing() } })
    const headers = { 'x-api-key': 'k1', 'content-type': 'application/json', 'a2a-version': '0.3' }
    const { origin } = new URL(served.url)
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'agent/getAuthenticatedExtendedCard' })
    const rpc = (await (await fetch(served.url, { method: 'POST', headers, body })).json()) as { result: Got['raw'] }
    const { raw: rest } = await get(`${served.url}v1/card`, headers)
    for (const raw of [rpc.result, rest]) {
      expect(raw).toMatchObject({ protocolVersion: '0.3.0', description: 'For ann' })
      expect(await verify({ raw, origin })).toMatchObject({ state: 'valid', form: 'as-received' })
      expect((await verify({ raw: { ...raw, description: 'For eve' }, origin })).state).toBe('invalid')
    }
  })

  it('is signed once for all callers that get the same card', async () => {
    const plain = await createSigner(await signing())
    let signatures = 0
    const signCard: Signer['signCard'] = (...args) => {
      signatures += 1
      return plain.signCard(...args)
    }
    await using served = await serve(known, {
      auth: [apiKey({ k1: 'ann', k2: 'bob' })],
      advanced: { signing: { ...plain, signCard } },
    })
    const before = signatures
    for (const key of ['k1', 'k1', 'k2', 'k1', 'k2']) {
      const response = await fetch(`${served.url}extendedAgentCard`, { headers: { 'x-api-key': key } })
      expect(await response.json()).toHaveProperty('signatures')
    }
    expect(signatures - before).toBe(2)
  })

  it('fails instead of being sent unsigned while the signer fails, and is signed afterwards', async () => {
    const plain = await createSigner(await signing())
    let isDown = false
    const signCard: Signer['signCard'] = async (...args) => {
      if (isDown) throw new Error('No connection to the key')
      return await plain.signCard(...args)
    }
    const outcomes: string[] = []
    const audit: Audit = ({ outcome }) => outcomes.push(outcome)
    await using served = await serve(known, { advanced: { signing: { ...plain, signCard }, audit } })
    const ask = (path: string) => fetch(`${served.url}${path}`)
    isDown = true
    expect((await ask('extendedAgentCard')).status).toBe(500)
    isDown = false
    expect(await (await ask('extendedAgentCard')).json()).toHaveProperty('signatures')
    // 0.3 signs the text that is sent, as the last step.
    isDown = true
    expect((await ask('v1/card')).status).toBe(500)
    await until(() => outcomes.length === 3)
    expect(outcomes).toEqual(['INTERNAL_ERROR', 'ok', 'INTERNAL_ERROR'])
  })
})

describe('any card', () => {
  const words = fc.string({ unit: 'grapheme', maxLength: 12 })
  const name = words.filter((text) => text.trim() !== '')
  const list = fc.array(words, { maxLength: 3 })
  const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined })
  const without = <T extends object>(value: T) =>
    Object.fromEntries(Object.entries(value).filter(([, each]) => each !== undefined))
  const skill = fc
    .record({
      id: name,
      name: maybe(words),
      description: maybe(words),
      tags: maybe(list),
      examples: maybe(list),
      inputModes: maybe(list),
      securityRequirements: maybe(fc.constantFrom([], [{ schemes: {} }], [{ schemes: { apiKey: {} } }])),
    })
    .map(without)
  const extension = fc
    .record({
      uri: fc.webUrl({ withFragments: true, withQueryParameters: true }).filter((url) => !url.includes(',')),
      description: maybe(words),
      required: maybe(fc.boolean()),
      params: maybe(fc.dictionary(words, fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<never>, { maxKeys: 3 })),
    })
    .map(without)
  const init = fc
    .record({
      name,
      description: maybe(words),
      version: maybe(words),
      provider: maybe(fc.record({ url: words, organization: words })),
      documentationUrl: maybe(words),
      iconUrl: maybe(words),
      capabilities: maybe(
        fc
          .record({
            streaming: maybe(fc.boolean()),
            pushNotifications: maybe(fc.boolean()),
          })
          .map(without),
      ),
      extensions: maybe(fc.uniqueArray(extension, { maxLength: 2, selector: ({ uri }) => uri })),
      defaultInputModes: maybe(list),
      defaultOutputModes: maybe(list),
      skills: maybe(fc.uniqueArray(skill, { maxLength: 3, selector: ({ id }) => id })),
    })
    .map(without)

  it('is valid as signed, and invalid if any member is changed (R-SIGN-2, R-SIGN-3)', async () => {
    const keys = [await generateSigningKey()]
    await fc.assert(
      fc.asyncProperty(init, fc.boolean(), fc.nat(), async (card, hasAuth, place) => {
        const isPrivate = hasAuth || JSON.stringify(card).includes('"schemes":{"apiKey"')
        await using served = await serve(echo(card), {
          ...(isPrivate && { auth: [apiKey('k')] }),
          advanced: { signing: { keys } },
        })
        for (const version of ['1.0', undefined, '0.3']) {
          const { raw, origin } = await cardAt(served.url, version)
          expect(await verify({ raw, origin })).toMatchObject({
            state: 'valid',
            form: version === '0.3' ? 'as-received' : 'strict',
          })
          if (version === undefined) continue // readers of one version ignore members of the other
          expect((await verify({ raw: changed(raw, place), origin })).state).toBe('invalid')
        }
      }),
      { numRuns: 40 },
    )
  })
})

/** The same card with one value changed, chosen by a number. */
function changed(raw: Record<string, unknown>, place: number): Record<string, unknown> {
  const { signatures, ...card } = structuredClone(raw)
  const slots: (() => void)[] = []
  const visit = (holder: Record<string | number, unknown>) => {
    for (const [key, value] of Object.entries(holder)) {
      if (typeof value === 'object' && value !== null) visit(value as Record<string, unknown>)
      else slots.push(() => (holder[key] = another(value)))
    }
  }
  visit(card)
  slots[place % slots.length]?.()
  return { ...card, signatures }
}

function another(value: unknown): unknown {
  if (typeof value === 'string') return `${value}x`
  if (typeof value === 'boolean') return !value
  return value === 0 ? 1 : 0
}

describe('editCard', () => {
  const ofVersion = (card: AgentCard, version: string) => ({
    ...card,
    description: `Repeats, for ${version}`,
    supportedInterfaces: card.supportedInterfaces.filter(({ protocolVersion }) => protocolVersion === version),
  })

  it('changes the card of each version before it is signed, the extended card too', async () => {
    const card = { capabilities: { extendedAgentCard: true }, extendedCard: (own: AgentCard) => own }
    await using served = await serve(echo(card), { advanced: { signing: await signing(), editCard: ofVersion } })
    const [v1, v0_3, plain] = [
      await cardAt(served.url, '1.0'),
      await cardAt(served.url, '0.3'),
      await cardAt(served.url),
    ]
    const extended = await get(`${served.url}extendedAgentCard`, { 'a2a-version': '1.0' })
    for (const each of [v1, v0_3, plain, extended]) expect((await verify(each)).state).toBe('valid')
    const versions = ({ raw }: Got) =>
      (raw as unknown as AgentCard).supportedInterfaces.map((each) => each.protocolVersion)
    expect([versions(v1), versions(plain), versions(extended)]).toEqual(Array(3).fill(['1.0', '1.0', '1.0']))
    expect([v1, v0_3, plain, extended].map(({ raw }) => raw.description)).toEqual(
      ['1.0', '0.3', '1.0', '1.0'].map((version) => `Repeats, for ${version}`),
    )
    expect((v0_3.raw.additionalInterfaces as unknown[]).length).toBe(3)
    // Without a 0.3 interface the default card is v1.0's.
    expect(plain.raw).not.toHaveProperty('protocolVersion')
    expect((await get(`${served.url}.well-known/agent.json`)).raw.description).toContain('for 0.3')
  })

  it('never changes security members, nor the requirements for callers', async () => {
    const skills = [{ id: 'open' }, { id: 'closed', securityRequirements: [{ schemes: { apiKey: { list: [] } } }] }]
    const auth = [apiKey('k')]
    const disarmed = ({ securitySchemes: _s, securityRequirements: _r, ...card }: AgentCard): AgentCard => ({
      ...card,
      securityRequirements: [{ schemes: {} }],
      skills: card.skills.map(({ securityRequirements: _own, ...skill }) => skill).reverse(),
      signatures: [{ protected: 'x', signature: 'y' }],
    })
    await using plain = await serve(echo({ skills }), { auth })
    await using served = await serve(echo({ skills }), { auth, advanced: { editCard: disarmed } })
    for (const version of ['1.0', '0.3', undefined]) {
      const [own, edited] = [(await cardAt(plain.url, version)).raw, (await cardAt(served.url, version)).raw]
      const security = ({ securitySchemes, securityRequirements, security: old }: typeof own) => [
        securitySchemes,
        securityRequirements,
        old,
      ]
      expect(security(edited)).toEqual(security(own))
      expect(edited.skills).toEqual((own.skills as unknown[]).toReversed())
      expect(edited).not.toHaveProperty('signatures')
    }
    expect((await fetch(`${served.url}tasks`)).status).toBe(401)
  })

  it('gets a copy: changes in place stay within the same bounds', async () => {
    const skills = [{ id: 'closed', securityRequirements: [{ schemes: { apiKey: { list: [] } } }] }]
    const auth = [apiKey('k')]
    type Writable = { -readonly [Name in keyof AgentCard]: AgentCard[Name] }
    const disarmed = (card: Writable, version: string): AgentCard => {
      card.description += `, for ${version}`
      delete card.securitySchemes
      delete card.securityRequirements
      for (const skill of card.skills) Object.assign(skill, { securityRequirements: undefined })
      return card
    }
    await using plain = await serve(echo({ skills }), { auth })
    await using served = await serve(echo({ skills }), { auth, advanced: { editCard: disarmed } })
    for (const version of ['1.0', '0.3', undefined]) {
      const [own, edited] = [(await cardAt(plain.url, version)).raw, (await cardAt(served.url, version)).raw]
      for (const member of ['securitySchemes', 'securityRequirements', 'security', 'skills'])
        expect(edited[member], member).toEqual(own[member])
      expect(edited.description).toBe(`Repeats, for ${version ?? '1.0'}`)
    }
    const moved = (card: AgentCard) => {
      for (const each of card.supportedInterfaces) Object.assign(each, { url: 'https://evil.example/' })
      return card
    }
    await expect(serve(echo(), { advanced: { editCard: moved } })).rejects.toThrow(
      'https://evil.example/ is not served',
    )
  })

  it('may remove all interfaces for versions whose address is not from the card', async () => {
    const dialects = ['v1', 'v0.1', { dialect: 'v0.3', path: '/old' }] as const
    await using served = await serve(echo(), { dialects, advanced: { editCard: ofVersion } })
    expect((await get(`${served.url}old/.well-known/agent-card.json`)).raw.url).toContain(`${served.url}old`)
    expect(`${(await get(`${served.url}.well-known/agent.json`)).raw.url}/`).toBe(served.url)
    await using older = await serve(echo(), { dialects: ['v0.3'], advanced: { editCard: ofVersion } })
    expect((await cardAt(older.url)).raw.url).toBe(older.url)
  })

  it('that removes all interfaces of an extended card fails the call', async () => {
    const extendedCard = (own: AgentCard) => ({ ...own, description: 'Extended' })
    const logged: unknown[] = []
    await using served = await serve(echo({ capabilities: { extendedAgentCard: true }, extendedCard }), {
      log: ({ error }) => logged.push(error),
      advanced: { editCard: (card) => (card.description === 'Extended' ? { ...card, supportedInterfaces: [] } : card) },
    })
    for (const [path, version] of [
      ['extendedAgentCard', '1.0'],
      ['v1/card', '0.3'],
    ] as const) {
      expect((await get(`${served.url}${path}`, { 'a2a-version': version })).response.status).toBe(500)
      expect(String(logged.at(-1))).toContain(`at least one interface on the card of version ${version}`)
    }
  })

  it.each<[string, (card: AgentCard, version: string) => unknown, RegExp]>([
    [
      'adds an interface',
      (card) => withInterface(card, 'https://evil.example/'),
      /JSONRPC 1\.0 at https:\/\/evil\.example\/ is not served/,
    ],
    ['leaves none', (card) => ({ ...card, supportedInterfaces: [] }), /at least one interface/],
    [
      'removes all interfaces of 0.3',
      (card, version) => (version === '0.3' ? { ...card, supportedInterfaces: [] } : card),
      /at least one interface on the card of version 0\.3/,
    ],
    ['returns nothing', () => undefined, /must return a card/],
  ])('that %s prevents the server from starting', async (_, editCard, message) => {
    await expect(serve(echo(), { advanced: { editCard: editCard as (card: AgentCard) => AgentCard } })).rejects.toThrow(
      message,
    )
  })

  const withInterface = (card: AgentCard, url: string) => ({
    ...card,
    supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
  })
})

describe('the interfaces of a card', () => {
  const listed = async (options: ServeOptions) => {
    await using served = await serve(echo(), options)
    const { raw } = await cardAt(served.url)
    const interfaces = (raw as unknown as AgentCard).supportedInterfaces
    return {
      isPure: !('protocolVersion' in raw),
      names: interfaces.map((each) => `${each.protocolBinding} ${each.protocolVersion}`),
    }
  }
  const ofV1 = ['JSONRPC 1.0', 'HTTP+JSON 1.0', 'GRPC 1.0']
  const ofV0_3 = ['JSONRPC 0.3', 'HTTP+JSON 0.3', 'GRPC 0.3']

  it('are those of v1.0 and 0.3 with card v1, and only v1.0’s with dialects v1', async () => {
    expect(await listed({ advanced: { card: 'v1' } })).toEqual({ isPure: true, names: [...ofV1, ...ofV0_3] })
    expect(await listed({ dialects: ['v1'] })).toEqual({ isPure: true, names: ofV1 })
    expect(await listed({})).toEqual({ isPure: false, names: [...ofV1, ...ofV0_3] })
    expect(await listed({ dialects: ['v1'], advanced: { grpc: false } })).toEqual({
      isPure: true,
      names: ofV1.slice(0, 2),
    })
  })
})
