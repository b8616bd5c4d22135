/** `asModel` and `asChatTransport` in pages: bundled without Node modules, the AI SDK, the engine and OpenTelemetry. */
import { builtinModules } from 'node:module'
import { gzipSync } from 'node:zlib'
import { type Plugin, rolldown } from 'rolldown'
import { describe, expect, it } from 'vitest'

const builtins = new Set([...builtinModules, ...builtinModules.map((name) => `node:${name}`)])
const entry = '\0page'

/** Bundles a page. Modules that are loaded on use stay outside. */
async function bundle(code: string) {
  const outside: string[] = []
  const page: Plugin = {
    name: 'page',
    resolveId(id, _importer, { kind }) {
      if (id === entry) return id
      if (builtins.has(id) || id === 'ai') outside.push(id)
      return builtins.has(id) || id === 'ai' || kind === 'dynamic-import' ? { id, external: true } : null
    },
    load: (id) => (id === entry ? code : null),
  }
  const built = await rolldown({
    input: { page: entry },
    platform: 'browser',
    resolve: { conditionNames: ['dragoman-source', 'browser', 'import', 'default'] },
    plugins: [page],
  })
  const { output } = await built.generate({ format: 'esm', minify: true })
  await built.close()
  const [{ code: bundled, moduleIds, imports }] = output
  return { outside, imports, moduleIds, bytes: gzipSync(bundled, { level: 9 }).byteLength }
}

describe('dragoman/ai-sdk in a page', () => {
  it.each([
    ['asModel', 45_000],
    ['asChatTransport', 46_000],
    ['asTools', 46_000],
  ])('%s reaches nothing that a browser lacks', async (name, maxBytes) => {
    const { outside, imports, moduleIds, bytes } = await bundle(`export { ${name} } from 'dragoman/ai-sdk'`)
    expect(outside).toEqual([])
    expect(imports).toEqual([])
    const foreign = /\/(engine|server|stores|auth)\/|@opentelemetry|transports\/grpc|from-ai-sdk|chat-endpoint/
    expect(moduleIds.filter((id) => foreign.test(id))).toEqual([])
    expect(bytes).toBeLessThanOrEqual(maxBytes)
  })
})
