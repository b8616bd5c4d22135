import { describe, expect, it } from 'vitest'
import { decodeCard } from '../../dialects/v1/card.js'
import type { AgentCard, SecurityScheme } from '../../model/agent-card.js'
import { v1Card } from '../cards.fixture.js'
import { createSender } from '../guarded-fetch.js'
import { fetchWithNames, json, serveHttp } from '../http-server.fixture.js'
import type { WireEntry } from '../wire-log.js'
import { createAuthorizer, planCredentials, withCredentials } from './authorizer.js'
import type { CredentialSource, CredentialSources } from './credential.js'
import { apiKeyCredential, basicCredential, bearerCredential, certificateOf, mutualTls } from './credential.js'

const key = { apiKeySecurityScheme: { location: 'header', name: 'X-Key' } }
const http = (scheme: string) => ({ httpAuthSecurityScheme: { scheme } })

/** `asks` lists alternative requirements; each one lists the names of the schemes it needs. */
function cardWith(securitySchemes: Record<string, SecurityScheme>, asks: readonly (readonly string[])[]): AgentCard {
  const securityRequirements = asks.map((names) => ({ schemes: Object.fromEntries(names.map((name) => [name, {}])) }))
  return decodeCard(v1Card('https://agent.example', { securitySchemes, securityRequirements }))
}

async function additions(card: AgentCard, sources: CredentialSources, url = 'https://agent.example/rpc') {
  return createAuthorizer(card, sources, { origins: ['https://agent.example'] }).additionsFor(url)
}

