/** Packs the package, installs it in another folder and runs it there; and counts the modules that programs load. */
import { execFile, execFileSync, spawn } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { builtLibrary, startServer, temporaryFolder } from './server-process.js'

const root = resolve(import.meta.dirname, '../..')
const command = join(root, 'bin/dragoman.js')
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  readonly exports: Readonly<Record<string, unknown>>
  readonly peerDependencies: Readonly<Record<string, string>>
}

const entries = Object.keys(manifest.exports).filter((name) => !/[*]|package\.json/.test(name))

describe('the packed package', () => {
  let folder: string
  let tarball: string
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'dragoman-pack-'))
    execFileSync('npm', ['pack', '--ignore-scripts', '--loglevel=error', '--pack-destination', folder], { cwd: root })
    tarball = readdirSync(folder).find((name) => name.endsWith('.tgz')) ?? ''
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  /** Installs the package beside others. Links them, so that the test does not use the npm registry. */
  function install(app: string, packages: readonly string[]): string {
    const modules = join(folder, app, 'node_modules')
    mkdirSync(modules, { recursive: true })
    for (const name of packages) {
      mkdirSync(dirname(join(modules, name)), { recursive: true })
      symlinkSync(join(root, 'node_modules', name), join(modules, name))
    }
    mkdirSync(join(modules, 'dragoman'))
    execFileSync('tar', ['-xzf', join(folder, tarball), '--strip-components=1', '-C', join(modules, 'dragoman')])
    return modules
  }

  it('can be installed elsewhere and serves the agent of the README', { timeout: 120_000 }, async () => {
    const modules = install(
      'app',
      readdirSync(join(root, 'node_modules')).filter((name) => !name.startsWith('.')),
    )
    const program = `
        import { agent, serve } from 'dragoman'
        const shout = agent('Shout', async function* ({ text }) {
          yield text.toUpperCase()
        })
        const { url } = await serve(shout, { port: 0, store: 'sqlite:tasks.sqlite' })
        const message = { messageId: 'm1', role: 'ROLE_USER', parts: [{ text: 'hello' }] }
        const answer = await fetch(url + 'message:send', { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ message }) })
        console.log((await answer.json()).task.artifacts[0].parts[0].text)
        process.exit(0)`
    writeFileSync(join(folder, 'app', 'agent.mjs'), program)
    expect(await run(process.execPath, ['agent.mjs'], join(folder, 'app'))).toBe('HELLO\n')
    const help = await run(
      process.execPath,
      [join(modules, 'dragoman', 'bin', 'dragoman.js'), 'serve', '--help'],
      folder,
    )
    expect(help).toContain('--echo')
    await expectInitToUseTarball(join(folder, 'app'), `../${tarball}`)
    await expectMissingPackagesNamed(join(folder, 'app'))
    expect(readdirSync(join(modules, 'dragoman', 'proto'))).toContain('a2a_v1.proto')
    expect(readdirSync(join(modules, 'dragoman', 'dist'))).not.toContain('examples')
  })

  it('loads without optional peers, whose absence is named on use', { timeout: 60_000 }, async () => {
    install('bare', linkedPackages())
    const app = join(folder, 'bare')
    const loading = `
      const failed = []
      for (const entry of ${JSON.stringify(entries.map((name) => join('dragoman', name)))})
        await import(entry).catch(({ message }) => failed.push([entry, message]))
      console.log(JSON.stringify(failed))`
    writeFileSync(join(app, 'load.mjs'), loading)
    expect(JSON.parse(await run(process.execPath, ['load.mjs'], app))).toEqual([])
    for (const [code, feature, name] of peerUses) {
      const program = `
        import { agent, connect } from 'dragoman'
        import { createHandler } from 'dragoman/server'
        const shout = agent('Shout', async function* () { yield 'HI' })
        const client = await connect(await createHandler(shout))
        ${code}`
      writeFileSync(join(app, 'use.mjs'), program)
      const expected = `Error: ${feature} needs the package \`${name}\`; run \`npm install ${name}\`\n`
      await expect(run(process.execPath, ['use.mjs'], app), name).rejects.toThrow(expected)
    }
    const mcp = ['node_modules/dragoman/bin/dragoman.js', 'mcp', 'http://127.0.0.1:1']
    await expect(run(process.execPath, mcp, app)).rejects.toThrow(
      '`dragoman mcp` needs the package `@modelcontextprotocol/server`; run `npm install @modelcontextprotocol/server`',
    )
  })

  /** Returns the errors in a program and in the declarations of this package, without those of other packages. */
  async function typeErrors(app: string, program: string, peers: Readonly<Record<string, string>>) {
    // The Postgres store shows types of `pg`, which has none of its own.
    const modules = install(app, [...new Set([...linkedPackages(), '@types/node', '@types/pg'])])
    for (const [name, place] of Object.entries(peers))
      symlinkSync(join(root, 'node_modules', place), join(modules, name))
    writeFileSync(join(folder, app, 'package.json'), '{ "type": "module" }')
    writeFileSync(join(folder, app, 'uses.ts'), program)
    const options = ['--strict', '--target', 'es2023', '--module', 'nodenext', '--noEmit', '--types', 'node']
    const compiler = [join(root, 'node_modules/typescript/bin/tsc'), ...options, '--skipLibCheck', 'false', 'uses.ts']
    const output = await run(process.execPath, compiler, join(folder, app)).catch(({ message }: Error) => message)
    return output.split('\n').filter((line) => /^uses\.ts|node_modules\/dragoman\//.test(line))
  }

  it.each(['ai-v6', 'ai'])('has declarations of dragoman/ai-sdk for %s', { timeout: 60_000 }, async (peer) => {
    expect(await typeErrors(`types-${peer}`, usesOfAiSdk, { ai: peer })).toEqual([])
  })

  it('has declarations that need no optional peer, for entries without one', { timeout: 60_000 }, async () => {
    const withPeers = ['ai-sdk', 'langgraph', 'mcp', 'openai-agents'].map((name) => `./${name}`)
    const names = entries.filter((name) => !withPeers.includes(name))
    const program = names.map((name, place) => `export * as entry${place} from '${join('dragoman', name)}'`).join('\n')
    expect(await typeErrors('types', program, {})).toEqual([])
  })

  it('stays small: installed packages and their bytes', () => {
    const modules = install('size', [])
    const installed = productionPackages()
    const bytes = installed.reduce((sum, { path }) => sum + bytesIn(path), bytesIn(join(modules, 'dragoman')))
    expect(installed.length).toBeLessThanOrEqual(maxPackages)
    expect(bytes / 2 ** 20).toBeLessThanOrEqual(maxMegabytes)
    const names = installed.map(({ name }) => name)
    const peers = Object.keys(manifest.peerDependencies)
    expect(names.filter((name) => peers.includes(name) || ['openai', 'zod'].includes(name))).toEqual([])
  })
})

