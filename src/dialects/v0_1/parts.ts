/**
 * Parts of v0.1, distinguished by `type`. Names, media types and wrapped data go into metadata where v0.1 has no member
 * for them.
 */
import { isObject } from '../../model/is-object.js'
import type { DataPart, JsonValue, Part, Struct } from '../../model/part.js'
import {
  bytes,
  converted,
  type Decoder,
  json,
  object,
  optional,
  presentString,
  refuse,
  required,
  string,
  struct,
} from '../decode.js'
import type { PartStyle } from './wire-form.js'

interface WireFile {
  readonly name?: string | undefined
  readonly mimeType?: string | undefined
  readonly bytes?: string | undefined
  readonly uri?: string | undefined
}

/** Members may be undefined: `JSON.stringify` drops them. */
export interface WirePart {
  readonly type?: 'text' | 'file' | 'data' | undefined
  readonly text?: string
  readonly file?: WireFile
  readonly data?: JsonValue
  readonly mimeType?: string | undefined
  readonly metadata?: Struct | undefined
}

const textPart = converted(
  object<{ readonly text: string; readonly metadata?: Struct }>({
    text: required(presentString),
    metadata: optional(struct),
  }),
  ({ text, metadata }) => withoutNotes({ text }, metadata),
)

const file = converted(
  object<{ [Member in keyof WireFile]?: string }>({
    name: optional(string),
    mimeType: optional(string),
    bytes: optional(bytes),
    uri: optional(string),
  }),
  (read, faults) => {
    if (read.bytes === undefined || read.uri === undefined) return read
    return refuse(faults, 'must have only one of bytes, uri')
  },
)

const filePart = converted(
  object<{ readonly file: WireFile; readonly mimeType?: string; readonly metadata?: Struct }>({
    file: required(file),
    mimeType: optional(string),
    metadata: optional(struct),
  }),
  (read) => toFilePart(read.file, read.mimeType, read.metadata),
)

const dataPart = converted(
  object<{ readonly data: unknown; readonly mimeType?: string; readonly metadata?: Struct }>({
    data: required(json as Decoder<NonNullable<unknown>>), // null is a value: the decoder takes it
    mimeType: optional(string),
    metadata: optional(struct),
  }),
  (read) => toDataPart(read.data as JsonValue, read.mimeType, read.metadata), // `json` read it
)

/** Some servers omit `type` (RL-GO-3): then the members decide, and the default is text. */
export const part: Decoder<Part> = (value, faults) => {
  switch (typeOf(value)) {
    case 'text':
      return textPart(value, faults)
    case 'file':
      return filePart(value, faults)
    case 'data':
      return dataPart(value, faults)
    default:
      return refuse(faults, 'must be text, file or data', 'type')
  }
}

function typeOf(value: unknown): unknown {
  if (!isObject(value)) return 'text'
  if (value.type !== undefined && value.type !== null) return value.type
  if (value.text !== undefined) return 'text'
  if (value.file !== undefined) return 'file'
  return value.data === undefined ? 'text' : 'data'
}

function toFilePart(
  { name, bytes: raw, uri, ...inside }: WireFile,
  beside: string | undefined,
  metadata: Struct | undefined,
): Part {
  const mimeType = inside.mimeType ?? beside
  // A file with only a name is not valid in v1.0: it becomes data and round-trips unchanged (RM-PART-3).
  if (raw === undefined && uri === undefined) {
    const named = { ...(name !== undefined && { name }), ...(mimeType !== undefined && { mimeType }) }
    return { data: { file: named }, metadata: { ...metadata, a2aFileReference: true } }
  }
  const about = {
    ...(metadata && { metadata }),
    ...(name !== undefined && { filename: name }),
    ...(mimeType !== undefined && { mediaType: mimeType }),
  }
  return raw === undefined ? { url: uri as string, ...about } : { raw, ...about } // one of the two is there
}

