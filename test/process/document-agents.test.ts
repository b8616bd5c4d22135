/** The three agents of a document chain, called as the chain's clients call them: plain HTTP and JSON. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type AgentProcess, dataLines, post, startAgent } from './agent-process.js'

interface Part {
  readonly type: string
  readonly text?: string
  readonly data?: { readonly sections: readonly { readonly title: string; readonly points: readonly string[] }[] }
}

interface Task {
  readonly id: string
  readonly contextId: string
  readonly status: { readonly state: string; readonly message?: { readonly parts: readonly Part[] } }
  readonly artifacts: readonly { readonly name: string; readonly metadata?: object; readonly parts: readonly Part[] }[]
  readonly history: readonly { readonly role: string; readonly contextId: string }[]
}

let agents: readonly AgentProcess[] = []
let [outlineUrl, docUrl, summaryUrl] = ['', '', '']

beforeAll(async () => {
  agents = await Promise.all(['outline', 'doc', 'summary'].map((name) => startAgent(name)))
  ;[outlineUrl = '', docUrl = '', summaryUrl = ''] = agents.map(({ url }) => url)
})

afterAll(async () => {
  await Promise.all(agents.map((agent) => agent[Symbol.asyncDispose]()))
})

const user = (parts: readonly Part[], contextId = 'chain-1') => ({ message: { role: 'user', parts, contextId } })

async function send(url: string, parts: readonly Part[], contextId?: string): Promise<Task> {
  const { status, body } = await post(`${url}/tasks/send`, user(parts, contextId))
  expect(status).toBe(200)
  return body as Task // the assertions check the shape
}

describe('the document agents', () => {
  it('serve their cards', async () => {
    const card = await (await fetch(`${outlineUrl}/.well-known/agent.json`)).json()
    expect(card).toMatchObject({
      name: 'OutlineAgent',
      url: expect.stringContaining(outlineUrl),
      version: '1.0.0',
      skills: [{ id: 'generate_outline' }],
      capabilities: { streaming: true, pushNotifications: true },
    })
  })

  it('create an outline, a document and a summary in one context (RL-L0-1) (RL-L0-3)', async () => {
    const outlined = await send(outlineUrl, [{ type: 'text', text: '茉莉花茶' }])
    expect(outlined).toMatchObject({
      contextId: 'chain-1',
      status: { state: 'completed' },
      artifacts: [{ name: 'outline', metadata: { writer: 'offline' }, parts: [{ type: 'data' }] }],
    })
    const outline = outlined.artifacts.flatMap(({ parts }) => parts).find(({ type }) => type === 'data')?.data
    expect(outline?.sections.length).toBeGreaterThan(2)

    const written = await send(docUrl, [
      { type: 'text', text: '请根据以下大纲生成文章正文' },
      { type: 'data', ...(outline && { data: outline }) },
    ])
    const document = written.artifacts[0]?.parts.map(({ text = '' }) => text).join('') ?? ''
    expect([written.artifacts[0]?.name, written.contextId]).toEqual(['document', 'chain-1'])
    for (const { title, points } of outline?.sections ?? []) {
      expect(document).toContain(`## ${title}`)
      for (const point of points) expect(document).toContain(point)
    }

    const summarised = await send(summaryUrl, [{ type: 'text', text: document }])
    const summary = summarised.artifacts[0]?.parts.map(({ text = '' }) => text).join('') ?? ''
    expect(summarised.artifacts[0]).toMatchObject({ name: 'summary', metadata: { writer: 'offline' } })
    expect(summary.length).toBeGreaterThan(10)
    expect(summary.length).toBeLessThan(document.length / 2)
    for (const sentence of summary.match(/[^。]+。/g) ?? []) expect(document).toContain(sentence)

    // Polling finds the same task.
    const polled = await fetch(`${summaryUrl}/tasks/${summarised.id}`)
    expect(await polled.json()).toMatchObject({ id: summarised.id, status: { state: 'completed' } })
  })

  it('stream in four kinds of steps: submitted, working, the artifact, completed', async () => {
    const body = user([{ type: 'text', text: 'How to brew jasmine tea' }])
    const { headers, text } = await post(`${outlineUrl}/tasks/sendSubscribe`, body)
    expect(headers.get('content-type')).toContain('text/event-stream')
    const events = dataLines(text).map((line) => JSON.parse(line))
    const steps = events.map(({ task, artifact }) => task?.status.state ?? artifact.name)
    expect(steps[0]).toBe('submitted')
    expect(steps.slice(-3)).toEqual(['working', 'outline', 'completed'])
    expect(events.at(-2)).toMatchObject({
      taskId: events[0].task.id,
      contextId: 'chain-1',
      artifact: { lastChunk: true, parts: [{ type: 'data' }] },
    })
    expect(events.at(-1).task.artifacts[0]).toMatchObject({ name: 'outline', lastChunk: true })
  })

  it('write the document section by section', async () => {
    const outline = { title: 'Solar power', sections: ['Intro', 'Cells', 'Storage'] }
    const { text } = await post(`${docUrl}/tasks/sendSubscribe`, user([{ type: 'data', data: outline as never }]))
    const pieces = dataLines(text).flatMap((line) => JSON.parse(line).artifact ?? [])
    expect(pieces.map(({ parts }) => /#+ (.*)\n/.exec(parts[0].text)?.[1])).toEqual([
      'Solar power',
      'Intro',
      'Cells',
      'Storage',
    ])
    expect(pieces.map(({ append = false, lastChunk = false }) => [append, lastChunk])).toEqual([
      [false, false],
      [true, false],
      [true, false],
      [true, true],
    ])
  })

  it('fail with a message without input (RL-L0-2)', async () => {
    for (const url of [outlineUrl, docUrl, summaryUrl]) {
      const { status } = await send(url, [{ type: 'text', text: ' ' }])
      expect(status.state).toBe('failed')
      expect(status.message?.parts[0]?.text).toMatch(/缺少/)
      expect((await send(url, [])).status.state).toBe('failed')
    }
    expect((await send(docUrl, [{ type: 'data', data: { chapters: [] } as never }])).status.state).toBe('failed')
    expect((await post(`${outlineUrl}/tasks/send`, '{"message":')).status).toBe(400)
    expect((await fetch(`${outlineUrl}/tasks/nope`)).status).toBe(404)
  })

  it('require the declared key; the card stays public (RL-L0-5)', async () => {
    await using closed = await startAgent('outline', { env: { DRAGOMAN_API_KEY: 'k1' } })
    const card = await fetch(`${closed.url}/.well-known/agent.json`)
    expect(await card.json()).toMatchObject({ authentication: { schemes: ['apiKey'] } })
    const body = user([{ type: 'text', text: 'tea' }])
    const refused = await post(`${closed.url}/tasks/send`, body)
    expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([401, expect.stringMatching(/^ApiKey/)])
    expect((await post(`${closed.url}/tasks/send`, body, { 'X-API-Key': 'k2' })).status).toBe(401)
    const { status, body: task } = await post(`${closed.url}/tasks/send`, body, { 'X-API-Key': 'k1' })
    expect([status, task]).toMatchObject([200, { status: { state: 'completed' } }])
  })

  it('can be cancelled in the middle of a document (RL-L0-6)', async () => {
    await using slow = await startAgent('doc', { env: { DRAGOMAN_PACE_MS: '60000' } })
    const stream = await fetch(`${slow.url}/tasks/sendSubscribe`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(user([{ type: 'data', data: { title: 'Tea', sections: ['Leaves'] } as never }])),
    })
    const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader()
    const first = await reader?.read()
    const { task } = JSON.parse(dataLines(String(first?.value))[0] ?? '')
    const canceled = await post(`${slow.url}/tasks/${task.id}/cancel`, {})
    expect([canceled.status, canceled.body]).toMatchObject([200, { status: { state: 'canceled' } }])
    let rest = ''
    for (let next = await reader?.read(); next && !next.done; next = await reader?.read()) rest += next.value
    expect(JSON.parse(dataLines(rest).at(-1) ?? '')).toMatchObject({ task: { status: { state: 'canceled' } } })
    const again = await post(`${slow.url}/tasks/${task.id}/cancel`, {})
    expect([again.status, again.body]).toMatchObject([409, { error: { code: -32002 } }])
  })

  it('stop cleanly at SIGTERM', async () => {
    await using agent = await startAgent('summary')
    agent.signal('SIGTERM')
    expect([await agent.ended, agent.stderr()]).toEqual([0, ''])
  })
})
