/** Rules about imports. The table below lists the allowed ones. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { Session } from 'node:inspector/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { connectOptionNames } from '../src/client/connect-options.js'
import { dialectNames } from '../src/dialects/dialect.js'
import { createDialects } from '../src/dialects/servers.js'
import { agent, serve, working } from '../src/index.js'
import { serveOptions } from '../src/server/options.js'

const src = fileURLToPath(new URL('../src/', import.meta.url))

/** Folders and files of `src/` that each folder may import besides itself. Folders end in a slash. */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  'model/': [],
  'dialects/': ['model/'],
  'transports/': [
    'model/',
    'dialects/dialect.ts',
    'dialects/client-dialect.ts',
    'dialects/negotiate.ts',
    'dialects/rest-route.ts',
    'dialects/error-details.ts',
    'net/node-internals.ts',
    'net/read-at-most.ts',
  ],
  'stores/': ['model/'],
  'engine/': [
    'model/',
    'stores/store.ts',
    'stores/complete-store.ts',
    'stores/records.ts',
    'stores/views.ts',
    'telemetry/api.ts',
    'telemetry/tracing.ts',
    'telemetry/engine-stats.ts',
  ],
  'auth/': ['model/', 'net/load-jose.ts', 'net/read-at-most.ts'],
  'net/': ['model/'],
  'push/': ['model/', 'dialects/', 'stores/store.ts', 'telemetry/tracing.ts', 'net/', 'signing/'],
  'telemetry/': ['model/', 'stores/store.ts', 'transports/call-record.ts'],
  'signing/': ['model/', 'net/load-jose.ts'],
  'registry-client/': ['model/', 'net/read-at-most.ts', 'transports/sse-reader.ts'],
  'client/': [
    'model/',
    'telemetry/api.ts',
    'telemetry/tracing.ts',
    'dialects/',
    'transports/',
    'net/addresses.ts',
    'net/address-rules.ts',
    'net/load-jose.ts',
    'net/read-at-most.ts',
    'net/runtime.ts',
    'signing/card-payload.ts',
    'signing/delivery-token.ts',
  ],
  'server/': [
    'model/',
    'dialects/',
    'transports/',
    'engine/',
    'auth/',
    'signing/',
    'push/',
    'telemetry/',
    'registry-client/',
    'net/addresses.ts',
    'net/node-internals.ts',
    'stores/store.ts',
    'stores/complete-store.ts',
    'stores/memory.ts',
  ],
  'orchestrator/': ['model/', 'engine/', 'client/', 'telemetry/tracing.ts'],
  'integrations/': [
    'model/',
    'client/',
    'engine/agent.ts',
    'engine/yields.ts',
    'server/endpoints.ts',
    'transports/exchange.ts',
    'transports/sse.ts',
  ],
  'cloudflare/': [
    'model/',
    'server/assemble.ts',
    'server/default-log.ts',
    'server/hosts.ts',
    'server/mounts.ts',
    'server/options.ts',
    'signing/signer.ts',
    'stores/complete-store.ts',
    'stores/store.ts',
    'stores/simple/simple-store.ts',
  ],
  'index.ts': ['model/', 'stores/', 'engine/', 'auth/', 'client/', 'server/'],
  'registry/': [
    'model/',
    'dialects/',
    'transports/exchange.ts',
    'transports/read-json.ts',
    'transports/sse.ts',
    'transports/sse-reader.ts',
    'registry-client/',
    'auth/',
    'net/',
    'client/',
    'server/',
    'stores/store.ts',
    'stores/records.ts',
    'stores/complete-store.ts',
  ],
  'console/': [
    'model/',
    'auth/',
    'dialects/',
    'transports/jsonrpc/server.ts',
    'transports/read-json.ts',
    'transports/sse.ts',
    'net/',
    'client/',
    'push/dead-letters.ts',
    'registry/',
    'registry-client/',
    'server/',
  ],
  'cli/': [
    'index.ts',
    'model/index.ts',
    'net/index.ts',
    'model/can-parse-url.ts',
    'model/error-facts.ts',
    'model/is-object.ts',
    'model/load-package.ts',
    'model/option-names.ts',
    'model/trim-end.ts',
    'model/user-agent.ts',
    'server/index.ts',
    'dialects/index.ts',
    'dialects/dialect.ts',
    'dialects/client-dialects.ts',
    'engine/index.ts',
    'auth/index.ts',
    'registry/index.ts',
    'client/index.ts',
    'console/index.ts',
    'integrations/',
    'orchestrator/index.ts',
    'stores/sqlite/index.ts',
    'stores/postgres/index.ts',
    'testing/echo-agent.ts',
  ],
  'testing/': [''],
}

