/**
 * What the readers and writers in `gen/` have in common, and the types of Google's that have a form of
 * their own in ProtoJSON: Struct and Value are JSON, timestamps and durations are text.
 *
 * Readers are given hostile bytes: they throw on whatever is no message, never read past its end and
 * never go deeper than `deepestValue`.
 */
import { BinaryReader } from '@bufbuild/protobuf/wire'
import type { JsonValue, Struct } from '../../model/part.js'
import type { Writer } from './writer.js'

/** Dialects refuse values at less than this, and can name the place. */
const deepestValue = 100

export class TooManyElements extends Error {}

/** An element has a tag, a length and often a tag inside: each is one number read. */
const numbersPerElement = 4

/** Elements may be two bytes long, so a message of ten megabytes may hold millions of them. */
export function boundedReader(bytes: Uint8Array, mostElements: number): BinaryReader {
  const reader = new BinaryReader(bytes)
  // What is this short cannot hold so many.
  if (bytes.byteLength <= mostElements) return reader
  const { uint32 } = reader
  let left = mostElements * numbersPerElement
  reader.uint32 = () => {
    left -= 1
    if (left < 0) throw new TooManyElements()
    return uint32.call(reader)
  }
  return reader
}

/** Passes over a field this version does not know. */
export function skip(reader: BinaryReader, tag: number): void {
  if (tag >>> 3 === 0) throw new RangeError('field number 0')
  reader.skip(tag & 7, tag >>> 3)
}

/** A message ends where its length says: what is inside it must not reach beyond. */
export function finish<M>(reader: BinaryReader, end: number, message: M): M {
  if (reader.pos !== end) throw new RangeError('a field is longer than its message')
  return message
}

/** The name of an enum's number; numbers of later versions stay numbers, for the dialect to refuse. */
export function enumName(names: readonly string[], number: number): string | number {
  return names[number] ?? number
}

export function enumNumber(names: readonly string[], value: string | number): number {
  const number = typeof value === 'number' ? value : names.indexOf(value)
  if (number < 0) throw new TypeError(`${value} is none of ${names.join(', ')}`)
  return number
}

export function readBase64(reader: BinaryReader): string {
  const { buffer, byteOffset, byteLength } = reader.bytes()
  return Buffer.from(buffer, byteOffset, byteLength).toString('base64')
}

/** One entry of a map. A key or value that is not there is the default. */
export function readEntry<T>(
  reader: BinaryReader,
  end: number,
  into: Record<string, T>,
  readValue: () => T,
  unset: T,
): void {
  let key = ''
  let value = unset
  while (reader.pos < end) {
    const tag = reader.uint32()
    if (tag === 10) key = reader.string(true)
    else if (tag === 18) value = readValue()
    else skip(reader, tag)
  }
  finish(reader, end, undefined)
  setMember(into, key, value)
}

/** `__proto__` becomes a member like any other, as it does in `JSON.parse`. */
function setMember<T>(into: Record<string, T>, key: string, value: T): void {
  if (key !== '__proto__') into[key] = value
  else Object.defineProperty(into, key, { value, enumerable: true, configurable: true, writable: true })
}

export function readStruct(reader: BinaryReader, end: number, depth = 0): Struct {
  if (depth > deepestValue) throw new RangeError('a value is nested too deeply')
  const struct: Record<string, JsonValue> = {}
  const readMember = () => readValue(reader, reader.uint32() + reader.pos, depth + 1)
  while (reader.pos < end) {
    const tag = reader.uint32()
    if (tag === 10) readEntry<JsonValue>(reader, reader.uint32() + reader.pos, struct, readMember, null)
    else skip(reader, tag)
  }
  return finish(reader, end, struct)
}

export function writeStruct(struct: Struct, writer: Writer): void {
  for (const key of Object.keys(struct)) {
    const value = struct[key]
    if (value === undefined) continue
    writer.uint32(10).fork().uint32(10).string(key).uint32(18).fork()
    writeValue(value, writer)
    writer.join().join()
  }
}

export function readValue(reader: BinaryReader, end: number, depth = 0): JsonValue {
  let value: JsonValue = null
  while (reader.pos < end) {
    const tag = reader.uint32()
    if (tag === 8) {
      reader.int32()
      value = null
    } else if (tag === 17) value = reader.double()
    else if (tag === 26) value = reader.string(true)
    else if (tag === 32) value = reader.bool()
    else if (tag === 42) value = readStruct(reader, reader.uint32() + reader.pos, depth + 1)
    else if (tag === 50) value = readList(reader, reader.uint32() + reader.pos, depth + 1)
    else skip(reader, tag)
  }
  return finish(reader, end, value)
}

function readList(reader: BinaryReader, end: number, depth: number): JsonValue[] {
  if (depth > deepestValue) throw new RangeError('a value is nested too deeply')
  const list: JsonValue[] = []
  while (reader.pos < end) {
    const tag = reader.uint32()
    if (tag === 10) list.push(readValue(reader, reader.uint32() + reader.pos, depth + 1))
    else skip(reader, tag)
  }
  return finish(reader, end, list)
}

export function writeValue(value: JsonValue, writer: Writer): void {
  if (value === null) writer.uint32(8).uint32(0)
  else if (typeof value === 'number') writer.uint32(17).double(value)
  else if (typeof value === 'string') writer.uint32(26).string(value)
  else if (typeof value === 'boolean') writer.uint32(32).bool(value)
  else if (isList(value)) {
    writer.uint32(50).fork()
    for (const each of value) {
      writer.uint32(10).fork()
      writeValue(each ?? null, writer)
      writer.join()
    }
    writer.join()
  } else {
    writer.uint32(42).fork()
    writeStruct(value, writer)
    writer.join()
  }
}

function isList(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value)
}

interface Instant {
  seconds: number
  nanos: number
}

/** Timestamps and durations are the same two fields. */
function readInstant(reader: BinaryReader, end: number): Instant {
  const instant: Instant = { seconds: 0, nanos: 0 }
  while (reader.pos < end) {
    const tag = reader.uint32()
    if (tag === 8) instant.seconds = Number(reader.int64())
    else if (tag === 16) instant.nanos = reader.int32()
    else skip(reader, tag)
  }
  return finish(reader, end, instant)
}

function writeInstant({ seconds, nanos }: Instant, writer: Writer): void {
  if (seconds !== 0) writer.uint32(8).int64(seconds)
  if (nanos !== 0) writer.uint32(16).int32(nanos)
}

/** Digits below the millisecond are cut. */
export function readTimestamp(reader: BinaryReader, end: number): string {
  const { seconds, nanos } = readInstant(reader, end)
  return new Date(seconds * 1000 + Math.floor(nanos / 1e6)).toISOString()
}

export function writeTimestamp(value: string, writer: Writer): void {
  const time = Date.parse(value)
  if (Number.isNaN(time)) throw new TypeError(`${value} is no timestamp`)
  const seconds = Math.floor(time / 1000)
  writeInstant({ seconds, nanos: (time - seconds * 1000) * 1e6 }, writer)
}

export function readDuration(reader: BinaryReader, end: number): string {
  const { seconds, nanos } = readInstant(reader, end)
  return `${seconds + nanos / 1e9}s`
}

export function writeDuration(value: string, writer: Writer): void {
  const time = Number(value.replace(/s$/, ''))
  if (Number.isNaN(time)) throw new TypeError(`${value} is no duration`)
  const seconds = Math.trunc(time)
  writeInstant({ seconds, nanos: Math.round((time - seconds) * 1e9) }, writer)
}
