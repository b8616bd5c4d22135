/** Words and forms that make prose hard to read are kept out of source comments and pages. */
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const root = fileURLToPath(new URL('../', import.meta.url))

/** Pronouns and metaphors that hide the subject of a sentence. */
const unclear = /\b(whoever|somebody|nobody|everybody|anybody|aloud|handful)\b/i
/** Comments that start with a relative clause instead of a noun or a verb. */
const clauseFirst = /^\s*(?:\/\*\*|\/\/|\*) (?:What|Who|Whoever|Where|How)\b/

function linesOf(folder: string, name: RegExp): readonly { readonly place: string; readonly line: string }[] {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && name.test(entry.name) && !/\.(test|fixture)\.ts$/.test(entry.name))
    .flatMap((entry) => {
      const path = join(entry.parentPath, entry.name)
      const lines = readFileSync(path, 'utf8').split('\n')
      return lines.map((line, index) => ({ place: `${relative(root, path)}:${index + 1}`, line }))
    })
}

it('names the subject in source files and pages', () => {
  // Comments of SQL steps that databases have run already: a test compares the steps by their digests.
  const fixed = /^src\/stores\/(postgres|sqlite)\/(migrations|append-function)\.ts:/
  const lines = [...linesOf('src', /\.ts$/), ...linesOf('docs', /\.md$/)]
  const wrong = lines.filter(({ place, line }) => unclear.test(line) && !fixed.test(place))
  expect(wrong.map(({ place, line }) => `${place}: ${line.trim()}`)).toEqual([])
})

it('begins comments with a noun or a verb', () => {
  const wrong = linesOf('src', /\.ts$/).filter(({ line }) => clauseFirst.test(line))
  expect(wrong.map(({ place, line }) => `${place}: ${line.trim()}`)).toEqual([])
})
