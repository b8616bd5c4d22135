/** The handler mounted in other servers. */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { serve as serveHono } from '@hono/node-server'
import * as dragoman from 'dragoman'
import { agent, apiKey, bearer, serve } from 'dragoman'
import * as serverEntry from 'dragoman/server'
import {
  type Agents,
  createHandler,
  expressMount,
  type FetchHandler,
  type HandlerOptions,
  honoMount,
  type NextRoutes,
  nextMount,
  toNodeListener,
} from 'dragoman/server'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import { describe, expect, it } from 'vitest'
import { proves } from '../../conformance/proves.js'
import { connect } from '../hostile/raw-client.js'
import { eventually } from '../hostile/waiting.js'

const shout = agent('Shout', async function* ({ text }) {
  yield text.toUpperCase()
})

const message = { messageId: 'm1', role: 'ROLE_USER', parts: [{ text: 'hello there' }] }

interface Mounted {
  readonly url: string
  close(): Promise<void>
}

/** Checks a mount: the card, a call on both bindings, a stream, an error. */
async function check(url: string): Promise<void> {
  const card = (await (await fetch(`${url}/.well-known/agent-card.json`)).json()) as { name: string }
  expect(card.name).toBe('Shout')
  const rpc = await post(url, { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } })
  expect(await rpc.json()).toMatchObject({ id: 1, result: { task: { status: { state: 'TASK_STATE_COMPLETED' } } } })
  const rest = await post(`${url}/message:send`, { message })
  expect(await rest.json()).toMatchObject({
    task: { artifacts: [{ parts: [{ text: 'HELLO THERE' }] }] },
  })
  const stream = await post(`${url}/message:stream`, { message })
  expect(stream.headers.get('content-type')).toBe('text/event-stream')
  expect((await stream.text()).match(/^data: /gm)).not.toHaveLength(0)
  expect((await fetch(`${url}/tasks/none`)).status).toBe(404)
}

function post(url: string, body: unknown): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'a2a-version': '1.0' },
    body: JSON.stringify(body),
  })
}

function portOf(server: { address(): string | AddressInfo | null }): number {
  return (server.address() as AddressInfo).port
}

async function onNode(handler: Parameters<typeof toNodeListener>[0]): Promise<Mounted> {
  const server = createServer(toNodeListener(handler))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${portOf(server)}`,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  }
}

const page = readFileSync(new URL('../../docs/serve.md', import.meta.url), 'utf8')

/** Runs snippets of the page about serving in sequence, and returns their exports. */
async function run(names: readonly string[]): Promise<Record<string, unknown>> {
  const codes = names.map((name) => {
    const [, code] = new RegExp(`\`\`\`ts\n// ${name.replace('.', '\\.')}\n([\\s\\S]*?)\`\`\``).exec(page) ?? []
    if (code === undefined) throw new Error(`The page has no ${name}`)
    return code
  })
  const globals = { ...dragoman, ...serverEntry, createServer, express, fastify, Hono, serve: serveHono }
  const code = codes
    .join('\n')
    .replaceAll(/^import .*$/gm, '')
    .replaceAll(/^export const/gm, 'const')
    .replaceAll(/\b3000\b/g, '0')
  const defined = [...code.matchAll(/^const (?:(\w+) =|\{ ([^}]*) \} =)/gm)].map(([, one, many]) => one ?? many)
  const AsyncFunction = (async () => undefined).constructor as FunctionConstructor
  const body = `${code}\nreturn { ${defined.join(', ')} }`
  return await new AsyncFunction(...Object.keys(globals), body)(...Object.values(globals))
}

interface Defined {
  readonly handler?: FetchHandler
  readonly server?: Server
  readonly app?: { readonly server?: Server }
}

