import {
  Agent,
  type AgentInputItem,
  Runner,
  setTraceProcessors,
  setTracingDisabled,
  tool,
  Usage,
} from '@openai/agents-core'
import { assistantMessage, functionCall, modelResponse, ScriptedModel } from '@openai/agents-core/testing'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { agent, ask, connect, data, MemoryStore, serve, steps, usage } from '../../src/index.js'
import { asTools, fromOpenAiAgent } from '../../src/integrations/openai-agents/index.js'

/** An agent whose tool `pay` needs an approval, and the amounts that were paid. */
function payer(...script: ConstructorParameters<typeof ScriptedModel>[0] & object[]) {
  const paid: number[] = []
  const pay = tool({
    name: 'pay',
    description: 'Pays an amount',
    parameters: z.object({ amount: z.number() }),
    needsApproval: true,
    execute: ({ amount }) => {
      paid.push(amount)
      return `Paid ${amount}`
    },
  })
  const model = new ScriptedModel(script)
  return { inner: new Agent({ name: 'Payer', model, tools: [pay] }), model, paid }
}

const wantsToPay = [assistantMessage('One moment.'), functionCall('pay', { amount: 3 }, { callId: 'call-1' })]

describe('fromOpenAiAgent', () => {
  it('streams text, one artifact for each response of the model', async () => {
    const { inner } = payer([assistantMessage('Hello')])
    await using client = await connect(fromOpenAiAgent(inner, 'Payer'))
    const { text, artifacts, state } = await client.ask('Hi')
    expect({ text, state, count: artifacts.length }).toEqual({ text: 'Hello', state: 'TASK_STATE_COMPLETED', count: 1 })
  })

  it('asks for an approval and runs the tool once', async () => {
    const { inner, paid } = payer(wantsToPay, [assistantMessage('Done.')])
    await using client = await connect(fromOpenAiAgent(inner, 'Payer'))
    const conversation = client.conversation()
    const question = await conversation.ask('Pay 3')
    expect(question).toMatchObject({ state: 'TASK_STATE_INPUT_REQUIRED', text: 'Approve pay {"amount":3}?' })
    expect(paid).toEqual([])
    const answer = await conversation.ask([data({ approved: true })])
    expect(answer).toMatchObject({ state: 'TASK_STATE_COMPLETED', text: 'One moment.\nDone.' })
    expect(paid).toEqual([3])
  })

  it('tells the model when the call is denied, and why', async () => {
    const { inner, paid, model } = payer(wantsToPay, [assistantMessage('As you wish.')])
    await using client = await connect(fromOpenAiAgent(inner, 'Payer'))
    const conversation = client.conversation()
    await conversation.ask('Pay 3')
    const answer = await conversation.ask([data({ approved: false, reason: 'Too expensive' })])
    expect(answer.state).toBe('TASK_STATE_COMPLETED')
    expect(paid).toEqual([])
    expect(JSON.stringify(model.lastCall?.request.input)).toContain('Too expensive')
  })

  it('asks about several tools in one question', async () => {
    const calls = [1, 2].map((amount) => functionCall('pay', { amount }, { callId: `call-${amount}` }))
    const { inner, paid } = payer(calls, [assistantMessage('Done.')])
    await using client = await connect(fromOpenAiAgent(inner, 'Payer'))
    const conversation = client.conversation()
    await conversation.ask('Pay 1 and 2')
    await conversation.ask([data({ approved_1: false, approved_2: true })])
    expect(paid).toEqual([2])
  })

  it('remembers earlier tasks of the conversation, and not those of others', async () => {
    const { inner, model } = payer([assistantMessage('Hello Ann')], [assistantMessage('Ann')], [assistantMessage('?')])
    await using served = await serve(fromOpenAiAgent(inner, 'Payer'), { port: 0, store: new MemoryStore() })
    await using client = await connect(served.url)
    await client.ask('I am Ann', { contextId: 'one' })
    await client.ask('Who am I?', { contextId: 'one' })
    const said = (items: string | AgentInputItem[] | undefined) => JSON.stringify(items)
    expect(said(model.lastCall?.request.input)).toMatch(/I am Ann.*Hello Ann.*Who am I\?/)
    await client.ask('Who am I?', { contextId: 'two' })
    expect(said(model.lastCall?.request.input)).not.toContain('Ann')
  })

  it('reports tool calls and usage to callers that ask for them', async () => {
    const counted = new Usage({ requests: 1, inputTokens: 5, outputTokens: 2, totalTokens: 7 })
    const { inner } = payer(
      modelResponse({ output: wantsToPay, usage: counted }),
      modelResponse({ output: [assistantMessage('Done.')], usage: counted }),
    )
    await using client = await connect(fromOpenAiAgent(inner, 'Payer'), { extensions: [steps, usage] })
    const conversation = client.conversation()
    const seen: unknown[] = []
    const read = async (input: Parameters<typeof conversation.stream>[0]) => {
      for await (const update of conversation.stream(input))
        if ('statusUpdate' in update) seen.push(steps.read(update.statusUpdate.status.message))
    }
    await read('Pay 3')
    const { taskId = '' } = conversation
    await read([data({ approved: true })])
    expect(seen).toContainEqual({ kind: 'tool-call', id: 'call-1', name: 'pay', input: { amount: 3 } })
    expect(seen).toContainEqual({ kind: 'tool-result', id: 'call-1', name: 'pay', output: 'Paid 3' })
    expect(usage.read(await client.task(taskId).get())).toMatchObject({
      inputTokens: 10,
      outputTokens: 4,
      totalTokens: 14,
    })
  })

  it('rejects the task if a guardrail is tripped, and sends no text that it refused', async () => {
    const inner = new Agent({
      name: 'Guarded',
      model: new ScriptedModel([[assistantMessage('The secret is 42')]]),
      outputGuardrails: [
        { name: 'no secrets', execute: async () => ({ tripwireTriggered: true, outputInfo: 'the secret' }) },
      ],
    })
    await using client = await connect(fromOpenAiAgent(inner, 'Guarded'))
    const { state, text, artifacts } = await client.ask('Tell me')
    expect({ state, text, artifacts }).toEqual({
      state: 'TASK_STATE_REJECTED',
      text: 'The answer was refused by the guardrail no secrets',
      artifacts: [],
    })
  })

  it('returns structured output as data', async () => {
    const inner = new Agent({
      name: 'Counter',
      model: new ScriptedModel([[assistantMessage('{"count":3}')]]),
      outputType: z.object({ count: z.number() }),
    })
    await using client = await connect(fromOpenAiAgent(inner, 'Counter'))
    const { artifacts } = await client.ask('Count')
    expect(artifacts.map(({ name, parts }) => [name, parts])).toMatchObject([['result', [{ data: { count: 3 } }]]])
  })

  it('gives the context to tools, also after an approval', async () => {
    const users: unknown[] = []
    const who = tool({
      name: 'who',
      description: 'Tells who asks',
      parameters: z.object({}),
      needsApproval: true,
      execute: (_input, context) => {
        users.push(context?.context)
        return 'known'
      },
    })
    const model = new ScriptedModel([[functionCall('who', {}, { callId: 'c' })], [assistantMessage('You.')]])
    const inner = new Agent({ name: 'Who', model, tools: [who] })
    await using client = await connect(
      fromOpenAiAgent(inner, 'Who', { context: ({ caller }) => ({ user: caller.id }) }),
    )
    const conversation = client.conversation()
    await conversation.ask('Who am I?')
    await conversation.ask('yes')
    expect(users).toEqual([{ user: 'anonymous' }])
  })

  it('fails with a clear text if the run is too large to wait', async () => {
    const { inner } = payer(wantsToPay)
    await using client = await connect(fromOpenAiAgent(inner, 'Payer'))
    const { task } = await client.ask(`Pay 3 ${'x'.repeat(1_000_000)}`)
    expect(task?.status).toMatchObject({
      state: 'TASK_STATE_FAILED',
      message: { parts: [{ text: expect.stringContaining('can have 950000 at most') }] },
    })
  })

  it('sends no traces unless the runner of the application does', async () => {
    const traced: unknown[] = []
    const note = (item: unknown) => {
      traced.push(item)
      return Promise.resolve()
    }
    const end = () => Promise.resolve()
    setTraceProcessors([
      { onTraceStart: note, onTraceEnd: end, onSpanStart: note, onSpanEnd: end, shutdown: end, forceFlush: end },
    ])
    setTracingDisabled(false) // the SDK disables it in tests
    try {
      const { inner } = payer([assistantMessage('Hello')], [assistantMessage('Hello')])
      await using quiet = await connect(fromOpenAiAgent(inner, 'Payer'))
      await quiet.ask('Hi')
      expect(traced).toEqual([])
      await using loud = await connect(fromOpenAiAgent(inner, 'Payer', { runner: new Runner() }))
      await loud.ask('Hi')
      expect(traced).not.toEqual([])
    } finally {
      setTracingDisabled(true)
      setTraceProcessors([])
    }
  })
})

