import { a2a } from 'a2a-ai-provider'
import { generateText, streamText } from 'ai'
import { type Served, serve } from 'dragoman'
import { afterAll, beforeAll, expect, vi } from 'vitest'
import { interop } from '../script/interop.js'
import { eventsOf } from '../script/read-stream.js'
import { tailor } from '../script/tailor.mjs'

let served: Served
beforeAll(async () => {
  // The package prints every event.
  vi.spyOn(console, 'log').mockImplementation(() => undefined)
  served = await serve(tailor)
})
afterAll(() => served.close({ deadlineMs: 0 }))

const model = () => a2a(`${served.url}.well-known/agent-card.json`)

interop('a2a-ai-provider 0.5.0-alpha.1 with ai 6.0.326: calls Dragoman', {
  ask: async () => expect((await generateText({ model: model(), prompt: 'hello' })).text).toBe('HELLO'),
  stream: async () => {
    const { textStream } = streamText({ model: model(), prompt: 'count' })
    expect(await eventsOf(textStream)).toEqual(['one ', 'two ', 'three'])
  },
  question: {
    reason: 'The model shows the question, but sends no task id, so the answer starts a new task.',
    check: async () => {
      const { text, response } = await generateText({ model: model(), prompt: 'suit' })
      expect(text).toBe('Which size?')
      const { contextId } = response.body as { readonly contextId: string }
      const a2aOptions = { providerOptions: { a2a: { contextId } } }
      expect((await generateText({ model: model(), prompt: 'large', ...a2aOptions })).text).toBe('LARGE')
    },
  },
  cancel: { reason: 'The model ignores the abort signal.' },
  file: async () => {
    const { files } = await generateText({ model: model(), prompt: 'pattern' })
    expect(files.map(({ mediaType, uint8Array }) => [mediaType, new TextDecoder().decode(uint8Array)])).toEqual([
      ['text/plain', 'cut here'],
    ])
  },
})
