/** Accepted `Host` names: pages on names that resolve to this machine get no answer (DNS rebinding). */
import { once } from 'node:events'
import { connect as connectHttp2, type OutgoingHttpHeaders } from 'node:http2'
import { agent, apiKey, type ServeOptions, serve } from 'dragoman'
import { serveRegistry } from 'dragoman/registry'
import { type AuditEntry, createHandler } from 'dragoman/server'
import { describe, expect, it } from 'vitest'
import { connect } from '../hostile/raw-client.js'

const shout = agent('Shout', async function* ({ text }) {
  yield text.toUpperCase()
})

/** Sends a `GET` with this `Host` on a separate connection. */
async function get(url: string, path: string, host: string | undefined, target = path): Promise<number> {
  using client = await connect(url)
  await client.write(`GET ${target} HTTP/1.1\r\n${host === undefined ? '' : `Host: ${host}\r\n`}\r\n`)
  return (await client.answer()).status
}

async function served(options: ServeOptions = {}) {
  const one = await serve(shout, options)
  return { url: one.url, metricsUrl: one.metricsUrl ?? '', [Symbol.asyncDispose]: () => one.close({ deadlineMs: 0 }) }
}

describe('a server without auth on loopback', () => {
  it.each([
    'localhost',
    'LOCALHOST:8001',
    'localhost.',
    'shout.localhost:8001',
    '127.0.0.1',
    '127.0.0.1:8001',
    '192.168.0.7:8001',
    '[::1]',
    '[::1]:8001',
    '[fe80::1]:8001',
  ])('answers as %s', async (host) => {
    await using server = await served()
    expect(await get(server.url, '/tasks', host)).toBe(200)
  })

  it.each([
    'rebound.example',
    'rebound.example:8001',
    'rebound.example.',
    'localhost.rebound.example',
    'notlocalhost',
    '127.0.0.1.rebound.example',
    'xn--lcalhost-90a',
  ])('rejects the host %s', async (host) => {
    await using server = await served({ metrics: true, routes: [{ path: '/api', answer: async () => new Response() }] })
    for (const path of ['/tasks', '/', '/api', '/metrics', '/.well-known/agent-card.json', '/nowhere'])
      expect(await get(server.url, path, host), path).toBe(403)
    for (const path of ['/healthz', '/readyz']) expect(await get(server.url, path, host), path).toBe(200)
  })

  it.each(['a@localhost', 'localhost:99999999', 'localhost, rebound.example', '', undefined])(
    'rejects %j as an invalid host',
    async (host) => {
      await using server = await served()
      expect([400, 403]).toContain(await get(server.url, '/tasks', host))
    },
  )

  it('checks the target and `Host` if they differ', async () => {
    await using server = await served()
    const absolute = (host: string) => `http://${host}/tasks`
    expect(await get(server.url, '/tasks', 'localhost', absolute('localhost'))).toBe(200)
    expect(await get(server.url, '/tasks', 'localhost', absolute('rebound.example'))).toBe(403)
    expect(await get(server.url, '/tasks', 'rebound.example', absolute('localhost'))).toBe(403)
  })

  it('names the host and the option, and adds an entry to the audit', async () => {
    const entries: AuditEntry[] = []
    await using server = await served({ advanced: { audit: (entry) => entries.push(entry) } })
    using client = await connect(server.url)
    await client.write('GET /tasks HTTP/1.1\r\nHost: rebound.example:8001\r\n\r\n')
    const { text } = await client.answer()
    expect(JSON.parse(text)).toMatchObject({
      error: {
        code: 403,
        message: expect.stringMatching(/^Host not allowed: rebound\.example:8001\. .*`allowedHosts`/),
      },
    })
    expect(entries).toMatchObject([{ agent: '', outcome: 'PERMISSION_DENIED', peer: '127.0.0.1' }])
  })

  it('checks the host of gRPC calls, before their rpc and their credentials', async () => {
    const entries: AuditEntry[] = []
    await using server = await served({
      auth: [apiKey('k')],
      advanced: { allowedHosts: ['other.example'], audit: (entry) => entries.push(entry) },
    })
    const session = connectHttp2(server.url)
    const call = async (hosts: OutgoingHttpHeaders, rpc = 'ListTasks') => {
      const head = { ':method': 'POST', ':path': `/lf.a2a.v1.A2AService/${rpc}`, 'content-type': 'application/grpc' }
      const stream = session.request({ ...head, ...hosts })
      stream.end(Buffer.alloc(5))
      const [headers] = await once(stream, 'response')
      return [headers['grpc-status'], decodeURIComponent(headers['grpc-message'])]
    }
    const refused = ['7', expect.stringMatching(/^Host not allowed: rebound\.example\. .*`allowedHosts`/)]
    expect(await call({ ':authority': 'rebound.example' })).toEqual(refused)
    expect(entries).toMatchObject([{ outcome: 'PERMISSION_DENIED', peer: '127.0.0.1' }])
    expect(await call({ ':authority': 'rebound.example' }, 'Sing')).toEqual(refused)
    expect(await call({ host: 'rebound.example' })).toEqual(refused)
    expect(await call({ ':authority': 'localhost', host: 'rebound.example' })).toEqual(refused)
    for (const host of ['localhost', 'other.example:8001', '[::1]:8001'])
      expect((await call({ ':authority': host }))[0], host).toBe('16')
    session.destroy()
  })

  it('accepts the host of its public address, and those of `allowedHosts`', async () => {
    await using server = await served({
      publicUrl: 'https://agents.example',
      metrics: true,
      advanced: { allowedHosts: ['other.example'] },
    })
    for (const host of ['agents.example', 'other.example:8001', 'OTHER.example.'])
      expect(await get(server.metricsUrl, '/tasks', host), host).toBe(200)
    expect(await get(server.metricsUrl, '/tasks', 'rebound.example')).toBe(403)
  })

  it('checks the hosts of its metrics port too', async () => {
    await using server = await served({
      auth: [apiKey('k')],
      metrics: { port: 0 },
      advanced: { allowedHosts: ['other.example'] },
    })
    expect(await get(server.metricsUrl, '/metrics', 'localhost')).toBe(200)
    expect(await get(server.metricsUrl, '/metrics', 'other.example')).toBe(200)
    expect(await get(server.metricsUrl, '/metrics', 'rebound.example')).toBe(403)
  })
})

