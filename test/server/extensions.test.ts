/** Extensions on, off and undeclared, for callers of several dialects on every binding. */
import { agent, approvals, approve, completed, extension, serve, step, steps, usage, working } from 'dragoman'
import { type AgentClient, type Answer, answerApproval, type ConnectOptions, connect, readTurn } from 'dragoman/client'
import { describe, expect, it } from 'vitest'
import type { AgentInit } from '../../src/engine/agent.js'

const mood = extension<{ readonly level: number }>({ uri: 'https://example.com/mood/v1', key: 'mood' })
const all = [mood, usage, steps, approvals]
const uris = all.map(({ uri }) => uri)

const declaring = (extensions: AgentInit['extensions']) =>
  agent({ name: 'Extended', ...(extensions && { extensions }) }, async function* (turn) {
    if (!turn.approvals) {
      turn.usage.add({ inputTokens: 12, outputTokens: 3, cost: { amount: '0.5', currency: 'USD' } })
      yield step({ kind: 'tool-call', id: 'c1', name: 'pay', input: { amount: 5 } })
      yield working('Thinking', mood.with({ level: 1 }))
      yield approve([{ id: 'c1', name: 'pay', args: { amount: 5 } }], { hint: 'Final' })
    }
    yield completed(JSON.stringify([...(turn.approvals ?? [])]), mood.with({ level: 2 }))
  })

const callers: readonly ConnectOptions[] = [
  { dialect: 'v1', binding: 'JSONRPC' },
  { dialect: 'v1', binding: 'HTTP+JSON' },
  { dialect: 'v1', binding: 'GRPC' },
  { dialect: 'v0.3', binding: 'JSONRPC' },
  { dialect: 'v0.3', binding: 'HTTP+JSON' },
  { dialect: 'v0.3', binding: 'GRPC' },
  { dialect: 'v0.1', binding: 'JSONRPC' },
]

/** The events of a turn, without text. */
async function eventsOf(client: AgentClient, extensions: readonly string[]) {
  const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER' as const, parts: [{ text: 'Go' }] }
  const events = []
  for await (const event of readTurn(client.sendStreamingMessage({ message }, { extensions }))) events.push(event)
  return events
}

/** The members that extensions write. */
const written = ({ task }: Answer) => [
  usage.read(task),
  mood.read(task),
  mood.read(task?.status.message),
  approvals.read(task?.status.message),
]

describe.each(callers)('extensions for $dialect over $binding', (options) => {
  const dialects = ['v1', 'v0.3', 'v0.1'] as const
  const spent = { inputTokens: 12, outputTokens: 3, cost: { amount: '0.5', currency: 'USD' } }

  it('are written for callers that ask for them (R11-EXT-3)', async () => {
    await using served = await serve(declaring(all), { port: 0, dialects })
    await using client = await connect(served.url, options)
    const events = await eventsOf(client, uris)
    expect(events.filter(({ kind }) => kind === 'step')).toMatchObject([
      { step: { kind: 'tool-call', id: 'c1', name: 'pay', input: { amount: 5 } } },
    ])
    expect(events.findLast(({ kind }) => kind === 'usage')).toMatchObject({ usage: spent })
    const tools = [{ id: 'c1', name: 'pay', args: { amount: 5 } }]
    expect(events.at(-1)).toMatchObject({ kind: 'question', approval: { hint: 'Final', tools } })

    const question = await client.ask('Go', { extensions: uris })
    expect(written(question)).toEqual([spent, { level: 1 }, undefined, { hint: 'Final', tools }])
    const approval = approvals.read(question.task?.status.message)
    const taskId = question.task?.id ?? ''
    if (!approval) throw new Error('No approval')
    const unknown = answerApproval(
      { tools: [{ id: 'other', name: 'x', args: {} }] },
      new Map([['other', { approved: true }]]),
    )
    await expect(client.ask(unknown, { taskId, extensions: uris })).rejects.toMatchObject({ code: 'INVALID_PARAMS' })
    expect((await client.task(taskId).get()).status.state).toBe('TASK_STATE_INPUT_REQUIRED')
    const answer = answerApproval(approval, new Map([['c1', { approved: false, reason: 'No' }]]))
    const done = await client.ask(answer, { taskId, extensions: uris })
    expect(done.text).toBe('[["c1",{"approved":false,"reason":"No"}]]')
    expect(written(done)).toEqual([spent, { level: 2 }, { level: 2 }, undefined])
    expect(done.task?.status.message?.extensions).toEqual([mood.uri])
  })

  it.each([
    ['callers that do not ask', all, []],
    ['agents that do not declare them', undefined, uris],
  ])('are not written for %s', async (_name, declared, asked) => {
    await using served = await serve(declaring(declared), { port: 0, dialects })
    await using client = await connect(served.url, options)
    const events = await eventsOf(client, asked)
    const kinds = events.map(({ kind }) => kind)
    expect(kinds).not.toContain('step')
    expect(kinds).not.toContain('usage')
    expect(events.filter(({ kind }) => kind === 'progress')).toMatchObject([
      { text: 'Calling pay' },
      { text: 'Thinking' },
    ])
    const question = await client.ask('Go', { extensions: asked })
    expect(question.text).toBe('Final\nApprove pay {"amount":5}?')
    expect(written(question)).toEqual([undefined, undefined, undefined, undefined])
    const done = await client.ask([{ data: { approved: true } }], {
      taskId: question.task?.id ?? '',
      extensions: asked,
    })
    expect(done.text).toBe('[["c1",{"approved":true}]]')
    expect(written(done)).toEqual([undefined, undefined, undefined, undefined])
  })
})

