/**
 * A process whose server has closed ends by itself, in every state that a workflow can be in. The workflows wait for 30 s
 * or longer; the time between the end of `close()` and the exit is measured by the process itself.
 */
import { spawn } from 'node:child_process'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { builtLibrary } from './server-process.js'

const orchestrator = new URL('orchestrator/index.js', builtLibrary).href

/** Each program leaves the workflow in one state. `until` is the condition at which the program closes the server. */
const states = {
  'in a step': { body: "await flow.step('a', { ...worker, timeoutMs: 30_000 })" },
  'in parallel steps': {
    body: `await Promise.all([
      flow.step('a', { ...worker, timeoutMs: 30_000 }),
      flow.step('b', { ...worker, timeoutMs: 40_000, retry: { attempts: 3 } }),
    ])`,
  },
  'in steps for each item': {
    body: "await flow.each('a', [1, 2, 3], () => ({ ...worker, timeoutMs: 30_000 }), { concurrency: 2 })",
  },
  'in a step that the function does not await': { body: "flow.step('a', { ...worker, timeoutMs: 30_000 })" },
  'in a fallback': {
    body: "await flow.step('a', { agent: 'Broken', message: 'x', fallback: 'Worker', timeoutMs: 30_000 })",
  },
  'in the delay before a retry': {
    body: "await flow.step('a', { agent: 'Broken', message: 'x', retry: { attempts: 3, delayMs: 30_000 } })",
    until: 'broken',
  },
  'in a step whose agent does not answer': {
    body: "await flow.step('a', { agent: silent, message: 'x', timeoutMs: 30_000, retryBudgetMs: 60_000 })",
    until: 'silent',
  },
  'in a step whose agent cannot be reached': {
    body: "await flow.step('a', { agent: 'http://127.0.0.1:1', message: 'x', timeoutMs: 30_000, retryBudgetMs: 60_000 })",
    until: 'begun',
  },
  'in a resolver that does not answer': {
    body: "await flow.step('a', { agent: 'Unknown', message: 'x', timeoutMs: 30_000 })",
    options: '{ resolve: () => { reached(); return new Promise(() => undefined) } }',
  },
  'under a time limit for the run': { body: "await flow.step('a', worker)", options: '{ timeoutMs: 30_000 }' },
  'under a time limit for the run, in its own code': {
    body: 'reached(); await new Promise(() => undefined)',
    options: '{ timeoutMs: 30_000 }',
  },
  'after a question': { body: "await flow.ask('q', 'Which one?')", until: 'asked', options: '{ timeoutMs: 30_000 }' },
  'after a question, in a step': {
    body: `await Promise.all([
      flow.step('a', { ...worker, timeoutMs: 30_000 }),
      flow.ask('q', 'Which one?'),
    ])`,
    until: 'asked',
  },
  'after one of two questions': {
    body: `await Promise.all([
      flow.step('a', { agent: 'Asking', message: 'x', timeoutMs: 30_000 }),
      flow.step('b', { agent: 'Asking', message: 'x', timeoutMs: 30_000 }),
    ])`,
    until: 'asked',
  },
  'in an undo step': {
    body: `const undo = () => ({ agent: 'Worker', message: 'undo' })
    await flow.step('a', { agent: 'Quick', message: 'x', compensate: undo })
    await Promise.all([
      flow.step('b', { agent: 'Broken', message: 'x' }),
      flow.step('c', { agent: 'Worker', message: 'x', timeoutMs: 30_000 }),
    ])`,
    until: 'undoing',
  },
  'after a failure, in the delay before a retry': {
    body: `const undo = () => ({ agent: 'Worker', message: 'undo' })
    await flow.step('a', { agent: 'Quick', message: 'x', compensate: undo })
    flow.step('b', { agent: 'Broken', message: 'x', retry: { attempts: 3, delayMs: 30_000 } })
    throw new Error('The function failed')`,
    until: 'undoing',
  },
  'after a cancel': { body: "await flow.step('a', { ...worker, timeoutMs: 30_000 })", until: 'canceled' },
} satisfies Readonly<Record<string, { readonly body: string; readonly until?: string; readonly options?: string }>>

interface State {
  readonly body: string
  readonly until?: string
  readonly options?: string
}

function program({ body, until = 'reached', options = '{}' }: State, silent: string): string {
  return `
  import { setTimeout as delay } from 'node:timers/promises'
  import { agent, ask, serve, working } from ${JSON.stringify(builtLibrary)}
  import { workflow } from ${JSON.stringify(orchestrator)}

  const silent = ${JSON.stringify(silent)}
  const worker = { agent: 'Worker', message: 'x' }
  const seen = new Set(['begun'])
  const reached = () => seen.add('reached')
  const agents = [
    agent('Worker', async function* ({ text, signal }) {
      yield working()
      seen.add(text === 'undo' ? 'undoing' : 'reached')
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
    }),
    agent('Quick', async function* () {
      yield 'done'
    }),
    agent('Broken', async function* () {
      seen.add('broken')
      throw new Error('broken')
    }),
    agent('Asking', async function* () {
      yield ask('Which one?')
    }),
  ]
  const flow = workflow('Flow', async (flow) => {
    ${body}
  }, ${options})
  const served = await serve([flow, ...agents], { port: 0, log: false })
  const call = async (method, params) => {
    const response = await fetch(served.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'a2a-version': '1.0', connection: 'close' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    })
    const { result, error } = await response.json()
    if (error) throw new Error(JSON.stringify(error))
    return result
  }
  const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'go' }] }
  const { task } = await call('SendMessage', { message, configuration: { returnImmediately: true } })
  const until = ${JSON.stringify(until)}
  const is = async (state) => (await call('GetTask', { id: task.id })).status.state === 'TASK_STATE_' + state
  if (until === 'silent') await fetch(silent + '/called')
  else if (until === 'asked') while (!(await is('INPUT_REQUIRED'))) await delay(5)
  else if (until === 'canceled') {
    while (!seen.has('reached')) await delay(5)
    await call('CancelTask', { id: task.id })
  } else while (!seen.has(until)) await delay(5)
  // Turns go on until the deadline, and so reach the state in which they wait.
  await served.close({ deadlineMs: 300 })
  const closedAt = performance.now()
  process.on('exit', () => console.log(JSON.stringify({ afterMs: performance.now() - closedAt })))
  `
}

/** Less than any time limit above, and more than a busy machine needs. */
const maxMs = 8_000

describe('a process whose server has closed', () => {
  const waitingForCall: (() => void)[] = []
  /** Accepts calls and answers none, except `/called`, once another call has come. */
  let isCalled = false
  const silent = createServer((request, response) => {
    if (request.url === '/called') {
      const answer = () => response.end()
      if (isCalled) answer()
      else waitingForCall.push(answer)
      return
    }
    isCalled = true
    for (const answer of waitingForCall.splice(0)) answer()
  })

  beforeAll(async () => {
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
  })
  afterAll(async () => {
    silent.closeAllConnections()
    await new Promise((resolve) => silent.close(resolve))
  })

  it.concurrent.each(Object.entries<State>(states))('ends when its workflow is %s', async (_, state) => {
    const { port } = silent.address() as AddressInfo
    const { stdout, stderr } = await run(program(state, `http://127.0.0.1:${port}`))
    expect(stderr).toBe('')
    expect((JSON.parse(stdout) as { readonly afterMs: number }).afterMs).toBeLessThan(maxMs)
  })
})

async function run(source: string): Promise<{ readonly stdout: string; readonly stderr: string }> {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', source], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let [stdout, stderr] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  await new Promise((resolve) => child.once('close', resolve))
  return { stdout, stderr }
}
