/** `dragoman serve --proxy`: a bridge between peers without a common protocol version. */
import { join } from 'node:path'
import { type AgentCard, agent, apiKey, type Served, serve, type Task, working } from 'dragoman'
import { type AgentClient, connect } from 'dragoman/client'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { eventually } from '../hostile/waiting.js'
import { all, lastState, matrixAgent, scenarios } from '../matrix/scenarios.js'
import { v01JsonRpc } from '../matrix/v0-clients.js'
import type { Fetch, WireClient } from '../matrix/wire-client.js'
import { type ForeignServer, serveV1, serveV02, serveV03 } from '../peers/foreign-servers.js'
import { sdk1, sdk03 } from '../peers/official-clients.js'
import { freePort, scriptedServer } from './hostile-agent.js'
import { runCommand, type ServerProcess, startServer, temporaryFolder } from './server-process.js'

beforeAll(() => {
  // The SDK prints every error that it returns.
  for (const level of ['error', 'warn', 'log'] as const) vi.spyOn(console, level).mockImplementation(() => undefined)
})

/** Resolves the paths of a wire client against a base URL. */
function at(url: string): Fetch {
  return (path, init) => fetch(new URL(path, url), init)
}

describe('an official 0.3 client, a bridge, an agent that speaks v0.1 only', () => {
  let upstream: Served
  let bridge: ServerProcess
  beforeAll(async () => {
    upstream = await serve(matrixAgent, { dialects: ['v0.1'] })
    bridge = await startServer(['--proxy', upstream.url])
  })
  afterAll(async () => {
    await bridge[Symbol.asyncDispose]()
    await upstream.close({ deadlineMs: 0 })
  })

  it('prints its own address and the upstream agent', async () => {
    expect(bridge.stdout).toMatch(/^Echo is ready at /)
    expect(bridge.stdout).toContain(`upstream   v0.1 over JSONRPC at ${upstream.url.slice(0, -1)}\n`)
    await using agent = await connect(bridge.url)
    expect(agent.card).toMatchObject({
      name: 'Echo',
      description: matrixAgent.card.description,
      skills: [{ id: 'echo', tags: ['test', 'echo'] }],
      capabilities: { streaming: true, pushNotifications: true },
    })
    expect(agent.card.supportedInterfaces.every(({ url }) => url.includes(new URL(bridge.url).port))).toBe(true)
  })

  it.each(scenarios)('%s', async (_, run) => await run(await sdk03(bridge.url, 'JSONRPC')))

  it('newer clients use gRPC, and receive events at once', async () => {
    const wireClient = await sdk1(bridge.url, 'GRPC')
    const events = await all(wireClient.stream('chunks 4 20'))
    expect(events.map(({ text }) => text ?? '').join('')).toContain('chunk 1 chunk 2 chunk 3 chunk 4 ')
    expect(lastState(events)).toBe('completed')
  })
})

/** The SDK 1.3.0 drops null values in JSON. */
const withoutNull: WireClient['carries'] = (piece) => ('data' in piece && piece.data === null ? undefined : piece)

describe.each<[string, () => Promise<ForeignServer>, Partial<WireClient>]>([
  ['1.3.0', serveV1, { carries: withoutNull }],
  ['0.3.14', serveV03, {}],
  ['0.2.5', serveV02, {}],
])('a v0.1 client, a bridge, a server of the official SDK %s', (_name, start, habits) => {
  let upstream: ForeignServer
  let bridge: ServerProcess
  let wireClient: WireClient
  beforeAll(async () => {
    upstream = await start()
    bridge = await startServer(['--proxy', upstream.url])
    wireClient = { ...v01JsonRpc(at(bridge.url)), ...habits }
  })
  afterAll(async () => {
    await bridge[Symbol.asyncDispose]()
    await upstream[Symbol.asyncDispose]()
  })

  it.each(scenarios)('%s', async (_, run) => await run(wireClient))
})

