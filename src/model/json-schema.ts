/**
 * Checks JSON values against JSON Schemas (draft 2020-12) that may come from untrusted peers. Pure and without code
 * generation, so it also runs in browsers. Work and recursion are bounded; references are resolved inside the schema only.
 *
 * Not evaluated: `pattern` and `patternProperties` (untrusted regular expressions), `format` (an annotation),
 * `unevaluatedProperties`, `unevaluatedItems`, `$dynamicRef`, and references to other documents. They never reject a value.
 * See docs/decisions/0007-json-schema-validator.md.
 */
import type { JsonValue, Struct } from './part.js'

export interface SchemaViolation {
  /** The place in the value: `.size`, `.items[2].name`; empty for the value itself. */
  readonly path: string
  /** A phrase that follows the path: `must be a boolean`. */
  readonly problem: string
}

/** Thrown if the schema cannot be checked within the bounds. */
export class SchemaTooComplex extends Error {}

const maxSteps = 200_000
const maxDepth = 200
const maxViolations = 10
/** Characters that one step compares or counts. */
const charactersPerStep = 100
/** Characters of a value or a name in a message. */
const maxClipped = 200

/** The violations of a value, at most ten; empty if it is valid. Throws `SchemaTooComplex`. */
export function violationsOf(schema: JsonValue, value: JsonValue): readonly SchemaViolation[] {
  const check = new SchemaCheck(schema)
  check.apply(schema, value, '', 0)
  return check.violations
}

