/** The task-rest documents: an orchestrator and three agents, with the calls and bodies that they print. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type System, startSystem } from '../../examples/system/start-system.js'
import { startWebhook } from './webhook.js'

interface Part {
  readonly type: 'text' | 'data' | 'file'
  readonly text?: string
  readonly data?: Record<string, unknown>
}

interface Message {
  readonly role: 'user' | 'agent'
  readonly parts: readonly Part[]
  readonly messageId: string
  readonly taskId: string | null
  readonly contextId: string | null
}

interface Artifact {
  readonly artifactId: string
  readonly name: string | null
  readonly parts: readonly Part[]
  readonly index: number
  readonly append?: boolean
  readonly lastChunk?: boolean
}

interface Task {
  readonly id: string
  readonly contextId: string
  readonly status: { readonly state: string; readonly message?: Message; readonly timestamp: string }
  readonly artifacts: readonly Artifact[]
  readonly history: readonly Message[]
}

const key = 'k1'
let system: System
let urls: Record<string, string> = {}

beforeAll(async () => {
  system = await startSystem({ store: 'memory', key, portFor: () => 0 })
  // Addresses in the table of an orchestrator have no trailing slash.
  urls = Object.fromEntries(system.places.map(({ name, url }) => [name, url.replace(/\/$/, '')]))
})

afterAll(() => system.close())

const headers = { 'content-type': 'application/json', 'x-api-key': key }

/** `requests.post(f"{base}/tasks/send", json=req.model_dump())`: absent members are null. */
function body(parts: readonly Part[], contextId: string): string {
  return JSON.stringify({ message: { role: 'user', parts, messageId: randomUUID(), taskId: null, contextId } })
}

async function sendMessage(agent: string, parts: readonly Part[], contextId: string): Promise<Task> {
  const response = await fetch(`${urls[agent]}/tasks/send`, { method: 'POST', headers, body: body(parts, contextId) })
  expect(response.status).toBe(200)
  return (await response.json()) as Task
}

interface SentEvent {
  readonly task?: Task
  readonly taskId?: string
  readonly contextId?: string
  readonly artifact?: Artifact
}

async function stream(agent: string, parts: readonly Part[]): Promise<readonly SentEvent[]> {
  const response = await fetch(`${urls[agent]}/tasks/sendSubscribe`, {
    method: 'POST',
    headers,
    body: body(parts, randomUUID()),
  })
  expect(response.headers.get('content-type')).toBe('text/event-stream')
  return [...(await response.text()).matchAll(/^data: (.*)$/gm)].map(([, data = '']) => JSON.parse(data) as SentEvent)
}

/** The function `_extract_data_from_task` of the orchestrator. */
function extractData(task: Task): Record<string, unknown> | undefined {
  for (const artifact of task.artifacts) for (const part of artifact.parts) if (part.type === 'data') return part.data
  return undefined
}

const textOf = ({ artifacts }: Task) => artifacts.flatMap(({ parts }) => parts.map(({ text = '' }) => text)).join('')

async function getCard(agent: string): Promise<Record<string, unknown>> {
  return (await (await fetch(`${urls[agent]}/.well-known/agent.json`)).json()) as Record<string, unknown>
}

describe('the card', () => {
  it('has the members of the documents at /.well-known/agent.json, without a key', async () => {
    const { skills, ...card } = await getCard('OutlineAgent')
    expect(card).toMatchObject({
      name: 'OutlineAgent',
      description: expect.any(String),
      url: urls.OutlineAgent,
      version: '1.0.0',
      capabilities: { streaming: true },
    })
    expect(card.authentication).toEqual({ schemes: ['apiKey'] })
    expect(skills).toMatchObject([{ id: 'generate_outline', name: expect.any(String), examples: expect.any(Array) }])
  })

  it.each([
    ['OutlineAgent', ['text'], ['data']],
    ['DocAgent', ['data', 'text'], ['text', 'data']],
    ['SummaryAgent', ['text', 'data'], ['text', 'data']],
  ])('of %s names the modes of its skill as words', async (agent, inputs, outputs) => {
    const { skills } = await getCard(agent)
    const [skill] = skills as { inputModes: string[]; outputModes: string[] }[]
    const isWord = (mode: string) => !mode.includes('/')
    expect([skill?.inputModes.filter(isWord), skill?.outputModes.filter(isWord)]).toEqual([inputs, outputs])
  })

  it('has addresses that work with one slash or two', async () => {
    const { url } = await getCard('OutlineAgent')
    for (const base of [url, `${url}/`]) {
      const { status } = await fetch(`${base}/tasks/send`, {
        method: 'POST',
        headers,
        body: body([{ type: 'text', text: 'tea' }], randomUUID()),
      })
      expect(status).toBe(200)
    }
  })
})

