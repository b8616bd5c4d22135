/** Agents that register themselves, clients that find them by name, and failures of either side. */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it, vi } from 'vitest'
import { apiKey } from '../auth/static-schemes.js'
import { connect } from '../client/connect.js'
import { serveHttp } from '../client/http-server.fixture.js'
import { agent } from '../engine/agent.js'
import type { LogEntry } from '../model/log.js'
import { serve } from '../server/serve.js'
import { generateSigningKey } from '../signing/signing-key.js'
import { openSqliteStore } from '../stores/sqlite/index.js'
import { until } from '../testing/wait.js'
import { type ServeRegistryOptions, serveRegistry } from './create-registry.js'
import { ann, cardFor, testRegistry } from './registry.fixture.js'
import { nacosResolver } from './resolvers/nacos.js'
import { type RegistryResolver, registryResolver } from './resolvers/registry.js'
import { fileResolver, staticResolver } from './resolvers/static.js'

const folder = mkdtempSync(join(tmpdir(), 'dragoman-registry-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const shout = agent('shout', async function* ({ text }) {
  yield text.toUpperCase()
})
const open = (options: ServeRegistryOptions = {}) => serveRegistry({ allowPrivate: true, probes: false, ...options })
const find = async (url: string, query = '') => {
  const response = await fetch(`${url}/v1/agents/public/shout${query}`)
  return response.ok ? ((await response.json()) as { instances: { url: string }[] }) : undefined
}

describe('agents that register', () => {
  it('are found by name, called, and withdrawn when they close (RL-L0-8)', async () => {
    await using registry = await open()
    const served = await serve(shout, { register: { url: registry.url, tags: ['loud'] } })
    await until(() => find(registry.url))
    await using client = await connect('shout', { resolvers: [registryResolver(registry.url)] })
    expect((await client.ask('hello')).text).toBe('HELLO')
    await served.close()
    expect(await find(registry.url)).toBeUndefined()
  })

  it('are named with the registry in the error when they are not found', async () => {
    const lookUp = async (name: string, url: string) => {
      const failure = connect(name, { resolvers: [registryResolver(url)], timeoutMs: 2000 }).catch(
        (error: Error) => error,
      )
      return ((await failure) as Error).message
    }
    const registry = await open()
    const { url } = registry
    expect(await lookUp('no-such-agent.invalid', url)).toMatch(
      new RegExp(`^Agent not found: no-such-agent.invalid is not known to ${url}. As a host: no-such-agent.invalid `),
    )
    await registry.close()
    expect(await lookUp('shout', url)).toMatch(
      new RegExp(`^Agent shout cannot be looked up: The registry at ${url} cannot be reached: `),
    )
    await using guarded = await open({ auth: [apiKey('secret')] })
    expect(await lookUp('shout', guarded.url)).toBe(
      `Agent shout cannot be looked up: the registry at ${guarded.url} answers: Missing or invalid credentials`,
    )
  })

  it('register again after the registry has lost them', async () => {
    const { url, close } = await open()
    const port = Number(new URL(url).port)
    const entries: LogEntry[] = []
    await using _served = await serve(shout, { register: { url, ttlSeconds: 5 }, log: (entry) => entries.push(entry) })
    await until(() => find(url))
    await close()
    await until(() => entries.some(({ message }) => message.includes('could not be reached')), { deadlineMs: 15_000 })
    await using _second = await open({ port })
    expect(await find(url)).toBeUndefined()
    await until(() => find(url), { deadlineMs: 15_000 })
    await until(() => entries.some(({ message }) => message.includes('answers again')))
  }, 40_000)

  it('are served without a reachable registry, and after a rejected registration', async () => {
    await using refusing = await open({ auth: [apiKey('secret')] })
    for (const url of ['http://127.0.0.1:9', refusing.url]) {
      const entries: LogEntry[] = []
      const served = await serve(shout, { register: url, log: (entry) => entries.push(entry) })
      await until(() => entries.some(({ level }) => level === 'warn'))
      await using client = await connect(served.url)
      expect((await client.ask('still here')).text).toBe('STILL HERE')
      await served.close()
    }
  })

  it('send their credentials', async () => {
    await using registry = await open({ auth: [apiKey({ secret: 'ann' })], publicRead: true })
    await using _served = await serve(shout, { register: { url: registry.url, headers: { 'x-api-key': 'secret' } } })
    expect(await until(() => find(registry.url))).toMatchObject({ owner: 'ann' })
  })

  it('are identified by their signature if they have one', async () => {
    const signing = { keys: [await generateSigningKey()] }
    await using registry = await open({ signatures: 'require' })
    const entries: LogEntry[] = []
    await using _unsigned = await serve(shout, { register: registry.url, log: (entry) => entries.push(entry) })
    await until(() => entries.some(({ error }) => String(error).includes('signed card is required')))
    await using _served = await serve(shout, { register: registry.url, advanced: { signing } })
    expect(await until(() => find(registry.url))).toMatchObject({ signature: { state: 'valid' } })
  })

  it('reject an invalid registry URL before they open a port', async () => {
    const path = join(folder, 'never-opened.sqlite')
    await expect(serve(shout, { register: 'nowhere', store: `sqlite:${path}` })).rejects.toThrow('Invalid address')
    await expect(serve(shout, { register: 'ftp://registry.example' })).rejects.toThrow('Invalid address')
    expect(existsSync(path)).toBe(false)
  })

  it('are withdrawn if they close during a registration', async () => {
    await using registry = await serveHttp(({ method }, response) => {
      if (method !== 'PUT') response.writeHead(200, { 'content-type': 'application/json' }).end('{"withdrawn":1}')
    })
    const served = await serve(shout, { register: registry.origin })
    await until(() => registry.seen.length === 1)
    await served.close({ deadlineMs: 0 })
    expect(registry.seen.map(({ method }) => method)).toEqual(['PUT', 'DELETE'])
  })
})

