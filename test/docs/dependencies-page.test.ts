import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
}

function namesIn(path: string): readonly string[] {
  const { dependencies = {}, devDependencies = {}, peerDependencies = {} } = JSON.parse(read(path)) as Manifest
  return [...Object.keys(dependencies), ...Object.keys(devDependencies), ...Object.keys(peerDependencies)]
}

describe('docs/dependencies.md', () => {
  it('has a row for every dependency, and no others', () => {
    const rows = read('docs/dependencies.md')
      .split('\n')
      .filter((line) => line.startsWith('| `'))
    const named = rows.flatMap((row) => [...(row.split('|')[1] ?? '').matchAll(/`([^`]+)`/g)].map(([, name]) => name))
    const wanted = [...namesIn('package.json'), ...namesIn('console/package.json')]
    expect(named.toSorted()).toEqual([...new Set(wanted)].toSorted())
  })
})

describe('the lockfile', () => {
  it('has an integrity for every package of the registry', () => {
    const { packages } = JSON.parse(read('package-lock.json')) as {
      readonly packages: Readonly<Record<string, LockEntry>>
    }
    const installed = Object.entries(packages).filter(([place, { link }]) => place.includes('node_modules/') && !link)
    expect(installed.length).toBeGreaterThan(10)
    const isWhole = ({ integrity, inBundle }: LockEntry) => inBundle || /^sha512-[\w+/]{86}==$/.test(integrity ?? '')
    expect(installed.filter(([, entry]) => !isWhole(entry)).map(([place]) => place)).toEqual([])
  })
})

interface LockEntry {
  readonly link?: boolean
  readonly inBundle?: boolean
  readonly integrity?: string
}