/** Packages that an installation without optional peers adds, and their size with that of this package. */
const maxPackages = 88
const maxMegabytes = 56

/** Each function of `dragoman/ai-sdk` in the place that the AI SDK has for its result. */
const usesOfAiSdk = `
  import { type ChatTransport, generateText, streamText, ToolLoopAgent, type UIMessage } from 'ai'
  import { serve } from 'dragoman'
  import { asChatTransport, asModel, asTools, chatEndpoint, fromAiSdk } from 'dragoman/ai-sdk'
  const model = asModel('localhost:8001')
  const tools = await asTools('localhost:8001')
  const { text } = await generateText({ model, tools, prompt: 'Dress me' })
  export const transport: ChatTransport<UIMessage> = asChatTransport('localhost:8001')
  export const writer = fromAiSdk((turn) => streamText({ model, prompt: turn.text }), { name: text })
  const payer = fromAiSdk(new ToolLoopAgent({ model, tools }), { name: 'Payer' })
  await serve(payer, { endpoints: [chatEndpoint({ path: '/api/chat' })] })
  // @ts-expect-error The declarations are found, and not \`any\`.
  asModel(1)`

/** Uses of optional peers: the code, the subject of the error, and the missing package. */
const peerUses: readonly (readonly [string, string, string])[] = [
  [
    `const { fromOpenAiAgent } = await import('dragoman/openai-agents')
     const payer = fromOpenAiAgent({ name: 'Payer' }, 'Payer')
     const served = await connect(await createHandler(payer, { log: ({ error }) => console.error(\`\${error}\`) }))
     await served.ask('pay').catch(() => undefined)
     process.exit(1)`,
    'dragoman/openai-agents',
    '@openai/agents-core',
  ],
  [
    `const { mcpEndpoint } = await import('dragoman/mcp')
     const served = await createHandler(shout, { endpoints: [mcpEndpoint()], log: ({ error }) => console.error(\`\${error}\`) })
     const { status } = await served.fetch(new Request('http://localhost/mcp', { method: 'POST' }))
     process.exit(status === 500 ? 1 : 0)`,
    'The MCP endpoint',
    '@modelcontextprotocol/server',
  ],
  [
    "const { asTools } = await import('dragoman/langgraph'); await asTools(client)",
    'asTools of dragoman/langgraph',
    '@langchain/core',
  ],
]

