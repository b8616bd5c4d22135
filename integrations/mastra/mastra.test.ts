import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { type ServerType, serve as serveHono } from '@hono/node-server'
import { A2AAgent } from '@mastra/core/a2a'
import { Agent } from '@mastra/core/agent'
import { Mastra } from '@mastra/core/mastra'
import { InMemoryStore } from '@mastra/core/storage'
import { createTool } from '@mastra/core/tools'
import { MastraServer } from '@mastra/hono'
import { InMemoryTaskStore } from '@mastra/server/a2a/store'
import { type Served, serve } from 'dragoman'
import { type AgentClient, connect } from 'dragoman/client'
import { Hono } from 'hono'
import { afterAll, beforeAll, expect } from 'vitest'
import { z } from 'zod'
import { interop } from '../script/interop.js'
import { eventsOf, startedTask, textsOf } from '../script/read-stream.js'
import { tailor } from '../script/tailor.mjs'

let served: Served
beforeAll(async () => {
  served = await serve(tailor)
})
afterAll(() => served.close({ deadlineMs: 0 }))

for (const protocolVersion of ['0.3', '1.0'] as const) {
  const agent = () => new A2AAgent({ url: served.url.replace(/\/$/, ''), protocolVersion })

  interop(`@mastra/core 1.71.0: \`A2AAgent\` calls Dragoman in ${protocolVersion}`, {
    ask: async () => expect((await agent().generate('hello')).text).toBe('HELLO'),
    stream: async () => {
      const { fullStream } = await agent().stream('count')
      const words = (await eventsOf(fullStream)).flatMap((each) =>
        each.type === 'text-delta' ? [each.payload.text] : [],
      )
      expect(words).toEqual(['one ', 'two ', 'three'])
    },
    question: async () => {
      const tailors = agent()
      const { text, finishReason, runId = '' } = await tailors.generate('suit')
      expect([text, finishReason]).toEqual(['Which size?', 'suspended'])
      expect((await tailors.resumeGenerate('large', { runId })).text).toBe('A large suit')
    },
    cancel: { reason: '`A2AAgent` has no such method; an aborted run only closes the stream.' },
    file: async () => {
      const { task } = await agent().generate('pattern')
      const file = { bytes: btoa('cut here'), mimeType: 'text/plain', name: 'pattern.txt' }
      expect(task?.artifacts?.[0]?.parts).toMatchObject([{ kind: 'file', file }])
    },
  })
}

interface Prompt {
  readonly prompt: readonly { readonly role: string; readonly content: unknown }[]
  readonly abortSignal?: AbortSignal
}

interface PromptPart {
  readonly type: string
  readonly text?: string
  readonly mediaType?: string
  readonly output?: unknown
}

/** A model that repeats the text, names files, and calls the tool `pay` for a suit. */
const parrot = {
  specificationVersion: 'v2' as const,
  provider: 'test',
  modelId: 'parrot',
  supportedUrls: {},
  async doGenerate({ prompt, abortSignal }: Prompt) {
    return { content: await contentFor(prompt, abortSignal), finishReason: 'stop' as const, usage, warnings: [] }
  },
  async doStream({ prompt, abortSignal }: Prompt) {
    const content = await contentFor(prompt, abortSignal)
    const parts = [
      { type: 'stream-start' as const, warnings: [] },
      ...content.flatMap(streamParts),
      { type: 'finish' as const, finishReason: content[0]?.type === 'tool-call' ? 'tool-calls' : 'stop', usage },
    ]
    const stream = new ReadableStream({
      start(controller) {
        for (const part of parts) controller.enqueue(part)
        controller.close()
      },
    })
    return { stream }
  },
}

function streamParts(part: Content): readonly object[] {
  if (part.type === 'tool-call') return [part]
  const deltas = part.text.split(/(?<= )/).map((delta) => ({ type: 'text-delta', id: 't', delta }))
  return [{ type: 'text-start', id: 't' }, ...deltas, { type: 'text-end', id: 't' }]
}

const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 }

type Content =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'tool-call'; readonly toolCallId: string; readonly toolName: string; readonly input: string }

async function contentFor(prompt: Prompt['prompt'], abortSignal?: AbortSignal): Promise<readonly Content[]> {
  const last = prompt.at(-1)
  const parts = (Array.isArray(last?.content) ? last.content : []) as readonly PromptPart[]
  if (last?.role === 'tool') return [{ type: 'text', text: 'paid' }]
  const text = parts.map((part) => part.text ?? part.mediaType ?? '').join('')
  if (text === 'suit') return [{ type: 'tool-call', toolCallId: 'c1', toolName: 'pay', input: '{}' }]
  if (text === 'sew') await new Promise((resolve) => abortSignal?.addEventListener('abort', resolve))
  return [{ type: 'text', text }]
}

let server: ServerType
let client: AgentClient
let address: string
beforeAll(async () => {
  const pay = createTool({
    id: 'pay',
    description: 'Pays',
    inputSchema: z.object({}),
    requireApproval: true,
    execute: async () => ({ paid: true }),
  })
  const agent = new Agent({
    id: 'parrot',
    name: 'Parrot',
    instructions: 'Repeat',
    model: parrot as never,
    tools: { pay },
  })
  const mastra = new Mastra({ agents: { parrot: agent }, logger: false, storage: new InMemoryStore() })
  const app = new Hono()
  await new MastraServer({ app, mastra, taskStore: new InMemoryTaskStore() }).init()
  server = serveHono({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' })
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  address = `http://127.0.0.1:${port}/api`
  client = await connect(`${address}/.well-known/parrot/agent-card.json`)
})
afterAll(async () => {
  await client.close()
  server.close()
})

interop('@mastra/core 1.71.0 and @mastra/hono 1.7.9: Dragoman calls `MastraServer` in 0.3', {
  ask: async () => expect((await client.ask('hello')).text).toBe('hello'),
  stream: async () => {
    expect(textsOf(await eventsOf(client.stream('one two three')))).toEqual(['one ', 'two ', 'three'])
  },
  question: async () => {
    const talk = client.conversation()
    const question = await talk.ask('suit')
    expect(question.state).toBe('TASK_STATE_INPUT_REQUIRED')
    expect((await talk.ask([{ data: { approved: true } }])).text).toBe('paid')
  },
  cancel: async () => {
    const id = await startedTask(client, 'sew')
    expect((await client.task(id).cancel()).status.state).toBe('TASK_STATE_CANCELED')
  },
  file: async () => {
    const part = { raw: btoa('cut here'), mediaType: 'text/plain', filename: 'pattern.txt' }
    expect((await client.ask([part])).text).toBe('text/plain')
  },
})

const reason = '`MastraServer` serves the card and the method names of 0.3 only, and refuses `SendMessage` with 400.'
interop('@mastra/core 1.71.0 and @mastra/hono 1.7.9: Dragoman calls `MastraServer` in 1.0', {
  ask: {
    reason,
    check: async () => {
      const url = `${address}/a2a/parrot`
      const card = {
        ...client.card,
        supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
      }
      await using pinned = await connect(card)
      await expect(pinned.ask('hello')).rejects.toThrow('HTTP 400')
    },
  },
  stream: { reason },
  question: { reason },
  cancel: { reason },
  file: { reason },
})
