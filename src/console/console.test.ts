/** The console's server over real sockets: access, calls to agents, and stored state. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { apiKey } from '../auth/static-schemes.js'
import type { DeadDelivery, PushOperations } from '../push/dead-letters.js'
import { type Served, serve } from '../server/serve.js'
import { echoAgent } from '../testing/echo-agent.js'
import { askAt, beginAt, ours } from './console.fixture.js'
import type { CallSummary, CallView, CardView, ProbeView } from './console-api.js'
import { createConsole, type ServedConsole, serveConsole } from './create-console.js'

let agent: Served
let closed: Served
let served: ServedConsole
beforeAll(async () => {
  agent = await serve(echoAgent)
  closed = await serve(echoAgent, { auth: [apiKey('open sesame')] })
  served = await serveConsole({ agents: [agent.url] })
})
afterAll(async () => {
  await served.close()
  await agent.close({ deadlineMs: 0 })
  await closed.close({ deadlineMs: 0 })
})

const ask = (path: string, asked?: Parameters<typeof askAt>[2], to = served.url) => askAt(to, path, asked)
const begin = (to = served.url, body?: unknown) => beginAt(to, body)

const send = (text: string) => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'SendMessage',
  params: { message: { messageId: '1', role: 'ROLE_USER', parts: [{ text }] } },
})
const callPath = (ref: string, form = 'auto/auto') => `/console/a2a/${encodeURIComponent(ref)}/${form}`

describe('access to the console', () => {
  it('starts a session for local visitors that scripts and other sites cannot use', async () => {
    const answer = await ask('/console/api/session', { method: 'POST', headers: ours, body: {} })
    const [cookie = ''] = answer.headers['set-cookie'] ?? []
    expect(cookie).toMatch(/; Path=\/console; HttpOnly; SameSite=Strict/)
    expect(answer.headers['access-control-allow-origin']).toBeUndefined()
  })

  it.each([
    ['a host name of an attacker that resolves to this machine', { host: 'evil.example' }],
    ['a page of another origin', { origin: 'http://evil.example' }],
    ['a page on another port of this machine', { origin: 'http://localhost:1' }],
    ['a site the browser calls foreign', { 'sec-fetch-site': 'cross-site' }],
    ['another port, as the browser reports it', { 'sec-fetch-site': 'same-site' }],
    ['a request that any page could send', { 'x-dragoman-console': '' }],
  ])('rejects %s', async (_who, headers) => {
    const { cookie } = await begin()
    const answer = await ask('/console/api/agents', { headers: { ...ours, cookie, ...headers } })
    expect(answer.status).toBe(403)
  })

  it.each([
    'Forwarded',
    'Via',
    'X-Forwarded-For',
    'X-Forwarded-Host',
    'X-Forwarded-Proto',
    'X-Forwarded-Anything',
    'X-Real-IP',
    'X-Client-IP',
    'CF-Connecting-IP',
    'CF-Ray',
    'True-Client-IP',
    'Fastly-Client-IP',
    'CDN-Loop',
  ])('rejects sessions through a proxy that adds %s', async (name) => {
    const proxied = { ...ours, [name]: 'x' }
    expect((await ask('/console/api/session', { method: 'POST', headers: proxied, body: {} })).status).toBe(401)
  })

  it('rejects all requests without a session', async () => {
    expect((await ask('/console/api/agents', { headers: ours })).status).toBe(401)
    expect((await ask('/console/api/tab')).status).toBe(401)
  })

  it.each([
    ['127.0.0.1', 200],
    ['::ffff:127.0.0.1', 200],
    ['::1', 200],
    ['203.0.113.9', 401],
    ['::ffff:203.0.113.9', 401],
    ['127.0.0.1.evil.example', 401],
    [undefined, 401],
  ])('checks the remote address as well as the Host header: %s', async (address, status) => {
    const inner = createConsole()
    const request = new Request('http://localhost/console/api/session', { method: 'POST', headers: ours, body: '{}' })
    const answer = await inner.fetch(request, { connection: { address: () => address } })
    expect([answer?.status, answer?.headers.has('set-cookie')]).toEqual([status, status === 200])
    inner.close()
  })

  it('sets Secure cookies if its public URL uses TLS, also behind a proxy', async () => {
    const inner = createConsole({ publicUrl: 'https://console.example', hosts: ['console.example'], token: 'x' })
    const body = JSON.stringify({ token: 'x' })
    const request = new Request('http://console.example/console/api/session', { method: 'POST', headers: ours, body })
    expect((await inner.fetch(request))?.headers.get('set-cookie')).toMatch(/; Secure$/)
    inner.close()
  })

  it('requires the launch token if it listens beyond loopback', async () => {
    await using open = await serveConsole({ host: '0.0.0.0' })
    const token = new URL(open.url).searchParams.get('token') ?? ''
    expect(token.length).toBeGreaterThan(20)
    const without = await ask('/console/api/session', { method: 'POST', headers: ours, body: {} }, open.url)
    const wrong = await ask('/console/api/session', { method: 'POST', headers: ours, body: { token: 'x' } }, open.url)
    expect([without.status, wrong.status]).toEqual([401, 401])
    expect((await begin(open.url, { token })).cookie).not.toBe('')
  })

  it('limits token guesses per caller, and admits other callers', async () => {
    const inner = createConsole({ token: 'right' })
    const begun = async (token: string, address: string) => {
      const body = JSON.stringify({ token })
      const request = new Request('http://localhost/console/api/session', { method: 'POST', headers: ours, body })
      return (await inner.fetch(request, { connection: { address: () => address } }))?.status
    }
    const guessed = []
    for (let count = 0; count < 12; count++) guessed.push(await begun(`wrong ${count}`, '203.0.113.9'))
    expect(guessed).toEqual([...Array.from({ length: 10 }, () => 401), 429, 429])
    expect([await begun('right', '203.0.113.9'), await begun('right', '203.0.113.10')]).toEqual([429, 200])
    inner.close()
  })

  it('serves a page that blocks other origins and inline scripts', async () => {
    const { headers } = await ask('/', { headers: { accept: 'text/html' } })
    const policy = String(headers['content-security-policy'] ?? "script-src 'self'")
    expect(policy).not.toContain('unsafe')
    expect((await ask('/', { headers: { accept: 'application/json' } })).status).toBe(404)
  })
})

describe('calls to agents', () => {
  it('rejects a URL with a password', async () => {
    const { cookie } = await begin()
    const headers = { ...ours, cookie }
    for (const ref of [
      'http://ann:hunter2@agent.example',
      'https://hunter2@agent.example/x',
      'ann:hunter2@agent.example',
    ]) {
      const answer = await ask('/console/api/agents', { method: 'POST', headers, body: { ref } })
      expect([answer.status, answer.text]).toEqual([400, expect.stringContaining('in the Access tab')])
      expect(answer.text).not.toContain('hunter2')
    }
  })

  it('calls only agents that were named', async () => {
    const { cookie, session } = await begin()
    expect(session.agents).toMatchObject([{ ref: agent.url, from: 'given' }])
    const headers = { ...ours, cookie, 'a2a-version': '1.0' }
    const answer = await ask(callPath(agent.url), { method: 'POST', headers, body: send('hello') })
    expect(JSON.parse(answer.text)).toMatchObject({ result: { task: { artifacts: [{ parts: [{ text: 'hello' }] }] } } })
    const unnamed = await ask(callPath(closed.url), { method: 'POST', headers, body: send('hello') })
    expect(unnamed.status).toBe(404)
    const card = await ask(`/console/api/card?ref=${encodeURIComponent(closed.url)}`, { headers })
    expect(card.status).toBe(404)
  })

  it('uses every dialect and binding, and logs the wire', async () => {
    const { cookie } = await begin()
    const headers = { ...ours, cookie, 'a2a-version': '1.0' }
    for (const form of ['v1/GRPC', 'v0.3/JSONRPC', 'v0.1/JSONRPC']) {
      const answer = await ask(callPath(agent.url, form), { method: 'POST', headers, body: send(form) })
      expect(JSON.parse(answer.text)).toMatchObject({ result: { task: { artifacts: [{ parts: [{ text: form }] }] } } })
      const id = String(answer.headers['x-dragoman-call'])
      const call = JSON.parse((await ask(`/console/api/call?id=${id}`, { headers })).text) as CallView
      expect(`${call.dialect}/${call.binding}`).toBe(form)
      const spoken = call.wire.filter(({ binding }) => binding === call.binding)
      expect(spoken.map(({ direction }) => direction)).toEqual(['request', 'response'])
      expect(JSON.stringify(spoken[0]?.body)).toContain(form)
    }
    const listed = JSON.parse((await ask('/console/api/calls', { headers })).text) as { calls: CallSummary[] }
    expect(listed.calls).toHaveLength(3)
    expect(listed.calls[0]?.taskId).toEqual(expect.any(String))
  })

  it('keeps credentials in memory, uses them, and never shows them', async () => {
    const { cookie } = await begin()
    const headers = { ...ours, cookie, 'a2a-version': '1.0' }
    await ask('/console/api/agents', { method: 'POST', headers, body: { ref: closed.url } })
    const refused = await ask(callPath(closed.url), { method: 'POST', headers, body: send('hello') })
    expect(JSON.parse(refused.text)).toMatchObject({ error: expect.anything() })
    const credential = { kind: 'apiKey', key: 'open sesame' }
    await ask('/console/api/trust', { method: 'PUT', headers, body: { ref: closed.url, credential } })
    const answer = await ask(callPath(closed.url), { method: 'POST', headers, body: send('hello') })
    expect(JSON.parse(answer.text)).toMatchObject({ result: { task: expect.anything() } })
    const id = String(answer.headers['x-dragoman-call'])
    const shown = [
      (await ask(`/console/api/call?id=${id}`, { headers })).text,
      (await ask('/console/api/agents', { headers })).text,
    ].join()
    expect(shown).not.toContain('open sesame')
    expect(shown).toContain('"credentials":{"":"apiKey"}')
  })

  it('checks a card, and an agent on three levels', async () => {
    const { cookie } = await begin()
    const headers = { ...ours, cookie }
    const view = JSON.parse(
      (await ask(`/console/api/card?ref=${encodeURIComponent(agent.url)}`, { headers })).text,
    ) as CardView
    expect(view.report.isValid).toBe(true)
    expect(view.signature.state).toBe('absent')
    expect(view.choices.map(({ binding }) => binding)).toContain('GRPC')
    expect(view.unversioned).toMatchObject({ protocolVersion: expect.any(String) })
    const body = { ref: agent.url, text: 'ping' }
    const probe = JSON.parse((await ask('/console/api/probe', { method: 'POST', headers, body })).text) as ProbeView
    expect(probe.card.isGood && probe.bindings.every(({ isGood }) => isGood) && probe.call?.isGood).toBe(true)
  })

  it('reports invalid URLs and unreachable agents, and rejects file links into private networks', async () => {
    const { cookie } = await begin()
    const headers = { ...ours, cookie }
    const bad = await ask('/console/api/agents', { method: 'POST', headers, body: { ref: 'ftp://x' } })
    expect([bad.status, bad.text]).toEqual([422, expect.stringContaining('http')])
    await ask('/console/api/agents', { method: 'POST', headers, body: { ref: 'http://localhost:1' } })
    const away = await ask(`/console/api/card?ref=${encodeURIComponent('http://localhost:1')}`, { headers })
    expect([away.status, away.text]).toEqual([422, expect.stringContaining('localhost:1')])
    const file = await ask('/console/api/file', { method: 'POST', headers, body: { url: `${agent.url}healthz` } })
    expect(file.status).toBe(422)
  })
})

describe('the stream of a tab', () => {
  it('carries the events of a streaming call', async () => {
    const { cookie } = await begin()
    const origin = new URL(served.url).origin
    const left = new AbortController()
    const stream = await fetch(`${origin}/console/api/tab`, { headers: { cookie }, signal: left.signal })
    const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader()
    let seen = ''
    const until = async (wanted: RegExp) => {
      while (!wanted.test(seen)) seen += (await reader?.read())?.value ?? ''
      return wanted.exec(seen)?.[1] ?? ''
    }
    const tab = await until(/"tab":"([^"]+)"/)
    const answer = await ask(callPath(agent.url), {
      method: 'POST',
      headers: { ...ours, cookie, 'a2a-version': '1.0', accept: 'text/event-stream', 'x-dragoman-tab': `${tab}/7` },
      body: { ...send('chunks 3'), method: 'SendStreamingMessage' },
    })
    expect(answer.headers['x-dragoman-tab']).toBe(`${tab}/7`)
    await until(/"stream":7,"end":true/)
    expect(seen).toContain('chunk 3 ')
    expect(seen).toContain('TASK_STATE_COMPLETED')
    left.abort()
  })
})

describe('the push receiver of the console', () => {
  it('accepts deliveries at an unguessable URL, and shows them to its own session only', async () => {
    const { cookie, session } = await begin()
    const { cookie: other } = await begin()
    const { pathname } = new URL(session.receiver)
    const statusUpdate = { taskId: 't', contextId: 'c', status: { state: 'TASK_STATE_WORKING' } }
    const headers = { 'content-type': 'application/json', 'x-a2a-notification-token': 'secret' }
    expect((await ask(pathname, { method: 'POST', headers, body: { statusUpdate } })).status).toBe(200)
    expect((await ask('/console/push/guess', { method: 'POST', headers, body: { statusUpdate } })).status).toBe(404)
    const inbox = await ask('/console/api/deliveries', { headers: { ...ours, cookie } })
    expect(JSON.parse(inbox.text)).toMatchObject({ deliveries: [{ dialect: 'v1', taskId: 't' }] })
    expect(inbox.text).not.toContain('secret"')
    expect((await ask('/console/api/deliveries', { headers: { ...ours, cookie: other } })).text).toBe(
      '{"deliveries":[]}',
    )
  })
})

describe('dead letters', () => {
  const deadLetter: Omit<DeadDelivery, 'agent'> = {
    id: '1',
    tenant: '',
    owner: 'anonymous',
    configId: 'c',
    timeMs: 0,
    taskId: 't',
    deliveryId: 'd',
    seq: 1,
    attempts: 3,
    error: 'HTTP 500',
  }

  it('of servers with separate stores are distinct, even with equal ids', async () => {
    const sent: string[] = []
    const of = (agent: string): PushOperations => ({
      deadLetters: async () => [{ ...deadLetter, agent }],
      redeliver: async (id) => {
        sent.push(`${agent} ${id}`)
        return { isDelivered: true }
      },
    })
    await using watching = await serveConsole({ push: [of('first'), of('second')] })
    const headers = { ...ours, cookie: (await begin(watching.url)).cookie }
    const list = await ask('/console/api/dead-letters', { headers }, watching.url)
    const { letters } = JSON.parse(list.text) as { letters: DeadDelivery[] }
    const again = (id: string) =>
      ask(`/console/api/redeliver?${new URLSearchParams({ id })}`, { method: 'POST', headers }, watching.url)
    await again(letters.find(({ agent }) => agent === 'second')?.id ?? '')
    expect(sent).toEqual(['second 1'])
    for (const id of ['1', '7/1', '/1', '-1/1', '']) expect((await again(id)).status).toBe(404)
    expect(sent).toEqual(['second 1'])
  })
})