interface InstalledPackage {
  readonly name: string
  readonly path: string
  /** Inside another package, which has another version of it. */
  readonly isNested: boolean
}

interface Lockfile {
  readonly packages: Readonly<Record<string, LockEntry>>
}

interface LockEntry {
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

/** The packages that users of this package install, by the lockfile; optional ones for this platform only. */
function productionPackages(): readonly InstalledPackage[] {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as Lockfile
  const placeOf = (name: string, from: string): string | undefined => {
    const place = join(from, 'node_modules', name)
    if (packages[place]) return place
    return from === '' ? undefined : placeOf(name, from.replace(/(?:^|\/)node_modules\/(?:@[^/]+\/)?[^/]+$/, ''))
  }
  const found = new Map<string, InstalledPackage>()
  const waiting = ['']
  for (let from = waiting.pop(); from !== undefined; from = waiting.pop()) {
    const { dependencies = {}, optionalDependencies = {} } = packages[from] ?? {}
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
      const place = placeOf(name, from)
      if (place === undefined || found.has(place) || !existsSync(join(root, place))) continue
      found.set(place, { name, path: join(root, place), isNested: place !== join('node_modules', name) })
      waiting.push(place)
    }
  }
  return [...found.values()]
}

/** Names of the packages that an installation without optional peers has at its top level. */
function linkedPackages(): readonly string[] {
  return productionPackages().flatMap(({ name, isNested }) => (isNested ? [] : [name]))
}

/** Bytes of the files of a package, without packages inside it. */
function bytesIn(path: string): number {
  return readdirSync(path, { withFileTypes: true }).reduce((sum, entry) => {
    if (entry.name === 'node_modules') return sum
    const place = join(path, entry.name)
    return sum + (entry.isDirectory() ? bytesIn(place) : statSync(place).size)
  }, 0)
}

const unusedPackages = [
  ...[
    '@grpc/grpc-js',
    '@bufbuild/protobuf',
    '@opentelemetry/api',
    '@opentelemetry/sdk-metrics',
    'jose',
    'oauth4webapi',
  ],
  ...[
    'pg',
    'pino',
    'ai',
    'minisearch',
    '@clack/prompts',
    '@modelcontextprotocol/server',
    '@modelcontextprotocol/client',
  ],
]

