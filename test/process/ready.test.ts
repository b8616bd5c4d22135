/** `npm start` and `npm test` install missing packages and build changed sources only. Uses minimal clones. */
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

const lockOf = (packages: object) => JSON.stringify({ packages })

/** Runs the script in a clone with one installed package, whose lockfile lists `locked`. Returns stderr. */
async function runInClone(locked: object, folder: string): Promise<string> {
  const at = (path: string) => join(folder, path)
  for (const name of ['scripts', 'node_modules']) await mkdir(at(name), { recursive: true })
  await copyFile(script, at('scripts/ready.mjs'))
  await writeFile(at('package.json'), '{}')
  await writeFile(at('node_modules/.package-lock.json'), lockOf({ 'node_modules/one': { version: '1.0.0' } }))
  await writeFile(at('package-lock.json'), lockOf({ '': {}, ...locked }))
  return await promisify(execFile)(process.execPath, [at('scripts/ready.mjs')], {
    env: { ...process.env, npm_config_offline: 'true' }, // an installation fails
  }).then(
    ({ stderr }) => stderr,
    (error: { readonly stderr: string }) => error.stderr,
  )
}

it.each([
  ['nothing if all packages are installed', { 'node_modules/one': { version: '1.0.0' } }, false],
  [
    'no optional packages of other platforms',
    { 'node_modules/one': { version: '1.0.0' }, 'node_modules/win': { version: '2.0.0', optional: true } },
    false,
  ],
  ['another version of a package', { 'node_modules/one': { version: '1.0.1' } }, true],
  ['missing packages', { 'node_modules/one': { version: '1.0.0' }, 'node_modules/two': { version: '1.0.0' } }, true],
])('installs %s', async (_, locked, isInstalling) => {
  await using folder = await temporaryFolder()
  const stderr = await runInClone(locked, folder.path)
  expect(stderr.includes('Installing dependencies')).toBe(isInstalling)
})

it('builds once, and again after a changed source, a build by hand, or a deleted build', async () => {
  await using folder = await temporaryFolder()
  const at = (path: string) => join(folder.path, path)
  for (const name of ['scripts', 'src', 'console', 'examples', 'modules']) await mkdir(at(name))
  await copyFile(script, at('scripts/ready.mjs'))
  await symlink(at('modules'), at('node_modules')) // the script does not install into a linked folder
  await writeFile(at('build.cjs'), build)
  await writeFile(at('package.json'), '{ "scripts": { "build": "node build.cjs" } }')
  const settings = ['package-lock.json', 'tsconfig.json', 'tsconfig.build.json', 'tsconfig.examples.json']
  for (const name of [...settings, 'scripts/bundle.mjs', 'src/a.ts', 'examples/b.ts']) await writeFile(at(name), '{}')
  let notices = 0
  const builds = async () => {
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [at('scripts/ready.mjs'), '--build'])
    expect(stdout).toBe('')
    notices += stderr.match(/^Building Dragoman \(about \d+ s/gm)?.length ?? 0
    const count = (await readFile(at('builds'), 'utf8')).length
    expect(notices).toBe(count)
    return count
  }
  expect(await builds()).toBe(1)
  expect(await builds()).toBe(1)
  await writeFile(at('src/a.ts'), '{ }')
  expect(await builds()).toBe(2)
  await writeFile(at('examples/b.ts'), '{ }')
  expect(await builds()).toBe(3)
  const later = new Date(Date.now() + 60_000)
  await utimes(at('dist/index.js'), later, later)
  expect(await builds()).toBe(4)
  await rm(at('dist'), { recursive: true })
  expect(await builds()).toBe(5)
  expect(await builds()).toBe(5)
})
