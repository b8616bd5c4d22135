/** Runs every example. Each one checks its results and exits with 0. */
import { execFile } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'

const root = resolve(import.meta.dirname, '../..')

const stripsTypes = 'typescript' in process.features && process.features.typescript !== false

const programs = readdirSync(join(root, 'examples')).filter((name) =>
  existsSync(join(root, 'examples', name, 'client.ts')),
)

describe.each(programs)('the example %s', (name) => {
  // Node without type stripping runs the build only. Node 22.18 and newer also run the source.
  const files = [`dist/examples/${name}/client.js`, ...(stripsTypes ? [`examples/${name}/client.ts`] : [])]
  it.each(files)('runs from %s', { timeout: 60_000 }, async (file) => {
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [file], { cwd: root })
    // On a busy machine the process waits for a core, which the server reports as a blocked event loop.
    const messages = stderr.split('\n').filter((line) => line !== '' && !line.includes('The event loop was blocked'))
    expect([stdout.length > 0, messages]).toEqual([true, []])
  })
})
