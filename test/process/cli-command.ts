/** Interactive commands: the real binary with text on stdin, and a separate credential folder. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { eventually, within } from '../hostile/waiting.js'
import { type Exit, temporaryFolder } from './server-process.js'

const root = fileURLToPath(new URL('../../', import.meta.url))

interface RunOptions {
  /** The folder of credentials. Default: an empty folder. */
  readonly configFolder?: string
  readonly cwd?: string
}

/** A running command that accepts input. */
export class InteractiveCommand implements AsyncDisposable {
  stdout = ''
  stderr = ''
  readonly exit: Promise<Exit>
  readonly #child: ChildProcess

  constructor(args: readonly string[], { configFolder = '/nonexistent/dragoman', cwd }: RunOptions = {}) {
    assert.ok(existsSync(join(root, 'dist/cli/main.js')), 'These tests run the built command: `npm run build` first')
    const { FORCE_COLOR: _, ...env } = process.env
    this.#child = spawn(process.execPath, [join(root, 'bin/dragoman.js'), ...args], {
      stdio: ['pipe', 'pipe', 'pipe'],
      env: { ...env, NO_COLOR: '1', DRAGOMAN_CONFIG_DIR: configFolder },
      ...(cwd !== undefined && { cwd }),
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

  write(text: string): void {
    this.#child.stdin?.write(text)
  }

  end(text = ''): void {
    this.#child.stdin?.end(text)
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }

  async waitForOutput(what: RegExp): Promise<RegExpExecArray> {
    return await eventually(10_000, `${what} in ${this.stdout}${this.stderr}`, () => {
      return what.exec(this.stdout) ?? what.exec(this.stderr) ?? undefined
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) this.signal('SIGKILL')
    await this.exit.catch(() => undefined)
  }
}

/** Runs a command to its end. */
export async function cli(args: readonly string[], options: RunOptions & { readonly stdin?: string } = {}) {
  await using run = new InteractiveCommand(args, options)
  run.end(options.stdin)
  return await within(20_000, `\`dragoman ${args.join(' ')}\` to end`, run.exit)
}

/** Parses the JSON output of a command. */
export function json(text: string): unknown {
  return JSON.parse(text) as unknown
}

export function jsonLines(text: string): unknown[] {
  return text.trimEnd().split('\n').map(json)
}

export { temporaryFolder }