/** Modules that are loaded on use, so that they do not slow down the start. */
const mayLoad: Readonly<Record<string, readonly string[]>> = {
  'server/': ['stores/sqlite/index.ts', 'stores/postgres/index.ts', 'stores/simple/index.ts'],
  'client/': ['net/node-dialer.ts', 'server/handler.ts'],
}

interface Import {
  readonly from: string
  readonly to: string
  readonly isDynamic: boolean
}

interface Source {
  /** Path below `src/`, with forward slashes. */
  readonly path: string
  /** Its first folder with a slash, or the file itself. */
  readonly folder: string
  readonly text: string
}

/** Contract suites are published, so they do not count as tests. */
/** Templates are sources of generated projects. */
const isTestCode = /\.(test|test-d|fixture)\.ts$|init-templates\.ts$/

const sources: readonly Source[] = readdirSync(src, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts') && !isTestCode.test(file))
  .map((file) => {
    const path = file.split(sep).join('/')
    return { path, folder: folderOf(path), text: withoutComments(readFileSync(join(src, file), 'utf8')) }
  })

/** The sources of a folder beside `src/`. */
function filesOf(folder: string): Source[] {
  const root = fileURLToPath(new URL(`../${folder}`, import.meta.url))
  const files = existsSync(root) ? readdirSync(root, { recursive: true, encoding: 'utf8' }) : []
  return files
    .filter((file) => /\.([jt]s|tsx)$/.test(file))
    .map((file) => ({
      path: `${folder}${file}`,
      folder,
      text: withoutComments(readFileSync(join(root, file), 'utf8')),
    }))
}

function folderOf(path: string): string {
  return path.includes('/') ? `${path.split('/')[0]}/` : path
}

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|\s)\/\/.*$/gm, '$1')
}

/** The modules below `src/` that `imports` of `package.json` names. */
const privateImports = new Map(
  Object.entries<{ 'dragoman-source': { default: string } }>(
    JSON.parse(readFileSync(join(src, '../package.json'), 'utf8')).imports,
  ).map(([name, { 'dragoman-source': source }]) => [name, source.default.slice('./src/'.length)]),
)