async function mounted(name: string, path: string): Promise<Mounted> {
  const defined: Defined = await run(['handler.ts', name])
  const server = defined.server ?? defined.app?.server
  if (!server) throw new Error(`${name} opens no port`)
  if (!server.listening) await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${portOf(server)}${path}`,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      await defined.handler?.close()
    },
  }
}

/** Next.js calls the export with the name of the method. */
function onNext(routes: NextRoutes): Promise<Mounted> {
  return onNode((request) => routes[request.method as keyof NextRoutes](request))
}

describe('mounts on the page about serving', () => {
  it.each([
    ['node.ts', ''],
    ['node.ts', '/agents/shout'],
    ['express.ts', '/agents/shout'],
    ['fastify.ts', '/agents/shout'],
    ['hono.ts', '/agents/shout'],
  ])('%s answers at %j', async (name, path) => {
    const server = await mounted(name, path)
    try {
      await check(server.url)
    } finally {
      await server.close()
    }
  })

  it('route.ts answers below its path', async () => {
    const defined = await run(['route.ts'])
    const methods = Object.keys(nextMount(() => createHandler(shout)))
    expect(Object.keys(defined)).toEqual(expect.arrayContaining(methods))
    const server = await onNext(defined as unknown as NextRoutes)
    try {
      await check(`${server.url}/api/a2a`)
    } finally {
      await server.close()
    }
  })
})

describe('a request whose body the application has read', () => {
  const paths = ['/', '/message:send', '/route']
  const text = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } })
  const init = { method: 'POST', headers: { 'content-type': 'application/json', 'a2a-version': '1.0' } }

  it.each<[string, (handler: FetchHandler, path: string) => Promise<Response>]>([
    [
      'fetch',
      async (handler, path) => {
        const request = new Request(`http://localhost${path}`, { ...init, body: text })
        await request.text()
        return await handler.fetch(request)
      },
    ],
    ['Express', (handler, path) => onExpress(handler, (url) => fetch(url + path, { ...init, body: text }))],
    [
      'Express, in chunks',
      (handler, path) => {
        const chunks = { ...init, duplex: 'half' as const }
        return onExpress(handler, (url) => fetch(url + path, { ...chunks, body: new Blob([text]).stream() }))
      },
    ],
  ])('is logged as an error that names the fix (%s)', async (_, send) => {
    const entries: { readonly level: string; readonly error?: unknown }[] = []
    const route = { path: '/route', answer: async (request: Request) => Response.json(await request.json()) }
    const log = (entry: (typeof entries)[number]) => void (entry.level !== 'info' && entries.push(entry))
    const handler = await createHandler(shout, { log, routes: [route] })
    for (const path of paths) expect(await (await send(handler, path)).text()).not.toContain('connection')
    const error = new TypeError('The request body was read before this handler; mount it before body parsers')
    expect(entries).toMatchObject(paths.map(() => ({ level: 'error', error })))
    await handler.close()
  })

  async function onExpress(handler: FetchHandler, send: (url: string) => Promise<Response>): Promise<Response> {
    const server = express().use(express.json(), expressMount(handler)).listen(0, '127.0.0.1')
    await once(server, 'listening')
    try {
      return await send(`http://127.0.0.1:${portOf(server)}`)
    } finally {
      server.close()
    }
  }
})

describe('a handler that Deno or Bun calls', () => {
  it.each<[string, NonNullable<Parameters<FetchHandler['fetch']>[1]>]>([
    ['Deno', { remoteAddr: { transport: 'tcp', hostname: '203.0.113.7', port: 9 } }],
    // Bun's server has an `address` that is no function.
    ['Bun', Object.assign({ address: {}, port: 9 }, { requestIP: () => ({ address: '203.0.113.7' }) })],
  ])('%s: reads the address of the caller', async (_, host) => {
    const addresses: unknown[] = []
    const audit = ({ peer }: { readonly peer?: string }) => void addresses.push(peer)
    const handler = await createHandler(shout, { advanced: { audit } })
    const body = JSON.stringify({ message })
    const headers = { 'content-type': 'application/json', 'a2a-version': '1.0' }
    const request = new Request('http://localhost/message:send', { method: 'POST', headers, body })
    expect((await handler.fetch(request, host)).status).toBe(200)
    expect(addresses).toEqual(['203.0.113.7'])
    await handler.close()
  })
})

