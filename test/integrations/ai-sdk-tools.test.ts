/** `asTools` with AI SDK 6 and 7. */
import { agent, ask, failed, serve } from 'dragoman'
import { asTools } from 'dragoman/ai-sdk'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { gate } from '../../src/testing/wait.js'
import { calls, majors, modelOf, resultsOf, says } from './ai-sdk-payer.js'

const cut = z.object({ cloth: z.string() })
const tailor = agent(
  {
    name: 'Tailor',
    description: 'Makes suits',
    skills: [{ id: 'cut', description: 'Cuts cloth', input: cut }, { id: 'advise' }],
  },
  async function* (turn) {
    if (turn.number > 1) return yield `A ${turn.text} suit`
    const data = cut.safeParse(turn.data())
    if (data.success) return yield `Cut ${data.data.cloth} (${turn.message.metadata?.skillId})`
    if (turn.text === 'fail') return yield failed('No cloth')
    yield 'One '
    yield 'moment'
    yield ask('Which colour?')
  },
)

describe.each(majors)('asTools in AI SDK %s', (major, ai) => {
  it('calls skills by their schema, and answers questions', async () => {
    await using served = await serve(tailor)
    const model = modelOf(major, (prompt) => {
      const results = resultsOf(prompt)
      if (results.length === 0) return calls('1', 'Tailor_cut', { cloth: 'wool' })
      if (results.length === 1) return calls('2', 'Tailor', { message: 'A suit' })
      const taskId = /"taskId":"([^"]+)"/.exec(results.at(-1) ?? '')?.[1]
      return taskId === undefined ? says('Done') : calls('3', 'Tailor', { message: 'blue', taskId })
    })
    const tools = await asTools(served.url)
    expect(Object.keys(tools)).toEqual(['Tailor_cut', 'Tailor'])
    const result = ai.streamText({ model, tools, prompt: 'Dress me', stopWhen: ai.stepCountIs(5) })
    const outputs: unknown[] = []
    for await (const part of result.fullStream)
      if (part.type === 'tool-result') outputs.push(part.preliminary ? ['so far', part.output] : part.output)
    expect(await result.text).toBe('Done')
    expect(outputs.filter((output) => !Array.isArray(output))).toEqual([
      'Cut wool (cut)',
      { state: 'input-required', question: 'Which colour?', taskId: expect.any(String) },
      'A blue suit',
    ])
    expect(outputs).toContainEqual(['so far', 'One moment'])
    const [called] = model.doStreamCalls
    expect(called?.tools).toMatchObject([
      {
        name: 'Tailor_cut',
        description: 'Cuts cloth',
        inputSchema: { type: 'object', properties: { cloth: { type: 'string' } } },
      },
      { name: 'Tailor', inputSchema: { properties: { message: { type: 'string' } } } },
    ])
  })

  it('tells the model why a task failed, and refuses invalid arguments', async () => {
    await using served = await serve(tailor)
    const model = modelOf(major, (prompt) => {
      const results = resultsOf(prompt)
      if (results.length === 0) return calls('1', 'Tailor', { message: 'fail' })
      if (results.length === 1) return calls('2', 'Tailor_cut', { cloth: 5 })
      return says(results.join('\n'))
    })
    const tools = await asTools(served.url)
    const result = ai.streamText({ model, tools, prompt: 'Dress me', stopWhen: ai.stepCountIs(5) })
    expect(await result.text).toMatch(/1: .*The agent failed: No cloth.*\n2: .*must be a string/)
  })

  it('cancels the task when the call is aborted', async () => {
    const cancelled = gate()
    const slow = agent('Slow', async function* ({ signal }) {
      yield 'Wait'
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      cancelled.open()
    })
    await using served = await serve(slow)
    const model = modelOf(major, () => calls('1', 'Slow', { message: 'Go' }))
    const controller = new AbortController()
    const tools = await asTools(served.url)
    const result = ai.streamText({
      model,
      tools,
      prompt: 'Go',
      abortSignal: controller.signal,
      onError: () => undefined,
    })
    for await (const part of result.fullStream) if (part.type === 'tool-result') controller.abort()
    await cancelled.opened
  })
})
