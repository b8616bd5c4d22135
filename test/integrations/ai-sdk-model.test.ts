/** `asModel` with AI SDK 6 and 7, over a real port. */
import * as ai7 from 'ai'
import * as ai6 from 'ai-v6'
import { agent, artifact, ask, data, failed, file, serve, step, steps, usage, working } from 'dragoman'
import { asModel } from 'dragoman/ai-sdk'
import { connect } from 'dragoman/client'
import { describe, expect, it } from 'vitest'
import { gate } from '../../src/testing/wait.js'

const tailor = agent({ name: 'Tailor', extensions: [steps, usage] }, async function* (turn) {
  if (turn.number > 1) return yield `A ${turn.text} suit for ${turn.contextId.length > 0 ? 'you' : 'none'}`
  if (turn.text === 'fail') return yield failed('No cloth')
  if (turn.text === 'replace') {
    yield artifact('draft', 'Old', { id: 'a' })
    yield artifact('draft', 'New', { id: 'a' })
    return
  }
  if (turn.text === 'files') {
    yield artifact('photo', file(new Uint8Array([1, 2]), { mediaType: 'image/png' }))
    yield artifact('link', file(new URL('https://example.com/a.pdf'), { filename: 'a.pdf' }))
    yield artifact('size', data({ chest: 99 }), { id: 's' })
    return yield artifact('size', data({ chest: 100 }), { id: 's' })
  }
  if (turn.text === 'script') return yield artifact('page', file(new URL('javascript:alert(1)')))
  yield working('Measuring')
  yield step({ kind: 'reasoning', id: 'r', text: 'A suit needs cloth.' })
  turn.usage.add({ inputTokens: 3, outputTokens: 5, cachedTokens: 1 })
  yield 'One '
  yield 'moment.'
  yield ask('Which colour?')
})

describe.each([
  ['6', ai6 as unknown as typeof ai7],
  ['7', ai7],
])('asModel in AI SDK %s', (_version, { generateText, streamText }) => {
  it('answers, asks and remembers the conversation', async () => {
    await using served = await serve(tailor)
    const model = asModel(served.url)
    const first = await generateText({ model, prompt: 'A suit' })
    expect(first.text).toBe('One moment.Which colour?')
    expect(first.reasoningText).toBe('A suit needs cloth.')
    expect(first.finishReason).toBe('other')
    expect(first.providerMetadata).toMatchObject({ a2a: { state: 'input-required' } })
    expect(first.usage).toMatchObject({ inputTokens: 3, outputTokens: 5 })
    expect(first.warnings).toEqual([])
    const second = await generateText({
      model,
      messages: [{ role: 'user', content: 'A suit' }, ...first.response.messages, { role: 'user', content: 'blue' }],
    })
    expect(second.text).toBe('A blue suit for you')
    expect(second.finishReason).toBe('stop')
    expect(second.providerMetadata?.a2a?.contextId).toBe(first.providerMetadata?.a2a?.contextId)
    expect(second.providerMetadata?.a2a?.taskId).toBe(first.providerMetadata?.a2a?.taskId)
  })

  it('streams', async () => {
    await using served = await serve(tailor)
    await using client = await connect(served.url)
    const result = streamText({ model: asModel(client), prompt: 'A suit' })
    const texts: string[] = []
    for await (const text of result.textStream) texts.push(text)
    expect(texts.join('|')).toBe('One |moment.|Which colour?')
    expect(await result.finishReason).toBe('other')
    const messages = (await result.response).messages
    expect(JSON.stringify(messages)).toContain('"taskId"')
  })

  it('shows files, links and data, and keeps the context of an answer without text', async () => {
    await using served = await serve(tailor)
    const { text, files, sources, providerMetadata, response } = await generateText({
      model: asModel(served.url),
      prompt: 'files',
    })
    expect(files.map(({ base64, mediaType }) => [base64, mediaType])).toEqual([['AQI=', 'image/png']])
    expect(sources).toMatchObject([{ sourceType: 'url', url: 'https://example.com/a.pdf', title: 'a.pdf' }])
    expect(text).toBe('{"chest":100}')
    expect(providerMetadata?.a2a).toMatchObject({ data: [{ chest: 100 }] })
    expect(JSON.stringify(response.messages)).toContain('"contextId"')
  })

  it('shows links that are no web addresses as text', async () => {
    await using served = await serve(tailor)
    const { text, sources } = await generateText({ model: asModel(served.url), prompt: 'script' })
    expect([text, sources]).toEqual(['javascript:alert(1)', []])
  })

  it('does not make a reader that leaves wait for the agent', async () => {
    const left = gate()
    const slow = agent('Slow', async function* () {
      yield 'Waiting'
      await left.opened
    })
    await using served = await serve(slow)
    for await (const text of streamText({ model: asModel(served.url), prompt: 'Go' }).textStream) if (text !== '') break
    left.open()
  })

  it('takes back replaced text in results', async () => {
    await using served = await serve(tailor)
    expect((await generateText({ model: asModel(served.url), prompt: 'replace' })).text).toBe('New')
  })

  it('sends files', async () => {
    const seen = agent({ name: 'Viewer', defaultInputModes: ['*/*'] }, async function* ({ message }) {
      yield JSON.stringify(message.parts)
    })
    await using served = await serve(seen)
    const { text } = await generateText({
      model: asModel(served.url),
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'See' },
            { type: 'file', data: new Uint8Array([1, 2]), mediaType: 'image/png', filename: 'a.png' },
            { type: 'file', data: new URL('https://example.com/a.pdf'), mediaType: 'application/pdf' },
          ],
        },
      ],
    })
    expect(JSON.parse(text)).toEqual([
      { text: 'See' },
      { raw: 'AQI=', mediaType: 'image/png', filename: 'a.png' },
      { url: 'https://example.com/a.pdf', mediaType: 'application/pdf' },
    ])
  })

  it.each([
    ['@@@', 'must be base64 with padding'],
    [new URL('file:///etc/passwd'), 'must be an http or https URL'],
  ])('refuses the file %s', async (data, problem) => {
    const file = { type: 'file', data, mediaType: 'image/png' } as const
    const call = asModel('localhost:1').doGenerate({ prompt: [{ role: 'user', content: [file] }] })
    await expect(call).rejects.toThrow(problem)
  })

  it('throws the reason of a failed task', async () => {
    await using served = await serve(tailor)
    await expect(generateText({ model: asModel(served.url), prompt: 'fail', maxRetries: 0 })).rejects.toThrow(
      'No cloth',
    )
  })

  it('cancels the task when the call is aborted', async () => {
    const isCancelled = gate()
    const begun = gate()
    const slow = agent('Slow', async function* ({ signal }) {
      yield 'Waiting'
      signal.addEventListener('abort', () => isCancelled.open())
      begun.open()
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
    })
    await using served = await serve(slow)
    const controller = new AbortController()
    const answer = generateText({ model: asModel(served.url), prompt: 'Go', abortSignal: controller.signal })
    await begun.opened
    controller.abort()
    await expect(answer).rejects.toThrow()
    await isCancelled.opened
  })

  it('warns of settings that have no effect', async () => {
    await using served = await serve(tailor)
    const { warnings } = await generateText({
      model: asModel(served.url),
      prompt: 'A suit',
      temperature: 1,
      seed: 2,
      system: 'Be brief',
    })
    expect(warnings?.map((warning) => 'feature' in warning && warning.feature)).toEqual([
      'temperature',
      'seed',
      'system messages',
    ])
  })
})
