/** Starts a built example agent in a separate process (`node dist/examples/agents/NAME.js`), on a free or a given port. */
import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { eventually } from '../hostile/waiting.js'

const root = fileURLToPath(new URL('../../', import.meta.url))

export interface AgentProcess extends AsyncDisposable {
  readonly url: string
  readonly stderr: () => string
  readonly ended: Promise<number | null>
  signal(signal: NodeJS.Signals): void
}

export interface AgentProcessOptions {
  readonly args?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** The folder below `examples`. Default: `agents`. */
  readonly folder?: string
  readonly port?: number
  /** The folder in which the agent stores its files. Default: that of the repository. */
  readonly cwd?: string
}

export async function startAgent(
  name: string,
  { args = [], env = {}, folder = 'agents', port = 0, cwd = root }: AgentProcessOptions = {},
): Promise<AgentProcess> {
  const child: ChildProcess = spawn(
    process.execPath,
    [join(root, `dist/examples/${folder}/${name}.js`), '--port', String(port), ...args],
    {
      cwd,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, NO_COLOR: '1', ...env },
    },
  )
  let stdout = ''
  let stderr = ''
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
  })
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  const ended = new Promise<number | null>((resolve) => child.once('close', (code) => resolve(code)))
  const stop = async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
    await ended
  }
  try {
    const url = await eventually(20_000, `${name} to be ready`, () => {
      if (child.exitCode !== null) throw new Error(`${name} ended before it was ready: ${stdout}${stderr}`)
      return / is ready at (http:\S+)\n/.exec(stdout)?.[1]
    })
    return {
      url: url.replace(/\/$/, ''),
      stderr: () => stderr,
      ended,
      signal: (signal) => child.kill(signal),
      [Symbol.asyncDispose]: stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}

export interface Exchange {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The body if it is JSON. */
  readonly body: unknown
}

export async function post(
  url: string,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<Exchange> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
    signal: AbortSignal.timeout(20_000),
  })
  const text = await response.text()
  const isJson = response.headers.get('content-type')?.includes('json') === true
  return { status: response.status, headers: response.headers, text, body: isJson ? JSON.parse(text) : undefined }
}

/**
 * Reads a stream as a plain line reader does: skips lines that do not begin with `data: `, and every other line
 * is a whole event.
 */
export function dataLines(text: string): string[] {
  return text.split('\n').flatMap((line) => (line.startsWith('data: ') ? [line.slice('data: '.length)] : []))
}
