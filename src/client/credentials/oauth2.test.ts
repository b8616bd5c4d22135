import { describe, expect, it, vi } from 'vitest'
import type { OAuthFlows, SecurityScheme } from '../../model/agent-card.js'
import { listenForRedirect } from '../../net/node-redirect-receiver.js'
import { createSender } from '../guarded-fetch.js'
import { json, serveHttp } from '../http-server.fixture.js'
import { systemTiming } from '../retry.js'
import type { WireEntry } from '../wire-log.js'
import { serveTokens } from './authorization-server.fixture.js'
import type { CredentialContext, SchemeNeed } from './credential.js'
import { createTokenStore, type OAuth2Options, oauth2 } from './oauth2.js'

const client = { clientId: 'me', clientSecret: 's3cret' }

function needOf(flows: OAuthFlows, scopes: readonly string[] = ['read', 'write']): SchemeNeed {
  return { name: 'oauth', scheme: { oauth2SecurityScheme: { flows } }, scopes }
}
const credentialsFlow = (origin: string): OAuthFlows => ({
  clientCredentials: { tokenUrl: `${origin}/token`, scopes: {} },
})

/** The agent and the authorization server share the host. */
const context = (rest: Partial<CredentialContext> = {}): CredentialContext => ({
  origin: 'http://127.0.0.1:9',
  sender: (namedOrigins) => createSender({ namedOrigins }),
  ...rest,
})

