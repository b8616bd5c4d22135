/** `dragoman mcp`, started by MCP clients of three kinds. */
import { fileURLToPath } from 'node:url'
import { agent, bearer, serve } from 'dragoman'
import { dialectNames } from 'dragoman/dialects'
import { describe, expect, it } from 'vitest'
import { clients, type Target, textIn } from '../integrations/mcp-clients.js'
import { mcpScenarios } from '../integrations/mcp-scenarios.js'
import { InteractiveCommand } from './cli-command.js'

const bin = fileURLToPath(new URL('../../bin/dragoman.js', import.meta.url))
const env = { PATH: process.env.PATH ?? '', NO_COLOR: '1', DRAGOMAN_CONFIG_DIR: '/nonexistent/dragoman' }
const command = (...args: string[]): Target => ({ command: process.execPath, args: [bin, 'mcp', ...args], env })

mcpScenarios('stdio', ({ url }, { waitMs }) => command(new URL(url).origin, '--wait', String(waitMs / 1000)))

const shout = (name: string) =>
  agent(name, async function* ({ text }) {
    yield text.toUpperCase()
  })

describe.each(['2.4 auto', '1.32'])('dragoman mcp, started by client %s', (name) => {
  const connect = clients[name] ?? (() => Promise.reject(new Error(`no client ${name}`)))

  it.each(dialectNames)('reaches an agent that speaks %s', async (dialect) => {
    // v0.1-go has no card of its own.
    const dialects = dialect === 'v0.1-go' ? (['v0.1', dialect] as const) : [dialect]
    await using served = await serve(shout('Shout'), { port: 0, log: false, dialects })
    await using client = await connect(command(served.url, '--protocol', dialect, '--pin'))
    // Cards of some dialects have no name.
    const [tool] = await client.tools()
    expect(textIn(await client.call(tool?.name ?? '', { message: 'hello' }))).toContain('HELLO')
  })

  it('offers several agents, although one of them cannot be reached', async () => {
    await using one = await serve(shout('Shout'), { port: 0, log: false })
    await using two = await serve(shout('Shout'), { port: 0, log: false })
    await using client = await connect(command(one.url, 'localhost:1', two.url))
    const names = (await client.tools()).map((tool) => tool.name)
    expect(names).toEqual(['Shout', 'Shout_2', 'a2a_reply', 'a2a_task'])
    expect(textIn(await client.call('Shout_2', { message: 'two' }))).toContain('TWO')
  })

  it('sends credentials, and names the command that stores one', async () => {
    await using served = await serve(shout('Shout'), { port: 0, log: false, auth: bearer('secret') })
    await using known = await connect(command(served.url, '--header', 'Authorization: Bearer secret'))
    expect(textIn(await known.call('Shout', { message: 'hello' }))).toContain('HELLO')
    await using unknown = await connect(command(served.url))
    const refused = await unknown.call('Shout', { message: 'hello' })
    expect(refused.isError).toBe(true)
    expect(textIn(refused)).toContain('dragoman auth login')
  })
})

describe('dragoman mcp', () => {
  it('writes only the protocol to stdout, and ends when its input ends', async () => {
    await using served = await serve(shout('Shout'), { port: 0, log: false })
    await using running = new InteractiveCommand(['mcp', served.url])
    const hello = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } }
    running.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: hello })}\n`)
    await running.waitForOutput(/"id":1/)
    running.end()
    const { code, stdout, stderr } = await running.exit
    expect(code).toBe(0)
    for (const line of stdout.trim().split('\n')) expect(JSON.parse(line)).toMatchObject({ jsonrpc: '2.0' })
    expect(stderr).toContain('Shout at')
  })

  it('fails with exit code 3 if no agent can be reached, and 2 without an agent', async () => {
    await using nowhere = new InteractiveCommand(['mcp', 'localhost:1'])
    expect(await nowhere.exit).toMatchObject({ code: 3, stdout: '' })
    await using nothing = new InteractiveCommand(['mcp'])
    expect(await nothing.exit).toMatchObject({ code: 2, stdout: '' })
  })

  it('explains how clients start it', async () => {
    await using help = new InteractiveCommand(['mcp', '--help'])
    const { code, stdout } = await help.exit
    expect(code).toBe(0)
    for (const words of ['mcpServers', 'claude mcp add', 'inspector', 'auth login', '--wait'])
      expect(stdout).toContain(words)
  })
})
