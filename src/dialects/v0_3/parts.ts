/** Encoding and decoding of parts. */
import { isObject } from '../../model/is-object.js'
import type { DataPart, JsonValue, Part, RawPart, Struct, TextPart, UrlPart } from '../../model/part.js'
import {
  bytes,
  converted,
  type Decoder,
  decodeOrThrow,
  type Fault,
  object,
  optional,
  presentString,
  refuse,
  string,
  struct,
  toBase64,
} from '../decode.js'
import type { FileEncoding } from '../quirks.js'
import { inEveryPartForm, type PartForm, reserved, type Wire, type WireForm, withoutKeys } from './wire-form.js'

/** Decodes file content of either encoding to base64. */
const protoBytes: Readonly<Record<FileEncoding, Decoder<string>>> = {
  raw: bytes,
  // A peer of this form may still follow the protobuf: content that is not base64 text must be raw bytes.
  base64: converted(bytes, (value) => readText(value, () => true) ?? value),
  guessed: converted(bytes, (value) => readText(value, isCanonical) ?? value),
}

export function encodeBytes(raw: string, { partForm }: WireForm): string {
  return partForm === 'json' || partForm === 'raw' ? raw : toBase64(new TextEncoder().encode(raw))
}

/** Length of the base64 prefix that is decoded first: it identifies most raw content without decoding all of it. */
const probeLength = 64

/** The bytes as base64 text, or undefined if they are not base64 text. */
function readText(value: string, isMeant: (text: string) => boolean): string | undefined {
  if (value === '' || !isBase64Text.test(atob(value.slice(0, probeLength)))) return undefined
  const text = atob(value)
  const faults: Fault[] = []
  const read = isMeant(text) ? bytes(text, faults) : undefined
  return faults.length === 0 ? read : undefined
}

const isBase64Text = /^[A-Za-z0-9+/_=-]+$/

/** Standard alphabet, padded, with no spare bits. Other text is more likely to be content. */
function isCanonical(text: string): boolean {
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return false
  const last = text.slice(-4)
  return btoa(atob(last)) === last
}

interface FileContent {
  readonly bytes?: string
  /** The protobuf's name for the content. */
  readonly fileWithBytes?: string
  readonly uri?: string
  readonly name?: string
  readonly mimeType?: string
}

type File = RawPart | UrlPart

const fileContent = inEveryPartForm((form) =>
  object<FileContent>(
    {
      bytes: optional(bytes),
      fileWithBytes: optional(form === 'json' ? bytes : protoBytes[form]),
      uri: optional(presentString),
      name: optional(string),
      mimeType: optional(string),
    },
    // Seen in samples and migration notes (R3-DM-2); `mediaType` is in later drafts.
    { aliases: { bytes: ['data'], uri: ['fileWithUri'], mimeType: ['mediaType'] } },
  ),
)

/** An empty string counts as absent if the other member has a value (R3-PB-3). */
const file = inEveryPartForm((form) =>
  converted<FileContent, File>(fileContent[form], ({ uri, name, mimeType, ...content }, faults) => {
    const raw = content.bytes || content.fileWithBytes || (content.bytes ?? content.fileWithBytes)
    if (raw && uri) return refuse(faults, 'must have only one of bytes, uri')
    const place = uri || raw === undefined ? uri : undefined
    if (place === undefined && raw === undefined) return refuse(faults, 'must have one of bytes, uri')
    return {
      ...(place === undefined ? { raw: raw as string } : { url: place }), // one of the two is present: checked above
      ...(name !== undefined && { filename: name }),
      ...(mimeType !== undefined && { mediaType: mimeType }),
    }
  }),
)

interface AnyPart {
  readonly kind?: string
  readonly text?: string
  readonly file?: File
  readonly data?: Struct
  readonly metadata?: Struct
}

const anyPart = inEveryPartForm((form) =>
  object<AnyPart>({
    kind: optional(string),
    text: optional(presentString),
    file: optional(file[form]),
    data: optional(struct),
    metadata: optional(struct),
  }),
)

const kinds = ['text', 'file', 'data'] as const
type Kind = (typeof kinds)[number]

