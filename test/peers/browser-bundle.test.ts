/**
 * Entries of the package as bundlers see them. `dragoman/client` in a browser: bundled without Node modules, and run without
 * Node globals. Optional peers: reached by their own entries only, and loaded on use.
 */
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { builtinModules } from 'node:module'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { type Served, serve } from 'dragoman'
import { type ModuleInfo, type Plugin, rolldown } from 'rolldown'
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

async function bundle(input: string, more: readonly Plugin[] = []): Promise<Bundle> {
  const nodeModules: string[] = []
  const unresolved: string[] = []
  const built = await rolldown({
    input,
    platform: 'browser',
    resolve: { conditionNames: ['dragoman-source', 'browser', 'import', 'default'] },
    onLog(_level, { code, message }) {
      if (code === 'UNRESOLVED_IMPORT') unresolved.push(message)
    },
    plugins: [
      ...more,
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

const pageEntry = '\0page'

const pageOf = (code: string): Plugin => ({
  name: 'page',
  resolveId: (id) => (id === pageEntry ? id : null),
  load: (id) => (id === pageEntry ? code : null),
})

/** A page that calls agents, and nothing else of the client. */
const pagePlugin = pageOf("export { connect } from 'dragoman/client'")

/** Leaves out modules that are loaded on use. */
const withoutLoaded: Plugin = {
  name: 'without modules that are loaded on use',
  resolveId: (id, _importer, { kind }) => (kind === 'dynamic-import' ? { id, external: true } : null),
}

/** Bundles a page as bundlers do, with modules that are loaded on use in other files. */
async function bundlePage(plugins: readonly Plugin[] = []) {
  const built = await rolldown({
    input: { client: pageEntry },
    platform: 'browser',
    resolve: { conditionNames: ['dragoman-source', 'browser', 'import', 'default'] },
    plugins: [...plugins, pagePlugin],
  })
  const chunkFileNames = '[name]-[hash].client.mjs' // the script recognises the files of the client by their names
  const { output } = await built.generate({ format: 'esm', minify: true, entryFileNames: '[name].mjs', chunkFileNames })
  await built.close()
  return output
}

describe('the client, bundled for browsers', () => {
  let made: Bundle
  let served: Served
  beforeAll(async () => {
    made = await bundle('dragoman/client')
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
    expect(await runPage({ 'client.mjs': made.code }, served.url)).toEqual({ dialect: 'v1', ...answers })
  })

  it('is at most 35 kB for a page that calls agents of v1.0, compressed', async () => {
    const [entry] = await bundlePage([withoutLoaded])
    expect(gzipSync(entry.code, { level: 9 }).byteLength).toBeLessThanOrEqual(35_000)
    const onUse =
      /dialects\/(?!v1\/)[^/]+\/(?!facts|outline)|opentelemetry|jose|canonicalize|check-signatures|authorizer|wire-log/
    expect(entry.moduleIds.filter((id) => onUse.test(id))).toEqual([])
  })

  it('loads older dialects when an agent needs them', async () => {
    const files = (await bundlePage()).map((each) => [each.fileName, each.type === 'chunk' ? each.code : ''])
    const seen = await runPage(Object.fromEntries(files), served.url, { dialect: 'v0.3' })
    expect(seen).toEqual({ dialect: 'v0.3', ...answers })
  })
})

describe('asModel and asChatTransport, bundled for browsers', () => {
  const page = pageOf("export { asChatTransport, asModel } from 'dragoman/ai-sdk'")

  it('reach no Node module, no server and no package of their peer', async () => {
    const { nodeModules, unresolved, moduleIds, code } = await bundle(pageEntry, [page])
    expect([nodeModules, unresolved]).toEqual([[], []])
    expect(
      moduleIds.filter((id) => /\/src\/(?:server|engine|stores|push)\/|node_modules\/(?:ai|zod)\//.test(id)),
    ).toEqual([])
    expect(code).toContain('asChatTransport')
  })

  it('are at most 48 kB, compressed, without OpenTelemetry', async () => {
    const [entry] = await bundlePage([page, withoutLoaded])
    expect(gzipSync(entry.code, { level: 9 }).byteLength).toBeLessThanOrEqual(48_000)
    expect(entry.moduleIds.filter((id) => /opentelemetry/.test(id))).toEqual([])
  })
})

const root = resolve(import.meta.dirname, '../..')

interface Manifest {
  readonly exports: Readonly<Record<string, string | Readonly<Record<string, string>>>>
  readonly dependencies: Readonly<Record<string, string>>
  readonly peerDependencies: Readonly<Record<string, string>>
}

const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Manifest

/** Optional peers that an entry loads on use. The other peers supply types only. */
const loadedPeers: Readonly<Record<string, readonly string[]>> = {
  './langgraph': ['@langchain/core'],
  './mcp': ['@modelcontextprotocol/server'],
  './openai-agents': ['@openai/agents-core'],
  // `dragoman mcp`
  'bin/dragoman.js': ['@modelcontextprotocol/server'],
}

/** The sources of all entries, and of the command line. */
const entrySources: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    Object.entries(manifest.exports).flatMap(([name, place]) => {
      const source = typeof place === 'object' ? place['dragoman-source'] : undefined
      return source === undefined ? [] : [[name, resolve(root, source)]]
    }),
  ),
  'bin/dragoman.js': join(root, 'src/cli/main.ts'),
}

type Imports = Pick<ModuleInfo, 'importedIds' | 'dynamicallyImportedIds'>

/** Reads the imports of all modules of the package, with other packages left outside. */
async function importsOfModules(): Promise<ReadonlyMap<string, Imports>> {
  const modules = new Map<string, Imports>()
  const built = await rolldown({
    input: Object.values(entrySources),
    platform: 'node',
    external: (id) => /\/node_modules\//.test(id) || !/^[./#]|^dragoman(\/|$)/.test(id),
    resolve: { conditionNames: ['dragoman-source', 'node', 'import', 'default'] },
    plugins: [
      {
        name: 'imports',
        buildEnd() {
          for (const id of this.getModuleIds()) modules.set(id, this.getModuleInfo(id) as Imports) // it has this id
        },
      },
    ],
  })
  await built.generate({ format: 'esm' })
  await built.close()
  return modules
}

describe('the entries', () => {
  let modules: ReadonlyMap<string, Imports>
  beforeAll(async () => {
    modules = await importsOfModules()
  })

  /** Names of the packages that the modules below an entry import. */
  function packagesBelow(source: string, next: (imports: Imports) => readonly string[]): readonly string[] {
    const seen = new Set<string>()
    const waiting = [source]
    for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
      const imports = seen.has(id) ? undefined : modules.get(id)
      seen.add(id)
      if (imports) waiting.push(...imports.importedIds, ...next(imports))
    }
    // `imports` in package.json lead to the files of packages.
    const names = [...seen].map((id) => id.slice(id.lastIndexOf('/node_modules/') + 1).replace(/^node_modules\//, ''))
    const others = names.filter((id) => !id.startsWith('/') && !builtins.has(id))
    return [...new Set(others.map((id) => /^(?:@[^/]+\/)?[^/]+/.exec(id)?.[0] ?? id))]
  }

  it.each(Object.entries(entrySources))('%s reaches no optional peer of another entry', (name, source) => {
    const reached = packagesBelow(source, ({ dynamicallyImportedIds }) => dynamicallyImportedIds)
    const allowed = [...Object.keys(manifest.dependencies), ...(loadedPeers[name] ?? [])]
    expect(reached.filter((each) => !allowed.includes(each))).toEqual([])
    expect(reached).toEqual(expect.arrayContaining([...(loadedPeers[name] ?? [])]))
  })

  it.each(Object.entries(entrySources))('%s loads optional peers on use', (_, source) => {
    const peers = Object.keys(manifest.peerDependencies)
    expect(packagesBelow(source, () => []).filter((each) => peers.includes(each))).toEqual([])
  })
})

const answers = {
  binding: 'JSONRPC',
  answer: 'hello',
  chunks: ['chunk 1 ', 'chunk 2 ', 'chunk 3 '],
  second: 'ask\nsecond',
  missing: 'TASK_NOT_FOUND',
}

/** Runs a page with the client in `client.mjs`. Returns the observations of its script. */
async function runPage(files: Readonly<Record<string, string>>, url: string, options: object = {}): Promise<unknown> {
  const folder = await mkdtemp(join(tmpdir(), 'dragoman-browser-'))
  try {
    for (const [name, code] of Object.entries(files)) await writeFile(join(folder, name), code)
    await writeFile(join(folder, 'package.json'), '{"type":"module"}')
    await writeFile(join(folder, 'page.mjs'), page(url, options))
    const { stdout } = await promisify(execFile)(process.execPath, ['page.mjs'], { cwd: folder, timeout: 20_000 })
    return JSON.parse(stdout)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** A page's script. The client sees no Node globals (Node's own `fetch` needs them); the script returns its observations. */
function page(url: string, options: object): string {
  return `
    const { stdout } = process
    for (const name of ['process', 'Buffer', 'global', 'require', 'setImmediate', 'clearImmediate']) {
      const own = globalThis[name]
      Object.defineProperty(globalThis, name, {
        get: () => (new Error().stack.split('\\n')[2].includes('client.mjs') ? undefined : own),
      })
    }
    const { connect } = await import('./client.mjs')
    const agent = await connect(${JSON.stringify(url)}, ${JSON.stringify(options)})
    const chunks = []
    for await (const update of agent.stream('chunks 3'))
      if (update.artifactUpdate) chunks.push(update.artifactUpdate.artifact.parts[0].text)
    const talk = agent.conversation()
    await talk.ask('ask')
    const second = (await talk.ask('second')).text
    const missing = await agent.task('none').get().catch((error) => error.code)
    const { dialect, binding } = agent.choice
    stdout.write(JSON.stringify({ dialect, binding, answer: (await agent.ask('hello')).text, chunks, second, missing }))
  `
}