/** Start-up time depends on the number of files: each takes about 0.6 ms, and more if it is large. */
describe('programs load only the modules that they use', () => {
  const agentWith = (store: string) => `
    import { agent, serve } from ${JSON.stringify(builtLibrary)}
    const shout = agent('Shout', async function* ({ text }) {
      yield text.toUpperCase()
    })
    await serve(shout, { port: 0, store: '${store}' })
    process.exit(0)`

  it('dragoman --version', async () => {
    const { files, packages, sources } = await loadedBy([command, '--version'])
    expect(packages).toEqual(['commander', 'picocolors'])
    expect(sources.filter((path) => !/^(cli|model)\//.test(path))).toEqual(['registry-client/registry-error.ts'])
    expect(sources.filter((path) => /^cli\/commands\/(?!index)/.test(path))).toEqual([])
    expect(files.length).toBeLessThan(20)
  })

  it('dragoman send', async () => {
    await using server = await startServer()
    const { files, packages, sources } = await loadedBy([command, 'send', server.url, 'hello'])
    expect(sources).toContain('client/connect.ts')
    expect(packages.filter((name) => ['libsql', ...unusedPackages].includes(name))).toEqual([])
    const others =
      /^(server|engine|stores|auth|push|signing|console|orchestrator|integrations)\/|^registry\/(?!resolvers\/)/
    expect(sources.filter((path) => others.test(path))).toEqual([])
    expect(sources.filter((path) => /^dialects\/(?!v1\/|validate-card\/)[^/]+\/(?!facts|outline)/.test(path))).toEqual(
      [],
    )
    expect(files.filter((path) => !path.includes('/undici/')).length).toBeLessThan(60)
  })

  it('dragoman mcp, before it has to serve', async () => {
    const { packages, sources } = await loadedBy([command, 'mcp', '--help'])
    expect(sources).toContain('cli/commands/mcp.ts')
    expect(packages.filter((name) => ['libsql', ...unusedPackages].includes(name))).toEqual([])
    expect(sources.filter((path) => path.startsWith('integrations/'))).toEqual([])
  })

  it('an agent with the MCP endpoint, before the first request', async () => {
    await using folder = await temporaryFolder()
    const program = join(folder.path, 'agent.mjs')
    const entry = new URL('integrations/mcp/index.js', builtLibrary).href
    const endpoint = `import { mcpEndpoint } from ${JSON.stringify(entry)}`
    writeFileSync(
      program,
      `${endpoint}\n${agentWith('memory').replace("store: 'memory'", 'endpoints: [mcpEndpoint()]')}`,
    )
    const { packages, sources } = await loadedBy([program], folder.path)
    expect(sources).toContain('integrations/mcp/endpoint.ts')
    expect(packages.filter((name) => unusedPackages.includes(name))).toEqual([])
  })

  it.each([
    ['memory', 60],
    ['sqlite:tasks.sqlite', 75],
  ])('an agent with the store %s', async (store, maxFiles) => {
    await using folder = await temporaryFolder()
    const program = join(folder.path, 'agent.mjs')
    writeFileSync(program, agentWith(store))
    const { files, packages, sources } = await loadedBy([program], folder.path)
    expect(sources).toContain('server/serve.ts')
    expect(packages.filter((name) => ['undici', 'commander', ...unusedPackages].includes(name))).toEqual([])
    expect(packages.includes('libsql')).toBe(store !== 'memory')
    const others = /^(cli|client|console|orchestrator|registry|stores\/(postgres|simple)|telemetry\/prometheus)\b/
    expect(sources.filter((path) => others.test(path))).toEqual([])
    expect(files.length).toBeLessThan(maxFiles)
  })
})

interface Loaded {
  readonly files: readonly string[]
  /** Names of the packages, sorted. */
  readonly packages: readonly string[]
  /** Modules below `src/` that the bundler put into the files. */
  readonly sources: readonly string[]
}

/** Runs a program to its end and returns the modules that it loaded, by the coverage that V8 reports. */
async function loadedBy(args: readonly string[], cwd = root): Promise<Loaded> {
  await using folder = await temporaryFolder()
  const env = { ...process.env, NODE_V8_COVERAGE: folder.path, DRAGOMAN_CONFIG_DIR: folder.path }
  await promisify(execFile)(process.execPath, args, { cwd, env, timeout: 30_000 })
  const [report = ''] = readdirSync(folder.path)
  const { result } = JSON.parse(readFileSync(join(folder.path, report), 'utf8')) as {
    readonly result: readonly { readonly url: string }[]
  }
  const files = result.flatMap(({ url }) => (url.startsWith('file:') ? fileURLToPath(url) : []))
  const nameOf = (path: string) => /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? []
  const own = files.filter((path) => path.startsWith(join(root, 'dist')))
  const regions = (path: string) => [...readFileSync(path, 'utf8').matchAll(/^\/\/#region src\/(.*)$/gm)]
  return {
    files,
    packages: [...new Set(files.flatMap(nameOf))].sort(),
    sources: own.flatMap(regions).map(([, path = '']) => path),
  }
}

/** `dragoman init` repeats the reference that npm wrote into its lockfile. */
async function expectInitToUseTarball(app: string, tarball: string): Promise<void> {
  const lockfile = join(app, 'node_modules', '.package-lock.json')
  const dependencyWith = async (resolved: string) => {
    writeFileSync(lockfile, JSON.stringify({ packages: { 'node_modules/dragoman': { resolved } } }))
    await run(process.execPath, ['node_modules/dragoman/bin/dragoman.js', 'init', 'made', '--force'], app)
    const manifest = JSON.parse(readFileSync(join(app, 'made', 'package.json'), 'utf8')) as {
      readonly dependencies: { readonly dragoman: string }
    }
    return manifest.dependencies.dragoman
  }
  expect(await dependencyWith('https://registry.example/dragoman.tgz')).toMatch(/^\^\d/)
  expect(await dependencyWith(`file:${tarball}`)).toBe(`file:${resolve(app, tarball)}`)
  rmSync(lockfile)
  writeFileSync(join(app, 'package.json'), JSON.stringify({ dependencies: { dragoman: `file:${tarball}` } }))
  await run(process.execPath, ['node_modules/dragoman/bin/dragoman.js', 'init', 'made', '--force'], app)
  expect(readFileSync(join(app, 'made', 'package.json'), 'utf8')).toContain(`"file:${resolve(app, tarball)}"`)
}

async function expectMissingPackagesNamed(app: string): Promise<void> {
  for (const name of ['libsql', 'pg', 'pino', 'jose', '@grpc']) rmSync(join(app, 'node_modules', name))
  const serveWith = (...options: string[]) =>
    run(process.execPath, ['node_modules/dragoman/bin/dragoman.js', 'serve', '--echo', '--port', '0', ...options], app)
  await expect(serveWith('--log', 'text', '--store', 'sqlite:x.sqlite')).rejects.toThrow(
    'The SQLite store needs the package `libsql`; run `npm install libsql`',
  )
  await expect(serveWith('--log', 'text', '--store', 'file:x')).rejects.toThrow('needs the package `libsql`')
  await expect(serveWith('--log', 'text', '--store', 'postgres://localhost:1/x')).rejects.toThrow(
    'The Postgres store needs the package `pg`; run `npm install pg`',
  )
  await expect(serveWith('--log', 'json')).rejects.toThrow('run `npm install pino`')
  const grpc = `
    import { connect } from 'dragoman/client'
    const card = { name: 'a', description: 'a', version: '1', capabilities: {}, skills: [], defaultInputModes: [], defaultOutputModes: [],
      supportedInterfaces: [{ url: 'localhost:1', protocolBinding: 'GRPC', protocolVersion: '1.0' }] }
    await (await connect(card)).ask('hi')`
  writeFileSync(join(app, 'grpc.mjs'), grpc)
  await expect(run(process.execPath, ['grpc.mjs'], app)).rejects.toThrow('run `npm install @grpc/grpc-js`')
  writeFileSync(
    join(app, 'jose.mjs'),
    `import { generateSigningKey } from 'dragoman/server'\nawait generateSigningKey()`,
  )
  await expect(run(process.execPath, ['jose.mjs'], app)).rejects.toThrow('run `npm install jose`')
}

function run(command: string, args: readonly string[], cwd: string): Promise<string> {
  return new Promise((done, fail) => {
    const child = spawn(command, args, { cwd })
    let output = ''
    let errors = ''
    child.stdout.on('data', (chunk) => {
      output += String(chunk)
    })
    child.stderr.on('data', (chunk) => {
      errors += String(chunk)
    })
    child.on('close', (code) => (code === 0 ? done(output) : fail(new Error(errors || output))))
  })
}
