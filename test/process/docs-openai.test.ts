/** Runs the examples of docs/integrations/openai.md. */
import { symlinkSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, it } from 'vitest'
import { freePort } from './hostile-agent.js'
import { readPage, runSnippet, snippet, snippetFolder, startSnippet, typeErrorsIn } from './snippets.js'

const root = resolve(import.meta.dirname, '../..')

it('docs/integrations/openai.md shows a server and clients that work', { timeout: 60_000 }, async () => {
  using folder = snippetFolder()
  symlinkSync(join(root, 'node_modules/openai'), join(folder.path, 'node_modules/openai'))
  const page = readPage('docs/integrations/openai.md')
  const port = await freePort()
  const names = ['server', 'client', 'chat', 'background', 'chats'].map((name) => `${name}.ts`)
  for (const name of names) folder.write(name, snippet(page, name).replaceAll('8001', String(port)))
  expect(await typeErrorsIn(names, folder.path)).toBe('')
  using server = startSnippet('server.ts', folder.path)
  expect(await server.ready).toBe(`The base URL is http://localhost:${port}/v1\n`)
  expect(await runSnippet('client.ts', folder.path)).toBe('Which colour?\nA suit, blue\n')
  expect(await runSnippet('chat.ts', folder.path)).toBe('Which colour?')
  expect(await runSnippet('background.ts', folder.path)).toBe('input-required\n')
})
