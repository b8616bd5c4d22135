/** Runs the examples of the documentation pages. */
import { describe, expect, it } from 'vitest'
import { freePort } from './hostile-agent.js'
import { startServer } from './server-process.js'
import { compile, readPage, runSnippet, snippet, snippetFolder, startSnippet, typeErrorsIn } from './snippets.js'

describe('the pages', () => {
  it('docs/client.md shows a client that works', { timeout: 60_000 }, async () => {
    using folder = snippetFolder()
    await using server = await startServer()
    const code = snippet(readPage('docs/client.md'), 'client.ts')
    folder.write('client.ts', code.replace('localhost:8001', new URL(server.url).host))
    expect(await typeErrorsIn(['client.ts'], folder.path)).toBe('')
    const said = await runSnippet('client.ts', folder.path)
    expect(said).toMatch(/^Echo: v1 over JSONRPC\nTASK_STATE_COMPLETED Hello\n/)
    expect(said.match(/text: 'chunk \d '/g)).toHaveLength(3)
  })

  it('docs/client.md and docs/push.md show snippets that strict TypeScript accepts', { timeout: 60_000 }, async () => {
    using folder = snippetFolder()
    folder.write('agents.ts', snippet(readPage('docs/client.md'), 'agents.ts'))
    folder.write('turn.ts', snippet(readPage('docs/client.md'), 'turn.ts'))
    folder.write('receiver.ts', snippet(readPage('docs/push.md'), 'receiver.ts'))
    expect(await typeErrorsIn(['agents.ts', 'turn.ts', 'receiver.ts'], folder.path)).toBe('')
  })

  it('docs/testing.md shows tests that pass', { timeout: 60_000 }, async () => {
    using folder = snippetFolder()
    const names = ['shout', 'order', 'retention', 'restart'].map((name) => `${name}.test.ts`)
    for (const name of names) folder.write(name, snippet(readPage('docs/testing.md'), name))
    expect(await compile(names, folder.path)).toBe('')
    for (const name of names) expect(await runSnippet(name, folder.path), name).toMatch(/^# pass 1$/m)
  })

  it('docs/serve.md shows a form and mounts that strict TypeScript accepts', { timeout: 60_000 }, async () => {
    using folder = snippetFolder()
    const page = readPage('docs/serve.md')
    const names = [
      'parrot',
      'order',
      'publisher',
      'handler',
      'node',
      'express',
      'fastify',
      'hono',
      'route',
      'next.config',
    ]
    const files = names.map((name) => `${name}.ts`)
    for (const name of files) folder.write(name, snippet(page, name))
    expect(await typeErrorsIn(files, folder.path)).toBe('')
  })

  it('docs/serve.md shows a server that works', { timeout: 60_000 }, async () => {
    using folder = snippetFolder()
    const port = await freePort()
    folder.write('server.ts', snippet(readPage('docs/serve.md'), 'server.ts').replace('8001', String(port)))
    expect(await typeErrorsIn(['server.ts'], folder.path)).toBe('')
    using server = startSnippet('server.ts', folder.path)
    expect(await server.ready).toBe(`Counter is at http://localhost:${port}/\n`)
    const send = async (parts: readonly object[], headers: Record<string, string> = { 'x-api-key': 'secret' }) => {
      const body = JSON.stringify({ message: { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts } })
      const url = `http://127.0.0.1:${port}/message:send`
      const response = await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body,
      })
      return JSON.stringify(await response.json())
    }
    expect(await send([{ text: 'one two' }, { raw: 'aGk=' }])).toMatch(/2 bytes.*2 words/)
    expect(await send([{ url: `http://127.0.0.1:${port}/healthz` }])).toContain('must be reached by https:')
    expect(await send([{ url: 'https://169.254.169.254/' }])).toContain('cannot be reached from here')
    expect(await send([{ text: 'hi' }], {})).toContain('UNAUTHENTICATED')
  })

  it('docs/serve.md shows an endpoint that works', { timeout: 60_000 }, async () => {
    using folder = snippetFolder()
    const port = await freePort()
    folder.write('endpoint.ts', snippet(readPage('docs/serve.md'), 'endpoint.ts').replace('8001', String(port)))
    expect(await typeErrorsIn(['endpoint.ts'], folder.path)).toBe('')
    using server = startSnippet('endpoint.ts', folder.path)
    expect(await server.ready).toBe(`POST to http://localhost:${port}/say\n`)
    const say = async (headers: Record<string, string>) => {
      const body = JSON.stringify({ text: 'hello' })
      const init = { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body }
      return await (await fetch(`http://127.0.0.1:${port}/say`, init)).text()
    }
    expect(await say({ 'x-api-key': 'secret' })).toBe('data: "HELLO"\n\n')
    expect(await say({})).toBe('Missing or invalid credentials')
  })
})

it('docs/extensions.md shows agents and callers that work', { timeout: 60_000 }, async () => {
  using folder = snippetFolder()
  const files = ['writer', 'mood', 'payer', 'cashier', 'approve'].map((name) => `${name}.ts`)
  for (const name of files) folder.write(name, snippet(readPage('docs/extensions.md'), name))
  expect(await typeErrorsIn(files, folder.path)).toBe('')
  expect(await runSnippet('writer.ts', folder.path)).toContain('{ inputTokens: 12, outputTokens: 4 }')
  expect(await runSnippet('approve.ts', folder.path)).toContain('Paid\n')
})
