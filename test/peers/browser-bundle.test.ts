/** `dragoman/client` in a browser: bundled without Node modules, and run without Node globals. */
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { builtinModules } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type Served, serve } from 'dragoman'
import { rolldown } from 'rolldown'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { matrixAgent } from '../matrix/scenarios.js'

const builtins = new Set([...builtinModules, ...builtinModules.map((name) => `node:${name}`)])

interface Bundle {
  readonly code: string
  readonly moduleIds: readonly string[]
  /** Node modules that the bundle imports, with their importers. */
  readonly nodeModules: readonly string[]
  readonly unresolved: readonly string[]
}

async function bundle(): Promise<Bundle> {
  const nodeModules: string[] = []
  const unresolved: string[] = []
  const built = await rolldown({
    input: 'dragoman/client',
    platform: 'browser',
    resolve: { conditionNames: ['dragoman-source', 'browser', 'import', 'default'] },
    onLog(_level, { code, message }) {
      if (code === 'UNRESOLVED_IMPORT') unresolved.push(message)
    },
    plugins: [
      {
        name: 'no Node here',
        resolveId(id, importer) {
          if (!builtins.has(id)) return null
          nodeModules.push(`${id} in ${importer}`)
          return { id, external: true }
        },
      },
    ],
  })
  const { output } = await built.generate({ format: 'esm', codeSplitting: false })
  await built.close()
  const [{ code, moduleIds }] = output
  return { code, moduleIds, nodeModules, unresolved }
}

describe('the client, bundled for browsers', () => {
  let made: Bundle
  let served: Served
  beforeAll(async () => {
    made = await bundle()
    served = await serve(matrixAgent)
  })
  afterAll(() => served.close({ deadlineMs: 0 }))

  it('imports no Node module and no missing module', () => {
    expect(made.nodeModules).toEqual([])
    expect(made.unresolved).toEqual([])
  })

  it('contains neither gRPC nor other modules for Node only', () => {
    expect(made.moduleIds.filter((id) => /transports\/grpc|@grpc|@bufbuild|\/node-/.test(id))).toEqual([])
  })

  it('calls an agent without `process` and `Buffer`', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'dragoman-browser-'))
    try {
      await writeFile(join(folder, 'client.mjs'), made.code)
      await writeFile(join(folder, 'page.mjs'), page(served.url))
      const { stdout } = await promisify(execFile)(process.execPath, ['page.mjs'], { cwd: folder, timeout: 20_000 })
      expect(JSON.parse(stdout)).toEqual({
        binding: 'JSONRPC',
        answer: 'hello',
        chunks: ['chunk 1 ', 'chunk 2 ', 'chunk 3 '],
        second: 'ask\nsecond',
        missing: 'TASK_NOT_FOUND',
      })
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  })
})

/** A page's script. The client sees no Node globals (Node's own `fetch` needs them); the script returns its observations. */
function page(url: string): string {
  return `
    const { stdout } = process
    for (const name of ['process', 'Buffer', 'global', 'require', 'setImmediate', 'clearImmediate']) {
      const own = globalThis[name]
      Object.defineProperty(globalThis, name, {
        get: () => (new Error().stack.split('\\n')[2].includes('client.mjs') ? undefined : own),
      })
    }
    const { connect } = await import('./client.mjs')
    const agent = await connect(${JSON.stringify(url)})
    const chunks = []
    for await (const update of agent.stream('chunks 3'))
      if (update.artifactUpdate) chunks.push(update.artifactUpdate.artifact.parts[0].text)
    const talk = agent.conversation()
    await talk.ask('ask')
    const second = (await talk.ask('second')).text
    const missing = await agent.task('none').get().catch((error) => error.code)
    const { binding } = agent.choice
    stdout.write(JSON.stringify({ binding, answer: (await agent.ask('hello')).text, chunks, second, missing }))
  `
}
