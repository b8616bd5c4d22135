/** Hostile agents, pages and webhooks, over real sockets. */
import { get } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { json, serveHttp } from '../client/http-server.fixture.js'
import { askAt, beginAt, ours } from './console.fixture.js'
import type { InboxDelivery, NamedAgent } from './console-api.js'
import { type ServedConsole, serveConsole } from './create-console.js'

const megabyte = 1024 * 1024

let served: ServedConsole
beforeAll(async () => {
  served = await serveConsole()
})
afterAll(() => served.close())

async function visitor() {
  const { cookie, session } = await beginAt(served.url)
  const headers = { ...ours, cookie, 'a2a-version': '1.0' }
  const ask = (method: string, path: string, body?: unknown) =>
    askAt(served.url, `/console/${path}`, { method, headers, body })
  return { cookie, session, ask }
}

const card = (origin: string, more: object = {}) => ({
  name: 'Hostile',
  description: '',
  version: '1',
  capabilities: {},
  defaultInputModes: [],
  defaultOutputModes: [],
  skills: [],
  supportedInterfaces: [{ url: origin, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
  ...more,
})

describe('a hostile agent', () => {
  it.each(['http://169.254.169.254/latest/', 'http://10.0.0.1/', 'http://[fe80::1]/'])(
    'cannot make the console call %s',
    async (location) => {
      await using agent = await serveHttp((_, response) => response.writeHead(302, { location }).end())
      const { ask } = await visitor()
      await ask('POST', 'api/agents', { ref: agent.origin })
      const answer = await ask('GET', `api/card?${new URLSearchParams({ ref: agent.origin })}`)
      expect([answer.status, answer.text]).toEqual([422, expect.stringContaining('must not be reached from here')])
    },
  )

  it('cannot make the browser open a URL that is not a web page', async () => {
    await using agent = await serveHttp(({ path }, response) => {
      const origin = `http://127.0.0.1:${agent.port}`
      if (path.includes('openid'))
        return json(response, {
          issuer: origin,
          authorization_endpoint: 'javascript:alert(1)',
          token_endpoint: `${origin}/token`,
        })
      const openIdConnectSecurityScheme = { openIdConnectUrl: `${origin}/.well-known/openid-configuration` }
      return json(
        response,
        card(origin, {
          securitySchemes: { login: { openIdConnectSecurityScheme } },
          securityRequirements: [{ schemes: { login: {} } }],
        }),
      )
    })
    const { ask } = await visitor()
    const ref = agent.origin
    await ask('POST', 'api/agents', { ref })
    const credential = { kind: 'oauth2', clientId: 'me', flow: 'authorizationCode', issuer: agent.origin }
    await ask('PUT', 'api/trust', { ref, scheme: 'login', credential })
    await ask('POST', 'api/login', { ref })
    const { agents } = JSON.parse((await ask('GET', 'api/agents')).text) as { agents: NamedAgent[] }
    expect(agents.find((each) => each.ref === ref)?.login).toEqual({
      state: 'refused',
      error: 'The URL of the authorization server is not an http or https URL',
    })
  })

  it('receives only its own credentials, not those of another agent at the same host', async () => {
    await using own = await serveHttp((_, response) => json(response, card(own.origin)))
    await using other = await serveHttp((_, response) => json(response, card(own.origin)))
    const { ask } = await visitor()
    for (const ref of [own.origin, other.origin]) await ask('POST', 'api/agents', { ref })
    await ask('PUT', 'api/trust', { ref: own.origin, credential: { kind: 'bearer', token: 'for-one-alone' } })
    for (const ref of [own.origin, other.origin]) await ask('POST', 'api/login', { ref })
    const askedWith = (seen: readonly { readonly headers: object }[]) =>
      JSON.stringify(seen).split('for-one-alone').length
    expect(askedWith(own.seen)).toBe(2)
    expect(askedWith(other.seen)).toBe(1)
  })
})

describe('a hostile request', () => {
  it.each([
    ['POST', 'api/agents', 3, 413],
    ['POST', 'api/session', 1, 200], // it has a session already, so the console ignores the body
    ['PUT', 'api/trust', 3, 413],
  ])('%s %s with %i MB is not read to its end', async (method, path, megabytes, status) => {
    const { ask } = await visitor()
    expect((await ask(method, path, { ref: 'x'.repeat(megabytes * megabyte) })).status).toBe(status)
  })

  it('gets 404 for an invalid path or an unnamed agent', async () => {
    const { ask } = await visitor()
    for (const path of [
      'a2a/%zz/auto/auto',
      'a2a/',
      'a2a/http%3A%2F%2Flocalhost%3A1/auto/auto',
      'api/../../etc',
      'api/constructor',
    ])
      expect((await ask('POST', path, {})).status).toBe(404)
  })

  it('with a line break in a credential is refused, and the credential is not repeated', async () => {
    const { ask } = await visitor()
    const ref = 'http://localhost:1'
    await ask('POST', 'api/agents', { ref })
    for (const credential of [
      { kind: 'header', name: 'x', value: 'se\r\ncret' },
      { kind: 'header', name: 'x\r\ny', value: 'secret' },
      { kind: 'bearer', token: 'sec\nret' },
    ]) {
      const answer = await ask('PUT', 'api/trust', { ref, credential })
      expect([answer.status, answer.text]).toEqual([400, '{"error":"Invalid credential"}'])
    }
  })
})

describe('limits', () => {
  it('of deliveries: the console keeps the newest, up to a number of bytes', async () => {
    const { session, ask } = await visitor()
    const statusUpdate = { taskId: 't', contextId: 'c', status: { state: 'TASK_STATE_WORKING' } }
    const { pathname } = new URL(session.receiver)
    const deliver = (id: number, padding: number) =>
      askAt(served.url, pathname, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-a2a-delivery-id': String(id) },
        body: { statusUpdate, padding: 'x'.repeat(padding) },
      })
    expect((await deliver(0, 2 * megabyte)).status).toBe(413)
    for (let id = 1; id <= 20; id++) expect((await deliver(id, megabyte - 1000)).status).toBe(200)
    const { deliveries } = JSON.parse((await ask('GET', 'api/deliveries')).text) as { deliveries: InboxDelivery[] }
    expect(deliveries.map(({ id }) => Number(id))).toEqual([20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5])
  })

  it('of tabs: the console serves the newest', async () => {
    const { cookie, ask } = await visitor()
    const { hostname, port } = new URL(served.url)
    let open = 0
    const tabs = Array.from({ length: 300 }, () => {
      const tab = get({ hostname, port, path: '/console/api/tab', headers: { cookie }, agent: false }, (response) => {
        open += 1
        response.resume().on('close', () => {
          open -= 1
        })
      })
      return tab.on('error', () => undefined)
    })
    await expect.poll(() => open, { timeout: 20_000 }).toBe(50)
    expect((await ask('GET', 'api/agents')).status).toBe(200)
    for (const tab of tabs) tab.destroy()
  })

  it('of sessions: the console evicts those without open pages', async () => {
    const first = await visitor()
    for (let count = 0; count < 30; count++) await beginAt(served.url)
    expect((await first.ask('GET', 'api/agents')).status).toBe(401)
    expect((await (await visitor()).ask('GET', 'api/agents')).status).toBe(200)
  })
})
