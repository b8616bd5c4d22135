/** The invoke documents: an order agent behind `/a2a/invoke` and `/a2a/stream`, with the requests that they print. */
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { type Served, serve } from 'dragoman'
import { connect } from 'dragoman/client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createOrderAgent } from '../../examples/agents/order.js'
import { serveOptions } from '../../examples/agents/serve-when-run.js'
import { temporaryFolder } from '../process/server-process.js'

const headers = { 'content-type': 'application/json', authorization: 'Bearer t-1', 'x-agent-name': 'order_agent' }
const order = { input: '查询订单 ORDER_001', chat_id: 'chat_123', user_id: 'user_456' }
const found = '订单信息: ORDER_001, 产品: 云边茉莉, 价格: ¥18.00'

let folder: Awaited<ReturnType<typeof temporaryFolder>>
let served: Served
let strict: Served
let url = ''

beforeAll(async () => {
  folder = await temporaryFolder()
  const options = serveOptions({ port: 0 }, ['--api-key', 'k1', '--bearer', 't-1'])
  served = await serve(createOrderAgent(join(folder.path, 'orders.sqlite')), options)
  strict = await serve(createOrderAgent(join(folder.path, 'orders.sqlite')), {
    ...options,
    advanced: { invokeQuestions: 'success' },
  })
  url = served.url.replace(/\/$/, '')
})

afterAll(async () => {
  await served.close({ deadlineMs: 0 })
  await strict.close({ deadlineMs: 0 })
  await folder[Symbol.asyncDispose]()
})