describe('asTools', () => {
  it('lets a model call an agent, read its question and answer it', async () => {
    const tailor = agent('Tailor', async function* ({ text, number }) {
      if (number === 1) yield ask('Which size?')
      yield `A suit in ${text}`
    })
    await using client = await connect(tailor)
    const model = new ScriptedModel([
      [functionCall('Tailor', { message: 'A suit' }, { callId: 'a' })],
      {
        type: 'responder',
        respond: ({ request }) => {
          const { taskId } = JSON.parse(
            /\{\\"state.*?\}/.exec(JSON.stringify(request.input))?.[0].replaceAll('\\', '') ?? '',
          )
          return [functionCall('Tailor', { message: '48', taskId }, { callId: 'b' })]
        },
      },
      [assistantMessage('Dressed')],
    ])
    const desk = new Agent({ name: 'Front desk', model, tools: await asTools(client) })
    const { finalOutput } = await new Runner({ tracingDisabled: true }).run(desk, 'Dress me')
    expect(finalOutput).toBe('Dressed')
    expect(JSON.stringify(model.lastCall?.request.input)).toContain('A suit in 48')
  })

  it('tells the model why a task failed', async () => {
    const broken = agent('Broken', async function* () {
      throw new Error('secret')
    })
    await using client = await connect(broken)
    const model = new ScriptedModel([
      [functionCall('Broken', { message: 'Go' }, { callId: 'a' })],
      [assistantMessage('Sorry')],
    ])
    const desk = new Agent({ name: 'Front desk', model, tools: await asTools(client) })
    await new Runner({ tracingDisabled: true }).run(desk, 'Go')
    const seen = JSON.stringify(model.lastCall?.request.input)
    expect(seen).toContain('The call failed: The agent failed')
    expect(seen).not.toContain('secret')
  })
})
