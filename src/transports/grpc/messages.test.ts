import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { BinaryReader, BinaryWriter } from '@bufbuild/protobuf/wire'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { JsonValue } from '../../model/part.js'
import { definitions, fromValue, type Json, toStruct, toValue } from './grpc.fixture.js'
import { type Rpc, services } from './messages.js'
import { readDuration, readTimestamp, readValue, Writer, writeDuration, writeTimestamp, writeValue } from './wire.js'

const v1 = services.get('lf.a2a.v1.A2AService') as ReadonlyMap<string, Rpc>
const send = v1.get('SendMessage') as Rpc
const theirs = definitions['lf.a2a.v1.A2AService']?.SendMessage
if (!theirs) throw new Error('The protocol file has no SendMessage')

/** JSON values without -0 and `__proto__`; the latter has its own test. */
const json = fc
  .jsonValue({ maxDepth: 5 })
  .filter((value) => !JSON.stringify(value).includes('__proto__'))
  .map((value) => JSON.parse(JSON.stringify(value)) as JsonValue)

function written(write: (writer: Writer) => void): Buffer {
  const writer = new Writer()
  write(writer)
  return writer.finish()
}

function read<T>(bytes: Uint8Array, reading: (reader: BinaryReader, end: number) => T): T {
  const reader = new BinaryReader(bytes)
  return reading(reader, reader.len)
}

describe('gen/', () => {
  it('matches the protocol files', () => {
    const script = fileURLToPath(new URL('../../../scripts/gen.mjs', import.meta.url))
    expect(() => execFileSync(process.execPath, [script, '--check'], { stdio: 'pipe' })).not.toThrow()
  })

  it.each([...services])('has every rpc of %s under its path and kind (R-GRPC-1, R3-PB-1)', (service, rpcs) => {
    const ours = [...rpcs].map(([name, { isStreaming }]) => [`/${service}/${name}`, isStreaming])
    const loaded = Object.values(definitions[service] ?? {}).map((each) => [each.path, each.responseStream])
    expect(ours).toEqual(loaded)
  })
})

describe('Writer', () => {
  type Step =
    | readonly ['uint32' | 'int32' | 'double', number]
    | readonly ['string', string]
    | readonly ['bool', boolean]
  const step: fc.Arbitrary<Step | 'fork' | 'join'> = fc.oneof(
    fc.tuple(fc.constant('uint32' as const), fc.nat({ max: 0xffff_ffff })),
    fc.tuple(fc.constant('int32' as const), fc.integer()),
    fc.tuple(fc.constant('double' as const), fc.double()),
    fc.tuple(fc.constant('bool' as const), fc.boolean()),
    fc.tuple(fc.constant('string' as const), fc.string({ unit: 'grapheme', maxLength: 300, size: 'max' })),
    fc.constant('fork' as const),
    fc.constant('join' as const),
  )

  /** The same calls on either writer. */
  function play(writer: BinaryWriter | Writer, steps: readonly (Step | 'fork' | 'join')[]): Buffer {
    let open = 0
    for (const each of steps) {
      if (each === 'fork') writer.fork()
      else if (each === 'join' && open > 0) writer.join()
      else if (each !== 'join') (writer[each[0]] as (value: unknown) => void).call(writer, each[1])
      open += each === 'fork' ? 1 : each === 'join' && open > 0 ? -1 : 0
    }
    for (; open > 0; open--) writer.join()
    return Buffer.from(writer.finish())
  }

  it('writes the same bytes as @bufbuild/protobuf', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) =>
        play(new Writer(), steps).equals(play(new BinaryWriter(), steps)),
      ),
    )
  })

  it('writes integers of 64 bits', () => {
    fc.assert(
      fc.property(fc.maxSafeInteger(), (value) => {
        const theirs = Buffer.from(new BinaryWriter().int64(value).finish())
        expect(written((writer) => writer.int64(value))).toEqual(theirs)
      }),
    )
  })

  it.each([0, 1, 47, 48, 49, 127, 128, 129, 4096, 4097, 16_383, 16_384, 70_000, 2_100_000])(
    'writes texts of %i characters, of one byte and of three',
    (length) => {
      for (const text of ['a'.repeat(length), '汉'.repeat(length), `${'a'.repeat(length)}é`]) {
        expect(
          read(
            written((writer) => writer.string(text)),
            (reader) => reader.string(true),
          ) === text,
        ).toBe(true)
      }
    },
  )

  it('accepts bytes as base64 in either alphabet, and as Uint8Array', () => {
    const bytes = Buffer.from([0xfb, 0xff, 0xfe])
    const expected = Buffer.from([3, 0xfb, 0xff, 0xfe])
    for (const value of [bytes, '+//+', '-__-']) expect(written((writer) => writer.bytes(value))).toEqual(expected)
  })
})

