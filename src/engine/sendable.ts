/** What a handler yields, checked: types do not hold in JavaScript, and a store must never hold what no reader can be sent (R-TASK-7). */
import { AuthorError } from '../model/author-error.js'
import { isObject } from '../model/is-object.js'
import type { JsonValue } from '../model/part.js'
import { isForm } from '../model/question-schema.js'
import { schemaFault } from '../model/schema-faults.js'
import type { ArtifactDraft, Draft, StatusDraft } from './yields.js'

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