describe('toNodeListener', () => {
  it(proves('R-SEND-11', 'makes the call of a client that left, if the whole request arrived'), async () => {
    const texts: string[] = []
    const listener = agent('Listener', async function* ({ text }) {
      texts.push(text)
    })
    let isAsked = false
    let onLeft: () => void = () => undefined
    const left = new Promise<void>((resolve) => {
      onLeft = resolve
    })
    const verify = async () => {
      isAsked = true
      await left
      return 'ann'
    }
    const handler = await createHandler(listener, { auth: bearer(verify) })
    const server = createServer(toNodeListener(handler)).listen(0, '127.0.0.1')
    server.on('connection', (socket) => socket.once('close', onLeft))
    await once(server, 'listening')
    const controller = new AbortController()
    const rpc = { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } }
    const sent = fetch(`http://127.0.0.1:${portOf(server)}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'a2a-version': '1.0', authorization: 'Bearer x' },
      body: JSON.stringify(rpc),
      signal: controller.signal,
    })
    await eventually(5000, 'the request to arrive', () => isAsked)
    controller.abort()
    await expect(sent).rejects.toThrow()
    await eventually(5000, 'the message', () => texts.length > 0)
    expect(texts).toEqual(['hello there'])
    server.close()
    await handler.close()
  })

  it('answers 500 if the function fails, and 400 if the target is not an address', async () => {
    const failing = [() => Promise.reject(new Error('a secret')), () => fail()]
    for (const answer of failing) {
      const { url, close } = await onNode(answer)
      const response = await fetch(url)
      expect([response.status, await response.text()]).toEqual([500, ''])
      using client = await connect(url)
      await client.write('GET nowhere HTTP/1.1\r\nHost: localhost\r\n\r\n')
      expect((await client.answer()).status).toBe(400)
      client.socket.destroy()
      await close()
    }
    function fail(): never {
      throw new Error('a secret')
    }
  })
})

describe('the Node adapter', () => {
  it('calls a function that replaces `fetch` of a handler', async () => {
    const handler = await createHandler(shout)
    const guard = async () => new Response('no', { status: 403 })
    const mounted = await onNode({ ...handler, fetch: guard })
    expect((await fetch(mounted.url)).status).toBe(403)
    await mounted.close()
    await handler.close()
  })

  it('closes the connection of a stream whose headers were sent before', async () => {
    const handler = await createHandler(shout)
    const listener = toNodeListener(handler)
    const server = createServer((request, response) => {
      response.flushHeaders()
      listener(request, response)
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const call = { jsonrpc: '2.0', id: 1, method: 'SendStreamingMessage', params: { message } }
    const response = await post(`http://127.0.0.1:${portOf(server)}`, call)
    await expect(response.text()).rejects.toThrow()
    server.close()
    await handler.close()
  })

  it('joins repeated headers, also if the first one is empty', async () => {
    const handler = await createHandler(shout, { auth: bearer('tok') })
    const mounted = await onNode(handler)
    const statusWith = (...values: string[]) =>
      statusOf(
        mounted.url,
        `GET / HTTP/1.1\r\nHost: localhost\r\n${values.map((value) => `Authorization: ${value}\r\n`).join('')}`,
      )
    expect(await statusWith('Bearer tok')).not.toBe(401)
    expect(await statusWith('', 'Bearer tok')).toBe(401)
    await mounted.close()
    await handler.close()
  })

  it.each(['1.2.3.4.5', '999.1', '127.1', '0x7f.1', 'xn--a', 'a:b@localhost'])('rejects the host %s', async (host) => {
    const { url, close } = await onNode(async () => new Response('reached'))
    expect(await statusOf(url, `GET / HTTP/1.1\r\nHost: ${host}\r\n`)).toBe(400)
    await close()
  })

  it('accepts HTTP/1.0 without Host, and rejects credentials in an absolute target', async () => {
    const { url, close } = await onNode(async () => new Response('reached'))
    expect(await statusOf(url, 'GET / HTTP/1.0\r\n')).toBe(200)
    expect(await statusOf(url, 'GET http://a:b@localhost/ HTTP/1.1\r\nHost: localhost\r\n')).toBe(400)
    expect(await statusOf(url, 'GET HTTP://localhost/ HTTP/1.1\r\nHost: localhost\r\n')).toBe(200)
    await close()
  })

  it('waits for slow readers of a response without collecting listeners', async () => {
    const chunk = new Uint8Array(256 * 1024)
    let left = 40
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => (left-- > 0 ? controller.enqueue(chunk) : controller.close()),
    })
    let highest = 0
    const listener = toNodeListener(async () => new Response(body))
    const server = createServer((incoming, outgoing) => {
      outgoing.on('drain', () => {
        highest = Math.max(highest, outgoing.listenerCount('close'))
      })
      listener(incoming, outgoing)
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const response = await fetch(`http://127.0.0.1:${portOf(server)}`)
    expect((await response.arrayBuffer()).byteLength).toBe(40 * chunk.byteLength)
    expect(highest).toBeLessThan(8)
    server.close()
  })
})

