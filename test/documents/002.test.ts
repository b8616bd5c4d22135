/** The chat-rpc documents: a chat agent behind `/api/v1/a2a`, with the requests that they print. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { agent, askAuth, type Served, serve } from 'dragoman'
import { connect, textOf } from 'dragoman/client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { card, createChatAgent } from '../../examples/agents/chat.js'
import { serveOptions } from '../../examples/agents/serve-when-run.js'

type Json = Record<string, unknown>

interface Event {
  readonly type: string
  readonly taskId: string
  readonly state: string
  readonly final: boolean
  readonly messageDelta?: { readonly messageId: string; readonly contextId: string; readonly parts: readonly Json[] }
  readonly message?: Json
}

interface Result {
  readonly task: { readonly id: string; readonly state: string; readonly contextId: string }
  readonly events: readonly Event[]
  readonly final: boolean
}

let served: Served
let stubborn: Served
let url = ''

/** Asks for a credential or fails. */
const stubbornAgent = agent({ name: 'Stubborn' }, async function* (turn) {
  if (turn.text === 'sign in') yield askAuth('Sign in first')
  if (turn.text === 'crash') throw new Error('The disk is full')
  yield 'Hello'
})

beforeAll(async () => {
  served = await serve(createChatAgent(), serveOptions({ port: 0, card }, []))
  stubborn = await serve(stubbornAgent, { port: 0, dialects: 'all', log: () => undefined })
  url = served.url.replace(/\/$/, '')
})

afterAll(async () => {
  await served.close({ deadlineMs: 0 })
  await stubborn.close({ deadlineMs: 0 })
})

async function post(body: unknown, at = `${url}/api/v1/a2a`): Promise<Response> {
  return await fetch(at, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
}

async function call(body: unknown, at?: string): Promise<Json> {
  const response = await post(body, at)
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/json'])
  return (await response.json()) as Json
}

/** Lines of a stream as `resp.iter_lines()` gives them, without the prefix `data: `. */
async function dataOf(response: Response): Promise<string[]> {
  expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/)
  const lines = (await response.text()).split('\n').filter((line) => line.startsWith('data: '))
  return lines.map((line) => line.slice('data: '.length))
}

async function resultsOf(response: Response, id: string): Promise<readonly Result[]> {
  const data = await dataOf(response)
  expect(data.at(-1)).toBe('[DONE]')
  return data.slice(0, -1).map((each) => {
    const { jsonrpc, id: answered, result } = JSON.parse(each) as { jsonrpc: string; id: string; result: Result }
    expect([jsonrpc, answered]).toEqual(['2.0', id])
    return result
  })
}

const question = (said: string) => ({ role: 'user', parts: [{ kind: 'text', text: said }] })

const send = {
  jsonrpc: '2.0',
  id: '1',
  method: 'message/send',
  params: { message: question('你的问题文本'), metadata: {} },
}

const stream = {
  jsonrpc: '2.0',
  id: 'stream-1',
  method: 'message/stream',
  params: {
    message: question('请分点回答：如何写一个 A2A JSON-RPC 流式接口？'),
    metadata: { trace_id: 'abc-123' },
  },
}

describe('message/send', () => {
  it.each(['/api/v1/a2a', '/a2a/v1'])('answers with a message at %s', async (path) => {
    expect(await call(send, url + path)).toEqual({
      jsonrpc: '2.0',
      id: '1',
      result: {
        messageId: expect.stringMatching(/./),
        contextId: expect.stringMatching(/./),
        taskId: expect.stringMatching(/./),
        role: 'agent',
        parts: [{ kind: 'text', text: expect.stringMatching(/./) }],
        kind: 'message',
        metadata: {},
      },
    })
  })
})

