/**
 * Helpers of the generated readers and writers, and the Google types with their own ProtoJSON form: Struct and Value are
 * JSON, timestamps and durations are text.
 *
 * Readers accept hostile bytes: they throw on invalid messages, never read past the end and never nest deeper than
 * `maxDepth`.
 */
import { BinaryReader } from '@bufbuild/protobuf/wire'
import type { JsonValue, Struct } from '../../model/part.js'

/** Dialects have a lower limit, and name the field in their error. */
const maxDepth = 100

export class TooManyElements extends Error {}

/** An element has a tag, a length and often an inner tag: each is one number. */
const numbersPerElement = 4

/** Limits the number of elements: at two bytes each, a message of ten megabytes can hold millions. */
export function boundedReader(bytes: Uint8Array, maxElements: number): BinaryReader {
  const reader = new BinaryReader(bytes)
  // Shorter messages cannot exceed the limit.
  if (bytes.byteLength <= maxElements) return reader
  const { uint32 } = reader
  let left = maxElements * numbersPerElement
  reader.uint32 = () => {
    left -= 1
    if (left < 0) throw new TooManyElements()
    return uint32.call(reader)
  }
  return reader
}

/** Skips an unknown field. */
export function skip(reader: BinaryReader, tag: number): void {
  if (tag >>> 3 === 0) throw new RangeError('field number 0')
  reader.skip(tag & 7, tag >>> 3)
}

/** Throws if a field reaches beyond the end of its message. */
export function finish<M>(reader: BinaryReader, end: number, message: M): M {
  if (reader.pos !== end) throw new RangeError('a field is longer than its message')
  return message
}

/** The name of an enum value. Unknown numbers stay numbers, which the dialect refuses. */
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

/** Reads one map entry. A missing key or value has its default. */
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

/** Sets `__proto__` as an ordinary member, as `JSON.parse` does. */
function setMember<T>(into: Record<string, T>, key: string, value: T): void {
  if (key !== '__proto__') into[key] = value
  else Object.defineProperty(into, key, { value, enumerable: true, configurable: true, writable: true })
}

