/** The chat agent at its JSON-RPC paths, with the requests of its documentation and a line-based consumer. */
import { join } from 'node:path'
import { serveRegistry } from 'dragoman/registry'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { eventually } from '../hostile/waiting.js'
import { type AgentProcess, dataLines, post, startAgent } from './agent-process.js'
import { type TemporaryFolder, temporaryFolder } from './server-process.js'

let folder: TemporaryFolder
let orders: AgentProcess
let chat: AgentProcess

beforeAll(async () => {
  folder = await temporaryFolder()
  orders = await startAgent('order', { env: { DRAGOMAN_ORDERS: join(folder.path, 'orders.sqlite') } })
  chat = await startAgent('chat', { args: ['--peer', `OrderAgent=${orders.url}`] })
})

afterAll(async () => {
  await chat[Symbol.asyncDispose]()
  await orders[Symbol.asyncDispose]()
  await folder[Symbol.asyncDispose]()
})

const paths = ['/api/v1/a2a', '/a2a/v1'] as const

const question = (text: string, more: object = {}) => ({
  message: { role: 'user', parts: [{ kind: 'text', text }], ...more },
  metadata: {},
})

const rpc = (method: string, params: unknown, id = '1') => ({ jsonrpc: '2.0', id, method, params })

interface Envelope {
  readonly result: {
    readonly task: { readonly id: string; readonly state: string; readonly contextId: string }
    readonly events: readonly {
      readonly type: string
      readonly final: boolean
      readonly messageDelta?: { readonly messageId: string; readonly parts: readonly { readonly text: string }[] }
      readonly message?: { readonly messageId: string; readonly parts: readonly { readonly text: string }[] }
    }[]
    readonly final: boolean
  }
}

/** Reads a stream like the consumer loop in the documentation. */
function consume(text: string): { readonly envelopes: readonly Envelope[]; readonly said: string } {
  const lines = dataLines(text)
  const end = lines.indexOf('[DONE]')
  expect(end).toBe(lines.length - 1)
  const envelopes = lines.slice(0, end).map((line) => JSON.parse(line) as Envelope)
  const said = envelopes.flatMap(({ result }) =>
    result.events.flatMap(({ messageDelta }) => messageDelta?.parts.map((part) => part.text) ?? []),
  )
  return { envelopes, said: said.join('') }
}

