import { clip } from './errors.js'
import { isObject } from './is-object.js'

type Describe = (value: unknown) => string | undefined

/**
 * The kind of an option's value. `wanted` completes the sentence "Write …" in the error for other values. `describe`
 * completes "The option is …" if the type of the value does not explain enough.
 */
export class ValueKind {
  readonly wanted: string
  readonly accepts: (value: unknown) => boolean
  readonly describe: Describe

  constructor(wanted: string, accepts: (value: unknown) => boolean, describe: Describe = () => undefined) {
    this.wanted = wanted
    this.accepts = accepts
    this.describe = describe
  }
}

const maxPort = 65_535

const basicKinds = {
  boolean: new ValueKind('`true` or `false`', (value) => typeof value === 'boolean'),
  false: new ValueKind('`false`', (value) => value === false),
  string: new ValueKind('a string', (value) => typeof value === 'string'),
  function: new ValueKind('a function', (value) => typeof value === 'function'),
  number: new ValueKind('a finite number, 0 or more', (value) => Number.isFinite(value) && isLimit(value)),
  limit: new ValueKind('a number, 0 or more', isLimit),
  port: new ValueKind('an integer from 0 to 65535', isPort, describePort),
  strings: new ValueKind("a list of strings: ['…']", (value) => isListOf(value, (each) => typeof each === 'string')),
  numbers: new ValueKind('a list of numbers: [443]', (value) => isListOf(value, isLimit)),
  list: new ValueKind('a list: […]', Array.isArray),
} satisfies Readonly<Record<string, ValueKind>>

/** One of several kinds. */
class Either {
  readonly kinds: readonly Members[]
  readonly wanted: string

  constructor(kinds: readonly Members[], wanted = kinds.map(wantedBy).join(', or ')) {
    this.kinds = kinds
    this.wanted = wanted
  }

  /** Returns the same kinds with another text after "Write". */
  withExample(wanted: string): Either {
    return new Either(this.kinds, wanted)
  }
}

/** The kind of an option that accepts several kinds, such as `either('boolean', { port: 'port' })`. */
export function either(...kinds: readonly Members[]): Either {
  return new Either(kinds)
}

/**
 * `true`: not checked. A name: a basic kind. A list of strings: the allowed values. An object: the names of an option that
 * is an object. A list with an object: the names of an option that lists objects; entries with the member that follows are
 * of another kind.
 */
type Members =
  | true
  | keyof typeof basicKinds
  | ValueKind
  | Either
  | readonly string[]
  | OptionNames
  | readonly [OptionNames, string?]

/** Names of options; for options that are objects, the names of their members. */
export interface OptionNames {
  readonly [name: string]: Members
}

/** Names and kinds that the compiler compares with the type of the options. Kinds in `either` are not compared. */
export type NamesOf<Options> = { readonly [Name in keyof Required<Options>]: KindsFor<NonNullable<Options[Name]>> }

type KindsFor<Value> =
  | (true | ValueKind | Either)
  | ([Value] extends [boolean] ? 'boolean' : never)
  | ([Value] extends [number] ? 'number' | 'limit' | 'port' : never)
  | ([Value] extends [string] ? 'string' | readonly Value[] : never)
  | ([Value] extends [(...given: never) => unknown] ? 'function' : never)
  | ([Value] extends [readonly string[]] ? 'strings' : never)
  | ([Value] extends [readonly number[]] ? 'numbers' : never)
  | ([Value] extends [readonly unknown[]] ? 'list' | readonly [OptionNames] : never)
  | ([Value] extends [object] ? NamesOf<Value> : never)

type NamesIn<Defaults> = { readonly [Name in keyof Defaults]: KindOfDefault<Defaults[Name]> }

type KindOfDefault<Value> = Value extends number
  ? 'limit'
  : Value extends boolean
    ? 'boolean'
    : Value extends string
      ? 'string'
      : true

/** The names of an object of defaults. An option has the kind of its default; numbers may be infinite. */
export function namesIn<Defaults extends object>(defaults: Defaults): NamesIn<Defaults> {
  const entries = Object.entries(defaults).map(([name, value]) => [name, kindOfDefault(value)] as const)
  return Object.fromEntries(entries) as NamesIn<Defaults>
}

function kindOfDefault(value: unknown): Members {
  if (typeof value === 'number') return 'limit'
  if (typeof value === 'boolean') return 'boolean'
  return typeof value === 'string' ? 'string' : true
}

/**
 * Throws an `AuthorError`, which is a `TypeError`, for the first option that is unknown, whose value has the wrong kind,
 * or that is not an own, enumerable member. Options that are `undefined` count as absent.
 */
export function assertOptions(owner: string, options: unknown, names: OptionNames): void {
  if (!isObject(options)) throw new AuthorError(`The options of ${owner} must be ${wantedBy(names)}`)
  for (const name of Object.keys(options)) {
    const value: unknown = options[name]
    if (value === undefined) continue
    const known = Object.hasOwn(names, name) ? names[name] : undefined
    if (known === undefined) throw new AuthorError(`Unknown option of ${owner}: ${clip(name)}. ${advice(name, names)}`)
    assertValue(owner, name, value, known)
  }
  // Copies of the options contain own members only: an inherited `auth` would be lost. `artifact` runs this for each
  // chunk, so it allocates nothing, and checks only options that are set.
  for (const name in names)
    if (options[name] !== undefined && !Object.prototype.propertyIsEnumerable.call(options, name))
      throw new AuthorError(
        `Invalid option of ${owner}: ${name} is inherited or not enumerable. Write a plain object: { ${name}: … }`,
      )
}

