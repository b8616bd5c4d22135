/** The values that a handler yields. These functions return drafts; the engine adds ids and times. */

import { type Approval, approvalParts, assertTools, type ToolApproval } from '../model/approvals.js'
import { isJson } from '../model/copy-json.js'
import { type ExtensionValue, isExtensionValue } from '../model/extension.js'
import { isObject } from '../model/is-object.js'
import { AuthorError, assertOptions, describeValue, type NamesOf, type OptionNames } from '../model/option-names.js'
import type { JsonValue, Part, Struct } from '../model/part.js'
import { isForm, schemaFault, schemaMediaType } from '../model/question-schema.js'
import { sizeOf } from '../model/size-of.js'
import { type AgentStep, boundedStep } from '../model/steps.js'
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

const noOptions: ArtifactOptions = {}
const artifactNames = {
  id: true,
  description: true,
  append: true,
  lastChunk: true,
  metadata: true,
  extensions: true,
} satisfies NamesOf<ArtifactOptions>

/** Options of the yields that send a message: `working`, `completed`, `failed`, `rejected`, `askAuth` and `reply`. */
export interface MessageOptions {
  /** Metadata of the message. */
  readonly metadata?: Struct
  /** URIs of extensions that the message uses, for callers. Values of extensions add theirs. */
  readonly extensions?: readonly string[]
}

const messageNames = { metadata: true, extensions: true } satisfies NamesOf<MessageOptions>

export interface ArtifactDraft {
  readonly kind: 'artifact'
  readonly name: string
  readonly parts: readonly Part[]
  readonly options: ArtifactOptions
  readonly values?: readonly ExtensionValue[]
}

/** An argument of a yield beside its content: options, or a value of an extension. */
export type Annotation = MessageOptions | ExtensionValue

/** Metadata of a yield, and values of extensions. */
interface Annotations {
  readonly options?: MessageOptions
  readonly values?: readonly ExtensionValue[]
}

export interface StatusDraft extends Annotations {
  readonly kind: 'status'
  readonly state: Exclude<TaskState, 'TASK_STATE_SUBMITTED' | 'TASK_STATE_CANCELED'>
  readonly parts?: readonly Part[]
  /** Of `step`. */
  readonly step?: AgentStep
  /** Of `approve`. */
  readonly approval?: Approval
}

