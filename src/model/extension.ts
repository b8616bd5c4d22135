/**
 * Extensions of the protocol: typed values in the metadata of messages, artifacts, status updates and tasks. An agent
 * declares an extension in its card, and a caller asks for it; only then values are written (R11-EXT-1).
 */
import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { AgentExtension } from './agent-card.js'
import { isJson } from './copy-json.js'
import { isObject } from './is-object.js'
import { AuthorError, assertOptions, type NamesOf } from './option-names.js'
import type { JsonValue, Struct } from './part.js'

/** An object that can carry values of extensions: a message, an artifact, a task, or an event of a stream. */
export interface Carrier {
  readonly metadata?: Struct | undefined
}

/** An extension as its author describes it. Only `uri` is required. */
export interface ExtensionInit<Value> extends AgentExtension {
  readonly uri: string
  /** The key of the values in metadata. Default: the URI. */
  readonly key?: string
  /** Checks values that are read and written. It must not be asynchronous. Default: values are not checked. */
  readonly schema?: StandardSchemaV1<unknown, Value>
}

/** A value of an extension, for a yield: `working('…', usage.with({ inputTokens: 12 }))`. */
export interface ExtensionValue {
  readonly kind: 'extension'
  readonly uri: string
  readonly key: string
  readonly value: JsonValue
}

/** An extension. Made by `extension`. */
export interface Extension<Value> extends AgentExtension {
  readonly uri: string
  /** The key of the values in metadata. */
  readonly key: string
  /** Returns a value for a yield. Nothing is written if the caller did not ask for the extension. Throws for invalid values. */
  with(value: Value): ExtensionValue
  /** Returns the value in the metadata of a message, artifact, task or event; undefined if it is absent or invalid. */
  read(carrier: Carrier | undefined): Value | undefined
}

/** An extension in the list of an agent: the result of `extension`, or its description as the card publishes it. */
export type DeclaredExtension = AgentExtension & { readonly uri: string }

const initNames = {
  uri: 'string',
  key: 'string',
  schema: true,
  params: true,
  description: 'string',
  required: 'boolean',
} satisfies NamesOf<ExtensionInit<unknown>>

/**
 * Defines an extension. Throws a `TypeError` for an invalid URI.
 *
 * ```ts
 * const mood = extension<string>({ uri: 'https://example.com/mood/v1' })
 * const singer = agent({ name: 'Singer', extensions: [mood] }, async function* () {
 *   yield working('Singing', mood.with('happy'))
 * })
 * ```
 */
export function extension<Value>(init: ExtensionInit<Value>): Extension<Value> {
  assertOptions('extension', init, initNames)
  const { uri, key = uri, schema, params, description, required } = init
  assertUri(uri)
  if (key === '' || key === '__proto__') throw new TypeError('The `key` of an extension must be a name')
  const read = (value: unknown): Value | undefined => {
    if (value === undefined || !schema) return value as Value | undefined
    const result = schema['~standard'].validate(value)
    return result instanceof Promise || result.issues ? undefined : result.value
  }
  return {
    uri,
    key,
    ...(description !== undefined && { description }),
    ...(required !== undefined && { required }),
    ...(params && { params }),
    with(value) {
      if (!isJson(value, 0)) throw new AuthorError(`A value of the extension ${uri} must be JSON`)
      if (read(value) === undefined)
        throw new AuthorError(`A value of the extension ${uri} does not fit the extension's schema`)
      return { kind: 'extension', uri, key, value: value as JsonValue }
    },
    read: (carrier) => read(ownMember(carrier?.metadata, key)),
  }
}

function ownMember(metadata: Struct | undefined, key: string): JsonValue | undefined {
  return metadata && Object.hasOwn(metadata, key) ? metadata[key] : undefined
}

/** Throws for a URI that the header with the list of extensions cannot carry. */
export function assertUri(uri: unknown): asserts uri is string {
  if (typeof uri === 'string' && /^[!-+\--~]{1,2000}$/.test(uri)) return
  throw new TypeError(
    'An extension needs a `uri`: at most 2,000 ASCII characters, without spaces and commas, such as https://example.com/mood/v1',
  )
}

/** Whether an argument of a yield is a value of an extension, and not an object with options. */
export function isExtensionValue(value: unknown): value is ExtensionValue {
  return isObject(value) && value.kind === 'extension'
}
