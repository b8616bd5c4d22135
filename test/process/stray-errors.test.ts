/** Unhandled errors of one agent fail its task; the other agents of the process continue. */
import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type AgentClient, connect, type Task } from 'dragoman/client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { eventually, within } from '../hostile/waiting.js'
import {
  builtLibrary,
  type ServerProcess,
  startServer,
  type TemporaryFolder,
  temporaryFolder,
} from './server-process.js'

const module = `
  import { agent, working } from ${JSON.stringify(builtLibrary)}
  const jobs = []
  setInterval(() => jobs.shift()?.(), 5)
  const secret = () => new Error('secret')
  const stray = agent('Stray', async function* (turn) {
    const { text, signal } = turn
    yield working()
    if (text === 'call') void turn.call('Nobody', 'x')
    if (text === 'checkpoint') void turn.checkpoint('', 1)
    if (text === 'call' || text === 'checkpoint') return
    if (text === 'rejection') Promise.reject(secret())
    if (text === 'rejection in a timer') setTimeout(async () => { throw secret() }, 1)
    if (text === 'exception in a timer') setTimeout(() => { throw secret() }, 1)
    if (text === 'abort listener') signal.addEventListener('abort', () => { throw secret() })
    if (text === 'rejection outside') jobs.push(() => void Promise.reject(secret()))
    if (text === 'exception outside') jobs.push(() => { throw secret() })
    if (text === 'late') {
      setTimeout(async () => { throw secret() }, 50)
      return
    }
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
  })
  const calm = agent('Calm', async function* ({ text }) { yield text })
  export default [stray, calm]`

let folder: TemporaryFolder
let path: string

beforeAll(async () => {
  folder = await temporaryFolder()
  path = join(folder.path, 'agents.mjs')
  await writeFile(path, module)
})

afterAll(async () => {
  await folder[Symbol.asyncDispose]()
})

interface RunningAgents extends AsyncDisposable {
  readonly server: ServerProcess
  readonly stray: AgentClient
  readonly calm: AgentClient
}

async function start(): Promise<RunningAgents> {
  const server = await startServer([path])
  const stray = await connect(new URL('/stray/', server.url).href)
  const calm = await connect(new URL('/calm/', server.url).href)
  return {
    server,
    stray,
    calm,
    async [Symbol.asyncDispose]() {
      await Promise.all([stray.close(), calm.close()])
      await server[Symbol.asyncDispose]()
    },
  }
}

async function begin(client: AgentClient, text: string): Promise<Task> {
  const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text }] } as const
  const answer = await client.sendMessage({ message, configuration: { returnImmediately: true } })
  if ('task' in answer) return answer.task
  throw new Error('There is no task')
}

describe('an unhandled error', () => {
  it('fails only the task whose handler caused it, with a neutral message', async () => {
    await using agents = await start()
    const { server, stray, calm } = agents
    for (const text of ['rejection', 'rejection in a timer', 'exception in a timer']) {
      const { task } = await within(10_000, text, stray.ask(text))
      expect({ text, state: task?.status.state }).toEqual({ text, state: 'TASK_STATE_FAILED' })
      expect(task?.status.message?.parts).toEqual([{ text: 'The agent failed' }])
      await eventually(5000, 'the log', () => server.stderr.includes(`Unhandled error in the handler task ${task?.id}`))
      expect((await calm.ask(text)).text).toBe(text)
    }
    for (const text of ['call', 'checkpoint']) expect((await stray.ask(text)).state).toBe('TASK_STATE_COMPLETED')
    const { id } = await begin(stray, 'abort listener')
    expect((await stray.task(id).cancel()).status.state).toBe('TASK_STATE_CANCELED')
    await eventually(5000, 'the log', () => server.stderr.includes(`Unhandled error in the handler task ${id}`))
    const { task: late } = await stray.ask('late')
    expect(late?.status.state).toBe('TASK_STATE_COMPLETED')
    await eventually(5000, 'the log', () => server.stderr.includes(`Unhandled error in the handler task ${late?.id}`))
    expect((await calm.ask('still here')).text).toBe('still here')
    expect(server.hasExited).toBe(false)
  })

  it('outside a task is logged if it is a rejection, and ends the process if it is an exception', async () => {
    await using agents = await start()
    const { server, stray, calm } = agents
    await begin(stray, 'rejection outside')
    await eventually(5000, 'the log', () => server.stderr.includes('A promise was rejected and nothing handled it'))
    expect((await calm.ask('still here')).text).toBe('still here')
    await begin(stray, 'exception outside')
    const { code, stderr } = await within(10_000, 'the end of the process', server.exit)
    expect(code).toBe(1)
    expect(stderr).toContain('An exception was thrown and nothing caught it')
  })

  it('is left to the listeners of the application; the server removes its own listeners', async () => {
    const script = `
      import { agent, serve } from ${JSON.stringify(builtLibrary)}
      const events = ['unhandledRejection', 'uncaughtException']
      const counts = () => events.map((event) => process.listenerCount(event)).join()
      const echo = (name) => agent(name, async function* ({ text }) { yield text })
      const seen = [counts()]
      const one = await serve(echo('One'))
      const two = await serve(echo('Two'))
      seen.push(counts())
      await one.close()
      seen.push(counts())
      await two.close()
      seen.push(counts())
      process.on('unhandledRejection', () => undefined)
      const three = await serve(echo('Three'))
      seen.push(counts())
      await three.close()
      seen.push(counts())
      process.removeAllListeners('unhandledRejection')
      const onDrained = async () => { throw new Error('not drained') }
      const four = await serve({ ...echo('Four'), onDrained })
      await four.close().catch(({ message }) => seen.push(message))
      seen.push(counts())
      console.log(seen.join(' '))`
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script])
    expect(stdout.trim()).toBe('0,0 1,1 1,1 0,0 1,1 1,0 not drained 0,0')
  })

  it('outside a task goes to the log of every server, and to stderr if no server has a log', async () => {
    const script = `
      import { agent, serve } from ${JSON.stringify(builtLibrary)}
      const echo = (name) => agent(name, async function* ({ text }) { yield text })
      const seen = []
      const logOf = (name) => ({ log: ({ level, error }) => level === 'error' && seen.push(name + ': ' + error.message) })
      const reject = async (message) => {
        void Promise.reject(new Error(message))
        await new Promise((resolve) => setImmediate(resolve))
      }
      const silent = await serve(echo('Silent'), { log: false })
      await reject('first')
      const others = [await serve(echo('One'), logOf('one')), await serve(echo('Two'), logOf('two'))]
      await reject('second')
      console.log(seen.join())
      for (const served of [silent, ...others]) await served.close()`
    const { stdout, stderr } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script])
    expect(stdout.trim()).toBe('one: second,two: second')
    expect(stderr).toContain('A promise was rejected and nothing handled it: Error: first')
    expect(stderr).not.toContain('second')
  })
})
