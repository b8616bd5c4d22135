/**
 * Combinators that decode JSON into model values by the rules of ProtoJSON (R-JSON): known members only, camelCase or
 * snake_case, `null` is absence, and every fault has a path.
 *
 * Decoders collect violations instead of throwing, so that a caller gets all of them at once. Paths are built only for
 * faults: decoding a valid request allocates no path strings.
 */
import { A2AError, clip, type FieldViolation } from '../model/errors.js'
import { isObject } from '../model/is-object.js'
import type { JsonValue, Struct } from '../model/part.js'

/** A fault in one value. */
export interface Fault {
  field: string
  readonly description: string
}

/** Decodes a value, or adds a fault and returns `undefined`. */
export interface Decoder<T> {
  (value: unknown, faults: Fault[]): T | undefined
  /** Whether `null` is a value and not an absence (R-JSON-8). */
  readonly takesNull?: boolean
  /** Whether a value counts as absent: proto3's implicit presence. */
  readonly isUnset?: (value: unknown) => boolean
}

interface Field<T> {
  readonly decode: Decoder<T>
  readonly isRequired: boolean
}

/** A required member. Values that count as absent are refused. */
export function required<T>(decode: Decoder<T>): Field<T> {
  return { decode, isRequired: true }
}

/** An optional member. */
export function optional<T>(decode: Decoder<T>): Field<T> {
  return { decode, isRequired: false }
}

const maxFaults = 20
const maxDepth = 64

/** Decodes or throws `INVALID_PARAMS` with every fault found. */
export function decodeOrThrow<T>(decode: Decoder<T>, value: unknown): T {
  const faults: Fault[] = []
  const decoded = decode(value, faults)
  if (faults.length === 0 && decoded !== undefined) return decoded
  const violations: readonly FieldViolation[] =
    faults.length > 0 ? faults.slice(0, maxFaults).map(clipped) : [fault('', 'is missing')]
  const summary = violations.slice(0, 3).map(({ field, description }) => `${field || 'params'}: ${description}`)
  throw new A2AError('INVALID_PARAMS', summary.join('; '), { violations })
}

interface Member {
  readonly name: string
  /** Position in the table. */
  readonly place: number
  readonly snakeName: string
  readonly otherNames: readonly string[] | undefined
  readonly decode: Decoder<unknown>
  readonly isUnset: Decoder<unknown>['isUnset']
  readonly isRequired: boolean
}

/**
 * An object with these members; others are dropped (R-JSON-6). Exactly one of the members in `oneof` must be present
 * (R-JSON-7). `aliases` are alternative names of a member, read if its own name is absent.
 *
 * A value that decodes to itself is returned as it is.
 */
export function object<T extends object>(
  fields: { readonly [K in keyof T]-?: Field<NonNullable<T[K]>> },
  options: {
    readonly oneof?: readonly string[]
    readonly aliases?: { readonly [K in keyof T]?: readonly string[] }
  } = {},
): Decoder<T> {
  const { oneof } = options
  const table = new MemberTable(fields, options.aliases)
  return (value, faults) => {
    if (!isObject(value)) return refuse(faults, 'must be an object')
    const faultsBefore = faults.length
    const decoded = table.isRegular(value) ? table.decodeRegular(value, faults) : table.decodeAny(value, faults)
    if (decoded && oneof) {
      const present = countPresent(decoded, oneof)
      if (present > 1)
        return refuse(faults, `must have only one of ${oneof.filter((name) => name in decoded).join(', ')}`)
      if (present === 0 && faults.length === faultsBefore) return refuse(faults, `must have one of ${oneof.join(', ')}`)
    }
    return decoded as T | undefined // every member was read by the decoder of its type
  }
}

export function countPresent<T extends object>(decoded: T, names: readonly (keyof T)[]): number {
  let count = 0
  for (const name of names) if (decoded[name] !== undefined) count += 1
  return count
}

class MemberTable {
  readonly #members: readonly Member[]
  /** Members by all their names; undefined for a name that two members have. */
  readonly #byName = new Map<string, Member | undefined>()
  readonly #requiredCount: number

