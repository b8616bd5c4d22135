/** `dragoman serve`: logs as JSON and as text, and metrics. */
import { describe, expect, it } from 'vitest'
import { eventually, within } from '../hostile/waiting.js'
import { sendTask } from './calls.js'
import { startProcess, startServer } from './server-process.js'

interface Line {
  readonly level: string
  readonly time: string
  readonly msg: string
  readonly url?: string
  readonly taskId?: string
  readonly dialect?: string
  readonly error?: { readonly message: string; readonly stack: string }
}

/** All complete lines. */
function linesOf(stdout: string): readonly Line[] {
  return stdout
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Line)
}

const startQuiet = (...args: readonly string[]) => startProcess(['serve', '--echo', '--port', '0', ...args])

describe('dragoman serve, into a pipe', () => {
  it('writes every line as a JSON object', async () => {
    await using server = await startQuiet()
    const [ready] = linesOf(server.stdout)
    expect(ready).toMatchObject({ level: 'info', agent: 'Echo', msg: `Echo is ready at ${ready?.url}` })
    const { id } = await sendTask(ready?.url ?? '', 'crash')
    const fault = await eventually(5000, 'the fault', () =>
      linesOf(server.stdout).find(({ level }) => level === 'error'),
    )
    expect(fault).toMatchObject({ msg: 'The agent threw', taskId: id, error: { message: 'Crashed as asked' } })
    expect(Number.isNaN(Date.parse(fault.time))).toBe(false)
    server.signal('SIGTERM')
    const { code, stdout, stderr } = await within(15_000, 'the end', server.exit)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(linesOf(stdout).map(({ msg }) => msg)).toEqual([
      ready?.msg,
      'The agent threw',
      'Draining: new calls are rejected',
      'Closed',
    ])
  })

  it('logs every call with --verbose', async () => {
    await using server = await startQuiet('--verbose')
    await sendTask(linesOf(server.stdout)[0]?.url ?? '', 'hello')
    const call = await eventually(5000, 'the call', () => linesOf(server.stdout).find(({ level }) => level === 'debug'))
    expect(call).toMatchObject({ msg: 'sendMessage over JSONRPC', agent: 'Echo', dialect: 'v1' })
  })
})

describe('dragoman serve --log text', () => {
  it('logs errors as text on stderr, with their task', async () => {
    await using server = await startServer()
    const { id } = await sendTask(server.url, 'crash')
    await eventually(5000, 'the fault', () => server.stderr.includes('Crashed as asked'))
    expect(server.stderr).toMatch(new RegExp(`^error: The agent threw task ${id}\nError: Crashed as asked\n +at `))
    expect(server.stdout).toMatch(/^Echo is ready at /)
  })
})

describe('dragoman serve --metrics', () => {
  it('serves them on a separate port', async () => {
    await using server = await startServer(['--echo', '--api-key', 'secret', '--metrics', '0'])
    const [, url = ''] = /metrics +GET +(\S+)/.exec(server.stdout) ?? []
    expect(await (await fetch(url)).text()).toContain('dragoman_tasks_running{agent="Echo"} 0')
  })

  it('shows them to callers on the agent’s port', async () => {
    await using server = await startServer(['--echo', '--metrics', '--api-key', 'secret'])
    const url = new URL('/metrics', server.url)
    expect((await fetch(url)).status).toBe(401)
    expect((await fetch(url, { headers: { 'x-api-key': 'secret' } })).status).toBe(200)
  })
})
