// Bundles `src` into the few files of `dist`. With one file for each module, every command and every `import` read about
// 500 files, which took half a second of CPU. Dependencies stay outside. Code that is loaded on demand (gRPC, databases,
// single commands) stays in files of its own.
import { readFileSync } from 'node:fs'
import { isAbsolute, resolve } from 'node:path'
import { rolldown } from 'rolldown'

const { exports, imports } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
const sourcesOf = (map) =>
  Object.values(map).flatMap(({ 'dragoman-source': source = [] }) =>
    typeof source === 'string' ? source : Object.values(source),
  )
const ownSources = [...sourcesOf(exports), ...sourcesOf(imports)].filter((path) => path.startsWith('./'))
const entries = new Set([...ownSources, './src/cli/main.ts'])

/**
 * Public entries are modules that re-export an `index.ts`. As an entry itself, an `index.ts` would connect all its exports:
 * a command that uses one error class of an entry would load all of the entry.
 */
const entryPrefix = 'entry:'
const publicEntries = {
  name: 'public entries',
  resolveId: (id) => (id.startsWith(entryPrefix) ? id : null),
  load: (id) =>
    id.startsWith(entryPrefix) ? `export * from ${JSON.stringify(resolve(id.slice(entryPrefix.length)))}` : null,
}

const inputOf = (path) => [
  path.slice('./src/'.length, -'.ts'.length),
  path.endsWith('/index.ts') ? entryPrefix + path : path,
]

const bundle = await rolldown({
  input: Object.fromEntries([...entries].map(inputOf)),
  platform: 'node',
  plugins: [publicEntries],
  // The runtime holds the helpers for syntax that Node 20 does not have (`using`).
  external: (id) => !isAbsolute(id) && !/^(\.|entry:|@oxc-project\/runtime\/)/.test(id),
  transform: { target: 'es2023' },
  // Otherwise a module that several entries share, such as the bundler's own helpers, may become a part of one of them.
  experimental: { chunkOptimization: { mergeCommonChunks: false } },
})
await bundle.write({
  dir: 'dist',
  chunkFileNames: 'chunks/[name]-[hash].js',
  cleanDir: true,
  // Every file costs about 0.6 ms. The model consists of small modules, and most programs need most of them.
  codeSplitting: { groups: [{ name: 'model', test: /src\/model\// }] },
})