async function post(path: string, body: unknown, more: Record<string, string> = {}, base = url) {
  const response = await fetch(`${base}${path}`, {
    method: 'POST',
    headers: { ...headers, ...more },
    body: JSON.stringify(body),
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, text }
}

describe('/a2a/invoke', () => {
  it('answers with the output and ignores other members and headers', async () => {
    for (const [body, more] of [
      [order, {}],
      [order, { accept: 'application/json', 'user-agent': 'python-requests/2.32' }],
      [{ input: order.input }, {}],
      [{ ...order, locale: 'zh', nested: { deep: true } }, { 'x-a2a-version': '1.0' }],
    ] as const) {
      const answer = await post('/a2a/invoke', body, more)
      expect([answer.status, JSON.parse(answer.text)]).toEqual([200, { output: found, status: 'success' }])
      expect(answer.headers.get('content-type')).toBe('application/json')
    }
  })

  it('answers an unknown order with 200, its text and the status `error`', async () => {
    const { status, text } = await post('/a2a/invoke', { ...order, input: '查询订单 ORDER_999' })
    expect([status, JSON.parse(text)]).toEqual([200, { error: '没有找到订单 ORDER_999', status: 'error' }])
  })

  it('takes JSON-RPC 2.0 on the same path', async () => {
    const call = (input: string) => ({
      jsonrpc: '2.0',
      method: 'invoke',
      params: { input, chat_id: 'chat_123' },
      id: 1,
    })
    const { text } = await post('/a2a/invoke', call(order.input))
    expect(JSON.parse(text)).toEqual({ jsonrpc: '2.0', id: 1, result: { output: found, status: 'success' } })
    const missing = await post('/a2a/invoke', call('查询订单 ORDER_999'))
    expect(JSON.parse(missing.text)).toMatchObject({
      id: 1,
      error: { code: -32603, message: '没有找到订单 ORDER_999' },
    })
  })

  it('accepts the API key as well, and rejects callers without credentials in its own form', async () => {
    const { authorization: _authorization, ...plain } = headers
    const ask = (more: Record<string, string>) =>
      fetch(`${url}/a2a/invoke`, { method: 'POST', headers: { ...plain, ...more }, body: JSON.stringify(order) })
    expect((await ask({ 'x-api-key': 'k1' })).status).toBe(200)
    for (const more of [{}, { authorization: 'Bearer t-2' }]) {
      const refused = await ask(more as Record<string, string>)
      expect([refused.status, await refused.json()]).toEqual([401, { error: expect.any(String), status: 'error' }])
    }
  })

  it.each(['GET', 'PUT', 'DELETE'])('refuses %s with 405 in its own form', async (method) => {
    for (const path of ['/a2a/invoke', '/a2a/stream']) {
      const response = await fetch(`${url}${path}`, { method, headers })
      expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST'])
      expect(await response.json()).toEqual({ error: expect.stringMatching(/\S/), status: 'error' })
    }
  })

  it('asks with the status `input_required`, or with `success` if configured', async () => {
    for (const [{ url: base }, status] of [
      [served, 'input_required'],
      [strict, 'success'],
    ] as const) {
      const chat = { chat_id: `chat_${status}`, user_id: 'user_456' }
      const send = async (path: string, body: object) => (await post(path, body, {}, base.replace(/\/$/, ''))).text
      const question = JSON.parse(await send('/a2a/invoke', { ...chat, input: '查询订单' })) as Record<string, string>
      expect(question).toEqual({
        output: expect.stringContaining('哪个订单'),
        status,
        task_id: expect.any(String),
        chat_id: chat.chat_id,
      })
      const answer = { ...chat, task_id: question.task_id, input: 'ORDER_001' }
      expect(JSON.parse(await send('/a2a/invoke', answer))).toEqual({ output: found, status: 'success' })
      const events = await send('/a2a/stream', { ...chat, input: '查询订单' })
      expect(dataOf(events).at(-1)).toMatchObject({ status, task_id: expect.any(String) })
    }
  })
})

const dataOf = (text: string) =>
  [...text.matchAll(/^data: (.*)$/gm)].map(([, data = '']) => JSON.parse(data) as unknown)

describe('/a2a/stream', () => {
  it('sends `processing`, then the whole output as `success`, and closes', async () => {
    const answer = await post('/a2a/stream', order, { accept: 'text/event-stream' })
    expect([answer.status, answer.headers.get('content-type'), answer.headers.get('cache-control')]).toEqual([
      200,
      'text/event-stream',
      expect.stringContaining('no-cache'),
    ])
    expect(dataOf(answer.text)).toEqual([
      { output: '正在查询', status: 'processing' },
      { output: found, status: 'success' },
    ])
  })

  it('ends with the error if the task fails', async () => {
    const { text } = await post('/a2a/stream', { ...order, input: '查询订单 ORDER_999' })
    expect(dataOf(text).at(-1)).toEqual({ error: '没有找到订单 ORDER_999', status: 'error' })
  })
})

/** The server of the documents: it has no card, and answers one path. */
async function startFlask(): Promise<{
  url: string
  seen: { body: unknown; headers: IncomingHttpHeaders }[]
  server: Server
}> {
  const seen: { body: unknown; headers: IncomingHttpHeaders }[] = []
  const server = createServer((request, response) => {
    if (request.method !== 'POST' || request.url !== '/a2a/invoke') {
      response.writeHead(404, { 'content-type': 'text/html' }).end('<h1>Not Found</h1>')
      return
    }
    json(request).then((body) => {
      seen.push({ body, headers: request.headers })
      const isKnown = JSON.stringify(body).includes('ORDER_001')
      const answer = isKnown ? { output: found, status: 'success' } : { error: '错误信息', status: 'error' }
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
    }, console.error)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/a2a/invoke`, seen, server }
}

describe('the client', () => {
  it('derives the dialect from the path of the address, without a card', async () => {
    const { url: address, seen, server } = await startFlask()
    try {
      for (const ref of [address, `${address}/`]) {
        await using agent = await connect(ref)
        expect(agent.choice).toMatchObject({ dialect: 'invoke', binding: 'HTTP+JSON' })
        expect((await agent.ask(order.input, { contextId: 'chat_123' })).text).toBe(found)
        expect(await agent.ask('ORDER_999')).toMatchObject({ state: 'TASK_STATE_FAILED', text: '错误信息' })
      }
      expect(seen[0]).toMatchObject({
        body: { input: order.input, chat_id: 'chat_123' },
        headers: { 'content-type': expect.stringContaining('application/json') },
      })
    } finally {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    }
  })

  it('streams from the same address, with a bearer token', async () => {
    await using agent = await connect(`${url}/a2a/invoke`, { headers: { authorization: 'Bearer t-1' } })
    const states: string[] = []
    for await (const update of agent.stream(order.input)) {
      if ('statusUpdate' in update) states.push(update.statusUpdate.status.state)
    }
    expect([agent.choice.dialect, states.at(-1)]).toEqual(['invoke', 'TASK_STATE_COMPLETED'])
  })
})
