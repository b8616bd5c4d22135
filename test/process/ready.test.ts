/** `npm start` and `npm test` build what is missing, and nothing for nothing: in a clone whose build only counts itself. */
import { execFile } from 'node:child_process'
import { copyFile, mkdir, readFile, rm, symlink, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { temporaryFolder } from './server-process.js'

const script = fileURLToPath(new URL('../../scripts/ready.mjs', import.meta.url))

const build = `const { appendFileSync, mkdirSync, writeFileSync } = require('node:fs')
mkdirSync('dist', { recursive: true })
writeFileSync('dist/index.js', '')
appendFileSync('builds', '.')`

it('builds once, and again when a source has changed, somebody else has built, or the build is gone', async () => {
  await using folder = await temporaryFolder()
  const at = (path: string) => join(folder.path, path)
  for (const name of ['scripts', 'src', 'console', 'modules']) await mkdir(at(name))
  await copyFile(script, at('scripts/ready.mjs'))
  await symlink(at('modules'), at('node_modules')) // nothing is installed behind a link
  await writeFile(at('build.cjs'), build)
  await writeFile(at('package.json'), '{ "scripts": { "build": "node build.cjs" } }')
  for (const name of ['package-lock.json', 'tsconfig.json', 'tsconfig.build.json', 'src/a.ts'])
    await writeFile(at(name), '{}')
  const builds = async () => {
    await promisify(execFile)(process.execPath, [at('scripts/ready.mjs'), '--build'])
    return (await readFile(at('builds'), 'utf8')).length
  }
  expect(await builds()).toBe(1)
  expect(await builds()).toBe(1)
  await writeFile(at('src/a.ts'), '{ }')
  expect(await builds()).toBe(2)
  const later = new Date(Date.now() + 60_000)
  await utimes(at('dist/index.js'), later, later)
  expect(await builds()).toBe(3)
  await rm(at('dist'), { recursive: true })
  expect(await builds()).toBe(4)
  expect(await builds()).toBe(4)
})
