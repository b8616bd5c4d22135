/**
 * What a handler may yield. These make drafts: ids and times are stamped by the engine.
 */

import { AuthorError } from '../model/author-error.js'
import { isObject } from '../model/is-object.js'
import { assertOptions, type NamesOf } from '../model/option-names.js'
import type { JsonValue, Part, Struct } from '../model/part.js'
import { isForm, schemaMediaType } from '../model/question-schema.js'
import { schemaFault } from '../model/schema-faults.js'
import type { TaskState } from '../model/task.js'
/** Text, one part, or several. */
export type Content = string | Part | readonly Part[]

/** Options of `artifact`. */
export interface ArtifactOptions {
  /** Default: a new id, or with `append` that of the artifact of the same name. */
  readonly id?: string
  readonly description?: string
  /** Add to the artifact of this id or name instead of making a new one. */
  readonly append?: boolean
  /** Nothing more will come for this artifact. */
  readonly lastChunk?: boolean
  readonly metadata?: Struct
  readonly extensions?: readonly string[]
}

const artifactNames = {
  id: true,
  description: true,
  append: true,
  lastChunk: true,
  metadata: true,
  extensions: true,
} satisfies NamesOf<ArtifactOptions>

export interface ArtifactDraft {
  readonly kind: 'artifact'
  readonly name: string
  readonly parts: readonly Part[]
  readonly options: ArtifactOptions
}

export interface StatusDraft {
  readonly kind: 'status'
  readonly state: Exclude<TaskState, 'TASK_STATE_SUBMITTED' | 'TASK_STATE_CANCELED'>
  readonly parts?: readonly Part[]
}

export interface ReplyDraft {
  readonly kind: 'reply'
  readonly parts: readonly Part[]
}

export type Draft = ArtifactDraft | StatusDraft | ReplyDraft

/** A string is a chunk of the answer. */
export type Yield = string | Draft

/**
 * A result, or with `append` a further piece of one. With the name `''` the artifact has no name.
 *
 * ```ts
 * yield artifact('report', [text('…'), data({ pages: 3 })])
 * ```
 */
export function artifact(name: string, content: Content, options: ArtifactOptions = {}): ArtifactDraft {
  assertOptions('artifact', options, artifactNames)
  return { kind: 'artifact', name, parts: partsOf(content), options }
}

/** Options of `ask`. */
export interface AskOptions {
  /** The JSON Schema of the answer: callers can show it as a form. */
  readonly schema?: Struct
}

const askNames = { schema: true } satisfies NamesOf<AskOptions>

/** Progress: sent to whoever watches, not kept in the history. */
export function working(content?: Content): StatusDraft {
  return status('TASK_STATE_WORKING', content)
}

/** Ends the task successfully, with last words. Returning from the handler does the same without. */
export function completed(content?: Content): StatusDraft {
  return status('TASK_STATE_COMPLETED', content)
}

/** Ends the task; the text is for the caller. */
export function failed(content?: Content): StatusDraft {
  return status('TASK_STATE_FAILED', content)
}

/** Declines the task; the text is for the caller. */
export function rejected(content?: Content): StatusDraft {
  return status('TASK_STATE_REJECTED', content)
}

/**
 * Asks the caller and ends the turn: `finally` blocks run, code behind the `yield` does not. The
 * answer is a new turn, which sees `task` and `history`.
 *
 * With a JSON Schema the caller can show a form, and the engine refuses answers that do not fit: the task stays
 * INPUT_REQUIRED. `turn.data()` then holds the answer, also when the caller sent it as text. `pattern` is not checked.
 * Throws a `TypeError` for a schema that is not valid, such as one with an unknown `type`.
 */
export function ask(question: Content, options: AskOptions = {}): StatusDraft {
  assertOptions('ask', options, askNames)
  const parts = partsOf(question)
  const { schema } = options
  if (schema !== undefined) assertFormSchema(schema)
  const form = schema && { data: schema as JsonValue, mediaType: schemaMediaType }
  return { kind: 'status', state: 'TASK_STATE_INPUT_REQUIRED', parts: form ? [...parts, form] : parts }
}

/** Asks for authorisation, which the caller brings out of band, and ends the turn like `ask`. */
export function askAuth(what: Content): StatusDraft {
  return status('TASK_STATE_AUTH_REQUIRED', what)
}

/** Answers with a Message. As the first thing yielded no task is made; later it is the same as `completed`. */
export function reply(content: Content): ReplyDraft {
  return { kind: 'reply', parts: partsOf(content) }
}

function status(state: StatusDraft['state'], content: Content | undefined): StatusDraft {
  return content === undefined ? { kind: 'status', state } : { kind: 'status', state, parts: partsOf(content) }
}

