import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { Command, Option } from 'commander'
import { trimEnd } from '../../model/trim-end.js'
import { addOutputOption } from '../agent-options.js'
import { sourceOf } from '../init/package-source.js'
import { filesOf, type Project } from '../init/templates.js'
import { type Format, Output } from '../output.js'
import { oneLine, shellWord } from '../printable.js'
import { UsageError } from '../usage-error.js'

/** Finds the package by its own name: bundled files are elsewhere than their sources. */
const require = createRequire(import.meta.url)

interface Options {
  readonly name?: string
  readonly typescript?: true
  readonly javascript?: true
  readonly force?: true
  readonly output: Format
}

export function initCommand(): Command {
  return addOutputOption(
    new Command('init')
      .description('Start a new agent project: an agent, its server, a client and tests, ready to run')
      .argument('[dir]', 'the folder to write into', '.')
      .option('--name <name>', 'the name of the agent (default: that of the folder)')
      .addOption(new Option('--javascript', 'plain JavaScript with checked types (default)').conflicts('typescript'))
      .addOption(new Option('--typescript', 'TypeScript, compiled by tsc'))
      .option('--force', 'write over files that are there already'),
  )
    .addHelpText(
      'after',
      `
Examples:
  dragoman init my-agent
  dragoman init my-agent --name Greeter --typescript

JavaScript is the default because Node 20 runs it as it is: nothing to build, and editors check the types all the same.
Nothing is written when a file is there already, unless --force is given. Nothing is installed: that is npm's work.`,
    )
    .action(async (folder: string, options: Options) => {
      const output = new Output(options.output)
      const root = resolve(folder)
      const project = projectFor(root, options)
      const files = filesOf(project)
      if (!options.force) assertFree(root, [...files.keys()])
      for (const [path, text] of files) {
        await mkdir(dirname(join(root, path)), { recursive: true })
        await writeFile(join(root, path), text)
      }
      const { name, language } = project
      output.result({ folder: root, name, language, files: [...files.keys()] }, () =>
        [`Wrote ${name} (${language}):`, ...[...files.keys()].map((path) => `  ${path}`)].join('\n'),
      )
      const place = relative(process.cwd(), root)
      const steps = [...(place === '' ? [] : [`cd ${shellWord(place)}`]), 'npm install', 'npm start']
      output.note(`Next: ${steps.join(' && ')}`)
    })
}

function projectFor(root: string, { name, typescript }: Options): Project {
  const own = require('dragoman/package.json') as {
    readonly version: string
    readonly devDependencies: Readonly<Record<string, string>>
  }
  const given = oneLine(name ?? basename(root))
  if (given === '') throw new UsageError('give the agent a name with --name')
  return {
    name: given,
    packageName: packageName(basename(root)) || packageName(given) || 'agent',
    language: typescript ? 'typescript' : 'javascript',
    versions: {
      dragoman: sourceOf(dirname(require.resolve('dragoman/package.json')), own.version),
      // What this was tried with.
      typescript: own.devDependencies.typescript ?? '*',
      nodeTypes: own.devDependencies['@types/node'] ?? '*',
    },
  }
}

/** As npm allows it. */
function packageName(text: string): string {
  const plain = text
    .toLowerCase()
    .replace(/[^a-z\d._~-]+/g, '-')
    .replace(/^[-._]+/, '')
  return trimEnd(plain, /[-._]/).slice(0, 100)
}

function assertFree(root: string, paths: readonly string[]): void {
  const taken = paths.filter((path) => existsSync(join(root, path)))
  if (taken.length > 0)
    throw new UsageError(`${taken.join(', ')} in ${root} would be overwritten: say --force if that is meant`)
}