  constructor(
    fields: { readonly [name: string]: Field<unknown> },
    aliases: { readonly [name: string]: readonly string[] | undefined } | undefined,
  ) {
    this.#members = Object.entries(fields).map(([name, { decode, isRequired }], place) => ({
      name,
      place,
      snakeName: snakeCase(name),
      otherNames: aliases?.[name]?.flatMap(inBothCases),
      decode,
      isUnset: decode.isUnset,
      isRequired,
    }))
    this.#requiredCount = this.#members.filter(({ isRequired }) => isRequired).length
    for (const member of this.#members)
      for (const name of new Set([member.name, member.snakeName, ...(member.otherNames ?? [])]))
        this.#byName.set(name, this.#byName.has(name) ? undefined : member)
  }

  /**
   * Whether a value has every required member, and all members have a value and one name, in the order of the table.
   * Nearly all requests are like this. Only the members that are present are looked up. A send of v1.0 is decoded in
   * 0.3 µs and 32 bytes, instead of 0.7 µs and 809 bytes. A send of v0.1, whose parts are copied, takes 0.3 µs longer.
   */
  isRegular(value: Record<string, unknown>): boolean {
    let last = -1
    let missing = this.#requiredCount
    for (const name in value) {
      const member = this.#byName.get(name)
      if (member === undefined && !this.#byName.has(name)) continue
      const raw = value[name]
      if (member === undefined || member.place <= last || raw === undefined || raw === null || member.isUnset?.(raw))
        return false
      last = member.place
      if (member.isRequired) missing -= 1
    }
    return missing === 0
  }

  /** Returns the value itself unless a member is unknown, changes or has another name. */
  decodeRegular(value: Record<string, unknown>, faults: Fault[]): Record<string, unknown> | undefined {
    let copy: Record<string, unknown> | undefined
    for (const name in value) {
      const member = this.#byName.get(name)
      if (member === undefined) {
        copy ??= membersBefore(name, value)
        continue
      }
      const raw = value[name]
      const before = faults.length
      const decoded = member.decode(raw, faults)
      if (faults.length > before) {
        copy ??= membersBefore(name, value)
        prefix(faults, before, member.name)
        if (faults.length >= maxFaults) return undefined
      } else {
        if (decoded !== raw || member.name !== name) copy ??= membersBefore(name, value)
        if (copy && decoded !== undefined) copy[member.name] = decoded
      }
    }
    return copy ?? value
  }

  decodeAny(value: Record<string, unknown>, faults: Fault[]): Record<string, unknown> | undefined {
    const decoded: Record<string, unknown> = {}
    for (const { name, snakeName, otherNames, decode, isRequired } of this.#members) {
      let raw = value[name]
      if (raw === undefined && snakeName !== name) raw = value[snakeName]
      if (otherNames && isNothing(raw, decode)) raw = firstOf(value, otherNames, decode) ?? raw
      const isAbsent = raw === undefined || (raw === null && !decode.takesNull)
      if (isAbsent || decode.isUnset?.(raw)) {
        if (isRequired) faults.push(fault(name, isAbsent ? 'is required' : 'must not be empty'))
        continue
      }
      const before = faults.length
      const member = decode(raw, faults)
      if (faults.length > before) prefix(faults, before, name)
      else if (member !== undefined) decoded[name] = member
      if (faults.length >= maxFaults) return undefined
    }
    return decoded
  }
}

/** A copy of the members before this one. */
function membersBefore(end: string, value: Record<string, unknown>): Record<string, unknown> {
  const copy: Record<string, unknown> = {}
  for (const name in value) {
    if (name === end) break
    copy[name] = value[name]
  }
  return copy
}

function isNothing(value: unknown, { isUnset }: Decoder<unknown>): boolean {
  return value === undefined || value === null || (isUnset?.(value) ?? false)
}

