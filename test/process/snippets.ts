/** Runs the snippets of documentation pages in a folder that has the package installed. */
import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { transformSync } from 'rolldown/utils'

const root = resolve(import.meta.dirname, '../..')

export function readPage(path: string): string {
  return readFileSync(join(root, path), 'utf8')
}

/** Returns the snippet whose first line is the comment `// NAME`. */
export function snippet(page: string, name: string): string {
  const [, code] = new RegExp(`\`\`\`ts\\n// ${name}\\n([\\s\\S]*?)\`\`\``).exec(page) ?? []
  if (code === undefined) throw new Error(`The page has no ${name}`)
  return code
}

export interface SnippetFolder extends Disposable {
  readonly path: string
  /** Writes `NAME.ts`, and `NAME.js` without types, because Node 20 does not strip types. */
  write(name: string, code: string): void
}

export function snippetFolder(): SnippetFolder {
  const path = mkdtempSync(join(tmpdir(), 'dragoman-snippets-'))
  mkdirSync(join(path, 'node_modules'))
  symlinkSync(root, join(path, 'node_modules', 'dragoman'))
  for (const name of ['@types', '@hono', 'express', 'fastify', 'hono'])
    symlinkSync(join(root, 'node_modules', name), join(path, 'node_modules', name))
  writeFileSync(join(path, 'package.json'), '{ "type": "module" }')
  return {
    path,
    write(name, code) {
      const { code: stripped, errors } = transformSync(name, code, { typescript: { onlyRemoveTypeImports: true } })
      if (errors.length > 0) throw new SyntaxError(errors.map(({ message }) => message).join('\n'))
      writeFileSync(join(path, name), code)
      writeFileSync(join(path, withoutTypes(name)), stripped)
    },
    [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }),
  }
}

function withoutTypes(name: string): string {
  return name.replace(/\.ts$/, '.js')
}

export interface RunningSnippet extends Disposable {
  /** The first chunk of its stdout. */
  readonly ready: Promise<string>
}

export function startSnippet(name: string, cwd: string): RunningSnippet {
  const child = spawn(process.execPath, [withoutTypes(name)], { cwd })
  const ready = new Promise<string>((done, fail) => {
    child.stdout.once('data', (chunk) => done(String(chunk)))
    child.stderr.once('data', (chunk) => fail(new Error(String(chunk))))
  })
  return { ready, [Symbol.dispose]: () => void child.kill('SIGKILL') }
}

/** Compiles snippets to JavaScript for Node 20, which has no `await using`. Returns the errors of the compiler. */
export function compile(names: readonly string[], cwd: string): Promise<string> {
  const compiler = join(root, 'node_modules/typescript/bin/tsc')
  const options = ['--strict', '--exactOptionalPropertyTypes', '--target', 'es2022', '--module', 'nodenext']
  return run(
    [compiler, ...options, '--lib', 'es2023,esnext.disposable', '--skipLibCheck', '--types', 'node', ...names],
    cwd,
  )
}

/** Returns the errors that the compiler reports in strict mode, or an empty string. */
export function typeErrorsIn(names: readonly string[], cwd: string): Promise<string> {
  const compiler = join(root, 'node_modules/typescript/bin/tsc')
  const options = ['--strict', '--exactOptionalPropertyTypes', '--target', 'es2023', '--module', 'nodenext', '--noEmit']
  // Node runs sources in TypeScript if imports name the files.
  const imports = ['--allowImportingTsExtensions']
  return run([compiler, ...options, ...imports, '--skipLibCheck', '--types', 'node', ...names], cwd)
}

/** Runs a snippet to its end. Returns its stdout and stderr. */
export function runSnippet(name: string, cwd: string): Promise<string> {
  return run([withoutTypes(name)], cwd)
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
