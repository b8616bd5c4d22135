/** Agents of every kind behind the OpenAI-compatible endpoint. */
import { agent, approve, artifact, bearer, completed, MemoryStore, reply, usage } from 'dragoman'
import { openAiEndpoint } from 'dragoman/openai'
import { createHandler } from 'dragoman/server'
import { until } from 'dragoman/testing'
import OpenAI from 'openai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { serveTailor, tailor } from './openai.fixture.js'

async function serveWith(...given: Parameters<typeof serveTailor>) {
  const served = await serveTailor(...given)
  const clientOf = (apiKey: string) => new OpenAI({ apiKey, baseURL: served.baseURL, maxRetries: 0 })
  return { ...served, clientOf, ai: clientOf('key') }
}

describe('extensions', () => {
  const payer = agent({ name: 'Payer', extensions: [usage] }, async function* (turn) {
    turn.usage.add({ inputTokens: 12, outputTokens: 3, cachedTokens: 2 })
    if (turn.text === 'pay') yield approve([{ id: 'c1', name: 'pay', args: { amount: 5 } }])
    const decision = turn.approvals?.get('c1')
    yield completed(decision ? `approved: ${decision.approved}` : 'done')
  })

  it('reports the usage of the task', async () => {
    await using served = await serveWith({}, {}, [payer])
    const tokens = { input_tokens: 12, output_tokens: 3, total_tokens: 15, input_tokens_details: { cached_tokens: 2 } }
    const response = await served.ai.responses.create({ model: 'Payer', input: 'hello' })
    expect(response.usage).toMatchObject(tokens)
    expect((await served.ai.responses.retrieve(response.id)).usage).toMatchObject(tokens)
    const completion = await served.ai.chat.completions.create({
      model: 'Payer',
      messages: [{ role: 'user', content: 'x' }],
    })
    expect(completion.usage).toMatchObject({ prompt_tokens: 12, completion_tokens: 3, total_tokens: 15 })
  })

  it('decides an approval by yes or no', async () => {
    await using served = await serveWith({}, {}, [payer])
    for (const [input, decision] of [
      ['yes', 'approved: true'],
      ['no', 'approved: false'],
    ] as const) {
      const asked = await served.ai.responses.create({ model: 'Payer', input: 'pay' })
      expect(asked.output_text).toContain('Approve pay')
      const unclear = served.ai.responses.create({ input: 'perhaps', previous_response_id: asked.id })
      await expect(unclear).rejects.toBeInstanceOf(OpenAI.BadRequestError)
      const answered = await served.ai.responses.create({ input, previous_response_id: asked.id })
      expect(answered.output_text).toBe(decision)
    }
  })
})