describe('dragoman serve --proxy', () => {
  it('forwards cancellations to the upstream agent', async () => {
    let state = 'idle'
    const sleeper = agent('Sleeper', async function* ({ signal }) {
      yield working()
      state = 'asleep'
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      state = 'woken'
    })
    await using upstream = await serve(sleeper)
    await using bridge = await startServer(['--proxy', upstream.url])
    await using client = await connect(bridge.url)
    const { task } = await sentOnly(client)
    await eventually(5000, 'the agent to work', () => state === 'asleep')
    expect((await client.task(task.id).cancel()).status.state).toBe('TASK_STATE_CANCELED')
    await eventually(5000, 'the agent to be cancelled', () => state === 'woken')
  })

  it('keeps its own tasks when it is started again', async () => {
    await using folder = await temporaryFolder()
    await using upstream = await startServer()
    const args = ['--proxy', upstream.url, '--store', `sqlite:${join(folder.path, 'bridge.sqlite')}`]
    let id = ''
    {
      await using bridge = await startServer(args)
      await using client = await connect(bridge.url)
      const { task } = await client.ask('ask')
      id = task?.id ?? ''
      expect(task?.status.state).toBe('TASK_STATE_INPUT_REQUIRED')
    }
    await using bridge = await startServer(args)
    await using client = await connect(bridge.url)
    expect((await client.ask('second', { taskId: id })).text).toBe('ask\nsecond')
  })

  it('has its own callers, and its own credentials for the upstream agent', async () => {
    await using upstream = await startServer(['--echo', '--api-key', 'inner'])
    const args = [
      '--proxy',
      upstream.url,
      '--api-key',
      'outer',
      '--upstream-header',
      'X-API-Key: inner',
      '--name',
      'Gate',
    ]
    await using bridge = await startServer(args)
    expect(bridge.stdout).toMatch(/^Gate is ready/)
    await using unauthenticated = await connect(bridge.url, { headers: { 'X-API-Key': 'inner' } })
    await expect(unauthenticated.ask('hello')).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
    await using client = await connect(bridge.url, { headers: { 'X-API-Key': 'outer' } })
    expect((await client.ask('hello')).text).toBe('hello')
  })

  it('serves the extended card of the upstream agent, with its own addresses and security', async () => {
    const card = {
      name: 'Clerk',
      capabilities: { extendedAgentCard: true },
      extendedCard: (own: AgentCard) => ({ ...own, skills: [...own.skills, secret] }),
    }
    const secret = { id: 'secret', name: 'Secret', description: 'For members', tags: [] }
    const clerk = agent(card, async function* () {
      yield 'x'
    })
    await using upstream = await serve(clerk, { auth: [apiKey('inner')] })
    await using bridge = await startServer([
      '--proxy',
      upstream.url,
      '--api-key',
      'outer',
      '--upstream-header',
      'X-API-Key: inner',
    ])
    await using client = await connect(bridge.url, { headers: { 'X-API-Key': 'outer' } })
    const { skills, supportedInterfaces, securitySchemes } = client.card
    expect(skills.map(({ id }) => id)).toEqual(['clerk'])
    const extended = await client.getExtendedAgentCard({})
    expect(extended.skills.map(({ id }) => id)).toEqual(['clerk', 'secret'])
    expect(extended).toMatchObject({ name: 'Clerk', supportedInterfaces, securitySchemes })
    await using unauthenticated = await connect(bridge.url)
    await expect(unauthenticated.getExtendedAgentCard({})).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
  })

  it('does not report its own rejected credentials as those of its callers', async () => {
    await using upstream = await startServer(['--echo', '--api-key', 'inner'])
    await using bridge = await startServer(['--proxy', upstream.url])
    await using client = await connect(bridge.url)
    await expect(client.ask('hello')).rejects.toMatchObject({
      code: 'INVALID_AGENT_RESPONSE',
      message: 'The upstream agent rejected the call',
    })
    await eventually(5000, 'the warning', () => bridge.stderr.includes('UNAUTHENTICATED'))
    expect(bridge.stderr).toMatch(/^warning: The upstream agent answers UNAUTHENTICATED: [^\n]+\n$/)
  })

  it('uses the given binding and version upstream', async () => {
    await using upstream = await startServer()
    await using bridge = await startServer([
      '--proxy',
      upstream.url,
      '--upstream-protocol',
      '0.3',
      '--upstream-binding',
      'rest',
    ])
    expect(bridge.stdout).toContain('upstream   v0.3 over HTTP+JSON')
    await using client = await connect(bridge.url)
    expect((await client.ask('hello')).text).toBe('hello')
  })

  it('serves the given dialects', async () => {
    await using upstream = await startServer()
    await using bridge = await startServer(['--proxy', upstream.url, '--dialects', 'all'])
    await using client = await connect(bridge.url, { dialect: 'invoke', binding: 'HTTP+JSON' })
    expect((await client.ask('hello')).text).toBe('hello')
  })

  it('survives the end of the upstream agent, and reports that it is unavailable', async () => {
    const upstream = await startServer()
    await using bridge = await startServer(['--proxy', upstream.url])
    await upstream[Symbol.asyncDispose]()
    await using client = await connect(bridge.url, { retry: { attempts: 1 } })
    await expect(client.ask('hello')).rejects.toMatchObject({ code: 'UNAVAILABLE' })
  })

  it('does not start without the upstream agent: exit 3', async () => {
    const { code, stdout, stderr } = await runCommand([
      'serve',
      '--proxy',
      `localhost:${await freePort()}`,
      '--port',
      '0',
    ])
    expect({ code, stdout }).toEqual({ code: 3, stdout: '' })
    expect(stderr).toMatch(
      /^dragoman: localhost:\d+ cannot be reached: [^\n]+\nCheck that the agent is running[^\n]+\n$/,
    )
  })

  it('does not start if the upstream is a web site: exit 1', async () => {
    await using site = await scriptedServer((_, response) => response.end('<h1>Welcome</h1>'))
    const { code, stderr } = await runCommand(['serve', '--proxy', site.url, '--port', '0'])
    expect(code).toBe(1)
    expect(stderr).toMatch(/^dragoman: There is no card at /)
  })

  it.each<[string, readonly string[], RegExp]>([
    ['two agents', ['--echo', '--proxy', 'localhost:1'], /exclude each other/],
    ['an option of another kind of agent', ['--echo', '--upstream-header', 'A: b'], /--upstream-header needs --proxy/],
    ['a name for an agent that has one', ['--echo', '--name', 'X'], /--name needs --exec or --proxy/],
    ['an unknown binding', ['--proxy', 'localhost:1', '--upstream-binding', 'soap'], /choose from jsonrpc, rest, grpc/],
    ['a header without a name', ['--proxy', 'localhost:1', '--upstream-header', 'oops'], /Name: value/],
  ])('rejects %s: exit 2', async (_, args, message) => {
    const { code, stdout, stderr } = await runCommand(['serve', ...args])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(message)
  })
})

async function sentOnly(client: AgentClient): Promise<{ task: Task }> {
  const message = { messageId: 'm1', role: 'ROLE_USER', parts: [{ text: 'sleep' }] } as const
  const answer = await client.sendMessage({ message, configuration: { returnImmediately: true } })
  if ('task' in answer) return answer
  throw new Error('There is no task')
}
