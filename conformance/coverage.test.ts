/** Reads from the sources which requirements have a test, and fails when one has none. */
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { notYet } from './not-yet.js'
import { requirements } from './requirements.js'

const root = fileURLToPath(new URL('..', import.meta.url))
const idPattern = String.raw`(?:R(?:3|11|L|M)?-[A-Z0-9]+-\d+|E-\d+)`
const idList = `${idPattern}(?:, ${idPattern})*`
/** `proves('R-GET-1', …)` and `proves(['R-GET-1', …], …)`. */
const provesCall = /\bproves\(\s*(\[[^\]]*\]|'[^']*')/g
/** `it('E-4: …')` and `it.each(…)('E-4, E-10: …')`. */
const namedTest = new RegExp(String.raw`\(\s*['"\`](${idList}):`, 'g')
/** `it('refuses … (R3-DM-2)')`: a text that a call begins with. Comments have no such place. */
const firstText = /\(\s*(['"`])((?:(?!\1)[^\\\n]|\\.)*)\1/g
const cited = new RegExp(String.raw`\((${idList})\)`, 'g')

function testFiles(): string[] {
  return ['src', 'test', 'conformance']
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((file) => join(root, folder, file)),
    )
    .filter((file) => /\.(test|contract)\.ts$/.test(file) && file !== fileURLToPath(import.meta.url))
}

function idsIn(source: string): string[] {
  const proven = [...source.matchAll(provesCall)].flatMap(([, list = '']) =>
    [...list.matchAll(/'([^']*)'/g)].map(([, id = '']) => id),
  )
  const named = [...source.matchAll(namedTest)].flatMap(([, list = '']) => list.split(', '))
  const titles = [...source.matchAll(firstText)].map(([, , title = '']) => title)
  const inTitles = titles.flatMap((title) => [...title.matchAll(cited)].flatMap(([, list = '']) => list.split(', ')))
  return [...proven, ...named, ...inTitles]
}

const proofs = new Map<string, string[]>()
for (const file of testFiles()) {
  for (const id of idsIn(readFileSync(file, 'utf8'))) proofs.set(id, [...(proofs.get(id) ?? []), relative(root, file)])
}
const known = new Set(requirements.map(({ id }) => id))
const deferred = new Set(notYet.map(({ id }) => id))

describe('requirements', () => {
  it('are listed once each', () => {
    expect(requirements.map(({ id }) => id).filter((id, place, all) => all.indexOf(id) !== place)).toEqual([])
    expect(notYet.map(({ id }) => id).filter((id, place, all) => all.indexOf(id) !== place)).toEqual([])
  })

  it('exist if a test or the list of what is not done yet names them', () => {
    const unknown = [...proofs]
      .filter(([id]) => !known.has(id))
      .map(([id, files]) => `${id} in ${[...new Set(files)].join(', ')}`)
    expect(unknown).toEqual([])
    expect([...deferred].filter((id) => !known.has(id))).toEqual([])
  })

  it('that must be kept have a test, or a reason why not yet', () => {
    const unproven = requirements.filter(({ id, level }) => level === 'M' && !proofs.has(id) && !deferred.has(id))
    expect(unproven.map(({ id, text }) => `${id}: ${text}`)).toEqual([])
  })

  it('that have a test are no longer listed as not done yet', () => {
    expect([...deferred].filter((id) => proofs.has(id))).toEqual([])
  })

  it('are put off for a reason that says something', () => {
    for (const { id, reason } of notYet) expect(reason, id).toMatch(/^[A-Z].{20,}[^.]$/)
  })
})
