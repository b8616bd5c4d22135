import { afterEach, describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { json, serveHttp } from '../client/http-server.fixture.js'
import { agent } from '../engine/agent.js'
import { collect, storeKinds, taskIn, textIn } from '../engine/engine.fixture.js'
import { artifact, completed, failed, rejected, reply, working } from '../engine/yields.js'
import { fromGeneric } from '../model/generic-service.js'
import type { Message } from '../model/message.js'
import { data } from '../model/part.js'
import { callBy, gate, send, until } from '../testing/index.js'
import { graphOf } from './graph.js'
import type { StepAgentName } from './step-agents.js'
import { graphLines, openWorkflow, type TestWorkflow } from './workflow.fixture.js'
import { workflow } from './workflow.js'

const outliner = agent('OutlineAgent', async function* ({ text }) {
  yield working('thinking')
  yield artifact('outline', data({ title: text, chapters: ['one', 'two'] }))
})

/** Repeats the text of each message, and records the messages. */
const listener = (name: string, received: Message[] = []) =>
  agent(name, async function* ({ text, message }) {
    received.push(message)
    yield `${name} heard: `
    yield text
  })

describe.each(storeKinds)('a workflow on %s', (kind) => {
  it('chains agents: passes data and text in one context, with references', async () => {
    const received: Message[] = []
    const outlineSchema = z.object({ title: z.string(), chapters: z.array(z.string()) })
    const document = workflow('Document', async (flow) => {
      const outline = await flow.step('outline', { agent: 'OutlineAgent', message: flow.text })
      const { chapters } = outline.data(outlineSchema)
      const text = await flow.step('document', { agent: 'DocAgent', message: ['Write this up', outline] })
      return `${chapters.length} chapters; ${text.text}`
    })
    await using cast = await openWorkflow(document, [outliner, listener('DocAgent', received)], kind)
    const task = taskIn(await cast.workflow.sendMessage(send('Dragons'), callBy()))
    expect(task.status.state).toBe('TASK_STATE_COMPLETED')
    const named = Object.fromEntries((task.artifacts ?? []).map(({ artifactId, parts }) => [artifactId, parts]))
    expect(textIn(named.result ?? [])).toBe('2 chapters; DocAgent heard: Write this up')
    expect(named['outline/artifact-1-1']).toEqual([data({ title: 'Dragons', chapters: ['one', 'two'] })])
    expect(textIn(named['document/artifact-1-1'] ?? [])).toBe('DocAgent heard: Write this up')
    const outlineTask = graphOf(task)?.nodes[0]?.taskId
    expect(received).toMatchObject([
      {
        contextId: task.contextId,
        parts: [{ text: 'Write this up' }, { data: { title: 'Dragons', chapters: ['one', 'two'] } }],
        referenceTaskIds: [outlineTask],
      },
    ])
    expect(graphLines(task)).toEqual(['outline completed', 'document completed after outline'])
  })

  it('streams the artifacts and the progress of its steps', async () => {
    const release = gate()
    const slow = agent('Slow', async function* () {
      yield 'first '
      await release.opened
      yield 'second'
    })
    const flow = workflow('Flow', async (steps) => {
      await steps.step('write', { agent: slow, message: 'go' })
    })
    await using cast = await openWorkflow(flow, [slow], kind)
    const seen: string[] = []
    for await (const { event } of cast.workflow.sendStreamingMessage(send('go'), callBy())) {
      if ('artifactUpdate' in event && event.artifactUpdate.artifact.artifactId.startsWith('write/')) {
        const { artifact: made, append = false } = event.artifactUpdate
        seen.push(`${made.artifactId} ${textIn(made.parts)}${append ? ' more' : ''}`)
        release.open()
      }
      if ('statusUpdate' in event) seen.push(textIn(event.statusUpdate.status.message?.parts ?? []))
    }
    expect(seen.slice(0, 3)).toEqual([
      'write: Slow is asked',
      'write/artifact-1-1 first ',
      'write/artifact-1-1 second more',
    ])
  })

  it('runs items with limited concurrency, loops until a condition holds, and plain conditions', async () => {
    let maxRunning = 0
    let now = 0
    const counted = agent('Counted', async function* ({ text }) {
      now += 1
      maxRunning = Math.max(maxRunning, now)
      if (text === 'a') await until(() => maxRunning > 1)
      now -= 1
      yield text.toUpperCase()
    })
    const flow = workflow('Flow', async ({ each, loop, once }) => {
      const words = await each('word', ['a', 'b', 'c', 'd'], (word) => ({ agent: counted, message: word }), {
        concurrency: 2,
      })
      const good = await loop('try', 5, async (round, number) => {
        const tried = await round.step('draft', { agent: counted, message: `draft ${number}`, after: words })
        return number === 3 ? tried.text : undefined
      })
      const none = await loop('never', 2, async () => undefined)
      return `${words.map(({ text }) => text).join('')} ${good} ${none} ${await once('seven', () => 7)}`
    })
    await using cast = await openWorkflow(flow, [counted], kind)
    const task = taskIn(await cast.workflow.sendMessage(send('go'), callBy()))
    expect(textIn(task.artifacts?.find(({ artifactId }) => artifactId === 'result')?.parts ?? [])).toBe(
      'ABCD DRAFT 3 undefined 7',
    )
    expect(maxRunning).toBe(2)
    expect(graphOf(task)?.nodes.map(({ id }) => id)).toEqual([
      'word[1]',
      'word[2]',
      'word[3]',
      'word[4]',
      'try[1]/draft',
      'try[2]/draft',
      'try[3]/draft',
      'seven',
    ])
  })

  it('accepts direct messages as answers', async () => {
    const brief = agent('Brief', async function* () {
      yield reply([{ text: 'in short' }, data({ n: 1 })])
    })
    const flow = workflow('Flow', async (steps) => {
      const said = await steps.step('ask', { agent: brief, message: 'go' })
      return `${said.text} ${JSON.stringify(said.data())} ${said.task === undefined}`
    })
    await using cast = await openWorkflow(flow, [brief], kind)
    const task = taskIn(await cast.workflow.sendMessage(send('go'), callBy()))
    expect(textIn(task.artifacts?.find(({ artifactId }) => artifactId === 'result')?.parts ?? [])).toBe(
      'in short {"n":1} true',
    )
  })

  it('retries, then calls the fallback, and names the failed agents when all fail', async () => {
    let tries = 0
    const flaky = agent('Flaky', async function* () {
      tries += 1
      if (tries < 3) yield failed('not yet')
      yield 'at last'
    })
    const broken = agent('Broken', async function* () {
      yield rejected('never')
    })
    const flow = workflow('Flow', async (steps) => {
      const first = await steps.step('flaky', { agent: flaky, message: 'go', retry: { attempts: 3 } })
      const second = await steps.step('fall', { agent: broken, message: 'go', retry: { attempts: 3 }, fallback: flaky })
      steps.artifact('both', `${first.text}, ${second.agent}`)
      await steps.step('end', { agent: 'Broken', message: 'go', fallback: ['Missing'] })
    })
    await using cast = await openWorkflow(flow, [flaky, broken], kind)
    const task = taskIn(await cast.workflow.sendMessage(send('go'), callBy()))
    expect(task.status).toMatchObject({
      state: 'TASK_STATE_FAILED',
      message: { parts: [{ text: 'Step end failed: Agent not found: Missing' }] },
    })
    expect(textIn(task.artifacts?.find(({ name }) => name === 'both')?.parts ?? [])).toBe('at last, Flaky')
    expect(graphOf(task)?.nodes.map(({ id, attempts, agent: by }) => `${id} ${attempts} ${by}`)).toEqual([
      'flaky 3 Flaky',
      'fall 4 Flaky',
      'end 2 Missing',
    ])
    expect(await cast.agents.get('Broken')?.listTasks({}, callBy())).toMatchObject({ totalSize: 2 })
  })

  /** The test triggers time limits of this length. */
  const timeoutMs = 987_654

  /** The time limits in the order they were set, as functions that trigger them. */
  function limitsSet(): readonly (() => void)[] {
    const set: (() => void)[] = []
    const { setTimeout } = globalThis
    const spy = (run: () => void, ms?: number) => {
      if (ms !== undefined && ms > timeoutMs / 2 && ms <= timeoutMs) set.push(run)
      return setTimeout(run, ms)
    }
    vi.spyOn(globalThis, 'setTimeout').mockImplementation(spy as typeof setTimeout)
    return set
  }
  afterEach(() => vi.restoreAllMocks())

  /** Resolves when the workflow knows the task of a step. */
  async function knowsTaskOf(cast: TestWorkflow, step: string): Promise<void> {
    await until(async () => {
      const { tasks } = await cast.workflow.listTasks({ includeArtifacts: true }, callBy())
      return tasks[0] && graphOf(tasks[0])?.nodes.find(({ id }) => id === step)?.taskId
    })
  }

  async function* sleep({ signal }: { readonly signal: AbortSignal }) {
    yield working()
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
  }
  const sleeper = agent('Sleeper', sleep)

  it('cancels the task of an agent that exceeds its time limit', async () => {
    const flow = workflow('Flow', async (steps) => {
      const late = await steps.step('late', { agent: sleeper, message: 'go', timeoutMs }).catch((error: Error) => error)
      return completed(late instanceof Error ? late.message : 'too early')
    })
    await using cast = await openWorkflow(flow, [sleeper], kind)
    const limits = limitsSet()
    const sending = cast.workflow.sendMessage(send('go'), callBy())
    await knowsTaskOf(cast, 'late')
    limits[0]?.()
    const task = taskIn(await sending)
    expect(textIn(task.status.message?.parts ?? [])).toBe(
      `Step late failed: Sleeper did not finish within ${timeoutMs} ms`,
    )
    const { tasks } = (await cast.agents.get('Sleeper')?.listTasks({}, callBy())) ?? { tasks: [] }
    expect(tasks.map(({ status }) => status.state)).toEqual(['TASK_STATE_CANCELED'])
  })

  it('retries and falls back when an agent exceeds its time limit, also one that never answers', async () => {
    let asked = 0
    const second = agent('Sleeper', async function* (turn) {
      asked += 1
      if (asked === 2) yield 'awake'
      else yield* sleep(turn)
    })
    const quick = agent('Quick', async function* () {
      yield 'done'
    })
    const flow = workflow('Flow', async (steps) => {
      const again = await steps.step('again', { agent: second, message: 'go', timeoutMs, retry: { attempts: 2 } })
      const other = await steps.step('other', { agent: second, message: 'go', timeoutMs, fallback: quick })
      const mute = await steps.step('mute', { agent: silent, message: 'go', timeoutMs, fallback: quick })
      return `${again.text}, ${other.text}, ${mute.text}`
    })
    await using cast = await openWorkflow(flow, [second, quick], kind)
    const limits = limitsSet()
    const sending = cast.workflow.sendMessage(send('go'), callBy())
    // Each attempt sets a limit. The first, the third and the fifth expire.
    await knowsTaskOf(cast, 'again')
    limits[0]?.()
    await knowsTaskOf(cast, 'other')
    limits[2]?.()
    await until(() => limits.length === 5)
    limits[4]?.()
    const task = taskIn(await sending)
    expect(textIn(task.artifacts?.find(({ name }) => name === 'result')?.parts ?? [])).toBe('awake, done, done')
    expect(graphOf(task)?.nodes.map(({ id, attempts }) => `${id} ${attempts}`)).toEqual([
      'again 2',
      'other 2',
      'mute 2',
    ])
    const { tasks } = (await cast.agents.get('Sleeper')?.listTasks({}, callBy())) ?? { tasks: [] }
    expect(tasks.map(({ status }) => status.state).sort()).toEqual([
      'TASK_STATE_CANCELED',
      'TASK_STATE_CANCELED',
      'TASK_STATE_COMPLETED',
    ])
  })

  it('ends a run that exceeds its time limit, and the tasks of its steps', async () => {
    const flow = workflow(
      'Flow',
      async (steps) => {
        await steps.step('sleep', { agent: sleeper, message: 'go' })
      },
      { timeoutMs },
    )
    await using cast = await openWorkflow(flow, [sleeper], kind)
    const limits = limitsSet()
    const sending = cast.workflow.sendMessage(send('go'), callBy())
    await knowsTaskOf(cast, 'sleep')
    limits[0]?.()
    const task = taskIn(await sending)
    expect(textIn(task.status.message?.parts ?? [])).toBe(`The workflow did not finish within ${timeoutMs} ms`)
    expect(graphLines(task)).toEqual(['sleep canceled'])
    const { tasks } = (await cast.agents.get('Sleeper')?.listTasks({}, callBy())) ?? { tasks: [] }
    expect(tasks.map(({ status }) => status.state)).toEqual(['TASK_STATE_CANCELED'])
  })

  it('compensates completed steps in reverse order when it fails', async () => {
    const received: Message[] = []
    const booker = listener('Booker', received)
    const broken = agent('Broken', async function* () {
      yield failed('sold out')
    })
    const flow = workflow('Flow', async (steps) => {
      const undo = (what: string) => () => ({ agent: booker, message: `cancel ${what}` })
      await steps.step('flight', { agent: booker, message: 'flight', compensate: undo('flight') })
      await steps.step('hotel', { agent: booker, message: 'hotel', compensate: undo('hotel') })
      await steps.step('spa', { agent: broken, message: 'spa' })
    })
    await using cast = await openWorkflow(flow, [booker, broken], kind)
    const task = taskIn(await cast.workflow.sendMessage(send('go'), callBy()))
    expect(textIn(task.status.message?.parts ?? [])).toBe('Step spa failed: Broken failed: sold out')
    expect(received.map(wordsOf)).toEqual(['flight', 'hotel', 'cancel hotel', 'cancel flight'])
    expect(graphLines(task).slice(3)).toEqual([
      'undo hotel completed after hotel',
      'undo flight completed after flight',
    ])
  })

  it('compensates completed steps when its checkpoints exceed the limit', async () => {
    const received: Message[] = []
    const booker = listener('Booker', received)
    const flow = workflow('Flow', async (steps) => {
      const undo = (what: string) => () => ({ agent: booker, message: `cancel ${what}` })
      await steps.step('flight', { agent: booker, message: 'flight', compensate: undo('flight') })
      await steps.step('hotel', { agent: booker, message: 'hotel', compensate: undo('hotel') })
      let length = 900_000
      for (let n = 0; length > 1; n++) {
        await steps
          .once(`fill ${n}`, () => 'x'.repeat(length))
          .catch(() => {
            length = Math.floor(length / 2)
          })
      }
      throw new Error('full')
    })
    await using cast = await openWorkflow(flow, [booker], kind)
    const task = taskIn(await cast.workflow.sendMessage(send('go'), callBy()))
    expect(task.status.state).toBe('TASK_STATE_FAILED')
    expect(received.map(wordsOf)).toEqual(['flight', 'hotel', 'cancel hotel', 'cancel flight'])
    expect(graphLines(task).filter((line) => line.startsWith('undo'))).toEqual([
      'undo hotel completed after hotel',
      'undo flight completed after flight',
    ])
  })

  it('does not call a URL that its resolver does not know', async () => {
    await using peer = await serveHttp((_, response) => json(response, {}))
    const asked: unknown[] = []
    const resolve = (name: StepAgentName) => {
      asked.push(name)
      return undefined
    }
    const flow = workflow(
      'Flow',
      async (steps) => void (await steps.step('one', { agent: peer.origin, message: 'a' })),
      {
        resolve,
      },
    )
    await using cast = await openWorkflow(flow, [], kind)
    const task = taskIn(await cast.workflow.sendMessage(send('go'), callBy()))
    expect(textIn(task.status.message?.parts ?? [])).toContain('Agent not found')
    expect(asked).toEqual([peer.origin])
    expect(peer.seen).toEqual([])
  })

  it('hides the text of internal errors from its caller', async () => {
    const flow = workflow('Flow', async () => {
      throw new Error('secret')
    })
    await using cast = await openWorkflow(flow, [], kind)
    const task = taskIn(await cast.workflow.sendMessage(send('go'), callBy()))
    expect(textIn(task.status.message?.parts ?? [])).toBe('The agent failed')
    expect(cast.workflow.logged.join()).toContain('secret')
  })

  it('rejects two steps with the same name', async () => {
    const flow = workflow('Flow', async (steps) => {
      await steps.step('same', { agent: 'OutlineAgent', message: 'a' })
      await steps.step('same', { agent: 'OutlineAgent', message: 'b' })
    })
    await using cast = await openWorkflow(flow, [outliner], kind)
    const task = taskIn(await cast.workflow.sendMessage(send('go'), callBy()))
    expect(task.status.state).toBe('TASK_STATE_FAILED')
    expect(cast.workflow.logged.join()).toContain('Two steps have the name same')
  })

  it('cancels its agents when it is cancelled, whether it runs or waits', async () => {
    const sleeper = agent('Sleeper', async function* ({ signal }) {
      yield working()
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
    })
    const received: Message[] = []
    const booker = listener('Booker', received)
    const flow = workflow('Flow', async (steps) => {
      await steps.step('book', {
        agent: booker,
        message: 'book',
        compensate: () => ({ agent: booker, message: 'undo' }),
      })
      const asleep = [1, 2].map((n) => steps.step(`sleep ${n}`, { agent: sleeper, message: 'go' }))
      if (steps.text === 'ask') await steps.ask('sure', 'Sure?')
      await Promise.all(asleep)
    })
    await using cast = await openWorkflow(flow, [booker, sleeper], kind)
    const states = async () => {
      const { tasks } = (await cast.agents.get('Sleeper')?.listTasks({}, callBy())) ?? { tasks: [] }
      return tasks.map(({ status }) => status.state)
    }
    const running = taskIn(await cast.workflow.sendMessage(send('run', {}, { returnImmediately: true }), callBy()))
    await until(async () => (await states()).filter((state) => state === 'TASK_STATE_WORKING').length === 2)
    const ended = await cast.workflow.cancelTask({ id: running.id }, callBy())
    expect(ended.status.state).toBe('TASK_STATE_CANCELED')
    await until(async () => (await states()).every((state) => state === 'TASK_STATE_CANCELED'))
    await until(() => received.map(wordsOf).join() === 'book,undo')
    const asking = taskIn(await cast.workflow.sendMessage(send('ask'), callBy()))
    expect(asking.status.state).toBe('TASK_STATE_INPUT_REQUIRED')
    await until(async () => (await states()).filter((state) => state === 'TASK_STATE_WORKING').length === 2)
    await cast.workflow.cancelTask({ id: asking.id }, callBy())
    await until(async () => (await states()).every((state) => state === 'TASK_STATE_CANCELED'))
    expect(await states()).toHaveLength(4)
    await until(() => received.map(wordsOf).join() === 'book,undo,book,undo')
  })

  it('is one task for subscribers, which see each change of the graph', async () => {
    const flow = workflow('Flow', async (steps) => {
      await steps.step('outline', { agent: 'OutlineAgent', message: 'a' })
    })
    await using cast = await openWorkflow(flow, [outliner], kind)
    const items = await collect(cast.workflow.sendStreamingMessage(send('go'), callBy()))
    const graphs = items.flatMap(({ event }) =>
      'artifactUpdate' in event && event.artifactUpdate.artifact.artifactId === 'workflow-graph'
        ? graphLines({ artifacts: [event.artifactUpdate.artifact] } as never)
        : [],
    )
    expect(graphs[0]).toBe('outline running')
    expect(graphs.at(-1)).toBe('outline completed')
  })

  it('names the task of a running step', async () => {
    const release = gate()
    const slow = agent('Slow', async function* () {
      yield working()
      await release.opened
    })
    const flow = workflow('Flow', async (steps) => {
      await steps.step('wait', { agent: slow, message: 'go' })
    })
    await using cast = await openWorkflow(flow, [slow], kind)
    const run = taskIn(await cast.workflow.sendMessage(send('go', {}, { returnImmediately: true }), callBy()))
    const nodes = async () => graphOf(await cast.workflow.getTask({ id: run.id }, callBy()))?.nodes ?? []
    await until(async () => (await nodes())[0]?.taskId !== undefined)
    const [node] = await nodes()
    expect(node?.state).toBe('running')
    const child = await cast.agents.get('Slow')?.getTask({ id: node?.taskId ?? '' }, callBy())
    expect(child?.status.state).toBe('TASK_STATE_WORKING')
    release.open()
  })
})

/** Accepts calls and never answers. */
const silent = fromGeneric({
  unary: () => new Promise(() => undefined),
  async *streaming(_operation, _request, { signal }) {
    await new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
  },
})

function wordsOf({ parts }: Message): string {
  return textIn(parts)
}
