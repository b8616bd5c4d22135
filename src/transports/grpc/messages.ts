/** Codecs between bytes and plain objects for the messages of every rpc. */
import { BinaryReader } from '@bufbuild/protobuf/wire'
import * as v0_3 from './gen/a2a-v0-3.js'
import * as v1 from './gen/a2a-v1.js'
import { boundedReader, Writer } from './wire.js'

export interface MessageCodec {
  /** Throws if the bytes are not such a message, and `TooManyElements` beyond that number of elements. */
  decode(bytes: Uint8Array, maxElements?: number): object
  encode(message: object): Buffer
  /** Appends the message, with the prefix of gRPC: a flag for compression and the length. */
  writeFramed(message: object, writer: Writer): void
}

export interface Rpc {
  readonly request: MessageCodec
  readonly response: MessageCodec
  readonly isStreaming: boolean
}

type ReaderAndWriter = readonly [
  (reader: BinaryReader, end: number) => object,
  (message: never, writer: Writer) => void,
]

interface Generated {
  readonly service: string
  readonly rpcs: Readonly<
    Record<
      string,
      { readonly request: ReaderAndWriter; readonly response: ReaderAndWriter; readonly isStreaming: boolean }
    >
  >
}

/** By full service name, then by rpc. */
export const services: ReadonlyMap<string, ReadonlyMap<string, Rpc>> = new Map(
  [v1, v0_3].map(({ service, rpcs }: Generated) => [
    service,
    new Map(
      Object.entries(rpcs).map(([name, { request, response, isStreaming }]) => [
        name,
        { request: messageCodec(request), response: messageCodec(response), isStreaming },
      ]),
    ),
  ]),
)

export function messageCodec([read, write]: ReaderAndWriter): MessageCodec {
  return {
    decode(bytes, maxElements) {
      const reader = maxElements === undefined ? new BinaryReader(bytes) : boundedReader(bytes, maxElements)
      return read(reader, reader.len)
    },
    encode(message) {
      const writer = new Writer()
      write(message as never, writer) // dialects make the messages of their own rpcs
      return writer.finish()
    },
    writeFramed(message, writer) {
      const start = writer.beginFrame()
      try {
        write(message as never, writer)
      } catch (error) {
        writer.dropFrame(start)
        throw error
      }
      writer.endFrame(start)
    },
  }
}
