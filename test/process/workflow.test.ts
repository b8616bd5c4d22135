/**
 * A workflow and three agents in separate processes, each on its own database. Any process is killed at any time; each
 * run finishes once and repeats no finished step.
 *
 * `DRAGOMAN_CRASH_SEED` repeats the kills of a failure; the position inside the processes still varies.
 */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { graphOf } from 'dragoman/orchestrator'
import { describe, expect, it } from 'vitest'
import type { Task } from '../../src/index.js'
import { eventually } from '../hostile/waiting.js'
import { call, newMessage, result } from './calls.js'
import { freePort } from './hostile-agent.js'
import { seeded } from './seeded.js'
import { builtLibrary, type ServerProcess, startServer, temporaryFolder } from './server-process.js'

/** Two sets of processes run concurrently, because each one spends most of its time on its start. */
const sets = 2
const rounds = 15
const maxRoundMs = 45_000
const orchestrator = new URL('orchestrator/index.js', builtLibrary).href
const client = new URL('client/index.js', builtLibrary).href

/** An agent that logs the begin and end of its work. `onCrash` decides whether the agent or the workflow retries. */
const workerModule = (name: string, log: string, onCrash: string) => `
  import { appendFileSync } from 'node:fs'
  import { agent } from ${JSON.stringify(builtLibrary)}
  export default agent({ name: ${JSON.stringify(name)}, onCrash: ${onCrash} }, async function* ({ text, task }) {
    const note = (what) => appendFileSync(${JSON.stringify(log)}, JSON.stringify({ what, text, task: task.id, at: Date.now() }) + '\\n')
    note('begin')
    for (let piece = 1; piece <= 4; piece++) {
      await new Promise((resolve) => setTimeout(resolve, 5 + Math.random() * 25))
      yield 'piece ' + piece + ' '
    }
    note('end')
    yield 'of ' + text
  })`

const workflowModule = (ports: readonly number[]) => `
  import { connectAgents } from ${JSON.stringify(client)}
  import { workflow } from ${JSON.stringify(orchestrator)}
  const [a, b, c] = ${JSON.stringify(ports)}.map((port) => 'http://127.0.0.1:' + port)
  export default workflow('Chain', async (flow) => {
    const retry = { attempts: 10 }
    const said = (step) => flow.text + ' ' + step
    const outline = await flow.step('outline', { agent: 'A', message: said('outline'), retry })
    const [left, right] = await Promise.all([
      flow.step('left', { agent: 'B', message: said('left'), after: [outline], retry }),
      flow.step('right', { agent: 'C', message: said('right'), after: [outline], retry }),
    ])
    const parts = await flow.each('part', [1, 2, 3], (n) => ({ agent: 'ABC'[n - 1], message: said('part ' + n), after: [left, right], retry }))
    return await flow.step('summary', { agent: 'A', message: said('summary'), after: parts, retry })
  }, { resolve: connectAgents({ A: a, B: b, C: c }, { retry: { attempts: 2, firstDelayMs: 20 } }) })`

const steps = ['outline', 'left', 'right', 'part[1]', 'part[2]', 'part[3]', 'summary']

interface Work {
  readonly what: 'begin' | 'end'
  readonly text: string
  readonly task: string
  readonly at: number
}

describe('a workflow whose processes are killed', () => {
  it('finishes each run once, and repeats no finished step', { timeout: 600_000 }, async () => {
    const seed = Number(process.env.DRAGOMAN_CRASH_SEED ?? Date.now() % 2 ** 31)
    await Promise.all(Array.from({ length: sets }, (_, index) => killAndFinish(seed + index)))
  })
})

