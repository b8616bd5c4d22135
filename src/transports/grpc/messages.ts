/** The rpcs of every service: which message goes in, which comes out, as bytes and as plain objects. */
import { BinaryReader } from '@bufbuild/protobuf/wire'
import * as v0_3 from './gen/a2a-v0-3.js'
import * as v1 from './gen/a2a-v1.js'
import { boundedReader, Writer } from './wire.js'

export interface MessageCodec {
  /** Throws on anything that is no such message, and a `TooManyElements` when it has more than that. */
  decode(bytes: Uint8Array, mostElements?: number): object
  encode(message: object): Buffer
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
    decode(bytes, mostElements) {
      const reader = mostElements === undefined ? new BinaryReader(bytes) : boundedReader(bytes, mostElements)
      return read(reader, reader.len)
    },
    encode(message) {
      const writer = new Writer()
      write(message as never, writer) // dialects make the messages of their own rpcs
      return writer.finish()
    },
  }
}
