/** Credentials for agents, over real sockets: set by scheme, by the operator of the console, or by a login. */
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { createAuthority } from '../../test/auth/authority.js'
import { audience, type OpenIdProvider, openIdProvider } from '../../test/auth/openid-provider.js'
import { eventually } from '../../test/hostile/waiting.js'
import { allOf, apiKey, basic, mtls, oidc } from '../auth/index.js'
import { v1Card } from '../client/cards.fixture.js'
import { apiKeyCredential, mutualTls } from '../client/credentials/credential.js'
import { json, serveHttp } from '../client/http-server.fixture.js'
import { type Served, serve } from '../server/serve.js'
import { echoAgent } from '../testing/echo-agent.js'
import { askAt, beginAt, ours } from './console.fixture.js'
import { emptyCard, type LoginView, type NamedAgent } from './console-api.js'
import { type ServedConsole, serveConsole } from './create-console.js'

/** A minimal browser with a session. */
class Visitor {
  readonly #url: string
  readonly #cookie: string

  constructor(url: string, cookie: string) {
    this.#url = url
    this.#cookie = cookie
  }

  static async at({ url }: ServedConsole): Promise<Visitor> {
    return new Visitor(url, (await beginAt(url)).cookie)
  }

  async ask(method: string, path: string, body?: unknown) {
    const headers = { ...ours, cookie: this.#cookie, 'a2a-version': '1.0' }
    return await askAt(this.#url, `/console/${path}`, { method, headers, body })
  }

  give(ref: string, scheme: string, credential: unknown) {
    return this.ask('PUT', 'api/trust', { ref, scheme, credential })
  }

  async agent(ref: string): Promise<NamedAgent | undefined> {
    const { agents } = JSON.parse((await this.ask('GET', 'api/agents')).text) as { agents: NamedAgent[] }
    return agents.find((each) => each.ref === ref)
  }

  /** Checks the given credentials. */
  async login(ref: string): Promise<{ view: LoginView | undefined; browser: string }> {
    const answer = await this.ask('POST', 'api/login', { ref })
    const [cookie = ''] = answer.headers['set-cookie'] ?? []
    return { view: (await this.agent(ref))?.login, browser: cookie.split(';')[0] ?? '' }
  }

  async says(ref: string, text: string, way = 'auto/auto'): Promise<unknown> {
    const params = { message: { messageId: '1', role: 'ROLE_USER', parts: [{ text }] } }
    const body = { jsonrpc: '2.0', id: 1, method: 'SendMessage', params }
    const answer = await this.ask('POST', `a2a/${encodeURIComponent(ref)}/${way}`, body)
    return JSON.parse(answer.text)
  }
}

const answered = { result: { task: { status: { state: 'TASK_STATE_COMPLETED' } } } }

describe('credentials of an agent', () => {
  it('are set for each scheme of its card, and checked', async () => {
    const both = allOf(apiKey('one', { scheme: 'first' }), apiKey('two', { scheme: 'second', name: 'X-Second' }))
    const agent = await serve(echoAgent, { auth: [both] })
    await using served = await serveConsole({ agents: [agent.url] })
    const visitor = await Visitor.at(served)
    await visitor.give(agent.url, 'first', { kind: 'apiKey', key: 'one' })
    expect((await visitor.login(agent.url)).view).toMatchObject({ state: 'refused' })
    await visitor.give(agent.url, 'second', { kind: 'apiKey', key: 'wrong' })
    expect((await visitor.login(agent.url)).view).toMatchObject({ state: 'refused' })
    await visitor.give(agent.url, 'second', { kind: 'apiKey', key: 'two' })
    expect((await visitor.login(agent.url)).view).toEqual({ state: 'accepted' })
    expect(await visitor.says(agent.url, 'hello')).toMatchObject(answered)
    expect((await visitor.agent(agent.url))?.credentials).toEqual({ first: 'apiKey', second: 'apiKey' })
    await visitor.give(agent.url, 'first', null)
    expect(await visitor.says(agent.url, 'hello')).toHaveProperty('error')
    await agent.close({ deadlineMs: 0 })
  })

  it('are sent for a protected card', async () => {
    const agent = await serve(echoAgent, { auth: [apiKey('open sesame')], advanced: { protectCard: true } })
    await using served = await serveConsole({
      agents: [agent.url],
      credentials: { [agent.url]: apiKeyCredential('open sesame') },
    })
    const visitor = await Visitor.at(served)
    const card = await visitor.ask('GET', `api/card?${new URLSearchParams({ ref: agent.url })}`)
    expect(JSON.parse(card.text)).toMatchObject({
      card: { name: 'Echo' },
      unversioned: { preferredTransport: 'JSONRPC' },
    })
    expect(await visitor.says(agent.url, 'hello')).toMatchObject(answered)
    await agent.close({ deadlineMs: 0 })
  })

  it('are sent for a card that is refused with 403', async () => {
    await using agent = await serveHttp(({ headers }, response) =>
      headers['x-api-key'] === 'open sesame' ? json(response, v1Card(agent.origin)) : json(response, {}, {}, 403),
    )
    await using served = await serveConsole({
      agents: [agent.origin],
      credentials: { [agent.origin]: apiKeyCredential('open sesame') },
    })
    const visitor = await Visitor.at(served)
    const card = await visitor.ask('GET', `api/card?${new URLSearchParams({ ref: agent.origin })}`)
    expect(JSON.parse(card.text)).toMatchObject({ raw: v1Card(agent.origin), unversioned: v1Card(agent.origin) })
  })

  it('of the operator are used for the agents named at start, and are not shown', async () => {
    const agent = await serve(echoAgent, { auth: [basic({ alice: 'correct horse' }), apiKey('open sesame')] })
    const alias = agent.url.replace('localhost', '127.0.0.1')
    const credentials = { [agent.url]: apiKeyCredential('open sesame'), [alias]: apiKeyCredential('open sesame') }
    await using served = await serveConsole({ agents: [agent.url], credentials })
    const visitor = await Visitor.at(served)
    expect(await visitor.says(agent.url, 'hello')).toMatchObject(answered)
    expect(await visitor.agent(agent.url)).toMatchObject({ hasOwnCredential: true })
    await visitor.ask('POST', 'api/agents', { ref: alias })
    expect(await visitor.says(alias, 'hello')).toHaveProperty('error')
    expect((await visitor.ask('GET', 'api/agents')).text).not.toContain('sesame')
    await agent.close({ deadlineMs: 0 })
  })

  it('can be a certificate, over HTTP and gRPC, which is not sent to pasted agents', async () => {
    const authority = await createAuthority('Ours')
    const server = await authority.issue({ name: 'CN=localhost', altNames: [{ type: 'ip', value: '127.0.0.1' }] })
    const certificate = mutualTls({ ...(await authority.issue({ name: 'CN=alice' })), ca: authority.ca })
    const agent = await serve(echoAgent, { tls: { ...server, ca: authority.ca }, auth: [mtls()] })
    await using served = await serveConsole({ agents: [agent.url], credentials: { [agent.url]: certificate } })
    const visitor = await Visitor.at(served)
    const card = await visitor.ask('GET', `api/card?${new URLSearchParams({ ref: agent.url })}`)
    expect(JSON.parse(card.text)).toMatchObject({ report: { isValid: true }, unversioned: { name: 'Echo' } })
    for (const way of ['v1/JSONRPC', 'v1/GRPC'])
      expect(await visitor.says(agent.url, 'hello', way)).toMatchObject(answered)
    const pasted = `${agent.url}.well-known/agent-card.json`
    await visitor.ask('POST', 'api/agents', { ref: pasted })
    expect(await visitor.says(pasted, 'hello')).toHaveProperty('error')
    await agent.close({ deadlineMs: 0 })
  })

  it('are limited in number: the console rejects one beyond the limit and keeps the others', async () => {
    const ref = 'http://localhost:1'
    await using served = await serveConsole({ agents: [ref] })
    const visitor = await Visitor.at(served)
    const give = (scheme: number) => visitor.give(ref, String(scheme), { kind: 'bearer', token: 'x' })
    for (let scheme = 0; scheme < 20; scheme++) expect((await give(scheme)).status).toBe(200)
    const refused = await give(20)
    expect([refused.status, refused.text]).toEqual([422, expect.stringContaining('remove one first')])
    expect((await give(0)).status).toBe(200)
    expect(Object.keys((await visitor.agent(ref))?.credentials ?? {})).toHaveLength(20)
  })

  it.each([
    undefined,
    'x',
    { kind: 'constructor' },
    { kind: 'bearer' },
    { kind: 'basic', user: 'u', password: 1 },
    { kind: 'oauth2', clientId: 'x', flow: 'implicit' },
  ])('are rejected if invalid: %j', async (credential) => {
    await using served = await serveConsole({ agents: ['http://localhost:1'] })
    const visitor = await Visitor.at(served)
    const answer = await visitor.give('http://localhost:1', '', credential)
    expect(answer.status).toBe(credential === undefined ? 200 : 400)
    expect((await visitor.agent('http://localhost:1'))?.credentials).toBeUndefined()
  })
})

describe('a check of credentials', () => {
  it.each([
    ['fails', { error: { code: -32603, message: 'Broken' } }],
    ['knows no such method', { error: { code: -32601, message: 'Pardon?' } }],
    ['answers nothing that can be read', { result: 7 }],
  ])('is inconclusive if the agent %s', async (_what, answer) => {
    await using agent = await serveHttp(({ method, body }, response) => {
      const { id = null } = method === 'POST' ? (JSON.parse(body) as { id?: unknown }) : {}
      const supportedInterfaces = [{ url: agent.origin, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }]
      json(
        response,
        method === 'POST'
          ? { jsonrpc: '2.0', id, ...answer }
          : { ...emptyCard, name: 'Strange', version: '1', supportedInterfaces },
      )
    })
    await using served = await serveConsole({ agents: [agent.origin] })
    const visitor = await Visitor.at(served)
    await visitor.give(agent.origin, '', { kind: 'bearer', token: 'anything' })
    expect((await visitor.login(agent.origin)).view).toEqual({
      state: 'refused',
      error: expect.stringMatching(/^The credentials could not be tested: /),
    })
  })
})

describe('a login at an authorization server', () => {
  let provider: OpenIdProvider
  let agent: Served
  let served: ServedConsole
  beforeAll(async () => {
    // The provider logs that it is not a production system.
    for (const level of ['info', 'warn'] as const) vi.spyOn(console, level).mockImplementation(() => undefined)
    served = await serveConsole()
    const redirectUris = [`${new URL(served.url).origin}/console/oauth/callback`]
    provider = await openIdProvider({ redirectUris })
    agent = await serve(echoAgent, { auth: [oidc(provider.issuer, { audience })] })
  })
  afterAll(async () => {
    await served.close()
    await agent.close({ deadlineMs: 0 })
    await provider[Symbol.asyncDispose]()
  })

  const visit = async () => {
    const visitor = await Visitor.at(served)
    await visitor.ask('POST', 'api/agents', { ref: agent.url })
    return visitor
  }

  it('with a client secret needs no user', async () => {
    const visitor = await visit()
    const client = { kind: 'oauth2', clientId: 'alice', clientSecret: 'secret-of-alice', flow: 'clientCredentials' }
    await visitor.give(agent.url, 'oidc', { ...client, clientSecret: 'wrong' })
    expect((await visitor.login(agent.url)).view).toMatchObject({
      state: 'refused',
      error: expect.stringMatching(/No token from/),
    })
    await visitor.give(agent.url, 'oidc', client)
    expect((await visitor.login(agent.url)).view).toEqual({ state: 'accepted' })
    expect(await visitor.says(agent.url, 'hello')).toMatchObject(answered)
    const calls = await visitor.ask('GET', 'api/calls')
    expect(calls.text + (await visitor.ask('GET', 'api/agents')).text).not.toMatch(/secret-of|eyJ/)
  })

  it('does not redirect the browser before the user starts the login', async () => {
    const visitor = await visit()
    await visitor.give(agent.url, 'oidc', { kind: 'oauth2', clientId: 'web', flow: 'authorizationCode' })
    expect(await visitor.says(agent.url, 'hello')).toMatchObject({
      error: { message: expect.stringMatching(/A login is required/) },
    })
  })

  it('continues only in the browser that started it', async () => {
    const visitor = await visit()
    await visitor.give(agent.url, 'oidc', { kind: 'oauth2', clientId: 'web', flow: 'authorizationCode' })
    const { view, browser } = await visitor.login(agent.url)
    const url = new URL(view?.state === 'open' ? view.url : '')
    expect(url.origin).toBe(provider.issuer)
    expect(url.searchParams.get('code_challenge_method')).toBe('S256')
    const state = url.searchParams.get('state') ?? ''
    const back = (asked: string, cookie: string, host?: string) =>
      askAt(served.url, `/console/oauth/callback?state=${asked}&code=x&iss=${encodeURIComponent(provider.issuer)}`, {
        headers: { cookie, 'sec-fetch-site': 'cross-site', ...(host !== undefined && { host }) },
      })
    expect((await back('guessed', browser)).status).toBe(400)
    expect((await back(state, '')).status).toBe(400)
    expect((await back(state, browser.replace(/=.*/, '=another'))).status).toBe(400)
    expect((await back(state, browser, 'evil.example')).status).toBe(403)
    expect((await visitor.agent(agent.url))?.login).toMatchObject({ state: 'open' })
    const arrived = await back(state, browser)
    expect([arrived.status, arrived.headers.location]).toEqual([
      303,
      `/#/agents/${encodeURIComponent(agent.url)}?tab=access`,
    ])
    // The provider did not issue this code.
    expect((await visitor.agent(agent.url))?.login).toMatchObject({
      state: 'refused',
      error: expect.stringMatching(/invalid_grant/),
    })
    expect((await back(state, browser)).status).toBe(400)
  })

  it('can run for two agents at once in one browser', async () => {
    const other = `${agent.url}.well-known/agent-card.json`
    const visitor = await visit()
    await visitor.ask('POST', 'api/agents', { ref: other })
    const begun: string[] = []
    for (const ref of [agent.url, other]) {
      await visitor.give(ref, 'oidc', { kind: 'oauth2', clientId: 'web', flow: 'authorizationCode' })
      const { view, browser } = await visitor.login(ref)
      const state = new URL(view?.state === 'open' ? view.url : '').searchParams.get('state') ?? ''
      begun.push(state, browser)
    }
    const [first = '', , , browserNow = ''] = begun
    const back = `/console/oauth/callback?state=${first}&code=x&iss=${encodeURIComponent(provider.issuer)}`
    expect((await askAt(served.url, back, { headers: { cookie: browserNow } })).status).toBe(303)
    const another = await visit()
    await another.give(agent.url, 'oidc', { kind: 'oauth2', clientId: 'web', flow: 'authorizationCode' })
    expect((await another.login(agent.url)).browser).not.toBe(browserNow)
  })

  it('with a device code shows the code', async () => {
    const visitor = await visit()
    await visitor.give(agent.url, 'oidc', { kind: 'oauth2', clientId: 'web', flow: 'deviceCode' })
    const { view } = await visitor.login(agent.url)
    expect(view).toMatchObject({ state: 'code', code: { userCode: expect.any(String) } })
    // Deleting the credential ends the pending login.
    await visitor.give(agent.url, 'oidc', null)
    await eventually(5000, 'the login to be removed', async () => !(await visitor.agent(agent.url))?.login)
  })
})
