/**
 * Combinators that decode JSON into model values by the rules of ProtoJSON (R-JSON): known members only, camelCase or
 * snake_case, `null` is absence, and every fault has a path.
 *
 * Decoders collect violations instead of throwing, so that a caller gets all of them at once. Paths are built only for
 * faults: decoding a valid request allocates no path strings.
 */
import { A2AError, clip, type FieldViolation } from '../model/errors.js'
import { isObject } from '../model/is-object.js'
import type { Role } from '../model/message.js'
import type { JsonValue, Struct } from '../model/part.js'
import { type TaskState, taskStates } from '../model/task.js'

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

/**
 * An object with these members; others are dropped (R-JSON-6). Exactly one of the members in `oneof` must be present
 * (R-JSON-7). `aliases` are alternative names of a member, read if its own name is absent.
 */
export function object<T extends object>(
  fields: { readonly [K in keyof T]-?: Field<NonNullable<T[K]>> },
  options: {
    readonly oneof?: readonly string[]
    readonly aliases?: { readonly [K in keyof T]?: readonly string[] }
  } = {},
): Decoder<T> {
  const { oneof } = options
  const aliases = options.aliases as { readonly [name: string]: readonly string[] } | undefined // `T` has string keys
  const members = Object.entries<Field<unknown>>(fields).map(([name, { decode, isRequired }]) => ({
    name,
    snakeName: snakeCase(name),
    otherNames: aliases?.[name]?.flatMap(inBothCases),
    decode,
    isRequired,
  }))
  return (value, faults) => {
    if (!isObject(value)) return refuse(faults, 'must be an object')
    const decoded: Record<string, unknown> = {}
    const faultsBefore = faults.length
    for (const { name, snakeName, otherNames, decode, isRequired } of members) {
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
    if (oneof) {
      const present = oneof.filter((name) => name in decoded)
      if (present.length > 1) return refuse(faults, `must have only one of ${present.join(', ')}`)
      if (present.length === 0 && faults.length === faultsBefore)
        return refuse(faults, `must have one of ${oneof.join(', ')}`)
    }
    return decoded as T // every member was read by the decoder of its type
  }
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
    const decoded: T[] = []
    for (const [place, element] of (value as unknown[]).entries()) {
      const before = faults.length
      const member = decode(element, faults)
      if (faults.length > before) prefix(faults, before, `[${place}]`)
      else if (member !== undefined) decoded.push(member)
      if (faults.length >= maxFaults) return undefined
    }
    return decoded
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
    const name = typeof value === 'number' ? names[value - 1] : names.find((each) => each === value)
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

const maxEnumLength = 40

const statesByText: ReadonlyMap<string, TaskState> = new Map([
  ...taskStates.map((state) => [normal(state, 'TASK_STATE_'), state] as const),
  ['CANCELLED', 'TASK_STATE_CANCELED'], // the protobuf's name, and a common mistake elsewhere (R3-DM-3)
])

const stateNames = taskStates.map((state) => normal(state, 'TASK_STATE_').toLowerCase().replaceAll('_', '-'))

/** Accepts `TASK_STATE_INPUT_REQUIRED`, `input-required`, `input_required` in any case, and the protobuf's number. */
export const taskState: Decoder<TaskState> = Object.assign(
  (value: unknown, faults: Fault[]) => {
    const state = typeof value === 'number' ? taskStates[value - 1] : statesByText.get(normal(value, 'TASK_STATE_'))
    return state ?? refuse(faults, `must be one of ${stateNames.join(', ')}`)
  },
  { isUnset: (value: unknown) => value === 0 || value === '' || value === 'TASK_STATE_UNSPECIFIED' },
)

/**
 * The state of a peer's task. `unknown` counts as absent. A name that no version has is refused: it may be a terminal
 * state that a caller waits for.
 */
export const lenientTaskState: Decoder<TaskState> = Object.assign(
  (value: unknown, faults: Fault[]) => taskState(value, faults),
  { isUnset: (value: unknown) => value === 0 || value === '' || isUnknown(value) },
)

function isUnknown(value: unknown): boolean {
  const text = normal(value, 'TASK_STATE_')
  return text === 'UNKNOWN' || text === 'UNSPECIFIED'
}

export const role: Decoder<Role> = Object.assign(
  (value: unknown, faults: Fault[]): Role | undefined => {
    const text = typeof value === 'number' ? roleNumbers[value - 1] : normal(value, 'ROLE_')
    if (text === 'USER') return 'ROLE_USER'
    return text === 'AGENT' ? 'ROLE_AGENT' : refuse(faults, 'must be user or agent')
  },
  { isUnset: (value: unknown) => value === 0 || value === '' || value === 'ROLE_UNSPECIFIED' },
)

const roleNumbers = ['USER', 'AGENT']

function normal(value: unknown, prefix: string): string {
  if (typeof value !== 'string' || value.length > maxEnumLength) return ''
  const text = value.toUpperCase().replaceAll('-', '_')
  return text.startsWith(prefix) ? text.slice(prefix.length) : text
}