describe('agents', () => {
  it('answers with the reply of an agent that makes no task', async () => {
    const greeter = agent('Greeter', async function* () {
      yield reply('Hello')
    })
    await using served = await serveWith({}, {}, [greeter])
    const response = await served.ai.responses.create({ model: 'Greeter', input: 'x' })
    expect(response.output_text).toBe('Hello')
    expect((await served.ai.responses.retrieve(response.id)).output_text).toBe('Hello')
  })

  it('shows the newest value of data that the agent replaces', async () => {
    const counter = agent('Counter', async function* () {
      for (const count of [1, 2, 3]) yield artifact('state', [{ data: { count } }], { id: 'state' })
      yield 'Done'
    })
    await using served = await serveWith({}, {}, [counter])
    const response = await served.ai.responses.create({ model: 'Counter', input: 'x' })
    expect(response.output_text).toBe('{"count":3}\n\nDone')
  })

  it('separates artifacts, and joins the pieces of each', async () => {
    const writer = agent('Writer', async function* () {
      yield 'A '
      yield 'B'
      yield artifact('second', 'C')
      yield artifact('second', 'D', { append: true })
      yield completed('E')
    })
    await using served = await serveWith({}, {}, [writer])
    const response = await served.ai.responses.create({ model: 'Writer', input: 'x' })
    expect(response.output_text).toBe('A B\n\nCD\n\nE')
    const messages = [{ role: 'user' as const, content: 'x' }]
    const stream = served.ai.chat.completions.stream({ model: 'Writer', messages })
    expect(await stream.finalContent()).toBe('A B\n\nCD\n\nE')
  })

  it('sends JSON as data to agents whose skills take data', async () => {
    const input = z.object({ size: z.number() })
    const sizer = agent({ name: 'Sizer', skills: [{ id: 'size', input }] }, async function* (turn) {
      yield `Size ${turn.data().size}`
    })
    await using served = await serveWith({}, {}, [sizer])
    const response = await served.ai.responses.create({ model: 'Sizer', input: '{"size":52}' })
    expect(response.output_text).toBe('Size 52')
    for (const wrong of ['52', '{"size":"x"}', 'a suit', `{"size":${'['.repeat(5_000)}${']'.repeat(5_000)}}`])
      await expect(served.ai.responses.create({ model: 'Sizer', input: wrong })).rejects.toBeInstanceOf(
        OpenAI.BadRequestError,
      )
  })

  it('refuses skills that the caller may not use', async () => {
    const scheme = bearer({ key: { id: 'ann', scopes: ['admin'] }, 'other-key': { id: 'bob' } })
    const skill = { id: 'repair', securityRequirements: [{ schemes: { bearer: { list: ['admin'] } } }] }
    const workshop = agent({ name: 'Workshop', skills: [skill] }, async function* () {
      yield 'repaired'
    })
    await using served = await serveWith({}, { auth: [scheme] }, [workshop])
    const create = (key: string) => served.clientOf(key).responses.create({ model: 'Workshop', input: 'x' })
    expect((await create('key')).output_text).toBe('repaired')
    await expect(create('other-key')).rejects.toBeInstanceOf(OpenAI.PermissionDeniedError)
  })

  it('shows the turns of a task whose events were removed', async () => {
    const store = new MemoryStore()
    await using served = await serveWith({}, { store })
    const { responses } = served.ai
    const asked = await responses.create({ model: 'Tailor', input: 'ask' })
    const answered = await responses.create({ model: 'Tailor', input: 'blue', previous_response_id: asked.id })
    await responses.create({ model: 'Tailor', input: 'newer' })
    const ended = Date.now()
    await until(() => Date.now() > ended)
    await store.expire('Tailor', { endedEventsMs: 0, limit: 100 })
    expect(await responses.retrieve(asked.id)).toEqual(asked)
    expect(await responses.retrieve(answered.id)).toEqual(answered)
    const again = await responses.stream({ response_id: answered.id }).finalResponse()
    expect(again.output_text).toBe('A blue suit')
    const next = await responses.create({ model: 'Tailor', input: 'thanks', previous_response_id: answered.id })
    expect(next).toMatchObject({ output_text: 'You said: thanks', conversation: asked.conversation })
  })
})

it('works in a handler below a base path, where a client that leaves cancels too', async () => {
  const made = tailor()
  const handler = await createHandler(made.agent, {
    publicUrl: 'http://localhost/api',
    basePath: '/api',
    endpoints: [openAiEndpoint()],
  })
  const ai = new OpenAI({
    apiKey: 'none',
    baseURL: 'http://localhost/api/v1',
    maxRetries: 0,
    fetch: (url, init) => handler.fetch(new Request(url, init)),
  })
  expect((await ai.responses.create({ model: 'Tailor', input: 'hello' })).output_text).toBe('You said: hello')
  const messages = [{ role: 'user' as const, content: 'wait' }]
  for await (const { choices } of await ai.chat.completions.create({ model: 'Tailor', messages, stream: true }))
    if (choices[0]?.delta.content) break
  await until(() => made.canceled.length === 1)
  await handler.close({ deadlineMs: 0 })
})
