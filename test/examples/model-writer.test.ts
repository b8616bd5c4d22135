import { testAgent } from 'dragoman/testing'
import { describe, expect, it } from 'vitest'
import { createDocAgent } from '../../examples/agents/doc.js'
import { createOutlineAgent } from '../../examples/agents/outline.js'
import { createModelWriter } from '../../examples/writing/model-writer.js'
import { createWriter } from '../../examples/writing/writer.js'
import { answer, type Behaviour, begin, modelServer, piece, refuse } from './model-server.js'

const outline = { topic: 'tea', title: 'Tea', sections: [{ title: 'Leaves', points: ['green', 'black'] }] }

async function collect(pieces: AsyncIterable<string>): Promise<string[]> {
  const collected = []
  for await (const each of pieces) collected.push(each)
  return collected
}

const writerAt = (url: string, more: object = {}) => createModelWriter({ model: 'm1', url, retries: 0, ...more })

describe('the model writer', () => {
  it('is selected by the environment, and has the name of the model', () => {
    const env = { DRAGOMAN_MODEL: 'm1', DRAGOMAN_MODEL_URL: 'http://127.0.0.1:1/v1' }
    expect(createWriter(env).name).toBe('m1')
    expect(createWriter({}).name).toBe('offline')
    expect(() => createWriter({ DRAGOMAN_MODEL: 'm1' })).toThrow('DRAGOMAN_MODEL_URL')
  })

  it('streams the output of the model', async () => {
    let goOn = () => {}
    await using server = await modelServer((response) => {
      begin(response)
      piece(response, '# Tea')
      goOn = () => {
        piece(response, '\n\nLeaves.')
        piece(response, '', 'stop')
        response.end('data: [DONE]\n\n')
      }
    })
    const pieces = writerAt(server.url, { key: 'k1' }).document(outline)[Symbol.asyncIterator]()
    // The first chunk arrives before the second is written.
    expect(await pieces.next()).toEqual({ done: false, value: '# Tea' })
    goOn()
    expect(await pieces.next()).toEqual({ done: false, value: '\n\nLeaves.' })
    expect(await pieces.next()).toMatchObject({ done: true })
    const [request] = server.requests
    expect(request).toMatchObject({ model: 'm1', stream: true, authorization: 'Bearer k1' })
    expect(request?.messages.at(-1)?.content).toContain('Leaves')
  })

  it('extracts the outline from surrounding text', async () => {
    const json = JSON.stringify({ title: '茶', sections: [{ title: '来历', points: ['产地'] }, '做法'] })
    await using server = await modelServer(answer('好的：\n```json\n', json, '\n```'))
    expect(await writerAt(server.url).outline('茉莉花茶')).toEqual({
      topic: '茉莉花茶',
      title: '茶',
      sections: [
        { title: '来历', points: ['产地'] },
        { title: '做法', points: [] },
      ],
    })
  })

  it('fails if the answer has no outline', async () => {
    await using server = await modelServer(answer('I would rather not.'))
    await expect(writerAt(server.url).outline('tea')).rejects.toMatchObject({ code: 'UNAVAILABLE' })
  })

  it('sends the whole conversation to the model', async () => {
    await using server = await modelServer(answer('Li'))
    const lines = [
      { role: 'user' as const, text: 'My name is Li' },
      { role: 'agent' as const, text: 'Hello Li' },
      { role: 'user' as const, text: 'Who am I?' },
    ]
    expect(await collect(writerAt(server.url).chat(lines))).toEqual(['Li'])
    expect(server.requests[0]?.messages.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'user'])
  })

  it.each<[string, Behaviour, RegExp]>([
    ['a 500', refuse(500), /refused the request with status 500/],
    ['a 401', refuse(401), /refused the request with status 401/],
    ['a 429', refuse(429), /busy/],
    [
      'a stream that breaks',
      (response) => {
        begin(response)
        piece(response, 'half a')
        setImmediate(() => response.destroy())
      },
      // The first half may or may not arrive before the end.
      /does not answer|stopped in the middle/,
    ],
    [
      'a stream that ends too soon',
      (response) => {
        begin(response)
        piece(response, 'half a')
        response.end()
      },
      /stopped in the middle/,
    ],
    [
      'a filter that cuts the answer short',
      (response) => {
        begin(response)
        piece(response, 'half a')
        piece(response, '', 'content_filter')
        response.end('data: [DONE]\n\n')
      },
      /stopped in the middle/,
    ],
    [
      'a stream of something else',
      (response) => {
        begin(response)
        response.end('data: {"nonsense":\n\n')
      },
      /does not answer|stopped in the middle/,
    ],
    [
      'an error inside the stream',
      (response) => {
        begin(response)
        response.end('data: {"error":{"message":"secret details"}}\n\n')
      },
      /does not answer|stopped in the middle/,
    ],
  ])('fails with a message without internal details after %s', async (_what, behave, words) => {
    await using server = await modelServer(behave)
    const failure = await collect(writerAt(server.url).document(outline)).catch((error: unknown) => error)
    expect(failure).toMatchObject({ code: 'UNAVAILABLE', message: expect.stringMatching(words) })
    expect(String(failure)).not.toContain('secret')
  })

  it.each<[string, Behaviour, RegExp]>([
    ['before the first word', () => undefined, /does not answer/],
    [
      'after the first word',
      (response) => {
        begin(response)
        piece(response, 'half a')
      },
      /stopped in the middle/,
    ],
  ])('stops waiting for a model that is silent %s', async (_when, behave, words) => {
    await using server = await modelServer(behave)
    const writing = collect(writerAt(server.url, { silenceMs: 300 }).document(outline))
    await expect(writing).rejects.toThrow(words)
    await server.hungUp
  })

  it('retries temporary refusals', async () => {
    const behaviours = [refuse(500), answer('at last')]
    await using server = await modelServer((response) => behaviours.shift()?.(response))
    expect(await collect(writerAt(server.url, { retries: 1 }).summary('text'))).toEqual(['at last'])
  }, 20_000)

  it('stops when its signal aborts', async () => {
    await using server = await modelServer((response) => {
      begin(response)
      piece(response, 'half a')
    })
    const controller = new AbortController()
    const pieces = writerAt(server.url).document(outline, { signal: controller.signal })[Symbol.asyncIterator]()
    await pieces.next()
    controller.abort()
    await expect(pieces.next()).rejects.toMatchObject({ name: 'AbortError' })
    await server.hungUp
  })
})

describe('agents that write with a model', () => {
  it('fail with a status message, and name the writer of their output', async () => {
    const behaviours = [answer(JSON.stringify({ title: 'Tea', sections: ['Leaves'] })), answer('# Tea'), refuse(500)]
    await using server = await modelServer((response) => behaviours.shift()?.(response))
    const writer = writerAt(server.url)
    await using outlines = await testAgent(createOutlineAgent(writer))
    await using docs = await testAgent(createDocAgent(writer))
    const outlined = await outlines.client.ask('tea')
    expect(outlined.artifacts[0]).toMatchObject({ name: 'outline', metadata: { writer: 'm1' } })
    const written = await docs.client.ask([{ data: outline }])
    expect(written.artifacts[0]).toMatchObject({ name: 'document', metadata: { writer: 'm1' } })
    expect(await docs.client.ask([{ data: outline }])).toMatchObject({
      state: 'TASK_STATE_FAILED',
      text: 'The language model refused the request with status 500',
    })
  })
})
