/** MCP servers as agents. */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import {
  createMcpHandler,
  InMemoryTransport,
  inputRequired,
  inputResponse,
  McpServer,
} from '@modelcontextprotocol/server'
import { data, isTerminal, MemoryStore } from 'dragoman'
import { connect, schemaOf } from 'dragoman/client'
import { fromMcp } from 'dragoman/mcp'
import { createHandler, skillSchemasUri } from 'dragoman/server'
import { gate, until } from 'dragoman/testing'
import { Client as ClientV1 } from 'mcp-sdk-v1/client/index.js'
import { InMemoryTransport as InMemoryV1 } from 'mcp-sdk-v1/inMemory.js'
import { McpServer as McpServerV1 } from 'mcp-sdk-v1/server/mcp.js'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { JsonValue } from '../../src/model/part.js'

const info = { name: 'test', version: '1.0.0' }
const skill = (skillId: string) => ({ metadata: { skillId } })
const [begun, stopped] = [gate(), gate()]

const clothSchema = {
  type: 'object' as const,
  properties: { cloth: { type: 'string' as const, enum: ['wool', 'silk'] } },
  required: ['cloth'],
}

/** A server with tools of every kind. */
function createServer(): McpServer {
  const server = new McpServer(info)
  server.registerTool(
    'add',
    { description: 'Adds', inputSchema: z.object({ a: z.number(), b: z.number() }) },
    ({ a, b }) => ({
      content: [{ type: 'text', text: JSON.stringify({ sum: a + b }) }],
      structuredContent: { sum: a + b },
    }),
  )
  server.registerTool('shout', { inputSchema: z.object({ text: z.string() }) }, async ({ text }, { mcpReq }) => {
    const progressToken = mcpReq._meta?.progressToken ?? 0
    for (const [progress, message] of ['Breathing in', 'Shouting'].entries())
      await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress, message } })
    return { content: [{ type: 'text', text: text.toUpperCase() }] }
  })
  server.registerTool('break', {}, () => ({ content: [{ type: 'text', text: 'It is broken' }], isError: true }))
  server.registerTool('files', {}, () => ({
    content: [
      { type: 'image', data: 'AQI=', mimeType: 'image/png' },
      { type: 'resource', resource: { uri: 'file:///b.pdf', blob: 'BA==', mimeType: 'application/pdf' } },
      { type: 'resource_link', uri: 'https://files.example/c.txt', name: 'c.txt' },
    ],
  }))
  server.registerTool('wait', {}, async ({ mcpReq }) => {
    begun.open()
    await new Promise<void>((resolve) => mcpReq.signal.addEventListener('abort', () => resolve()))
    stopped.open()
    return { content: [] }
  })
  server.registerTool('sew', { outputSchema: z.object({ made: z.string() }) }, ({ mcpReq }) => {
    const given = inputResponse(mcpReq.inputResponses, 'which')
    if (given.kind !== 'elicit')
      return inputRequired({
        inputRequests: { which: inputRequired.elicit({ message: 'Which cloth?', requestedSchema: clothSchema }) },
        requestState: 'opaque',
      })
    const made = `${String(given.content?.cloth)}, ${mcpReq.requestState()}`
    return { content: [{ type: 'text', text: made }], structuredContent: { made } }
  })
  return server
}

/** A client of revision 2026-07-28. The server needs no port. */
async function modernClient(): Promise<Client> {
  const { fetch } = createMcpHandler(createServer)
  const client = new Client(info, { capabilities: { elicitation: {} }, versionNegotiation: { mode: 'auto' } })
  const transport = new StreamableHTTPClientTransport(new URL('http://localhost/mcp'), {
    fetch: (url, init) => fetch(new Request(url, init)),
  })
  await client.connect(transport)
  return client
}

async function legacyClient(server: McpServer): Promise<Client> {
  const client = new Client(info, { capabilities: { elicitation: {} } })
  const [near, far] = InMemoryTransport.createLinkedPair()
  await Promise.all([server.connect(far), client.connect(near)])
  return client
}

async function clientV1(): Promise<ClientV1> {
  const server = new McpServerV1(info)
  server.registerTool('add', { inputSchema: { a: z.number(), b: z.number() } }, async ({ a, b }) => ({
    content: [{ type: 'text', text: String(a + b) }],
  }))
  server.registerTool('break', {}, async () => ({ content: [{ type: 'text', text: 'It is broken' }], isError: true }))
  const client = new ClientV1(info)
  const [near, far] = InMemoryV1.createLinkedPair()
  await Promise.all([server.connect(far), client.connect(near)])
  return client
}

