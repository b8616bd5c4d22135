/** `fromAiSdk` with AI SDK 6 and 7. */
import { type Agent, approvals, serve, steps, type Turn, textOf, usage } from 'dragoman'
import { fromAiSdk } from 'dragoman/ai-sdk'
import { type AgentClient, answerApproval, connect, readTurn, type TurnEvent } from 'dragoman/client'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { testAgent } from '../../src/testing/test-agent.js'
import { gate } from '../../src/testing/wait.js'
import { calls, majors, modelOf, payerOf, resultsOf, says, wordsOf } from './ai-sdk-payer.js'

const extensions = [steps.uri, usage.uri, approvals.uri]

function newMessage(text: string) {
  return { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text }] } as const
}

async function send(client: AgentClient, message: object): Promise<TurnEvent[]> {
  const sent = { ...newMessage('…'), ...message }
  const events: TurnEvent[] = []
  for await (const event of readTurn(client.sendStreamingMessage({ message: sent }, { extensions }))) events.push(event)
  return events
}

const say = (client: AgentClient, text: string, more: object = {}) => send(client, { parts: [{ text }], ...more })

function textIn(events: readonly TurnEvent[]): string {
  return events.map((event) => (event.kind === 'text' ? event.text : '')).join('')
}

function approvalIn(events: readonly TurnEvent[]) {
  const question = events.at(-1)
  if (question?.kind !== 'question' || !question.approval) throw new Error(`No approval: ${JSON.stringify(question)}`)
  return question.approval
}

function taskIn([begin]: readonly TurnEvent[]): string {
  return begin?.kind === 'begin' ? (begin.taskId ?? '') : ''
}

function decide(events: readonly TurnEvent[], approved: boolean, reason?: string) {
  const approval = approvalIn(events)
  const decision = { approved, ...(reason !== undefined && { reason }) }
  return {
    ...answerApproval(approval, new Map(approval.tools.map(({ id }) => [id, decision]))),
    taskId: taskIn(events),
  }
}

function withTurn(inner: Agent, change: (turn: Turn) => Turn): Agent {
  return { ...inner, handler: (turn) => inner.handler(change(turn) as never) }
}

/** A turn whose process dies after it has stored a checkpoint. */
function stopsAfterCheckpoint(turn: Turn, onStored: () => void): Turn {
  return new Proxy(turn, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name)
      if (typeof member !== 'function') return member
      return async (...args: unknown[]) => {
        const result: unknown = await Reflect.apply(member, target, args)
        if (name !== 'checkpoint') return result
        onStored()
        return new Promise(() => undefined)
      }
    },
  })
}

/** Yields the values and then waits. */
async function* endless<T>(values: readonly T[]): AsyncGenerator<T> {
  yield* values
  await new Promise(() => undefined)
}

