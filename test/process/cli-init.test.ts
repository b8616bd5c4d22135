/** `dragoman init`: writes a project that runs, and overwrites no files. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { within } from '../hostile/waiting.js'
import { cli, json, temporaryFolder } from './cli-command.js'

const root = resolve(import.meta.dirname, '../..')

/** Replaces `npm install`, which would call the npm registry. */
async function install(folder: string): Promise<void> {
  const modules = join(folder, 'node_modules')
  await mkdir(join(modules, '@types'), { recursive: true })
  await symlink(root, join(modules, 'dragoman'))
  for (const name of ['typescript', '@types/node', 'undici-types']) {
    await symlink(join(root, 'node_modules', name), join(modules, name))
  }
}

function start(folder: string, command: string, env: NodeJS.ProcessEnv = {}): ChildProcess {
  const path = `${join(root, 'node_modules/.bin')}:${process.env.PATH}`
  return spawn('sh', ['-c', `exec ${command}`], { cwd: folder, env: { ...process.env, ...env, PATH: path } })
}

async function run(folder: string, command: string): Promise<{ code: number | null; output: string }> {
  const child = start(folder, command)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (output += String(chunk)))
  const code = await within(
    60_000,
    command,
    new Promise<number | null>((done) => child.on('close', (exit) => done(exit))),
  )
  return { code, output }
}

interface Manifest {
  readonly name: string
  readonly type: string
  readonly scripts: Readonly<Record<'start' | 'client' | 'test', string>>
  readonly dependencies: Readonly<Record<string, string>>
}

async function manifestOf(folder: string): Promise<Manifest> {
  return JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as Manifest
}

describe('dragoman init', () => {
  it.each([
    ['typescript', 'tsconfig.json', []],
    ['javascript', 'jsconfig.json', ['--js']],
  ])('writes a %s project whose types, tests, server and client work', async (language, settings, flags) => {
    await using folder = await temporaryFolder()
    const place = join(folder.path, 'my-greeter')
    const made = await cli(['init', place, ...flags, '--name', 'Grace "the" Greeter'])
    expect(made).toMatchObject({ code: 0, stdout: expect.stringContaining(`Wrote Grace "the" Greeter (${language})`) })
    expect(made.stderr).toMatch(/^Next: cd \S+my-greeter && npm install && npm start\n$/)
    await install(place)
    const { name, type, scripts, dependencies } = await manifestOf(place)
    expect({ name, type }).toEqual({ name: 'my-greeter', type: 'module' })
    // In a clone the dependency is the clone itself, because the package is not on npm yet.
    expect(dependencies.dragoman).toBe(`file:${resolve(fileURLToPath(new URL('../..', import.meta.url)))}`)

    expect(await run(place, `tsc -p ${settings}`)).toEqual({ code: 0, output: '' })
    const tests = await run(place, scripts.test.replace('tsc && ', ''))
    expect(tests.output).toMatch(/# pass 2\n# fail 0/)
    expect(tests.code).toBe(0)

    const server = start(place, scripts.start.replace('tsc && ', ''), { PORT: '0' })
    try {
      const ready = await within(
        15_000,
        'the server',
        new Promise<string>((done) => server.stdout?.once('data', (chunk) => done(String(chunk)))),
      )
      const [, url = ''] = /^Grace "the" Greeter is at (http:\S+)\n$/.exec(ready) ?? []
      const client = scripts.client.replace('tsc && ', '')
      expect(await run(place, `${client} ${url}`)).toEqual({ code: 0, output: 'Hello, the world!\n' })
      expect(await run(place, `${client} ${url} greet Ada`)).toEqual({ code: 0, output: 'Hello, Ada!\n' })
      const examined = await cli(['doctor', url, '--send'])
      expect(examined).toMatchObject({ code: 0, stdout: expect.stringContaining('Healthy\n') })
      const closed = new Promise((done) => server.once('exit', done))
      server.kill('SIGTERM')
      expect(await within(5000, 'the server to stop', closed)).toBe(0)
    } finally {
      server.kill('SIGKILL')
    }
  })

  it('uses the name of the folder and TypeScript by default', async () => {
    await using folder = await temporaryFolder()
    await mkdir(join(folder.path, 'Weather Agent'))
    const cwd = join(folder.path, 'Weather Agent')
    const { code, stdout, stderr } = await cli(['init', '-o', 'json'], { cwd })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const sources = ['agent.ts', 'server.ts', 'client.ts', 'agent.test.ts']
    const files = ['package.json', 'tsconfig.json', ...sources.map((name) => `src/${name}`), 'README.md', '.gitignore']
    expect(json(stdout)).toMatchObject({ name: 'Weather Agent', language: 'typescript', files })
    expect((await readdir(cwd, { recursive: true })).sort()).toEqual([...files, 'src'].sort())
    // Node 22.18 runs these sources: their relative imports name TypeScript files.
    const texts = await Promise.all(sources.map((name) => readFile(join(cwd, 'src', name), 'utf8')))
    const imported = texts.flatMap((text) => [...text.matchAll(/from '(\.[^']*)'/g)].map(([, path]) => path))
    expect(imported).toEqual(['./agent.ts', './agent.ts'])
    expect((await manifestOf(cwd)).name).toBe('weather-agent')
  })

  it('overwrites nothing without --force', async () => {
    await using folder = await temporaryFolder()
    await writeFile(join(folder.path, 'README.md'), 'mine')
    const refused = await cli(['init', folder.path])
    expect(refused).toMatchObject({ code: 2, stdout: '' })
    expect(refused.stderr).toMatch(/^dragoman: \S+ already has README\.md; pass --force/)
    expect(await readdir(folder.path)).toEqual(['README.md'])
    expect(await cli(['init', folder.path, '--force'])).toMatchObject({ code: 0 })
    expect(await readFile(join(folder.path, 'README.md'), 'utf8')).not.toBe('mine')
  })
})
