/** Rules that need no LangGraph, on a graph that follows a script. `integrations/langgraph` tests with LangGraph itself. */
import { describe, expect, it } from 'vitest'
import { type Agent, agent, approvals, askAuth, connect, data, failed, text, working } from '../../src/index.js'
import { asNode, fromLangGraph, type Graph, type GraphState } from '../../src/integrations/langgraph/index.js'
import { createHandler } from '../../src/server/index.js'

interface Run {
  readonly input: unknown
  readonly options: { readonly configurable: { readonly thread_id: string }; readonly context?: unknown }
}

/** A graph that streams `elements`, and has `states` before and after each run. */
function scripted(elements: readonly unknown[], states: readonly Partial<GraphState>[] = []) {
  const runs: Run[] = []
  let read = 0
  const graph: Graph = {
    checkpointer: states.length > 0,
    async stream(input, options) {
      runs.push({ input, options: options as Run['options'] })
      return (async function* () {
        yield* elements
      })()
    },
    getState: () => Promise.resolve({ values: {}, next: [], tasks: [], ...states[read++] }),
  }
  return { graph, runs }
}

const waiting = (value: unknown): Partial<GraphState> => ({
  next: ['review'],
  tasks: [{ interrupts: [{ id: 'a1', value }] }],
})
const resumed = (answer: unknown) => ({ lg_name: 'Command', resume: { a1: answer } })

async function ask(target: Agent, message: string) {
  await using client = await connect(target)
  return await client.ask(message)
}

describe('fromLangGraph', () => {
  it.each([
    ['in a form', [data({ approved_1: true, approved_2: false, reason_2: 'Not now' })]],
    [
      'in another order',
      {
        parts: [text('Decided')],
        extensions: [approvals.uri],
        metadata: {
          [approvals.uri]: {
            type: 'tool_approval_response',
            approvals: [
              { id: '2', approved: false, rejection_reason: 'Not now' },
              { id: '1', approved: true },
            ],
          },
        },
      },
    ],
  ])('asks for the approval of tool calls that LangChain wants to have reviewed; decided %s', async (_, answer) => {
    const request = {
      actionRequests: [
        { name: 'pay', args: { amount: 3 } },
        { name: 'mail', args: {} },
      ],
      reviewConfigs: ['pay', 'mail'].map((actionName) => ({
        actionName,
        allowedDecisions: ['approve', 'edit', 'reject'],
      })),
    }
    const { graph, runs } = scripted([], [{}, waiting(request), waiting(request), {}])
    await using client = await connect(fromLangGraph(graph, 'Payer'), { extensions: [approvals] })
    const conversation = client.conversation()
    const { task } = await conversation.ask('Pay')
    expect(approvals.read(task?.status.message)?.tools).toMatchObject([
      { name: 'pay', args: { amount: 3 } },
      { name: 'mail', args: {} },
    ])
    await conversation.ask(answer)
    const decisions = [{ type: 'approve' }, { type: 'reject', message: 'Not now' }]
    expect(runs[1]?.input).toEqual(resumed({ decisions }))
  })

  it('asks a review that cannot be rejected as a question', async () => {
    const request = {
      actionRequests: [{ name: 'pay', args: {} }],
      reviewConfigs: [{ actionName: 'pay', allowedDecisions: ['approve', 'edit'] }],
    }
    const { graph, runs } = scripted([], [{}, waiting(request), waiting(request), {}])
    await using client = await connect(fromLangGraph(graph, 'Payer'))
    const conversation = client.conversation()
    expect((await conversation.ask('Pay')).text).toContain('actionRequests')
    const answer = { decisions: [{ type: 'approve' }] }
    await conversation.ask([data(answer)])
    expect(runs[1]?.input).toEqual(resumed(answer))
  })

  it('does not give an answer to another question than the one that was asked', async () => {
    const { graph, runs } = scripted([], [{}, waiting('Mine?'), waiting('Of another task?')])
    await using client = await connect(fromLangGraph(graph, 'Payer'))
    const conversation = client.conversation()
    await conversation.ask('Pay')
    expect((await conversation.ask('Yes')).state).toBe('TASK_STATE_FAILED')
    expect(runs).toHaveLength(1)
  })

  it('fails if the graph stops where nothing can be answered', async () => {
    const { graph } = scripted([], [{}, { next: ['deploy'] }])
    const { state, text } = await ask(fromLangGraph(graph, 'Builder'), 'Go')
    expect({ state, text }).toEqual({
      state: 'TASK_STATE_FAILED',
      text: 'The graph stopped before deploy; only `interrupt` can be answered',
    })
  })

  it('passes parts of a message as content blocks, and options of the stream', async () => {
    const { graph, runs } = scripted([])
    const target = fromLangGraph(graph, 'Reader', {
      config: ({ caller }) => ({ context: { user: caller.id }, configurable: { thread_id: 'chosen', model: 'small' } }),
    })
    await using client = await connect(target)
    await client.ask([
      { text: 'Read' },
      data({ page: 1 }),
      { raw: 'aGk=', mediaType: 'image/png' },
      { url: 'https://example.com/a.pdf', mediaType: 'application/pdf' },
    ])
    expect(runs[0]?.input).toEqual({
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Read' },
            { type: 'text', text: '{"page":1}' },
            { type: 'image', mimeType: 'image/png', data: 'aGk=' },
            { type: 'file', mimeType: 'application/pdf', url: 'https://example.com/a.pdf' },
          ],
        },
      ],
    })
    const { configurable, context } = runs[0]?.options ?? {}
    expect(context).toEqual({ user: 'anonymous' })
    expect(configurable).toMatchObject({ model: 'small', thread_id: expect.stringMatching(/^[0-9a-f]{40}$/) })
  })

  it('yields text of blocks and progress, and no messages of callers and tools', async () => {
    const { graph } = scripted([
      ['messages', [{ type: 'human', id: 'h', content: 'Not this' }]],
      ['messages', [{ type: 'ai', id: 'a', content: [{ type: 'text', text: 'Hel' }] }]],
      ['custom', 'Half done'],
      ['messages', [{ type: 'ai', id: 'a', content: [{ type: 'text', text: 'lo' }] }]],
      ['messages', [{ type: 'tool', id: 't', content: 'Not that' }]],
      'not an element',
    ])
    await using client = await connect(fromLangGraph(graph, 'Talker'))
    const progress: unknown[] = []
    for await (const update of client.stream('Go'))
      if ('statusUpdate' in update && update.statusUpdate.status.message)
        progress.push(update.statusUpdate.status.message.parts)
    expect(progress).toEqual([[{ text: 'Half done' }]])
    expect((await client.ask('Go')).text).toBe('Hello')
  })

  it('refuses a graph that is not compiled', () => {
    expect(() => fromLangGraph({} as Graph, 'Nothing')).toThrow(/needs a compiled graph/)
  })
})

