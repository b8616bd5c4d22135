/**
 * What a handler may yield. These make drafts: ids and times are stamped by the engine.
 */
import { assertOptions, type NamesOf } from '../model/option-names.js'
import type { JsonValue, Part, Struct } from '../model/part.js'
import { schemaMediaType } from '../model/question-schema.js'
import type { TaskState } from '../model/task.js'
import { assertFormSchema } from './sendable.js'

/** Text, one part, or several. */
export type Content = string | Part | readonly Part[]

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