describe('a registry on SQLite', () => {
  it('restores its records after a restart', async () => {
    const store = `sqlite:${join(folder, 'restart.sqlite')}`
    const first = await open({ store })
    await fetch(`${first.url}/v1/agents/public/shout`, {
      method: 'PUT',
      body: JSON.stringify({ card: cardFor('Shout') }),
    })
    await first.close()
    await using second = await open({ store })
    expect(await find(second.url)).toMatchObject({ card: { name: 'Shout' } })
    expect(await (await fetch(`${second.url}/v1/agents?text=shout`)).json()).toMatchObject({ total: 1 })
  })

  it('shares its records between processes', async () => {
    const path = join(folder, 'shared.sqlite')
    const [one, other] = [await openSqliteStore(path, { pollMs: 5 }), await openSqliteStore(path, { pollMs: 5 })]
    {
      await using first = await testRegistry({ store: one })
      await using second = await testRegistry({ store: other })
      const key = { namespace: 'public', name: 'x' }
      await first.publish({ ...key, card: cardFor('天气') }, ann)
      await until(async () => (await second.list({ limit: 10, text: '天气' })).total === 1)
      await second.withdraw(key, ann)
      await until(async () => (await first.list({ limit: 10 })).total === 0)
    }
    await one.close()
    await other.close()
  })
})

