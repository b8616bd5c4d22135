import { assertOptions, type NamesOf } from './option-names.js'

/** A JSON value, as `metadata` and data parts carry it. */
export type JsonValue = null | boolean | number | string | readonly JsonValue[] | { readonly [key: string]: JsonValue }

/** A JSON object with string keys: v1.0's `google.protobuf.Struct`. */
export type Struct = { readonly [key: string]: JsonValue }

interface PartCommon {
  readonly metadata?: Struct
  readonly filename?: string
  readonly mediaType?: string
}

/** A part that holds text. */
export interface TextPart extends PartCommon {
  readonly text: string
}

/** Bytes carried inline, as standard base64 with padding. */
export interface RawPart extends PartCommon {
  readonly raw: string
}

/** A link to the bytes. */
export interface UrlPart extends PartCommon {
  readonly url: string
}

/** Any JSON value; `null` is a value, not an absence (R-JSON-8). */
export interface DataPart extends PartCommon {
  readonly data: JsonValue
}

/** One piece of content. The member that is present determines its kind, as in v1.0 JSON. */
export type Part = TextPart | RawPart | UrlPart | DataPart

/** A text part. */
export function text(value: string): TextPart {
  return { text: value }
}

/** A data part holding any JSON value. */
export function data(value: JsonValue): DataPart {
  return { data: value, mediaType: 'application/json' }
}

/** The text of all text parts, joined without separators; other parts are ignored. */
export function textOf(content: { readonly parts: readonly Part[] } | readonly Part[]): string {
  const parts = 'parts' in content ? content.parts : content
  let joined = ''
  for (const part of parts) if ('text' in part) joined += part.text
  return joined
}

interface FileOptions {
  readonly filename?: string
  readonly mediaType?: string
}

const fileNames = { filename: true, mediaType: true } satisfies NamesOf<FileOptions>

/** A file: its bytes, or a link to them. */
export function file(content: Uint8Array | URL, options: FileOptions = {}): RawPart | UrlPart {
  assertOptions('file', options, fileNames)
  return content instanceof URL ? { url: content.href, ...options } : { raw: base64(content), ...options }
}

function base64(bytes: Uint8Array): string {
  let binary = ''
  // In slices, because a call has a maximum number of arguments.
  for (let from = 0; from < bytes.length; from += 0x8000)
    binary += String.fromCharCode(...bytes.subarray(from, from + 0x8000))
  return btoa(binary)
}