describe('oauth2', () => {
  it('requests a token with client credentials for the scopes of the card', async () => {
    await using server = await serveTokens()
    const source = oauth2(client)
    const need = needOf(credentialsFlow(server.origin))
    expect(source.fits(need.scheme)).toBe(true)
    expect(await source.get(need, context())).toEqual({ headers: { authorization: 'Bearer token-0' } })
    expect(Object.fromEntries(server.grants[0] ?? [])).toMatchObject({
      grant_type: 'client_credentials',
      scope: 'read write',
    })
  })

  it('uses the endpoints of its own flow when the card declares several flows', async () => {
    await using server = await serveTokens()
    const elsewhere = { authorizationUrl: 'http://127.0.0.1:9/login', tokenUrl: 'http://127.0.0.1:9/token', scopes: {} }
    const need = needOf({ authorizationCode: elsewhere, ...credentialsFlow(server.origin) })
    expect(await oauth2(client).get(need, context())).toEqual({ headers: { authorization: 'Bearer token-0' } })
    expect(server.grants[0]?.get('grant_type')).toBe('client_credentials')
  })

  it('sends one token request for concurrent callers, and caches the token', async () => {
    await using server = await serveTokens({ delayMs: 30 })
    const source = oauth2(client)
    const need = needOf(credentialsFlow(server.origin))
    const got = await Promise.all(Array.from({ length: 20 }, () => source.get(need, context())))
    expect(new Set(got.map(({ headers }) => headers?.authorization))).toEqual(new Set(['Bearer token-0']))
    await source.get(need, context())
    expect(server.grants).toHaveLength(1)
  })

  it('does not share tokens between agents', async () => {
    await using server = await serveTokens()
    const source = oauth2({ ...client, tokenUrl: `${server.origin}/token` })
    const need = needOf(credentialsFlow(server.origin))
    const other = await source.get(need, context({ origin: 'http://127.0.0.1:10' }))
    expect(other).not.toEqual(await source.get(need, context()))
  })

  it('refreshes a token before it expires, and requests a new one if the refresh is rejected', async () => {
    await using server = await serveTokens({ expiresIn: 100, hasRefreshTokens: true })
    let nowMs = 0
    const source = oauth2({ ...client, now: () => nowMs })
    const token = async () =>
      (await source.get(needOf(credentialsFlow(server.origin)), context())).headers?.authorization
    expect(await token()).toBe('Bearer token-0')
    nowMs = 69_000
    expect(await token()).toBe('Bearer token-0')
    nowMs = 71_000
    expect(await token()).toBe('Bearer token-1')
    server.revokeRefreshTokens()
    nowMs = 300_000
    expect(await token()).toBe('Bearer token-2')
    expect(server.grants.map((grant) => grant.get('grant_type'))).toEqual([
      'client_credentials',
      'refresh_token',
      'refresh_token',
      'client_credentials',
    ])
  })

  it('drops a rejected token, but keeps a newer token that another call requested', async () => {
    await using server = await serveTokens({ hasRefreshTokens: true })
    const store = createTokenStore()
    const source = oauth2({ ...client, store })
    const need = needOf(credentialsFlow(server.origin))
    const first = await source.get(need, context())
    expect(await source.refused?.(need, first, context())).toBe(true)
    const second = await source.get(need, context())
    expect(second.headers?.authorization).toBe('Bearer token-1')
    expect(server.grants[1]?.get('grant_type')).toBe('refresh_token')
    expect(await source.refused?.(need, first, context())).toBe(true)
    expect(await source.get(need, context())).toEqual(second)
  })

  it('shows the device code and polls at intervals of at least one second', async () => {
    await using server = await serveTokens() // announces a polling interval of 20 ms
    const waits: number[] = []
    using _ = vi.spyOn(systemTiming, 'wait').mockImplementation(async (ms) => {
      if (waits.push(ms) === 2) server.approve()
    })
    const codes: string[] = []
    const source = oauth2({
      clientId: 'me',
      showCode: ({ userCode, verificationUri }) => void codes.push(`${userCode} ${verificationUri}`),
    })
    const flows = {
      deviceCode: { deviceAuthorizationUrl: `${server.origin}/device`, tokenUrl: `${server.origin}/token`, scopes: {} },
    }
    expect(await source.get(needOf(flows), context())).toEqual({ headers: { authorization: 'Bearer token-0' } })
    expect(codes).toEqual([`ABCD ${server.origin}/enter`])
    expect(server.grants).toHaveLength(2)
    expect(waits).toEqual([1000, 1000])
  })

  it('stops polling for the device code when the caller aborts', async () => {
    await using server = await serveTokens()
    const controller = new AbortController()
    const source = oauth2({ clientId: 'me', showCode: () => controller.abort() })
    const flows = {
      deviceCode: { deviceAuthorizationUrl: `${server.origin}/device`, tokenUrl: `${server.origin}/token`, scopes: {} },
    }
    const promise = source.get(needOf(flows), context({ signal: controller.signal }))
    await expect(promise).rejects.toMatchObject({ name: 'TransportError', failure: 'aborted' })
    expect(server.grants).toEqual([])
  })

  describe('with an authorization code', () => {
    const flowsOf = (origin: string) => ({
      authorizationCode: {
        authorizationUrl: `${origin}/authorize`,
        tokenUrl: `${origin}/token`,
        scopes: {},
        pkceRequired: true,
      },
    })
    /** A browser whose user grants every request. */
    const open = async (url: string) => void (await fetch(url))
    const options: OAuth2Options = { clientId: 'me', open, receiver: () => listenForRedirect() }

    it('logs in with a browser and PKCE', async () => {
      await using server = await serveTokens()
      const source = oauth2(options)
      expect(await source.get(needOf(flowsOf(server.origin)), context())).toEqual({
        headers: { authorization: 'Bearer token-0' },
      })
      const asked = new URL(server.seen[0]?.path ?? '', server.origin).searchParams
      expect(Object.fromEntries(asked)).toMatchObject({
        response_type: 'code',
        client_id: 'me',
        code_challenge_method: 'S256',
        scope: 'read write',
      })
      expect(server.grants[0]?.get('code_verifier')).toMatch(/^[\w-]{43}$/)
    })

    it('rejects a callback with an unknown state', async () => {
      await using server = await serveTokens()
      const forge = async (url: string) => {
        const back = new URL(new URL(url).searchParams.get('redirect_uri') ?? '')
        back.search = '?code=stolen&state=another'
        await fetch(back)
      }
      const source = oauth2({ ...options, open: forge })
      await expect(source.get(needOf(flowsOf(server.origin)), context())).rejects.toMatchObject({
        code: 'UNAUTHENTICATED',
      })
      expect(server.grants).toEqual([])
    })
  })

  describe('and OpenID Connect', () => {
    const need = (url: string): SchemeNeed => ({
      name: 'oidc',
      scopes: [],
      scheme: { openIdConnectSecurityScheme: { openIdConnectUrl: url } },
    })

    it('reads the token endpoint from the provider metadata', async () => {
      await using server = await serveTokens()
      const got = await oauth2(client).get(need(`${server.origin}/.well-known/openid-configuration`), context())
      expect(got).toEqual({ headers: { authorization: 'Bearer token-0' } })
    })

    it('rejects metadata of another issuer', async () => {
      await using server = await serveTokens({ issuer: () => 'https://login.example' })
      const promise = oauth2(client).get(need(`${server.origin}/.well-known/openid-configuration`), context())
      await expect(promise).rejects.toThrow('belong to another issuer')
      await expect(
        oauth2({ ...client, issuer: server.origin }).get(need('https://x.example'), context()),
      ).rejects.toThrow('belong to another issuer')
    })
  })

  describe('does not send the client secret to servers that only the card names', () => {
    const secret = async (scheme: SecurityScheme, origin: string, options: Partial<OAuth2Options> = {}) =>
      oauth2({ ...client, ...options }).get({ name: 's', scheme, scopes: [] }, context({ origin }))

    it.each([
      ['the token endpoint', (url: string) => ({ oauth2SecurityScheme: { flows: credentialsFlow(url) } })],
      [
        'the metadata',
        (url: string) => ({
          oauth2SecurityScheme: {
            flows: credentialsFlow('https://agent.example'),
            oauth2MetadataUrl: `${url}/.well-known/openid-configuration`,
          },
        }),
      ],
      [
        'the discovery',
        (url: string) => ({
          openIdConnectSecurityScheme: { openIdConnectUrl: `${url}/.well-known/openid-configuration` },
        }),
      ],
    ])('%s', async (_, schemeAt) => {
      await using server = await serveTokens()
      await expect(secret(schemeAt(server.origin), 'https://agent.example')).rejects.toMatchObject({
        failure: 'refused',
      })
      expect(server.seen).toEqual([])
      // The user can allow the server.
      await secret(schemeAt(server.origin), 'https://agent.example', { allowedOrigins: [server.origin] })
      await secret(schemeAt('https://thief.example'), 'https://agent.example', { issuer: server.origin })
      expect(server.tokens).toHaveLength(2)
    })
  })

  describe('does not send the code of one server to another', () => {
    const need = (scheme: SecurityScheme): SchemeNeed => ({ name: 's', scheme, scopes: [] })
    /** A local agent. The provider has the same address under another host name. */
    const provider = 'https://login.example'
    const mixes: [string, (origin: string) => object][] = [
      ['people', (origin) => ({ authorization_endpoint: `${provider}/authorize`, token_endpoint: `${origin}/token` })],
      ['devices', (origin) => ({ device_authorization_endpoint: `${provider}/d`, token_endpoint: `${origin}/token` })],
      ['tokens', (origin) => ({ authorization_endpoint: `${origin}/authorize`, token_endpoint: `${provider}/token` })],
      ['nothing that is an address', () => ({ token_endpoint: { href: 1 } })],
    ]
    const opened: string[] = []
    const options: OAuth2Options = {
      ...client,
      open: (url) => void opened.push(url),
      receiver: () => listenForRedirect(),
      showCode: () => undefined,
    }

    it.each(mixes)('if the metadata at the agent’s host name another server for %s', async (_, endpoints) => {
      await using agent = await serveHttp((_seen, response) =>
        json(response, { issuer: agent.origin, ...endpoints(agent.origin) }),
      )
      const scheme = { openIdConnectSecurityScheme: { openIdConnectUrl: `${agent.origin}/.well-known/x` } }
      for (const flow of ['authorizationCode', 'deviceCode', 'clientCredentials'] as const)
        for (const allowedOrigins of [[], [provider]])
          await expect(oauth2({ ...options, flow, allowedOrigins }).get(need(scheme), context())).rejects.toMatchObject(
            { failure: 'refused' },
          )
      expect(opened).toEqual([])
      expect(agent.seen.map(({ method }) => method)).not.toContain('POST')
    })

    it('if the card names another server', async () => {
      const flows = {
        authorizationCode: {
          authorizationUrl: `${provider}/authorize`,
          tokenUrl: 'http://127.0.0.1:9/token',
          scopes: {},
        },
      }
      const source = oauth2({ ...options, allowedOrigins: [provider] })
      await expect(source.get(needOf(flows), context())).rejects.toMatchObject({ failure: 'refused' })
      expect(opened).toEqual([])
    })
  })

  it('rejects metadata from a redirect', async () => {
    await using evil = await serveTokens({ issuer: () => own.origin })
    await using own = await serveHttp((_, response) =>
      response.writeHead(302, { location: `${evil.origin}/.well-known/openid-configuration` }).end(),
    )
    const scheme = { openIdConnectSecurityScheme: { openIdConnectUrl: `${own.origin}/go?to=evil` } }
    await expect(oauth2(client).get({ name: 's', scheme, scopes: [] }, context())).rejects.toThrow(
      'belong to another issuer',
    )
    expect(evil.tokens).toEqual([])
  })

  it('reports the error of the authorization server', async () => {
    await using server = await serveTokens()
    const promise = oauth2({ ...client, clientSecret: 'wrong' }).get(needOf(credentialsFlow(server.origin)), context())
    await expect(promise).rejects.toThrow(`No token from ${server.origin}: invalid_client (for a test)`)
  })

  it('omits secrets and tokens from the wire log', async () => {
    await using server = await serveTokens({ hasRefreshTokens: true })
    const events: WireEntry[] = []
    const sender = (namedOrigins: readonly string[]) =>
      createSender({ namedOrigins, wire: { binding: 'JSONRPC', onWire: (entry) => events.push(entry) } })
    await oauth2(client).get(needOf(credentialsFlow(server.origin)), context({ sender }))
    expect(events).toHaveLength(2)
    expect(JSON.stringify(events)).not.toMatch(/s3cret|token-0|refresh-1/)
  })

  it('matches only the schemes that its options support', () => {
    const flows = needOf(credentialsFlow('https://agent.example')).scheme
    expect(oauth2({ clientId: 'me' }).fits(flows)).toBe(false)
    expect(oauth2(client).fits({ httpAuthSecurityScheme: { scheme: 'Bearer' } })).toBe(false)
    expect(
      oauth2({ ...client, issuer: 'https://x.example' }).fits({ httpAuthSecurityScheme: { scheme: 'Bearer' } }),
    ).toBe(true)
    expect(oauth2(client).fits({ mtlsSecurityScheme: {} })).toBe(false)
    expect(oauth2({ ...client, flow: 'deviceCode' }).fits(flows)).toBe(false)
  })
})
