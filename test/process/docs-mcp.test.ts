/** Runs the examples of docs/integrations/mcp.md. */
import { mkdirSync, symlinkSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { data } from 'dragoman'
import { connect } from 'dragoman/client'
import { expect, it } from 'vitest'
import { freePort } from './hostile-agent.js'
import { readPage, runSnippet, snippet, snippetFolder, startSnippet, typeErrorsIn } from './snippets.js'

const root = resolve(import.meta.dirname, '../..')

it('docs/integrations/mcp.md shows a server, a client and an agent of tools that work', {
  timeout: 60_000,
}, async () => {
  using folder = snippetFolder()
  mkdirSync(join(folder.path, 'node_modules/@modelcontextprotocol'), { recursive: true })
  for (const name of ['client', 'server'].map((each) => `node_modules/@modelcontextprotocol/${each}`))
    symlinkSync(join(root, name), join(folder.path, name))
  const page = readPage('docs/integrations/mcp.md')
  const [port, toolsPort] = [await freePort(), await freePort()]
  const names = ['server.ts', 'client.ts', 'tools.ts']
  for (const name of names)
    folder.write(name, snippet(page, name).replaceAll('8001', String(port)).replaceAll('8002', String(toolsPort)))
  expect(await typeErrorsIn(names, folder.path)).toBe('')
  using server = startSnippet('server.ts', folder.path)
  expect(await server.ready).toBe(`The MCP server is http://localhost:${port}/mcp\n`)
  expect(await runSnippet('client.ts', folder.path)).toBe('Which colour?\nA blue suit\n')
  using tools = startSnippet('tools.ts', folder.path)
  expect(await tools.ready).toBe(`The tools are ready at http://localhost:${toolsPort}\n`)
  await using agent = await connect(`localhost:${toolsPort}`)
  const asked = await agent.ask([data({ message: 'I need a suit' })], { metadata: { skillId: 'Tailor' } })
  expect(asked).toMatchObject({ state: 'TASK_STATE_INPUT_REQUIRED', text: 'Which colour?' })
  const { text } = await agent.ask([data({ answer: 'blue' })], { taskId: asked.task?.id ?? '' })
  expect(text).toContain('A blue suit')
})
