/** Every example runs, checks itself and exits with 0. */
import { execFile } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'

const root = resolve(import.meta.dirname, '../..')

const programs = readdirSync(join(root, 'examples')).filter((name) =>
  existsSync(join(root, 'examples', name, 'client.js')),
)

describe.each(programs)('the example %s', (name) => {
  it('runs', { timeout: 60_000 }, async () => {
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [`examples/${name}/client.js`], {
      cwd: root,
    })
    expect([stdout.length > 0, stderr]).toEqual([true, ''])
  })
})
