import { join } from 'node:path'
import { type Agent, agent, apiKey, artifact, type ServeOptions, serve } from 'dragoman'
import { type AgentClient, apiKeyCredential, collect, connect, connectAgents } from 'dragoman/client'
import { describe, expect, it } from 'vitest'
import { createChatAgent } from '../../examples/agents/chat.js'
import { routeOf } from '../../examples/agents/chat-routes.js'
import { createOrderAgent } from '../../examples/agents/order.js'
import { createOfflineWriter } from '../../examples/writing/offline-writer.js'
import { temporaryFolder } from '../process/server-process.js'

describe('routeOf', () => {
  it.each([
    ['查询订单 ORDER_001', 'OrderAgent'],
    ['ORDER_003', 'OrderAgent'],
    ['Where is my order?', 'OrderAgent'],
    ['In order to sleep well, what helps?', 'talk'],
    ['请写一篇关于茉莉花茶的文章', 'DocumentWorkflow'],
    ['生成一份关于新能源的报告', 'DocumentWorkflow'],
    ['Write an article about jasmine tea', 'DocumentWorkflow'],
    ['请分点回答：如何写一个 A2A JSON-RPC 流式接口？', 'talk'],
    ['请用三点回答：如何通过 A2A 流式调用你？', 'talk'],
    ['如何写一篇好文章？', 'talk'],
    ['How do I write a good report?', 'talk'],
    ['你好', 'talk'],
    ['它多少钱？', 'talk'],
    ['', 'talk'],
  ])('sends %j to %s', (text, to) => {
    expect(routeOf(text).to).toBe(to)
  })

  it('sends the topic to the document workflow', () => {
    expect(routeOf('请写一篇关于茉莉花茶的文章')).toEqual({ to: 'DocumentWorkflow', say: '茉莉花茶' })
  })

  it('resolves “it” to the last order in the conversation', () => {
    const earlier = [
      { role: 'user' as const, text: '查询订单 ORDER_001' },
      { role: 'user' as const, text: 'ORDER_002 呢' },
      { role: 'agent' as const, text: '例如 ORDER_009' },
    ]
    expect(routeOf('它多少钱？', earlier)).toEqual({ to: 'OrderAgent', say: '它多少钱？ (ORDER_002)' })
    expect(routeOf('How much is it?', earlier)).toMatchObject({ to: 'OrderAgent' })
    expect(routeOf('今天天气不错', earlier)).toEqual({ to: 'talk' })
  })
})

const documentWorkflow = agent('DocumentWorkflow', async function* ({ text }) {
  yield artifact('document', `# ${text}\n\n第一段。\n\n第二段。\n`)
})

interface ServedAgents extends AsyncDisposable {
  readonly chat: AgentClient
  readonly orders: AgentClient
  urlOf(name: string): string
}

async function serveAgents(others: readonly Agent[], options: ServeOptions = {}): Promise<ServedAgents> {
  const folder = await temporaryFolder()
  const orderAgent = createOrderAgent(join(folder.path, 'orders.sqlite'))
  const served = await serve([createChatAgent(createOfflineWriter()), orderAgent, ...others], options)
  const urlOf = (name: string) => served.agents.find((each) => each.name === name)?.url ?? ''
  const [chat, orders] = await Promise.all([connect(urlOf('ChatAgent')), connect(urlOf('OrderAgent'))])
  return {
    chat,
    orders,
    urlOf,
    async [Symbol.asyncDispose]() {
      await served[Symbol.asyncDispose]()
      await folder[Symbol.asyncDispose]()
    },
  }
}

