/** Hostile and unlucky clients of the OpenAI-compatible endpoint. */
import { until } from 'dragoman/testing'
import fc from 'fast-check'
import OpenAI from 'openai'
import { describe, expect, it } from 'vitest'
import type { LogEntry } from '../../src/model/log.js'
import { serveTailor } from './openai.fixture.js'

type StreamEvent = OpenAI.Responses.ResponseStreamEvent

async function serveHostile(...given: Parameters<typeof serveTailor>) {
  const served = await serveTailor(...given)
  const request = (path: string, init: RequestInit = {}) =>
    fetch(`${served.baseURL}${path}`, {
      ...init,
      headers: { authorization: 'Bearer key', 'content-type': 'application/json', ...init.headers },
    })
  const post = (path: string, body: unknown) =>
    request(path, { method: 'POST', body: typeof body === 'string' ? body : JSON.stringify(body) })
  const ai = new OpenAI({ apiKey: 'key', baseURL: served.baseURL, maxRetries: 0 })
  return { ...served, request, post, ai }
}

const errorShape = {
  error: {
    message: expect.any(String),
    type: expect.any(String),
    param: expect.toSatisfy(isText),
    code: expect.toSatisfy(isText),
  },
}

function isText(value: unknown): boolean {
  return value === null || typeof value === 'string'
}

async function refusal(response: Response): Promise<number> {
  expect(await response.json()).toEqual(errorShape)
  return response.status
}

const user = (content: unknown) => ({ role: 'user', content })
const chatOf = (...messages: unknown[]) => ({ model: 'Tailor', messages })