describe('message/stream', () => {
  it('sends deltas, the whole message and [DONE]', async () => {
    const results = await resultsOf(await post(stream), 'stream-1')
    const last = results.at(-1) as Result
    const { id: taskId, contextId } = last.task
    const deltas = results.slice(0, -1)
    expect(deltas.length).toBeGreaterThan(1)
    for (const delta of deltas) {
      expect(delta).toEqual({
        task: { id: taskId, state: 'working', contextId },
        events: [
          {
            type: 'TaskStatusUpdateEvent',
            taskId,
            state: 'working',
            final: false,
            messageDelta: {
              messageId: expect.stringMatching(/./),
              contextId,
              parts: [{ kind: 'text', text: expect.any(String) }],
            },
          },
        ],
        final: false,
      })
    }
    const whole = deltas.flatMap(({ events }) => events.flatMap((event) => event.messageDelta?.parts ?? []))
    expect(last).toMatchObject({
      task: { state: 'completed' },
      events: [{ type: 'TaskStatusUpdateEvent', taskId, state: 'completed', final: true }],
      final: true,
    })
    expect(last.events[0]?.message).toMatchObject({ kind: 'message', contextId, metadata: { trace_id: 'abc-123' } })
    expect(((last.events[0]?.message?.parts ?? []) as Json[]).map((part) => part.text).join('')).toBe(
      whole.map((part) => part.text).join(''),
    )
  })

  it('is read to its end by the Python client of the documents', async () => {
    const payload = {
      ...stream,
      params: { message: question('请用三点回答：如何通过 A2A 流式调用你？'), metadata: {} },
    }
    const full: string[] = []
    let isDone = false
    for (const data of await dataOf(await post(payload))) {
      expect(isDone).toBe(false)
      isDone = data === '[DONE]'
      if (isDone) continue
      const { result } = JSON.parse(data) as { result?: Partial<Result> }
      for (const { messageDelta } of result?.events ?? [])
        for (const part of messageDelta?.parts ?? []) if (part.kind === 'text') full.push(part.text as string)
    }
    expect([isDone, full.join('')]).toEqual([true, expect.stringMatching(/1[\s\S]*2[\s\S]*3/)])
  })

  it('ends with `final` and [DONE] if a credential is missing', async () => {
    const body = { ...stream, params: { message: question('sign in') } }
    const results = await resultsOf(await post(body, `${stubborn.url}api/v1/a2a`), 'stream-1')
    expect(results.at(-1)).toMatchObject({
      task: { state: 'auth-required' },
      events: [{ state: 'auth-required', final: true, message: { parts: [{ kind: 'text', text: 'Sign in first' }] } }],
      final: true,
    })
    expect(results.filter(({ final }) => final)).toHaveLength(1)
  })

  it('ends at the question in every other dialect that marks the end of a stream', async () => {
    const message = { ...question('sign in'), kind: 'message', messageId: 'm1' }
    const plain = { role: 'user', parts: [{ type: 'text', text: 'sign in' }] }
    const last = async (body: Json, path = '') =>
      JSON.parse((await dataOf(await post(body, stubborn.url + path))).at(-1) ?? '') as Json
    expect(await last({ ...stream, params: { message } })).toMatchObject({
      result: { kind: 'status-update', status: { state: 'auth-required' }, final: true },
    })
    expect(
      await last({ ...stream, method: 'tasks/sendSubscribe', params: { id: 'job-1', message: plain } }),
    ).toMatchObject({ result: { id: 'job-1', status: { state: 'input-required' }, final: true } })
    expect(await last({ message: plain }, 'tasks/sendSubscribe')).toMatchObject({
      task: { status: { state: 'input-required' } },
    })
    expect(await last({ input: 'sign in', chat_id: 'c1' }, 'a2a/stream')).toMatchObject({
      output: 'Sign in first',
      status: 'input_required',
    })
  })
})

describe('tasks', () => {
  it('are found, and canceled while they run, unlike in the documents', async () => {
    const { result } = (await call(send)) as { result: { taskId: string } }
    const on = (method: string, id: string) => call({ jsonrpc: '2.0', id: '1', method, params: { id } })
    expect(await on('tasks/get', result.taskId)).toMatchObject({ result: { kind: 'task', id: result.taskId } })
    expect(await on('tasks/get', 'task-xxx')).toMatchObject({ error: { code: -32001, message: 'Task not found' } })
    expect(await on('tasks/cancel', result.taskId)).toMatchObject({
      error: { code: -32002, message: 'Task cannot be canceled', data: { detail: expect.stringMatching(/./) } },
    })
  })
})

