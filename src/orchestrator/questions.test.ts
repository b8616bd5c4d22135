import { describe, expect, it } from 'vitest'
import { agent } from '../engine/agent.js'
import { storeKinds, taskIn, textIn } from '../engine/engine.fixture.js'
import { artifact, ask, askAuth } from '../engine/yields.js'
import type { Task } from '../model/task.js'
import { callBy, gate, send, until } from '../testing/index.js'
import { graphLines, openWorkflow } from './workflow.fixture.js'
import { workflow } from './workflow.js'

const schema = { type: 'object', properties: { size: { type: 'string' } } }

/** Asks for a size, and returns a result for it. */
const tailor = (name: string) =>
  agent(name, async function* ({ number, text, task }) {
    if (number === 1) yield ask(`Which size of ${text}?`, { schema })
    yield artifact('made', `${name} made ${text} for ${task.id.length > 0}`)
  })

describe.each(storeKinds)('questions of a workflow on %s', (kind) => {
  const questionIn = ({ status }: Task) =>
    `${status.state.slice(11)} ${textIn(status.message?.parts.slice(0, 2) ?? [])}`
  const made = ({ artifacts = [] }: Task) =>
    artifacts.filter(({ name }) => name === 'made').map(({ artifactId, parts }) => `${artifactId} ${textIn(parts)}`)

  it('are those of its agents, one after another, and each answer goes to the agent that asked', async () => {
    const flow = workflow('Flow', async (steps) => {
      await Promise.all([
        steps.step('coat', { agent: 'Coats', message: 'coat' }),
        steps.step('hat', { agent: 'Hats', message: 'hat' }),
      ])
    })
    await using cast = await openWorkflow(flow, [tailor('Coats'), tailor('Hats')], kind)
    const asked = taskIn(await cast.workflow.sendMessage(send('go'), callBy()))
    const first = questionIn(asked)
    expect(['INPUT_REQUIRED coat: Which size of coat?', 'INPUT_REQUIRED hat: Which size of hat?']).toContain(first)
    // The workflow passes on the form of the agent.
    expect(asked.status.message?.parts.at(-1)).toMatchObject({ data: schema, mediaType: 'application/schema+json' })
    const [one, other] = first.includes('coat') ? (['coat', 'hat'] as const) : (['hat', 'coat'] as const)
    const second = taskIn(await cast.workflow.sendMessage(send(`${one} L`, { taskId: asked.id }), callBy()))
    expect(questionIn(second)).toBe(`INPUT_REQUIRED ${other}: Which size of ${other}?`)
    const done = taskIn(await cast.workflow.sendMessage(send(`${other} XS`, { taskId: asked.id }), callBy()))
    expect(done.status.state).toBe('TASK_STATE_COMPLETED')
    const sizes = { [one]: 'L', [other]: 'XS' }
    expect(made(done).sort()).toEqual([
      `coat/artifact-2-1 Coats made coat ${sizes.coat} for true`,
      `hat/artifact-2-1 Hats made hat ${sizes.hat} for true`,
    ])
    expect(graphLines(done)).toEqual(['coat completed', 'hat completed'])
    for (const child of cast.agents.values()) expect((await child.listTasks({}, callBy())).totalSize).toBe(1)
  })

  it('do not run the catch and finally blocks of the function', async () => {
    const ran: string[] = []
    const flow = workflow('Flow', async (steps) => {
      try {
        return (await steps.ask('size', 'Which size?')).text
      } catch (error) {
        ran.push('catch')
        throw error
      } finally {
        ran.push('finally')
      }
    })
    await using cast = await openWorkflow(flow, [], kind)
    const { id } = taskIn(await cast.workflow.sendMessage(send('go'), callBy()))
    expect(ran).toEqual([])
    await cast.workflow.sendMessage(send('L', { taskId: id }), callBy())
    expect(ran).toEqual(['finally'])
  })

  it('accept only answers that match the form of the agent', async () => {
    const approval = { type: 'object', required: ['approve'], properties: { approve: { type: 'boolean' } } }
    const editor = agent('Editor', async function* (turn) {
      if (turn.number === 1) yield ask('Publish?', { schema: approval })
      yield artifact('made', `published ${JSON.stringify(turn.data())}`)
    })
    const flow = workflow('Flow', async (steps) => {
      await steps.step('edit', { agent: editor, message: 'a text' })
      const { data } = await steps.ask('again', 'Really?', { schema: approval })
      return JSON.stringify(data)
    })
    await using cast = await openWorkflow(flow, [editor], kind)
    const { id } = taskIn(await cast.workflow.sendMessage(send('go'), callBy()))
    const answer = (text: string) => cast.workflow.sendMessage(send(text, { taskId: id }), callBy())
    for (const round of ['edit', 'again']) {
      await expect(answer('yes')).rejects.toMatchObject({
        code: 'INVALID_PARAMS',
        details: { violations: [{ field: 'message.parts[0].text.approve' }] },
      })
      const waiting = await cast.workflow.getTask({ id }, callBy())
      expect(waiting.status.state).toBe('TASK_STATE_INPUT_REQUIRED')
      await answer(round === 'edit' ? 'true' : '{"approve":false}')
    }
    const done = await cast.workflow.getTask({ id }, callBy())
    expect(done.status.state).toBe('TASK_STATE_COMPLETED')
    expect(made(done)).toEqual(['edit/artifact-2-1 published {"approve":true}'])
    expect(textIn(done.artifacts?.find(({ name }) => name === 'result')?.parts ?? [])).toBe('{"approve":false}')
  })

  it('do not stop other agents, whose results are available after the answer', async () => {
    const release = gate()
    let runs = 0
    const slow = agent('Slow', async function* () {
      runs += 1
      yield artifact('made', 'half ')
      await release.opened
      yield artifact('made', 'done', { append: true })
    })
    const flow = workflow('Flow', async (steps) => {
      const [, said] = await Promise.all([
        steps.step('slow', { agent: slow, message: 'go' }),
        steps.ask('colour', 'Which colour?'),
      ])
      return said.text
    })
    await using cast = await openWorkflow(flow, [slow], kind)
    const asked = taskIn(await cast.workflow.sendMessage(send('go'), callBy()))
    expect(questionIn(asked)).toBe('INPUT_REQUIRED Which colour?')
    expect(graphLines(asked)).toEqual(['slow running', 'colour asking'])
    release.open()
    const child = cast.agents.get('Slow')
    await until(async () => (await child?.listTasks({ status: 'TASK_STATE_COMPLETED' }, callBy()))?.totalSize === 1)
    const done = taskIn(await cast.workflow.sendMessage(send('red', { taskId: asked.id }), callBy()))
    expect(done.status.state).toBe('TASK_STATE_COMPLETED')
    expect(made(done)).toEqual(['slow/artifact-1-1 half done'])
    expect(textIn(done.artifacts?.find(({ name }) => name === 'result')?.parts ?? [])).toBe('red')
    expect(runs).toBe(1)
  })

  it('can be repeated by the same agent, and can ask for credentials', async () => {
    const curious = agent('Curious', async function* ({ number, history }) {
      if (number === 1) yield ask('First?')
      if (number === 2) yield ask('Second?')
      if (number === 3) yield askAuth('Sign in')
      const said = history.filter(({ role }) => role === 'ROLE_USER').map(({ parts }) => textIn(parts))
      yield artifact('made', said.join(' '))
    })
    const flow = workflow('Flow', async (steps) => {
      await steps.step('curious', { agent: curious, message: steps.text })
    })
    await using cast = await openWorkflow(flow, [curious], kind)
    let task = taskIn(await cast.workflow.sendMessage(send('go'), callBy()))
    const asked = [questionIn(task)]
    for (const answer of ['a', 'b', 'done']) {
      task = taskIn(await cast.workflow.sendMessage(send(answer, { taskId: task.id }), callBy()))
      asked.push(questionIn(task))
    }
    expect(asked).toEqual([
      'INPUT_REQUIRED curious: First?',
      'INPUT_REQUIRED curious: Second?',
      'AUTH_REQUIRED curious: Sign in',
      'COMPLETED ',
    ])
    expect(made(task)).toEqual(['curious/artifact-4-1 go a b done'])
  })
})
