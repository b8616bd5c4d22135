import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { agent, artifact, ask, connect, data, file, rejected, text, working } from '../../src/index.js'
import { type AgentTool, type ToolResult, toolName, toolsOf } from '../../src/integrations/agent-tools.js'

describe('toolsOf', () => {
  it('returns a tool for each skill with a schema, and one that takes a message', async () => {
    const tailor = agent(
      {
        name: 'Maßschneider & Söhne',
        description: 'Makes suits',
        skills: [
          { id: 'cut', description: 'Cuts cloth', input: z.object({ cloth: z.string() }) },
          { id: 'advise', name: 'Advice', description: 'Answers questions' },
        ],
      },
      async function* () {},
    )
    await using client = await connect(tailor)
    expect(toolsOf(client).map(({ name, description, schema }) => ({ name, description, schema }))).toMatchObject([
      {
        name: 'Ma_schneider_Sohne_cut',
        description: 'Cuts cloth',
        schema: { type: 'object', properties: { cloth: { type: 'string' } }, required: ['cloth'] },
      },
      {
        name: 'Ma_schneider_Sohne',
        description: 'Makes suits\n- cut: Cuts cloth\n- Advice: Answers questions',
        schema: { type: 'object', required: ['message'] },
      },
    ])
  })

  it.each([
    ['Tailor', 'Tailor_2'],
    ['a'.repeat(70), `${'a'.repeat(62)}_2`],
    ['裁缝', 'agent_2'],
  ])('numbers the name %s when it is taken', (wanted, second) => {
    const taken = new Set<string>()
    toolName(wanted, taken)
    expect(toolName(wanted, taken)).toBe(second)
  })
})

async function resultsOf(tool: AgentTool | undefined, input: Parameters<AgentTool['call']>[0]): Promise<ToolResult[]> {
  const results: ToolResult[] = []
  for await (const each of tool?.call(input) ?? []) results.push(each)
  return results
}

describe('a tool of an agent', () => {
  it('yields the text so far, then the result', async () => {
    const talker = agent('Talker', async function* () {
      yield 'Hel'
      yield 'lo'
    })
    await using client = await connect(talker)
    const results = await resultsOf(toolsOf(client)[0], { message: 'Hi' })
    expect(results.at(0)).toMatch(/^Hel/)
    expect(results.at(-1)).toBe('Hello')
  })

  it('names the skill and sends its input as data', async () => {
    const seen: unknown[] = []
    const tailor = agent(
      { name: 'Tailor', skills: [{ id: 'cut', input: z.object({ size: z.number() }) }] },
      async function* (turn) {
        seen.push(turn.data(), turn.message.metadata?.skillId)
        yield artifact('suit', [text('Cut'), data({ size: 48 })])
        yield artifact('photo', file(new URL('https://example.com/suit.png'), { mediaType: 'image/png' }))
        yield artifact('bill', file(new Uint8Array(3), { filename: 'bill.pdf' }))
      },
    )
    await using client = await connect(tailor)
    const [cut] = toolsOf(client)
    expect((await resultsOf(cut, { size: 48 })).at(-1)).toEqual({
      text: 'Cut',
      data: [{ size: 48 }],
      files: [{ mediaType: 'image/png', url: 'https://example.com/suit.png' }, { filename: 'bill.pdf' }],
    })
    expect(seen).toEqual([{ size: 48 }, 'cut'])
  })

  it('returns a question with its form, and answers it with the taskId', async () => {
    const schema = { type: 'object', properties: { size: { type: 'number' } }, required: ['size'] }
    const tailor = agent('Tailor', async function* (turn) {
      if (turn.number === 1) yield ask('Which size?', { schema })
      yield `Size ${JSON.stringify(turn.data())}`
    })
    await using client = await connect(tailor)
    const [tool] = toolsOf(client)
    const question = (await resultsOf(tool, { message: 'A suit' })).at(-1)
    expect(question).toEqual({ state: 'input-required', question: 'Which size?', schema, taskId: expect.any(String) })
    const taskId = typeof question === 'object' && 'taskId' in question ? question.taskId : ''
    expect((await resultsOf(tool, { message: '{"size":48}', taskId })).at(-1)).toBe('Size {"size":48}')
  })

  it('throws the reason if the task is rejected', async () => {
    const closed = agent('Closed', async function* () {
      yield working('Looking')
      yield rejected('On Sundays')
    })
    await using client = await connect(closed)
    await expect(resultsOf(toolsOf(client)[0], { message: 'Hi' })).rejects.toThrow(
      'The agent rejected the task: On Sundays',
    )
  })

  it('refuses output that no model can read', async () => {
    const talker = agent('Talker', async function* () {
      for (let chunk = 0; chunk < 11; chunk += 1) yield 'x'.repeat(100_000)
    })
    await using client = await connect(talker)
    await expect(resultsOf(toolsOf(client)[0], { message: 'Hi' })).rejects.toMatchObject({ code: 'PAYLOAD_TOO_LARGE' })
  })

  it('cancels the task when its signal aborts', async () => {
    const slow = agent('Slow', async function* ({ signal }) {
      yield 'Started'
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
    })
    await using client = await connect(slow)
    const stop = new AbortController()
    const read = async () => {
      for await (const _ of toolsOf(client)[0]?.call({ message: 'Go' }, { signal: stop.signal }) ?? [])
        stop.abort(new Error('stopped'))
    }
    await expect(read()).rejects.toThrow('stopped')
    const [task] = (await client.listTasks({})).tasks
    expect((await client.task(task?.id ?? '').wait()).status.state).toBe('TASK_STATE_CANCELED')
  })
})