describe('resolvers', () => {
  it('use the next instance when the first is unreachable', async () => {
    await using registry = await open()
    const first = await serve(shout, { register: registry.url })
    const second = await serve(shout, { register: registry.url })
    await until(async () => (await find(registry.url))?.instances.length === 2)
    const resolver = registryResolver(registry.url)
    const warnings: string[] = []
    await using client = await connect('shout', {
      resolvers: [resolver],
      onWarning: ({ message }) => warnings.push(message),
    })
    expect((await client.ask('a')).text).toBe('A')
    const isFirst = client.choice.url.startsWith(first.url)
    const [used, other] = isFirst ? [first, second] : [second, first]
    await used.close()
    // A pooled connection may break during a call, which then fails. The next call uses another instance.
    const answer = () =>
      client.ask('b').then(
        ({ text }) => text,
        () => undefined,
      )
    expect(await until(answer)).toBe('B')
    expect(client.choice.url.startsWith(other.url)).toBe(true)
    expect(warnings.some((warning) => warning.startsWith('Switched to'))).toBe(true)
    await other.close()
    await expect(client.ask('c')).rejects.toMatchObject({ failure: 'unreachable' })
  })

  it('use cached records while the registry is unreachable', async () => {
    const registry = await open()
    await using _served = await serve(shout, { register: registry.url })
    await until(() => find(registry.url))
    const warnings: string[] = []
    const resolver = registryResolver(registry.url, { cacheMs: 0, onWarning: (warning) => warnings.push(warning) })
    expect(await resolver('shout')).toHaveLength(1)
    await registry.close()
    expect(await resolver('shout')).toHaveLength(1)
    expect(warnings).toHaveLength(1)
    await expect(resolver('other')).rejects.toMatchObject({ failure: 'unreachable' })
  })

  it('read a record once until it changes', async () => {
    await using registry = await open()
    let asked = 0
    const counting = ((input: string, init?: RequestInit) => {
      if (input.includes('/v1/agents/')) asked += 1
      return fetch(input, init)
    }) as typeof fetch
    const put = (version: string) =>
      fetch(`${registry.url}/v1/agents/public/shout`, {
        method: 'PUT',
        body: JSON.stringify({ card: cardFor('Shout', { version }) }),
      })
    await put('1')
    const resolver = registryResolver(registry.url, { watch: true, cacheMs: 0, fetch: counting })
    try {
      await until(async () => {
        const before = asked
        await resolver('shout')
        return asked === before
      })
      await put('2')
      await until(async () => ((await resolver('shout')) as { version: string }[])[0]?.version === '2')
    } finally {
      resolver.close()
    }
  })

  /** A registry without change events: its watch opens, and then sends only the given text. */
  const secretive = (alive: (response: ServerResponse) => void) => {
    const state = { version: '1', asked: 0 }
    const server = serveHttp((request, response) => {
      if (request.path.startsWith('/v1/watch')) {
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        response.write('id: 1\ndata: {"type":"ready"}\n\n')
        alive(response)
        return
      }
      state.asked += 1
      const instance = { instance: 'one', health: { state: 'healthy' }, card: { version: state.version } }
      response.end(JSON.stringify({ name: 'shout', instances: [instance] }))
    })
    return { state, server }
  }
  const isRemembered = (resolver: RegistryResolver, state: { readonly asked: number }) => async () => {
    const before = state.asked
    await resolver('shout')
    return state.asked === before
  }

  it('do not rely on a silent watch', async () => {
    const { state, server } = secretive(() => undefined)
    await using registry = await server
    const warnings: string[] = []
    const onWarning = (warning: string) => warnings.push(warning)
    const resolver = registryResolver(registry.origin, { watch: true, cacheMs: 0, silenceMs: 500, onWarning })
    try {
      await until(isRemembered(resolver, state))
      state.version = '2'
      await until(async () => ((await resolver('shout')) as { version: string }[])[0]?.version === '2')
      expect(warnings[0]).toContain('nothing for 500 ms')
    } finally {
      resolver.close()
    }
  })

  it('read a record again after its maximum age without a change event', async () => {
    const beats = new Set<NodeJS.Timeout>()
    const { state, server } = secretive((response) => beats.add(setInterval(() => response.write(':\n\n'), 10)))
    await using registry = await server
    const resolver = registryResolver(registry.origin, { watch: true, cacheMs: 0, silenceMs: 2_000 })
    try {
      await until(isRemembered(resolver, state))
      vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 59_000 })
      expect(await isRemembered(resolver, state)()).toBe(true)
      vi.setSystemTime(Date.now() + 2_000)
      expect(await isRemembered(resolver, state)()).toBe(false)
      expect(await isRemembered(resolver, state)()).toBe(true)
    } finally {
      vi.useRealTimers()
      resolver.close()
      for (const beat of beats) clearInterval(beat)
    }
  })

  it('return nothing for unknown names', async () => {
    await using registry = await open()
    expect(await registryResolver(registry.url)('none')).toBeUndefined()
    expect(await nacosResolver(registry.url)('none')).toBeUndefined()
    expect(await staticResolver({ a: 'http://a' })('toString')).toBeUndefined()
    expect(() => registryResolver('nowhere')).toThrow('Invalid address')
    expect(() => nacosResolver('nowhere')).toThrow('is invalid')
  })

  it('read a list, or a file that may change', async () => {
    await using served = await serve(shout)
    const path = join(folder, 'agents.json')
    writeFileSync(path, JSON.stringify({ agents: { shout: served.url } }))
    const fromFile = fileResolver(path)
    for (const resolver of [staticResolver({ shout: served.url }), fromFile]) {
      await using client = await connect('shout', { resolvers: [resolver] })
      expect((await client.ask('x')).text).toBe('X')
    }
    writeFileSync(path, JSON.stringify({ agents: { moved: ['http://127.0.0.1:9', served.url] } }))
    await until(async () => (await fromFile('shout')) === undefined)
    await using moved = await connect('moved', { resolvers: [fromFile] })
    expect((await moved.ask('y')).text).toBe('Y')
    for (const wrong of ['{', '[]', '{"agents":[]}', '{"agents":{"a":7}}']) {
      writeFileSync(path, wrong)
      await expect(until(async () => (await fileResolver(path)('a')) ?? 'x')).rejects.toThrow(path)
    }
  })

  it('call the Nacos API of our registry', async () => {
    await using registry = await open({ auth: [apiKey('token')] })
    await using served = await serve(shout)
    const agentCard = await (await fetch(`${served.url}.well-known/agent-card.json`)).text()
    const body = new URLSearchParams({ agentCard })
    const headers = { accessToken: 'token' }
    expect((await fetch(`${registry.url}/nacos/v3/admin/ai/a2a`, { method: 'POST', body, headers })).status).toBe(200)
    const resolver = nacosResolver(`${registry.url}/nacos`, { accessToken: () => 'token' })
    await using client = await connect('shout', { resolvers: [resolver] })
    expect((await client.ask('nacos')).text).toBe('NACOS')
    await expect(nacosResolver(registry.url)('shout')).rejects.toMatchObject({ failure: 'refused' })
  })

  it('read responses of a Nacos 3.1 server', async () => {
    await using served = await serve(shout)
    const data = {
      protocolVersion: '0.3.0',
      name: 'shout',
      description: 'Shouts',
      version: '1.0.0',
      iconUrl: null,
      capabilities: { streaming: true, pushNotifications: false, stateTransitionHistory: false, extensions: null },
      skills: [
        { id: 's', name: 'S', description: 'S', tags: ['t'], examples: null, inputModes: null, outputModes: null },
      ],
      url: served.url,
      preferredTransport: 'JSONRPC',
      additionalInterfaces: null,
      provider: null,
      documentationUrl: null,
      securitySchemes: null,
      security: null,
      defaultInputModes: ['text/plain'],
      defaultOutputModes: ['text/plain'],
      supportsAuthenticatedExtendedCard: null,
      registrationType: 'URL',
    }
    await using nacos = await serveHttp((request, response) => {
      const isKnown = request.path.includes('agentName=shout')
      response.writeHead(isKnown ? 200 : 404, { 'content-type': 'application/json' })
      response.end(
        JSON.stringify(
          isKnown ? { code: 0, message: 'success', data } : { code: 20004, message: 'resource not found', data: null },
        ),
      )
    })
    const resolver = nacosResolver(nacos.origin, { namespaceId: 'dev', version: '1.0.0' })
    await using client = await connect('shout', { resolvers: [resolver] })
    expect((await client.ask('x')).text).toBe('X')
    expect(nacos.seen[0]?.path).toBe('/nacos/v3/admin/ai/a2a?namespaceId=dev&agentName=shout&version=1.0.0')
    expect(await resolver('other')).toBeUndefined()
  })

  it.each<[string, number, string]>([
    ['bad-answer', 200, '<html>'],
    ['bad-answer', 500, '{"code":30000,"message":"server error"}'],
    ['bad-answer', 200, '{"code":20002,"message":"parameter validate error","data":null}'],
    ['refused', 403, '{"code":10001,"message":"access denied"}'],
  ])('report an unexpected Nacos response as %s (HTTP %i %s)', async (failure, status, body) => {
    await using nacos = await serveHttp((_, response) => response.writeHead(status).end(body))
    await expect(nacosResolver(nacos.origin)('x')).rejects.toMatchObject({ failure })
  })
})
