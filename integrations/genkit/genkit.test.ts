import { openAICompatible } from '@genkit-ai/compat-oai'
import { createMcpClient, type GenkitMcpClient } from '@genkit-ai/mcp'
import { type Served, serve } from 'dragoman'
import { connect } from 'dragoman/client'
import { mcpEndpoint } from 'dragoman/mcp'
import { openAiEndpoint } from 'dragoman/openai'
import { type Genkit, genkit } from 'genkit'
import { afterAll, beforeAll, expect, vi } from 'vitest'
import { interop } from '../script/interop.js'
import { eventsOf } from '../script/read-stream.js'
import { tailor } from '../script/tailor.mjs'

let served: Served
let ai: Genkit
let mcp: GenkitMcpClient
beforeAll(async () => {
  const endpoints = [mcpEndpoint({ path: '/mcp' }), openAiEndpoint({ contextHeaders: ['x-chat-id'] })]
  served = await serve(tailor, { endpoints })
  const common = { apiKey: 'none', baseURL: `${served.url}v1` }
  ai = genkit({
    plugins: [
      openAICompatible({ name: 'dragoman', ...common }),
      openAICompatible({ name: 'chat', ...common, defaultHeaders: { 'x-chat-id': 'chat-1' } }),
    ],
  })
  mcp = createMcpClient({ name: 'dragoman', mcpServer: { url: `${served.url}mcp` } })
  await mcp.ready()
})
afterAll(async () => {
  await mcp.disable()
  await served.close({ deadlineMs: 0 })
})

const model = 'dragoman/Tailor'

interop('genkit 1.42.0: `@genkit-ai/compat-oai` calls `openAiEndpoint`', {
  ask: async () => expect((await ai.generate({ model, prompt: 'hello' })).text).toBe('HELLO'),
  stream: async () => {
    const { stream } = ai.generateStream({ model, prompt: 'count' })
    const words = (await eventsOf(stream)).map(({ text }) => text)
    expect(words.filter((word) => word !== '')).toEqual(['one ', 'two ', 'three'])
  },
  question: async () => {
    // A header names the conversation, so that the next message answers its open question.
    const question = await ai.generate({ model: 'chat/Tailor', prompt: 'suit' })
    expect(question.text).toBe('Which size?')
    const { text } = await ai.generate({ model: 'chat/Tailor', messages: question.messages, prompt: 'large' })
    expect(text).toBe('A large suit')
  },
  cancel: async () => {
    await using agent = await connect(served.url)
    const newest = async () => (await agent.listTasks({})).tasks[0]?.status
    const stop = new AbortController()
    const { response } = ai.generateStream({ model, prompt: 'sew', abortSignal: stop.signal })
    const failed = expect(response).rejects.toThrow('aborted')
    await vi.waitFor(async () => expect(await newest()).toMatchObject({ state: 'TASK_STATE_WORKING' }), 10_000)
    stop.abort()
    await failed
    await vi.waitFor(async () => expect(await newest()).toMatchObject({ state: 'TASK_STATE_CANCELED' }), 10_000)
  },
  file: async () => {
    // Chat completions have no files in answers.
    const { text } = await ai.generate({ model, prompt: 'pattern' })
    expect(text).toBe(`[pattern.txt](data:text/plain;base64,${btoa('cut here')})`)
  },
})

async function call(name: string, input: Readonly<Record<string, string>>): Promise<unknown> {
  const tools = await mcp.getActiveTools(ai)
  const tool = tools.find(({ __action }) => __action.name === `dragoman/${name}`)
  return await tool?.(input)
}

interop('genkit 1.42.0: `@genkit-ai/mcp` calls `mcpEndpoint`', {
  ask: async () => expect(await call('Tailor', { message: 'hello' })).toContain('HELLO'),
  stream: { reason: 'Results of MCP tools are not streamed.' },
  question: async () => {
    const question = String(await call('Tailor', { message: 'suit' }))
    expect(question).toContain('Which size?')
    const [, task = ''] = /task_id "([^"]+)"/.exec(question) ?? []
    expect(await call('a2a_reply', { task_id: task, answer: 'large' })).toContain('A large suit')
  },
  cancel: { reason: '`@genkit-ai/mcp` calls tools without an abort signal.' },
  file: async () => {
    const resource = { mimeType: 'text/plain', blob: btoa('cut here') }
    expect(await call('Tailor', { message: 'pattern' })).toMatchObject({
      content: [{ type: 'resource', resource }, {}],
    })
  },
})