export const part: Readonly<Record<PartForm, Decoder<Part>>> = inEveryPartForm((form, shape) =>
  converted(anyPart[form], (wire, faults) => {
    const kind = kindOf(wire, faults)
    if (kind === undefined) return undefined
    const { text, file: content, data, metadata } = wire
    if (kind === 'file' && content) return metadata ? { ...content, metadata } : content
    if (kind === 'text' && text !== undefined) return readCarried({ text }, metadata)
    // A part with `kind` is in JSON-RPC's form: its data is not nested (R3-PB-2, R3-PB-4).
    const value = data && (shape === 'proto' && wire.kind === undefined ? unnested(data) : data)
    if (kind === 'data' && value) return readData(value, metadata)
    return refuse(faults, 'is required', kind)
  }),
)

/** The kind that a part states, or the only kind that its members allow (R3-DM-1). */
function kindOf({ kind, text, file: content, data }: AnyPart, faults: Fault[]): Kind | undefined {
  if (kind !== undefined) {
    return kinds.find((each) => each === kind) ?? refuse(faults, `must be one of ${kinds.join(', ')}`, 'kind')
  }
  const present: Kind[] = []
  if (text) present.push('text')
  if (content) present.push('file')
  if (data) present.push('data')
  if (present.length > 1) return refuse(faults, `must have only one of ${present.join(', ')}`)
  return present[0] ?? (text === undefined ? refuse(faults, `must have one of ${kinds.join(', ')}`) : 'text')
}

function unnested(data: Struct): Struct {
  const inner = data.data
  if (Object.keys(data).length !== 1 || inner === undefined) return data
  if (inner === null) return {}
  return isObject(inner) ? (inner as Struct) : data // the decoder has checked the outer value
}

function readData(value: Struct, metadata: Struct | undefined): DataPart {
  const isWrapped = metadata?.[reserved.wrappedData] === true && 'value' in value
  if (!isWrapped) return readCarried({ data: value }, metadata)
  return readCarried({ data: value.value as JsonValue }, withoutKeys(metadata, [reserved.wrappedData]))
}

/** Media types and names of text and data parts are sent in metadata. */
function readCarried<P extends TextPart | DataPart>(content: P, metadata: Struct | undefined): P {
  if (metadata === undefined) return content
  const mediaType = metadata[reserved.mediaType]
  const filename = metadata[reserved.filename]
  const hasMediaType = typeof mediaType === 'string'
  const hasFilename = typeof filename === 'string'
  if (!hasMediaType && !hasFilename) return { ...content, metadata }
  const carried = [...(hasMediaType ? [reserved.mediaType] : []), ...(hasFilename ? [reserved.filename] : [])]
  const rest = withoutKeys(metadata, carried)
  return {
    ...content,
    ...(rest && { metadata: rest }),
    ...(hasFilename && { filename }),
    ...(hasMediaType && { mediaType }),
  }
}

export function decodePart(wire: unknown, { partForm }: WireForm): Part {
  return decodeOrThrow(part[partForm], wire)
}

export function encodeParts(parts: readonly Part[], as: WireForm): readonly Wire[] {
  return parts.map((each) => encodePart(each, as))
}

export function encodePart(content: Part, as: WireForm): Wire {
  const hasKinds = as.shape === 'json'
  if ('text' in content) {
    const wire: Wire = hasKinds ? { kind: 'text', text: content.text } : { text: content.text }
    return withMetadata(wire, carriedMetadata(content))
  }
  if ('data' in content) {
    const isWrapped = !isObject(content.data)
    const data = isWrapped ? { value: content.data } : content.data
    const wire: Wire = hasKinds ? { kind: 'data', data } : { data: { data } }
    return withMetadata(wire, carriedMetadata(content, isWrapped))
  }
  const wireFile: Wire =
    'raw' in content ? { [as.fileBytesKey]: encodeBytes(content.raw, as) } : { [as.fileUriKey]: content.url }
  if (content.filename !== undefined) wireFile.name = content.filename
  if (content.mediaType !== undefined) wireFile.mimeType = content.mediaType
  return withMetadata(hasKinds ? { kind: 'file', file: wireFile } : { file: wireFile }, content.metadata)
}

function withMetadata(wire: Wire, metadata: Struct | undefined): Wire {
  if (metadata) wire.metadata = metadata
  return wire
}

function carriedMetadata(
  { metadata, mediaType, filename }: TextPart | DataPart,
  isWrapped = false,
): Struct | undefined {
  if (mediaType === undefined && filename === undefined && !isWrapped) return metadata
  return {
    ...metadata,
    ...(mediaType !== undefined && { [reserved.mediaType]: mediaType }),
    ...(filename !== undefined && { [reserved.filename]: filename }),
    ...(isWrapped && { [reserved.wrappedData]: true }),
  }
}