function importsOf({ path, text }: Source): Import[] {
  const found = text.matchAll(/(?:\bfrom|\bimport)\s*(\(\s*)?['"]([^'"]+)['"]/g)
  return [...found].map(([, parenthesis, specifier = '']) => ({
    from: path,
    to: specifier.startsWith('.') ? resolve(path, specifier) : (privateImports.get(specifier) ?? specifier),
    isDynamic: parenthesis !== undefined,
  }))
}

function resolve(from: string, specifier: string): string {
  return relative('/', join('/', dirname(from), specifier))
    .split(sep)
    .join('/')
    .replace(/\.js$/, '.ts')
}

const imports = sources.flatMap(importsOf)
const inside = imports.filter(({ to }) => to.endsWith('.ts'))

/** The modules of the engine. Each may import those after it. */
const engineModules = ['engine/admission/', 'engine/execution/', 'engine/following/']

/** Groups of files that import each other, directly or not. */
function cyclesIn(edges: readonly Import[]): string[] {
  const next = new Map<string, string[]>()
  for (const { from, to } of edges) next.set(from, [...(next.get(from) ?? []), to])
  const reach = (start: string): Set<string> => {
    const seen = new Set<string>()
    const queue = [start]
    for (let file = queue.pop(); file !== undefined; file = queue.pop())
      for (const to of next.get(file) ?? []) if (!seen.has(to)) queue.push(to) && seen.add(to)
    return seen
  }
  const reached = new Map([...next.keys()].map((file) => [file, reach(file)]))
  const groups = [...reached.keys()]
    .filter((file) => reached.get(file)?.has(file))
    .map((file) =>
      [...reached.keys()].filter((other) => reached.get(file)?.has(other) && reached.get(other)?.has(file)),
    )
  return [...new Set(groups.map((group) => group.sort().join(' ↔ ')))]
}

const covers = (allowed: string, path: string) =>
  allowed === '' || allowed.endsWith('/') ? path.startsWith(allowed) : path === allowed
const textOf = ({ from, to }: Import) => `${from} → ${to}`

/** Without patch numbers: versions of packages look the same with them. */
const protocolVersions = new Set(createDialects().flatMap(({ versions }) => versions))

/** The files that explain a v1 stream over JSON-RPC on SQLite: the table "Reading order" of the architecture page. */
const readingOrder =
  /## Reading order\n(.*?)\n## /s.exec(readFileSync(join(src, '../docs/architecture.md'), 'utf8'))?.[1] ?? ''
const streamPath = [...readingOrder.matchAll(/`([a-z][^`]*\/[^`]*\.ts)`/g)]
  .map(([, file = '']) => file)
  .filter((file) => !file.startsWith('test/'))

/** True if a file reads an option: `options.name`, or a pattern such as `{ name = 1 }: Options` or `{ name } = options`. */
function reads({ text }: Source, name: string): boolean {
  const isMember = new RegExp(`\\b(?:options|given|settled)\\??\\.${name}\\b`).test(text)
  const patterns = text.matchAll(/\{((?:[^{}]|\{\})*)\}\s*(?::\s*[A-Z]|=\s*(?:options|given|settled)\b)/g)
  const isNamed = new RegExp(`(?:^|,)\\s*${name}\\b`)
  return isMember || [...patterns].some(([, members = '']) => isNamed.test(members))
}

/** Executed characters of each file of `src` during some work, by V8's coverage. */
async function executedBy(work: () => Promise<unknown>): Promise<Map<string, number>> {
  const session = new Session()
  session.connect()
  try {
    await session.post('Profiler.enable')
    await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
    await work()
    const { result } = await session.post('Profiler.takePreciseCoverage')
    const executed = new Map<string, number>()
    for (const { url, functions } of result) {
      const file = url.startsWith('file:') ? fileURLToPath(url) : url
      if (!file.startsWith(src)) continue
      const ranges = functions.flatMap((each) => each.ranges)
      const isExecuted = new Uint8Array(Math.max(...ranges.map(({ endOffset }) => endOffset)))
      for (const { startOffset, endOffset, count } of ranges) isExecuted.fill(count > 0 ? 1 : 0, startOffset, endOffset)
      const characters = isExecuted.reduce((sum, each) => sum + each, 0)
      if (characters > 0) executed.set(file.slice(src.length).split(sep).join('/'), characters)
    }
    return executed
  } finally {
    await session.post('Profiler.disable')
    session.disconnect()
  }
}

describe('the architecture', () => {
  it('knows every folder of src', () => {
    expect([...new Set(sources.map(({ folder }) => folder))].filter((folder) => !(folder in mayImport))).toEqual([])
  })

  it('sees the imports of every file', () => {
    expect(sources.length).toBeGreaterThan(50)
    expect(inside.length).toBeGreaterThan(150)
    const files = new Set(
      readdirSync(src, { recursive: true, encoding: 'utf8' }).map((file) => file.split(sep).join('/')),
    )
    expect(inside.filter(({ to }) => !files.has(to)).map(textOf)).toEqual([])
  })

  it.each(Object.keys(mayImport))('lets %s import the folders in its row, and no others', (folder) => {
    const wrong = inside.filter(({ from, to, isDynamic }) => {
      if (folderOf(from) !== folder || folderOf(to) === folder) return false
      const allowed = [...(mayImport[folder] ?? []), ...(isDynamic ? (mayLoad[folder] ?? []) : [])]
      return !allowed.some((each) => covers(each, to))
    })
    expect(wrong.map(textOf)).toEqual([])
  })

  it('has no cycles between folders', () => {
    const arrows = new Map<string, Set<string>>()
    for (const { from, to } of inside) {
      const [start, end] = [folderOf(from), folderOf(to)]
      if (start !== end) arrows.set(start, (arrows.get(start) ?? new Set()).add(end))
    }
    const reach = (start: string, seen = new Set<string>()): Set<string> => {
      for (const next of arrows.get(start) ?? []) if (!seen.has(next)) reach(next, seen.add(next))
      return seen
    }
    expect([...arrows.keys()].filter((folder) => reach(folder).has(folder))).toEqual([])
  })

  it('has no import cycles between files, type imports included', () => {
    expect(cyclesIn(inside)).toEqual([])
  })

  it('names only files of src in comments', () => {
    const names = new Set(readdirSync(src, { recursive: true, encoding: 'utf8' }).map((file) => basename(file)))
    // Next.js has files of this name.
    names.add('route.ts')
    const commented = sources.flatMap(({ path }) =>
      [...readFileSync(join(src, path), 'utf8').matchAll(/^\s*(?:\/\/|\/?\*).*$/gm)].flatMap(([line]) =>
        [...line.matchAll(/`([\w./-]+\.ts)`/g)].map(([, name = '']) => ({ path, name })),
      ),
    )
    expect(commented.length).toBeGreaterThan(10)
    expect(commented.filter(({ name }) => !names.has(basename(name)))).toEqual([])
  })

  it('lets admission import execution, execution import following, and following neither', () => {
    const wrong = inside.filter(({ from, to }) => {
      const rank = (path: string) => engineModules.findIndex((folder) => path.startsWith(folder))
      return rank(to) >= 0 && rank(to) < (rank(from) < 0 ? 0 : rank(from))
    })
    expect(wrong.map(textOf)).toEqual([])
    const shared = inside.filter(
      ({ from, to }) =>
        /^engine\/[^/]+$/.test(from) &&
        !['engine/engine.ts', 'engine/index.ts'].includes(from) &&
        engineModules.some((folder) => to.startsWith(folder)),
    )
    expect(shared.map(textOf)).toEqual([])
  })

  it('explains a v1 stream on SQLite in at most 35 files, which hold most of the code that it executes', async () => {
    expect(streamPath.length).toBeLessThanOrEqual(35)
    expect(streamPath.length).toBeGreaterThan(30)
    expect(streamPath.filter((file) => !existsSync(join(src, file)))).toEqual([])
    const folder = mkdtempSync(join(tmpdir(), 'dragoman-path-'))
    const echo = agent('Echo', async function* ({ text }) {
      yield working('One moment')
      yield 'Hello, '
      yield text
    })
    const server = await serve(echo, { port: 0, store: `sqlite:${join(folder, 'tasks.sqlite')}`, log: false })
    const stream = async () => {
      const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text: 'world' }] }
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendStreamingMessage', params: { message } })
      const headers = { 'content-type': 'application/json', 'a2a-version': '1.0' }
      const response = await fetch(server.url, { method: 'POST', headers, body })
      expect(await response.text()).toContain('TASK_STATE_COMPLETED')
    }
    try {
      // The first stream loads modules and opens connections.
      await stream()
      const executed = await executedBy(stream)
      const total = [...executed.values()].reduce((sum, each) => sum + each, 0)
      const explained = streamPath.reduce((sum, file) => sum + (executed.get(file) ?? 0), 0)
      expect(executed.size).toBeGreaterThan(streamPath.length)
      expect(explained / total).toBeGreaterThan(0.75)
    } finally {
      await server.close()
      rmSync(folder, { recursive: true, force: true })
    }
  })

  it.each(['model/', 'dialects/'])('keeps %s pure: no Node, no clock, no random numbers, no timers', (folder) => {
    const impure =
      /\bDate\.now\b|\bnew Date\(\)|\bperformance\.now\b|\bMath\.random\b|\bcrypto\.|\bset(Timeout|Interval|Immediate)\b|\bfetch\(|\bprocess\.|\bBuffer\./
    const wrong = sources
      .filter((source) => source.folder === folder && impure.test(source.text))
      .map(({ path }) => path)
    expect(wrong).toEqual([])
    const outside = imports.filter(
      ({ from, to }) => folderOf(from) === folder && !to.endsWith('.ts') && !from.endsWith('.contract.ts'),
    )
    // This package has types only.
    expect(outside.filter(({ to }) => to !== '@standard-schema/spec').map(textOf)).toEqual([])
  })

  it('loads rarely used modules on use only', () => {
    const heavy = /^(pino|@opentelemetry\/(?!api$).*)$|^telemetry\/prometheus\.ts$/
    const early = imports.filter(({ from, to, isDynamic }) => {
      return heavy.test(to) && !isDynamic && from !== 'telemetry/prometheus.ts'
    })
    expect(early.map(textOf)).toEqual([])
    expect(imports.filter(({ to }) => heavy.test(to)).length).toBeGreaterThan(3)
  })

  it('has entries with explicit exports', () => {
    const entries = sources.filter(({ path }) => /(^|\/)index\.ts$/.test(path))
    expect(entries.length).toBeGreaterThan(5)
    expect(entries.filter(({ text }) => /export\s+\*/.test(text)).map(({ path }) => path)).toEqual([])
  })

  it('prints nothing outside the command line and the default log', () => {
    const printing = sources.filter(
      ({ folder, text }) => folder !== 'cli/' && /(?<![-/])\bconsole\.|\bprocess\.std(out|err)\b/.test(text),
    )
    expect(printing.map(({ path }) => path)).toEqual(['server/default-log.ts'])
  })

  it('does not call URL.canParse, which rejects valid URLs on Node 20 (model/can-parse-url.ts)', () => {
    expect(sources.filter(({ text }) => text.includes('URL.canParse')).map(({ path }) => path)).toEqual([])
  })

  it('uses undocumented members of Node.js and of dependencies in node-internals.ts only', () => {
    const undocumented = /\.emit\('listening'|\bhttp2Servers\b|(?<![\w$#'])_handle\b|\w[?!]?\._[a-z]|process\.binding\b/
    const users = sources.filter(({ text }) => undocumented.test(text)).map(({ path }) => path)
    expect(users).toEqual(['net/node-internals.ts'])
  })

  it('has examples that Node runs without compiling: TypeScript with `.ts` in relative imports', () => {
    const root = fileURLToPath(new URL('../examples/', import.meta.url))
    const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((file) =>
      /\.[cm]?[jt]sx?$/.test(file),
    )
    expect(files.filter((file) => !file.endsWith('.ts'))).toEqual([])
    const relatives = files.flatMap((file) =>
      [...readFileSync(join(root, file), 'utf8').matchAll(/\bfrom '(\.[^']*)'/g)].map(
        ([, path = '']) => `${file} → ${path}`,
      ),
    )
    expect(relatives.length).toBeGreaterThan(50)
    expect(relatives.filter((each) => !each.endsWith('.ts'))).toEqual([])
  })

  it('names dialects and protocol versions in src/dialects only', () => {
    const exempt: Readonly<Record<string, string>> = {
      'integrations/ai-sdk/chat-endpoint.ts': 'the version of another protocol',
      'integrations/ag-ui/run-encoder.ts': 'the version of another protocol',
      'model/service.ts': 'the dialect that stores keep for calls without one',
      'registry/routes/ard.ts': 'the version of another specification',
      'server/options.ts': 'the example in an error message',
    }
    const isSuite = /contract[^/]*\.ts$/ // suites are tests, and stores keep any name
    const names = new RegExp(
      `['"\`]v?(${[...dialectNames, ...protocolVersions].join('|').replaceAll('.', '\\.')})['"\`]`,
    )
    const elsewhere = sources.filter(({ folder, path }) => folder !== 'dialects/' && !isSuite.test(path))
    const page = filesOf('console/src/').filter(({ path }) => !isTestCode.test(path) && !path.includes('.test.'))
    const wrong = [...elsewhere, ...page].filter(({ text }) => names.test(text)).map(({ path }) => path)
    expect(wrong.sort()).toEqual(Object.keys(exempt).sort())
  })

  it('imports the members of a family in its list only', () => {
    const members = inside.filter(
      ({ from, to }) => folderOf(from) !== 'dialects/' && /^dialects\/(?!validate-card\/)[^/]+\//.test(to),
    )
    expect(members.map(textOf)).toEqual([])
  })

  it.each([
    ['serve', Object.keys(serveOptions), /^server\/|^dialects\/\w+\/index\.ts$/, ['server/options.ts']],
    [
      'serve.advanced',
      Object.keys(serveOptions.advanced),
      /^server\/|^dialects\/\w+\/index\.ts$/,
      ['server/options.ts'],
    ],
    ['connect', Object.keys(connectOptionNames), /^client\//, ['client/connect-options.ts']],
  ])('reads every option of %s outside of the table of options', (_, names, files, tables) => {
    const readers = sources.filter(({ path }) => files.test(path) && !tables.includes(path))
    const unread = [...names, 'misspelt'].filter((name) => !readers.some((source) => reads(source, name)))
    // `settleOptions` puts the members of `advanced` beside the others.
    expect(unread.filter((name) => name !== 'advanced')).toEqual(['misspelt'])
  })

  it('loads no test runner with dragoman/testing', () => {
    const reached = new Set(['testing/index.ts'])
    for (const file of reached) for (const { from, to } of imports) if (from === file) reached.add(to)
    expect(reached).toContain('stores/store.contract.ts')
    expect(reached).toContain('node:assert/strict')
    expect([...reached].filter((each) => /vitest|^node:test|jest|mocha|\.(test|fixture)\.ts$/.test(each))).toEqual([])
  })

  it('is used from outside through the public entries, except the test-bed agent and fixtures', () => {
    const outside = ['conformance/', 'examples/', 'console/']
      .flatMap(filesOf)
      .flatMap(importsOf)
      .filter(({ to }) => to.startsWith('src/') && to !== 'src/testing/echo-agent.ts' && !to.endsWith('.fixture.ts'))
    expect(outside.map(textOf)).toEqual([])
  })
})