describe('credentials from the card', () => {
  it.each<[string, SecurityScheme, CredentialSource, object]>([
    ['an API key in a header', key, apiKeyCredential('k'), { headers: { 'x-key': 'k' } }],
    [
      'an API key in the query',
      { apiKeySecurityScheme: { location: 'query', name: 'q' } },
      apiKeyCredential('k'),
      { query: { q: 'k' } },
    ],
    [
      'an API key in a cookie',
      { apiKeySecurityScheme: { location: 'cookie', name: 'c' } },
      apiKeyCredential('a b'),
      { headers: { cookie: 'c=a%20b' } },
    ],
    ['a password', http('Basic'), basicCredential('ü', 'p:w'), { headers: { authorization: 'Basic w7w6cDp3' } }],
    ['a token', http('bearer'), bearerCredential('t'), { headers: { authorization: 'Bearer t' } }],
    [
      'a token of another user',
      { openIdConnectSecurityScheme: { openIdConnectUrl: 'https://x.example' } },
      bearerCredential(async () => 't'),
      { headers: { authorization: 'Bearer t' } },
    ],
    ['a certificate', { mtlsSecurityScheme: {} }, mutualTls({ cert: 'c', key: 'k' }), { headers: {}, query: {} }],
  ])('send %s', async (_, scheme, source, expected) => {
    expect(await additions(cardWith({ s: scheme }, [['s']]), source)).toMatchObject(expected)
  })

  it.each([
    ['the Go SDK', { schemes: { token: ['read'] } }, ['read']],
    ['the protobuf', { schemes: { token: { list: ['read'] } } }, ['read']],
    ['0.3', { token: ['read'] }, ['read']],
    ['no version, with scopes as text', { schemes: { token: 'read' } }, []],
    ['no version, with other members', { token: { scopes: ['read'] } }, []],
    ['no version, with scopes of the wrong type', { schemes: { token: [7] } }, []],
  ])('are sent for a requirement in the form of %s', async (_form, requirement, scopes) => {
    const wire = v1Card('https://agent.example', { securitySchemes: { token: http('Bearer') } })
    const card = decodeCard({ ...wire, securityRequirements: [requirement] })
    expect(card.securityRequirements).toEqual([{ schemes: { token: scopes.length > 0 ? { list: scopes } : {} } }])
    expect((await additions(card, bearerCredential('t'))).headers).toEqual({ authorization: 'Bearer t' })
    // Credentials that match no requirement are an error, unlike a card without requirements.
    await expect(additions(card, apiKeyCredential('k'))).rejects.toThrow('asks for token (HTTP Bearer)')
  })

  it('satisfy the first requirement that can be met, with all of its schemes', async () => {
    const schemes = { key, basic: http('Basic'), token: http('Bearer') }
    const both = cardWith(schemes, [['key', 'token'], ['basic']])
    expect((await additions(both, [bearerCredential('t'), apiKeyCredential('k')])).headers).toEqual({
      'x-key': 'k',
      authorization: 'Bearer t',
    })
    expect((await additions(both, [apiKeyCredential('k'), basicCredential('u', 'p')])).headers).toEqual({
      authorization: 'Basic dTpw',
    })
    await expect(additions(both, apiKeyCredential('k'))).rejects.toThrow(
      'do not fit: Agent asks for key (an API key in the header X-Key) and token (HTTP Bearer), or basic (HTTP Basic)',
    )
  })

  it('can be set by scheme name', async () => {
    const schemes = { one: key, two: { apiKeySecurityScheme: { location: 'header', name: 'X-Two' } } }
    const { headers } = await additions(cardWith(schemes, [['one', 'two']]), {
      one: apiKeyCredential('1'),
      two: apiKeyCredential('2'),
    })
    expect(headers).toEqual({ 'x-key': '1', 'x-two': '2' })
    expect(
      planCredentials(cardWith({ constructor: key }, [['constructor']]), { other: apiKeyCredential('k') }),
    ).toHaveProperty('problem')
  })

  it('do not satisfy a requirement with an unknown scheme', () => {
    const card = cardWith({ key }, [['key', 'unknown']])
    expect(planCredentials(card, apiKeyCredential('k'))).toHaveProperty('problem')
  })

  it('use the default header if the card has no requirements, and are omitted if the card allows anonymous calls', async () => {
    expect((await additions(cardWith({}, []), apiKeyCredential('k'))).headers).toEqual({ 'x-api-key': 'k' })
    expect((await additions(cardWith({ key }, []), apiKeyCredential('k'))).headers).toEqual({ 'x-key': 'k' })
    expect((await additions(cardWith({ key }, [[]]), bearerCredential('t'))).headers).toEqual({})
    expect(
      await createAuthorizer(cardWith({ key }, [['key']]), undefined, {
        origins: ['https://agent.example'],
      }).additionsFor('https://agent.example'),
    ).toMatchObject({ headers: {} })
  })

  it.each(['Host', 'content-length', 'A2A-Version', 'x y', 'a\r\nb', ''])(
    'do not go into the header %j',
    async (name) => {
      const scheme = { apiKeySecurityScheme: { location: 'header', name } }
      const card = { ...cardWith({ s: key }, [['s']]), securitySchemes: { s: scheme } }
      await expect(additions(card, apiKeyCredential('k'))).rejects.toMatchObject({ failure: 'refused' })
    },
  )

  it('with line breaks are rejected, and the message does not contain them', async () => {
    const promise = additions(cardWith({ key }, [['key']]), apiKeyCredential('sec\r\nret'))
    await expect(promise).rejects.toThrow('characters that are not allowed in a header')
  })

  it('return the path of the client certificate', () => {
    expect(certificateOf([apiKeyCredential('k'), mutualTls({ cert: 'c', key: 'k' })])).toEqual({ cert: 'c', key: 'k' })
    expect(certificateOf([apiKeyCredential('k')])).toBeUndefined()
  })
})