it('R11-EXT-3: every reader gets the values that were written for the caller that asked', async () => {
  await using served = await serve(declaring(all), { port: 0 })
  await using asking = await connect(served.url, { extensions: all })
  const { task } = await asking.ask('Go')
  await using plain = await connect(served.url)
  const { history: _, ...seen } = await plain.getTask({ id: task?.id ?? '' })
  expect(task).toMatchObject(seen)
  expect(usage.read(seen)).toMatchObject({ inputTokens: 12 })
  const kinds = async (client: AgentClient) => {
    const found: string[] = []
    const log = client.subscribeToTask({ id: task?.id ?? '' }, { resumeAfter: 0 })
    for await (const { kind } of readTurn(log)) found.push(kind)
    return found
  }
  const kindsOfPlain = await kinds(plain)
  expect(kindsOfPlain).toEqual(await kinds(asking))
  expect(kindsOfPlain).toEqual(expect.arrayContaining(['step', 'usage', 'question']))
})

describe('connect({ extensions })', () => {
  it('names those extensions that the card declares, in every call', async () => {
    await using served = await serve(declaring([usage, mood]), { port: 0 })
    const named: (string | null)[] = []
    const counting: typeof fetch = async (input, init) => {
      const request = new Request(input, init)
      if (request.method === 'POST') named.push(request.headers.get('a2a-extensions'))
      return await fetch(request)
    }
    await using client = await connect(served.url, {
      extensions: [usage, approvals.uri],
      fetch: counting,
      binding: 'JSONRPC',
    })
    const { task } = await client.ask('Go')
    expect(usage.read(task)).toMatchObject({ inputTokens: 12 })
    expect(mood.read(task)).toBeUndefined()
    await client.getTask({ id: task?.id ?? '' }, { extensions: ['urn:own'] })
    expect(named).toEqual([usage.uri, `urn:own, ${usage.uri}`])
    await using plain = await connect(served.url, { fetch: counting, binding: 'JSONRPC' })
    await plain.ask('Go')
    expect(named.at(-1)).toBeNull()
    // The operations of an agent in this process have no card: the agent ignores what it does not declare.
    const service = served.services.get('Extended')
    if (!service) throw new Error('No service')
    await using direct = await connect(service, { extensions: [usage, steps] })
    expect(usage.read((await direct.ask('Go')).task)).toMatchObject({ inputTokens: 12 })
  })

  it('refuses values that are no extensions', async () => {
    await expect(connect('localhost:1', { extensions: ['a, b'] })).rejects.toThrow('without spaces and commas')
    await expect(connect('localhost:1', { extensions: 'urn:a' as never })).rejects.toThrow('extensions is a string')
  })
})
