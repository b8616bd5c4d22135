// Makes sure that there is something to measure: the competitors installed, Dragoman built.
import { spawnSync } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const bench = fileURLToPath(new URL('.', import.meta.url))
const root = fileURLToPath(new URL('..', import.meta.url))

export function installCompetitors() {
  // npm writes this file last, so a broken-off installation is made again, and one that is out of date.
  const proof = new URL('node_modules/.package-lock.json', import.meta.url)
  const lock = new URL('package-lock.json', import.meta.url)
  const isInstalled = existsSync(proof) && statSync(proof).mtimeMs >= statSync(lock).mtimeMs
  if (!isInstalled) npm(['ci'], bench)
}

export function buildDragoman() {
  npm(['run', 'build'], root)
}

/** What npm says goes to standard error: standard output belongs to the tables. */
function npm(args, cwd) {
  const isWindows = process.platform === 'win32'
  const { status } = spawnSync('npm', args, { cwd, shell: isWindows, stdio: ['ignore', 2, 2] })
  if (status !== 0) throw new Error(`npm ${args.join(' ')} failed`)
}
