import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))

/** Builds Dragoman. The output of npm goes to standard error: standard output is for the tables. */
export function buildDragoman(): void {
  const isWindows = process.platform === 'win32'
  const { status } = spawnSync('npm', ['run', 'build'], { cwd: root, shell: isWindows, stdio: ['ignore', 2, 2] })
  if (status !== 0) throw new Error('npm run build failed')
}
