/**
 * The document workflow and its agents in separate processes, each on its own database. They find each other through a
 * registry. Any process is killed at any time; each run finishes once and repeats no finished step.
 *
 * `DRAGOMAN_CRASH_SEED` repeats the kills of a failure; the position inside the processes still varies.
 */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { graphOf } from 'dragoman/orchestrator'
import { type ServedRegistry, serveRegistry } from 'dragoman/registry'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Task } from '../../src/index.js'
import { eventually } from '../hostile/waiting.js'
import { type AgentProcess, startAgent } from './agent-process.js'
import { call, newMessage, result } from './calls.js'
import { freePort } from './hostile-agent.js'
import { seeded } from './seeded.js'
import { type TemporaryFolder, temporaryFolder } from './server-process.js'

const rounds = 30
const maxRoundMs = 45_000
const programs = [
  { name: 'outline', folder: 'agents' },
  { name: 'doc', folder: 'agents' },
  { name: 'summary', folder: 'agents' },
  { name: 'document', folder: 'workflows' },
] as const
type Program = (typeof programs)[number]

let folder: TemporaryFolder
let registry: ServedRegistry
const running = new Set<AgentProcess>()

beforeEach(async () => {
  folder = await temporaryFolder()
  registry = await serveRegistry({ allowPrivate: true, probes: false })
})

afterEach(async () => {
  await Promise.all([...running].map((each) => each[Symbol.asyncDispose]()))
  running.clear()
  await registry.close()
  await folder[Symbol.asyncDispose]()
})

async function start(
  program: Program,
  port: number,
  { store = program.name as string, paceMs = 15 } = {},
): Promise<AgentProcess> {
  const args = ['--registry', registry.url, '--store', `sqlite:${join(folder.path, `${store}.sqlite`)}`]
  const env = { DRAGOMAN_PACE_MS: String(paceMs) }
  const made = await startAgent(program.name, { folder: program.folder, port, args, env })
  running.add(made)
  return made
}

async function kill(victim: AgentProcess): Promise<void> {
  await victim[Symbol.asyncDispose]()
  running.delete(victim)
}

async function startRun(url: string, text: string): Promise<Task> {
  const params = { message: newMessage(text), configuration: { returnImmediately: true } }
  const { result: answer } = await call(url, 'SendMessage', params, { 'idempotency-key': encodeURIComponent(text) })
  return (answer as { readonly task: Task }).task
}

async function endOf(url: string, id: string): Promise<Task> {
  return await eventually(maxRoundMs, 'the end of the run', async () => {
    const now = await result<Task>(url, 'GetTask', { id })
    return /COMPLETED|FAILED|CANCELED|REJECTED/.test(now.status.state) && now
  })
}

/** Task ids begin with their creation time. */
function createdAt(id: string): number {
  return Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16)
}

async function assertDoneOnce(task: Task, urls: readonly string[]): Promise<void> {
  const graph = graphOf(task)
  assert.equal(task.status.state, 'TASK_STATE_COMPLETED', JSON.stringify({ status: task.status, graph }))
  expect(graph?.nodes.map(({ id, state }) => `${id} ${state}`)).toEqual([
    'outline completed',
    'document completed',
    'summary completed',
  ])
  // A step may have begun twice; the task shows one artifact for each step.
  const names = task.artifacts?.map(({ name }) => name).filter((name) => name !== 'workflow-graph')
  expect(names?.sort()).toEqual(['document', 'outline', 'summary'])
  for (const [place, url] of urls.entries()) {
    const node = graph?.nodes[place]
    const { tasks } = await result<{ tasks: Task[] }>(url, 'ListTasks', { contextId: task.contextId })
    assert.equal(tasks.find(({ id }) => id === node?.taskId)?.status.state, 'TASK_STATE_COMPLETED', node?.id)
    const begunAfterEnd = tasks.filter(({ id }) => createdAt(id) > Date.parse(node?.endedAt ?? ''))
    assert.deepEqual(begunAfterEnd, [], `${node?.id} began again after its end`)
  }
}

describe('the document workflow', () => {
  it('finishes each run once, whichever process is killed', { timeout: 300_000 }, async () => {
    const seed = Number(process.env.DRAGOMAN_CRASH_SEED ?? Date.now() % 2 ** 31)
    const random = seeded(seed)
    const ports = await Promise.all(programs.map(() => freePort()))
    const portOf = (place: number) => ports[place] ?? 0
    const servers = await Promise.all(programs.map((program, place) => start(program, portOf(place))))
    const urlOf = (place: number) => `${servers[place]?.url}/`
    for (let round = 1; round <= rounds; round++) {
      try {
        const { id, contextId } = await startRun(urlOf(3), `茉莉花茶 ${round}`)
        await new Promise((resolve) => setTimeout(resolve, random() * 250))
        const place = Math.floor(random() * programs.length)
        const victim = servers[place]
        const program = programs[place]
        assert.ok(victim && program)
        await kill(victim)
        servers[place] = await start(program, portOf(place))
        await assertDoneOnce(await endOf(urlOf(3), id), [0, 1, 2].map(urlOf))
        const { totalSize } = await result<{ totalSize: number }>(urlOf(3), 'ListTasks', { contextId })
        assert.equal(totalSize, 1)
      } catch (error) {
        throw new Error(`In round ${round} of seed ${seed}`, { cause: error })
      }
    }
  })

  it('continues on another instance if one does not come back', async () => {
    const [outline, doc, summary, document] = programs
    const writers = [
      await start(doc, 0, { store: 'doc-a', paceMs: 300 }),
      await start(doc, 0, { store: 'doc-b', paceMs: 300 }),
    ]
    const [flow] = await Promise.all([start(document, 0), start(outline, 0), start(summary, 0)])
    const url = `${flow.url}/`
    await eventually(10_000, 'both writers to be published', async () => {
      const found = await fetch(`${registry.url}/v1/agents/public/DocAgent`)
      return found.ok && ((await found.json()) as { instances: unknown[] }).instances.length === 2
    })
    const { id } = await startRun(url, '茉莉花茶')
    const [victim, remaining] = await eventually(10_000, 'a writer to begin', async () => {
      const counts = await Promise.all(
        writers.map(async (each) => (await result<{ totalSize: number }>(`${each.url}/`, 'ListTasks', {})).totalSize),
      )
      return counts.includes(1) && (counts[0] === 1 ? writers : [...writers].reverse())
    })
    assert.ok(victim && remaining)
    await kill(victim)
    const ended = await endOf(url, id)
    expect(ended.status.state).toBe('TASK_STATE_COMPLETED')
    const written = graphOf(ended)?.nodes.find((node) => node.id === 'document')
    expect(written).toMatchObject({ state: 'completed', attempts: 2 })
    expect(await result<Task>(`${remaining.url}/`, 'GetTask', { id: written?.taskId })).toMatchObject({
      status: { state: 'TASK_STATE_COMPLETED' },
    })
  })
})
