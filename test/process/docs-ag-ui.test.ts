/** Runs the examples of docs/integrations/ag-ui.md. */
import { symlinkSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, it } from 'vitest'
import { freePort } from './hostile-agent.js'
import { readPage, runSnippet, snippet, snippetFolder, startSnippet, typeErrorsIn } from './snippets.js'

const root = resolve(import.meta.dirname, '../..')

it('docs/integrations/ag-ui.md shows a server and clients that work', { timeout: 60_000 }, async () => {
  using folder = snippetFolder()
  symlinkSync(join(root, 'node_modules/@ag-ui'), join(folder.path, 'node_modules/@ag-ui'))
  const page = readPage('docs/integrations/ag-ui.md')
  const port = await freePort()
  const names = ['server', 'client', 'runtime', 'with-state', 'follow'].map((name) => `${name}.ts`)
  for (const name of names) folder.write(name, snippet(page, name).replaceAll('8001', String(port)))
  expect(await typeErrorsIn(names, folder.path)).toBe('')
  using server = startSnippet('server.ts', folder.path)
  expect(await server.ready).toBe(`The agent is at http://localhost:${port}/ag-ui\n`)
  expect(await runSnippet('client.ts', folder.path)).toBe('Which colour?\nA suit, blue\n')
  const events = (await runSnippet('follow.ts', folder.path)).trimEnd().split('\n')
  expect(events.map((event) => (JSON.parse(event) as { type: string }).type)).toEqual([
    'RUN_STARTED',
    'MESSAGES_SNAPSHOT',
    'TEXT_MESSAGE_START',
    'TEXT_MESSAGE_CONTENT',
    'TEXT_MESSAGE_CONTENT',
    'TEXT_MESSAGE_END',
    'RUN_FINISHED',
  ])
})
