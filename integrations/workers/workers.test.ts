/** Bundles Workers as wrangler does, and runs them in workerd. */
import { mkdtempSync, rmSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bearerCredential, connect } from 'dragoman/client'
import { build } from 'esbuild'
import { Miniflare } from 'miniflare'
import { describe, expect, it } from 'vitest'
import { copyExample, freePort } from '../script/start-example.js'
import { visit } from '../script/visit.mjs'

const folder = fileURLToPath(new URL('.', import.meta.url))

/** Returns the code of a Worker, and the modules that it imports when it starts. */
async function bundle(contents: string, loader: 'js' | 'ts' = 'js') {
  const { outputFiles, metafile } = await build({
    stdin: { contents, resolveDir: folder, loader },
    bundle: true,
    write: false,
    metafile: true,
    outfile: 'worker.js',
    format: 'esm',
    target: 'es2023',
    platform: 'neutral',
    conditions: ['workerd', 'worker', 'browser'],
    mainFields: ['browser', 'module', 'main'],
    // The platform has them under `nodejs_compat`.
    external: ['node:*', ...builtinModules],
  })
  const imports = Object.values(metafile.outputs).flatMap((output) => output.imports.map(({ path }) => path))
  return { script: outputFiles[0]?.text ?? '', imports }
}

interface Settings {
  readonly port: number
  readonly className: string
  readonly bindings: Readonly<Record<string, string>>
  /** The folder of the object's storage. */
  readonly storage?: string
}

/** Starts workerd with one class of objects, as `env.OBJECT`. */
async function start(script: string, { port, className, bindings, storage }: Settings) {
  const runtime = new Miniflare({
    modules: true,
    script,
    port,
    compatibilityDate: '2026-07-01',
    compatibilityFlags: ['nodejs_compat'],
    bindings: { ...bindings },
    durableObjects: { [className.toUpperCase()]: { className, useSQLite: true } },
    durableObjectsPersist: storage ?? false,
  })
  await runtime.ready
  return { [Symbol.asyncDispose]: () => runtime.dispose() }
}

const counterWorker = `
import { agentObject } from 'dragoman/cloudflare'
import { counter } from '../script/counter.mjs'
export const Counter = agentObject(counter, (env) => ({ publicUrl: env.PUBLIC_URL, auth: 'none' }))
export default { fetch: (request, env) => env.COUNTER.getByName('counter').fetch(request) }`

describe('a Durable Object', () => {
  it('runs the script, and keeps tasks when the runtime is restarted', async () => {
    const { script } = await bundle(counterWorker)
    const port = Number(await freePort())
    const address = `http://localhost:${port}`
    const storage = mkdtempSync(join(tmpdir(), 'dragoman-workers-'))
    const settings = { port, className: 'Counter', bindings: { PUBLIC_URL: address }, storage }
    let waiting = ''
    {
      await using _ = await start(script, settings)
      for (const binding of ['JSONRPC', 'HTTP+JSON']) await visit(address, binding)
      await using agent = await connect(address)
      const { task } = await agent.ask('buttons')
      waiting = task?.id ?? ''
    }
    {
      await using _ = await start(script, settings)
      await using agent = await connect(address)
      expect((await agent.ask('seven', { taskId: waiting })).text).toBe('seven it is')
      expect((await agent.listTasks({})).tasks.length).toBeGreaterThan(5)
    }
    rmSync(storage, { recursive: true, force: true })
  })

  it('runs the example, for callers with the token', async () => {
    const example = copyExample('cloudflare.ts', folder)
    const { script } = await bundle(
      `export * from ${JSON.stringify(example)}; export { default } from ${JSON.stringify(example)}`,
    )
    const port = Number(await freePort())
    const address = `http://localhost:${port}`
    await using _ = await start(script, {
      port,
      className: 'Shout',
      bindings: { PUBLIC_URL: address, TOKEN: 'secret' },
    })
    await using agent = await connect(address, { credentials: bearerCredential('secret') })
    expect((await agent.ask('hello')).text).toBe('HELLO')
    await using stranger = await connect(address)
    await expect(stranger.ask('hello')).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
  })

  it('loads no package that Workers cannot load', async () => {
    const { script, imports } = await bundle(counterWorker)
    expect(imports.filter((path) => !path.startsWith('node:'))).toEqual([])
    expect(imports).not.toContain('node:http2')
    expect(script.length).toBeLessThan(1_200_000)
  })
})