describe('Struct and Value', () => {
  it('keep every JSON value (R-JSON-8, R-JSON-12)', () => {
    fc.assert(
      fc.property(json, (value) => {
        const bytes = written((writer) => writeValue(value, writer))
        expect(read(bytes, readValue)).toEqual(value)
      }),
    )
  })

  it('are compatible with another library in both directions', () => {
    fc.assert(
      fc.property(json, (data) => {
        const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ data }] }
        const theirBytes = theirs.requestSerialize({ message: { ...message, parts: [{ data: toValue(data) }] } })
        expect(send.request.decode(theirBytes)).toEqual({ message })
        const read = theirs.requestDeserialize(send.request.encode({ message })) as {
          message: { parts: [{ data: Json }] }
        }
        expect(fromValue(read.message.parts[0].data)).toEqual(data)
      }),
    )
  })

  it('treat `__proto__` as an ordinary member', () => {
    const metadata = JSON.parse('{"__proto__":{"admin":true},"a":{"__proto__":1}}') as Json
    const decoded = send.request.decode(send.request.encode({ metadata })) as { metadata: object }
    expect(Object.keys(decoded.metadata)).toEqual(['__proto__', 'a'])
    expect(Object.getPrototypeOf(decoded.metadata)).toBe(Object.prototype)
    expect(({} as { admin?: boolean }).admin).toBeUndefined()
  })

  it('are rejected beyond the maximum depth', () => {
    const nested = (depth: number): JsonValue =>
      depth === 0 ? 'deep' : depth % 2 ? [nested(depth - 1)] : { a: nested(depth - 1) }
    const bytesOf = (depth: number) => written((writer) => writeValue(nested(depth), writer))
    expect(read(bytesOf(40), readValue)).toEqual(nested(40))
    expect(() => read(bytesOf(200), readValue)).toThrow('nested too deeply')
    expect(() => read(bytesOf(3000), readValue)).toThrow('nested too deeply')
  })
})

describe('timestamps and durations', () => {
  it.each([
    '2026-01-05T08:00:00.000Z',
    '1970-01-01T00:00:00.000Z',
    '1969-12-31T23:59:59.999Z',
    '0001-01-01T00:00:00.000Z',
    '9999-12-31T23:59:59.999Z',
  ])('keep %s (R-JSON-11)', (time) => {
    expect(
      read(
        written((writer) => writeTimestamp(time, writer)),
        readTimestamp,
      ),
    ).toBe(time)
  })

  it('keep 2.5s', () => {
    expect(
      read(
        written((writer) => writeDuration('2.5s', writer)),
        readDuration,
      ),
    ).toBe('2.5s')
  })

  it('are rejected outside the range of Date', () => {
    const bytes = written((writer) => writer.uint32(8).int64(Number.MAX_SAFE_INTEGER))
    expect(() => read(bytes, readTimestamp)).toThrow()
  })
})

describe('messages', () => {
  const message = { messageId: 'm-1', role: 'ROLE_USER', parts: [{ raw: 'AAECAw==', filename: 'a.bin' }] }

  it('carry bytes as base64', () => {
    const bytes = theirs.requestSerialize({ message })
    expect(send.request.decode(bytes)).toEqual({ message })
    expect(send.request.encode({ message })).toEqual(Buffer.from(bytes))
  })

  it('let the last member of a oneof win', () => {
    const part = (write: (writer: Writer) => Writer) =>
      written((writer) => write(writer.uint32(18).fork().uint32(42).fork()).join().join())
    const bytes = part((writer) => writer.uint32(10).string('first').uint32(26).string('https://last.example'))
    expect(send.request.decode(bytes)).toEqual({ message: { parts: [{ url: 'https://last.example' }] } })
  })

  it('merge a repeated member', () => {
    const twice = Buffer.concat([
      send.request.encode({ message: { messageId: 'm' } }),
      send.request.encode({ message: { taskId: 't' } }),
    ])
    expect(send.request.decode(twice)).toEqual({ message: { messageId: 'm', taskId: 't' } })
  })

  it('skip unknown fields, including groups', () => {
    const unknown = Buffer.from([0xfa, 0x3e, 0x01, 0x61, 0xf3, 0x3e, 0x08, 0x01, 0xf4, 0x3e])
    expect(send.request.decode(Buffer.concat([unknown, send.request.encode({ message })]))).toEqual({ message })
  })

  it('leave unknown enum numbers to the dialect', () => {
    const bytes = written((writer) => writer.uint32(18).fork().uint32(32).int32(9).join())
    expect((v1.get('SendMessage') as Rpc).request.decode(bytes)).toEqual({ message: { role: 9 } })
  })

  it('throw on invalid bytes, and never hang or return invalid values', () => {
    const whole = send.request.encode({ message, metadata: { a: [1, null, { b: 'c' }] } })
    for (let length = 1; length < whole.length - 1; length++) {
      const isWhole = isPrefixWhole(whole.subarray(0, length))
      if (!isWhole) expect(() => send.request.decode(whole.subarray(0, length))).toThrow()
    }
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        for (const { request } of v1.values()) {
          try {
            expect(typeof request.decode(bytes)).toBe('object')
          } catch (error) {
            expect(error).toBeInstanceOf(Error)
          }
        }
      }),
    )
  })

  it('reject text that is not UTF-8', () => {
    const bytes = written((writer) =>
      writer
        .uint32(10)
        .fork()
        .uint32(10)
        .bytes(Buffer.from([0xc3, 0x28]))
        .join(),
    )
    expect(() => send.request.decode(bytes)).toThrow()
  })

  it('reject a member that extends beyond its message', () => {
    expect(() => send.request.decode(Buffer.from([18, 2, 10, 5, 97, 97, 97, 97, 97]))).toThrow(
      'longer than its message',
    )
  })
})

/** Whether the bytes end where a top-level field ends. */
function isPrefixWhole(bytes: Buffer): boolean {
  const reader = new BinaryReader(bytes)
  try {
    while (reader.pos < reader.len) {
      const [field, type] = reader.tag()
      reader.skip(type, field)
    }
    return true
  } catch {
    return false
  }
}

describe('toStruct', () => {
  it('is the inverse of decoding', () => {
    const metadata = { n: 3, nothing: null, list: [[], {}], empty: {} }
    expect(send.request.decode(theirs.requestSerialize({ metadata: toStruct(metadata) }))).toEqual({ metadata })
  })
})
