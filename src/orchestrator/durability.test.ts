import { describe, expect, it } from 'vitest'
import { agent } from '../engine/agent.js'
import { openTestStore, storeKinds, taskIn, testEngine, textIn } from '../engine/engine.fixture.js'
import { artifact, working } from '../engine/yields.js'
import type { Task } from '../model/task.js'
import { callBy, gate, send, until } from '../testing/index.js'
import { mortalStore } from '../testing/mortal-store.js'
import { graphLines, resolveAmong } from './workflow.fixture.js'
import { workflow } from './workflow.js'

const immediately = { returnImmediately: true }

describe.each(storeKinds)('a run on %s whose process dies', (kind) => {
  const ended = (
    engine: { getTask(request: { id: string }, context: ReturnType<typeof callBy>): Promise<Task> },
    id: string,
  ) =>
    until(async () => {
      const task = await engine.getTask({ id }, callBy())
      return task.status.state === 'TASK_STATE_COMPLETED' && task
    })

  it('continues after the last completed step, and finds the task of the running step again', async () => {
    const store = await openTestStore(kind)
    const release = gate()
    const runs: string[] = []
    const worker = agent('Worker', async function* ({ text }) {
      runs.push(text)
      yield artifact('out', `${text} begun `)
      if (text === 'second') await release.opened
      yield artifact('out', `${text} done`, { append: true })
    })
    let randoms = 0
    const flow = workflow('Flow', async (steps) => {
      const number = await steps.once('number', () => ++randoms)
      const first = await steps.step('first', { agent: worker, message: 'first' })
      const second = await steps.step('second', { agent: worker, message: 'second', after: [first] })
      const third = await steps.step('third', { agent: worker, message: ['third ', second] })
      return `${number}: ${third.text}`
    })
    await using child = await testEngine(worker, 'memory')
    const resolve = resolveAmong(new Map([['Worker', child]]))
    const life = mortalStore(store)
    const one = await testEngine(flow, life.store, { owner: 'p1', resolve })
    const { id } = taskIn(await one.sendMessage(send('go', {}, immediately), callBy()))
    await until(async () => {
      const { artifacts = [] } = await one.getTask({ id }, callBy())
      return artifacts.some(
        ({ artifactId, parts }) => artifactId.startsWith('second/') && textIn(parts) === 'second begun ',
      )
    })
    life.kill()
    await using two = await testEngine(flow, store, { owner: 'p2', resolve, isOwnerDead: (owner) => owner === 'p1' })
    await until(async () => (await two.getTask({ id }, callBy())).status.state === 'TASK_STATE_WORKING')
    release.open()
    const task = await ended(two, id)
    expect(runs).toEqual(['first', 'second', 'third second begun second done'])
    expect(randoms).toBe(1)
    expect(graphLines(task)).toEqual([
      'number completed',
      'first completed',
      'second completed after first',
      'third completed after second',
    ])
    const texts = Object.fromEntries((task.artifacts ?? []).map(({ artifactId, parts }) => [artifactId, textIn(parts)]))
    expect(texts).toMatchObject({
      'first/artifact-1-1': 'first begun first done',
      'second/artifact-1-1': 'second begun second done',
      result: '1: third second begun second done begun third second begun second done done',
    })
    await store.close()
  })

  it('calls no agent for recorded steps', async () => {
    const store = await openTestStore(kind)
    const release = gate()
    const gone = agent('Gone', async function* () {
      yield artifact('out', [{ text: 'from ' }, { text: 'before' }])
    })
    const worker = agent('Worker', async function* ({ text }) {
      await release.opened
      yield text
    })
    const flow = workflow('Flow', async (steps) => {
      const first = await steps.step('first', { agent: 'Gone', message: 'go' })
      const failure = await steps
        .step('broken', { agent: 'Missing', message: 'go' })
        .catch((error: Error) => error.message)
      const last = await steps.step('last', { agent: 'Worker', message: first })
      return `${last.text}; ${failure}; ${first.agent}`
    })
    await using child = await testEngine(worker, 'memory')
    await using before = await testEngine(gone, 'memory')
    const life = mortalStore(store)
    const all = new Map([
      ['Worker', child],
      ['Gone', before],
    ])
    const one = await testEngine(flow, life.store, { owner: 'p1', resolve: resolveAmong(all) })
    const { id } = taskIn(await one.sendMessage(send('go', {}, immediately), callBy()))
    await until(async () => graphLines(await one.getTask({ id }, callBy())).length === 3)
    life.kill()
    const resolve = resolveAmong(new Map([['Worker', child]]))
    await using two = await testEngine(flow, store, { owner: 'p2', resolve, isOwnerDead: (owner) => owner === 'p1' })
    release.open()
    const task = await ended(two, id)
    expect(textIn(task.artifacts?.find(({ name }) => name === 'result')?.parts ?? [])).toBe(
      'from before; Step broken failed: Agent not found: Missing; Gone',
    )
    await store.close()
  })

  it('sends with the same key if it died before it received the task', async () => {
    const store = await openTestStore(kind)
    const keys: (string | undefined)[] = []
    const attempts: (number | undefined)[] = []
    const release = gate()
    const worker = agent('Worker', async function* () {
      yield working()
      await release.opened
      yield 'done'
    })
    const flow = workflow('Flow', async (steps) => {
      await steps.step('only', { agent: 'Worker', message: 'go' })
    })
    await using child = await testEngine(worker, 'memory')
    const life = mortalStore(store)
    const withoutResponse: typeof child = {
      ...child,
      // It dies after the agent received the message, before it receives the task.
      async *sendStreamingMessage(request, context) {
        keys.push(context.idempotencyKey)
        attempts.push(context.attempts)
        for await (const item of child.sendStreamingMessage(request, context)) {
          if (keys.length === 1) {
            life.kill()
            await new Promise(() => undefined)
          }
          yield item
        }
      },
    }
    const resolve = resolveAmong(new Map([['Worker', withoutResponse]]))
    const one = await testEngine(flow, life.store, { owner: 'p1', resolve })
    const { id } = taskIn(await one.sendMessage(send('go', {}, immediately), callBy()))
    await until(async () => (await child.listTasks({}, callBy())).totalSize === 1)
    await using two = await testEngine(flow, store, { owner: 'p2', resolve, isOwnerDead: (owner) => owner === 'p1' })
    await until(() => keys.length === 2)
    release.open()
    await ended(two, id)
    expect(keys).toEqual([`${id}:only:1`, `${id}:only:1`])
    // Only the workflow decides about retries.
    expect(attempts).toEqual([1, 1])
    expect((await child.listTasks({}, callBy())).totalSize).toBe(1)
    await store.close()
  })

  it('is handed over when its server drains: the task of the agent continues and is found again', async () => {
    const store = await openTestStore(kind)
    const release = gate()
    let runs = 0
    const worker = agent('Worker', async function* () {
      runs += 1
      yield working()
      await release.opened
      yield 'done'
    })
    const flow = workflow('Flow', async (steps) => {
      await steps.step('only', { agent: worker, message: 'go' })
    })
    await using child = await testEngine(worker, 'memory')
    const resolve = resolveAmong(new Map([['Worker', child]]))
    const one = await testEngine(flow, store, { owner: 'p1', resolve })
    const { id } = taskIn(await one.sendMessage(send('go', {}, immediately), callBy()))
    await until(() => runs === 1)
    await one.drain(0)
    await using two = await testEngine(flow, store, { owner: 'p2', resolve })
    release.open()
    await ended(two, id)
    expect(runs).toBe(1)
    await store.close()
  })

  it('compensates once, and remembers that it failed', async () => {
    const store = await openTestStore(kind)
    const received: string[] = []
    const release = gate()
    const booker = agent('Booker', async function* ({ text }) {
      received.push(text)
      yield working('begun')
      if (text === 'undo hotel') await release.opened
      yield text
    })
    const flow = workflow('Flow', async (steps) => {
      const undo = (what: string) => () => ({ agent: booker, message: `undo ${what}` })
      await steps.step('flight', { agent: booker, message: 'flight', compensate: undo('flight') })
      await steps.step('hotel', { agent: booker, message: 'hotel', compensate: undo('hotel') })
      // Not deterministic: the second execution would not fail.
      if (received.length === 2) throw new Error('No')
    })
    await using child = await testEngine(booker, 'memory')
    const resolve = resolveAmong(new Map([['Booker', child]]))
    const life = mortalStore(store)
    const one = await testEngine(flow, life.store, { owner: 'p1', resolve })
    const { id } = taskIn(await one.sendMessage(send('go', {}, immediately), callBy()))
    // The run reported the step, so the store contains its task.
    await until(async () => {
      const { status } = await one.getTask({ id }, callBy())
      return textIn(status.message?.parts ?? []) === 'undo hotel: begun'
    })
    life.kill()
    await using two = await testEngine(flow, store, { owner: 'p2', resolve, isOwnerDead: (owner) => owner === 'p1' })
    release.open()
    await until(async () => (await two.getTask({ id }, callBy())).status.state === 'TASK_STATE_FAILED')
    expect(received).toEqual(['flight', 'hotel', 'undo hotel', 'undo flight'])
    const { tasks } = await child.listTasks({}, callBy())
    expect(tasks.map(({ status }) => status.state)).toEqual(Array(4).fill('TASK_STATE_COMPLETED'))
    expect(graphLines(await two.getTask({ id }, callBy())).slice(2)).toEqual([
      'undo hotel completed after hotel',
      'undo flight completed after flight',
    ])
    await store.close()
  })

  it.each([
    ['while it undoes', false],
    ['while it undoes, and dies', true],
  ])('finishes the compensation when it is cancelled %s', async (_, dies) => {
    const store = await openTestStore(kind)
    const received: string[] = []
    const release = gate()
    const booker = agent('Booker', async function* ({ text }) {
      received.push(text)
      yield working('begun')
      if (text === 'undo hotel') await release.opened
      yield text
    })
    const flow = workflow('Flow', async (steps) => {
      const undo = (what: string) => () => ({ agent: booker, message: `undo ${what}` })
      await steps.step('flight', { agent: booker, message: 'flight', compensate: undo('flight') })
      await steps.step('hotel', { agent: booker, message: 'hotel', compensate: undo('hotel') })
      throw new Error('No')
    })
    await using child = await testEngine(booker, 'memory')
    const resolve = resolveAmong(new Map([['Booker', child]]))
    const life = mortalStore(store)
    const one = await testEngine(flow, life.store, { owner: 'p1', resolve })
    const { id } = taskIn(await one.sendMessage(send('go', {}, immediately), callBy()))
    // The run reported the step, so the store contains its task.
    await until(async () => {
      const { status } = await one.getTask({ id }, callBy())
      return textIn(status.message?.parts ?? []) === 'undo hotel: begun'
    })
    if (dies) life.kill()
    await using two = await testEngine(flow, store, { owner: 'p2', resolve, isOwnerDead: () => dies })
    const [{ status }] = await Promise.all([
      (dies ? two : one).cancelTask({ id }, callBy()),
      until(() => received.includes('undo flight')).then(() => release.open()),
    ])
    expect(status.state).toBe('TASK_STATE_CANCELED')
    await until(async () => {
      const { tasks } = await child.listTasks({}, callBy())
      return tasks.length === 4 && tasks.every((task) => task.status.state === 'TASK_STATE_COMPLETED')
    })
    expect(received).toEqual(['flight', 'hotel', 'undo hotel', 'undo flight'])
    if (!dies) await one[Symbol.asyncDispose]()
    await store.close()
  })
})