describe.each(paths)('the chat agent at %s', (path) => {
  it('answers message/send with a message', async () => {
    const { status, body } = await post(`${chat.url}${path}`, rpc('message/send', question('你的问题文本')))
    expect(status).toBe(200)
    expect(body).toEqual({
      jsonrpc: '2.0',
      id: '1',
      result: {
        kind: 'message',
        role: 'agent',
        messageId: expect.any(String),
        contextId: expect.any(String),
        taskId: expect.any(String),
        parts: [{ kind: 'text', text: expect.stringContaining('你的问题文本') }],
        metadata: {},
      },
    })
  })

  it.each([
    ['请分点回答：如何写一个 A2A JSON-RPC 流式接口？', 5],
    ['请用三点回答：如何通过 A2A 流式调用你？', 3],
  ])('streams the answer to %s (RL-L2-1) (RL-L2-2)', async (text, points) => {
    const params = { ...question(text), metadata: { trace_id: 'abc-123' } }
    const exchange = await post(`${chat.url}${path}`, rpc('message/stream', params, 'stream-1'))
    expect(exchange.headers.get('content-type')).toContain('text/event-stream')
    // Only whole `data: ` lines and, between them, ids, comments and empty lines.
    for (const line of exchange.text.split('\n')) expect(line).toMatch(/^(?:data: .+|id: .+|:.*|)$/)
    const { envelopes, said } = consume(exchange.text)
    expect(said.split('\n')).toHaveLength(points)
    for (const envelope of envelopes) expect(envelope).toMatchObject({ jsonrpc: '2.0', id: 'stream-1' })

    const deltas = envelopes.filter(({ result }) => result.events[0]?.messageDelta)
    expect(deltas.length).toBeGreaterThan(2)
    const [{ result } = { result: undefined }] = deltas
    const messageId = result?.events[0]?.messageDelta?.messageId
    for (const delta of deltas) {
      expect(delta.result).toEqual({
        task: { id: result?.task.id, state: 'working', contextId: result?.task.contextId },
        events: [
          {
            type: 'TaskStatusUpdateEvent',
            taskId: result?.task.id,
            state: 'working',
            final: false,
            messageDelta: {
              messageId,
              contextId: result?.task.contextId,
              parts: [{ kind: 'text', text: expect.any(String) }],
            },
          },
        ],
        final: false,
      })
    }
    // The last event carries the whole message, equal to the joined chunks.
    expect(envelopes.at(-1)?.result).toEqual({
      task: { id: result?.task.id, state: 'completed', contextId: result?.task.contextId },
      events: [
        {
          type: 'TaskStatusUpdateEvent',
          taskId: result?.task.id,
          state: 'completed',
          final: true,
          message: {
            kind: 'message',
            role: 'agent',
            messageId,
            contextId: result?.task.contextId,
            parts: [{ kind: 'text', text: said }],
            metadata: { trace_id: 'abc-123' },
          },
        },
      ],
      final: true,
    })
    expect(envelopes.filter(({ result: each }) => each.final)).toHaveLength(1)
  })

  it.each([
    ['another version of JSON-RPC', { ...rpc('message/send', question('x')), jsonrpc: '1.0' }, -32600],
    ['an unknown method', rpc('foo/bar', {}), -32601],
    ['parameters that are not an object', rpc('message/send', 'x'), -32602],
    ['parameters without a message', rpc('message/send', {}), -32602],
    ['parts of the wrong type', rpc('message/send', { message: { role: 'user', parts: 'x' } }), -32602],
    ['an unknown task', rpc('tasks/get', { id: 'nope' }), -32001],
  ])('rejects %s', async (_what, body, code) => {
    expect((await post(`${chat.url}${path}`, body)).body).toMatchObject({ jsonrpc: '2.0', id: '1', error: { code } })
  })

  it('returns its tasks, and rejects the cancellation of ended ones (RL-L2-3)', async () => {
    const { body } = await post(`${chat.url}${path}`, rpc('message/send', question('你好')))
    const { taskId: id } = (body as { result: { taskId: string } }).result
    expect((await post(`${chat.url}${path}`, rpc('tasks/get', { id }))).body).toMatchObject({
      result: { kind: 'task', id, status: { state: 'completed' } },
    })
    expect((await post(`${chat.url}${path}`, rpc('tasks/cancel', { id }))).body).toMatchObject({
      error: { code: -32002 },
    })
  })

  it('calls the order agent in another process, passes on its question and keeps the context', async () => {
    const contextId = `session${path}`
    const say = async (text: string) => {
      const { body } = await post(`${chat.url}${path}`, rpc('message/send', question(text, { contextId })))
      return (body as { result: { parts: { text: string }[]; metadata: object } }).result
    }
    expect(await say('我想查一下订单')).toMatchObject({
      metadata: { state: 'input-required' },
      parts: [{ text: expect.stringContaining('哪个订单') }],
    })
    expect((await say('ORDER_001')).parts[0]?.text).toBe('订单信息: ORDER_001, 产品: 云边茉莉, 价格: ¥18.00')
    expect((await say('它到哪了？')).parts[0]?.text).toContain('状态: 配送中')
    expect((await say('写一篇关于茶的文章')).parts[0]?.text).toContain('联系不上 DocumentWorkflow')
  })
})

describe('agents that use a registry', () => {
  it('are found by name at their current address', async () => {
    await using registry = await serveRegistry({ allowPrivate: true, probes: false })
    const args = ['--registry', registry.url, '--api-key', 'k1']
    const env = { DRAGOMAN_ORDERS: join(folder.path, 'orders.sqlite') }
    const ask = async (url: string) => {
      const body = rpc('message/send', question('查询订单 ORDER_001'))
      return JSON.stringify((await post(`${url}/api/v1/a2a`, body, { 'x-api-key': 'k1' })).body)
    }
    await using chatAgent = await startAgent('chat', { args })
    expect(await ask(chatAgent.url)).toContain('联系不上 OrderAgent')
    for (let start = 0; start < 2; start++) {
      await using _order = await startAgent('order', { args, env })
      await eventually(20_000, 'the order agent to be found', async () =>
        (await ask(chatAgent.url)).includes('云边茉莉'),
      )
    }
  })
})

describe('a conversation', () => {
  it('survives a restart of the process', async () => {
    const args = ['--store', `sqlite:${join(folder.path, 'chat.sqlite')}`]
    const ask = async (url: string, text: string) =>
      JSON.stringify((await post(`${url}/api/v1/a2a`, rpc('message/send', question(text, { contextId: 's1' })))).body)
    {
      await using before = await startAgent('chat', { args })
      expect(await ask(before.url, '你好，我叫小满')).toContain('小满')
      before.signal('SIGKILL')
      await before.ended
    }
    await using after = await startAgent('chat', { args })
    expect(await ask(after.url, '我叫什么？')).toContain('你叫小满')
  })
})
