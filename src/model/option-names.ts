/** Rejects options that do not exist, with the name that was probably meant. */
import { AuthorError } from './author-error.js'
import { clip } from './errors.js'

/** `true`: the value is not checked. Names: of an option that is an object. A list: of an option that lists objects. */
type Members = true | OptionNames | readonly [OptionNames]

/** Names of options, and below them those of options that are objects themselves. */
export interface OptionNames {
  readonly [name: string]: Members
}

/** A list of names that the compiler holds against the options' own type. */
export type NamesOf<Options> = { readonly [Name in keyof Required<Options>]: Members }

/** The names of an object of defaults. */
export function namesIn<Defaults extends object>(defaults: Defaults): { readonly [Name in keyof Defaults]: true } {
  return Object.fromEntries(Object.keys(defaults).map((name) => [name, true])) as { [Name in keyof Defaults]: true }
}

/** Throws an `AuthorError`, which is a `TypeError`, for the first unknown option. Options that are `undefined` count as absent. */
export function assertOptions(owner: string, options: unknown, names: OptionNames): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options))
    throw new AuthorError(`The options of ${owner} must be an object: { ${Object.keys(names)[0]}: … }`)
  for (const name of Object.keys(options)) {
    const value: unknown = options[name as keyof typeof options]
    if (value === undefined) continue
    const known = Object.hasOwn(names, name) ? names[name] : undefined
    if (known === undefined) throw new AuthorError(`Unknown option of ${owner}: ${clip(name)}. ${advice(name, names)}`)
    if (known !== true && typeof value === 'object' && value !== null) assertMembers(`${owner}.${name}`, value, known)
  }
}

function assertMembers(owner: string, value: object, known: Exclude<Members, true>): void {
  if (!isList(known)) assertOptions(owner, value, known)
  else if (Array.isArray(value)) assertEach(owner, value, known[0])
}

/** As `assertOptions`, for each object in a list; entries that are no objects are left to the function that reads them. */
export function assertEach(owner: string, list: readonly unknown[], names: OptionNames): void {
  for (const [place, each] of list.entries())
    if (typeof each === 'object' && each !== null) assertOptions(`${owner}[${place}]`, each, names)
}

function isList(known: Exclude<Members, true>): known is readonly [OptionNames] {
  return Array.isArray(known)
}

function advice(name: string, names: OptionNames): string {
  const known = Object.keys(names)
  const closest = closestName(name, known)
  return closest === undefined ? `Its options are ${known.join(', ')}` : `Did you mean \`${closest}\`?`
}

const maxLength = 40

/** Undefined if more than a third of the characters differ from every known name. */
function closestName(name: string, known: readonly string[]): string | undefined {
  if (name.length > maxLength) return undefined
  const ranked = known
    .map((each) => ({ each, edits: editsBetween(name.toLowerCase(), each.toLowerCase()) }))
    .sort((a, b) => a.edits - b.edits)
  const [best] = ranked
  return best && best.edits <= Math.max(1, Math.floor(best.each.length / 3)) ? best.each : undefined
}

/** Insertions, deletions, replacements and swaps of neighbours that make one text of the other. */
function editsBetween(one: string, other: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: other.length + 1 }, (_, place) => place)
  for (let row = 1; row <= one.length; row++) {
    const current = [row]
    for (let column = 1; column <= other.length; column++) {
      const isSame = one[row - 1] === other[column - 1]
      const isSwap = one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1]
      const costs = [at(last, column) + 1, at(current, column - 1) + 1, at(last, column - 1) + (isSame ? 0 : 1)]
      if (isSwap && row > 1) costs.push(at(beforeLast, column - 2) + 1)
      current.push(Math.min(...costs))
    }
    beforeLast = last
    last = current
  }
  return at(last, other.length)
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY
}
