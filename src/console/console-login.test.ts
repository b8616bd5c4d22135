/** Access to a console with authentication, over real sockets. */
import { request as httpsRequest } from 'node:https'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { createAuthority } from '../../test/auth/authority.js'
import { type AuthScheme, allOf, apiKey, basic, bearer, mtls, type Requirement } from '../auth/index.js'
import { askAt, beginAt, ours } from './console.fixture.js'
import type { SessionRefusal } from './console-api.js'
import { createConsole, serveConsole } from './create-console.js'

const enter = (to: string, body: unknown, headers: Readonly<Record<string, string>> = {}) =>
  askAt(to, '/console/api/session', { method: 'POST', headers: { ...ours, ...headers }, body })

const key = { kind: 'apiKey', key: 'open sesame' }
const password = { kind: 'basic', user: 'alice', password: 'correct horse' }

describe('a console with auth', () => {
  it.each<[string, AuthScheme | Requirement, object, object]>([
    ['a key in a header', apiKey('open sesame'), { apiKey: key }, { apiKey: { ...key, key: 'open' } }],
    [
      'a key in the query',
      apiKey('open sesame', { location: 'query', name: 'k' }),
      { apiKey: key },
      { apiKey: { ...key, key: 'open' } },
    ],
    [
      'a key in a cookie',
      apiKey('open-sesame', { location: 'cookie', name: 'k' }),
      { apiKey: { ...key, key: 'open-sesame' } },
      { apiKey: key },
    ],
    ['a password', basic({ alice: 'correct horse' }), { basic: password }, { basic: { ...password, password: 'x' } }],
    [
      'a token',
      bearer('t0ken'),
      { bearer: { kind: 'bearer', token: 't0ken' } },
      { bearer: { kind: 'bearer', token: 't' } },
    ],
    [
      'two credentials at once',
      allOf(basic({ alice: 'correct horse' }), apiKey('open sesame')),
      { basic: password, apiKey: key },
      { apiKey: key },
    ],
  ])('requires %s, also on the local host, and names the scheme', async (_what, scheme, right, wrong) => {
    await using served = await serveConsole({ auth: [scheme] })
    const refused = await enter(served.url, {})
    expect(refused.status).toBe(401)
    // A browser would show its own prompt and store the answer.
    expect(refused.headers['www-authenticate']).toBeUndefined()
    const { asks } = JSON.parse(refused.text) as SessionRefusal
    expect(Object.keys(asks?.securitySchemes ?? {}).sort()).toEqual(Object.keys(right).sort())
    expect((await enter(served.url, { credentials: wrong })).status).toBe(401)
    const { cookie, session } = await beginAt(served.url, { credentials: right })
    expect(cookie).not.toBe('')
    expect(session.hasLogin).toBe(true)
    const agents = () => askAt(served.url, '/console/api/agents', { headers: { ...ours, cookie } })
    expect((await agents()).status).toBe(200)
    await askAt(served.url, '/console/api/session', { method: 'DELETE', headers: { ...ours, cookie } })
    expect((await agents()).status).toBe(401)
  })

  it('counts only failed logins', async () => {
    await using served = await serveConsole({ auth: [apiKey('open sesame')] })
    for (let count = 0; count < 15; count++) expect((await enter(served.url, {})).status).toBe(401)
    const guess = () => enter(served.url, { credentials: { apiKey: { ...key, key: crypto.randomUUID() } } })
    const statuses = []
    for (let count = 0; count < 12; count++) statuses.push((await guess()).status)
    expect(statuses.slice(0, 10)).toEqual(Array(10).fill(401))
    expect(statuses.at(-1)).toBe(429)
    // Other credentials in the request would be guesses that the limit misses.
    expect((await enter(served.url, {}, { 'x-api-key': 'open sesame' })).status).toBe(401)
  })

  it('accepts the launch token if there is one', async () => {
    await using served = await serveConsole({ auth: [apiKey('open sesame')], token: 'of this launch' })
    expect((await beginAt(served.url, { token: 'of this launch' })).cookie).not.toBe('')
    expect((await beginAt(served.url, { credentials: { apiKey: key } })).cookie).not.toBe('')
    expect((await enter(served.url, { token: 'x' })).status).toBe(401)
  })

  it('ends sessions after twelve hours, also for open pages', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => {
      vi.useRealTimers()
    })
    const inner = createConsole({ auth: [apiKey('open sesame')] })
    const at = (path: string, init: RequestInit) =>
      inner.fetch(new Request(`http://localhost/console/api/${path}`, init))
    const body = JSON.stringify({ credentials: { apiKey: key } })
    const begun = await at('session', { method: 'POST', headers: ours, body })
    const headers = { ...ours, cookie: begun?.headers.get('set-cookie')?.split(';')[0] ?? '' }
    const reader = (await at('tab', { headers }))?.body?.getReader()
    expect((await reader?.read())?.done).toBe(false)
    const rest = reader?.read()
    vi.advanceTimersByTime(12 * 60 * 60 * 1000)
    expect((await rest)?.done).toBe(true)
    expect((await at('agents', { headers }))?.status).toBe(401)
    inner.close()
  })

  it('creates no launch token beyond loopback, and accepts IP addresses as its host there', async () => {
    await using served = await serveConsole({ host: '0.0.0.0', auth: [apiKey('open sesame')] })
    expect(served.url).not.toContain('token')
    const host = `192.0.2.7:${new URL(served.url).port}`
    expect((await enter(served.url, { credentials: { apiKey: key } }, { host })).status).toBe(200)
    expect((await enter(served.url, { credentials: { apiKey: key } }, { host: 'evil.example' })).status).toBe(403)
  })

  it('accepts a client certificate without a login page', async () => {
    const authority = await createAuthority('Ours')
    const server = await authority.issue({ name: 'CN=localhost' })
    await using served = await serveConsole({ tls: { ...server, ca: authority.ca }, auth: [mtls()] })
    const { port } = new URL(served.url)
    const begin = (shown: object) =>
      new Promise<number | undefined>((resolve, reject) => {
        const path = '/console/api/session'
        const options = { port, path, method: 'POST', headers: ours, ca: authority.ca, agent: false, ...shown }
        httpsRequest({ host: 'localhost', ...options }, (response) => resolve(response.resume().statusCode))
          .on('error', reject)
          .end('{}')
      })
    expect(await begin({})).toBe(401)
    expect(await begin(await authority.issue({ name: 'CN=alice' }))).toBe(200)
  })

  it.each([[[]], ['none']])('rejects a configuration without authentication: %j', async (auth) => {
    await expect(serveConsole({ auth: auth as never })).rejects.toThrow('needs authentication') // as programs without types may pass it
  })

  it('rejects invalid credentials', async () => {
    await using served = await serveConsole({ auth: apiKey('open sesame') })
    const nonsense: unknown[] = [
      null,
      [],
      'x',
      { apiKey: 'open sesame' },
      { constructor: key },
      { apiKey: { kind: 'toString' } },
    ]
    for (const credentials of nonsense) expect((await enter(served.url, { credentials })).status).toBe(401)
    const long = { apiKey: { ...key, key: 'x'.repeat(100_000) } }
    expect((await enter(served.url, { credentials: long })).status).toBe(401)
  })
})
