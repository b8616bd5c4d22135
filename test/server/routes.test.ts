/** What a port carries beside its agents. */
import { agent, apiKey } from 'dragoman'
import { createHandler, type Route } from 'dragoman/server'
import { describe, expect, it } from 'vitest'

const shout = agent('Shout', async function* ({ text }) {
  yield text.toUpperCase()
})
const at = (path: string, init: RequestInit = {}) => new Request(`http://localhost${path}`, init)
const key = { headers: { 'x-api-key': 'k1' } }

const whoami: Route = { path: '/api/me', answer: async (_, { caller }) => Response.json({ id: caller.id }) }

describe('routes', () => {
  it('are behind the same auth as the agents', async () => {
    const handler = await createHandler(shout, { auth: [apiKey({ k1: 'alice' })], routes: [whoami] })
    const refused = await handler.fetch(at('/api/me'))
    expect(refused.status).toBe(401)
    expect(refused.headers.get('www-authenticate')).toContain('ApiKey')
    expect(await (await handler.fetch(at('/api/me/deeper', key))).json()).toEqual({ id: 'alice' })
    await handler.close()
  })

  it('are closed to pages of other origins, unless they are public', async () => {
    const open: Route = { path: '/open', isPublic: true, answer: async () => new Response('come in') }
    const handler = await createHandler(shout, { auth: [apiKey('k1')], routes: [whoami, open] })
    const headers = { ...key.headers, origin: 'http://elsewhere.example' }
    expect((await handler.fetch(at('/api/me', { headers }))).status).toBe(403)
    expect(await (await handler.fetch(at('/open', { headers: { origin: headers.origin } }))).text()).toBe('come in')
    await handler.close()
  })

  it('leave to the agents what they do not answer, and what only looks like theirs', async () => {
    const page: Route = {
      path: '/',
      isPublic: true,
      answer: ({ headers }) =>
        headers.get('accept') === 'text/html' ? Promise.resolve(new Response('a page')) : undefined,
    }
    const handler = await createHandler(shout, { routes: [page, whoami] })
    expect(await (await handler.fetch(at('/', { headers: { accept: 'text/html' } }))).text()).toBe('a page')
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ListTasks', params: {} })
    const rpc = await handler.fetch(
      at('/', { method: 'POST', headers: { 'content-type': 'application/json', 'a2a-version': '1.0' }, body }),
    )
    expect(await rpc.json()).toMatchObject({ result: { tasks: [] } })
    expect((await handler.fetch(at('/api/mean'))).status).toBe(404)
    expect((await handler.fetch(at('/.well-known/agent-card.json'))).status).toBe(200)
    await handler.close()
  })

  it('tell the log what they threw, and nobody else', async () => {
    const told: unknown[] = []
    const broken: Route = { path: '/broken', answer: () => Promise.reject(new Error('a secret')) }
    const handler = await createHandler(shout, { routes: [broken], log: ({ error }) => told.push(error) })
    const response = await handler.fetch(at('/broken'))
    expect(response.status).toBe(500)
    expect(await response.text()).not.toContain('secret')
    expect(told).toMatchObject([{ message: 'a secret' }])
    await handler.close()
  })

  it.each(['api', '/api/', '//', ''])('refuse %j as a path', async (path) => {
    await expect(createHandler(shout, { routes: [{ ...whoami, path }] })).rejects.toThrow(/no path of a route/)
  })
})