describe('the orchestrator', () => {
  it('discovers each agent and passes the data of one to the next', async () => {
    const contextId = randomUUID()
    expect(await getCard('OutlineAgent')).toMatchObject({ name: 'OutlineAgent' })
    const outlined = await sendMessage('OutlineAgent', [{ type: 'text', text: '茉莉花茶' }], contextId)
    const outline = extractData(outlined) as Record<string, unknown>
    expect(outline).toMatchObject({ title: expect.any(String), sections: expect.any(Array) })

    expect(await getCard('DocAgent')).toMatchObject({ name: 'DocAgent' })
    const instruction: Part = { type: 'text', text: '请根据以下大纲生成文章正文' }
    const written = await sendMessage('DocAgent', [instruction, { type: 'data', data: outline }], contextId)
    const document = extractData(written) as Record<string, unknown>
    expect(document).toEqual({ title: outline.title, document: textOf(written) })

    expect(await getCard('SummaryAgent')).toMatchObject({ name: 'SummaryAgent' })
    const wanted: Part = { type: 'text', text: '请根据以下正文生成摘要' }
    const summarised = await sendMessage('SummaryAgent', [wanted, { type: 'data', data: document }], contextId)
    const { summary } = extractData(summarised) as { summary: string }
    expect(summary).toBe(textOf(summarised))
    const sentences = summary.match(/[^。]+。/g) ?? []
    expect(sentences.length).toBeGreaterThan(0)
    for (const sentence of sentences) expect(document.document).toContain(sentence)

    for (const { contextId: kept, history } of [outlined, written, summarised]) {
      expect([kept, ...history.map((message) => message.contextId)]).toEqual(Array(history.length + 1).fill(contextId))
    }
  })

  it.each([
    ['SummaryAgent', { type: 'data', data: { pages: 3 } }],
    ['SummaryAgent', { type: 'data', data: { document: ' ' } }],
    ['DocAgent', { type: 'data', data: { chapters: [] } }],
  ] as const)('is rejected by %s because %j has no input, with any instruction', async (agent, part) => {
    const { status, artifacts } = await sendMessage(agent, [{ type: 'text', text: '请生成摘要' }, part], randomUUID())
    expect([status.state, artifacts]).toEqual(['failed', []])
    expect(status.message).toMatchObject({
      role: 'agent',
      parts: [{ type: 'text', text: expect.stringMatching(/^缺少/) }],
    })
  })
})

describe('the history', () => {
  const textsOf = ({ history }: Task) => history.map(({ role, parts }) => `${role}: ${parts[0]?.text}`)
  const everything = ['user: 茉莉花茶', 'agent: 正在拟定大纲…', expect.stringMatching(/^agent: 大纲《.+》已拟定/)]

  it('holds the messages of both sides, progress and results, in every answer', async () => {
    const task = await sendMessage('OutlineAgent', [{ type: 'text', text: '茉莉花茶' }], randomUUID())
    expect(textsOf(task)).toEqual(everything)
    expect(task.status.message).toEqual(task.history.at(-1))
    const polled = await fetch(`${urls.OutlineAgent}/tasks/${task.id}`, { headers })
    expect(await polled.json()).toEqual(task)
  })

  it('grows with the stream: submitted, working, the artifact, completed', async () => {
    const events = await stream('OutlineAgent', [{ type: 'text', text: '茉莉花茶' }])
    expect(events.map(({ task, artifact }) => task?.status.state ?? artifact?.name)).toEqual([
      'submitted',
      'working',
      'outline',
      'completed',
    ])
    expect(events.flatMap(({ task }) => (task ? [textsOf(task)] : []))).toEqual(
      [1, 2, 3].map((n) => everything.slice(0, n)),
    )
    const [, , update] = events
    expect(update).toMatchObject({
      taskId: events[0]?.task?.id,
      contextId: events[0]?.task?.contextId,
      artifact: { artifactId: expect.any(String), index: 0, lastChunk: true, parts: [{ type: 'data' }] },
    })
  })
})

describe('a streamed artifact', () => {
  it('numbers its chunks', async () => {
    const outline = { title: 'Tea', sections: ['Leaves', 'Water', 'Time'] }
    const events = await stream('DocAgent', [{ type: 'data', data: outline }])
    const chunks = events.flatMap(({ artifact }) => artifact ?? [])
    expect(chunks.map(({ index, append, lastChunk }) => [index, append, lastChunk])).toEqual([
      [0, undefined, undefined],
      [1, true, undefined],
      [2, true, undefined],
      [3, true, true],
    ])
    expect(new Set(chunks.map(({ artifactId }) => artifactId)).size).toBe(1)
    expect(events.at(-1)?.task?.artifacts).toMatchObject([{ name: 'document', index: 0, lastChunk: true }])
  })
})

describe('push notifications', () => {
  it('are sent by every agent of the system to a webhook on this machine', async () => {
    await using webhook = await startWebhook()
    for (const agent of Object.keys(urls)) {
      expect(await getCard(agent), agent).toMatchObject({ capabilities: { pushNotifications: true } })
    }
    const message = { role: 'user', parts: [{ type: 'text', text: 'tea' }], contextId: randomUUID() }
    const response = await fetch(`${urls.OutlineAgent}/tasks/send`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ message, pushNotification: { url: webhook.url, token: 't-1' } }),
    })
    const { id } = (await response.json()) as Task
    const last = await webhook.received(({ status }) => status.state === 'completed')
    expect(last).toMatchObject({
      id,
      artifacts: [{ name: 'outline' }],
      history: [{ role: 'user' }, { role: 'agent' }, { role: 'agent' }],
    })
  })
})