export interface ReplyDraft extends Annotations {
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
export function artifact(
  name: string,
  content: Content,
  ...more: readonly (ArtifactOptions | ExtensionValue)[]
): ArtifactDraft {
  const { options = noOptions, values } = annotationsOf('artifact', more, artifactNames)
  const draft = { kind: 'artifact', name, parts: partsOf(content), options } as const
  return values ? { ...draft, values } : draft
}

/** Options of `ask`. */
export interface AskOptions extends MessageOptions {
  /** The JSON Schema of the answer. Callers can show it as a form. */
  readonly schema?: Struct
}

const askNames = { ...messageNames, schema: true } satisfies NamesOf<AskOptions>

/** Reports progress: sent to callers that follow the task, not kept in the history. */
export function working(content?: Content, ...more: readonly Annotation[]): StatusDraft {
  return status('working', 'TASK_STATE_WORKING', content, more)
}

/** Completes the task with a final message. Returning from the handler completes it without one. */
export function completed(content?: Content, ...more: readonly Annotation[]): StatusDraft {
  return status('completed', 'TASK_STATE_COMPLETED', content, more)
}

/** Fails the task with a message for the caller. */
export function failed(content?: Content, ...more: readonly Annotation[]): StatusDraft {
  return status('failed', 'TASK_STATE_FAILED', content, more)
}

/** Rejects the task with a message for the caller. */
export function rejected(content?: Content, ...more: readonly Annotation[]): StatusDraft {
  return status('rejected', 'TASK_STATE_REJECTED', content, more)
}

/**
 * Asks the caller and ends the turn: `finally` blocks run, code after the `yield` does not. The answer starts a new turn,
 * which can read `task` and `history`.
 *
 * With a JSON Schema the caller can show a form, and the engine refuses answers that do not fit: the task stays
 * INPUT_REQUIRED. `turn.data()` then returns the answer, also if the caller sent it as text. `pattern` is not checked.
 * Throws a `TypeError` for an invalid schema, such as one with an unknown `type`.
 */
export function ask(question: Content, ...more: readonly (AskOptions | ExtensionValue)[]): StatusDraft {
  const annotations = annotationsOf<AskOptions>('ask', more, askNames)
  const parts = partsOf(question)
  const { schema } = annotations.options ?? {}
  if (schema !== undefined) assertFormSchema(schema)
  const form = schema && { data: schema as JsonValue, mediaType: schemaMediaType }
  return {
    kind: 'status',
    state: 'TASK_STATE_INPUT_REQUIRED',
    parts: form ? [...parts, form] : parts,
    ...annotations,
  }
}

/** Options of `approve`. */
export interface ApproveOptions {
  /** A sentence for the person who decides. */
  readonly hint?: string
}

/**
 * Asks whether the agent may call tools, and ends the turn like `ask`. In the turn of the answer, `turn.approvals` has the
 * decision about each tool call. The engine refuses answers that do not decide all of them exactly once.
 *
 * Callers that asked for the extension `approvals` get the tool calls as data; all callers get a text and a form.
 *
 * ```ts
 * yield approve([{ id: 'call-1', name: 'pay', args: { amount: 5 } }], { hint: 'Payments are final' })
 * ```
 */
export function approve(tools: readonly ToolApproval[], options: ApproveOptions = {}): StatusDraft {
  assertTools(tools)
  assertOptions('approve', options, { hint: 'string' } satisfies NamesOf<ApproveOptions>)
  const approval: Approval = { ...options, tools }
  return { kind: 'status', state: 'TASK_STATE_INPUT_REQUIRED', parts: approvalParts(approval), approval }
}

/**
 * Reports a tool call, its result, or reasoning. Callers that asked for the extension `steps` get it as data; the others
 * get the text "Calling pay" for a call, and nothing for the rest. Content is cut to 32,000 characters.
 */
export function step(value: AgentStep): StatusDraft {
  return { kind: 'status', state: 'TASK_STATE_WORKING', step: boundedStep(value) }
}

/** Asks for a credential, which arrives out of band, and ends the turn like `ask`. */
export function askAuth(what: Content, ...more: readonly Annotation[]): StatusDraft {
  return status('askAuth', 'TASK_STATE_AUTH_REQUIRED', what, more)
}

/** Answers with a Message. As the first yield it creates no task; later it has the effect of `completed`. */
export function reply(content: Content, ...more: readonly Annotation[]): ReplyDraft {
  return { kind: 'reply', parts: partsOf(content), ...annotationsOf('reply', more, messageNames) }
}

function status(
  owner: string,
  state: StatusDraft['state'],
  content: Content | undefined,
  more: readonly Annotation[],
): StatusDraft {
  const draft: StatusDraft =
    content === undefined ? { kind: 'status', state } : { kind: 'status', state, parts: partsOf(content) }
  return more.length === 0 ? draft : { ...draft, ...annotationsOf(owner, more, messageNames) }
}

/** Separates options from values of extensions. */
function annotationsOf<Options extends MessageOptions>(
  owner: string,
  more: readonly (Options | ExtensionValue)[],
  names: OptionNames,
): { readonly options?: Options; readonly values?: readonly ExtensionValue[] } {
  let options: Options | undefined
  let values: ExtensionValue[] | undefined
  for (const each of more) {
    if (each === undefined) continue
    if (isExtensionValue(each)) {
      values ??= []
      values.push(each)
      continue
    }
    assertOptions(owner, each, names)
    if (options) throw new AuthorError(`\`${owner}\` takes its options once`)
    options = each
  }
  return { ...(options && { options }), ...(values && { values }) }
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

/** The reason why a yielded value cannot be sent (R-TASK-7), without its content; undefined if it can be sent. */
export function draftFault(value: unknown): string | undefined {
  const draft = isObject(value) ? (value as Partial<Draft>) : undefined
  switch (draft?.kind) {
    case 'artifact':
      return partsFault(draft.parts) ?? artifactFault(draft as ArtifactDraft)
    case 'reply':
      return partsFault(draft.parts) ?? annotationsFault(draft as ReplyDraft)
    case 'status':
      if (!states.has(draft.state)) return `A handler cannot yield this state; choose from ${[...states].join(', ')}`
      return (draft.parts === undefined ? undefined : partsFault(draft.parts)) ?? annotationsFault(draft as StatusDraft)
    default:
      return `A handler yields strings, artifact(), working(), reply(), completed(), failed(), rejected(), ask(), askAuth(), approve() or step(), not ${describeValue(value)}`
  }
}

function artifactFault({ name, parts, options, values }: ArtifactDraft): string | undefined {
  if (typeof name !== 'string' || !isObject(options)) return 'artifact() takes a name, content and options'
  const { id, description } = options
  if (!isText(id)) return 'The id of an artifact is a string'
  if (!isText(description)) return 'The description of an artifact is a string'
  return annotationsFault({ options, parts, ...(values && { values }) })
}

/** Values on status updates are repeated in the later ones: see `YieldWriter`. */
const maxValueCharacters = 64_000

function annotationsFault({ options, values, parts }: Annotations & { readonly parts?: unknown }): string | undefined {
  if (options !== undefined) {
    if (!isObject(options)) return 'Options are an object'
    const { extensions, metadata } = options
    if (parts === undefined && (metadata || extensions))
      return 'Metadata and extensions describe the message: pass its content too'
    if (!isMetadata(metadata)) return 'Metadata is a JSON object'
    if (extensions !== undefined && !(Array.isArray(extensions) && extensions.every((uri) => typeof uri === 'string')))
      return 'Extensions are a list of URIs'
  }
  for (const each of values ?? []) {
    if (!isExtensionValue(each) || !isJson(each.value, 0))
      return 'Values of extensions are made by `extension(…).with(…)`'
    if (sizeOf(each.value, maxValueCharacters) > maxValueCharacters)
      return `A value of an extension has at most ${maxValueCharacters} characters of JSON`
  }
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
