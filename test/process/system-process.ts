/** Starts the demonstration system as `npm start` does, in a separate folder and on free ports. */
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { eventually } from '../hostile/waiting.js'

const script = fileURLToPath(new URL('../../scripts/start.mjs', import.meta.url))

export interface SystemProcess extends AsyncDisposable {
  /** Has no trailing slash. */
  urlOf(name: string): string
  readonly stdout: string
  readonly ended: Promise<number | null>
  signal(signal: NodeJS.Signals): void
}

/** Resolves when the system is ready. Rejects if the process exits before. */
export async function startSystem(
  cwd: string,
  args: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Promise<SystemProcess> {
  const child = spawn(process.execPath, [script, ...args], {
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, NO_COLOR: '1', ...env },
  })
  let [stdout, stderr] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  const ended = new Promise<number | null>((resolve) => child.once('close', (code) => resolve(code)))
  const stop = async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
    await ended
  }
  try {
    await eventually(60_000, 'the system to be ready', () => {
      if (child.exitCode !== null)
        throw new Error(`The system ended with ${child.exitCode} before it was ready: ${stderr}`)
      return stdout.includes('Ctrl-C')
    })
  } catch (error) {
    await stop()
    throw error
  }
  return {
    urlOf(name) {
      const [, url] = new RegExp(`^ {2}${name} +(\\S+?)/?$`, 'm').exec(stdout) ?? []
      if (url === undefined) throw new Error(`${name} is not in the table: ${stdout}`)
      return url
    },
    get stdout() {
      return stdout
    },
    ended,
    signal: (signal) => child.kill(signal),
    [Symbol.asyncDispose]: stop,
  }
}
