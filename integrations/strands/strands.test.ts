import { Agent, type BaseModelConfig, type Message, Model, type ModelStreamEvent } from '@strands-agents/sdk'
import { A2AAgent, A2AStreamUpdateEvent } from '@strands-agents/sdk/a2a'
import { A2AExpressServer } from '@strands-agents/sdk/a2a/express'
import { type Served, serve } from 'dragoman'
import { type AgentClient, connect } from 'dragoman/client'
import { afterAll, beforeAll, expect } from 'vitest'
import { interop } from '../script/interop.js'
import { eventsOf, startedTask, textsOf } from '../script/read-stream.js'
import { tailor } from '../script/tailor.mjs'

const name = '@strands-agents/sdk 1.19.0'
let served: Served
let agent: A2AAgent
beforeAll(async () => {
  served = await serve(tailor)
  agent = new A2AAgent({ url: served.url })
})
afterAll(() => served.close({ deadlineMs: 0 }))

const ask = async (text: string) => (await agent.invoke(text)).toString()

interop(`${name}: \`A2AAgent\` calls Dragoman`, {
  ask: async () => expect(await ask('hello')).toBe('HELLO'),
  stream: async () => {
    const words: string[] = []
    for await (const event of agent.stream('count')) {
      if (!(event instanceof A2AStreamUpdateEvent) || event.event.kind !== 'artifact-update') continue
      for (const part of event.event.artifact.parts) if (part.kind === 'text') words.push(part.text)
    }
    expect(words.filter((word) => word !== '')).toEqual(['one ', 'two ', 'three'])
  },
  question: {
    reason: '`A2AAgent` reports completed tasks only, and its next message has no task id, so it starts a new task.',
    check: async () => {
      expect(await ask('suit')).toBe('')
      expect(await ask('large')).toBe('LARGE')
    },
  },
  cancel: { reason: '`A2AAgent` has no such method.' },
  file: async () => {
    const files: unknown[] = []
    for await (const event of agent.stream('pattern')) {
      if (!(event instanceof A2AStreamUpdateEvent) || event.event.kind !== 'artifact-update') continue
      for (const part of event.event.artifact.parts) if (part.kind === 'file') files.push(part.file)
    }
    expect(files).toEqual([{ bytes: btoa('cut here'), mimeType: 'text/plain', name: 'pattern.txt' }])
  },
})

let finish: () => void = () => undefined
const finished = new Promise<void>((resolve) => {
  finish = resolve
})

/** A model that repeats the text and the names of documents. */
class Parrot extends Model {
  override updateConfig(): void {}
  override getConfig(): BaseModelConfig {
    return { modelId: 'parrot' }
  }
  override async *stream(messages: Message[]): AsyncIterable<ModelStreamEvent> {
    const words = (messages.at(-1)?.content ?? []).flatMap((block) => {
      if (block.type === 'textBlock') return block.text.split(/(?<= )/)
      return block.type === 'documentBlock' ? [`a ${block.format} document`] : []
    })
    if (words[0] === 'sew') await finished
    yield { type: 'modelMessageStartEvent', role: 'assistant' }
    yield { type: 'modelContentBlockStartEvent' }
    for (const text of words) yield { type: 'modelContentBlockDeltaEvent', delta: { type: 'textDelta', text } }
    yield { type: 'modelContentBlockStopEvent' }
    yield { type: 'modelMessageStopEvent', stopReason: 'endTurn' }
  }
}

let client: AgentClient
const stop = new AbortController()
beforeAll(async () => {
  const server = new A2AExpressServer({
    name: 'Parrot',
    port: 0,
    agentFactory: () => new Agent({ model: new Parrot(), printer: false }),
  })
  await server.serve({ signal: stop.signal })
  client = await connect(`http://127.0.0.1:${server.port}`)
})
afterAll(async () => {
  await client.close()
  stop.abort()
})

interop(`${name}: Dragoman calls \`A2AServer\``, {
  ask: async () => expect((await client.ask('hello there')).text).toBe('hello there'),
  stream: async () => {
    expect(textsOf(await eventsOf(client.stream('one two three')))).toEqual(['one ', 'two ', 'three'])
  },
  question: { reason: '`A2AServer` never asks: every run ends the task.' },
  cancel: {
    reason: '`A2AServer` answers that it does not support it.',
    check: async () => {
      const id = await startedTask(client, 'sew')
      await expect(client.task(id).cancel()).rejects.toThrow('not supported')
      finish()
    },
  },
  file: async () => {
    const part = { raw: btoa('cut here'), mediaType: 'text/plain', filename: 'pattern.txt' }
    expect((await client.ask([part])).text).toBe('a txt document')
  },
})