describe.each(majors)('fromAiSdk with AI SDK %s', (major, ai) => {
  /** Serves an agent that adds the amounts it pays to `paid`. */
  const servePayer = (paid: number[]) => {
    const payer = payerOf(major, ai, (amount) => paid.push(amount))
    return serve(fromAiSdk(payer, 'Payer'))
  }

  it('runs an approved tool once, and tells steps and usage', async () => {
    const paid: number[] = []
    await using served = await servePayer(paid)
    await using client = await connect(served.url)
    const asked = await say(client, 'pay')
    expect(approvalIn(asked).tools).toEqual([{ id: 'call-1', name: 'pay', args: { amount: 5 } }])
    expect(asked.flatMap((event) => (event.kind === 'step' ? [event.step] : []))).toEqual([
      { kind: 'reasoning', id: 'r', text: 'I call pay.' },
      { kind: 'tool-call', id: 'call-1', name: 'pay', input: { amount: 5 } },
    ])
    expect(paid).toEqual([])
    const done = await send(client, decide(asked, true))
    expect(paid).toEqual([5])
    expect(done.flatMap((event) => (event.kind === 'step' ? [event.step] : []))).toEqual([
      { kind: 'tool-result', id: 'call-1', name: 'pay', output: { paid: 5 } },
    ])
    expect(textIn(done)).toMatch(/^Done: call-1: .*"paid":5/)
    expect(done.findLast(({ kind }) => kind === 'usage')).toMatchObject({
      usage: { inputTokens: 20, outputTokens: 10, totalTokens: 30, cachedTokens: 4, model: 'mock' },
    })
  })

  it('does not run a denied tool, and tells the model why', async () => {
    const paid: number[] = []
    await using served = await servePayer(paid)
    await using client = await connect(served.url)
    const done = await send(client, decide(await say(client, 'pay'), false, 'Too much'))
    expect(paid).toEqual([])
    expect(textIn(done)).toContain('Too much')
    expect(done.flatMap((event) => (event.kind === 'step' ? [event.step] : []))).toMatchObject([
      { kind: 'tool-result', id: 'call-1', isError: true, output: { type: 'execution-denied' } },
    ])
  })

  it('asks for each of several calls, and runs each once', async () => {
    const paid: number[] = []
    await using served = await servePayer(paid)
    await using client = await connect(served.url)
    const first = await say(client, 'pay twice')
    const second = await send(client, decide(first, true))
    expect(paid).toEqual([5])
    expect(approvalIn(second).tools.map(({ id }) => id)).toEqual(['call-2'])
    const third = await send(client, decide(second, true))
    expect(paid).toEqual([5, 5])
    expect(textIn(third)).toMatch(/call-1: .*call-2: /)
  })

  it('reads a message that follows an approved turn as a message, not as a decision', async () => {
    const running = gate()
    const isQueued = gate()
    const model = modelOf(major, (prompt) => {
      if (wordsOf(prompt).at(-1) === 'thank you') return says('You are welcome')
      return prompt.at(-1)?.role === 'tool' ? says('Done') : calls('call-1', 'pay', {})
    })
    const pay = ai.tool({
      inputSchema: z.object({}),
      needsApproval: true,
      execute: async () => {
        running.open()
        await isQueued.opened
        return 'Paid'
      },
    })
    await using served = await serve(fromAiSdk(new ai.ToolLoopAgent({ model, tools: { pay } }), 'Payer'))
    await using client = await connect(served.url)
    const asked = await say(client, 'pay')
    const deciding = send(client, decide(asked, true))
    await running.opened
    const configuration = { returnImmediately: true }
    const id = taskIn(asked)
    await client.sendMessage({ message: { ...newMessage('thank you'), taskId: id }, configuration })
    isQueued.open()
    const shown = await deciding
    const { artifacts } = await client.task(id).wait()
    expect(artifacts?.map(textOf)).toEqual(['Done', 'You are welcome'])
    expect(JSON.stringify(shown)).not.toContain('denied')
    const prompt = model.doStreamCalls.at(-1)?.prompt ?? []
    expect(wordsOf(prompt)[0]).toBe('pay')
    expect(JSON.stringify(prompt)).not.toContain('denied')
    expect(JSON.stringify(prompt)).toContain('Done')
  })

  it('asks again if it crashed before its second question was sent', async () => {
    const paid: number[] = []
    const isAt = gate()
    const card = { name: 'Payer', onCrash: { attempts: 2 } } as const
    const payer = fromAiSdk(
      payerOf(major, ai, (amount) => paid.push(amount)),
      card,
    )
    const crashing = ({ number, attempt }: Turn) => number === 2 && attempt === 1
    await using t = await testAgent(
      withTurn(payer, (turn) => (crashing(turn) ? stopsAfterCheckpoint(turn, isAt.open) : turn)),
    )
    const first = await say(t.client, 'pay twice')
    const deciding = send(t.client, decide(first, true))
    await isAt.opened
    await t.restart()
    const second = await deciding
    expect(approvalIn(second).tools.map(({ id }) => id)).toEqual(['call-2'])
    const end = await send(t.client, { ...decide(second, true), taskId: taskIn(first) })
    expect(textIn(end)).toMatch(/call-1: .*call-2: /)
    expect(JSON.stringify(end)).not.toContain('denied')
    // The crash repeats the second turn, and with it the first payment.
    expect(paid).toEqual([5, 5, 5])
  })

  it('asks callers without extensions in a form', async () => {
    const paid: number[] = []
    await using served = await servePayer(paid)
    await using client = await connect(served.url)
    const conversation = client.conversation()
    expect((await conversation.ask('pay')).text).toBe('Approve pay {"amount":5}?')
    expect((await conversation.ask([{ data: { approved: true } }])).text).toMatch(/^Done/)
    expect(paid).toEqual([5])
  })

  it('remembers earlier tasks of the conversation, and forgets those that the user went back from', async () => {
    const model = modelOf(major, (prompt) => says(wordsOf(prompt).join(' | ')))
    await using served = await serve(fromAiSdk((_turn, messages) => ai.streamText({ model, messages }), 'Echo'))
    await using client = await connect(served.url)
    const contextId = 'c'
    const first = await say(client, 'one', { contextId })
    await say(client, 'two', { contextId })
    expect(textIn(await say(client, 'three', { contextId }))).toBe('one | two | three')
    const metadata = { 'urn:dragoman:chat:v1': { after: taskIn(first) } }
    expect(textIn(await say(client, 'four', { contextId, metadata }))).toBe('one | four')
    expect(textIn(await say(client, 'five', { contextId }))).toBe('one | four | five')
    expect(textIn(await say(client, 'six', { contextId: 'other' }))).toBe('six')
    const prompts = model.doStreamCalls.map(({ prompt }) => prompt.map(({ role }) => role).join(' '))
    expect(prompts[2]).toBe('user assistant user assistant user')
  })

  it('gives files to the model, and links as text', async () => {
    const model = modelOf(major, (prompt) => says(JSON.stringify(prompt.at(-1)?.content)))
    const viewer = fromAiSdk((_turn, messages) => ai.streamText({ model, messages }), {
      name: 'Viewer',
      defaultInputModes: ['*/*'],
    })
    await using served = await serve(viewer)
    await using client = await connect(served.url)
    const text = textIn(
      await send(client, {
        parts: [
          { raw: 'AQI=', mediaType: 'image/png' },
          { url: 'http://169.254.169.254/', filename: 'a' },
          { data: [1] },
        ],
      }),
    )
    expect(text).toContain('"mediaType":"image/png"')
    expect(text).toContain('[a](http://169.254.169.254/)')
    expect(text).toContain('"text":"[1]"')
  })

  it('sends structured output as data', async () => {
    const model = modelOf(major, () => says('{"size":3}'))
    const output = ai.Output.object({ schema: z.object({ size: z.number() }) })
    await using served = await serve(fromAiSdk(new ai.ToolLoopAgent({ model, output }), 'Measure'))
    await using client = await connect(served.url)
    expect((await say(client, 'Go')).find(({ kind }) => kind === 'data')).toMatchObject({
      name: 'output',
      value: { size: 3 },
    })
  })

  it('fails if the model fails, without telling callers why', async () => {
    const model = modelOf(major, () => [{ type: 'error', error: new Error('secret') }])
    const failing = (_turn: unknown, messages: never) => ai.streamText({ model, messages, onError: () => undefined })
    await using served = await serve(fromAiSdk(failing as never, 'Failing'), { log: false })
    await using client = await connect(served.url)
    const end = (await say(client, 'Go')).at(-1)
    expect(end).toMatchObject({ kind: 'end', state: 'TASK_STATE_FAILED' })
    expect(JSON.stringify(end)).not.toContain('secret')
  })

  it('hides the errors of tools from callers', async () => {
    const model = modelOf(major, (prompt) =>
      resultsOf(prompt).length > 0 ? says('Sorry') : calls('c', 'read', { name: 'a' }),
    )
    const read = ai.tool({
      inputSchema: z.object({ name: z.string() }),
      execute: (): string => {
        throw new Error('secret')
      },
    })
    await using served = await serve(fromAiSdk(new ai.ToolLoopAgent({ model, tools: { read } }), 'Reader'))
    await using client = await connect(served.url)
    const events = await say(client, 'Go')
    expect(textIn(events)).toBe('Sorry')
    expect(JSON.stringify(events)).not.toContain('secret')
    expect(JSON.stringify(model.doStreamCalls[1]?.prompt)).toContain('secret')
  })

  it('aborts the run when the task is cancelled', async () => {
    const aborted = gate()
    const model = modelOf(major, () => [])
    model.doStream = async ({ abortSignal }) => {
      abortSignal?.addEventListener('abort', () => aborted.open())
      const parts = says('Wait').slice(0, 2)
      return { stream: ReadableStream.from(endless(parts)) }
    }
    await using served = await serve(fromAiSdk(new ai.ToolLoopAgent({ model }), 'Slow'))
    await using client = await connect(served.url)
    const states: unknown[] = []
    for await (const event of readTurn(client.sendStreamingMessage({ message: newMessage('Go') }))) {
      if (event.kind === 'begin') states.push(event.taskId)
      if (event.kind === 'text') await client.cancelTask({ id: String(states[0]) })
      if (event.kind === 'end') states.push(event.state)
    }
    await aborted.opened
    expect(states[1]).toBe('TASK_STATE_CANCELED')
  })
})