describe('the chat agent', () => {
  it('forwards a question of the order agent, and the answer to the same task', async () => {
    await using served = await serveAgents([])
    const conversation = served.chat.conversation()
    const asked = await conversation.ask('我想查一下订单')
    expect([asked.state, asked.text]).toEqual(['TASK_STATE_INPUT_REQUIRED', expect.stringContaining('哪个订单')])
    expect((await conversation.ask('3')).text).toBe('订单信息: ORDER_003, 产品: 山间龙井, 价格: ¥26.00')
    const { tasks } = await served.orders.listTasks({ contextId: conversation.contextId ?? '' })
    expect(tasks.map(({ status }) => status.state)).toEqual(['TASK_STATE_COMPLETED'])
  })

  it('cancels a question in both agents', async () => {
    await using served = await serveAgents([])
    const conversation = served.chat.conversation()
    await conversation.ask('我想查一下订单')
    expect(await conversation.ask('算了')).toMatchObject({ state: 'TASK_STATE_COMPLETED', text: '好的，那就算了。' })
    const { tasks } = await served.orders.listTasks({ contextId: conversation.contextId ?? '' })
    expect(tasks.map(({ status }) => status.state)).toEqual(['TASK_STATE_CANCELED'])
  })

  it('starts again if the other agent has lost the task', async () => {
    await using served = await serveAgents([])
    const conversation = served.chat.conversation()
    await conversation.ask('我想查一下订单')
    const { tasks } = await served.orders.listTasks({ contextId: conversation.contextId ?? '' })
    for (const { id } of tasks) await served.orders.cancelTask({ id })
    expect((await conversation.ask('ORDER_004')).text).toContain('玫瑰乌龙')
  })

  it('handles a long message in linear time', async () => {
    await using served = await serveAgents([])
    for (const word of ['它', '写', '如何 A2A ', 'in order', '... ', '[', '\n']) {
      expect((await served.chat.ask(word.repeat(300_000 / word.length))).state).toMatch(/COMPLETED|INPUT_REQUIRED/)
    }
  })

  it('reports failures of the other agent in the conversation', async () => {
    await using served = await serveAgents([])
    expect(await served.chat.ask('查询订单 ORDER_999')).toMatchObject({
      state: 'TASK_STATE_COMPLETED',
      text: '没有找到订单 ORDER_999',
    })
  })

  it('requests documents from the workflow', async () => {
    await using served = await serveAgents([documentWorkflow])
    const answer = await served.chat.ask('请写一篇关于茉莉花茶的文章')
    expect(answer.text).toBe('# 茉莉花茶\n\n第一段。\n\n第二段。\n')
    const pieces = (await collect(served.chat.stream('请写一篇关于茉莉花茶的文章'))).artifacts[0]?.parts
    expect(pieces?.length).toBeGreaterThan(1)
  })

  it('continues if another agent cannot be reached', async () => {
    await using served = await serveAgents([])
    expect(await served.chat.ask('Write an article about tea')).toMatchObject({
      state: 'TASK_STATE_COMPLETED',
      text: expect.stringContaining('cannot reach DocumentWorkflow'),
    })
  })

  it('remembers a conversation by its context only', async () => {
    await using served = await serveAgents([])
    await served.chat.ask('你好，我叫小满', { contextId: 'one' })
    expect((await served.chat.ask('我叫什么？', { contextId: 'one' })).text).toContain('小满')
    expect((await served.chat.ask('我叫什么？', { contextId: 'other' })).text).not.toContain('小满')
  })

  it('calls remote agents with its own key', async () => {
    await using remote = await serveAgents([documentWorkflow], { auth: [apiKey('k1')], dialects: 'all' })
    const resolve = connectAgents(
      { DocumentWorkflow: remote.urlOf('DocumentWorkflow'), OrderAgent: 'http://127.0.0.1:9' },
      { credentials: apiKeyCredential('k1') },
    )
    await using served = await serve(createChatAgent(createOfflineWriter()), { advanced: { resolve } })
    const chat = await connect(served.url)
    expect((await chat.ask('请写一篇关于茶的文章')).text).toContain('# 茶')
    expect((await chat.ask('查询订单 ORDER_001')).text).toContain('联系不上 OrderAgent')
  })
})
