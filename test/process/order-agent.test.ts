/** The order agent, called over /a2a/invoke and /a2a/stream as its users call it. */
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type AgentProcess, dataLines, post, startAgent } from './agent-process.js'
import { type TemporaryFolder, temporaryFolder } from './server-process.js'

let folder: TemporaryFolder
let agent: AgentProcess

beforeAll(async () => {
  folder = await temporaryFolder()
  agent = await startAgent('order', { env: { DRAGOMAN_ORDERS: join(folder.path, 'orders.sqlite') } })
})

afterAll(async () => {
  await agent[Symbol.asyncDispose]()
  await folder[Symbol.asyncDispose]()
})

const request = { input: '查询订单 ORDER_001', chat_id: 'chat_123', user_id: 'user_456' }
const found = { output: '订单信息: ORDER_001, 产品: 云边茉莉, 价格: ¥18.00', status: 'success' }

const invoke = (body: unknown, headers: Readonly<Record<string, string>> = {}) =>
  post(`${agent.url}/a2a/invoke`, body, headers)

describe('the order agent', () => {
  it('returns the requested order', async () => {
    const { status, headers, body } = await invoke(request, { accept: 'application/json' })
    expect([status, headers.get('content-type'), body]).toEqual([200, 'application/json', found])
    expect((await invoke({ input: '查询订单 ORDER_001' })).body).toEqual(found)
  })

  it('returns one order, several or all, in both languages', async () => {
    expect((await invoke({ input: 'Where is ORDER_003?' })).body).toEqual({
      output: 'Order ORDER_003: Hillside Longjing (山间龙井), ¥26.00, being made',
      status: 'success',
    })
    const two = (await invoke({ input: 'ORDER_001 和 ORDER_002' })).body as { output: string }
    expect(two.output.split('\n')).toHaveLength(2)
    const all = (await invoke({ input: '列出所有订单' })).body as { output: string }
    expect(all.output.split('\n').length).toBeGreaterThan(3)
  })

  it('streams its progress, then the answer', async () => {
    const { headers, text } = await post(`${agent.url}/a2a/stream`, request, { accept: 'text/event-stream' })
    expect(headers.get('content-type')).toContain('text/event-stream')
    expect(headers.get('cache-control')).toContain('no-cache')
    expect(dataLines(text).map((line) => JSON.parse(line))).toEqual([
      { output: '正在查询', status: 'processing' },
      found,
    ])
  })

  it('reports invalid requests as errors (RL-L1-1)', async () => {
    for (const body of [{}, { input: '' }, { chat_id: 'c' }]) {
      const answer = await invoke(body)
      expect([answer.status, answer.body]).toEqual([400, { error: expect.stringContaining('input'), status: 'error' }])
    }
    const unknown = await invoke({ input: '查询订单 ORDER_999' })
    expect([unknown.status, unknown.body]).toEqual([200, { error: '没有找到订单 ORDER_999', status: 'error' }])
  })

  it('asks for a missing number, and continues in the conversation (RL-L1-5)', async () => {
    const asked = (await invoke({ input: '查询我的订单', chat_id: 'chat_7' })).body
    expect(asked).toMatchObject({
      status: 'input_required',
      output: expect.stringContaining('订单号'),
      chat_id: 'chat_7',
    })
    expect((await invoke({ input: '2', chat_id: 'chat_7' })).body).toEqual({
      output: '订单信息: ORDER_002, 产品: 桂花云露, 价格: ¥22.00',
      status: 'success',
    })
  })

  it('speaks JSON-RPC on the same path (RL-L1-6)', async () => {
    const rpc = { jsonrpc: '2.0', method: 'invoke', id: 1 }
    const { body } = await invoke({ ...rpc, params: { input: request.input, chat_id: 'c9' } })
    expect(body).toEqual({ jsonrpc: '2.0', id: 1, result: found })
    expect((await invoke({ ...rpc, params: {} })).body).toMatchObject({ id: 1, error: { code: -32602 } })
  })

  it('accepts the headers for the agent name and the version, and rejects unknown versions (RL-L1-7) (RL-L1-8)', async () => {
    const headers = { 'X-Agent-Name': 'order_agent', 'X-A2A-Version': '1.0' }
    expect((await invoke(request, headers)).body).toEqual(found)
    expect((await invoke(request, { 'X-A2A-Version': '9.9' })).status).toBe(400)
  })

  it('returns its result as data to clients that accept it', async () => {
    const message = { messageId: 'm1', role: 'ROLE_USER', parts: [{ text: 'ORDER_001' }] }
    const { body } = await post(`${agent.url}/message:send`, { message })
    expect(body).toMatchObject({
      task: {
        status: {
          message: { parts: [{}, { data: { orders: [{ id: 'ORDER_001', product: '云边茉莉', price: 1800 }] } }] },
        },
      },
    })
  })
})