function assertValue(owner: string, name: string, value: unknown, known: Members): void {
  if (!isAccepted(value, known)) {
    const wanted = value instanceof Promise ? `\`${name}: await …\`` : wantedBy(known)
    throw new AuthorError(`Invalid option of ${owner}: ${name} is ${describeValue(value, known)}. Write ${wanted}`)
  }
  const matching = known instanceof Either ? known.kinds.find((each) => isAccepted(value, each)) : known
  if (isNamesInList(matching))
    assertEach(`${owner}.${name}`, value as readonly unknown[], ...matching) // it is accepted
  else if (isNames(matching)) assertOptions(`${owner}.${name}`, value, matching)
}

/**
 * Checks each object in a list, as `assertOptions` does. Skips entries that are not objects or have the member `other`:
 * the function that reads them checks them.
 */
function assertEach(owner: string, list: readonly unknown[], names: OptionNames, other?: string): void {
  for (const [place, each] of list.entries())
    if (typeof each === 'object' && each !== null && !(other !== undefined && other in each))
      assertOptions(`${owner}[${place}]`, each, names)
}

function isAccepted(value: unknown, known: Members): boolean {
  if (known === true) return true
  if (typeof known === 'string') return basicKinds[known].accepts(value)
  if (known instanceof ValueKind) return known.accepts(value)
  if (known instanceof Either) return known.kinds.some((each) => isAccepted(value, each))
  if (isNamesInList(known)) return Array.isArray(value)
  return isChoices(known) ? known.some((choice) => choice === value) : isObject(value) && !(value instanceof Promise)
}

/** Completes the sentence "Write …". */
function wantedBy(known: Members): string {
  if (known === true) return 'a value'
  if (typeof known === 'string') return basicKinds[known].wanted
  if (known instanceof ValueKind || known instanceof Either) return known.wanted
  if (isNamesInList(known)) return `a list: [{ ${Object.keys(known[0])[0]}: … }]`
  return isChoices(known) ? alternatives(known) : `an object: { ${Object.keys(known)[0]}: … }`
}

function alternatives(choices: readonly string[]): string {
  const quoted = choices.map((choice) => `'${choice}'`)
  return quoted.length < 2 ? quoted.join('') : `${quoted.slice(0, -1).join(', ')} or ${quoted.at(-1)}`
}

/** Describes the kind of a value without the value itself, because callers of an agent receive the message. */
export function describeValue(value: unknown, known: Members = true): string {
  if (value === null) return 'null'
  if (value instanceof Promise) return 'a promise'
  if (Array.isArray(value)) return known === 'strings' || known === 'numbers' ? 'a list of other values' : 'a list'
  const special = specialIn(value, known)
  if (special !== undefined) return special
  if (typeof value === 'string') return hasChoices(known) ? 'an unknown string' : 'a string'
  if (typeof value === 'object') return 'an object'
  if (value === undefined) return 'undefined'
  return typeof value === 'number' ? describeNumber(value) : `a ${typeof value}`
}

function hasChoices(known: Members): boolean {
  return known instanceof Either ? known.kinds.some(hasChoices) : isChoices(known)
}

function specialIn(value: unknown, known: Members): string | undefined {
  if (known instanceof Either)
    return known.kinds.map((each) => specialIn(value, each)).find((each) => each !== undefined)
  const kind = typeof known === 'string' ? basicKinds[known] : known
  return kind instanceof ValueKind ? kind.describe(value) : undefined
}

function describeNumber(value: number): string {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? 'NaN' : 'infinite'
  return value < 0 ? 'a negative number' : 'a number'
}

function describePort(value: unknown): string | undefined {
  return typeof value === 'number' && value > maxPort ? `a number above ${maxPort}` : undefined
}

function isPort(value: unknown): boolean {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= maxPort
}

function isLimit(value: unknown): boolean {
  return typeof value === 'number' && value >= 0
}

function isListOf(value: unknown, isEntry: (entry: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every(isEntry)
}

function isChoices(known: Members | undefined): known is readonly string[] {
  return Array.isArray(known) && typeof known[0] === 'string'
}

function isNamesInList(known: Members | undefined): known is readonly [OptionNames, string?] {
  return Array.isArray(known) && typeof known[0] === 'object'
}

function isNames(known: Members | undefined): known is OptionNames {
  return isObject(known) && !(known instanceof ValueKind) && !(known instanceof Either)
}

function advice(name: string, names: OptionNames): string {
  const known = Object.keys(names)
  const nested = known.find((each) => isNames(names[each]) && Object.hasOwn(names[each], name))
  const closest = nested === undefined ? closestName(name, known) : `${nested}.${name}`
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

/** Number of insertions, deletions, replacements and swaps that turn one text into the other. */
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

/**
 * A mistake in the code of an agent, such as an unknown option. Callers receive the message (E-8), so it contains names
 * and types, never values.
 */
export class AuthorError extends TypeError {}

/** A required option is absent. Programs with options of their own, such as the CLI, word their own fix after `reason`. */
export class MissingOptionError extends TypeError {
  readonly option: string
  readonly reason: string

  constructor(option: string, reason: string, fix: string) {
    super(`${reason}: ${fix}`)
    this.option = option
    this.reason = reason
  }
}