describe('withCredentials', () => {
  const call = (url: string) => ({ method: 'POST', url, headers: { a: 'b' }, body: '{}' })

  it('sends credentials to allowed origins only', async () => {
    await using own = await serveHttp((_, response) => json(response, '1'))
    await using other = await serveHttp((_, response) => json(response, '1'))
    const schemes = { key, query: { apiKeySecurityScheme: { location: 'query', name: 'q' } }, token: http('Bearer') }
    const authorizer = createAuthorizer(
      cardWith(schemes, [['key', 'query', 'token']]),
      [apiKeyCredential('k3y'), bearerCredential('t')],
      {
        origins: [own.origin],
      },
    )
    const send = withCredentials(createSender({ namedOrigins: [own.origin] }), authorizer)
    await send(call(`${own.origin}/rpc?x=1`))
    await send(call(`${other.origin}/rpc?x=1`))
    expect(own.seen[0]).toMatchObject({
      path: '/rpc?x=1&q=k3y',
      headers: { 'x-key': 'k3y', authorization: 'Bearer t', a: 'b' },
    })
    expect(other.seen[0]?.path).toBe('/rpc?x=1')
    expect(JSON.stringify(other.seen)).not.toContain('k3y')
    expect(other.seen[0]?.headers).not.toHaveProperty('authorization')
  })

  it('drops credentials on a redirect to another port or host', async () => {
    await using thief = await serveHttp((_, response) => json(response, '1'))
    await using own = await serveHttp(({ path }, response) =>
      response
        .writeHead(302, { location: path === '/port' ? thief.origin : `http://thief.example:${thief.port}/` })
        .end(),
    )
    const origin = `http://agent.example:${own.port}`
    const authorizer = createAuthorizer(cardWith({ key }, [['key']]), apiKeyCredential('k3y'), { origins: [origin] })
    const fetch = fetchWithNames('agent.example', 'thief.example')
    const send = withCredentials(
      createSender({ namedOrigins: [origin], fetch, lookup: async () => ['8.8.8.8'], allowPrivate: true }),
      authorizer,
    )
    for (const path of ['/port', '/host']) await send({ method: 'GET', url: origin + path, headers: {} })
    expect(own.seen.map(({ headers }) => headers['x-key'])).toEqual(['k3y', 'k3y'])
    expect(thief.seen).toHaveLength(2)
    expect(JSON.stringify(thief.seen)).not.toContain('k3y')
  })

  it('omits credentials from the wire log (R-SEC-5)', async () => {
    await using own = await serveHttp(({ headers, path }, response) => json(response, { headers, path }))
    const schemes = {
      odd: { apiKeySecurityScheme: { location: 'header', name: 'X-Odd' } },
      query: { apiKeySecurityScheme: { location: 'query', name: 'q' } },
      basic: http('Basic'),
    }
    const events: WireEntry[] = []
    const authorizer = createAuthorizer(
      cardWith(schemes, [['odd', 'query', 'basic']]),
      [apiKeyCredential('s3cr3t/+ value'), basicCredential('user', 'passw0rd')],
      { origins: [own.origin] },
    )
    const send = withCredentials(
      createSender({ namedOrigins: [own.origin], wire: { binding: 'JSONRPC', onWire: (entry) => events.push(entry) } }),
      authorizer,
    )
    await send(call(own.origin))
    expect(events).toHaveLength(2)
    expect(own.seen[0]?.headers['x-odd']).toBe('s3cr3t/+ value')
    expect(JSON.stringify(events)).not.toMatch(/s3cr3t|dXNlcjpw/)
  })

  it('requests a new token once after a rejected one', async () => {
    await using own = await serveHttp(({ headers }, response) =>
      json(response, '1', {}, headers.authorization === 'Bearer 2' ? 200 : 401),
    )
    const tokens = ['1', '1', '2', '2']
    const authorizer = createAuthorizer(
      cardWith({ s: http('Bearer') }, [['s']]),
      bearerCredential(() => tokens.shift() ?? '0'),
      { origins: [own.origin] },
    )
    const send = withCredentials(createSender({ namedOrigins: [own.origin] }), authorizer)
    expect((await send(call(own.origin))).status).toBe(401) // the source returned the same token, so there is no retry
    expect((await send(call(own.origin))).status).toBe(200)
    expect(own.seen).toHaveLength(2)
  })

  it('retries at most once', async () => {
    await using own = await serveHttp((_, response) => json(response, '1', {}, 401))
    let count = 0
    const authorizer = createAuthorizer(
      cardWith({ s: http('Bearer') }, [['s']]),
      bearerCredential(() => String(count++)),
      { origins: [own.origin] },
    )
    const send = withCredentials(createSender({ namedOrigins: [own.origin] }), authorizer)
    expect((await send(call(own.origin))).status).toBe(401)
    expect(own.seen).toHaveLength(2)
  })

  it('does not retry with unchanged credentials', async () => {
    await using own = await serveHttp((_, response) => json(response, '1', {}, 401))
    const authorizer = createAuthorizer(cardWith({ key }, [['key']]), apiKeyCredential('k'), { origins: [own.origin] })
    expect(
      (await withCredentials(createSender({ namedOrigins: [own.origin] }), authorizer)(call(own.origin))).status,
    ).toBe(401)
    expect(own.seen).toHaveLength(1)
  })
})
