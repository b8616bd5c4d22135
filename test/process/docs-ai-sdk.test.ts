/** Runs the examples of docs/integrations/ai-sdk.md, and checks the declarations with AI SDK 6 and 7. */
import { cpSync, rmSync, symlinkSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { freePort } from './hostile-agent.js'
import {
  readPage,
  runSnippet,
  type SnippetFolder,
  snippet,
  snippetFolder,
  startSnippet,
  typeErrorsIn,
} from './snippets.js'

const root = resolve(import.meta.dirname, '../..')
const names = ['server', 'transport', 'function', 'client', 'tools'].map((name) => `${name}.ts`)

/** Takes the place of the reader's model: calls the first tool, then says the result. */
const model = `
import type { LanguageModel } from 'ai'
import { MockLanguageModelV3, simulateReadableStream } from 'ai/test'

const usage = { inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 }, outputTokens: { total: 1, text: 1, reasoning: 0 } }
const answer = ({ prompt, tools = [] }: Parameters<MockLanguageModelV3['doStream']>[0]) => {
  const last = prompt.at(-1)
  const [tool] = tools
  if (tool === undefined || last?.role === 'tool') return { text: last?.role === 'tool' ? JSON.stringify(last.content[0]) : 'A poem' }
  return { call: { type: 'tool-call', toolCallId: 'c', toolName: tool.name, input: JSON.stringify(tool.name === 'pay' ? { amount: 5 } : { message: 'Pay' }) } as const }
}
export const model: LanguageModel = new MockLanguageModelV3({
  doGenerate: async (options) => {
    const { text, call } = answer(options)
    const finishReason = { unified: call ? 'tool-calls' : 'stop', raw: undefined } as const
    return { content: call ? [call] : [{ type: 'text', text }], finishReason, usage, warnings: [] }
  },
  doStream: async (options) => {
    const { text, call } = answer(options)
    const finishReason = { unified: call ? 'tool-calls' : 'stop', raw: undefined } as const
    const said = [{ type: 'text-start', id: 't' }, { type: 'text-delta', id: 't', delta: text ?? '' }, { type: 'text-end', id: 't' }] as const
    return { stream: simulateReadableStream({ chunks: [...(call ? [call] : said), { type: 'finish', finishReason, usage } as const] }) }
  },
})
`

/** Types that a declaration cannot lose: a missing type of `ai` would make them `any`. */
const types = `
import type { Agent, ChatTransport, LanguageModel, ToolLoopAgent, ToolSet, UIMessage } from 'ai'
import { type AgentModel, type AiSdkFunction, asChatTransport, asModel, asTools, fromAiSdk } from 'dragoman/ai-sdk'
type NotAny<T> = 0 extends 1 & T ? never : T
export const model: LanguageModel & NotAny<AgentModel> = asModel('localhost')
export const version: 'v3' = model.specificationVersion
export const tools: ToolSet & NotAny<Awaited<ReturnType<typeof asTools>>> = await asTools('localhost')
export const transport: ChatTransport<UIMessage> & NotAny<ReturnType<typeof asChatTransport>> = asChatTransport('localhost')
export const taken: NotAny<Parameters<typeof fromAiSdk>[0]> = {} as ToolLoopAgent
export const generic: Parameters<typeof fromAiSdk>[0] = {} as Agent
export const given: NotAny<Parameters<AiSdkFunction>[1][number]['role']> = 'user'
// @ts-expect-error: a string is no agent of the AI SDK
fromAiSdk('Payer', 'Payer')
`

function folderWith(major: string): SnippetFolder {
  const folder = snippetFolder()
  symlinkSync(join(root, 'node_modules', major === '6' ? 'ai-v6' : 'ai'), join(folder.path, 'node_modules/ai'))
  for (const name of ['zod', '@standard-schema'])
    symlinkSync(join(root, 'node_modules', name), join(folder.path, 'node_modules', name))
  folder.write('model.ts', model)
  return folder
}

/** Replaces the link to the package by its declarations, because a linked package finds the `ai` of this repository. */
function withDeclarations(folder: SnippetFolder): void {
  const installed = join(folder.path, 'node_modules/dragoman')
  rmSync(installed)
  const filter = (path: string) => !/\.\w+$/.test(path) || path.endsWith('.d.ts')
  cpSync(join(root, 'dist'), join(installed, 'dist'), { recursive: true, filter })
  cpSync(join(root, 'package.json'), join(installed, 'package.json'))
}

describe.each(['6', '7'])('docs/integrations/ai-sdk.md with AI SDK %s', (major) => {
  it('shows an agent, a model and tools that work', { timeout: 120_000 }, async () => {
    using folder = folderWith(major)
    const page = readPage('docs/integrations/ai-sdk.md')
    const port = await freePort()
    const other = await freePort()
    for (const name of names)
      folder.write(name, snippet(page, name).replaceAll('8001', String(port)).replaceAll('8002', String(other)))
    using server = startSnippet('server.ts', folder.path)
    expect(await server.ready).toBe(`The chat is at http://localhost:${port}/api/chat\n`)
    const said = await runSnippet('client.ts', folder.path)
    expect(said).toMatch(/^other: Approve pay \{"amount":5\}\?\n.*"paid":5/)
    expect(await runSnippet('tools.ts', folder.path)).toMatch(/input-required.*Approve pay/)
    using poet = startSnippet('function.ts', folder.path)
    expect(await poet.ready).toBe(`Poet is at http://localhost:${other}\n`)
    const body = JSON.stringify({ message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'Write' }] } })
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(`http://localhost:${other}/message:send`, { method: 'POST', headers, body })
    expect(await response.text()).toContain('A poem')
  })

  it('shows code that strict TypeScript accepts', { timeout: 120_000 }, async () => {
    using folder = folderWith(major)
    withDeclarations(folder)
    for (const name of names) folder.write(name, snippet(readPage('docs/integrations/ai-sdk.md'), name))
    folder.write('types.ts', types)
    expect(await typeErrorsIn(['types.ts', ...names], folder.path)).toBe('')
  })
})
