// Tests Dragoman against heavy packages and other runtimes. Run: npm run test:integrations [-- GROUP…]
//
// Each folder here is a group with its own lockfile. The script installs it, unpacks the packed Dragoman into it and runs
// its tests, on Node 22 if `engines` in its package.json needs that.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const here = dirname(fileURLToPath(import.meta.url))
const root = dirname(here)
const packed = join(here, 'node_modules', '.packed')
const groups = readdirSync(here).filter((name) => existsSync(join(here, name, 'package.json')))

// Some of these packages report their installation or use to their makers.
Object.assign(process.env, {
  DO_NOT_TRACK: '1',
  SCARF_ANALYTICS: 'false',
  COPILOTKIT_TELEMETRY_DISABLED: 'true',
  NEXT_TELEMETRY_DISABLED: '1',
})

const asked = process.argv.slice(2)
const unknown = asked.filter((name) => !groups.includes(name))
if (unknown.length > 0) {
  console.error(`Unknown group: ${unknown.join(', ')}. Groups: ${groups.join(', ')}`)
  process.exit(1)
}

pack()
const rows = (asked.length > 0 ? asked : groups).map(runGroup)
printTable(['group', 'node', 'types', 'passed', 'failed', 'seconds'])
process.exitCode = rows.every(({ isGood }) => isGood) ? 0 : 1

function printTable(titles) {
  const widths = titles.map((title) => Math.max(title.length, ...rows.map((row) => String(row[title]).length)))
  const line = (cells) => `| ${cells.map((cell, n) => String(cell).padEnd(widths[n])).join(' | ')} |`
  const body = rows.map((row) => line(titles.map((title) => row[title])))
  console.log(['', line(titles), line(widths.map((width) => '-'.repeat(width))), ...body].join('\n'))
}

/** Builds and packs Dragoman, so that groups get the files that users get. */
function pack() {
  must(process.execPath, [join(root, 'scripts/ready.mjs'), '--build'])
  rmSync(packed, { recursive: true, force: true })
  mkdirSync(packed, { recursive: true })
  must('npm', ['pack', '--silent', '--ignore-scripts', '--pack-destination', packed], root)
  unpack(here) // for script/
}

function runGroup(group) {
  const began = Date.now()
  const folder = join(here, group)
  install(folder)
  unpack(folder)
  const node = nodeFor(folder)
  const types = existsSync(join(folder, 'tsconfig.json'))
    ? run(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', '.', '--noEmit'], folder)
    : undefined
  const report = join(folder, 'node_modules', '.report.json')
  rmSync(report, { force: true })
  const vitest = join(root, 'node_modules/vitest/vitest.mjs')
  const config = join(here, 'vitest.config.ts')
  const outputs = ['--reporter=verbose', '--reporter=json', `--outputFile.json=${report}`]
  const status = run(node, [vitest, 'run', '--root', folder, '--config', config, ...outputs], folder)
  const result = existsSync(report) ? JSON.parse(readFileSync(report, 'utf8')) : undefined
  return {
    group,
    node: run(node, ['--version'], folder, 'pipe'),
    types: types === undefined ? '' : types === 0 ? 'good' : 'wrong',
    passed: result?.numPassedTests ?? 0,
    failed: result?.numFailedTests ?? '?',
    seconds: Math.round((Date.now() - began) / 1000),
    isGood: status === 0 && (types ?? 0) === 0,
  }
}

/** Installs from the lockfile unless that has been done. */
function install(folder) {
  const stamp = join(folder, 'node_modules', '.installed')
  const digest = createHash('sha256')
    .update(readFileSync(join(folder, 'package-lock.json')))
    .digest('hex')
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === digest) return
  must('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], folder)
  mkdirSync(dirname(stamp), { recursive: true })
  writeFileSync(stamp, digest)
}

/**
 * Unpacks Dragoman as an installed package. Its dependencies are links to those of the root, so that they have the
 * versions of its lockfile; its optional peers are those of the group.
 */
function unpack(folder) {
  const modules = join(folder, 'node_modules')
  const target = join(modules, 'dragoman')
  rmSync(target, { recursive: true, force: true })
  mkdirSync(target)
  const [tarball] = readdirSync(packed)
  must('tar', ['-xzf', join(packed, tarball), '--strip-components=1', '-C', target])
  const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  for (const name of Object.keys(dependencies)) {
    const link = join(target, 'node_modules', name)
    mkdirSync(dirname(link), { recursive: true })
    symlinkSync(join(root, 'node_modules', name), link)
  }
}

/** The path of a Node that satisfies `engines`: this one, or that of the group `node22`. */
function nodeFor(folder) {
  const { engines } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const needed = Number(/\d+/.exec(engines?.node ?? '0')?.[0])
  if (Number(process.versions.node.split('.')[0]) >= needed) return process.execPath
  install(join(here, 'node22'))
  return join(here, 'node22', 'node_modules', '.bin', 'node')
}

/** Returns the exit status, or the output if it is piped. */
function run(command, args, cwd = root, output = 'inherit') {
  const { status, stdout } = spawnSync(command, args, { cwd, stdio: ['ignore', output, 'inherit'], encoding: 'utf8' })
  return output === 'pipe' ? stdout.trim() : (status ?? 1)
}

function must(command, args, cwd) {
  const status = run(command, args, cwd)
  if (status === 0) return
  console.error(`${command} ${args.join(' ')} failed`)
  process.exit(status)
}