describe('asNode', () => {
  it('reports text and progress, and throws if the task fails', async () => {
    const broken = agent('Broken', async function* () {
      yield working('Trying')
      yield 'Half'
      yield failed('No cloth')
    })
    await using client = await connect(broken)
    const written: unknown[] = []
    const node = asNode(client)
    const run = node({ messages: [{ content: 'Go' }] }, { writer: (chunk) => written.push(chunk) })
    await expect(run).rejects.toThrow('The agent failed: No cloth')
    expect(written).toEqual([
      { agent: 'Broken', progress: 'Trying' },
      { agent: 'Broken', text: 'Half' },
    ])
  })

  it('interrupts the graph while the agent waits for a credential, then finds the task again', async () => {
    const banker = agent('Banker', async function* ({ credential }) {
      if (credential === undefined) yield askAuth('Sign in at https://bank.example')
      yield `Paid with ${String(credential)}`
    })
    const handler = await createHandler(banker)
    await using client = await connect(handler)
    const config = { configurable: { thread_id: 't', checkpoint_ns: 'banker:1' } }
    const node = asNode(client, { input: () => 'Pay', output: ({ text }) => text })
    const asked: unknown[] = []
    const interrupt = (value: unknown) => {
      asked.push(value)
      throw new Error('interrupted')
    }
    await expect(node({}, { ...config, interrupt })).rejects.toThrow('interrupted')
    const [task] = (await client.listTasks({})).tasks
    const taskId = task?.id ?? ''
    const question = 'Sign in at https://bank.example'
    expect(asked).toEqual([{ agent: 'Banker', state: 'auth-required', question, taskId }])
    await handler.provideCredential({ taskId, credential: 'a token' })
    expect(await node({}, { ...config, interrupt: () => 'done' })).toBe('Paid with a token')
    expect((await client.listTasks({})).tasks).toHaveLength(1)
  })

  it('cancels the task when the graph is aborted', async () => {
    const slow = agent('Slow', async function* ({ signal }) {
      yield working('Started')
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
    })
    await using client = await connect(slow)
    const stop = new AbortController()
    const node = asNode(client, { input: () => 'Go' })
    const run = node({}, { signal: stop.signal, writer: () => stop.abort(new Error('stopped')) })
    await expect(run).rejects.toThrow()
    const [task] = (await client.listTasks({})).tasks
    expect((await client.task(task?.id ?? '').wait()).status.state).toBe('TASK_STATE_CANCELED')
  })

  it('says what to pass if the state has no messages', async () => {
    await using client = await connect(agent('Any', async function* () {}))
    await expect(asNode(client)({}, {})).rejects.toThrow('pass `input` to asNode')
  })
})
