/** The page for operators names every metric, with when to worry, and nothing that is none. */
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { instruments } from '../../src/telemetry/instruments.js'

it('docs/operating.md explains every metric', () => {
  const page = readFileSync(new URL('../../docs/operating.md', import.meta.url), 'utf8')
  const [, section = ''] = page.split(/^## Metrics$/m)
  const rows = [...(section.split(/^## /m)[0] ?? '').matchAll(/^\| `([\w.]+)` \|[^|]+\|[^|]+\|[^|]+\|$/gm)]
  expect(rows.map(([, name]) => name)).toEqual(Object.values(instruments).map(({ name }) => name))
})