export function partsOf(content: Content): readonly Part[] {
  if (typeof content === 'string') return [{ text: content }]
  // `Array.isArray` does not narrow readonly arrays.
  return Array.isArray(content) ? (content as readonly Part[]) : [content as Part]
}

/** Throws for a schema that `ask` cannot publish, or that would accept answers that its author did not mean. */
export function assertFormSchema(schema: JsonValue): void {
  if (isObject(schema) && '~standard' in schema)
    throw new AuthorError('`ask` takes JSON Schema; write `z.toJSONSchema(schema)`')
  if (!isForm(schema))
    throw new AuthorError(
      'The schema of `ask` must be an object of at most 100,000 characters, nested at most 64 levels',
    )
  const fault = schemaFault(schema)
  if (fault !== undefined) throw new AuthorError(`The schema of \`ask\` is not valid: ${fault}`)
}

const states: ReadonlySet<unknown> = new Set<StatusDraft['state']>([
  'TASK_STATE_WORKING',
  'TASK_STATE_COMPLETED',
  'TASK_STATE_FAILED',
  'TASK_STATE_REJECTED',
  'TASK_STATE_INPUT_REQUIRED',
  'TASK_STATE_AUTH_REQUIRED',
])
const contents = ['text', 'raw', 'url', 'data'] as const
const deepestValue = 64

/** Why no event can carry a yielded value, for the log and the caller: the text quotes no content. Undefined if one can. */
export function draftFault(value: unknown): string | undefined {
  const draft = isObject(value) ? (value as Partial<Draft>) : undefined
  switch (draft?.kind) {
    case 'artifact':
      return partsFault(draft.parts) ?? artifactFault(draft as ArtifactDraft)
    case 'reply':
      return partsFault(draft.parts)
    case 'status':
      if (!states.has(draft.state)) return `A handler cannot yield this state; choose from ${[...states].join(', ')}`
      return draft.parts === undefined ? undefined : partsFault(draft.parts)
    default:
      return 'A handler yields strings, artifact(), working(), reply(), completed(), failed(), rejected(), ask() or askAuth()'
  }
}

function artifactFault({ name, options }: ArtifactDraft): string | undefined {
  if (typeof name !== 'string' || !isObject(options)) return 'artifact() takes a name, content and options'
  const { id, description, extensions, metadata } = options
  if (!isText(id)) return 'The id of an artifact is a string'
  if (!isText(description)) return 'The description of an artifact is a string'
  if (!isMetadata(metadata)) return 'Metadata is a JSON object'
  if (extensions !== undefined && !(Array.isArray(extensions) && extensions.every((uri) => typeof uri === 'string')))
    return 'Extensions are a list of URIs'
  return undefined
}

function partsFault(parts: unknown): string | undefined {
  if (!Array.isArray(parts) || parts.length === 0) return 'An artifact or message needs at least one part'
  for (const part of parts as unknown[]) {
    const fault = partFault(part)
    if (fault !== undefined) return fault
  }
  return undefined
}

function partFault(part: unknown): string | undefined {
  if (!isObject(part)) return 'A part is an object'
  const kind = contentOf(part)
  if (kind === undefined)
    return 'A part has exactly one of text, raw, url and data; to send an object, wrap it in `data(…)`'
  if (kind === 'data' ? !isJson(part.data, 0) : typeof part[kind] !== 'string')
    return `The ${kind} of a part cannot be sent`
  if (!isText(part.mediaType)) return 'A media type is a string'
  if (!isText(part.filename)) return 'A file name is a string'
  return isMetadata(part.metadata) ? undefined : 'Metadata is a JSON object'
}

/** Undefined if a part has no content, or several kinds. */
function contentOf(part: Record<string, unknown>): (typeof contents)[number] | undefined {
  let found: (typeof contents)[number] | undefined
  for (const kind of contents) {
    if (part[kind] === undefined) continue
    if (found !== undefined) return undefined
    found = kind
  }
  return found
}

function isText(value: unknown): boolean {
  return value === undefined || typeof value === 'string'
}

function isMetadata(value: unknown): boolean {
  return value === undefined || (isObject(value) && isJson(value, 0))
}

/** Plain objects, arrays and finite values: what comes out of JSON as it went in. */
export function isJson(value: unknown, depth: number): boolean {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return true
  if (typeof value === 'number') return Number.isFinite(value)
  if (typeof value !== 'object' || depth >= deepestValue) return false
  if (Array.isArray(value)) return value.every((each) => isJson(each, depth + 1))
  const prototype = Object.getPrototypeOf(value) as unknown
  if (prototype !== Object.prototype && prototype !== null) return false
  return Object.values(value).every((each) => each === undefined || isJson(each, depth + 1))
}