describe('fromMcp', () => {
  it('publishes the tools as skills with schemas', async () => {
    await using agent = await connect(await fromMcp(await modernClient(), { name: 'Tools', version: '2.0.0' }))
    expect(agent.card).toMatchObject({ name: 'Tools', version: '2.0.0' })
    expect(agent.card.skills.map(({ id }) => id)).toEqual(['add', 'shout', 'break', 'files', 'wait', 'sew'])
    const schemas = agent.card.capabilities.extensions?.find(({ uri }) => uri === skillSchemasUri)?.params?.skills
    expect(schemas).toMatchObject({ add: { input: { properties: { a: { type: 'number' } } } } })
  })

  it('calls the tool that the message names, or the one that takes the data', async () => {
    await using agent = await connect(await fromMcp(await modernClient(), 'Tools'))
    const named = await agent.ask([data({ a: 1, b: 2 })], skill('add'))
    expect(named.artifacts[0]?.parts).toEqual([data({ sum: 3 })])
    expect((await agent.ask([data({ text: 'hi' })])).text).toBe('HI')
  })

  it('rejects a message that names no tool, with the names of the tools', async () => {
    await using agent = await connect(await fromMcp(await modernClient(), 'Tools'))
    for (const more of [{}, skill('unknown')]) {
      const { state, text } = await agent.ask([data({})], more)
      expect(state).toBe('TASK_STATE_REJECTED')
      expect(text).toContain('add, shout, break')
    }
  })

  it('reports progress', async () => {
    await using agent = await connect(await fromMcp(await modernClient(), 'Tools'))
    const progress: unknown[] = []
    for await (const update of agent.stream([data({ text: 'hi' })], skill('shout')))
      if ('statusUpdate' in update && update.statusUpdate.status.message)
        progress.push(update.statusUpdate.status.message.parts[0])
    expect(progress).toEqual([{ text: 'Breathing in' }, { text: 'Shouting' }])
  })

  it('fails with the text of the tool', async () => {
    await using agent = await connect(await fromMcp(await modernClient(), 'Tools'))
    expect(await agent.ask([data({})], skill('break'))).toMatchObject({
      state: 'TASK_STATE_FAILED',
      text: 'It is broken',
    })
  })

  it('returns files', async () => {
    await using agent = await connect(await fromMcp(await modernClient(), 'Tools'))
    expect((await agent.ask([data({})], skill('files'))).artifacts[0]?.parts).toEqual([
      { raw: 'AQI=', mediaType: 'image/png' },
      { raw: 'BA==', mediaType: 'application/pdf', filename: 'b.pdf' },
      { url: 'https://files.example/c.txt', filename: 'c.txt' },
    ])
  })

  it('cancels the call with the task', async () => {
    await using agent = await connect(await fromMcp(await modernClient(), 'Tools'))
    let id = ''
    for await (const update of agent.stream([data({})], skill('wait'))) {
      if (id === '' && 'task' in update) {
        id = update.task.id
        await begun.opened
        await agent.cancelTask({ id })
      }
    }
    await stopped.opened
    expect((await agent.getTask({ id })).status.state).toBe('TASK_STATE_CANCELED')
  })

  it('asks the question of a tool, and calls again with the answer in another process', async () => {
    const store = new MemoryStore()
    const first = await createHandler(await fromMcp(await modernClient(), 'Tools'), { store })
    const asking = await connect(first)
    const asked = await asking.ask([data({})], skill('sew'))
    expect(asked).toMatchObject({ state: 'TASK_STATE_INPUT_REQUIRED', text: 'Which cloth?' })
    expect(schemaOf(asked.task?.status.message)).toMatchObject(clothSchema)
    await first.close()
    const second = await createHandler(await fromMcp(await modernClient(), 'Tools'), { store })
    const answering = await connect(second)
    const taskId = asked.task?.id ?? ''
    await expect(answering.ask([data({ cloth: 'jute' })], { taskId })).rejects.toThrow('cloth')
    const { artifacts, state } = await answering.ask([data({ cloth: 'silk' })], { taskId })
    expect(isTerminal(state)).toBe(true)
    expect(artifacts[0]?.parts.at(-1)).toEqual(data({ made: 'silk, opaque' }))
    await second.close()
  })

  describe('with a tool that asks before it pays', () => {
    /** A server whose tool waits for `asking.finish` before it asks, and for `finish` before it returns. */
    function createBank() {
      const asking = { begun: gate(), finish: gate() }
      const finish = gate()
      const paid: unknown[] = []
      const form = { type: 'object', properties: { ok: { type: 'string' } } }
      const question = { method: 'elicitation/create', params: { message: 'Pay?', requestedSchema: form } }
      const client = {
        getProtocolEra: () => 'modern',
        listTools: async () => ({
          tools: [{ name: 'pay', inputSchema: { type: 'object', properties: { to: { type: 'string' } } } }],
        }),
        async callTool({ inputResponses }: { name: string; inputResponses?: unknown }) {
          if (inputResponses === undefined) {
            asking.begun.open()
            await asking.finish.opened
            return { resultType: 'input_required', requestState: 'opaque', inputRequests: { sure: question } }
          }
          paid.push(inputResponses)
          await finish.opened
          return { content: [{ type: 'text', text: 'Paid' }] }
        },
      }
      return { client, asking, finish, paid }
    }

    it.each([
      ['thanks', [{ text: 'thank you' }]],
      ['a second answer', [data({ ok: 'yes' })]],
    ])('does not pay again for %s after the answer', async (_name, parts) => {
      const { client, asking, finish, paid } = createBank()
      asking.finish.open()
      await using agent = await connect(await fromMcp(client, 'Bank'))
      const asked = await agent.ask([data({ to: 'bob' })])
      const taskId = asked.task?.id ?? ''
      const answering = agent.ask([data({ ok: 'yes' })], { taskId })
      await until(() => paid.length === 1)
      const following = agent.ask(parts, { taskId })
      await until(async () => (await agent.getTask({ id: taskId })).history?.length === 4)
      finish.open()
      await answering
      expect(await following).toMatchObject({ state: 'TASK_STATE_COMPLETED' })
      expect(paid).toEqual([{ sure: { action: 'accept', content: { ok: 'yes' } } }])
      const { artifacts } = await agent.getTask({ id: taskId })
      expect(artifacts?.map((artifact) => artifact.parts)).toEqual([[{ text: 'Paid' }]])
    })

    it('does not read a message as the answer that was sent before the question', async () => {
      const { client, asking, finish, paid } = createBank()
      await using agent = await connect(await fromMcp(client, 'Bank'))
      const first = agent.stream([data({ to: 'bob' })])[Symbol.asyncIterator]()
      const { value: begin } = await first.next()
      const taskId = begin && 'task' in begin ? begin.task.id : ''
      await asking.begun.opened
      const hurried = agent.ask([data({ ok: 'hurry' })], { taskId })
      await until(async () => (await agent.getTask({ id: taskId })).history?.length === 2)
      asking.finish.open()
      expect(await hurried).toMatchObject({ state: 'TASK_STATE_INPUT_REQUIRED', text: 'Pay?' })
      expect(paid).toEqual([])
      finish.open()
      expect(await agent.ask([data({ ok: 'yes' })], { taskId })).toMatchObject({ state: 'TASK_STATE_COMPLETED' })
      expect(paid).toEqual([{ sure: { action: 'accept', content: { ok: 'yes' } } }])
    })

    it('asks again if the process died before it asked', async () => {
      const { client, asking, finish, paid } = createBank()
      asking.finish.open()
      finish.open()
      const bank = await fromMcp(client, 'Bank')
      const checkpoints = new Map<string, JsonValue>()
      const checkpoint = async (key: string, value: JsonValue) => void checkpoints.set(key, value)
      const message = { messageId: 'm1', role: 'ROLE_USER', parts: [data({ to: 'bob' })] }
      const turn = { number: 1, message, history: [message], metadata: {}, checkpoints, checkpoint, text: '' }
      const runTurn = async () => {
        const yields: unknown[] = []
        for await (const each of bank.handler({ ...turn, data: () => ({ to: 'bob' }) } as never)) yields.push(each)
        return yields
      }
      const first = await runTurn()
      expect(await runTurn()).toEqual([first.at(-1)])
      expect(paid).toEqual([])
    })
  })

  it('declines the questions of older servers, which wait while the call is open', async () => {
    const server = new McpServer(info)
    server.registerTool('sew', {}, async ({ mcpReq }) => {
      const { action } = await mcpReq.elicitInput({ message: 'Which cloth?', requestedSchema: clothSchema })
      return { content: [{ type: 'text', text: action }] }
    })
    await using agent = await connect(await fromMcp(await legacyClient(server), 'Tools'))
    expect((await agent.ask([data({})])).text).toBe('decline')
  })

  it('takes a client of the older package', async () => {
    await using agent = await connect(await fromMcp(await clientV1(), 'Tools'))
    expect((await agent.ask([data({ a: 1, b: 2 })], skill('add'))).text).toBe('3')
    expect(await agent.ask([data({})], skill('break'))).toMatchObject({
      state: 'TASK_STATE_FAILED',
      text: 'It is broken',
    })
  })

  it('survives schemas whose references grow without bound', async () => {
    const $defs = Object.fromEntries(
      Array.from({ length: 30 }, (_, level) => {
        const $ref = `#/$defs/level${level + 1}`
        return [`level${level}`, { anyOf: [{ $ref }, { $ref }] }]
      }),
    )
    const bomb = {
      type: 'object' as const,
      properties: { a: { $ref: '#/$defs/level0' } },
      $defs: { ...$defs, level30: false },
    }
    const client = {
      listTools: async () => ({
        tools: [
          { name: 'bomb', inputSchema: bomb },
          { name: 'other', inputSchema: { type: 'banana' } },
        ],
      }),
      callTool: async () => ({ content: [] }),
    }
    await using agent = await connect(await fromMcp(client, 'Tools'))
    await expect(agent.ask([data({ a: [[1]] })])).rejects.toThrow()
    expect((await agent.ask([data({})], skill('other'))).state).toBe('TASK_STATE_COMPLETED')
  })
})