describe('bodies', () => {
  it('refuses bodies that are not requests, in the format of the API', async () => {
    await using served = await serveHostile()
    for (const path of ['/chat/completions', '/responses']) {
      for (const body of ['', '{', 'null', '[]', '7', '"x"', '{}', '{"model":7}', '{"model":"Tailor"}'])
        expect(await refusal(await served.post(path, body)), body).toBe(400)
      expect(await refusal(await served.post(path, `${'['.repeat(500)}${']'.repeat(500)}`))).toBe(400)
      expect(await refusal(await served.post(path, { input: 'x'.repeat(11 * 1024 * 1024) }))).toBe(413)
      expect(await refusal(await served.post(path, { messages: Array(60_000).fill(0) }))).toBe(413)
      const text = await served.request(path, { method: 'POST', body: 'x', headers: { 'content-type': 'text/plain' } })
      expect(await refusal(text)).toBe(400)
    }
    expect(served.seen).toEqual([])
  })

  it.each([
    ['messages', chatOf()],
    ['messages[0]', chatOf(7)],
    ['messages[0].role', chatOf({ role: '__proto__', content: 'x' })],
    ['messages[0].content', chatOf(user(7))],
    ['messages[0].content[0]', chatOf(user(['x']))],
    ['messages[0].content[0].type', chatOf(user([{ type: 'video' }]))],
    ['messages[0].content[0].text', chatOf(user([{ type: 'text', text: null }]))],
    [
      'messages[0].content[0].image_url.url',
      chatOf(user([{ type: 'image_url', image_url: { url: 'file:///etc/passwd' } }])),
    ],
    [
      'messages[0].content[0].image_url.url',
      chatOf(user([{ type: 'image_url', image_url: { url: 'data:image/png,AAAA' } }])),
    ],
    [
      'messages[0].content[0].image_url.url',
      chatOf(user([{ type: 'image_url', image_url: { url: 'data:;base64,A' } }])),
    ],
    [
      'messages[0].content[0].image_url.url',
      chatOf(user([{ type: 'image_url', image_url: { url: `data:${';'.repeat(1000)}` } }])),
    ],
    [
      'messages[0].content[0].image_url.url',
      chatOf(user([{ type: 'image_url', image_url: { url: `https://a.example/${'x'.repeat(9000)}` } }])),
    ],
    [
      'messages[0].content[0].file.file_url',
      chatOf(user([{ type: 'file', file: { file_url: 'javascript:alert(1)' } }])),
    ],
    ['messages[0].content[0].file.file_data', chatOf(user([{ type: 'file', file: { file_data: '@@@@' } }]))],
    ['messages[0].content[0].file.file_id', chatOf(user([{ type: 'file', file: { file_id: 'file-1' } }]))],
    ['messages[0].content[0].file.file_data', chatOf(user([{ type: 'file', file: {} }]))],
    [
      'messages[0].content[0].input_audio.format',
      chatOf(user([{ type: 'input_audio', input_audio: { data: '', format: '../x' } }])),
    ],
    ['messages', chatOf({ role: 'system', content: 'x' })],
    ['messages', chatOf(user('x'), { role: 'assistant', content: 'y' })],
    ['stream', { ...chatOf(user('x')), stream: 'yes' }],
    ['metadata', { ...chatOf(user('x')), metadata: { a: 1 } }],
    [
      'metadata',
      { ...chatOf(user('x')), metadata: Object.fromEntries(Array.from({ length: 17 }, (_, n) => [n, 'x'])) },
    ],
  ])('names the wrong parameter of a chat completion: %s', async (param, body) => {
    await using served = await serveHostile()
    const response = await served.post('/chat/completions', body)
    expect([response.status, ((await response.json()) as { error: { param: string } }).error.param]).toEqual([
      400,
      param,
    ])
  })

  it.each([
    ['input', {}],
    ['input', { input: [] }],
    ['input[0].type', { input: [{ type: 'function_call_output', call_id: 'c', output: 'x' }] }],
    ['input[0].type', { input: [{ type: 'item_reference', id: 'msg_1' }] }],
    ['input[0].content[0].file_id', { input: [user([{ type: 'input_image', file_id: 'f' }])] }],
    ['input[0].content[0].file_url', { input: [user([{ type: 'input_file', file_url: 'ftp://x' }])] }],
    ['conversation', { input: 'x', conversation: 'x'.repeat(256) }],
    ['conversation', { input: 'x', conversation: { id: 7 } }],
    ['conversation', { input: 'x', conversation: 'a\u0000b' }],
    ['previous_response_id', { input: 'x', previous_response_id: 'resp_x' }],
    ['background', { input: 'x', background: 1 }],
    ['model', { input: 'x', model: null }],
  ])('names the wrong parameter of a response: %s', async (param, body) => {
    await using served = await serveHostile()
    const response = await served.post('/responses', { model: 'Tailor', ...body })
    expect([response.status, ((await response.json()) as { error: { param: string } }).error.param]).toEqual([
      400,
      param,
    ])
  })

  it('never fails for random members', async () => {
    await using served = await serveHostile()
    const names = [
      'messages',
      'input',
      'stream',
      'stream_options',
      'metadata',
      'tools',
      'text',
      'n',
      'conversation',
      'background',
      'response_format',
      'instructions',
      'previous_response_id',
      'modalities',
      'prompt',
      'tool_choice',
    ]
    const member = fc.oneof(
      fc.jsonValue({ maxDepth: 4 }),
      fc.array(
        fc.record({
          role: fc.constantFrom('user', 'assistant', 'tool', 7),
          content: fc.jsonValue(),
          type: fc.constantFrom(undefined, 'message', 'reasoning', null),
        }),
      ),
      fc.constant([user([{ type: 'text', text: 'x' }])]),
    )
    const bodies = fc.dictionary(fc.constantFrom(...names), member)
    const property = fc.asyncProperty(
      fc.constantFrom('/chat/completions', '/responses'),
      bodies,
      async (path, body) => {
        const response = await served.post(path, { model: 'Tailor', ...body })
        expect(response.status).toBeLessThan(500)
        await response.text()
      },
    )
    await fc.assert(property, { numRuns: 300 })
  })

  it('takes 10,000 messages as one transcript, and leaves out the oldest of a longer one', async () => {
    await using served = await serveHostile()
    const many = Array.from({ length: 10_000 }, (_, n) => ({
      role: n % 2 ? 'assistant' : 'user',
      content: `line ${n}`,
    }))
    expect((await served.post('/chat/completions', chatOf(...many, user('last')))).status).toBe(200)
    const [{ text = '', parts = [] } = {}] = served.seen
    expect([text.startsWith('User: line 0\n\nAssistant: line 1'), text.endsWith('User: last'), parts.length]).toEqual([
      true,
      true,
      1,
    ])
    const long = Array.from({ length: 30 }, (_, n) => ({
      role: n % 2 ? 'assistant' : 'user',
      content: 'x'.repeat(100_000),
    }))
    expect((await served.post('/chat/completions', chatOf(...long, user('last')))).status).toBe(200)
    const cut = served.seen[1]?.text ?? ''
    expect([cut.startsWith('[Earlier messages are left out]'), cut.endsWith('User: last')]).toEqual([true, true])
    expect(cut.length).toBeLessThan(1_001_000)
  })
})