export function isStruct(value: JsonValue | undefined): value is Struct {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Keywords that are not evaluated: a subschema with one of them accepts more values than intended. */
const ignored = ['pattern', 'patternProperties', 'unevaluatedProperties', 'unevaluatedItems', '$dynamicRef']

interface Place {
  readonly value: JsonValue
  readonly path: string
  readonly depth: number
}

class SchemaCheck {
  readonly violations: SchemaViolation[] = []
  readonly #root: JsonValue
  #steps = 0
  #isMuted = false
  /** Whether a keyword was not evaluated since the last reset. */
  #isPartial = false

  constructor(root: JsonValue) {
    this.#root = root
  }

  apply(schema: JsonValue | undefined, value: JsonValue, path: string, depth: number): boolean {
    this.#spend(1)
    if (depth > maxDepth) throw new SchemaTooComplex('The schema is nested too deeply')
    if (schema === false) return this.#refuse(path, 'is not allowed')
    if (!isStruct(schema)) return true
    if (ignored.some((keyword) => Object.hasOwn(schema, keyword))) this.#isPartial = true
    const place = { value, path, depth }
    // Evaluates every keyword, so that all violations are found.
    let fits = this.#reference(schema, place)
    fits = this.#generic(schema, place) && fits
    fits = this.#combined(schema, place) && fits
    fits = this.#conditional(schema, place) && fits
    if (typeof value === 'string') return this.#text(schema, value, path) && fits
    if (typeof value === 'number') return this.#number(schema, value, path) && fits
    if (isStruct(value)) return this.#object(schema, value, place) && fits
    return (!Array.isArray(value) || this.#array(schema, value, place)) && fits
  }

  #reference({ $ref }: Struct, { value, path, depth }: Place): boolean {
    if (typeof $ref !== 'string') return true
    const target = this.#resolve($ref)
    if (target === undefined) {
      this.#isPartial = true
      return true
    }
    return this.#apply(target, value, path, depth)
  }

  #resolve(reference: string): JsonValue | undefined {
    if (reference !== '#' && !reference.startsWith('#/')) return undefined
    let found: JsonValue | undefined = this.#root
    for (const escaped of reference.split('/').slice(1)) {
      this.#spend(1)
      const name = decoded(escaped).replaceAll('~1', '/').replaceAll('~0', '~')
      if (typeof found !== 'object' || found === null || !Object.hasOwn(found, name)) return undefined
      found = (found as Struct)[name]
    }
    return found
  }

  #generic(schema: Struct, { value, path }: Place): boolean {
    const { type } = schema
    const types = (Array.isArray(type) ? type : [type]).filter((each) => typeof each === 'string')
    if (types.length > 0 && !types.some((each) => isOfType(value, each)))
      return this.#refuse(path, `must be ${types.map((each) => typeNames[each] ?? each).join(' or ')}`)
    const { enum: choices, const: only } = schema
    if (Array.isArray(choices) && !this.#isAmong(choices, value))
      return this.#refuse(
        path,
        () => `must be one of ${clipped(choices.map((each) => JSON.stringify(each)).join(', '))}`,
      )
    if (only !== undefined && !this.#isAmong([only], value))
      return this.#refuse(path, () => `must be ${clipped(JSON.stringify(only))}`)
    return true
  }

  #isAmong(choices: readonly JsonValue[], value: JsonValue): boolean {
    this.#spend(choices.length)
    if (typeof value !== 'object' || value === null) return choices.includes(value)
    const wanted = this.#canonical(value)
    return choices.some((each) => typeof each === 'object' && each !== null && this.#canonical(each) === wanted)
  }

  #combined(schema: Struct, { value, path, depth }: Place): boolean {
    for (const each of listIn(schema.allOf)) if (!this.apply(each, value, path, depth + 1)) return false
    const { anyOf, oneOf, not } = schema
    if (Array.isArray(anyOf) && anyOf.length > 0 && !anyOf.some((each) => this.#probe(each, value, depth).fits))
      return this.#refuse(path, 'must fit one of the alternatives')
    if (Array.isArray(oneOf) && oneOf.length > 0) {
      const probes = oneOf.map((each) => this.#probe(each, value, depth)).filter(({ fits }) => fits)
      if (probes.length === 0) return this.#refuse(path, 'must fit one of the alternatives')
      if (probes.length > 1 && !probes.some(({ isPartial }) => isPartial))
        return this.#refuse(path, 'must fit exactly one of the alternatives')
    }
    if (not !== undefined) {
      const { fits, isPartial } = this.#probe(not, value, depth)
      if (fits && !isPartial) return this.#refuse(path, 'is not allowed')
    }
    return true
  }

  #conditional(schema: Struct, { value, path, depth }: Place): boolean {
    if (schema.if === undefined) return true
    const { fits, isPartial } = this.#probe(schema.if, value, depth)
    if (fits && isPartial) return true
    return this.#apply(fits ? schema.then : schema.else, value, path, depth)
  }

  #text({ minLength, maxLength }: Struct, text: string, path: string): boolean {
    if (minLength !== undefined || maxLength !== undefined) this.#spend(text.length / charactersPerStep)
    const isShort = typeof minLength === 'number' && lengthUpTo(text, minLength) < minLength
    if (isShort) return this.#refuse(path, `must have at least ${counted(minLength, 'character')}`)
    const isLong = typeof maxLength === 'number' && lengthUpTo(text, maxLength + 1) > maxLength
    return isLong ? this.#refuse(path, `must have at most ${counted(maxLength, 'character')}`) : true
  }

  #number(schema: Struct, value: number, path: string): boolean {
    const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema
    if (typeof minimum === 'number' && value < minimum) return this.#refuse(path, `must be ${minimum} or more`)
    if (typeof maximum === 'number' && value > maximum) return this.#refuse(path, `must be ${maximum} or less`)
    if (typeof exclusiveMinimum === 'number' && value <= exclusiveMinimum)
      return this.#refuse(path, `must be more than ${exclusiveMinimum}`)
    if (typeof exclusiveMaximum === 'number' && value >= exclusiveMaximum)
      return this.#refuse(path, `must be less than ${exclusiveMaximum}`)
    if (typeof multipleOf === 'number' && multipleOf > 0 && !isMultiple(value, multipleOf))
      return this.#refuse(path, `must be a multiple of ${multipleOf}`)
    return true
  }

  #array(schema: Struct, list: readonly JsonValue[], { path, depth }: Place): boolean {
    const { minItems, maxItems, uniqueItems, items } = schema
    if (typeof minItems === 'number' && list.length < minItems)
      return this.#refuse(path, `must have at least ${counted(minItems, 'element')}`)
    if (typeof maxItems === 'number' && list.length > maxItems)
      return this.#refuse(path, `must have at most ${counted(maxItems, 'element')}`)
    // Before draft 2020-12, `items` could be a list of schemas.
    const first = listIn(schema.prefixItems ?? (Array.isArray(items) ? items : undefined))
    const rest = Array.isArray(items) ? schema.additionalItems : items
    let fits = true
    for (const [place, element] of list.entries()) {
      const each = place < first.length ? first[place] : rest
      if (each !== undefined && !this.apply(each, element, `${path}[${place}]`, depth + 1)) fits = false
    }
    if (uniqueItems === true && new Set(list.map((each) => this.#canonical(each))).size < list.length)
      return this.#refuse(path, 'must not have equal elements')
    return this.#contains(schema, list, path, depth) && fits
  }

  #contains(schema: Struct, list: readonly JsonValue[], path: string, depth: number): boolean {
    if (schema.contains === undefined) return true
    const { minContains = 1, maxContains } = schema
    const found = list.map((each) => this.#probe(schema.contains, each, depth)).filter(({ fits }) => fits)
    if (typeof minContains === 'number' && found.length < minContains)
      return this.#refuse(path, 'does not have the elements it needs')
    const isPartial = found.some((each) => each.isPartial)
    if (typeof maxContains === 'number' && found.length > maxContains && !isPartial)
      return this.#refuse(path, 'has too many elements of one kind')
    return true
  }

  #object(schema: Struct, value: Struct, place: Place): boolean {
    const { path } = place
    const names = Object.keys(value)
    this.#spend(names.length)
    const { minProperties, maxProperties } = schema
    let fits = this.#required(schema, value, path)
    fits = this.#members(schema, value, names, place) && fits
    if (typeof minProperties === 'number' && names.length < minProperties)
      fits = this.#refuse(path, `must have at least ${counted(minProperties, 'member')}`)
    if (typeof maxProperties === 'number' && names.length > maxProperties)
      fits = this.#refuse(path, `must have at most ${counted(maxProperties, 'member')}`)
    return fits
  }

  #required({ required, dependentRequired }: Struct, value: Struct, path: string): boolean {
    const needed = [...listIn(required)]
    for (const [name, others] of entriesIn(dependentRequired))
      if (Object.hasOwn(value, name)) needed.push(...listIn(others))
    this.#spend(needed.length)
    let fits = true
    for (const name of needed)
      if (typeof name === 'string' && !Object.hasOwn(value, name))
        fits = this.#refuse(path + member(name), 'is required')
    return fits
  }

  #members(schema: Struct, value: Struct, names: readonly string[], { path, depth }: Place): boolean {
    const { properties, additionalProperties, propertyNames, patternProperties } = schema
    const known = isStruct(properties) ? properties : {}
    let fits = true
    for (const name of names) {
      const isKnown = Object.hasOwn(known, name)
      // A property that may match a pattern is not additional.
      const each = isKnown ? known[name] : patternProperties === undefined ? additionalProperties : undefined
      const at = path + member(name)
      if (each !== undefined && !this.apply(each, value[name] ?? null, at, depth + 1)) fits = false
      if (propertyNames !== undefined && !this.#probe(propertyNames, name, depth).fits)
        fits = this.#refuse(at, 'has a name that is not allowed')
    }
    for (const [name, each] of entriesIn(schema.dependentSchemas))
      if (Object.hasOwn(value, name) && !this.apply(each, value, path, depth + 1)) fits = false
    return fits
  }

  #apply(schema: JsonValue | undefined, value: JsonValue, path: string, depth: number): boolean {
    return schema === undefined || this.apply(schema, value, path, depth + 1)
  }

  /** Whether a value is valid, without recording violations. */
  #probe(schema: JsonValue | undefined, value: JsonValue, depth: number): Probe {
    const [wasMuted, wasPartial] = [this.#isMuted, this.#isPartial]
    this.#isMuted = true
    this.#isPartial = false
    const fits = this.apply(schema, value, '', depth + 1)
    const isPartial = this.#isPartial
    this.#isMuted = wasMuted
    this.#isPartial = wasPartial || isPartial
    return { fits, isPartial }
  }

  /** Equal values have equal texts, for every order of members. */
  #canonical(value: JsonValue): string {
    this.#spend(typeof value === 'string' ? 1 + value.length / charactersPerStep : 1)
    if (Array.isArray(value)) return `[${value.map((each: JsonValue) => this.#canonical(each)).join()}]`
    if (!isStruct(value)) return JSON.stringify(value)
    const members = Object.keys(value).sort()
    for (const name of members) this.#spend(name.length / charactersPerStep)
    return `{${members.map((name) => `${JSON.stringify(name)}:${this.#canonical(value[name] ?? null)}`).join()}}`
  }

  #spend(steps: number): void {
    this.#steps += steps
    if (this.#steps > maxSteps) throw new SchemaTooComplex('The schema takes too long to check')
  }

  #refuse(path: string, problem: string | (() => string)): boolean {
    if (!this.#isMuted && this.violations.length < maxViolations)
      this.violations.push({ path, problem: typeof problem === 'string' ? problem : problem() })
    return false
  }
}