function firstOf(value: Record<string, unknown>, names: readonly string[], decode: Decoder<unknown>): unknown {
  const name = names.find((each) => !isNothing(value[each], decode))
  return name === undefined ? undefined : value[name]
}

/** Converts the result of `decode`. `convert` may add faults. */
export function converted<From, To>(
  decode: Decoder<From>,
  convert: (value: From, faults: Fault[]) => To | undefined,
): Decoder<To> {
  return (value, faults) => {
    const before = faults.length
    const read = decode(value, faults)
    return read === undefined || faults.length > before ? undefined : convert(read, faults)
  }
}

export function array<T>(decode: Decoder<T>): Decoder<readonly T[]> {
  const read: Decoder<readonly T[]> = (value, faults) => {
    if (!Array.isArray(value)) return refuse(faults, 'must be an array')
    let copy: T[] | undefined
    for (let place = 0; place < value.length; place++) {
      const raw: unknown = value[place]
      const before = faults.length
      const decoded = decode(raw, faults)
      if (faults.length > before) {
        copy ??= value.slice(0, place) as T[] // the elements before were decoded to themselves
        prefix(faults, before, `[${place}]`)
        if (faults.length >= maxFaults) return undefined
      } else {
        if (decoded !== raw) copy ??= value.slice(0, place) as T[]
        if (copy && decoded !== undefined) copy.push(decoded)
      }
    }
    return copy ?? (value as T[])
  }
  return Object.assign(read, { isUnset: (value: unknown) => Array.isArray(value) && value.length === 0 })
}

/** Implicit presence: an empty string counts as absent. */
export const string: Decoder<string> = Object.assign((value: unknown, faults: Fault[]) => readString(value, faults), {
  isUnset: isEmpty,
})

/** Explicit presence: an empty string is a value. */
export const presentString: Decoder<string> = readString

export const boolean: Decoder<boolean> = (value, faults) =>
  typeof value === 'boolean' ? value : refuse(faults, 'must be true or false')

/** Numbers, integral floats and decimal strings (R-JSON-10). */
export const int32: Decoder<number> = (value, faults) => {
  const number = typeof value === 'string' && /^-?\d{1,10}$/.test(value) ? Number(value) : value
  if (typeof number !== 'number' || !Number.isInteger(number)) return refuse(faults, 'must be a whole number')
  return number === (number | 0) ? number : refuse(faults, 'is too large')
}

/**
 * Accepts names or numbers, returns names (R-JSON-3). `names` are in the order of their numbers, which begin at 1; 0 is
 * "unspecified". `drafts` maps names of protocol drafts to current names.
 */
export function enumeration<T extends string>(
  names: readonly T[],
  unspecified: string,
  drafts?: ReadonlyMap<unknown, T>,
): Decoder<T> {
  const read: Decoder<T> = (value, faults) => {
    if (names.includes(value as T)) return value as T
    const name = typeof value === 'number' ? names[value - 1] : undefined
    return name ?? drafts?.get(value) ?? refuse(faults, `must be one of ${names.join(', ')}`)
  }
  return Object.assign(read, { isUnset: (value: unknown) => value === 0 || value === unspecified })
}

/** Accepts base64 in either alphabet, padded or not, or raw bytes; returns standard, padded base64 (R-JSON-9). */
export const bytes: Decoder<string> = (value, faults) => {
  if (value instanceof Uint8Array) return toBase64(value)
  if (typeof value !== 'string') return refuse(faults, 'must be a base64 string')
  if (!/^[A-Za-z0-9+/_-]*={0,2}$/.test(value)) return refuse(faults, 'is not base64')
  const bare = value.replace(/={1,2}$/, '')
  if (bare.length % 4 === 1) return refuse(faults, 'is not base64')
  const standard = /[-_]/.test(bare) ? toStandardAlphabet(bare) : bare
  return standard.padEnd(Math.ceil(standard.length / 4) * 4, '=')
}