export function readStruct(reader: BinaryReader, end: number, depth = 0): Struct {
  if (depth > maxDepth) throw new RangeError('a value is nested too deeply')
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
  if (depth > maxDepth) throw new RangeError('a value is nested too deeply')
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

/** Timestamps and durations have the same two fields. */
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

/** Truncates to milliseconds. */
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

/** The prefix of a gRPC message: a flag for compression and four bytes of length. */
export const framePrefixBytes = 5

const firstSize = 512
/** Texts up to this length are copied by a loop: it beats the call into the runtime. */
const maxLoopLength = 48
/** Up to this length memory is cheaper than counting bytes. */
const maxGuessLength = 4096

/**
 * Writes protobuf's wire format into one growing buffer. The calls are those of `BinaryWriter` in
 * `@bufbuild/protobuf`, which is a fifth as fast on a stream event because of what `TextEncoder` costs
 * on strings of a task id's length; reading, where the input is untrusted, is left to that library.
 */
export class Writer {
  private buffer: Buffer
  private position = 0
  /** Start offsets of the messages that are being written. */
  private readonly forks: number[] = []

  constructor(size = firstSize) {
    this.buffer = Buffer.allocUnsafe(size)
  }

  get length(): number {
    return this.position
  }

  /** Begins a message of gRPC, and returns its start for `endFrame` or `dropFrame`. */
  beginFrame(): number {
    this.reserve(framePrefixBytes)
    const start = this.position
    this.position += framePrefixBytes
    return start
  }

  /** Writes the prefix: not compressed, and the length. */
  endFrame(start: number): void {
    this.buffer[start] = 0
    this.buffer.writeUInt32BE(this.position - start - framePrefixBytes, start + 1)
  }

  /** Removes a message that cannot be written. */
  dropFrame(start: number): void {
    this.position = start
    this.forks.length = 0
  }

  uint32(value: number): this {
    this.reserve(5)
    let rest = value
    while (rest > 0x7f) {
      this.buffer[this.position++] = (rest & 0x7f) | 0x80
      rest >>>= 7
    }
    this.buffer[this.position++] = rest
    return this
  }

  /** Negative numbers take ten bytes: they are extended to 64 bits. */
  int32(value: number): this {
    return value >= 0 ? this.uint32(value) : this.int64(value)
  }

  /** Any safe integer. */
  int64(value: number): this {
    this.reserve(10)
    let rest = value
    // `%` and `/` rather than shifts, which know 32 bits only; with `floor` they are two's complement.
    for (let left = 9; left > 0 && (rest > 0x7f || value < 0); left--) {
      const next = Math.floor(rest / 0x80)
      this.buffer[this.position++] = (rest - next * 0x80) | 0x80
      rest = next
    }
    this.buffer[this.position++] = value < 0 ? 1 : rest
    return this
  }

  bool(value: boolean): this {
    this.reserve(1)
    this.buffer[this.position++] = value ? 1 : 0
    return this
  }

  double(value: number): this {
    this.reserve(8)
    this.position = this.buffer.writeDoubleLE(value, this.position)
    return this
  }

  string(value: string): this {
    const { length } = value
    // A character takes up to three bytes, a length up to five.
    this.reserve((length <= maxGuessLength ? length * 3 : Buffer.byteLength(value)) + 5)
    if (length <= maxLoopLength && this.ascii(value)) return this
    const start = this.position
    const guess = lengthSize(length)
    const written = this.buffer.write(value, start + guess)
    const size = lengthSize(written)
    if (size !== guess) this.buffer.copyWithin(start + size, start + guess, start + guess + written)
    this.uint32(written)
    this.position += written
    return this
  }

  /** Base64, as the model has bytes, or the bytes themselves. */
  bytes(value: string | Uint8Array): this {
    const bytes = typeof value === 'string' ? Buffer.from(value, 'base64') : value
    this.uint32(bytes.byteLength)
    this.reserve(bytes.byteLength)
    this.buffer.set(bytes, this.position)
    this.position += bytes.byteLength
    return this
  }

  /** Begins a message inside the message. Its length stands before it: a byte is left free, as most are short. */
  fork(): this {
    this.forks.push(this.position)
    this.reserve(1)
    this.position += 1
    return this
  }

  join(): this {
    const start = this.forks.pop()
    if (start === undefined) throw new Error('join without fork')
    const length = this.position - start - 1
    const size = lengthSize(length)
    if (size > 1) {
      this.reserve(size)
      this.buffer.copyWithin(start + size, start + 1, this.position)
    }
    this.position = start
    this.uint32(length)
    this.position += length
    return this
  }

  /** The written bytes. They are the writer's own memory: do not use the writer again. */
  finish(): Buffer {
    return this.buffer.subarray(0, this.position)
  }

  /** Writes the text if it is ASCII, which short texts almost always are. */
  private ascii(value: string): boolean {
    const { buffer } = this
    const start = this.position + 1
    for (let place = 0; place < value.length; place++) {
      const code = value.charCodeAt(place)
      if (code > 0x7f) return false
      buffer[start + place] = code
    }
    buffer[start - 1] = value.length
    this.position = start + value.length
    return true
  }

  private reserve(size: number): void {
    const needed = this.position + size
    if (needed <= this.buffer.length) return
    const grown = Buffer.allocUnsafe(Math.max(needed, this.buffer.length * 2))
    this.buffer.copy(grown, 0, 0, this.position)
    this.buffer = grown
  }
}

function lengthSize(length: number): number {
  if (length < 0x80) return 1
  if (length < 0x4000) return 2
  if (length < 0x20_0000) return 3
  return length < 0x1000_0000 ? 4 : 5
}
