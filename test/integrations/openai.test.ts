/** The OpenAI-compatible endpoint, called by the official clients over real sockets. */
import { bearerCredential, connect } from 'dragoman/client'
import { until } from 'dragoman/testing'
import type OpenAI from 'openai'
import { describe, expect, it } from 'vitest'
import { clients, serveTailor } from './openai.fixture.js'

type Client = InstanceType<typeof OpenAI>
type StreamEvent = OpenAI.Responses.ResponseStreamEvent

const eventsOf = async (stream: AsyncIterable<StreamEvent>): Promise<StreamEvent[]> => {
  const events: StreamEvent[] = []
  for await (const event of stream) events.push(event)
  return events
}

const deltasOf = (events: readonly StreamEvent[]) =>
  events.map((event) => (event.type === 'response.output_text.delta' ? event.delta : '')).join('')

const user = (content: string) => ({ role: 'user' as const, content })

describe.each(clients)('with %s', (_name, Client) => {
  const serveAll = async (...given: Parameters<typeof serveTailor>) => {
    const served = await serveTailor(...given)
    const clientOf = (apiKey: string, more: object = {}): Client =>
      new Client({ apiKey, baseURL: served.baseURL, maxRetries: 0, ...more })
    return { ...served, clientOf, ai: clientOf('key') }
  }

  describe('models', () => {
    it('lists the agents and finds one by its name', async () => {
      await using served = await serveAll()
      const list = await served.ai.models.list()
      expect(list.data).toEqual([{ id: 'Tailor', object: 'model', created: 0, owned_by: 'dragoman' }])
      expect((await served.ai.models.retrieve('Tailor')).id).toBe('Tailor')
    })
  })

  describe('errors', () => {
    it('makes the client throw its own classes', async () => {
      await using served = await serveAll()
      const { ai, clientOf } = served
      const create = (client: Client, model: string) => client.responses.create({ model, input: 'hello' })
      await expect(create(clientOf('wrong'), 'Tailor')).rejects.toBeInstanceOf(Client.AuthenticationError)
      await expect(clientOf('wrong').models.list()).rejects.toMatchObject({ status: 401, code: 'invalid_api_key' })
      await expect(create(ai, 'gpt-5')).rejects.toBeInstanceOf(Client.NotFoundError)
      await expect(create(ai, 'gpt-5')).rejects.toMatchObject({ code: 'model_not_found', param: 'model' })
      await expect(ai.models.retrieve('gpt-5')).rejects.toBeInstanceOf(Client.NotFoundError)
      const chat = ai.chat.completions.create({ model: 'gpt-5', messages: [{ role: 'user', content: 'x' }] })
      await expect(chat).rejects.toBeInstanceOf(Client.NotFoundError)
      await expect(ai.responses.retrieve('resp_nothing')).rejects.toBeInstanceOf(Client.NotFoundError)
      await expect(ai.responses.delete('resp_nothing')).rejects.toMatchObject({ status: 405 })
    })

    it('makes the client throw RateLimitError at a limit', async () => {
      await using served = await serveAll({}, { limits: { rate: { perSecond: 1, burst: 2 } } })
      const calls = Array.from({ length: 20 }, () => served.ai.models.list())
      const results = await Promise.allSettled(calls)
      const refused = results.flatMap((each) => (each.status === 'rejected' ? [each.reason as unknown] : []))
      expect(refused[0]).toBeInstanceOf(Client.RateLimitError)
    })

    it.each([
      ['tools', { tools: [{ type: 'function', function: { name: 'f', parameters: {} } }] }],
      ['n', { n: 2 }],
      ['response_format', { response_format: { type: 'json_object' } }],
      ['modalities', { modalities: ['text', 'audio'] }],
      ['functions', { functions: [{ name: 'f' }] }],
    ])('refuses %s of chat completions, which agents cannot follow', async (param, more) => {
      await using served = await serveAll()
      const call = served.ai.chat.completions.create({
        model: 'Tailor',
        messages: [{ role: 'user', content: 'hello' }],
        ...(more as object),
      })
      await expect(call).rejects.toBeInstanceOf(Client.BadRequestError)
      await expect(call).rejects.toMatchObject({ param, code: 'unsupported_parameter' })
      expect(served.seen).toEqual([])
    })

    it.each([
      ['tools', { tools: [{ type: 'web_search' }] }],
      ['text.format', { text: { format: { type: 'json_object' } } }],
      ['prompt', { prompt: { id: 'p' } }],
    ])('refuses %s of responses', async (param, more) => {
      await using served = await serveAll()
      const call = served.ai.responses.create({ model: 'Tailor', input: 'hello', ...(more as object) })
      await expect(call).rejects.toMatchObject({ status: 400, param })
    })
  })

  describe('chat completions', () => {
    it('answers a message', async () => {
      await using served = await serveAll()
      const completion = await served.ai.chat.completions.create({
        model: 'Tailor',
        messages: [
          { role: 'system', content: 'Be brief' },
          { role: 'user', content: 'hello' },
        ],
        temperature: 0.2,
        metadata: { order: '7' },
      })
      expect(completion).toMatchObject({
        object: 'chat.completion',
        model: 'Tailor',
        choices: [
          {
            index: 0,
            finish_reason: 'stop',
            message: { role: 'assistant', content: 'You said: hello', refusal: null },
          },
        ],
        usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 },
        metadata: { a2a_state: 'completed' },
      })
      expect(Math.abs(completion.created - Date.now() / 1000)).toBeLessThan(60)
      expect(served.seen[0]?.metadata).toEqual({ openai: { instructions: 'Be brief', metadata: { order: '7' } } })
    })

    it('streams chunks, with usage if asked', async () => {
      await using served = await serveAll()
      const request = { model: 'Tailor', messages: [user('stream')], stream: true as const }
      const chunks = []
      const options = { include_usage: true }
      for await (const chunk of await served.ai.chat.completions.create({ ...request, stream_options: options }))
        chunks.push(chunk)
      const [first, ...rest] = chunks
      expect(first?.choices[0]?.delta).toMatchObject({ role: 'assistant', content: '' })
      expect(rest.map(({ choices }) => choices[0]?.delta.content ?? '').join('')).toBe('one two three')
      expect(chunks.at(-2)?.choices[0]?.finish_reason).toBe('stop')
      expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { total_tokens: 0 } })
      expect(new Set(chunks.map(({ id }) => id)).size).toBe(1)
      const response = await fetch(`${served.baseURL}/chat/completions`, {
        method: 'POST',
        headers: { authorization: 'Bearer key', 'content-type': 'application/json' },
        body: JSON.stringify(request),
      })
      const text = await response.text()
      expect(text.endsWith('data: [DONE]\n\n')).toBe(true)
      expect(text).not.toContain('usage')
    })

    it('works with the stream helper of the client', async () => {
      await using served = await serveAll()
      const helper = served.ai.chat.completions.stream({
        model: 'Tailor',
        messages: [{ role: 'user', content: 'stream' }],
        stream_options: { include_usage: true },
      })
      const deltas: string[] = []
      helper.on('content', (delta) => deltas.push(delta))
      expect((await helper.finalMessage()).content).toBe('one two three')
      expect(deltas.join('')).toBe('one two three')
      expect(await helper.totalUsage()).toMatchObject({ total_tokens: 0 })
    })

    it('sends the conversation as one transcript when the server does not know it', async () => {
      await using served = await serveAll()
      await served.ai.chat.completions.create({
        model: 'Tailor',
        messages: [
          { role: 'system', content: 'Be brief' },
          { role: 'user', content: 'A suit' },
          { role: 'assistant', content: 'Which colour?' },
          { role: 'user', content: [{ type: 'text', text: 'Blue' }] },
        ],
      })
      expect(served.seen[0]?.text).toBe('User: A suit\n\nAssistant: Which colour?\n\nUser: Blue')
    })

    it('answers the open question of a chat that a header names', async () => {
      await using served = await serveAll({ contextHeaders: ['X-Chat-Id'] })
      const say = (content: string, before: OpenAI.Chat.ChatCompletionMessageParam[], chat: string) =>
        served.ai.chat.completions.create(
          { model: 'Tailor', messages: [...before, { role: 'user', content }] },
          { headers: { 'X-Chat-Id': chat } },
        )
      const asked = await say('ask', [], 'chat-1')
      expect(asked).toMatchObject({ metadata: { a2a_state: 'input-required' } })
      const question = asked.choices[0]?.message.content ?? ''
      expect(question).toBe('I need more. \n\nWhich colour?')
      const history: OpenAI.Chat.ChatCompletionMessageParam[] = [
        { role: 'user', content: 'ask' },
        { role: 'assistant', content: question },
      ]
      const other = await say('blue', history, 'chat-2')
      expect(other.choices[0]?.message.content).toBe('You said: blue')
      const answered = await say('blue', history, 'chat-1')
      expect(answered.choices[0]?.message.content).toBe('A blue suit')
      // The header is no identity: another caller does not reach the chat.
      const stranger = await served
        .clientOf('other-key')
        .chat.completions.create(
          { model: 'Tailor', messages: [{ role: 'user', content: 'red' }] },
          { headers: { 'X-Chat-Id': 'chat-1' } },
        )
      expect(stranger.choices[0]?.message.content).toBe('You said: red')
    })

    it.each(['fail', 'reject'])('throws when the agent says %s, and does not repeat the request', async (text) => {
      await using served = await serveAll()
      const ai = served.clientOf('key', { maxRetries: 2 })
      const messages = [{ role: 'user' as const, content: text }]
      const message = text === 'fail' ? 'No cloth left' : 'I only make suits'
      const call = ai.chat.completions.create({ model: 'Tailor', messages })
      await expect(call).rejects.toBeInstanceOf(Client.InternalServerError)
      await expect(call).rejects.toMatchObject({ error: { message } })
      expect(served.seen).toHaveLength(1)
      const stream = await ai.chat.completions.create({ model: 'Tailor', messages, stream: true })
      const reading = (async () => {
        for await (const _ of stream);
      })()
      await expect(reading).rejects.toBeInstanceOf(Client.APIError)
      await expect(reading).rejects.toMatchObject({ error: { message } })
    })

    it('hides the text of unexpected errors', async () => {
      await using served = await serveAll()
      const call = served.ai.chat.completions.create({
        model: 'Tailor',
        messages: [{ role: 'user', content: 'crash' }],
      })
      await expect(call).rejects.toMatchObject({ status: 500, message: expect.not.stringContaining('secret') })
    })

    it.each([true, false])('cancels the task when the client leaves (stream: %s)', async (stream) => {
      await using served = await serveAll()
      const leaving = new AbortController()
      const call = served.ai.chat.completions.create(
        { model: 'Tailor', messages: [{ role: 'user', content: 'wait' }], stream },
        { signal: leaving.signal },
      )
      const settled = Promise.allSettled([call])
      await until(() => served.started.length === 1)
      if (stream) await call
      leaving.abort()
      await settled
      await until(() => served.canceled.length === 1)
      const agent = await connect(served.server.url, { credentials: bearerCredential('key') })
      await until(async () => {
        const task = await agent.getTask({ id: served.started[0] ?? '' })
        return task.status.state === 'TASK_STATE_CANCELED'
      })
      await agent.close()
    })

    it('does not cancel a task that waits for an answer when the client leaves', async () => {
      await using served = await serveAll({ contextHeaders: ['X-Chat-Id'] })
      const options = { headers: { 'X-Chat-Id': 'c' } }
      const stream = await served.ai.chat.completions.create(
        { model: 'Tailor', messages: [{ role: 'user', content: 'ask' }], stream: true },
        options,
      )
      for await (const { choices } of stream) if (choices[0]?.finish_reason) break
      stream.controller.abort()
      const messages = [{ role: 'user' as const, content: 'green' }]
      const answered = await served.ai.chat.completions.create({ model: 'Tailor', messages }, options)
      expect(answered.choices[0]?.message.content).toBe('A green suit')
    })

    it('turns images and files into parts, and files and data of the agent into links and JSON', async () => {
      await using served = await serveAll()
      await served.ai.chat.completions.create({
        model: 'Tailor',
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: 'like this' },
              { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
              { type: 'image_url', image_url: { url: 'https://pictures.example/a.png' } },
              { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,AAAA' } },
              { type: 'input_audio', input_audio: { data: 'AAAA', format: 'mp3' } },
            ],
          },
        ],
      })
      expect(served.seen[0]?.parts).toEqual([
        { text: 'like this' },
        { raw: 'AAAA', mediaType: 'image/png' },
        { url: 'https://pictures.example/a.png' },
        { raw: 'AAAA', mediaType: 'application/pdf', filename: 'a.pdf' },
        { raw: 'AAAA', mediaType: 'audio/mpeg' },
      ])
      const messages = [{ role: 'user' as const, content: 'files' }]
      const completion = await served.ai.chat.completions.create({ model: 'Tailor', messages })
      expect(completion.choices[0]?.message.content).toBe(
        [
          '![sketch.png](https://tailor.example/a%28b%29.png)',
          '[bill .txt](data:text/plain;base64,NDI=)',
          '{"size":52}',
        ].join('\n\n'),
      )
    })
  })

  describe('responses', () => {
    it('answers a message', async () => {
      await using served = await serveAll()
      const response = await served.ai.responses.create({
        model: 'Tailor',
        input: 'hello',
        instructions: 'Be brief',
        metadata: { order: '7' },
      })
      expect(response.output_text).toBe('You said: hello')
      expect(response).toMatchObject({
        object: 'response',
        status: 'completed',
        model: 'Tailor',
        background: false,
        error: null,
        instructions: 'Be brief',
        metadata: { order: '7', a2a_state: 'completed' },
        output: [{ type: 'message', role: 'assistant', status: 'completed' }],
        usage: { input_tokens: 0, output_tokens: 0, total_tokens: 0 },
      })
      expect(await served.ai.responses.retrieve(response.id)).toEqual(response)
      const items = await served.ai.responses.inputItems.list(response.id)
      expect(items.data).toMatchObject([{ role: 'user', content: [{ type: 'input_text', text: 'hello' }] }])
    })

    it('streams events that build the response', async () => {
      await using served = await serveAll()
      const events = await eventsOf(
        await served.ai.responses.create({ model: 'Tailor', input: 'stream', stream: true }),
      )
      const kinds = events.map(({ type }) => type).filter((type) => type !== 'response.output_text.delta')
      expect(kinds).toEqual([
        'response.created',
        'response.in_progress',
        'response.output_item.added',
        'response.content_part.added',
        'response.output_text.done',
        'response.content_part.done',
        'response.output_item.done',
        'response.completed',
      ])
      expect(deltasOf(events)).toBe('one two three')
      const numbers = events.map((event) => event.sequence_number)
      expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => a - b))
      const last = events.at(-1)
      const whole = last?.type === 'response.completed' ? last.response : undefined
      const { output_text: text, ...retrieved } = await served.ai.responses.retrieve(whole?.id ?? '')
      expect(text).toBe('one two three')
      expect(whole).toMatchObject(retrieved)
    })

    it('works with the stream helper of the client, also by id', async () => {
      await using served = await serveAll()
      const helper = served.ai.responses.stream({ model: 'Tailor', input: 'stream' })
      const deltas: string[] = []
      helper.on('response.output_text.delta', ({ delta }) => deltas.push(delta))
      const final = await helper.finalResponse()
      expect([final.output_text, deltas.join('')]).toEqual(['one two three', 'one two three'])
      const again = await served.ai.responses.stream({ response_id: final.id }).finalResponse()
      expect(again.output_text).toBe('one two three')
    })

    it('runs in the background: retrieve, resume after each event, and the same events every time', async () => {
      await using served = await serveAll()
      const created = await served.ai.responses.create({ model: 'Tailor', input: 'wait', background: true })
      expect(created).toMatchObject({ status: 'in_progress', background: true })
      const early = await served.ai.responses.retrieve(created.id, { stream: true })
      const seen: StreamEvent[] = []
      for await (const event of early) {
        seen.push(event)
        if (event.type === 'response.output_text.delta') break
      }
      expect(await served.ai.responses.retrieve(created.id)).toMatchObject({
        status: 'in_progress',
        output_text: 'Half a suit',
        metadata: { a2a_state: 'working' },
      })
      const resumed = served.ai.responses.retrieve(created.id, {
        stream: true,
        starting_after: seen.at(-1)?.sequence_number ?? 0,
      })
      served.release.open()
      const whole = [...seen, ...(await eventsOf(await resumed))]
      expect(deltasOf(whole)).toBe('Half a suit, then the rest')
      for (const [place, { sequence_number }] of whole.entries()) {
        const rest = await served.ai.responses.retrieve(created.id, { stream: true, starting_after: sequence_number })
        expect(await eventsOf(rest)).toEqual(whole.slice(place + 1))
      }
      expect(served.started).toHaveLength(1)
    })

    it('goes on when the client leaves', async () => {
      await using served = await serveAll()
      const stream = await served.ai.responses.create({ model: 'Tailor', input: 'wait', stream: true })
      let id = ''
      for await (const event of stream) {
        if (event.type === 'response.created') id = event.response.id
        if (event.type === 'response.output_text.delta') break
      }
      served.release.open()
      await until(async () => (await served.ai.responses.retrieve(id)).status === 'completed')
      expect(served.canceled).toEqual([])
    })

    it('cancels a response, twice without an error', async () => {
      await using served = await serveAll()
      const { id } = await served.ai.responses.create({ model: 'Tailor', input: 'wait', background: true })
      const following = eventsOf(await served.ai.responses.retrieve(id, { stream: true }))
      await until(() => served.started.length === 1)
      const canceled = await served.ai.responses.cancel(id)
      expect(canceled).toMatchObject({ id, status: 'cancelled', metadata: { a2a_state: 'canceled' } })
      expect(await served.ai.responses.cancel(id)).toMatchObject({ id, status: 'cancelled' })
      expect((await following).at(-1)).toMatchObject({ response: { status: 'cancelled' } })
      const ended = await served.ai.responses.create({ model: 'Tailor', input: 'hello' })
      await expect(served.ai.responses.cancel(ended.id)).rejects.toBeInstanceOf(Client.BadRequestError)
    })

    it('answers a question through previous_response_id, then continues the conversation', async () => {
      await using served = await serveAll()
      const { responses } = served.ai
      const asked = await responses.create({ model: 'Tailor', input: 'ask' })
      expect(asked).toMatchObject({ status: 'completed', metadata: { a2a_state: 'input-required' } })
      expect(asked.output_text).toContain('Which colour?')
      const answer = { model: 'Tailor', input: 'blue', previous_response_id: asked.id }
      const answered = await responses.create(answer)
      expect(answered).toMatchObject({
        output_text: 'A blue suit',
        previous_response_id: asked.id,
        conversation: asked.conversation,
      })
      // Each response is one turn, also later.
      expect(await responses.retrieve(asked.id)).toEqual(asked)
      expect(await responses.retrieve(answered.id)).toEqual(answered)
      const events = await eventsOf(await responses.retrieve(answered.id, { stream: true }))
      expect(deltasOf(events)).toBe('A blue suit')
      // A repeated request finds its answer; another answer comes too late.
      expect((await responses.create(answer)).id).toBe(answered.id)
      await expect(responses.create({ ...answer, input: 'red' })).rejects.toBeInstanceOf(Client.ConflictError)
      const next = await responses.create({ model: 'Tailor', input: 'thanks', previous_response_id: answered.id })
      expect(next).toMatchObject({ output_text: 'You said: thanks', conversation: asked.conversation })
    })

    it('answers the open question of a conversation', async () => {
      await using served = await serveAll()
      const { responses } = served.ai
      const asked = await responses.create({ model: 'Tailor', input: 'form', conversation: 'order-7' })
      expect(asked.output_text).toBe('Which size?\n\nAnswer with JSON, such as {"size":1}')
      const wrong = responses.create({ model: 'Tailor', input: 'large', conversation: { id: 'order-7' } })
      await expect(wrong).rejects.toBeInstanceOf(Client.BadRequestError)
      const answered = await responses.create({ model: 'Tailor', input: '{"size":52}', conversation: 'order-7' })
      expect(answered).toMatchObject({ output_text: 'A {"size":52} suit', conversation: { id: 'order-7' } })
      const both = responses.create({
        model: 'Tailor',
        input: 'x',
        conversation: 'order-7',
        previous_response_id: answered.id,
      })
      await expect(both).rejects.toBeInstanceOf(Client.BadRequestError)
    })

    it('shows a failed turn as a failed response', async () => {
      await using served = await serveAll()
      const response = await served.ai.responses.create({ model: 'Tailor', input: 'fail' })
      expect(response).toMatchObject({ status: 'failed', error: { code: 'server_error', message: 'No cloth left' } })
      const events = await eventsOf(
        await served.ai.responses.create({ model: 'Tailor', input: 'reject', stream: true }),
      )
      expect(events.at(-1)).toMatchObject({
        type: 'response.failed',
        response: { error: { message: 'I only make suits' }, metadata: { a2a_state: 'rejected' } },
      })
    })

    it('says that a credential is missing', async () => {
      await using served = await serveAll()
      const response = await served.ai.responses.create({ model: 'Tailor', input: 'auth' })
      expect(response).toMatchObject({ output_text: 'Sign in first', metadata: { a2a_state: 'auth-required' } })
    })

    it('hides the responses of other callers', async () => {
      await using served = await serveAll()
      const other = served.clientOf('other-key').responses
      const { id } = await served.ai.responses.create({ model: 'Tailor', input: 'ask' })
      await expect(other.retrieve(id)).rejects.toBeInstanceOf(Client.NotFoundError)
      await expect(other.retrieve(id, { stream: true })).rejects.toBeInstanceOf(Client.NotFoundError)
      await expect(other.cancel(id)).rejects.toBeInstanceOf(Client.NotFoundError)
      await expect(other.inputItems.list(id)).rejects.toBeInstanceOf(Client.NotFoundError)
      const reply = other.create({ model: 'Tailor', input: 'blue', previous_response_id: id })
      await expect(reply).rejects.toMatchObject({ status: 400, code: 'previous_response_not_found' })
      const missing = (await Promise.allSettled([other.retrieve(id), other.retrieve('resp_x_1_00000000')])).map(
        (each) => (each.status === 'rejected' ? (each.reason as Error).message : ''),
      )
      expect(missing[0]).toBe(missing[1])
    })

    it('reads messages, images and files of the input', async () => {
      await using served = await serveAll()
      await served.ai.responses.create({
        model: 'Tailor',
        input: [
          { role: 'developer', content: 'Be brief' },
          {
            role: 'user',
            content: [
              { type: 'input_text', text: 'like this' },
              { type: 'input_image', image_url: 'data:image/png;base64,AAAA', detail: 'auto' },
              { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,AAAA' },
              { type: 'input_file', file_url: 'https://files.example/b.pdf' },
            ],
          },
        ],
      })
      expect(served.seen[0]?.parts).toEqual([
        { text: 'like this' },
        { raw: 'AAAA', mediaType: 'image/png' },
        { raw: 'AAAA', mediaType: 'application/pdf', filename: 'a.pdf' },
        { url: 'https://files.example/b.pdf' },
      ])
      expect(served.seen[0]?.metadata).toMatchObject({ openai: { instructions: 'Be brief' } })
    })

    it('runs a request with an Idempotency-Key once', async () => {
      await using served = await serveAll()
      const create = () =>
        served.ai.responses.create({ model: 'Tailor', input: 'hello' }, { headers: { 'Idempotency-Key': 'order-7' } })
      const [one, two] = [await create(), await create()]
      expect(two).toEqual(one)
      expect(served.seen).toHaveLength(1)
    })
  })
})

it('leaves other paths below /v1 to the agents: they are also paths of A2A 0.3', async () => {
  await using served = await serveTailor({}, { auth: 'none' })
  const response = await fetch(`${served.baseURL}/message:send`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ message: { messageId: 'm', role: 'ROLE_USER', content: [{ text: 'hello' }] } }),
  })
  expect(response.status).toBe(200)
  expect(await response.text()).toContain('You said: hello')
})