/** Works on bytes: replacing millions of characters in a string takes seconds. */
function toStandardAlphabet(text: string): string {
  const codes = new TextEncoder().encode(text)
  for (let place = 0; place < codes.length; place++) {
    if (codes[place] === 0x2d) codes[place] = 0x2b
    else if (codes[place] === 0x5f) codes[place] = 0x2f
  }
  return new TextDecoder().decode(codes)
}

/** Accepts RFC 3339 with any offset; returns UTC with milliseconds (R-JSON-11). */
export const timestamp: Decoder<string> = (value, faults) => {
  const isForm =
    typeof value === 'string' && /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)$/.test(value)
  const time = isForm && isDay(value) ? Date.parse(value.toUpperCase()) : Number.NaN
  return Number.isNaN(time)
    ? refuse(faults, 'must be a timestamp such as 2026-01-05T08:00:00.000Z')
    : new Date(time).toISOString()
}

/** Like `timestamp`, but a time without a zone is in UTC: 0.x peers omit the zone. */
export const utcTimestamp: Decoder<string> = (value, faults) =>
  timestamp(typeof value === 'string' && /\d[Tt][\d:.]+$/.test(value) ? `${value}Z` : value, faults)

/** `Date.parse` accepts 30 February as 1 March. */
function isDay(value: string): boolean {
  const [year = 0, month = 0, day = 0] = value.slice(0, 10).split('-').map(Number)
  return day === new Date(Date.UTC(year, month - 1, day)).getUTCDate()
}

/** Any JSON value, including `null`. */
export const json: Decoder<JsonValue> = Object.assign(
  (value: unknown, faults: Fault[]): JsonValue | undefined =>
    checkJson(value, faults, 0) ? (value as JsonValue) : undefined,
  { takesNull: true },
)

/** A JSON object (R-JSON-12). */
export const struct: Decoder<Struct> = (value, faults) => {
  if (!isObject(value)) return refuse(faults, 'must be an object')
  return checkJson(value, faults, 0) ? (value as Struct) : undefined
}

/** Values from JSON text are already data. This refuses excessive depth, infinities and `__proto__`. */
function checkJson(value: unknown, faults: Fault[], depth: number): boolean {
  if (typeof value === 'number') return Number.isFinite(value) || refused(faults, 'must be a finite number')
  if (typeof value !== 'object' || value === null) return true
  if (depth >= maxDepth) return refused(faults, `is nested deeper than ${maxDepth} levels`)
  for (const key of Object.keys(value)) {
    const before = faults.length
    if (key === '__proto__') refused(faults, 'is not an allowed name')
    else checkJson((value as Record<string, unknown>)[key], faults, depth + 1)
    if (faults.length > before) {
      prefix(faults, before, Array.isArray(value) ? `[${key}]` : key)
      return false
    }
  }
  return true
}

export function toBase64(value: Uint8Array): string {
  let binary = ''
  // In slices: a call has a maximum number of arguments.
  for (let from = 0; from < value.length; from += 0x8000)
    binary += String.fromCharCode(...value.subarray(from, from + 0x8000))
  return btoa(binary)
}

function isEmpty(value: unknown): boolean {
  return value === ''
}

/** Limits names from the request, so that the error response stays short. */
function clipped({ field, description }: Fault): FieldViolation {
  return { field: clip(field), description }
}

function readString(value: unknown, faults: Fault[]): string | undefined {
  return typeof value === 'string' ? value : refuse(faults, 'must be a string')
}

function fault(field: string, description: string): Fault {
  return { field, description }
}

/** Adds a fault; `field` names the faulty member. */
export function refuse(faults: Fault[], description: string, field = ''): undefined {
  faults.push(fault(field, description))
  return undefined
}

function refused(faults: Fault[], description: string): false {
  faults.push(fault('', description))
  return false
}

function prefix(faults: Fault[], from: number, name: string): void {
  for (let place = from; place < faults.length; place++) {
    const each = faults[place] as Fault // the index is within the array
    each.field = each.field === '' || each.field.startsWith('[') ? name + each.field : `${name}.${each.field}`
  }
}

function inBothCases(name: string): string[] {
  return [name, snakeCase(name)]
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}
