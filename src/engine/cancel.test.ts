import { describe, expect, it } from 'vitest'
import { callBy, gate, send, until } from '../testing/index.js'
import { collect, outline, storeKinds, taskIn, testEngine } from './engine.fixture.js'
import { ask, completed, working } from './yields.js'

const immediately = { returnImmediately: true } as const

describe.each(storeKinds)('cancel on %s', (kind) => {
  it('E-7: fires the signal and answers with the cancelled task; streams and waiting senders see it', async () => {
    let reason: unknown
    await using engine = await testEngine(async function* ({ signal }) {
      yield working()
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    }, kind)
    const stream = collect(engine.sendStreamingMessage(send('go'), callBy()))
    const id = await until(async () => (await engine.listTasks({}, callBy())).tasks[0]?.id)
    const waiting = engine.sendMessage(send('more', { taskId: id }), callBy())
    await until(async () => (await engine.getTask({ id }, callBy())).history?.length === 2)
    expect((await engine.cancelTask({ id }, callBy())).status.state).toBe('TASK_STATE_CANCELED')
    expect(outline(await stream)).toEqual(['task:SUBMITTED', 'status:WORKING', 'status:CANCELED'])
    expect(taskIn(await waiting).status.state).toBe('TASK_STATE_CANCELED')
    expect(reason).toBeUndefined()
  })

  it('E-7: a handler that ignores the signal is abandoned after the grace period, and its later yields are dropped', async () => {
    const release = gate()
    const finished = gate()
    await using engine = await testEngine(async function* () {
      yield working()
      await release.opened
      finished.open()
      yield 'too late'
    }, kind)
    const { id } = taskIn(await engine.sendMessage(send('go', {}, immediately), callBy()))
    const task = await engine.cancelTask({ id }, callBy())
    expect(task.status.state).toBe('TASK_STATE_CANCELED')
    release.open()
    await finished.opened
    await new Promise((resolve) => setTimeout(resolve, 5))
    expect(await engine.getTask({ id }, callBy())).toEqual(task)
  })

  it('E-7: returning or completing after the abort is a cancel', async () => {
    await using engine = await testEngine(async function* ({ signal }) {
      yield working()
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
      yield completed('still done')
    }, kind)
    const { id } = taskIn(await engine.sendMessage(send('go', {}, immediately), callBy()))
    expect((await engine.cancelTask({ id }, callBy())).status.state).toBe('TASK_STATE_CANCELED')
  })

  it('E-7: a task that waits for input is cancelled although no process runs it', async () => {
    await using engine = await testEngine(async function* () {
      yield ask('What?')
    }, kind)
    const { id } = taskIn(await engine.sendMessage(send('go'), callBy()))
    expect((await engine.cancelTask({ id }, callBy())).status.state).toBe('TASK_STATE_CANCELED')
    await expect(engine.sendMessage(send('x', { taskId: id }), callBy())).rejects.toMatchObject({
      code: 'UNSUPPORTED_OPERATION',
    })
  })

  it('reaches the task of an agent that was called', async () => {
    await using child = await testEngine(async function* ({ signal }) {
      yield working()
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    }, kind)
    await using parent = await testEngine(
      async function* (turn) {
        yield working()
        yield (await turn.call('child', 'do it')).text
      },
      kind,
      { resolve: () => child },
    )
    const { id } = taskIn(await parent.sendMessage(send('go', {}, immediately), callBy()))
    await until(async () => (await child.listTasks({ status: 'TASK_STATE_WORKING' }, callBy())).totalSize === 1)
    await parent.cancelTask({ id }, callBy())
    await until(async () => (await child.listTasks({ status: 'TASK_STATE_CANCELED' }, callBy())).totalSize === 1)
  })

  it('a call to another agent returns its answer, in the same context', async () => {
    await using child = await testEngine(async function* ({ text }) {
      yield `${text}!`
    }, kind)
    await using parent = await testEngine(
      async function* (turn) {
        yield (await turn.call('child', turn.text)).text.repeat(2)
      },
      kind,
      { resolve: () => child },
    )
    const { contextId, artifacts } = taskIn(await parent.sendMessage(send('hey'), callBy()))
    expect(artifacts?.[0]?.parts).toEqual([{ text: 'hey!hey!' }])
    expect((await child.listTasks({ contextId }, callBy())).totalSize).toBe(1)
  })

  it('a call returns a copy of the task of another agent', async () => {
    await using child = await testEngine(async function* () {
      yield 'private'
    }, kind)
    await using parent = await testEngine(
      async function* (turn) {
        const { task } = await turn.call('child', 'do it')
        Object.assign(task?.artifacts?.[0]?.parts[0] as object, { text: 'changed' })
        yield task?.id ?? ''
      },
      kind,
      { resolve: () => child },
    )
    const { artifacts } = taskIn(await parent.sendMessage(send('hey'), callBy()))
    const [part] = artifacts?.[0]?.parts ?? []
    const id = part && 'text' in part ? part.text : ''
    expect((await child.getTask({ id }, callBy())).artifacts?.[0]?.parts).toEqual([{ text: 'private' }])
  })

  it('a call can answer the question of another agent, whose task continues', async () => {
    await using child = await testEngine(async function* ({ text, number }) {
      if (number === 1) yield ask('Which?')
      yield `${text}!`
    }, kind)
    await using parent = await testEngine(
      async function* (turn) {
        const { task, text } = await turn.call('child', 'do it')
        yield `${text} `
        yield (await turn.call('child', 'that one', task ? { taskId: task.id } : {})).text
      },
      kind,
      { resolve: () => child },
    )
    const { contextId, artifacts } = taskIn(await parent.sendMessage(send('hey'), callBy()))
    expect(artifacts?.[0]?.parts).toEqual([{ text: 'Which? ' }, { text: 'that one!' }])
    const { tasks } = await child.listTasks({ contextId }, callBy())
    expect(tasks.map(({ status }) => status.state)).toEqual(['TASK_STATE_COMPLETED'])
  })
})
