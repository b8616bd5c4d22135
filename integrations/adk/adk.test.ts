import { once } from 'node:events'
import type { Server } from 'node:http'
import {
  BaseLlm,
  type BaseLlmConnection,
  InMemoryRunner,
  LlmAgent,
  type LlmRequest,
  type LlmResponse,
  LongRunningFunctionTool,
  RemoteA2AAgent,
  toA2a,
} from '@google/adk'
import { type Served, serve } from 'dragoman'
import { type AgentClient, connect } from 'dragoman/client'
import { afterAll, beforeAll, expect } from 'vitest'
import { z } from 'zod'
import { interop } from '../script/interop.js'
import { eventsOf, startedTask, textsOf } from '../script/read-stream.js'
import { freePort } from '../script/start-example.js'
import { tailor } from '../script/tailor.mjs'

const name = '@google/adk 2.0.0'
const ids = { appName: 'shop', userId: 'ann' }
let served: Served
beforeAll(async () => {
  served = await serve(tailor)
})
afterAll(() => served.close({ deadlineMs: 0 }))

/** Sends texts in a new session, and returns the parts of the last answer: pieces of streams, then the whole. */
async function converse(...texts: readonly string[]) {
  const agent = new RemoteA2AAgent({ name: 'tailor', agentCard: served.url })
  const runner = new InMemoryRunner({ agent, appName: ids.appName })
  const session = await runner.sessionService.createSession(ids)
  let last: readonly { readonly partial: boolean | undefined; readonly parts: unknown }[] = []
  for (const text of texts) {
    const newMessage = { role: 'user', parts: [{ text }] }
    const events = await eventsOf(runner.runAsync({ userId: ids.userId, sessionId: session.id, newMessage }))
    last = events.map(({ partial, content }) => ({ partial, parts: content?.parts }))
  }
  return last
}

const said = (text: string) => expect.objectContaining({ parts: [expect.objectContaining({ text })] })

interop(`${name}: \`RemoteA2AAgent\` calls Dragoman`, {
  ask: async () => expect(await converse('hello')).toEqual([said('HELLO')]),
  stream: async () => {
    const words = ['one ', 'two ', 'three'].map((text) => ({ partial: true, parts: [{ text, thought: false }] }))
    expect(await converse('count')).toEqual([...words, said('one two three')])
  },
  question: {
    reason: '`RemoteA2AAgent` shows the question, but names the task only in answers to calls of long-running tools.',
    check: async () => {
      expect(await converse('suit')).toEqual([said('Which size?')])
      expect(await converse('suit', 'large')).toEqual([said('LARGE')])
    },
  },
  cancel: { reason: '`RemoteA2AAgent` has no such method; an aborted run only closes the stream.' },
  file: async () => {
    const inlineData = { data: btoa('cut here'), mimeType: 'text/plain' }
    expect(await converse('pattern')).toEqual([expect.objectContaining({ parts: [{ inlineData }] })])
  },
})

let finish: () => void = () => undefined
const finished = new Promise<void>((resolve) => {
  finish = resolve
})

/** A model that repeats the text, names files, and calls the tool `ask_size` for a suit. */
class Parrot extends BaseLlm {
  constructor() {
    super({ model: 'parrot' })
  }

  override async *generateContentAsync({ contents }: LlmRequest, isStreamed?: boolean): AsyncGenerator<LlmResponse> {
    const parts = contents.at(-1)?.parts ?? []
    const answer = parts.find(({ functionResponse }) => functionResponse)?.functionResponse
    const text = parts.map((part) => part.text ?? part.inlineData?.mimeType ?? '').join('')
    const say = (words: string, partial = false): LlmResponse => ({
      content: { role: 'model', parts: [{ text: words }] },
      partial,
    })
    if (answer) yield say(`A ${answer.response?.size} suit`)
    else if (text === 'suit')
      yield { content: { role: 'model', parts: [{ functionCall: { id: 'call-1', name: 'ask_size', args: {} } }] } }
    else {
      if (text === 'sew') await finished
      if (isStreamed) for (const word of text.split(/(?<= )/)) yield say(word, true)
      yield say(text)
    }
  }

  override connect(): Promise<BaseLlmConnection> {
    throw new Error('not used')
  }
}

let server: Server
let client: AgentClient
beforeAll(async () => {
  const askSize = new LongRunningFunctionTool({
    name: 'ask_size',
    description: 'Asks for the size',
    parameters: z.object({}),
    execute: () => undefined,
  })
  const port = Number(await freePort())
  const agent = new LlmAgent({ name: 'parrot', model: new Parrot(), tools: [askSize] })
  const app = await toA2a(agent, { port, allowUnauthenticated: true })
  server = app.listen(port, '127.0.0.1')
  await once(server, 'listening')
  client = await connect(`http://localhost:${port}`)
})
afterAll(async () => {
  await client.close()
  server.closeAllConnections()
  server.close()
})

interop(`${name}: Dragoman calls \`toA2a\``, {
  ask: async () => expect((await client.ask('hello')).text).toBe('hello'),
  stream: async () => {
    // The last event replaces the pieces with the whole text.
    const events = await eventsOf(client.stream('one two three'))
    expect(textsOf(events)).toEqual(['one ', 'two ', 'three', 'one two three'])
    expect((await client.ask('one two three')).text).toBe('one two three')
  },
  question: async () => {
    const talk = client.conversation()
    const { state } = await talk.ask('suit')
    expect(state).toBe('TASK_STATE_INPUT_REQUIRED')
    const data = { id: 'call-1', name: 'ask_size', response: { size: 'large' } }
    const { text } = await talk.ask([{ data, metadata: { adk_type: 'function_response' } }])
    expect(text).toContain('A large suit')
  },
  cancel: {
    reason: '`toA2a` cancels tasks that wait for an answer, but not running ones.',
    check: async () => {
      const { task } = await client.conversation().ask('suit')
      expect((await client.task(task?.id ?? '').cancel()).status.state).toBe('TASK_STATE_CANCELED')
      const id = await startedTask(client, 'sew')
      await expect(client.task(id).cancel()).rejects.toThrow('not supported')
      finish()
    },
  },
  file: async () => {
    const part = { raw: btoa('cut here'), mediaType: 'text/plain', filename: 'pattern.txt' }
    expect((await client.ask([part])).text).toBe('text/plain')
  },
})
