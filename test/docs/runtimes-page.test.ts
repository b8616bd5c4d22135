/** The page about runtimes shows the examples, which `npm run test:integrations` runs on the real runtimes. */
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { readPage, snippet } from '../process/snippets.js'

it.each(['deno.ts', 'bun.ts', 'next-route.ts', 'nest.ts', 'cloudflare.ts'])(
  'docs/integrations/runtimes.md shows %s',
  (name) => {
    const example = readFileSync(new URL(`../../examples/integrations/${name}`, import.meta.url), 'utf8')
    expect(snippet(readPage('docs/integrations/runtimes.md'), name)).toBe(example.replace(/^\/\*\*.*\*\/\n/, ''))
  },
)
