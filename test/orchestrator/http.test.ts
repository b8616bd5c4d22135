/** A workflow and its agents on real ports, in several dialects. */
import { createServer } from 'node:net'
import { agent, artifact, ask, data, serve, working } from 'dragoman'
import { connect, connectAgents } from 'dragoman/client'
import { graphOf, workflow } from 'dragoman/orchestrator'
import { until } from 'dragoman/testing'
import { describe, expect, it } from 'vitest'

const outliner = agent(
  { name: 'OutlineAgent', skills: [{ id: 'generate_outline', name: 'Outlines' }] },
  async function* ({ text }) {
    yield artifact('outline', data({ title: text, chapters: ['one', 'two'] }))
  },
)
const writer = agent('DocAgent', async function* (turn) {
  const outline = turn.data() as { readonly chapters?: readonly string[] } | undefined
  for (const chapter of outline?.chapters ?? []) yield `${chapter} `
  yield turn.text
})
const asker = agent('AskAgent', async function* ({ number, text }) {
  if (number === 1) yield ask(`What about ${text}?`)
  yield `answered ${text}`
})
const sleeper = agent('SleepAgent', async function* ({ signal }) {
  yield working('sleeping')
  await new Promise((resolve) => signal.addEventListener('abort', resolve))
})

describe('a workflow over HTTP', () => {
  it.each([
    ['v1', 'v1'],
    ['v0.3', 'v0.3'],
    ['v0.1', 'task-rest'],
  ] as const)('calls agents that serve %s and %s, by name and by skill', async (first, second) => {
    await using outlines = await serve(outliner, { dialects: [first] })
    await using documents = await serve(writer, { dialects: [second] })
    const resolve = connectAgents({ Outlines: outlines.url, DocAgent: documents.url })
    const flow = workflow(
      'Document',
      async (steps) => {
        const outline = await steps.step('outline', { agent: { skill: 'generate_outline' }, message: steps.text })
        return await steps.step('document', { agent: 'DocAgent', message: ['write this up', outline] })
      },
      { resolve },
    )
    await using served = await serve(flow)
    await using client = await connect(served.url)
    const { task, state } = await client.ask('Dragons')
    expect(state).toBe('TASK_STATE_COMPLETED')
    const result = task?.artifacts?.find(({ artifactId }) => artifactId === 'result')
    expect(result?.parts.map((part) => ('text' in part ? part.text : '')).join('')).toBe('one two write this up')
    expect(graphOf(task ?? {})?.nodes.map(({ id, state: now }) => `${id} ${now}`)).toEqual([
      'outline completed',
      'document completed',
    ])
  })

  it('uses the next instance if one cannot be reached', async () => {
    await using documents = await serve(writer)
    const resolve = connectAgents({ DocAgent: [`http://127.0.0.1:${await freePort()}`, documents.url] })
    const flow = workflow(
      'Flow',
      async (steps) => await steps.step('write', { agent: 'DocAgent', message: 'hello', retry: { attempts: 2 } }),
      { resolve },
    )
    await using served = await serve(flow)
    await using client = await connect(served.url)
    const { task } = await client.ask('go')
    expect(graphOf(task ?? {})?.nodes).toMatchObject([{ state: 'completed', attempts: 2 }])
  })

  it('forwards questions and answers, for callers of every dialect', async () => {
    await using asking = await serve(asker)
    const flow = workflow('Flow', async (steps) => {
      const both = await Promise.all(
        ['tea', 'cake'].map((what) => steps.step(what, { agent: asking.url, message: what })),
      )
      return both.map(({ text }) => text).join(', ')
    })
    await using served = await serve(flow)
    for (const dialect of ['v1', 'v0.3'] as const) {
      await using client = await connect(served.url, { dialect })
      const talk = client.conversation()
      const first = await talk.ask('go')
      expect(first.state).toBe('TASK_STATE_INPUT_REQUIRED')
      const second = await talk.ask(`for ${first.text}`)
      expect(second.state).toBe('TASK_STATE_INPUT_REQUIRED')
      const { task } = await talk.ask(`for ${second.text}`)
      const result = task?.artifacts?.find(({ artifactId }) => artifactId === 'result')
      expect(result?.parts).toMatchObject([
        { text: 'answered for tea: What about tea?, answered for cake: What about cake?' },
      ])
    }
  })

  it('cancels its agents over the network', async () => {
    await using sleeping = await serve(sleeper)
    const flow = workflow('Flow', async (steps) => {
      await Promise.all([1, 2, 3].map((n) => steps.step(`sleep ${n}`, { agent: sleeping.url, message: 'go' })))
    })
    await using served = await serve(flow)
    await using client = await connect(served.url)
    await using children = await connect(sleeping.url)
    const answer = await client.sendMessage({
      message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'go' }] },
      configuration: { returnImmediately: true },
    })
    const id = 'task' in answer ? answer.task.id : ''
    const count = async (status: 'TASK_STATE_WORKING' | 'TASK_STATE_CANCELED') =>
      (await children.listTasks({ status })).totalSize
    await until(async () => (await count('TASK_STATE_WORKING')) === 3)
    expect((await client.cancelTask({ id })).status.state).toBe('TASK_STATE_CANCELED')
    await until(async () => (await count('TASK_STATE_CANCELED')) === 3)
  })

  it('finds agents that are served beside it', async () => {
    const flow = workflow('Flow', async (steps) => await steps.step('write', { agent: writer, message: steps.text }))
    await using served = await serve([flow, writer])
    await using client = await connect(served.url)
    expect((await client.ask('hello')).state).toBe('TASK_STATE_COMPLETED')
  })
})

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  return typeof address === 'object' && address ? address.port : 0
}