/** The status of the answer to a request that is written as it is. */
async function statusOf(url: string, head: string): Promise<number> {
  using client = await connect(url)
  await client.write(`${head}\r\n`)
  const { status } = await client.answer()
  client.socket.destroy()
  return status
}

describe('mounts that do not remove the path', () => {
  const auth = [apiKey('k1')]
  const key = { headers: { 'x-api-key': 'k1' } }

  it.each<[string, HandlerOptions]>([
    ['publicUrl', { publicUrl: 'https://agents.example/api/a2a' }],
    ['basePath', { basePath: '/api/a2a' }],
    ['basePath and another publicUrl', { basePath: '/api/a2a/', publicUrl: 'https://agents.example/x' }],
  ])('work with %s: Hono’s `all`, and Next.js', async (_name, options) => {
    const handler = await createHandler(shout, { auth, ...options })
    const app = new Hono()
    app.all('/api/a2a/*', honoMount(handler))
    const next = nextMount(async () => handler)
    for (const fetch of [app.fetch, next.GET]) {
      const get = async (path: string, init = {}) => await fetch(new Request(`http://localhost:3000${path}`, init))
      expect((await get('/api/a2a/.well-known/agent-card.json')).status).toBe(200)
      expect((await get('/api/a2a/healthz')).status).toBe(200)
      expect((await get('/api/a2a/tasks')).status).toBe(401)
      expect((await get('/api/a2a/tasks', key)).status).toBe(200)
      expect((await get('/api/a2a/nowhere')).status).toBe(401)
      expect((await get('/api/a2a/nowhere', key)).status).toBe(404)
    }
    await handler.close()
  })

  it('answers 404 outside of `basePath`, without checking credentials', async () => {
    const handler = await createHandler(shout, { auth, basePath: '/api/a2a' })
    const get = async (path: string) => (await handler.fetch(new Request(`http://localhost${path}`, key))).status
    for (const path of ['/', '/tasks', '/healthz', '/api/a2a-more/tasks', '/api', '/.well-known/agent-card.json'])
      expect(await get(path), path).toBe(404)
    expect((await handler.fetch(new Request('http://localhost/tasks'))).status).toBe(404)
    await handler.close()
  })

  it.each(['api?x', '/a//b', 'https://agents.example/a', 7])('rejects %j as `basePath`', async (basePath) => {
    const options = { basePath: basePath as string }
    await expect(createHandler(shout, options)).rejects.toThrow(/`basePath` must be a path such as '\/api\/a2a'/)
    await expect(serve(shout, options)).rejects.toThrow(/`basePath` must be a path/)
  })

  const writer = agent('Writer', async function* () {
    yield 'written'
  })
  const routes = [{ path: '/pages', answer: async () => new Response('page') }]

  it.each<[string, Agents, HandlerOptions]>([
    ['/writer', [shout, writer], {}],
    ['/team', [{ agent: writer, path: '/team/writer' }], {}],
    ['/v1', shout, {}],
    ['/tasks/all', shout, {}],
    ['/healthz', [shout, writer], {}],
    ['/a2a', shout, { dialects: 'all' }],
    ['/legacy', shout, { dialects: ['v1', { dialect: 'v0.3', path: '/legacy' }] }],
    ['/acme', shout, { advanced: { tenants: ['acme'] } }],
    ['/pages', shout, { routes }],
    ['/pages/a2a', shout, { routes }],
  ])('rejects publicUrl with the path %s without `basePath`', async (path, agents, more) => {
    const options = { ...more, publicUrl: `https://agents.example${path}` }
    const fault = new RegExp(`${path}, is ambiguous.*Pass .basePath.: '${path}' if .*'/' if a proxy`)
    await expect(createHandler(agents, options)).rejects.toThrow(fault)
    for (const basePath of [path, '/']) await (await createHandler(agents, { ...options, basePath })).close()
  })

  it.each<[string, Agents, HandlerOptions]>([
    ['/v1', [shout, writer], {}],
    ['/acme', [shout, writer], { advanced: { tenants: ['acme'] } }],
    ['/api/a2a', shout, { dialects: 'all' }],
    ['/a2a', shout, {}],
    ['/writers', [shout, writer], {}],
  ])('accepts publicUrl with the path %s if it is not served otherwise', async (path, agents, more) => {
    await (await createHandler(agents, { ...more, publicUrl: `https://agents.example${path}` })).close()
  })

  it('is part of every address of `serve`', async () => {
    await using served = await serve([shout], { basePath: '/agents', metrics: true })
    expect(new URL(served.url).pathname).toBe('/agents/shout/')
    const card = (await (await fetch(`${served.url}.well-known/agent-card.json`)).json()) as { url: string }
    expect(card.url).toContain('/agents/shout')
    expect((await fetch(served.metricsUrl ?? '')).status).toBe(200)
    expect((await fetch(new URL('/shout/.well-known/agent-card.json', served.url))).status).toBe(404)
  })

  it('passes the connection on from Hono', async () => {
    const peers: unknown[] = []
    const handler = await createHandler(shout, { advanced: { audit: ({ peer }) => peers.push(peer) } })
    const app = new Hono()
    app.mount('/mounted', honoMount(handler))
    app.all('*', honoMount(handler))
    const server = serveHono({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' })
    if (!server.listening) await once(server, 'listening')
    for (const path of ['/mounted/tasks', '/tasks'])
      expect((await fetch(`http://127.0.0.1:${portOf(server)}${path}`)).status).toBe(200)
    expect(peers).toEqual(['127.0.0.1', '127.0.0.1'])
    await new Promise((resolve) => server.close(resolve))
    await handler.close()
  })
})

describe('nextMount', () => {
  it('rejects a promise of a handler', () => {
    expect(() => expressMount(createHandler(shout) as unknown as FetchHandler)).toThrow(
      'write `await createHandler(…)`',
    )
  })

  it('creates the handler with the first request, and again after a failure', async () => {
    let calls = 0
    const { GET } = nextMount(async () => {
      calls += 1
      if (calls === 1) throw new Error('The database is down')
      return { fetch: async () => new Response('up') }
    })
    expect(calls).toBe(0)
    await expect(GET(new Request('http://localhost/'))).rejects.toThrow('The database is down')
    expect(await (await GET(new Request('http://localhost/'))).text()).toBe('up')
    await GET(new Request('http://localhost/'))
    expect(calls).toBe(2)
  })
})

describe('paths of agents', () => {
  it.each(['/api/a2a', '/a2a', '/tasks', '/v1/agents'])('may be %s if no agent is at the root', async (path) => {
    await using served = await serve([{ agent: shout, path }])
    await check(served.url.slice(0, -1))
  })
})
