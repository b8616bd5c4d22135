/** Code that a page shows, put where it can run: in a folder that has the package installed. */
import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

const root = resolve(import.meta.dirname, '../..')

export function readPage(path: string): string {
  return readFileSync(join(root, path), 'utf8')
}

/** The snippet whose first line names it. */
export function snippet(page: string, name: string): string {
  const [, code] = new RegExp(`\`\`\`ts\\n// ${name}\\n([\\s\\S]*?)\`\`\``).exec(page) ?? []
  if (code === undefined) throw new Error(`The page has no ${name}`)
  return code
}

export interface SnippetFolder extends Disposable {
  readonly path: string
  write(name: string, code: string): void
}

export function snippetFolder(): SnippetFolder {
  const path = mkdtempSync(join(tmpdir(), 'dragoman-snippets-'))
  mkdirSync(join(path, 'node_modules'))
  symlinkSync(root, join(path, 'node_modules', 'dragoman'))
  return {
    path,
    write: (name, code) => writeFileSync(join(path, name), code),
    [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }),
  }
}

export interface RunningSnippet extends Disposable {
  /** The first thing it said. */
  readonly ready: Promise<string>
}

export function startSnippet(name: string, cwd: string): RunningSnippet {
  const child = spawn(process.execPath, [name], { cwd })
  const ready = new Promise<string>((done, fail) => {
    child.stdout.once('data', (chunk) => done(String(chunk)))
    child.stderr.once('data', (chunk) => fail(new Error(String(chunk))))
  })
  return { ready, [Symbol.dispose]: () => void child.kill('SIGKILL') }
}

/** The messages of the compiler, in strict mode; empty if there are none. */
export function typeErrorsIn(name: string, cwd: string): Promise<string> {
  const compiler = join(root, 'node_modules/typescript/bin/tsc')
  const options = ['--strict', '--exactOptionalPropertyTypes', '--target', 'es2023', '--module', 'nodenext', '--noEmit']
  return run([compiler, ...options, '--skipLibCheck', name], cwd)
}

/** Everything it said, when it is over. */
export function runSnippet(name: string, cwd: string): Promise<string> {
  return run([name], cwd)
}

function run(args: readonly string[], cwd: string): Promise<string> {
  return new Promise((done) => {
    const child = spawn(process.execPath, args, { cwd })
    let output = ''
    const add = (chunk: Buffer) => {
      output += String(chunk)
    }
    child.stdout.on('data', add)
    child.stderr.on('data', add)
    child.on('close', () => done(output))
  })
}