/** Metadata marks data that was wrapped (RM-PART-1). */
function toDataPart(value: JsonValue, mimeType: string | undefined, metadata: Struct | undefined): Part {
  const described = mimeType === undefined ? {} : { mediaType: mimeType }
  if (metadata?.data_part_compat !== true) return withoutNotes({ data: value, ...described }, metadata)
  const { data_part_compat: _flag, ...rest } = metadata
  const data = isObject(value) && Object.hasOwn(value, 'value') ? (value.value as JsonValue) : value // read by `json`
  return withoutNotes({ data, ...described }, Object.keys(rest).length > 0 ? rest : undefined)
}

/** Restores the members that `noted` put into the metadata. */
function withoutNotes(content: Part, metadata: Struct | undefined): Part {
  if (!metadata) return content
  if (metadata.a2aMediaType === undefined && metadata.a2aFilename === undefined) return { ...content, metadata }
  const { a2aMediaType, a2aFilename, ...rest } = metadata
  return {
    ...content,
    ...(Object.keys(rest).length > 0 && { metadata: rest }),
    ...(typeof a2aFilename === 'string' && { filename: a2aFilename }),
    ...(typeof a2aMediaType === 'string' && { mediaType: a2aMediaType }),
  }
}

export function encodePart(part: Part, style: PartStyle): WirePart {
  if ('text' in part) {
    return {
      type: style.isTyped ? 'text' : undefined,
      text: part.text,
      metadata: noted(part.metadata, part.mediaType, part.filename),
    }
  }
  if ('data' in part) return encodeData(part, style)
  const { mediaType: mimeType, filename: name } = part
  const inside = style.hasMimeTypeBeside ? undefined : mimeType
  return {
    type: style.isTyped ? 'file' : undefined,
    file: 'raw' in part ? { name, mimeType: inside, bytes: part.raw } : { name, mimeType: inside, uri: part.url },
    mimeType: style.hasMimeTypeBeside ? mimeType : undefined,
    metadata: part.metadata,
  }
}

function encodeData(part: DataPart, { isTyped, hasMimeTypeBeside }: PartStyle): WirePart {
  const { data, mediaType, filename } = part
  const type = isTyped ? 'data' : undefined
  if (part.metadata?.a2aFileReference === true) {
    const reference = fileReference(data)
    const { a2aFileReference: _mark, ...rest } = part.metadata
    const metadata = Object.keys(rest).length > 0 ? rest : undefined
    const fileType = isTyped ? 'file' : undefined
    if (reference && !hasMimeTypeBeside) return { type: fileType, file: reference, metadata }
    if (reference) return { type: fileType, file: { name: reference.name }, mimeType: reference.mimeType, metadata }
  }
  const metadata = noted(part.metadata, hasMimeTypeBeside ? undefined : mediaType, filename)
  const mimeType = hasMimeTypeBeside ? mediaType : undefined
  // v0.1 allows objects and arrays as data; other values are wrapped (RM-PART-1).
  if (typeof data === 'object' && data !== null) return { type, data, mimeType, metadata }
  return { type, data: { value: data }, mimeType, metadata: { ...metadata, data_part_compat: true } }
}

function fileReference(data: JsonValue): WireFile | undefined {
  if (!isObject(data) || !isObject(data.file)) return undefined
  const { name, mimeType } = data.file
  return {
    name: typeof name === 'string' ? name : undefined,
    mimeType: typeof mimeType === 'string' ? mimeType : undefined,
  }
}

/** Text and data parts have no members for a media type or a file name. */
function noted(
  metadata: Struct | undefined,
  mediaType: string | undefined,
  filename: string | undefined,
): Struct | undefined {
  if (mediaType === undefined && filename === undefined) return metadata
  return {
    ...metadata,
    ...(mediaType !== undefined && { a2aMediaType: mediaType }),
    ...(filename !== undefined && { a2aFilename: filename }),
  }
}
