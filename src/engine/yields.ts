/** The values that a handler yields. These functions return drafts; the engine adds ids and times. */

import { isObject } from '../model/is-object.js'
import { AuthorError, assertOptions, describeValue, type NamesOf } from '../model/option-names.js'
import type { JsonValue, Part, Struct } from '../model/part.js'
import { isForm, schemaFault, schemaMediaType } from '../model/question-schema.js'
import type { TaskState } from '../model/task.js'
/** Content of a message or artifact: text, a part, or several parts. */
export type Content = string | Part | readonly Part[]

/** Options of `artifact`. */
export interface ArtifactOptions {
  /** Default: a new id, or with `append` the id of the artifact with the same name. */
  readonly id?: string
  readonly description?: string
  /** Whether to append to the artifact with this id or name. Default false. */
  readonly append?: boolean
  /** Whether this is the last piece of the artifact. */
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

interface ReplyDraft {
  readonly kind: 'reply'
  readonly parts: readonly Part[]
}

type Draft = ArtifactDraft | StatusDraft | ReplyDraft

/** A value that a handler yields. A string is a chunk of the answer. */
export type Yield = string | Draft

/**
 * Returns a result of the task, or with `append` a further piece of one. With the name `''` the artifact has no name.
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
  /** The JSON Schema of the answer. Callers can show it as a form. */
  readonly schema?: Struct
}

const askNames = { schema: true } satisfies NamesOf<AskOptions>

/** Reports progress: sent to callers that follow the task, not kept in the history. */
export function working(content?: Content): StatusDraft {
  return status('TASK_STATE_WORKING', content)
}

/** Completes the task with a final message. Returning from the handler completes it without one. */
export function completed(content?: Content): StatusDraft {
  return status('TASK_STATE_COMPLETED', content)
}

/** Fails the task with a message for the caller. */
export function failed(content?: Content): StatusDraft {
  return status('TASK_STATE_FAILED', content)
}

/** Rejects the task with a message for the caller. */
export function rejected(content?: Content): StatusDraft {
  return status('TASK_STATE_REJECTED', content)
}

/**
 * Asks the caller and ends the turn: `finally` blocks run, code after the `yield` does not. The answer starts a new turn,
 * which can read `task` and `history`.
 *
 * With a JSON Schema the caller can show a form, and the engine refuses answers that do not fit: the task stays
 * INPUT_REQUIRED. `turn.data()` then returns the answer, also if the caller sent it as text. `pattern` is not checked.
 * Throws a `TypeError` for an invalid schema, such as one with an unknown `type`.
 */
export function ask(question: Content, options: AskOptions = {}): StatusDraft {
  assertOptions('ask', options, askNames)
  const parts = partsOf(question)
  const { schema } = options
  if (schema !== undefined) assertFormSchema(schema)
  const form = schema && { data: schema as JsonValue, mediaType: schemaMediaType }
  return { kind: 'status', state: 'TASK_STATE_INPUT_REQUIRED', parts: form ? [...parts, form] : parts }
}

/** Asks for a credential, which arrives out of band, and ends the turn like `ask`. */
export function askAuth(what: Content): StatusDraft {
  return status('TASK_STATE_AUTH_REQUIRED', what)
}

/** Answers with a Message. As the first yield it creates no task; later it has the effect of `completed`. */
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
function assertFormSchema(schema: JsonValue): void {
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
const maxDepth = 64

/** The reason why a yielded value cannot be sent (R-TASK-7), without its content; undefined if it can be sent. */
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
      return `A handler yields strings, artifact(), working(), reply(), completed(), failed(), rejected(), ask() or askAuth(), not ${describeValue(value)}`
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

/** The kind of content of a part; undefined if it has none or several. */
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

/** Whether JSON preserves a value: plain objects, arrays and finite numbers. */
export function isJson(value: unknown, depth: number): boolean {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return true
  if (typeof value === 'number') return Number.isFinite(value)
  if (typeof value !== 'object' || depth >= maxDepth) return false
  if (Array.isArray(value)) return value.every((each) => isJson(each, depth + 1))
  const prototype = Object.getPrototypeOf(value) as unknown
  if (prototype !== Object.prototype && prototype !== null) return false
  return Object.values(value).every((each) => each === undefined || isJson(each, depth + 1))
}
