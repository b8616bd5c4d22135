/** Tests of single pages: architecture, operating and the decision about scaling. */
import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { report } from '../../bench/group-commit.ts'
import { instruments } from '../../src/telemetry/metrics.js'

const root = new URL('../../', import.meta.url)
const read = (path: string) => readFileSync(new URL(path, root), 'utf8')
const architecture = read('docs/architecture.md')
const sectionOf = (heading: string) => architecture.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? ''
const rowsOf = (section: string) =>
  section.split('\n').filter((line) => line.startsWith('| ') && !/^\|[-|: ]+$/.test(line))

describe('docs/architecture.md', () => {
  it('names only paths that exist', () => {
    const named = [...architecture.matchAll(/(?:src|test|console|docs)\/[\w./-]*(?:\.(?:ts|tsx|md)|\/(?=`))/g)].map(
      ([path]) => path,
    )
    expect(named.length).toBeGreaterThan(60)
    expect(named.filter((path) => !existsSync(new URL(path, root)))).toEqual([])
    const client = [...sectionOf('Calls of the client').matchAll(/`([\w-]+\.ts)`/g)].map(([, name = '']) => name)
    expect(client.length).toBeGreaterThan(5)
    expect(client.filter((name) => !existsSync(new URL(`src/client/${name}`, root)))).toEqual([])
  })

  it('lists the place of at least 25 kinds of changes', () => {
    const rows = rowsOf(sectionOf('I want to change …')).slice(1)
    expect(rows.length).toBeGreaterThanOrEqual(25)
    expect(rows.filter((row) => !/`(?:src|console)\//.test(row))).toEqual([])
  })

  it('has at most twelve terms in its glossary', () => {
    const terms = rowsOf(sectionOf('Glossary')).slice(1)
    expect(terms.length).toBeGreaterThan(5)
    expect(terms.length).toBeLessThanOrEqual(12)
  })
})

it('docs/operating.md explains every metric', () => {
  const [, section = ''] = read('docs/operating.md').split(/^## Metrics$/m)
  const rows = [...(section.split(/^## /m)[0] ?? '').matchAll(/^\| `([\w.]+)` \|[^|]+\|[^|]+\|[^|]+\|$/gm)]
  expect(rows.map(([, name]) => name)).toEqual(Object.values(instruments).map(({ name }) => name))
})

it('docs/decisions/0006 shows the output of bench/group-commit.ts', () => {
  const output = report()
  expect(output.split('\n')).toHaveLength(31)
  expect(read('docs/decisions/0006-scaling-beyond-one-database.md')).toContain(`\`\`\`\n${output}\n\`\`\``)
})
