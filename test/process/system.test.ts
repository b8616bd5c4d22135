/** `npm start`: the demonstration system, called as the clients of each part call it. */
import { execFileSync } from 'node:child_process'
import { createServer } from 'node:net'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { dataLines, post } from './agent-process.js'
import { type TemporaryFolder, temporaryFolder } from './server-process.js'
import { type SystemProcess, startSystem } from './system-process.js'

interface OldTask {
  readonly contextId: string
  readonly status: { readonly state: string }
  readonly artifacts: readonly { readonly parts: readonly { readonly text?: string; readonly data?: object }[] }[]
}

const command = fileURLToPath(new URL('../../bin/dragoman.js', import.meta.url))

const names = [
  'Echo',
  'OutlineAgent',
  'DocAgent',
  'SummaryAgent',
  'OrderAgent',
  'TravelAgent',
  'ImageAgent',
  'DocumentWorkflow',
  'ChatAgent',
]

let folder: TemporaryFolder
let system: SystemProcess

beforeAll(async () => {
  folder = await temporaryFolder()
  system = await startSystem(folder.path, ['--ports', 'auto'])
})

afterAll(async () => {
  await system?.[Symbol.asyncDispose]()
  await folder?.[Symbol.asyncDispose]()
})

async function get<T>(url: string, headers: Readonly<Record<string, string>> = {}): Promise<T> {
  return (await (await fetch(url, { headers })).json()) as T
}

async function chat(text: string): Promise<string> {
  const params = { message: { role: 'user', parts: [{ kind: 'text', text }] }, metadata: {} }
  const { body } = await post(`${system.urlOf('ChatAgent')}/api/v1/a2a`, {
    jsonrpc: '2.0',
    id: '1',
    method: 'message/send',
    params,
  })
  return (body as { result: { parts: { text: string }[] } }).result.parts.map((part) => part.text).join('')
}