interface Probe {
  readonly fits: boolean
  readonly isPartial: boolean
}

const typeNames: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  integer: 'an integer',
  boolean: 'a boolean',
  null: 'null',
  array: 'an array',
  object: 'an object',
}

/** The types that JSON Schema knows. */
export const schemaTypes: readonly string[] = Object.keys(typeNames)

function isOfType(value: JsonValue, type: string): boolean {
  if (type === 'integer') return typeof value === 'number' && Number.isInteger(value)
  if (type === 'array') return Array.isArray(value)
  if (type === 'null') return value === null
  if (type === 'object') return isStruct(value)
  // Peers may name unknown types; `ask` rejects them for authors.
  return typeof value === type || typeNames[type] === undefined
}

/** Counts characters as JSON Schema does (code points), up to `enough`. */
function lengthUpTo(text: string, enough: number): number {
  if (text.length < enough || text.length >= enough * 2) return text.length
  let length = 0
  for (const _character of text) {
    length += 1
    if (length >= enough) break
  }
  return length
}

/** Decimal fractions are not exact: 0.3 must count as a multiple of 0.1. */
function isMultiple(value: number, of: number): boolean {
  const times = value / of
  return Math.abs(times - Math.round(times)) < 1e-9 * Math.max(1, Math.abs(times))
}

function listIn(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? value : []
}

function entriesIn(value: JsonValue | undefined): readonly (readonly [string, JsonValue])[] {
  return isStruct(value) ? Object.entries(value) : []
}

function member(name: string): string {
  return /^[A-Za-z_$][\w$]{0,63}$/.test(name)
    ? `.${name}`
    : `[${clipped(JSON.stringify(name.slice(0, maxClipped + 1)))}]`
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`
}

function clipped(text: string): string {
  return text.length > maxClipped ? `${text.slice(0, maxClipped)}…` : text
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
