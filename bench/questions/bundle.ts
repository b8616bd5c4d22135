/** The size of the client in a web page: the code that a page loads before it calls an agent of v1.0. */
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { rolldown } from 'rolldown'
import { defineQuestion } from './question.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const page = '\0page'

export const bundle = defineQuestion({
  name: 'bundle',
  title: 'Size of the client in a web page, minified and compressed',
  rounds: { full: 1, quick: 1 },
  columns: [{ key: 'kb', title: 'kB', digits: 1 }],
  settings: () => ({}),
  entries: () => [
    {
      id: 'connect',
      server: 'dragoman-memory',
      title: '`connect`, without the code that is loaded on use',
      measure: async () => ({ kb: (await entryBytes()) / 1000 }),
    },
  ],
  budgets: ({ median }) => [
    { what: 'the client in a web page', value: median('connect', 'kb'), atMost: 35, unit: ' kB' },
  ],
})

async function entryBytes(): Promise<number> {
  const built = await rolldown({
    input: page,
    cwd: root,
    platform: 'browser',
    plugins: [
      {
        name: 'page',
        resolveId(id, _importer, { kind }) {
          if (id === page) return page
          return kind === 'dynamic-import' ? { id, external: true } : null
        },
        load: (id) => (id === page ? `export { connect } from ${JSON.stringify(`${root}dist/client/index.js`)}` : null),
      },
    ],
  })
  const { output } = await built.generate({ format: 'esm', minify: true })
  await built.close()
  return gzipSync(output[0].code, { level: 9 }).byteLength
}