async function killAndFinish(seed: number): Promise<void> {
  const random = seeded(seed)
  await using folder = await temporaryFolder()
  const log = join(folder.path, 'work.jsonl')
  const ports = [await freePort(), await freePort(), await freePort(), await freePort()]
  const modules = await writeModules(folder.path, log, ports)
  const start = (index: number) =>
    startServer([modules[index] ?? '', '--store', `sqlite:${join(folder.path, `${index}.sqlite`)}`], {
      port: ports[index] ?? 0,
    })
  const servers: ServerProcess[] = []
  await using _all = { [Symbol.asyncDispose]: () => killAll(servers) }
  for (const index of ports.keys()) servers[index] = await start(index)
  let killed = 0
  for (let round = 1; round <= rounds; round++) {
    try {
      const url = servers[3]?.url ?? ''
      const text = `run ${round}`
      const task = await startRun(url, text)
      const kills = 1 + Math.floor(random() * 3)
      for (let kill = 0; kill < kills; kill++) {
        await new Promise((resolve) => setTimeout(resolve, random() * 300))
        const index = Math.floor(random() * 4)
        await servers[index]?.kill()
        servers[index] = await start(index)
        killed += 1
      }
      const ended = await eventually(maxRoundMs, `the end of ${text}`, async () => {
        const now = await result<Task>(url, 'GetTask', { id: task.id })
        return /COMPLETED|FAILED|CANCELED|REJECTED/.test(now.status.state) && now
      })
      await assertDoneOnce(ended, text, log)
      const { totalSize } = await result<{ totalSize: number }>(url, 'ListTasks', { contextId: task.contextId })
      assert.equal(totalSize, 1)
    } catch (error) {
      throw new Error(`In round ${round} of seed ${seed}`, { cause: error })
    }
  }
  assert.ok(killed >= rounds)
}

async function writeModules(folder: string, log: string, ports: readonly number[]): Promise<readonly string[]> {
  const sources = [
    workerModule('A', log, '{ attempts: 100 }'),
    workerModule('B', log, "'fail'"),
    workerModule('C', log, '{ attempts: 100 }'),
    workflowModule(ports.slice(0, 3)),
  ]
  return await Promise.all(
    sources.map(async (source, index) => {
      const path = join(folder, `${index}.mjs`)
      await writeFile(path, source)
      return path
    }),
  )
}

async function startRun(url: string, text: string): Promise<Task> {
  const params = { message: newMessage(text), configuration: { returnImmediately: true } }
  const { result: answer } = await call(url, 'SendMessage', params, { 'idempotency-key': text })
  return (answer as { readonly task: Task }).task
}

async function assertDoneOnce(task: Task, text: string, log: string): Promise<void> {
  const graph = graphOf(task)
  assert.equal(task.status.state, 'TASK_STATE_COMPLETED', JSON.stringify({ status: task.status, graph }))
  expect(graph?.nodes.map(({ id, state }) => `${id} ${state}`).sort()).toEqual(
    steps.map((step) => `${step} completed`).sort(),
  )
  const result = task.artifacts?.find(({ artifactId }) => artifactId === 'result')
  const said = result?.parts.map((part) => ('text' in part ? part.text : '')).join('')
  assert.equal(said, `piece 1 piece 2 piece 3 piece 4 of ${text} summary`)
  const work = existsSync(log) ? await readFile(log, 'utf8') : ''
  const entries = work
    .split('\n')
    .filter((line) => line.endsWith('}'))
    .map((line) => JSON.parse(line) as Work)
    .filter((entry) => entry.text.startsWith(`${text} `))
  for (const { id, endedAt, taskId } of graph?.nodes ?? []) {
    const own = entries.filter((entry) => entry.text === `${text} ${id.replace(/\[(\d)\]/, ' $1')}`)
    assert.ok(
      own.some(({ what, task: by }) => what === 'end' && by === taskId),
      `${id} has ended`,
    )
    const begunAfterEnd = own.filter(({ what, at }) => what === 'begin' && at > Date.parse(endedAt ?? ''))
    assert.deepEqual(begunAfterEnd, [], `${id} began again after its end`)
  }
}

async function killAll(servers: readonly ServerProcess[]): Promise<void> {
  await Promise.all(servers.map((server) => server[Symbol.asyncDispose]()))
}