describe('a server with auth, or with an explicit `auth: none`', () => {
  it.each<[string, ServeOptions, number]>([
    ['auth', { auth: [apiKey('k')] }, 401],
    ["auth: 'none'", { auth: 'none' }, 200],
    ['auth and a list of hosts', { auth: [apiKey('k')], advanced: { allowedHosts: [] } }, 403],
    ["auth: 'none' and a list of hosts", { auth: 'none', advanced: { allowedHosts: [] } }, 403],
  ])('with %s', async (_name, options, status) => {
    await using server = await served(options)
    expect(await get(server.url, '/tasks', 'agents.example')).toBe(status)
  })
})

describe('a handler without a port', () => {
  it('checks hosts only if a list is given', async () => {
    const ask = async (allowedHosts: readonly string[] | undefined, url: string, host?: string) => {
      const handler = await createHandler(shout, { advanced: { ...(allowedHosts && { allowedHosts }) } })
      const { status } = await handler.fetch(new Request(url, { ...(host !== undefined && { headers: { host } }) }))
      await handler.close()
      return status
    }
    expect(await ask(undefined, 'http://rebound.example/tasks')).toBe(200)
    expect(await ask([], 'http://rebound.example/tasks')).toBe(403)
    expect(await ask(['agents.example'], 'http://localhost:3000/tasks', 'agents.example')).toBe(200)
    expect(await ask(['agents.example'], 'http://localhost:3000/tasks', 'rebound.example')).toBe(403)
  })

  it.each(['https://agents.example', 'agents.example:8001', '*', ''])('rejects %j as a host', async (host) => {
    await expect(createHandler(shout, { advanced: { allowedHosts: [host] } })).rejects.toThrow(
      /`allowedHosts` must be a list of host/,
    )
    await expect(serve(shout, { advanced: { allowedHosts: host as never } })).rejects.toThrow(
      /`allowedHosts` must be a list of host/,
    )
  })
})

it('a registry without auth on loopback checks hosts', async () => {
  await using open = await serveRegistry({ auth: 'none' })
  expect(await get(open.address, '/v1/agents', 'rebound.example')).toBe(200)
  await using registry = await serveRegistry({ allowedHosts: ['registry.example'] })
  for (const path of ['/v1/agents', '/nacos/v3/admin/ai/a2a/list', '/.well-known/ai-catalog.json']) {
    expect(await get(registry.address, path, 'rebound.example'), path).toBe(403)
    expect(await get(registry.address, path, 'registry.example'), path).not.toBe(403)
  }
  expect(await get(registry.address, '/v1/agents', 'localhost:8848')).toBe(200)
  expect(await get(registry.address, '/healthz', 'rebound.example')).toBe(200)
})
