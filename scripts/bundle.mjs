// Bundles `src` into the few files of `dist`. With one file for each module, every command and every `import` read about
// 500 files, which took half a second of CPU. Dependencies stay outside. Code that is loaded on demand (gRPC, databases,
// single commands) stays in files of its own.
import { readFileSync } from 'node:fs'
import { isAbsolute } from 'node:path'
import { rolldown } from 'rolldown'

const { exports, imports } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
const sourcesOf = (map) =>
  Object.values(map).flatMap(({ 'dragoman-source': source = [] }) =>
    typeof source === 'string' ? source : Object.values(source),
  )
const entries = new Set([...sourcesOf(exports), ...sourcesOf(imports), './src/cli/main.ts'])

const bundle = await rolldown({
  input: Object.fromEntries([...entries].map((path) => [path.slice('./src/'.length, -'.ts'.length), path])),
  platform: 'node',
  // The runtime holds the helpers for syntax that Node 20 does not have (`using`).
  external: (id) => !isAbsolute(id) && !/^(\.|@oxc-project\/runtime\/)/.test(id),
  transform: { target: 'es2023' },
})
await bundle.write({ dir: 'dist', chunkFileNames: 'chunks/[name]-[hash].js', cleanDir: true })
