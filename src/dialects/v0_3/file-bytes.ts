/**
 * Content of `file_with_bytes` over gRPC and HTTP+JSON (R3-PB-12). The protobuf means the bytes; the SDKs of Python, Go
 * and Java put the bytes of their base64 text there. Both arrive here in base64, as ProtoJSON has every `bytes` field.
 */
import { bytes, converted, type Decoder, type Fault, toBase64 } from '../decode.js'
import type { FileEncoding } from '../quirks.js'
import type { Spelling } from './spelling.js'

/** Base64 of the content, whichever form it came in. */
export const protoBytes: Readonly<Record<FileEncoding, Decoder<string>>> = {
  raw: bytes,
  // A peer of this form may follow the protobuf all the same: content that is no base64 text can only be raw bytes.
  base64: converted(bytes, (value) => readText(value, () => true) ?? value),
  guessed: converted(bytes, (value) => readText(value, isCanonical) ?? value),
}

export function encodeBytes(raw: string, { partForm }: Spelling): string {
  return partForm === 'json' || partForm === 'raw' ? raw : toBase64(new TextEncoder().encode(raw))
}

/** Characters of base64 that are decoded first: most raw content is recognised without decoding all of it. */
const probeLength = 64

/** The base64 text that the bytes are; absent when they are none. */
function readText(value: string, isMeant: (text: string) => boolean): string | undefined {
  if (value === '' || !isBase64Text.test(atob(value.slice(0, probeLength)))) return undefined
  const text = atob(value)
  const faults: Fault[] = []
  const read = isMeant(text) ? bytes(text, faults) : undefined
  return faults.length === 0 ? read : undefined
}

const isBase64Text = /^[A-Za-z0-9+/_=-]+$/

/** Standard alphabet, padded, and no bits behind the last byte. Other text is more likely to be content. */
function isCanonical(text: string): boolean {
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return false
  const last = text.slice(-4)
  return btoa(atob(last)) === last
}
