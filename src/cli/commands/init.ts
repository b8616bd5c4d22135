import { existsSync, readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { Command } from 'commander'
import { isObject } from '../../model/is-object.js'
import { trimEnd } from '../../model/trim-end.js'
import { addOutputOption } from '../agent-options.js'
import { UsageError } from '../failure.js'
import { filesOf, type Project } from '../init-templates.js'
import { type Format, Output } from '../output.js'
import { oneLine, shellWord } from '../printable.js'

/** Resolves this package by name, because bundled files have other paths than their sources. */
const require = createRequire(import.meta.url)

interface Options {
  readonly name?: string
  readonly js?: true
  readonly force?: true
  readonly output: Format
}

export function initCommand(): Command {
  return addOutputOption(
    new Command('init')
      .description('Create a project: an agent, its server, a client and a test')
      .argument('[dir]', 'folder to write to', '.')
      .option('--name <name>', 'name of the agent (default: the name of the folder)')
      .option('--js', 'write JavaScript with type checks instead of TypeScript')
      .option('--force', 'overwrite existing files'),
  )
    .addHelpText(
      'after',
      `
Examples:
  dragoman init my-agent
  dragoman init my-agent --name Greeter --js

The scripts of the project compile TypeScript with tsc; JavaScript needs no build. If a file exists, the command writes
nothing, unless --force is given. Run \`npm install\` afterwards.`,
    )
    .action(async (folder: string, options: Options) => {
      const output = new Output(options.output)
      const root = resolve(folder)
      const project = projectFor(root, options)
      const files = filesOf(project)
      if (!options.force) assertNoFiles(root, [...files.keys()])
      for (const [path, text] of files) {
        await mkdir(dirname(join(root, path)), { recursive: true })
        await writeFile(join(root, path), text)
      }
      const { name, language } = project
      output.result({ folder: root, name, language, files: [...files.keys()] }, () =>
        [`Wrote ${name} (${language}):`, ...[...files.keys()].map((path) => `  ${path}`)].join('\n'),
      )
      const path = relative(process.cwd(), root)
      const steps = [...(path === '' ? [] : [`cd ${shellWord(path)}`]), 'npm install', 'npm start']
      output.note(`Next: ${steps.join(' && ')}`)
    })
}

function projectFor(root: string, { name, js }: Options): Project {
  const own = require('dragoman/package.json') as {
    readonly version: string
    readonly devDependencies: Readonly<Record<string, string>>
  }
  const given = oneLine(name ?? basename(root))
  if (given === '') throw new UsageError('the agent has no name; pass --name')
  return {
    name: given,
    packageName: packageName(basename(root)) || packageName(given) || 'agent',
    language: js ? 'javascript' : 'typescript',
    versions: {
      dragoman: sourceOf(dirname(require.resolve('dragoman/package.json')), own.version),
      // The versions that this package is tested with.
      typescript: own.devDependencies.typescript ?? '*',
      nodeTypes: own.devDependencies['@types/node'] ?? '*',
    },
  }
}

/** A valid npm package name. */
function packageName(text: string): string {
  const plain = text
    .toLowerCase()
    .replace(/[^a-z\d._~-]+/g, '-')
    .replace(/^[-._]+/, '')
  return trimEnd(plain, /[-._]/).slice(0, 100)
}

function assertNoFiles(root: string, paths: readonly string[]): void {
  const existing = paths.filter((path) => existsSync(join(root, path)))
  if (existing.length > 0) throw new UsageError(`${root} already has ${existing.join(', ')}; pass --force to overwrite`)
}

/**
 * Returns the version range or the `file:` reference that installs the package at `root` again. A clone and a package that
 * npm installed from a file get a `file:` reference with an absolute path.
 */
export function sourceOf(root: string, version: string): string {
  if (existsSync(join(root, 'src'))) return `file:${root}`
  const modules = dirname(root)
  if (basename(modules) !== 'node_modules') return `^${version}`
  // References in the lockfiles and in `package.json` are relative to the project. npm writes no lockfile there for a
  // global installation.
  const project = dirname(modules)
  const name = basename(root)
  const reference =
    lockedFile(join(modules, '.package-lock.json'), name) ??
    lockedFile(join(project, 'package-lock.json'), name) ??
    requestedFile(join(project, 'package.json'), name)
  return reference === undefined ? `^${version}` : `file:${resolve(project, reference)}`
}

function lockedFile(path: string, name: string): string | undefined {
  const entry = memberOf(memberOf(readJson(path), 'packages'), `node_modules/${name}`)
  return pathIn(memberOf(entry, 'resolved'))
}

function requestedFile(path: string, name: string): string | undefined {
  const manifest = readJson(path)
  return (
    pathIn(memberOf(memberOf(manifest, 'dependencies'), name)) ??
    pathIn(memberOf(memberOf(manifest, 'devDependencies'), name))
  )
}

function pathIn(reference: unknown): string | undefined {
  return typeof reference === 'string' && reference.startsWith('file:') ? reference.slice('file:'.length) : undefined
}

function memberOf(value: unknown, name: string): unknown {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined
}

function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return undefined // absent or damaged: the caller tries the next file
  }
}