describe('paths and ids', () => {
  it('answers unknown paths and methods below its own in the format of the API', async () => {
    await using served = await serveHostile()
    const requests: readonly (readonly [string, string])[] = [
      ['POST', '/models'],
      ['GET', '/chat/completions'],
      ['GET', '/chat/completions/chatcmpl-1'],
      ['GET', '/responses'],
      ['GET', '/responses/'],
      ['POST', '/responses/resp_1'],
      ['GET', '/responses/resp_1/cancel'],
      ['GET', '/responses/resp_1/a/b'],
      ['GET', '/responses/%ff'],
      ['GET', '/models/%ff'],
      ['GET', `/responses/resp_${'a'.repeat(2_000)}_1_00000000`],
    ]
    for (const [method, path] of requests) expect(await refusal(await served.request(path, { method })), path).toBe(404)
    expect(await refusal(await served.request('/responses/resp_1', { method: 'DELETE' }))).toBe(405)
  })

  it('finds no response for an altered id', async () => {
    await using served = await serveHostile()
    const { id } = await served.ai.responses.create({ model: 'Tailor', input: 'ask' })
    const [, task, turn, tag] = /^resp_(.+)_(\d+)_(\w+)$/.exec(id) ?? []
    const altered = [
      `resp_${task}_2_${tag}`,
      `resp_${task}_999999999_${tag}`,
      `resp_${task}_0_${tag}`,
      `resp_${task}_${turn}_00000000`,
      `resp_${task}x_${turn}_${tag}`,
      `resp_${task}`,
    ]
    for (const each of altered) {
      const path = `/responses/${each}`
      for (const query of ['', '?stream=true', '/input_items'])
        expect(await refusal(await served.request(path + query)), each + query).toBe(404)
      expect(await refusal(await served.request(`${path}/cancel`, { method: 'POST' }))).toBe(404)
    }
    for (const query of ['starting_after=1', 'stream=true&starting_after=-1', 'stream=true&starting_after=x'])
      expect(await refusal(await served.request(`/responses/${id}?${query}`))).toBe(400)
    const late = await served.request(`/responses/${id}?stream=true&starting_after=999999`)
    expect([late.status, await late.text()]).toEqual([200, ''])
  })
})