describe('errors', () => {
  it.each<[string, unknown, number, string]>([
    ['another version of JSON-RPC', { ...send, jsonrpc: '1.0' }, -32600, 'Invalid Request'],
    ['an unknown method', { ...send, method: 'foo/bar' }, -32601, 'Method not found'],
    ['params that are not an object', { ...send, params: 'text' }, -32602, 'Invalid params'],
    ['params without a message', { ...send, params: { metadata: {} } }, -32602, 'Invalid params'],
    ['parts of another type', { ...send, params: { message: { role: 'user', parts: 7 } } }, -32602, 'Invalid params'],
  ])('%s: see the table', async (_, body, code, message) => {
    expect(await call(body)).toEqual({
      jsonrpc: '2.0',
      id: '1',
      error: { code, message, data: expect.objectContaining({ detail: expect.stringMatching(/./) }) },
    })
  })

  it('an exception is an internal error', async () => {
    const body = { ...send, params: { message: question('crash') } }
    expect(await call(body, `${stubborn.url}api/v1/a2a`)).toMatchObject({
      error: { code: -32603, message: 'Internal error', data: { metadata: { state: 'failed' } } },
    })
  })
})

describe('the card', () => {
  it('names the endpoint of the chat service', async () => {
    expect(await (await fetch(`${url}/.well-known/agent-card.json`)).json()).toMatchObject({
      url: `${url}/api/v1/a2a`,
      preferredTransport: 'JSONRPC',
      defaultInputModes: expect.arrayContaining(['application/json']),
      defaultOutputModes: expect.arrayContaining(['application/json']),
      capabilities: { streaming: true },
    })
  })

  it('also names the interfaces of 1.0 and 0.3', async () => {
    const versioned = { headers: { 'A2A-Version': '0.3' } }
    expect(await (await fetch(`${url}/.well-known/agent-card.json`, versioned)).json()).toMatchObject({
      url: `${url}/`,
    })
    await using current = await connect(url)
    expect(current.choice).toMatchObject({ dialect: 'v1' })
  })
})

describe('the server of the documents', () => {
  let server: Server
  let origin = ''
  const received: Json[] = []

  /** Returns the responses of the documents only. */
  beforeAll(async () => {
    server = createServer(async (request, response) => {
      if (request.method === 'GET') {
        response.statusCode = request.url === '/.well-known/agent.json' ? 200 : 404
        response.setHeader('content-type', 'application/json')
        response.end(JSON.stringify(documentedCard()))
        return
      }
      const body = (await json(request)) as { id: unknown; method: string }
      received.push({ ...body, path: request.url })
      const answer = (result: Json) => JSON.stringify({ jsonrpc: '2.0', id: body.id, result })
      if (body.method === 'message/send') {
        response.setHeader('content-type', 'application/json')
        response.end(answer({ ...says('智能体回答内容'), kind: 'message', metadata: {} }))
        return
      }
      response.setHeader('content-type', 'text/event-stream')
      const frame = (state: string, more: Json, final = false) =>
        `data: ${answer({
          task: { id: 'task-xxx', state, contextId: 'session-xxx' },
          events: [{ type: 'TaskStatusUpdateEvent', taskId: 'task-xxx', state, final, ...more }],
          final,
        })}\n\n`
      for (const token of ['当前', '增量']) response.write(frame('working', { messageDelta: says(token) }))
      response.write(frame('completed', { message: says('当前增量') }, true))
      response.end('data: [DONE]\n\n')
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}` // it listens on TCP
  })

  afterAll(() => new Promise((resolve) => server.close(resolve)))

  const says = (said: string): Json => ({
    messageId: 'msg-xxx',
    contextId: 'session-xxx',
    parts: [{ kind: 'text', text: said }],
  })

  const documentedCard = () => ({
    name: 'cus-ai-agent',
    description: 'A chat service',
    version: '1.0.0',
    url: `${origin}/api/v1/a2a`,
    preferredTransport: 'JSONRPC',
    capabilities: { streaming: true },
    defaultInputModes: ['application/json'],
    defaultOutputModes: ['application/json'],
    skills: [],
  })

  it('is called by the client without a configured dialect', async () => {
    await using client = await connect(origin)
    expect((await client.ask('你的问题文本')).text).toBe('智能体回答内容')
    let streamed = ''
    for await (const update of client.stream('请分点回答'))
      if ('artifactUpdate' in update) streamed += textOf(update.artifactUpdate.artifact)
    expect(streamed).toBe('当前增量')
    expect(received.map(({ method, path }) => [method, path])).toEqual([
      ['message/send', '/api/v1/a2a'],
      ['message/stream', '/api/v1/a2a'],
    ])
  })
})
