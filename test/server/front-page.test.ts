/** The page that browsers get at an agent's address. */
import { agent, apiKey, serve } from 'dragoman'
import { describe, expect, it } from 'vitest'

const hostile = agent({ name: '<script>alert(1)</script>', description: 'Says "hi" & <b>bye</b>' }, async function* () {
  yield 'hi'
})
const asBrowser = { headers: { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' } }

describe('an agent’s address in a browser', () => {
  it('describes the agent and runs no script', async () => {
    await using served = await serve(hostile)
    const response = await fetch(served.url, asBrowser)
    const page = await response.text()
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(response.headers.get('content-security-policy')).toContain("default-src 'none'")
    expect(page).toContain(`href="${served.url}.well-known/agent-card.json"`)
    expect(page).toContain('&#60;script&#62;')
    expect(page).not.toMatch(/<script|<b>/)
  })

  it('is below the path of each agent', async () => {
    await using served = await serve([hostile, { agent: agent('Two', async function* () {}), path: '/two' }])
    const page = await (await fetch(served.agents[1]?.url ?? '', asBrowser)).text()
    expect(page).toContain('/two/.well-known/agent-card.json')
    const bare = await fetch((served.agents[1]?.url ?? '').replace(/\/$/, ''), asBrowser)
    expect(bare.status).toBe(200)
  })

  it('requires authentication if calls do (R-SEC-2)', async () => {
    await using served = await serve(hostile, { auth: [apiKey('secret')] })
    const refused = await fetch(served.url, asBrowser)
    expect([refused.status, refused.headers.get('content-type')]).toEqual([
      401,
      expect.stringContaining('application/json'),
    ])
    const known = await fetch(served.url, { headers: { ...asBrowser.headers, 'x-api-key': 'secret' } })
    expect(known.status).toBe(200)
  })

  it('is not served to programs, on other paths and for other methods', async () => {
    await using served = await serve(hostile)
    for (const [path, init] of [
      ['', {}],
      ['nothing', asBrowser],
      ['go', asBrowser],
      ['', { ...asBrowser, method: 'DELETE' }],
    ] as const) {
      const response = await fetch(served.url + path, init)
      expect([path, response.status, response.headers.get('content-type')]).toEqual([
        path,
        404,
        expect.stringContaining('application/'),
      ])
    }
  })

  it('is not served if there is no card', async () => {
    await using served = await serve(hostile, { dialects: [{ dialect: 'v1', path: '/only' }] })
    expect((await fetch(served.url, asBrowser)).status).toBe(404)
  })
})
