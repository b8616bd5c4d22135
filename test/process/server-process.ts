/** Runs the built command in a separate process, on a free port. The process is killed at the end of the test. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { eventually, within } from '../hostile/waiting.js'

const root = fileURLToPath(new URL('../../', import.meta.url))
const command = join(root, 'bin/dragoman.js')
/** The URL of the built library, for modules that tests write. */
export const builtLibrary = new URL('../../dist/index.js', import.meta.url).href

export interface Exit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}

export interface ProcessOptions {
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
}

/** A run of the command: `dragoman serve …`. */
export class CommandRun implements AsyncDisposable {
  stdout = ''
  stderr = ''
  readonly exit: Promise<Exit>
  readonly #child: ChildProcess

  constructor(args: readonly string[], options: ProcessOptions = {}) {
    assert.ok(
      existsSync(join(root, 'dist/cli/main.js')),
      'These tests run the built command: run `npm run build` first',
    )
    const { FORCE_COLOR: _, ...env } = process.env
    this.#child = spawn(process.execPath, [command, ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...env, NO_COLOR: '1', ...options.env },
      ...(options.cwd !== undefined && { cwd: options.cwd }),
    })
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.stdout += text
    })
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text
    })
    this.exit = new Promise((resolve, reject) => {
      this.#child.once('error', reject)
      this.#child.once('close', (code, signal) => resolve({ code, signal, stdout: this.stdout, stderr: this.stderr }))
    })
  }

  get hasExited(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }

  /** Resolves when the process has exited. */
  async kill(): Promise<void> {
    this.signal('SIGKILL')
    await this.exit
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.hasExited) this.signal('SIGKILL')
    await this.exit.catch(() => undefined)
  }
}

export class ServerProcess extends CommandRun {
  url = ''
}

/** Runs the command to its end. */
export async function runCommand(args: readonly string[], options: { readonly cwd?: string } = {}): Promise<Exit> {
  await using run = new CommandRun(args, options)
  return await within(15_000, `\`dragoman ${args.join(' ')}\` to end`, run.exit)
}

/** Starts `dragoman serve` on the given or a free port. Resolves when the server is ready. */
export function startServer(
  args: readonly string[] = ['--echo'],
  { port = 0, ...options }: ProcessOptions & { readonly port?: number } = {},
): Promise<ServerProcess> {
  return startProcess(['serve', ...args, '--port', String(port), '--log', 'text'], options)
}

/** Starts any command that prints a line with `is ready at URL`. */
export async function startProcess(args: readonly string[], options: ProcessOptions = {}): Promise<ServerProcess> {
  const server = new ServerProcess(args, options)
  try {
    server.url = await eventually(15_000, 'the ready line', () => {
      if (server.hasExited) throw new Error(`The server ended before it was ready: ${server.stdout}${server.stderr}`)
      return / is ready at (https?:[^\s"]+)/.exec(server.stdout)?.[1]
    })
    return server
  } catch (error) {
    await server[Symbol.asyncDispose]()
    throw error
  }
}

export interface TemporaryFolder extends AsyncDisposable {
  readonly path: string
}

export async function temporaryFolder(): Promise<TemporaryFolder> {
  const path = await mkdtemp(join(tmpdir(), 'dragoman-test-'))
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true, maxRetries: 5 }) }
}
