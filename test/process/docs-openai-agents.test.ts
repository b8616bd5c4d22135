/** Runs the examples of docs/integrations/openai-agents.md, with a scripted model in place of OpenAI's. */
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, it } from 'vitest'
import { freePort } from './hostile-agent.js'
import { readPage, runSnippet, snippet, snippetFolder, startSnippet, typeErrorsIn } from './snippets.js'

const root = resolve(import.meta.dirname, '../..')

/** The package `@openai/agents` re-exports the core and adds OpenAI's models. */
const agentsPackage = `
import { setDefaultModelProvider } from '@openai/agents-core'
import { assistantMessage, functionCall, ScriptedModel } from '@openai/agents-core/testing'
export * from '@openai/agents-core'
const scripted = ({ input, tools }) => {
  const isDone = JSON.stringify(input).includes('function_call_result')
  const [{ name }] = tools
  const call = functionCall(name, name === 'pay' ? { amount: 3 } : { message: 'Pay 3 euros' }, { callId: crypto.randomUUID() })
  return new ScriptedModel([[isDone ? assistantMessage(name === 'pay' ? 'It is paid.' : 'It needs your approval.') : call]])
}
setDefaultModelProvider({
  getModel: () => ({
    getResponse: (request) => scripted(request).getResponse(request),
    getStreamedResponse: (request) => scripted(request).getStreamedResponse(request),
  }),
})`

it('docs/integrations/openai-agents.md shows agents that work', { timeout: 60_000 }, async () => {
  using folder = snippetFolder()
  const modules = join(folder.path, 'node_modules')
  mkdirSync(join(modules, '@openai/agents'), { recursive: true })
  writeFileSync(join(modules, '@openai/agents/package.json'), '{ "type": "module", "main": "index.js" }')
  writeFileSync(join(modules, '@openai/agents/index.js'), agentsPackage)
  writeFileSync(join(modules, '@openai/agents/index.d.ts'), "export * from '@openai/agents-core'")
  for (const name of ['@openai/agents-core', 'zod']) symlinkSync(join(root, 'node_modules', name), join(modules, name))
  const page = readPage('docs/integrations/openai-agents.md')
  const port = await freePort()
  const names = ['server', 'client', 'desk', 'options'].map((name) => `${name}.ts`)
  for (const name of names) folder.write(name, snippet(page, name).replaceAll('8001', String(port)))
  expect(await typeErrorsIn(names, folder.path)).toBe('')
  using server = startSnippet('server.ts', folder.path)
  expect(await server.ready).toBe(`Payer is at http://localhost:${port}\n`)
  expect(await runSnippet('client.ts', folder.path)).toBe('Approve pay {"amount":3}?\nIt is paid.\n')
  expect(await runSnippet('desk.ts', folder.path)).toBe('It needs your approval.\n')
})