describe('the system', () => {
  it('passes a topic through the three agents in their old dialect (RL-L0-1) (RL-L0-3)', async () => {
    const send = async (name: string, parts: readonly object[]): Promise<OldTask> => {
      const message = { role: 'user', parts, contextId: 'chain-1' }
      const { status, body } = await post(`${system.urlOf(name)}/tasks/send`, { message })
      expect(status).toBe(200)
      expect(body).toMatchObject({ contextId: 'chain-1', status: { state: 'completed' } })
      return body as OldTask
    }
    const contentOf = ({ artifacts }: OldTask) => artifacts.flatMap(({ parts }) => parts)
    const outline = contentOf(await send('OutlineAgent', [{ type: 'text', text: '茉莉花茶' }])).find(({ data }) => data)
    const document = await send('DocAgent', [
      { type: 'text', text: '请根据以下大纲生成文章正文' },
      { type: 'data', data: outline?.data },
    ])
    const text = contentOf(document)
      .map((part) => part.text)
      .join('')
    expect(text).toMatch(/^# 茉莉花茶/)
    const summary = contentOf(await send('SummaryAgent', [{ type: 'text', text }]))
    expect(summary.map((part) => part.text).join('').length).toBeLessThan(text.length / 2)
  })

  it('creates a document with one call, and returns it again by its id', async () => {
    const url = `${system.urlOf('DocumentWorkflow')}/api/documents`
    const { status, body } = await post(url, { topic: '茉莉花茶' })
    expect(status).toBe(200)
    expect(body).toMatchObject({
      state: 'completed',
      outline: { sections: expect.any(Array) },
      document: expect.stringMatching(/^# 茉莉花茶/),
      summary: expect.any(String),
    })
    const { taskId } = body as { taskId: string }
    expect(await get(`${url}/${taskId}`)).toEqual(body)
    expect((await fetch(`${url}/${taskId}`, { method: 'DELETE' })).status).toBe(409)
    // A2A clients see the same run.
    const task = await get<OldTask>(`${system.urlOf('DocumentWorkflow')}/tasks/${taskId}`)
    expect(JSON.stringify(task.status)).toMatch(/completed/i)
  })

  it('streams the creation of a document, and resumes the stream', async () => {
    const url = `${system.urlOf('DocumentWorkflow')}/api/documents`
    const { text, headers } = await post(url, { topic: 'Solar power' }, { accept: 'text/event-stream' })
    expect(headers.get('content-type')).toBe('text/event-stream')
    const events = dataLines(text).map((line) => JSON.parse(line) as Record<string, unknown>)
    const types = events.map(({ type }) => type)
    expect([...new Set(types)]).toEqual(['task', 'progress', 'outline', 'document', 'summary', 'result'])
    const pieces = events.flatMap((event) => (event.type === 'document' ? [event.text] : []))
    expect(events.at(-1)).toMatchObject({ state: 'completed', document: pieces.join('') })
    // Every event has the fields id, event and data, in this order.
    const blocks = text.trimEnd().split('\n\n')
    expect(blocks.map((block) => /^id: (\d+|end)\nevent: (\w+)\ndata: \{.*\}$/.exec(block)?.[2])).toEqual(types)
    expect(blocks.map((block) => block.startsWith('id: end\n')).indexOf(true)).toBe(blocks.length - 1)
    const half = /^id: (\d+)\nevent: document$/m.exec(text)?.[1] ?? ''
    const rest = await fetch(`${url}/${events[0]?.taskId}`, {
      headers: { accept: 'text/event-stream', 'last-event-id': half },
    })
    const again = dataLines(await rest.text()).map((line) => (JSON.parse(line) as { type: string }).type)
    expect(again).toEqual(types.slice(types.indexOf('document') + 1))
    // A reader at the end gets 204; a late reader without a cursor gets the result.
    const atEnd = { headers: { accept: 'text/event-stream', 'last-event-id': 'end' } }
    expect((await fetch(`${url}/${events[0]?.taskId}`, atEnd)).status).toBe(204)
    const late = await (await fetch(`${url}/${events[0]?.taskId}?stream`)).text()
    expect(late).toMatch(/^id: end\nevent: result\ndata: \{.*\}\n\n$/)
  })

  it.each([
    ['no topic', { body: '{}' }, 400],
    ['no JSON', { body: 'x' }, 400],
    ['another type', { body: '{"topic":"x"}', type: 'text/plain' }, 415],
    ['a page of another origin', { body: '{"topic":"x"}', origin: 'http://elsewhere.example' }, 403],
    ['an unknown task', { path: '/nope' }, 404],
  ])(
    'rejects %s with one error format',
    async (_, { body, path = '', type = 'application/json', origin }: InvalidRequest, code) => {
      const response = await fetch(`${system.urlOf('DocumentWorkflow')}/api/documents${path}`, {
        headers: { 'content-type': type, ...(origin !== undefined && { origin }) },
        ...(body !== undefined && { method: 'POST', body }),
      })
      expect(response.status).toBe(code)
      // Errors from before the routing carry their reason, as in v1.0.
      const details = origin === undefined ? [] : [expect.objectContaining({ reason: 'PERMISSION_DENIED' })]
      expect(await response.json()).toEqual({
        error: { code, status: expect.any(String), message: expect.any(String), details },
      })
    },
  )

  it('lets the chat agent call the others by name', async () => {
    expect(await chat('查询订单 ORDER_001')).toBe('订单信息: ORDER_001, 产品: 云边茉莉, 价格: ¥18.00')
    expect(await chat('写一篇关于茉莉花茶的文章')).toMatch(/^# 茉莉花茶/)
  })

  it('lists all agents in its registry, through every API', async () => {
    const registry = system.urlOf('Registry')
    const found = async (words: string) => {
      const { agents } = await get<{ agents: { name: string }[] }>(
        `${registry}/v1/agents?text=${encodeURIComponent(words)}`,
      )
      return agents.map(({ name }) => name)
    }
    expect(await found('订单')).toContain('OrderAgent')
    expect((await found('outline'))[0]).toBe('OutlineAgent')
    const { entries } = await get<{ entries: { displayName: string }[] }>(`${registry}/.well-known/ai-catalog.json`)
    expect(entries.map(({ displayName }) => displayName)).toEqual(expect.arrayContaining(names))
    const { data } = await get<{ data: { pageItems: { name: string }[] } }>(
      `${registry}/nacos/v3/admin/ai/a2a/list?search=blur`,
    )
    expect(data.pageItems.map(({ name }) => name).sort()).toEqual([...names].sort())
  })

  it('publishes the chat agent at the URL of its dialect (RL-L2-5)', async () => {
    const { data } = await get<{ data: Record<string, unknown> }>(
      `${system.urlOf('Registry')}/nacos/v3/admin/ai/a2a?agentName=ChatAgent`,
    )
    expect(data).toMatchObject({
      url: `${system.urlOf('ChatAgent')}/api/v1/a2a`,
      preferredTransport: 'JSONRPC',
      capabilities: { streaming: true },
    })
  })
})

/** The suggested commands in the output, with `npx dragoman` replaced by the built command. */
function suggestedCommands(stdout: string): readonly string[] {
  return [...stdout.matchAll(/^ {2}((?:curl|npx dragoman) .+)$/gm)].map(([, line = '']) =>
    line.replace(/^npx dragoman /, `${JSON.stringify(process.execPath)} ${JSON.stringify(command)} `),
  )
}

interface InvalidRequest {
  readonly body?: string
  readonly path?: string
  readonly type?: string
  readonly origin?: string
}

describe('npm start', () => {
  it('with a key rejects callers without it, and the agents still find each other', async () => {
    await using own = await temporaryFolder()
    await using locked = await startSystem(own.path, ['--ports', 'auto', '--store', 'memory', '--api-key', 'k1'])
    const url = `${locked.urlOf('DocumentWorkflow')}/api/documents`
    expect((await post(url, { topic: 'tea' })).status).toBe(401)
    expect((await fetch(`${locked.urlOf('Registry')}/v1/agents`)).status).toBe(401)
    expect((await post(url, { topic: 'tea' }, { 'x-api-key': 'k1' })).body).toMatchObject({ state: 'completed' })
    expect(locked.stdout).not.toContain('k1')
    expect(locked.stdout).toContain('export DRAGOMAN_API_KEY=…')
    for (const line of suggestedCommands(locked.stdout)) {
      const output = execFileSync('sh', ['-c', line], {
        encoding: 'utf8',
        env: { ...process.env, DRAGOMAN_API_KEY: 'k1' },
      })
      expect(output, line).toMatch(/ORDER_001|"state":"completed"|OutlineAgent|Solar power/)
    }
  })

  it('prints commands that work', async () => {
    const lines = suggestedCommands(system.stdout)
    expect(lines).toHaveLength(5)
    const output = lines.map((line) => execFileSync('sh', ['-c', line], { encoding: 'utf8' }))
    expect(output).toEqual([
      expect.stringContaining('"state":"completed"'),
      expect.stringContaining('ORDER_001'),
      expect.stringContaining('OutlineAgent'),
      expect.stringContaining('ORDER_001'),
      expect.stringContaining('Solar power'),
    ])
  })

  it('cancels a running document', async () => {
    await using own = await temporaryFolder()
    await using slow = await startSystem(own.path, ['--ports', 'auto', '--store', 'memory'], {
      DRAGOMAN_PACE_MS: '1000',
    })
    const url = `${slow.urlOf('DocumentWorkflow')}/api/documents`
    const asked = await post(url, { topic: 'tea' }, { prefer: 'respond-async' })
    expect(asked.status).toBe(202)
    const { taskId } = asked.body as { taskId: string }
    expect(asked.headers.get('location')).toBe(`/api/documents/${taskId}`)
    const cancelled = await fetch(`${url}/${taskId}`, { method: 'DELETE' })
    expect([cancelled.status, await cancelled.json()]).toMatchObject([200, { taskId, state: 'canceled' }])
    expect(await get(`${url}/${taskId}`)).toMatchObject({ state: 'canceled', error: { status: 'CANCELED' } })
  })

  it('names a port in use, and leaves no process running', async () => {
    await using own = await temporaryFolder()
    const taken = createServer()
    // Another process may already use the port, which has the same effect.
    await new Promise<void>((resolve) => taken.once('error', () => resolve()).listen(8020, '127.0.0.1', resolve))
    try {
      await expect(startSystem(own.path, ['--store', 'memory'])).rejects.toThrow(
        /ended with 1 [\s\S]*port 8020, it is in use: free it, or start with --ports auto/,
      )
    } finally {
      taken.close()
    }
  })

  it('stores results, and stops at one signal', async () => {
    await using own = await temporaryFolder()
    const args = ['--ports', 'auto']
    let taskId = ''
    {
      await using first = await startSystem(own.path, args)
      const { body } = await post(`${first.urlOf('DocumentWorkflow')}/api/documents`, { topic: 'tea' })
      taskId = (body as { taskId: string }).taskId
      first.signal('SIGINT')
      expect(await first.ended).toBe(0)
      expect(first.stdout).toMatch(
        /\nStopped\. Tasks are kept in sqlite:\.dragoman\/system\.sqlite; delete \.dragoman\/ to start without data\.\n$/,
      )
    }
    await using second = await startSystem(own.path, args)
    const url = `${second.urlOf('DocumentWorkflow')}/api/documents/${taskId}`
    expect(await get(url)).toMatchObject({ taskId, state: 'completed' })
  })
})