describe('races and cut connections', () => {
  it('answers many requests at once', async () => {
    await using served = await serveHostile()
    const responses = await Promise.all(
      Array.from({ length: 200 }, (_, n) => served.ai.responses.create({ model: 'Tailor', input: `n${n}` })),
    )
    expect(responses.map(({ output_text: text }) => text)).toEqual(responses.map((_, n) => `You said: n${n}`))
  })

  it('cancels the tasks of all chat completions that are cut, and logs no error', async () => {
    const logged: LogEntry[] = []
    await using served = await serveHostile({}, { log: (entry: LogEntry) => logged.push(entry) })
    const leaving = Array.from({ length: 60 }, () => new AbortController())
    const calls = leaving.map(({ signal }, n) =>
      served
        .request('/chat/completions', {
          method: 'POST',
          body: JSON.stringify({ ...chatOf(user('wait')), stream: n % 2 === 0 }),
          signal,
        })
        .then((response) => response.text())
        .catch(() => undefined),
    )
    await until(() => served.started.length === 60)
    for (const each of leaving) each.abort()
    await Promise.all(calls)
    await until(() => served.canceled.length === 60)
    expect(logged.filter(({ level }) => level === 'error')).toEqual([])
  })

  it('completes the responses whose clients were cut, and logs no error', async () => {
    const logged: LogEntry[] = []
    await using served = await serveHostile({}, { log: (entry: LogEntry) => logged.push(entry) })
    const leaving = Array.from({ length: 30 }, () => new AbortController())
    const calls = leaving.map(({ signal }, n) =>
      served
        .request('/responses', {
          method: 'POST',
          body: JSON.stringify({ model: 'Tailor', input: 'wait', stream: n % 2 === 0, metadata: { n: String(n) } }),
          signal,
        })
        .then((response) => response.text())
        .catch(() => undefined),
    )
    await until(() => served.started.length === 30)
    for (const each of leaving) each.abort()
    await Promise.all(calls)
    served.release.open()
    await until(() => served.finished.length === 30)
    expect(served.canceled).toEqual([])
    expect(logged.filter(({ level }) => level === 'error')).toEqual([])
  })

  it('releases the streams of clients that leave, and refuses more than the limit', async () => {
    await using served = await serveHostile({}, { limits: { streamsPerCaller: 3 } })
    const { id } = await served.ai.responses.create({ model: 'Tailor', input: 'wait', background: true })
    const open = async () => {
      const leaving = new AbortController()
      const response = await served.request(`/responses/${id}?stream=true`, { signal: leaving.signal })
      return { status: response.status, leave: () => leaving.abort() }
    }
    for (let round = 0; round < 5; round++) {
      // The server notices after a moment that the readers of the last round have left.
      await until(async () => {
        const readers = [await open(), await open(), await open()]
        const areOpen = readers.every(({ status }) => status === 200)
        if (areOpen) expect((await open()).status).toBe(429)
        for (const { leave } of readers) leave()
        return areOpen
      })
    }
  })

  it('takes one of several different answers', async () => {
    await using served = await serveHostile()
    const { id } = await served.ai.responses.create({ model: 'Tailor', input: 'ask' })
    const colours = ['red', 'green', 'blue', 'black', 'white']
    const answers = await Promise.allSettled(
      colours.map((input) => served.ai.responses.create({ model: 'Tailor', input, previous_response_id: id })),
    )
    const taken = answers.flatMap((each) => (each.status === 'fulfilled' ? [each.value.output_text] : []))
    const refused = answers.flatMap((each) => (each.status === 'rejected' ? [each.reason as Error] : []))
    expect(taken).toHaveLength(1)
    for (const each of refused) expect(each).toBeInstanceOf(OpenAI.ConflictError)
    expect(served.seen).toHaveLength(2)
  })

  it('agrees with every reader when a response is cancelled while it is read', async () => {
    await using served = await serveHostile()
    const { id } = await served.ai.responses.create({ model: 'Tailor', input: 'wait', background: true })
    await until(() => served.started.length === 1)
    const read = async (): Promise<StreamEvent[]> => {
      const events: StreamEvent[] = []
      for await (const event of await served.ai.responses.retrieve(id, { stream: true })) events.push(event)
      return events
    }
    const readers = Array.from({ length: 5 }, read)
    const cancels = Array.from({ length: 5 }, () => served.ai.responses.cancel(id))
    for (const { status } of await Promise.all(cancels)) expect(status).toBe('cancelled')
    const [first, ...others] = await Promise.all(readers)
    for (const each of others) expect(each).toEqual(first)
    expect(await read()).toEqual(first)
    expect(served.canceled).toHaveLength(1)
  })

  it('says that a stream has ended early when the server closes', async () => {
    const logged: LogEntry[] = []
    await using served = await serveHostile({}, { log: (entry: LogEntry) => logged.push(entry) })
    const stream = await served.ai.responses.create({ model: 'Tailor', input: 'wait', stream: true })
    const reading = (async () => {
      for await (const event of stream)
        if (event.type === 'response.output_text.delta') void served.server.close({ deadlineMs: 0 })
    })()
    await expect(reading).rejects.toThrow('the task goes on')
    expect(logged.filter(({ level }) => level === 'error')).toEqual([])
  })

  it('tells clients not to repeat a request whose task goes on when the server closes', async () => {
    await using served = await serveHostile()
    const answering = served.post('/chat/completions', {
      model: 'Tailor',
      messages: [{ role: 'user', content: 'wait' }],
    })
    await until(() => served.seen.length === 1)
    await served.server.close({ deadlineMs: 0 })
    const { status, headers } = await answering
    expect([status, headers.get('x-should-retry')]).toEqual([503, 'false'])
  })
})
