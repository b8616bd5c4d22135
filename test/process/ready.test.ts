/** `npm start` and `npm test` build what is missing, and nothing for nothing. */
import { execFile } from 'node:child_process'
import { rmSync, statSync, utimesSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

const at = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url))
const makeReady = () => promisify(execFile)(process.execPath, [at('scripts/ready.mjs'), '--build'])
const builtMs = () => statSync(at('dist/index.js')).mtimeMs

it('builds once, and again when somebody else has built or the mark is gone', { timeout: 240_000 }, async () => {
  await makeReady()
  const first = builtMs()
  await makeReady()
  expect(builtMs()).toBe(first)
  rmSync(at('dist/.built'))
  await makeReady()
  const second = builtMs()
  expect(second).toBeGreaterThan(first)
  const later = new Date(Date.now() + 1000)
  utimesSync(at('dist/index.js'), later, later)
  await makeReady()
  expect(builtMs()).not.toBe(later.getTime())
})
